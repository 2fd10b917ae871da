//! Bad input ends in one clear sentence and the right exit status, and leaves the index unchanged.

use std::fs;
use std::net::TcpListener;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::harness::{Fixture, Ran, citus, run_on_url, socket_folder};
use crate::upgrade;

/// Returns the last line of stderr of a command that must fail.
#[track_caller]
fn complaint(ran: Ran) -> String {
    let ran = ran.code(2);
    assert_eq!(ran.out, "");
    ran.err.trim_end().trim_start_matches("codesearch: ").to_owned()
}

#[test]
fn folders_that_cannot_be_indexed() {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "kept\n");
    fixture.ingest();
    fixture.write("file", "x");
    fs::create_dir(fixture.path().join("empty")).unwrap();
    for (args, expected) in [
        (&["ingest", "nowhere"][..], "cannot read nowhere: No such file or directory (os error 2)"),
        (&["ingest", "file"], "file is not a folder; name the folder that holds the repositories"),
        (&["ingest", "empty"], "no files in empty"),
        (&["ingest", "--depth", "5", "r"], "r has no folders 5 levels down; use a smaller --depth"),
        (&["up", "nowhere"], "cannot read nowhere: No such file or directory (os error 2)"),
    ] {
        assert_eq!(complaint(fixture.run(args)), expected);
    }
    assert_eq!(fixture.search(&["kept"]), ["r/a.txt:1:kept"]);
    fixture.check_invariants();
}

#[test]
fn numbers_that_are_none() {
    let fixture = Fixture::new();
    for (args, expected) in [
        (
            &["search", "--limit", "none", "x"][..],
            "--limit: none is not a whole number; give a number, 0 for all",
        ),
        (&["docs", "--limit", "few", "x"], "--limit: few is not a whole number; give a number"),
        (
            &["serve", "--client-at-once", "2.5"],
            "--client-at-once: 2.5 is not a whole number; give a number",
        ),
        (
            &["ingest", "--max-size", "1MB", "r"],
            "--max-size: 1MB is not a whole number; give a number",
        ),
    ] {
        assert_eq!(complaint(fixture.run(args)), expected);
    }
}

#[test]
fn patterns_that_are_none() {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "kept\n");
    fixture.ingest();
    assert_eq!(
        complaint(fixture.run(&["search", "foo(bar"])),
        "unclosed group: write \\( for the character (at character 4)\n    foo(bar\n       ^\n\
         try: codesearch search -F 'foo(bar'"
    );
    let cut = complaint(fixture.run(&["search", "foo(a, b)"]));
    assert!(cut.starts_with("the term with this parenthesis ends at the next space"), "{cut}");
    for pattern in ["[", "*", r"\w{1000}{100}", "(?P<x", r"\8", "(?<!a)b"] {
        assert!(complaint(fixture.run(&["search", pattern])).contains("(at character "));
        assert!(complaint(fixture.run(&["search", "-e", pattern])).contains("(at character "));
    }
    for (args, expected) in [
        (&["a", "--repo", "("][..], "--repo: unclosed group"),
        (&["a", "--file", r"(\w{500}){50}"], "--file: the pattern is too large"),
        (
            &["a", "--lang", "klingon"],
            "--lang: unknown language \"klingon\"; use a name or an extension",
        ),
    ] {
        let told = complaint(fixture.run(&[&["search"], args].concat()));
        assert!(told.starts_with(expected), "{told}");
    }
}

#[test]
fn nothing_is_indexed_yet() {
    let fixture = Fixture::new();
    let expected =
        "nothing is indexed yet; run: codesearch ingest FOLDER (or: codesearch up FOLDER)";
    // On nodes, the database is an operator's.
    if citus::programs().is_none() {
        let missing = complaint(fixture.run(&["search", "a"]));
        assert!(
            missing.starts_with(&format!("there is no index named '{}'; there ", fixture.index)),
            "{missing}"
        );
    }
    fixture.run(&["init", "--shards", "1"]).code(0);
    assert_eq!(complaint(fixture.run(&["search", "a"])), expected);
    assert!(fixture.run(&["repos"]).code(1).err.contains(expected));
}

#[test]
fn databases_that_cannot_be_used() {
    let run = |url: &str| run_on_url(url, &["search", "a"], &std::env::temp_dir());
    let refused = complaint(run("postgresql://nobody@127.0.0.1:1/none"));
    assert!(refused.starts_with("cannot reach the database: "), "{refused}");
    let none = complaint(run("not a url"));
    assert!(none.starts_with("DATABASE_URL is not a Postgres URL"), "{none}");

    // A database that exists, but is not set up as required.
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "over the url\n");
    fixture.run(&["init", "--shards", "2"]).code(0);
    let socket = fixture.run(&["db", "url"]).code(0).out;
    let url = socket.trim().to_owned();
    let index = utf8_percent_encode(&fixture.index, NON_ALPHANUMERIC).to_string();
    let missing = complaint(run(&url.replace(&index, "nowhere")));
    assert!(missing.contains("does not exist"), "{missing}");
    let ran = |args: &[&str]| run_on_url(&url, args, fixture.path());
    ran(&["ingest", "r"]).code(0);
    assert_eq!(ran(&["search", "over"]).code(0).out, "r/a.txt:1:over the url\n");
    assert!(complaint(ran(&["db", "stop"])).contains("DATABASE_URL is set"));
}

