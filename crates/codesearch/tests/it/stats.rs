//! Statistics: kept across restarts, merged from several servers, and compared; slow searches with their plans; and the
//! statements that Postgres counts.

use serde_json::{Value, json};

use crate::harness::{Fixture, eventually};

fn indexed() -> Fixture {
    let fixture = Fixture::new();
    for n in 0..20 {
        fixture.write(&format!("one/{n:02}.rs"), "fn needle() {}\n\nfn hay() {}\n");
    }
    fixture.ingest();
    fixture
}

/// Returns the output of `codesearch stats --json`.
fn stats(fixture: &Fixture, args: &[&str]) -> Value {
    let ran = fixture.run(&[&["stats", "--json"], args].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"))
}

#[test]
fn they_survive_a_restart_and_servers_add_up() {
    let fixture = indexed();
    assert_eq!(fixture.run(&["stats"]).code(1).out.lines().count(), 1);
    let (one, other) = (fixture.serve(), fixture.serve());
    for path in [
        "/search?q=needle",
        "/search?q=needle&limit=2",
        "/search?q=.",
        "/search?q=fn.*%5Cnfn",
        "/search?q=file:rs",
        "/search?q=needle&format=html&wait=1",
        "/search/stream?q=needle",
        "/api/v1/search?q=needle",
    ] {
        assert_eq!(one.get(path, "application/json").0, 200, "{path}");
    }
    other.json("/search?q=hay");
    one.stop();
    other.stop();
    let kept = stats(&fixture, &[]);
    // livegrep's requests search twice, for lines and for paths.
    assert_eq!(kept["searches"], 10, "{kept}");
    assert_eq!(kept["outcomes"]["complete"], 9, "{kept}");
    assert_eq!(kept["outcomes"]["limit"], 1, "{kept}");
    for kind in ["scan", "multi_line"] {
        assert_eq!(kept["kinds"][kind]["searches"], 1, "{kind}: {kept}");
    }
    assert_eq!(stats(&fixture, &["--kind", "scan"])["searches"], 1);
    let counted: u64 = kept["histogram"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| bucket["count"].as_u64().unwrap())
        .sum();
    assert_eq!(counted, 10);
    assert!(kept["latency_ms"]["p50"].as_f64() <= kept["latency_ms"]["p99"].as_f64());
    // The most recent counts are included.
    let again = fixture.serve();
    again.json("/search?q=needle");
    assert_eq!(again.json("/stats?since=1h").1["searches"], 11);
    let text = fixture.run(&["stats"]).code(0).out;
    for part in [": 11 searches", "p99.9", "mean trimmed by 5 and 5 %", "multi-line", "10 complete"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Without stored statistics nothing is added, and the page shows the counts since the start.
    let silent = fixture.serve_with(&["--no-statistics", "--slow", "0.001ms"]);
    silent.json("/search?q=needle");
    let told = silent.json("/stats").1;
    assert_eq!((&told["searches"], &told["span"]), (&json!(1), &Value::Null));
    silent.stop();
    assert_eq!(stats(&fixture, &[])["searches"], 11);
    assert_eq!(fixture.sql::<i64>("select count(*) from slow_searches"), 0);
}

#[test]
fn another_span_shows_what_has_become_slower() {
    let fixture = indexed();
    let server = fixture.serve();
    for _ in 0..20 {
        server.json("/search?q=needle");
    }
    server.stop();
    // Multiplies all durations by about a thousand (ten doublings), since the first bucket cannot be halved. A day and
    // some hours ago everything took half as long: one doubling less.
    fixture.exec(
        "update searches set counts = array_fill(0, array[80]) || counts, micros = micros * 1024;
         insert into searches select hour - interval '30 hours', kind, outcome, counts[9:], micros / 2
         from searches",
    );
    let told = stats(&fixture, &["--since", "24h", "--compare", "before"]);
    assert_eq!((&told["searches"], &told["compared"]["searches"]), (&json!(20), &json!(20)));
    for name in ["p50", "p99", "mean", "trimmed_mean"] {
        let time = |of: &Value| of["latency_ms"][name].as_f64().unwrap();
        let ratio = time(&told) / time(&told["compared"]);
        assert!((1.99..2.01).contains(&ratio), "{name}: {ratio} {told}");
    }
    let text = fixture.run(&["stats", "--compare", "before"]).code(0).out;
    assert!(text.contains("2.00 times") && text.contains("compared with"), "{text}");
    let other = stats(&fixture, &["--compare", "31h-29h"]);
    assert_eq!(other["compared"]["searches"], 20, "{other}");

    let server = fixture.serve();
    let (status, _, page) = server.get("/stats?since=24h&compare=before", "text/html");
    assert_eq!(status, 200);
    for part in
        ["2.00 times", "do not compare", "aria-current=\"true\">24 hours", "<rect width=\"100.00\""]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(server.get("/stats?since=x", "text/html").0, 400);
}

#[test]
fn spans_that_are_none_end_in_a_sentence() {
    let fixture = Fixture::new();
    for (args, part) in [
        (&["--since", "yesterday"][..], "yesterday is not a time span; use 24h"),
        (&["--from", "2026-02-30"], "2026-02-30 is not a time"),
        (&["--from", "2026-02-02", "--to", "2026-02-01"], "must begin before it ends"),
        (&["--compare", "x"], "x is not a time span"),
        (&["--trim", "60,60"], "not a pair of percentages below 100 in total"),
        (&["--slow", "--statements"], "cannot be combined"),
    ] {
        let ran = fixture.run(&[&["stats"], args].concat()).code(2);
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
    }
}

#[test]
fn slow_searches_are_logged_with_their_plans_and_bounded() {
    let fixture = indexed();
    assert!(fixture.run(&["stats", "--slow"]).code(1).err.contains("no slow search"));
    let server = fixture.serve_with(&["--slow", "0.001ms"]);
    for path in ["/search?q=needle", "/search?q=fu%00nc", "/search?q=%3Cscript%3E"] {
        assert_eq!(server.json(path).0, 200, "{path}");
    }
    let told = server.json("/stats").1;
    assert_eq!(told["slow"].as_array().unwrap().len(), 3, "{told}");
    let (_, _, page) = server.get("/stats", "text/html");
    assert!(page.contains("&#60;script&#62;") && !page.contains("<script>"), "{page}");
    let (_, _, metrics) = server.get("/metrics", "*/*");
    assert!(metrics.contains("codesearch_slow_searches_total 3\n"), "{metrics}");
    server.stop();
    let text = fixture.run(&["stats", "--slow"]).code(0).out;
    for part in ["plan        ", "/needle/i", "candidates  ", "ended       everything was searched"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    fixture.exec(
        "insert into slow_searches (at, kind, outcome, micros, query, plan)
         select now(), 'scan', 'limit', 7, 'old', '' from generate_series(1, 1500)",
    );
    let server = fixture.serve_with(&["--slow", "0.001ms"]);
    server.json("/search?q=hay");
    server.stop();
    assert_eq!(fixture.sql::<i64>("select count(*) from slow_searches"), 1000);
    assert!(
        fixture
            .sql::<bool>("select query like '%hay%' from slow_searches order by id desc limit 1")
    );
}

#[test]
fn a_database_that_cannot_take_them_loses_nothing() {
    let fixture = indexed();
    let server = fixture.serve();
    fixture.exec("alter table searches rename to gone");
    for _ in 0..3 {
        assert_eq!(server.json("/search?q=needle").0, 200);
    }
    assert_eq!(server.json("/stats").0, 500);
    fixture.exec("alter table gone rename to searches");
    assert_eq!(server.json("/stats").1["searches"], 3);
}

#[test]
fn an_index_of_before_gets_them_and_old_hours_become_days() {
    let fixture = indexed();
    fixture.exec(
        "drop schema codesearch_sql cascade;
         drop table searches, refusals, slow_searches;
         drop aggregate sum_counts(bigint[]);
         drop function add_counts;
         delete from _sqlx_migrations where version = 3",
    );
    fixture.run(&["stats"]).code(1);
    fixture.exec(
        "insert into searches
         select date_trunc('day', now(), 'UTC') - interval '40 days' + make_interval(hours => h),
                'scan', 'limit', array[h, 1], 10 from generate_series(0, 5) h;
         insert into searches values (now() - interval '500 days', 'scan', 'limit', '{1}', 1)",
    );
    let _server = fixture.serve();
    eventually("old statistics are made fewer", || {
        fixture.sql::<i64>("select count(*) from searches") == 1
    });
    assert!(fixture.sql::<bool>("select counts = '{15,6}' and micros = 60 from searches"));
}

#[test]
fn what_postgres_counts_of_statements() {
    let fixture = indexed();
    fixture.search(&["needle"]);
    let loads: Option<String> =
        fixture.sql("select current_setting('pg_stat_statements.max', true)");
    let ran = fixture.run(&["stats", "--statements"]);
    if loads.is_none() {
        assert!(ran.code(2).err.contains("pg_stat_statements is not installed"));
        return;
    }
    // The statements of all shards count as one. The ingest's statements would fill the table, so they are reset.
    fixture.exec("select pg_stat_statements_reset()");
    fixture.search(&["needle"]);
    let text = fixture.run(&["stats", "--statements"]).code(0).out;
    assert!(text.starts_with("    CALLS") && text.contains("NNN"), "{text}");
    for table in ["chunks", "documents", "files", "docs", "filters", "symbols"] {
        assert!(!text.contains(&format!("{table}_0")), "{text}");
    }
}
