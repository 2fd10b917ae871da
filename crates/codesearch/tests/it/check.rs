//! `codesearch check` finds damage done behind the program's back, and repairs derived data.

use std::path::Path;
use std::process::Command;

use crate::harness::{Fixture, Ran, citus, eventually, run_on_url};

/// Makes an index with texts in several encodings, and with dense, long and small texts.
fn indexed() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/a.rs", "fn needle() {}\n".repeat(2000));
    fixture.write("one/bom.txt", "\u{feff}needle\n");
    fixture.write("one/utf16.txt", [&[0xff, 0xfe][..], b"n\0e\0e\0d\0l\0e\0\n\0"].concat());
    fixture.write("one/latin1.txt", b"caf\xe9 needle\n");
    fixture.write("one/empty.txt", "");
    // Random letters give many n-grams in few bytes.
    let numbers: Vec<String> =
        (1..30_000_u64).map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    fixture.write("one/dense.txt", numbers.join("\n"));
    fixture.write("two/long.js", numbers.join(","));
    fixture.write("two/odd.txt", "\u{212a}elvin \u{17f}ea\n");
    fixture.ingest_over(3);
    fixture
}

/// Executes a statement; on each table of a parent, if its name is before it.
fn execute(fixture: &Fixture, sql: &str) {
    match sql.split_once(": ") {
        Some((parent, sql)) => fixture.exec_each(parent, sql),
        None => fixture.exec(sql),
    }
}

fn check(fixture: &Fixture) -> Ran {
    fixture.run(&["check"])
}

/// Makes an index whose order its values have no more, as after an update of the system's collation.
const DISORDER: &str = "do $do$ begin
    perform set_config('citus.enable_ddl_propagation', 'off', true);
    create function codesearch.odd(int, int) returns int language sql immutable as 'select btint4cmp($1, $2)';
    create operator class codesearch.odd for type int4 using btree as operator 1 <, operator 2 <=, operator 3 =,
        operator 4 >=, operator 5 >, function 1 codesearch.odd(int, int);
    create table codesearch.odd (a int);
    insert into codesearch.odd select generate_series(1, 1000);
    create index odd_a on codesearch.odd using btree (a codesearch.odd);
    create or replace function codesearch.odd(int, int) returns int language sql immutable as 'select btint4cmp($2, $1)';
end $do$";

#[test]
fn an_index_out_of_order_is_found() {
    let fixture = Fixture::new();
    fixture.write("r/a.rs", "needle\n");
    fixture.ingest();
    check(&fixture).code(0);
    // On Citus, tables of shards and their indexes lie on the workers.
    let on_worker = citus::programs().is_some();
    if on_worker {
        fixture.exec(&format!("select run_command_on_workers($sql${DISORDER}$sql$)"));
    } else {
        fixture.exec(DISORDER);
    }
    let ran = check(&fixture);
    if !fixture
        .sql::<bool>("select exists (select from pg_available_extensions where name = 'amcheck')")
    {
        println!("left out: the server has no amcheck");
        return;
    }
    assert_eq!(ran.status.code(), Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("the index odd_a: item order invariant violated"), "{}", ran.out);
    assert_eq!(
        ran.out.matches("the index odd_a: ").count(),
        if on_worker { 3 } else { 1 },
        "{}",
        ran.out
    );
    assert_eq!(ran.out.contains("on "), on_worker, "{}", ran.out);
    let left = "select exists (select from pg_extension where extname = 'amcheck')";
    assert!(!fixture.sql::<bool>(left), "the extension is gone again");
}

