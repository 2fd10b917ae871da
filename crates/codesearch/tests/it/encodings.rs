//! Files in encodings other than UTF-8: found by their words, and returned with their original bytes, or with a notice
//! where that is impossible.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GBK, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};
use serde_json::json;

use crate::agents::Agent;
use crate::api::{check, document};
use crate::harness::Fixture;

const GERMAN: &str = "// Größe der Straße\nint size;\r\n";

/// Encodings, each with a text and a word of it.
const TEXTS: [(&Encoding, &str, &str); 7] = [
    (WINDOWS_1252, "Größe", GERMAN),
    (WINDOWS_1251, "размера", "/* Проверка размера файла */\nint f(void);\n"),
    (GBK, "文件", "// 检查文件的大小，然后写入数据\nint f();\n"),
    (BIG5, "檔案", "// 檢查檔案的大小，然後寫入資料\nint f();\n"),
    (SHIFT_JIS, "ファイル", "// ファイルの大きさを調べてから書き込みます\nint f();\n"),
    (EUC_JP, "大きさ", "// ファイルの大きさを調べてから書き込みます\nint g();\n"),
    (EUC_KR, "데이터", "// 파일의 크기를 확인한 다음 데이터를 기록합니다\nint f();\n"),
];

fn name(encoding: &'static Encoding) -> String {
    format!("{}.c", encoding.name().to_lowercase())
}

/// Makes a clone with a file in each encoding, and some files whose bytes no text restores.
fn indexed() -> Fixture {
    let fixture = Fixture::new();
    for (encoding, _, text) in TEXTS {
        fixture.write(&format!("one/{}", name(encoding)), &*encoding.encode(text).0);
    }
    fixture
        .write("one/utf16.c", [&b"\xff\xfe"[..], b"/\0/\0 \0\x3d\xd8\0\xde\n\0x\0\n\0"].concat());
    fixture.write("one/bom.c", "\u{feff}// día\n");
    fixture.write(
        "one/mixed.c",
        b"// Gr\xc3\xb6\xc3\x9fe \xe2\x80\x94 Stra\xc3\x9fe\nname = \"caf\xe9\";\n",
    );
    fixture.write("one/cut.c", [&b"\xff\xfe"[..], b"c\0u\0t\0\n"].concat());
    fixture.write("one/plain.c", "// día\n");
    fixture.commit("one", "All");
    fixture
}

#[test]
fn files_in_other_encodings_are_found_and_given_as_they_are() {
    let fixture = indexed();
    // A name, and a commit, in an undeclared encoding.
    let odd = std::ffi::OsStr::from_bytes(b"gr\xfcn.txt");
    fs::write(fixture.path().join("one").join(odd), "needle\n").unwrap();
    fixture.write("message", b"Gr\xf6\xdfe\n");
    fixture.git("one", &["commit", "--quiet", "--allow-empty", "--file", "../message"]);
    let told = fixture.ingest().out;
    assert!(told.contains("inexact: 2 files with bytes"), "{told}");
    assert!(told.contains("1 names that are not UTF-8"), "{told}");
    for (encoding, word, _) in TEXTS {
        assert!(
            fixture.search(&["-l", word]).contains(&format!("one/{}", name(encoding))),
            "{word}"
        );
    }
    assert_eq!(fixture.search(&["-l", "Straße"]), ["one/mixed.c", "one/windows-1252.c"]);
    assert_eq!(fixture.search(&["-l", "caf\u{fffd}"]), ["one/mixed.c"]);
    assert!(fixture.run(&["check"]).code(0).out.ends_with("no problems found\n"));
    let kinds = "select string_agg(encoding, ', ' order by encoding collate \"C\") from codesearch_sql.files
                 where encoding not in ('UTF-8', 'Big5', 'EUC-JP', 'EUC-KR', 'GBK', 'Shift_JIS')";
    assert_eq!(
        fixture.sql::<String>(kinds),
        "UTF-16LE, UTF-16LE (inexact), UTF-8 (inexact), UTF-8 with BOM, windows-1251, windows-1252"
    );

    let server = fixture.serve();
    let file = |name: &str, more: &str| {
        let path = format!("/file?repo=one&path={name}{more}");
        let (status, answer) = server.json(&path);
        check(&document(), &path, status, &answer);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    };
    for (encoding, _, text) in TEXTS {
        let name = name(encoding);
        let told = file(&name, "");
        assert_eq!((&told["text"], &told["encoding"]), (&json!(text), &json!(encoding.name())));
        let (_, headers, body) = server.ask_bytes(&format!("/raw?repo=one&path={name}"), &[]);
        assert_eq!(body, fs::read(fixture.path().join("one").join(&name)).unwrap(), "{name}");
        let kind = format!("text/plain; charset={}", encoding.name().to_lowercase());
        assert_eq!(headers["content-type"], kind);
        assert_eq!(headers["codesearch-encoding"], encoding.name());
        let page = server.get(&format!("/file?repo=one&path={name}"), "text/html").2;
        assert!(page.contains(&format!("· {}", encoding.name())), "{page}");
        // So do its history and git's versions of it.
        let (_, blame) = server.json(&format!("/blame?repo=one&path={name}"));
        assert_eq!((&blame["lines"][0]["to"], &blame["indexed"]), (&json!(2), &json!(true)));
        let page = server.get(&format!("/blame?repo=one&path={name}"), "text/html").2;
        assert!(!page.contains('\u{fffd}'), "{page}");
    }
    for (name, charset) in [("utf16.c", "utf-16le"), ("bom.c", "utf-8"), ("plain.c", "utf-8")] {
        let (_, headers, body) = server.ask_bytes(&format!("/raw?repo=one&path={name}"), &[]);
        assert_eq!(body, fs::read(fixture.path().join("one").join(name)).unwrap(), "{name}");
        assert_eq!(headers["content-type"], format!("text/plain; charset={charset}"));
        assert_eq!(headers.contains_key("codesearch-encoding"), name != "plain.c");
    }
    // The server says when bytes cannot be restored.
    let (_, headers, body) = server.ask_bytes("/raw?repo=one&path=mixed.c", &[]);
    assert_eq!(headers["codesearch-encoding"], "UTF-8 (inexact)");
    assert_eq!(String::from_utf8(body).unwrap(), file("mixed.c", "")["text"].as_str().unwrap());
    let page = server.get("/file?repo=one&path=mixed.c", "text/html").2;
    assert!(page.contains("UTF-8 (inexact): its bytes cannot be restored from the text"), "{page}");
    let mut agent = Agent::of(&fixture);
    let (_, text) = agent.call("read_file", &json!({ "repo": "one", "path": "windows-1251.c" }));
    assert!(text.contains("of text from windows-1251") && text.contains("Проверка"), "{text}");

    // An earlier text, from the clone.
    let before = file(&name(WINDOWS_1252), "")["hash"].as_str().unwrap().to_owned();
    fixture.write("one/windows-1252.c", "int size;\n");
    fixture.commit("one", "Later");
    fixture.ingest();
    fixture.exec("delete from blobs where encoding = 'windows-1252'");
    let (_, history) = server.json("/history?repo=one&path=windows-1252.c");
    assert_eq!(history["changes"].as_array().unwrap().len(), 2);
    let (_, log) = server.json("/history?repo=one&path=plain.c");
    assert_eq!(log["changes"][0]["summary"], "All");
    let told = file(&name(WINDOWS_1252), &format!("&hash={before}"));
    assert_eq!((&told["text"], &told["encoding"]), (&json!(GERMAN), &json!("windows-1252")));
}

