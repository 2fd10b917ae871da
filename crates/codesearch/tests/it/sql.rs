//! SQL for users: the views of `codesearch_sql`, `codesearch sql`, and psql.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::harness::{Fixture, Ran, citus, socket_folder};
use crate::private_postgres::Home;

/// Unusual texts: various line ends, empty lines, characters that fold to ASCII, long lines, words next to non-ASCII
/// letters, equal contents, several chunks.
fn written() -> Fixture {
    let fixture = Fixture::new();
    fixture.write(
        "one/a.go",
        "package a\n\nfunc Größe() int {\n\treturn 1 // TODO: fmt.Println(\n}\n",
    );
    fixture.write(
        "one/same.go",
        "package a\n\nfunc Größe() int {\n\treturn 1 // TODO: fmt.Println(\n}\n",
    );
    fixture.write("one/crlf.txt", "if (err != nil) {\r\n\r\n\treturn err\r\n}");
    fixture.write("one/empty.txt", "");
    fixture.write("one/lines.txt", "\n\n\n");
    fixture.write("one/left.bin", "left\0out");
    fixture.write(
        "two/kelvin.txt",
        "\u{212a}elvin kelvin KELVIN \u{17f}trange strange\nnaïveword—x\n",
    );
    fixture.write("two/long.txt", format!("long_line {}\nend", "of a text ".repeat(3000)));
    for n in 0..20 {
        let lines: Vec<String> =
            (0..300).map(|i| format!("fn word{n}_{i}() {{ a\\b }}\n")).collect();
        fixture.write(&format!("two/many/{n}.rs"), lines.concat());
    }
    fixture.ingest_over(4);
    fixture
}