#[test]
fn what_was_damaged_is_found() {
    let fixture = indexed();
    assert!(check(&fixture).code(0).out.ends_with("checked: no problems found\n"));
    // Another ingest adds to existing documents and filters.
    fixture.write("one/b.rs", "fn later() {}\n");
    fixture.ingest();
    check(&fixture).code(0);

    let is_found = |damage: &str, undo: &str, told: &str| {
        execute(&fixture, damage);
        let ran = check(&fixture).code(1);
        assert!(ran.out.contains(told), "{damage}: {}", ran.out);
        execute(&fixture, undo);
        check(&fixture).code(0);
    };
    is_found(
        "chunks: update {} set contents = replace(contents, 'later', 'lates')",
        "chunks: update {} set contents = replace(contents, 'lates', 'later')",
        "one/b.rs: its text does not match its hash",
    );
    is_found(
        "update pg_database set datcollversion = 'older' where datname = current_database()",
        "update pg_database set datcollversion = pg_database_collation_actual_version(oid)
             where datname = current_database()",
        "sort order has changed",
    );
    is_found(
        "update blobs set lines = lines + 1",
        "update blobs set lines = lines - 1",
        "its stored number of lines is wrong",
    );
    is_found(
        "chunks: update {} set line = line + 1 where start > 0",
        "chunks: update {} set line = line - 1 where start > 0",
        "its chunks are not consecutive",
    );
    is_found(
        "update repos set files = files + 1",
        "update repos set files = files - 1",
        "counts are wrong: 2",
    );
    is_found(
        "files: update {} set repo = repo + 1000",
        "files: update {} set repo = repo - 1000",
        "files without a repository",
    );
    is_found(
        "update shards set bytes = bytes + 1",
        "update shards set bytes = bytes - 1",
        "size is wrong",
    );
    is_found(
        "files: update {} set valid_from = valid_from + 1000",
        "files: update {} set valid_from = valid_from - 1000",
        "rows of an unpublished state",
    );
    execute(&fixture, "chunks: delete from {} where n in (select max(n) from {} where start > 0)");
    let ran = check(&fixture).code(1);
    assert!(ran.out.contains("bytes in"), "{}", ran.out);
}

#[test]
fn grants_that_cannot_be_are_found() {
    let fixture = Fixture::new();
    fixture.write("one/a.rs", "fn needle() {}\n");
    fixture.ingest();
    fixture.run(&["grant", "user:ann", "one"]).code(0);
    fixture.run(&["monitor", "add", "mine", "needle"]).code(0);
    check(&fixture).code(0);
    let source = "(select source from repos)";
    let host = "insert into mirror_hosts (name, kind, url) values ('work', 'gitea', 'https://git.example.com')";
    fixture.exec(host);
    for (damage, undo, told) in [
        (
            "update access_state set restricted = false",
            "update access_state set restricted = true",
            "grants, although everybody sees all: 1",
        ),
        (
            "delete from access_state",
            "insert into access_state (version, restricted) values (7, true)",
            "no state of the grants: 1",
        ),
        (
            "insert into grants (who, pattern) values ('group:*', '**'), ('user:bob', 'a[')",
            "delete from grants where who <> 'user:ann'",
            "grants that cannot be read and grant nothing: 2 (** to group:* is one)",
        ),
        (
            &*format!("insert into host_visibility values ({source}, 'work', 'public', now())"),
            "delete from host_visibility",
            "repositories shown because of a host that they are not mirrored from: 1",
        ),
        (
            "insert into host_visibility values ('/elsewhere', 'work', 'public', now() + interval '1 day')",
            "delete from host_visibility",
            "mirrors shown because of what hosts are yet to say: 1",
        ),
        (
            "update monitors set owner_groups = '{team}'",
            "update monitors set owner_groups = '{}'",
            "monitors without an owner that have the groups or the narrowing of one: 1",
        ),
    ] {
        fixture.exec(damage);
        let ran = check(&fixture).code(1);
        assert!(ran.out.contains(told), "{damage}: {}", ran.out);
        fixture.exec(undo);
        check(&fixture).code(0);
    }
}

#[test]
fn what_is_derived_is_made_anew() {
    let fixture = indexed();
    let found = fixture.search(&["needle"]);
    let is_mended = |damage: &str, told: &str| {
        execute(&fixture, damage);
        let ran = check(&fixture);
        assert!(ran.out.contains(told), "{damage}: {}", ran.out);
        assert!(ran.out.contains("codesearch check --repair"), "{}", ran.out);
        let ran = fixture.run(&["check", "--repair"]).code(0);
        assert!(ran.out.contains("repaired; restart the servers"), "{}", ran.out);
        check(&fixture).code(0);
        assert_eq!(fixture.search(&["needle"]), found, "{damage}");
    };
    is_mended(
        "documents: update {} set lexemes = replace(lexemes, ' needle ', ' neddle ')",
        "lacks some words",
    );
    is_mended(
        "documents: delete from {} where first = (select min(first) from {})",
        "has no document",
    );
    // Filters of chunks, of blocks, of dense chunks and of large chunks, and the chunks' own columns.
    is_mended(
        "chunk_filters: delete from {} where bit = (select max(bit) from {})",
        "lacks some of its text",
    );
    for kind in [0, 1, 5] {
        is_mended(
            &format!(
                "filters: update {{}} set bits = decode(repeat('00', octet_length(bits)), 'hex') where kind = {kind}"
            ),
            "lacks some of its text",
        );
    }
    is_mended(
        "chunk_filters: update {} set bits = bits # bits where bit = -1",
        "the start of a text",
    );
    is_mended("filters: delete from {} where kind = 0 and number > 5", "some filters are missing");
    // Words of texts, and of definitions.
    is_mended("words: delete from {} where bucket = 1", "are not those of its text");
    is_mended(
        "words: update {} set entries = substr(entries, 1, 40)",
        "the word index cannot be read",
    );
    // What is repaired has no symbols until they are extracted again.
    fixture.run(&["symbols"]).code(0);
    is_mended(
        "word_segments: update {} set first = first + 1 where field = 1",
        "the words of its definitions are not those of its symbols",
    );
}