/// Tests an index without the newest version's encodings: texts have U+FFFD, as before, without an encoding.
#[test]
fn texts_that_were_read_wrongly_before_are_read_again() {
    let fixture = Fixture::new();
    fixture.write("r/latin1.c", b"// Gr\xf6\xdfe\n");
    fixture.write("r/mixed.c", b"// \xc3\xb6\xc3\xb6\xc3\xb6 \xe9\n");
    fixture.write("r/bom.c", "\u{feff}// día\n");
    fixture.write("r/plain.c", "// día \u{fffd}\n");
    fixture.ingest_until_known();
    let old = |name: &str, text: &str| {
        let blob = format!("select blob from files where path = '{name}'");
        let blob = fixture.sql::<i32>(&blob);
        fixture.exec_each(
            "chunks",
            &format!("update {{}} set contents = '{text}' where blob = {blob}"),
        );
        fixture.exec_each(
            "files",
            &format!("update {{}} set bytes = octet_length('{text}') where path = '{name}'"),
        );
        fixture.exec(&format!(
            "update blobs set encoding = 'unknown', bytes = octet_length('{text}') where id = {blob};
             update shards set bytes = (select coalesce(sum(bytes), 0) from blobs where shard = shards.shard)"
        ));
    };
    fixture.exec("update blobs set encoding = 'unknown'");
    old("latin1.c", "// Gr\u{fffd}\u{fffd}e\n");
    // As the migration does.
    let inexact =
        "select array_agg(distinct blob) from chunks where strpos(contents, U&'\\FFFD') > 0";
    let inexact = fixture.sql::<Vec<i32>>(inexact);
    fixture.exec_each(
        "files",
        &format!("update {{}} set fingerprint = 0 where blob = any(array{inexact:?})"),
    );
    fixture.exec("update shards set filtered = 0");
    assert!(fixture.run(&["check", "--repair"]).code(0).out.ends_with("no problems found\n"));
    assert!(fixture.search(&["-l", "Größe"]).is_empty());
    let told = fixture.ingest().out;
    assert!(
        told.contains(" 3 read, 2 new or changed") && told.contains("inexact: 1 file "),
        "{told}"
    );
    assert_eq!(fixture.search(&["-l", "Größe"]), ["r/latin1.c"]);
    let all =
        "select string_agg(path || ' ' || encoding, ', ' order by path) from codesearch_sql.files";
    assert_eq!(
        fixture.sql::<String>(all),
        "bom.c unknown, latin1.c windows-1252, mixed.c UTF-8 (inexact), plain.c unknown"
    );
    fixture.run(&["check"]).code(0);
    let server = fixture.serve();
    for (name, encoding) in [("bom.c", "UTF-8 with BOM"), ("plain.c", "UTF-8")] {
        let (_, _, body) = server.ask_bytes(&format!("/raw?repo=r&path={name}"), &[]);
        assert_eq!(body, fs::read(fixture.path().join("r").join(name)).unwrap(), "{name}");
        assert_eq!(server.json(&format!("/file?repo=r&path={name}")).1["encoding"], encoding);
    }
}