#[track_caller]
fn rows(fixture: &Fixture, statement: &str) -> Vec<Value> {
    let ran = fixture.run(&["sql", "--format", "json", statement]);
    assert!(ran.status.code() < Some(2), "{statement}: {}", ran.err);
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[test]
fn grep_finds_what_reading_every_text_finds() {
    let fixture = written();
    let patterns = [
        "Println",
        "fmt\\.Println\\(",
        "TODO|FIXME",
        "word7_39",
        "word7_39\\(",
        "word[0-9]+_299",
        "wor?d3_1\\y",
        "if \\(err",
        "^$",
        "^return",
        "return$",
        "err$",
        "}$",
        "kelvin",
        "strange",
        "\u{212a}",
        "naïveword",
        "word—x",
        "Größe",
        "öße",
        "long_line",
        "a\\\\b",
        "(word1|word2)_7\\(",
        "(?:word1|word2)_7",
        "fn word1{2}_5\\(",
        "word1{1,2}_5",
        "[[:alpha:]]ord9_1\\(",
        "[^a-z]word9_1\\(",
        "wx*ord4_44",
        "w\\w+4_44",
        "(?i)println",
        "***=a\\b",
        "\\mword5_5\\M",
        "\\x77ord5_5",
        "nowhere_at_all",
        "zzz|yyy",
        "end",
        "",
        "of a text of",
        "a\\.?go",
        "x*y*",
        "word8_+8\\(",
        "w(o(r)d)6_6\\(",
        "(a[)]b)",
        "(w)o\\1",
        "word7_39()",
        "(?=fn )fn word3_3",
    ];
    for (pattern, ignore_case) in patterns.iter().flat_map(|p| [(p, false), (p, true)]) {
        let operator = if ignore_case { "~*" } else { "~" };
        let pattern_sql = quoted(pattern);
        let by_index = rows(
            &fixture,
            &format!(
                "select * from grep({pattern_sql}, ignore_case => {ignore_case}) order by 1, 2, 3"
            ),
        );
        let by_reading = rows(
            &fixture,
            &format!(
                "select repository, path, line, rtrim(l, e'\\r') as text
                 from file_texts f, string_to_table(regexp_replace(f.text, e'\\n$', ''), e'\\n') with ordinality t (l, line)
                 where f.bytes > 0 and rtrim(l, e'\\r') {operator} {pattern_sql} order by 1, 2, 3"
            ),
        );
        assert_eq!(by_index, by_reading, "{pattern} {ignore_case}");
    }
    // The engine and Postgres find a text in the same files.
    for text in ["fmt.Println(", "word7_39", "a\\b", "naïveword", "if (err", "of a text of"] {
        let found: Vec<String> =
            rows(&fixture, &format!("select * from grep({})", quoted(&format!("***={text}"))))
                .iter()
                .map(|row| {
                    format!(
                        "{}/{}:{}",
                        row["repository"].as_str().unwrap(),
                        row["path"].as_str().unwrap(),
                        row["line"]
                    )
                })
                .collect();
        let mut found = found;
        found.sort();
        let mut engine: Vec<String> = fixture
            .search(&["-s", "-F", text])
            .iter()
            .map(|line| line.splitn(3, ':').take(2).collect::<Vec<_>>().join(":"))
            .collect();
        engine.sort();
        assert!(!found.is_empty() && found == engine, "{text}: {found:?} {engine:?}");
    }
    let in_some = rows(
        &fixture,
        "select distinct path from grep('word', '^two$', '/1[0-9]\\.rs$') order by 1",
    );
    assert_eq!(in_some.len(), 10, "{in_some:?}");
    assert_eq!(rows(&fixture, "select * from grep('word', most => 7)").len(), 7);
    assert_eq!(rows(&fixture, "select * from grep('word', most => 0)").len(), 0);
    for wrong in ["grep('a(')", "grep('a', 'b(')", "grep('a', paths => '*')"] {
        let ran = fixture.run(&["sql", &format!("select * from {wrong}")]).code(2);
        assert!(ran.err.contains("invalid regular expression"), "{}", ran.err);
    }
}

#[test]
fn grep_asks_the_trigram_index() {
    let fixture = written();
    let plan = |pattern: &str| {
        let statement = format!("select * from explain_grep({})", quoted(pattern));
        fixture.run(&["sql", "--format", "csv", &statement]).code(0).out
    };
    for pattern in ["word7_39", "fmt\\.Println", "TODO|FIXME", "\\w+ word3_3\\(\\)"] {
        let plan = plan(pattern);
        assert!(plan.contains("Bitmap Index Scan on documents_000_trgm"), "{plan}");
        assert!(!plan.contains("Seq Scan on documents"), "{plan}");
    }
    if citus::leaves_out("scans are counted on nodes") {
        return;
    }
    // Counts the scans of each index within the transaction.
    fixture.with_connection(async |mut conn| {
        conn.execute("begin").await.unwrap();
        let read = "select sum(pg_stat_get_xact_numscans(c.oid))::bigint from pg_class c where relname like ";
        let found: i64 = sqlx::query_scalar("select count(*) from codesearch_sql.grep('word7_39')")
            .fetch_one(&mut conn)
            .await
            .unwrap();
        assert_eq!(found, 1);
        let scans: i64 = sqlx::query_scalar(AssertSqlSafe(format!("{read} 'documents_%_trgm'")))
            .fetch_one(&mut conn)
            .await
            .unwrap();
        let live: i64 = sqlx::query_scalar("select count(*) from shards where live_from is not null")
            .fetch_one(&mut conn)
            .await
            .unwrap();
        assert!(live > 1 && scans == live, "{scans} of {live}");
        let whole: i64 = sqlx::query_scalar(AssertSqlSafe(format!("{read} 'documents_00_'")))
            .fetch_one(&mut conn)
            .await
            .unwrap();
        assert_eq!(whole, 0, "no document is read but by its index");
    });
}

#[test]
fn views_show_the_newest_state_and_nothing_else() {
    let fixture = written();
    let names = |view: &str| -> Vec<String> {
        let statement = format!("select repository || '/' || path as name from {view} order by 1");
        rows(&fixture, &statement)
            .iter()
            .map(|row| row["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let listed = fixture.run(&["search", "-l", "--limit", "0", "file:."]).code(0).out;
    let mut listed: Vec<&str> = listed.lines().collect();
    listed.sort_unstable();
    assert_eq!(names("files"), listed);
    assert_eq!(names("file_texts"), listed);
    assert_eq!(names("left_out"), ["one/left.bin"]);
    let file = &rows(&fixture, "select * from files where path = 'a.go'")[0];
    assert_eq!(
        (&file["language"], &file["bytes"], &file["lines"], file["hash"].as_str().unwrap().len()),
        (&json!("Go"), &json!(66), &json!(5), 40)
    );
    for (path, text) in [("empty.txt", ""), ("lines.txt", "\n\n\n"), ("many/3.rs", "")] {
        let statement = format!("select text from file_texts where path = {}", quoted(path));
        let written = std::fs::read_dir(fixture.path()).unwrap();
        let written = written
            .map(|entry| entry.unwrap().path().join(path))
            .find(|path| path.exists())
            .unwrap();
        let written = std::fs::read_to_string(written).unwrap();
        assert!(written.starts_with(text));
        assert_eq!(rows(&fixture, &statement), [json!({ "text": written })]);
    }
    let repos =
        rows(&fixture, "select repository, files, left_out, commit from repositories order by 1");
    assert_eq!(repos[0], json!({ "repository": "one", "files": 5, "left_out": 1, "commit": null }));
    // Changed, deleted and removed files are not visible, however long their rows are kept.
    let held = fixture.serve();
    held.search("word");
    fixture.write("one/a.go", "package b\n");
    std::fs::remove_file(fixture.path().join("one/same.go")).unwrap();
    fixture.ingest();
    assert_eq!(
        rows(&fixture, "select text from file_texts where path = 'a.go'"),
        [json!({ "text": "package b\n" })]
    );
    assert_eq!(rows(&fixture, "select * from grep('Println')"), [] as [Value; 0]);
    assert!(!names("files").contains(&"one/same.go".to_owned()));
    fixture.run(&["remove", "two"]).code(0);
    assert!(names("files").iter().all(|name| name.starts_with("one/")));
    // A text with a missing chunk is null.
    fixture.exec_each(
        "chunks",
        "delete from {} where (shard, n) in (select shard, id from blobs where bytes = 10)",
    );
    assert_eq!(
        rows(&fixture, "select text from file_texts where path = 'a.go'"),
        [json!({ "text": null })]
    );
}

#[test]
fn views_show_how_long_searches_took() {
    let fixture = written();
    let server = fixture.serve_with(&["--slow", "0.001ms"]);
    server.search("word7_39");
    server.search("Println");
    server.stop();
    let searches = rows(
        &fixture,
        "select kind, outcome, searches, seconds > 0 as took, mean_ms > 0 as mean from searches",
    );
    assert_eq!(
        searches,
        [
            json!({ "kind": "indexed", "outcome": "complete", "searches": 2, "took": true, "mean": true })
        ]
    );
    let times = rows(
        &fixture,
        "select sum(searches)::int n, bool_and(up_to_ms >= 0.03125) ok from search_times",
    );
    assert_eq!(times, [json!({ "n": 2, "ok": true })]);
    let slow = rows(&fixture, "select query, ms > 0 as took from slow_searches order by at");
    assert_eq!(slow.len(), 2, "{slow:?}");
    // Each step ends at a bound of the histogram in `codesearch stats`: the second doubling at 0.0625 ms, the last at
    // nine minutes.
    fixture.exec(
        "truncate searches; insert into searches select now(), 'k', 'o', array_agg(n), 0 from generate_series(1, 194) n",
    );
    let ends = rows(
        &fixture,
        "select up_to_ms, searches from search_times where searches in (1, 9, 193, 194) order by 2",
    );
    assert_eq!(ends[0], json!({ "up_to_ms": 0.03125, "searches": 1 }));
    assert_eq!(ends[1], json!({ "up_to_ms": 0.0625, "searches": 9 }));
    assert_eq!(ends[2], json!({ "up_to_ms": 524_288, "searches": 193 }));
    assert_eq!(ends[3], json!({ "up_to_ms": null, "searches": 194 }));
}

#[test]
fn a_statement_reads_and_changes_nothing() {
    let fixture = written();
    for (statement, told) in [
        ("delete from codesearch.files", "permission denied for schema codesearch"),
        ("create table x ()", "only queries are allowed: SELECT, WITH"),
        ("select pg_sleep(9999)", "permission denied for function pg_sleep"),
        ("do $$ begin end $$", "only queries are allowed: SELECT, WITH"),
        ("select 1; select 2", "cannot insert multiple commands"),
        ("commit; delete from codesearch.files", "cannot insert multiple commands"),
        ("select nothing from files", "column \"nothing\" does not exist (line 1, column 8)"),
        ("select\n  path\nfrom file", "relation \"file\" does not exist (line 3, column 6)"),
        ("selekt 1", "syntax error at or near \"selekt\" (line 1, column 1)"),
        ("select reposiory from files", "Perhaps you meant to reference the column"),
        ("  ", "no statement"),
    ] {
        let ran = fixture.run(&["sql", statement]).code(2);
        assert!(ran.err.contains(told), "{statement}: {}", ran.err);
        assert!(ran.err.trim_end().lines().count() == 1, "{}", ran.err);
    }
    // The role itself lacks the right to write, even in a transaction that may.
    let who = rows(
        &fixture,
        "select session_user as who, current_setting('transaction_read_only') as reads",
    );
    assert_eq!(who, [json!({ "who": "codesearch_reader", "reads": "on" })]);
    let endless = fixture.run(&[
        "sql",
        "--timeout",
        "50ms",
        "select count(*) from generate_series(1, 1000000000000)",
    ]);
    assert!(endless.code(2).err.contains("statement timeout"));
    fixture.with_connection(async |mut conn| {
        conn.execute("set role codesearch_reader; set transaction_read_only = off").await.unwrap();
        let refused = conn.execute("delete from codesearch.files").await.unwrap_err().to_string();
        assert!(refused.contains("permission denied"), "{refused}");
    });
}

#[test]
fn the_owner_of_a_private_server_may_connect_as_its_reader() {
    let home = Home::new();
    home.run(&["db", "start"]).code(0);
    // A data directory of an earlier version does not know this role.
    home.run(&["db", "stop"]).code(0);
    let identities = home.path().join("data/pg_ident.conf");
    let text = std::fs::read_to_string(&identities).unwrap();
    assert_eq!(text.matches("codesearch_reader").count(), 2, "{text}");
    let before: Vec<&str> =
        text.lines().filter(|line| !line.contains("codesearch_reader")).collect();
    std::fs::write(&identities, before.join("\n") + "\n").unwrap();
    home.run(&["db", "start"]).code(0);
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&std::fs::read_to_string(&identities).unwrap()), sorted(&text));
    home.ingest();
    let url = format!(
        "postgresql://codesearch_reader@localhost/codesearch?host={}",
        home.path().join("run").display()
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut conn = PgConnection::connect(&url).await.unwrap();
        let found = "select path || ':' || line || ':' || text from grep('hello')";
        let found: String = sqlx::query_scalar(found).fetch_one(&mut conn).await.unwrap();
        assert_eq!(found, "a.txt:1:hello");
        let refused = conn.execute("create table x ()").await.unwrap_err().to_string();
        assert!(refused.contains("read-only"), "{refused}");
        let refused =
            conn.execute("set default_transaction_read_only = off; delete from codesearch.files");
        let refused = refused.await.unwrap_err().to_string();
        assert!(
            refused.contains("permission denied") || refused.contains("read-only"),
            "{refused}"
        );
        conn.close().await.unwrap();
    });
}

#[test]
fn rows_are_printed_for_people_and_for_programs() {
    let fixture = written();
    let ask = |format: &str, statement: &str| fixture.run(&["sql", "--format", format, statement]);
    let statement = "select 1 as n, 'a,\"b\"' as t, null as nothing, true as yes, 1.50 as d, e'\\x1b[2J\\n' as control, \
                     '{\"a\": [1]}'::jsonb as j, array[1,2] as list, ''::text as empty";
    assert_eq!(
        ask("json", statement).code(0).out,
        "{\"n\":1,\"t\":\"a,\\\"b\\\"\",\"nothing\":null,\"yes\":true,\"d\":1.50,\"control\":\"\\u001b[2J\\n\",\
         \"j\":{\"a\":[1]},\"list\":\"{1,2}\",\"empty\":\"\"}\n"
    );
    assert_eq!(
        ask("csv", statement).code(0).out,
        "n,t,nothing,yes,d,control,j,list,empty\n\
         1,\"a,\"\"b\"\"\",,t,1.50,\"\u{1b}[2J\n\",\"{\"\"a\"\": [1]}\",\"{1,2}\",\"\"\n"
    );
    let table =
        ask("table", "select path, bytes from files where path ~ 'go$' order by 1").code(0).out;
    assert_eq!(table, "path     bytes\n-------  -----\na.go        66\nsame.go     66\n");
    assert!(!ask("table", statement).code(0).out.contains('\u{1b}'));
    // Column names without rows; exit status 1 if nothing is found.
    assert_eq!(ask("csv", "select path from files where false").code(1).out, "path\n");
    assert_eq!(ask("json", "select path from files where false").code(1).out, "");
    assert!(
        ask("json", "select 1 as a, 2 as a").code(2).err.contains("two columns are named \"a\"")
    );
    assert!(ask("table", "explain select 1").code(0).out.contains("Result"));
    assert!(ask("table", "show search_path").code(0).out.contains("codesearch_sql"));
    // From standard input.
    let mut child = fixture
        .command(&["sql", "--format", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"select count(*) from left_out;\n").unwrap();
    assert_eq!(Ran::of(child.wait_with_output().unwrap()).code(0).out, "count\n1\n");
}

#[test]
fn psql_opens_on_the_views() {
    let fixture = written();
    let without =
        Ran::of(fixture.command(&["sql", "--psql"]).env("PATH", "").output().unwrap()).code(2);
    assert!(without.err.contains("psql is not installed"), "{}", without.err);
    if Command::new("psql").arg("--version").output().is_err() {
        println!("not run in psql: it is not in PATH");
        return;
    }
    let psql = |mut command: Command, text: &str| {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        Ran::of(child.wait_with_output().unwrap())
    };
    let ran = psql(
        fixture.command(&["sql", "--psql"]),
        "select count(*) as files from files where path ~ 'go$';\n\\dv+\ndelete from codesearch.files;\n",
    );
    assert!(ran.out.contains(" files \n-------\n     2\n"), "{}", ran.out);
    assert!(ran.out.contains("Files with their texts."), "{}", ran.out);
    assert!(ran.err.contains("permission denied"), "{}", ran.err);
    let url = format!(
        "postgresql://codesearch:secret@localhost/{}?host={}",
        fixture.index,
        socket_folder().display()
    );
    let ran = psql(fixture.command_on(&url, &["sql", "--psql"]), "show search_path;\n");
    assert!(ran.out.contains("codesearch_sql,public"), "{}{}", ran.out, ran.err);
}

#[test]
fn every_view_and_column_is_explained() {
    let fixture = written();
    let without = "
        select coalesce(string_agg(c.relname || coalesce('.' || a.attname, ''), ' '), '')
        from pg_class c
        left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
        where c.relnamespace = 'codesearch_sql'::regnamespace and c.relkind = 'v'
          and (obj_description(c.oid, 'pg_class') is null or col_description(c.oid, a.attnum) is null)";
    assert_eq!(fixture.sql::<String>(without), "");
    let without = "
        select coalesce(string_agg(proname, ' '), '') from pg_proc
        where pronamespace = 'codesearch_sql'::regnamespace and obj_description(oid, 'pg_proc') is null";
    assert_eq!(fixture.sql::<String>(without), "");
}

/// Parses the examples of a document: statements, each with its printed rows, if there are any.
fn examples(text: &str) -> Vec<(String, Option<String>)> {
    let mut examples: Vec<(String, Option<String>)> = Vec::new();
    let mut blocks = text.split("```");
    blocks.next();
    while let (Some(block), behind) = (blocks.next(), blocks.next()) {
        let (kind, body) = block.split_once('\n').unwrap();
        match kind {
            "sql" => examples.push((body.to_owned(), None)),
            "text" => examples.last_mut().unwrap().1 = Some(body.to_owned()),
            _ => {}
        }
        if behind.is_none() {
            break;
        }
    }
    examples
}

#[test]
fn the_examples_of_the_documentation_are_true() {
    let fixture = Fixture::new();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/sample");
    fixture.run(&["ingest", "--shards", "4", "--depth", "1", sample.to_str().unwrap()]).code(0);
    // Some searches, for the examples about statistics.
    let server = fixture.serve_with(&["--slow", "0.001ms"]);
    server.search("tide");
    server.stop();
    let examples = examples(include_str!("../../../../docs/sql.md"));
    assert!(examples.len() >= 10, "{}", examples.len());
    let mut wrong = Vec::new();
    for (statement, expected) in &examples {
        let ran = fixture.run(&["sql", statement]);
        if ran.status.code() != Some(0) || expected.as_ref().is_some_and(|rows| *rows != ran.out) {
            wrong.push(format!("{statement}\n{}{}", ran.out, ran.err));
        }
    }
    assert!(wrong.is_empty(), "docs/sql.md says otherwise:\n{}", wrong.join("\n"));
}
