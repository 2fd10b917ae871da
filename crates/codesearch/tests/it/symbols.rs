//! Symbols: definitions in indexed texts, extracted in the background after an ingest.

use std::collections::HashMap;
use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Defined, Fixture, Ran, eventually};

/// The number of symbols in visible files.
const SYMBOLS: &str = "select count(*) from codesearch_sql.symbols";

/// The number of texts whose symbols were extracted.
const TEXTS: &str = "select count(*) from symbols cross join unnest(blobs)";

/// Returns a repository's definitions, one on each line.
fn outline(fixture: &Fixture) -> Vec<String> {
    let text: String = fixture.sql(
        "select coalesce(string_agg(format('%s %s %s%s:%s', path, kind, container || '.', symbol, line), E'\\n'
             order by repository, path, line, symbol), '') from codesearch_sql.symbols",
    );
    text.lines().map(str::to_owned).collect()
}

/// Returns the reasons in the ledger, each with its number of texts.
fn given_up(fixture: &Fixture) -> String {
    fixture.sql(
        "select coalesce(string_agg(format('%s %s', reason, n), ', ' order by reason), '')
         from (select reason, count(*) n from symbols_skipped group by 1) r",
    )
}

fn written() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .write("one/ship.rs", "struct Ship { sails: u8 }\nimpl Ship {\n    fn sail(&self) {}\n}\n");
    fixture.write("one/README.md", "# Ships\n\n## Sailing\n");
    fixture.write("one/notes.txt", "fn nothing() {}\n");
    fixture.write("two/copy.rs", fs::read(fixture.path().join("one/ship.rs")).unwrap());
    fixture
}

#[test]
fn symbols_are_taken_after_an_ingest_once_for_each_text() {
    let fixture = written();
    let out = fixture.ingest().out;
    // The text of both Rust files is the same.
    assert!(out.contains("\nsymbols: 6 in 2 files, "), "{out}");
    assert_eq!(
        outline(&fixture),
        [
            "README.md heading Ships:1",
            "README.md heading Ships.Sailing:3",
            "ship.rs struct Ship:1",
            "ship.rs field Ship.sails:1",
            "ship.rs implementation Ship:2",
            "ship.rs method Ship.sail:3",
            "copy.rs struct Ship:1",
            "copy.rs field Ship.sails:1",
            "copy.rs implementation Ship:2",
            "copy.rs method Ship.sail:3",
        ]
    );
    fixture.check_invariants();
    // Nothing remains to do.
    let out = fixture.run(&["symbols"]).code(0).out;
    assert!(out.contains("are already extracted"), "{out}");
    let ran = fixture.run(&["repos"]).code(0);
    assert!(!ran.err.contains("symbols"), "{}", ran.err);
}

#[test]
fn symbols_can_be_left_for_later_and_how_far_they_are_is_said() {
    let fixture = written();
    let args = ["ingest", "--no-symbols", "--shards", "4", "--depth", "1", "."];
    let out = fixture.run(&args).code(0).out;
    assert!(!out.contains("symbols:"), "{out}");
    assert_eq!(fixture.sql::<i64>(SYMBOLS), 0);
    let ran = fixture.run(&["repos"]).code(0);
    assert!(
        ran.err.contains("symbols are extracted from 0 % of the text; codesearch symbols"),
        "{}",
        ran.err
    );
    let server = fixture.serve();
    let percent = || server.json("/repos").1["symbols_percent"].clone();
    assert_eq!(percent(), 0);
    let out = fixture.run(&["symbols"]).code(0).out;
    assert!(out.starts_with("symbols: 6 in 2 files, "), "{out}");
    assert_eq!(percent(), 100);
    fixture.check_invariants();
}

#[test]
fn up_serves_before_it_takes_symbols() {
    let fixture = written();
    fixture.run(&["init", "--shards", "1"]).code(0);
    // Until this ends, no symbols can be stored.
    let held = fixture.hold("lock table symbols_000 in share row exclusive mode");
    let args = ["up", "--depth", "1", "--listen", "127.0.0.1:0", "."];
    let server = crate::harness::Server::start(fixture.command(&args));
    assert_eq!(server.json("/search?q=sail").1["stats"]["files"], 3);
    assert_eq!(server.json("/repos").1["symbols_percent"], 0);
    drop(held);
    eventually("symbols are there", || server.json("/repos").1["symbols_percent"] == 100);
    assert_eq!(fixture.sql::<i64>(SYMBOLS), 10);
}