#[test]
fn a_role_without_rights_gets_the_same_answers() {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "one needle\nÉtÉ 100% a_b\nback\\slash\n");
    fixture.write("r/b.txt", "two NEEDLES\n");
    // As on a managed server: the role is not a superuser, so it cannot create the operator for loose lookups.
    fixture.create_database();
    let role = format!("role_{}", fixture.index);
    let grants = format!(
        "grant create on database {0} to {role}; grant create on schema public to {role}",
        fixture.index
    );
    fixture.exec(&format!("create role {role} login; {grants}"));
    if citus::programs().is_some() {
        fixture.exec(&format!("select run_command_on_workers('{grants}')"));
        // The coordinator connects to itself as the role.
        let admitted = socket_folder().parent().unwrap().join("data/pg_ident.conf");
        let known = std::fs::read_to_string(&admitted).unwrap();
        std::fs::write(&admitted, format!("{known}owner /^(.*)$ \"{role}\"\n")).unwrap();
        fixture.exec("select pg_reload_conf()");
    }
    let url = fixture.run(&["db", "url"]).code(0).out;
    let url = format!("{}&options=-c%20role%3D{role}", url.trim());
    let run = |args: &[&str]| run_on_url(&url, args, fixture.path());
    run(&["ingest", "--shards", "2", "r"]).code(0);
    // As docs/sql.md tells an administrator. The role may exist already, since all indexes of a server share it.
    let reader_url =
        url.split_once("&options").unwrap().0.replace("//codesearch@", "//codesearch_reader@");
    let admit = || {
        fixture.exec(
            "do $$ begin create role codesearch_reader login; exception when others then null; end $$;
             grant usage on schema codesearch_sql to codesearch_reader;
             grant select on all tables in schema codesearch_sql to codesearch_reader",
        );
    };
    let refused = run(&["sql", "--reader-url", &url, "select 1"]).code(2).err;
    assert!(
        refused.contains("more rights than to connect") && refused.contains("create role"),
        "{refused}"
    );
    // The trusted extension brings it, where its files are installed.
    let is_offered =
        "select exists (select from pg_available_extensions where name = 'codesearch_trgm')";
    let loose = "select count(*) from pg_operator where oprname = '@~~'";
    assert_eq!(fixture.sql::<i64>(loose), i64::from(fixture.sql::<bool>(is_offered)));
    let check = || {
        for (pattern, lines) in [
            ("needle", 2),
            ("Needle", 0),
            ("NEEDLE", 1),
            ("ÉtÉ", 1),
            ("100%", 1),
            ("a_b", 1),
            (r"back\\sl", 1),
            ("(?i)étÉ", 1),
        ] {
            let found = run(&["search", pattern]).out;
            assert_eq!(found.lines().count(), lines, "{pattern}: {found}");
            assert_eq!(found, run(&["search", "--brute", pattern]).out);
        }
        let grep =
            "select repository, path, line, text from grep('(?i)needle|a_b') order by 1, 2, 3";
        admit();
        let sql = |statement: &str| {
            run(&["sql", "--reader-url", &reader_url, "--format", "csv", statement])
        };
        let rows = sql(grep).code(0).out;
        assert_eq!(
            rows,
            "repository,path,line,text\nr,a.txt,1,one needle\nr,a.txt,2,ÉtÉ 100% a_b\nr,b.txt,1,two NEEDLES\n"
        );
        // Everybody may run such functions there, so they are refused by name.
        let refused = sql("select \"pg_advisory_lock\"(1)").code(2).err;
        assert!(
            refused.contains("the function pg_advisory_lock may do more than read"),
            "{refused}"
        );
    };
    check();
    if citus::programs().is_none() {
        // An index of an earlier version, whose documents contain texts instead of lexemes. None lay on nodes.
        upgrade::make_old(&fixture, 4, Some(&role));
        check();
    }
    fixture.check_invariants();
    fixture.exec(&format!("drop owned by {role} cascade; drop role {role}"));
}

#[test]
fn a_port_in_use() {
    let fixture = Fixture::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_eq!(
        complaint(fixture.run(&["serve", "--listen", &address])),
        format!(
            "{address} is in use by another program; choose another port with --listen 127.0.0.1:0"
        )
    );
}