#[test]
fn an_empty_index_is_not_said_to_be_well() {
    let fixture = Fixture::new();
    fixture.run(&["init", "--shards", "1"]).code(0);
    let ran = check(&fixture).code(1);
    assert!(
        ran.err.contains("nothing is indexed yet") && ran.out.is_empty(),
        "{}{}",
        ran.out,
        ran.err
    );
}

#[test]
fn an_ingest_is_not_disturbed() {
    let fixture = indexed();
    let writing = fixture.hold("select pg_advisory_lock(109345572388864)");
    let ran = check(&fixture).code(2);
    assert!(ran.err.contains("run the check after the ingest"), "{}", ran.err);
    drop(writing);
    crate::harness::eventually("the lock is free", || {
        fixture.run(&["check", "--sample", "1"]).status.code() == Some(0)
    });
}

#[test]
fn a_dump_is_restored() {
    if citus::leaves_out("each node is backed up by itself") {
        return;
    }
    let fixture = indexed();
    let found = fixture.search(&["needle"]);
    let url = fixture.run(&["db", "url"]).code(0).out.trim().to_owned();
    let status = fixture.run(&["db", "status"]).code(0).out;
    let programs =
        status.lines().find_map(|line| line.strip_prefix("build:")?.split_once(" in ")).unwrap().1;
    let programs = Path::new(programs);
    let run = |program: &str, args: &[&str]| {
        let ran = Command::new(programs.join(program)).args(args).output().unwrap();
        assert!(ran.status.success(), "{program}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    let dump = fixture.path().join("index.dump");
    run("pg_dump", &["--format=custom", "--no-privileges", "--file", dump.to_str().unwrap(), &url]);

    let (server, options) = url.split_once('?').unwrap();
    let (server, index) = server.rsplit_once('/').unwrap();
    let restored = format!("restored{}", index.replace(|c: char| !c.is_ascii_digit(), ""));
    let of = |database: &str| format!("{server}/{database}?{options}");
    run("createdb", &["--maintenance-db", &url, &restored]);
    run("pg_restore", &["--dbname", &of(&restored), dump.to_str().unwrap()]);
    let ran = |args: &[&str]| run_on_url(&of(&restored), args, fixture.path());
    assert!(ran(&["check"]).code(0).out.contains("no problems found"));
    let mut lines: Vec<String> =
        ran(&["search", "--limit", "0", "needle"]).code(0).out.lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines.len(), found.len());
    // A dump omits our operator in the operator family, since the family belongs to the extension.
    let operators = "select count(*) from pg_amop a join pg_opfamily f on f.oid = amopfamily where opfname = 'gin_trgm_ops' and amopstrategy = 3 and amoprighttype = 'bytea'::regtype";
    assert_eq!(run("psql", &["--no-psqlrc", "-Atc", operators, &of(&restored)]).trim(), "1");
    // The index can be extended.
    fixture.write("one/c.rs", "fn restored() {}\n");
    ran(&["ingest", "one", "two"]);
    ran(&["check"]).code(0);
    run("dropdb", &["--force", "--maintenance-db", &url, &restored]);
}

#[test]
fn a_server_checks_shards_by_chance() {
    let fixture = Fixture::new();
    fixture.write("one/a.rs", "fn needle() {}\n");
    fixture.run(&["ingest", "--shards", "1", "one"]).code(0);
    let server = fixture.serve_with(&["--check-every", "100ms"]);
    let says = |what: &str| server.get("/metrics", "*/*").2.contains(what);
    eventually("a shard was checked", || !says("codesearch_shards_checked_total 0\n"));
    assert!(says("codesearch_problems 0\n"));
    execute(&fixture, "chunks: update {} set contents = replace(contents, 'needle', 'noodle')");
    eventually("the damage is told", || !says("codesearch_problems 0\n"));
}