#[test]
fn a_small_ingest_adds_the_symbols_of_new_texts_only() {
    let fixture = written();
    fixture.ingest();
    let before: i64 = fixture.sql(TEXTS);
    fixture.write("two/more.go", "package more\nfunc More() {}\n");
    let out = fixture.ingest().out;
    assert!(out.contains("\nsymbols: 2 in 1 file, "), "{out}");
    assert_eq!(fixture.sql::<i64>(TEXTS), before + 1);
    // They are few, so they share a row.
    assert_eq!(fixture.sql::<i64>("select count(*) from symbols"), 1);
    fixture.check_invariants();
    // A known text gets a file in a language with symbols.
    fixture.write("two/nothing.rs", fs::read(fixture.path().join("one/notes.txt")).unwrap());
    let out = fixture.ingest().out;
    assert!(out.contains("\nsymbols: 1 in 1 file, "), "{out}");
    assert!(outline(&fixture).contains(&"nothing.rs function nothing:1".to_owned()));
    fixture.check_invariants();
}

#[test]
fn what_goes_takes_its_symbols_with_it() {
    let fixture = written();
    fixture.write("one/large.c", "int x;\n".repeat(40_000));
    // A repository without files would be taken for one whose disk is missing.
    fixture.write("two/binary", b"\0");
    fixture.ingest();
    assert_eq!(given_up(&fixture), "too-many 1");
    for path in ["one/README.md", "one/large.c", "two/copy.rs"] {
        fs::remove_file(fixture.path().join(path)).unwrap();
    }
    fixture.ingest();
    // The other file still has the text of copy.rs.
    assert_eq!((fixture.sql::<i64>(TEXTS), &*given_up(&fixture)), (1, ""));
    fixture.run(&["remove", "one", "two"]).code(0);
    assert_eq!(fixture.sql::<i64>("select count(*) from symbols"), 0);
    fixture.check_invariants();
}

/// Returns an index of many texts, each of which defines 21 symbols.
fn many(files: usize) -> Fixture {
    let fixture = Fixture::new();
    for n in 0..files {
        let functions: Vec<String> = (0..20).map(|m| format!("func F{n}_{m}() {{}}\n")).collect();
        let filling = "// what is parsed, too, and takes some time\n".repeat(200);
        fixture.write(
            &format!("r{}/f{n}.go", n % 3),
            format!("package p\n{}{filling}", functions.concat()),
        );
    }
    fixture
}

