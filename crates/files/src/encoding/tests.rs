use super::*;

/// Checks the text and the name of the encoding of some bytes, and that the text restores them unless the name says
/// otherwise.
#[track_caller]
fn check(bytes: &[u8], expected: Option<(&str, &str)>) {
    let found = Encoding::decode(bytes.to_vec());
    let told = found.as_ref().map(|(text, encoding)| (text.as_str(), encoding.to_string()));
    assert_eq!(told, expected.map(|(text, name)| (text, name.to_owned())), "{bytes:02x?}");
    let Some((text, encoding)) = found else { return };
    let again = encoding.encode(&text);
    assert_eq!(again.as_deref(), encoding.is_exact().then_some(bytes), "{encoding}");
    assert_eq!(Encoding::of(encoding.word().as_deref()), Some(encoding));
}

#[test]
fn utf8_and_utf16() {
    check(b"", Some(("", "UTF-8")));
    check("día\n".as_bytes(), Some(("día\n", "UTF-8")));
    check("\u{FFFD}".as_bytes(), Some(("\u{FFFD}", "UTF-8")));
    check(b"\xef\xbb\xbfbom", Some(("bom", "UTF-8 with BOM")));
    check(b"\xef\xbb\xbf\xef\xbb\xbf2", Some(("\u{FEFF}2", "UTF-8 with BOM")));
    check(b"\xff\xfeh\0i\0", Some(("hi", "UTF-16LE")));
    check(b"\xfe\xff\0h\0i", Some(("hi", "UTF-16BE")));
    check(b"\xff\xfe\x3d\xd8\0\xde", Some(("\u{1F600}", "UTF-16LE")));
    // Half of a surrogate pair, and half of a unit.
    check(b"\xff\xfe\0\xd8x\0", Some(("\u{FFFD}x", "UTF-16LE (inexact)")));
    check(b"\xff\xfeh\0i", Some(("h\u{FFFD}", "UTF-16LE (inexact)")));
}

#[test]
fn a_nul_is_not_text() {
    check(b"a\0b", None);
    check(b"\xff\xfea\0\0\0", None);
    // UTF-16 without a mark, and UTF-32.
    check(b"h\0i\0", None);
    check(b"\xff\xfe\0\0h\0\0\0", None);
    check(b"\0\0\xfe\xff\0\0\0h", None);
}

/// Texts as they occur in source code: comments between lines of ASCII.
const TEXTS: [(&str, &[&str]); 10] = [
    ("// Größe der Straße, für später\nint size;\n", &["windows-1252"]),
    ("# déjà vu: où est le fichier créé à l'été ?\n", &["windows-1252"]),
    ("caf\u{e9}\n", &["windows-1252"]),
    (
        "/* Проверка размера файла перед записью */\nint f(void);\n",
        &["windows-1251", "KOI8-U", "IBM866"],
    ),
    ("// Příliš žluťoučký kůň úpěl ďábelské ódy\n", &["windows-1250", "ISO-8859-2"]),
    ("// 检查文件的大小，然后写入数据\nint f();\n", &["GBK"]),
    ("// 檢查檔案的大小，然後寫入資料\nint f();\n", &["Big5"]),
    ("// ファイルの大きさを調べてから書き込みます\nint f();\n", &["Shift_JIS", "EUC-JP"]),
    ("// 파일의 크기를 확인한 다음 데이터를 기록합니다\nint f();\n", &["EUC-KR"]),
    ("// Ελέγχει το μέγεθος του αρχείου πριν από την εγγραφή\n", &["windows-1253"]),
];

#[test]
fn other_encodings_are_found() {
    for (text, names) in TEXTS {
        for name in names {
            let (bytes, _, lacks_some) = Charset::for_label(name.as_bytes()).unwrap().encode(text);
            assert!(!lacks_some, "{name}: {text}");
            check(&bytes, Some((text, name)));
        }
    }
    // The two differ in letters that are not Russian.
    let (bytes, ..) = encoding_rs::KOI8_R.encode(TEXTS[3].0);
    check(&bytes, Some((TEXTS[3].0, "KOI8-U")));
}

#[test]
fn one_byte_in_ascii_is_kept_exactly() {
    check(b"bad = \"\xff\"\n", Some(("bad = \"ÿ\"\n", "windows-1252")));
}

#[test]
fn what_gb18030_has_and_gbk_has_not() {
    let text = "// 检查文件的大小，然后写入数据 \u{20000}\n";
    let (bytes, ..) = GB18030.encode(text);
    check(&bytes, Some((text, "gb18030")));
}

#[test]
fn two_ways_to_write_a_character_are_inexact() {
    // 纊 in NEC's selection; the encoder writes IBM's code for it.
    let text = "// ファイルの大きさを調べてから書き込みます 纊\n";
    let (bytes, ..) = encoding_rs::SHIFT_JIS.encode(text);
    check(&bytes, Some((text, "Shift_JIS")));
    let at = bytes.len() - 3;
    let other = [&bytes[..at], b"\xed\x40\n"].concat();
    check(&other, Some((text, "Shift_JIS (inexact)")));
}

#[test]
fn mostly_utf8_stays_utf8() {
    // A change log with one line in an older encoding.
    check(
        "Größe\nStra\u{DF}e — “x”\ncaf".bytes().chain(*b"\xe9\n").collect::<Vec<_>>().as_slice(),
        Some(("Größe\nStraße — “x”\ncaf\u{FFFD}\n", "UTF-8 (inexact)")),
    );
    // The end is cut off.
    check(&"día 日本語".as_bytes()[..12], Some(("día 日本\u{FFFD}", "UTF-8 (inexact)")));
    check(b"\xef\xbb\xbfa\xff", Some(("a\u{FFFD}", "UTF-8 with BOM (inexact)")));
}

#[test]
fn bytes_of_no_encoding_are_told() {
    check(b"a\xff\x81b", Some(("a\u{FFFD}\u{FFFD}b", "UTF-8 (inexact)")));
    let all: Vec<u8> = (0x80..=0xFF).collect();
    check(&all, Some((&"\u{FFFD}".repeat(128), "UTF-8 (inexact)")));
}

#[test]
fn a_text_of_before_is_known_by_its_file() {
    let files: [&[u8]; 4] = [b"a\n", b"\xef\xbb\xbfa\n", b"\xff\xfea\0\n\0", b"\xfe\xff\0a\0\n"];
    for file in files {
        let (text, encoding) = Encoding::decode(file.to_vec()).unwrap();
        assert_eq!(Encoding::of_stored(Some(UNKNOWN), &text, |bytes| bytes == file), encoding);
    }
    let lossy = Encoding::of_stored(Some(UNKNOWN), "caf\u{FFFD}", |bytes| bytes == b"caf\xe9");
    assert_eq!(lossy.to_string(), "UTF-8 (inexact)");
}

#[test]
fn what_git_says() {
    assert_eq!(decode_lossy("día".as_bytes()), "día");
    assert_eq!(decode_lossy(b"J\xf6rg M\xfcller"), "Jörg Müller");
}