#[test]
fn killed_in_the_middle_it_goes_on_where_it_was() {
    const FILES: usize = 1500;
    let fixture = many(FILES);
    let args = [
        "ingest",
        "--no-symbols",
        "--shards",
        "6",
        "--shard-bytes",
        "3000000",
        "--depth",
        "1",
        ".",
    ];
    fixture.run(&args).code(0);
    for moment in [
        "true",
        "exists (select from symbols)",
        "(select count(*) > 700 from symbols cross join unnest(blobs))",
    ] {
        let mut child = fixture
            .command(&["symbols"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // It may have ended already.
        eventually(moment, || {
            child.try_wait().unwrap().is_some() || fixture.sql::<bool>(&format!("select {moment}"))
        });
        let _ = child.kill();
        child.wait().unwrap();
    }
    let before: i64 = fixture.sql(TEXTS);
    let out = fixture.run(&["symbols"]).code(0).out;
    assert_eq!(fixture.sql::<i64>(SYMBOLS), FILES as i64 * 21);
    // The command reports the symbols that this run extracted.
    let taken = FILES as i64 - before;
    assert!(
        taken == 0 || out.replace(',', "").contains(&format!(" in {taken} file")),
        "{before}: {out}"
    );
    fixture.check_invariants();
}

#[test]
fn an_ingest_that_waits_has_its_turn() {
    let fixture = many(40);
    fixture.run(&["ingest", "--no-symbols", "--shards", "1", "--depth", "1", "."]).code(0);
    let held = fixture.hold("lock table symbols_000 in share row exclusive mode");
    let taking = fixture.command(&["symbols"]).stdout(Stdio::piped()).spawn().unwrap();
    let waits = "select exists (select from pg_locks where not granted and relation = 'symbols_000'::regclass)";
    eventually("it stores", || fixture.sql::<bool>(waits));
    fixture.write("r0/new.go", "package p\nfunc New() {}\n");
    let next = ["ingest", "--depth", "1", "."];
    let next = fixture.command(&next).stdout(Stdio::piped()).spawn().unwrap();
    // 0x637300000002 is the lock of waiting processes.
    let waits = "select exists (select from pg_locks where locktype = 'advisory' and classid = 25459 and objid = 2)";
    eventually("the ingest waits", || fixture.sql::<bool>(waits));
    drop(held);
    // Both end, whichever extracted the rest.
    Ran::of(taking.wait_with_output().unwrap()).code(0);
    Ran::of(next.wait_with_output().unwrap()).code(0);
    assert_eq!(fixture.sql::<i64>(SYMBOLS), 40 * 21 + 2);
    fixture.check_invariants();
}

#[test]
fn hostile_texts_cost_their_symbols_only() {
    let fixture = written();
    let lines = |unit: &str, bytes: usize| {
        let line = format!("{}\n", unit.repeat(80 / unit.len()));
        line.repeat(bytes / line.len())
    };
    // Texts that make the memory of one parser, and the time of another, grow without limit.
    fixture.write("bad/memory.py", lines("/* ", 250_000));
    fixture.write("bad/slow.lua", lines("} ", 250_000));
    fixture.write("bad/ifs.lua", lines("if x ", 250_000));
    fixture.write("bad/nested.c", lines("(", 200_000));
    fixture.write("bad/large.go", "// x\n".repeat(300_000));
    fixture.write("bad/min.js", "var a=1;".repeat(10_000));
    fixture.write(
        "bad/name.rs",
        format!("fn before() {{}}\nfn {}() {{}}\n{}", "x".repeat(10_000), "\n".repeat(100)),
    );
    fixture.write("bad/many.py", "a=1\n".repeat(40_000));
    let all = ["ingest", "--max-size", "2000000", "--depth", "1", "."];
    let out = fixture.run(&all).code(0).out;
    assert!(out.contains("\nsymbols: "), "{out}");
    assert!(
        out.contains("; incomplete in ")
            && out.contains("1 nested too deeply")
            && out.contains("1 minified"),
        "{out}"
    );
    let given_up = given_up(&fixture);
    for reason in ["too-large 1", "minified 1", "too-nested 1", "long-name 1", "too-many 1"] {
        assert!(given_up.contains(reason), "{given_up}");
    }
    let found = outline(&fixture);
    assert!(found.contains(&"ship.rs method Ship.sail:3".to_owned()));
    assert!(found.contains(&"name.rs function before:1".to_owned()));
    assert_eq!(
        fixture.sql::<i64>("select count(*) from codesearch_sql.symbols where path = 'many.py'"),
        32_767
    );
    fixture.check_invariants();
    // A search for symbols tells how many files lack them, whether it runs in memory or in the database.
    let server = fixture.serve();
    server.settle();
    let without_memory = fixture.serve_with(&["--cache", "0"]);
    for (query, expected) in [
        ("sym:nowhere file:min", json!({ "minified": 1 })),
        ("sym:nowhere file:bad/(min|name)", json!({})),
        ("sym:nowhere (file:min or file:name)", json!({ "minified": 1, "long-name": 1 })),
        ("type:symbol nowhere lang:javascript", json!({ "minified": 1 })),
        ("sym:sail file:name", json!({ "long-name": 1 })),
        ("sym:sail repo:one", json!({})),
        ("sail", json!({})),
    ] {
        for server in [&server, &without_memory] {
            let answer = server.search(query);
            let (stats, is_complete) = (&answer["stats"], expected == json!({}));
            assert_eq!(stats["complete"], is_complete, "{query}: {answer}");
            let given_up = if is_complete { Value::Null } else { expected.clone() };
            assert_eq!(stats["symbols"]["given_up"], given_up, "{query}");
        }
    }
    let ran = fixture.run(&["search", "--json", "sym:nowhere", "file:min"]).code(1);
    assert!(ran.err.contains("symbols of 1 file are incomplete (1 minified)"), "{}", ran.err);
    assert!(ran.out.contains("\"complete\":false"), "{}", ran.out);
    let zoekt = |query: &str| {
        let body = json!({ "Q": query }).to_string();
        let mut answer =
            ureq::post(format!("http://{}/api/search", server.address)).send(body).unwrap();
        let answer: Value =
            serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
        answer["Result"]["FilesSkipped"].as_u64()
    };
    assert_eq!((zoekt("sym:nowhere file:min"), zoekt("sym:nowhere repo:one")), (Some(1), Some(0)));
    let livegrep = |more: &str| {
        server.json(&format!("/api/v1/search/?q=nowhere+tags:{more}")).1["info"]["why"].clone()
    };
    assert_eq!((livegrep("+file:min"), livegrep("+repo:one")), (json!("TIMEOUT"), json!("NONE")));
    let definitions = server.json("/definitions?name=nowhere&repo=bad").1;
    assert!(
        definitions["complete"] == false
            && definitions["note"].to_string().contains("are incomplete")
    );
    // They are not tried again.
    let out = fixture.run(&["symbols"]).code(0).out;
    assert!(out.contains("are already extracted"), "{out}");
}

#[test]
fn a_program_that_takes_more_takes_the_rest() {
    let fixture = written();
    fixture.ingest();
    let before = outline(&fixture);
    // As left by a version without Rust.
    let heading = |name: &str, start: usize, line: usize, parent: Option<usize>| Defined {
        name: name.to_owned(),
        kind: 18,
        start,
        end: 20,
        line,
        parent,
    };
    let headings = vec![heading("Ships", 2, 1, None), heading("Sailing", 12, 3, Some(0))];
    fixture.define(&HashMap::from([("one/README.md".to_owned(), headings)]));
    fixture.exec("update state set symbols_languages = '{markdown}'");
    let out = fixture.run(&["symbols"]).code(0).out;
    assert!(out.starts_with("symbols: 4 in 1 file, "), "{out}");
    assert_eq!(outline(&fixture), before);
    // As left by a version that extracted other symbols.
    fixture.exec("update state set symbols_format = 0");
    fixture.exec_each("symbols", "update {} set names = upper(names)");
    let out = fixture.ingest().out;
    assert!(out.contains("\nsymbols: 6 in 2 files, "), "{out}");
    assert_eq!(outline(&fixture), before);
    fixture.check_invariants();
}

#[test]
fn damaged_symbols_are_found_and_taken_anew() {
    let fixture = written();
    fixture.ingest();
    let before = outline(&fixture);
    let told = |what: &str| {
        let ran = fixture.run(&["check"]).code(1);
        assert!(ran.out.contains(what), "{}", ran.out);
    };
    fixture.exec_each("symbols", "update {} set names = upper(names)");
    told("its symbols belong to another text");
    fixture.exec_each("symbols", "delete from {}");
    told("texts without their symbols: 2");
    let out = fixture.run(&["check", "--repair"]).code(0).out;
    assert!(out.contains("extract symbols again: codesearch symbols"), "{out}");
    let out = fixture.run(&["symbols"]).code(0).out;
    assert!(out.starts_with("symbols: 6 in 2 files"), "{out}");
    assert_eq!(outline(&fixture), before);
    fixture.exec("insert into symbols_skipped select shard, 4711, 'too-large' from shards where live_from is not null");
    told("symbols without a text: ");
    fixture.exec_each("symbols", "update {} set filter = decode(repeat('00', 512), 'hex')");
    told("damaged groups of symbols: 1");
    fixture.exec_each(
        "symbols",
        "insert into {} select shard, first + 1, blobs, counts, names, numbers, filter from {}",
    );
    told("groups of symbols that overlap: 1");
}
