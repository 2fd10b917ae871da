//! Ingests of the queue that are killed at one step each: a lock of the test makes them wait there.

use std::process::Stdio;

use serde_json::Value;

use super::{change, check, connect, on};
use crate::harness::{Fixture, eventually};

/// Starts an ingest while the test holds locks, and kills it once it waits for them.
fn kill_at(fixture: &Fixture, locks: &str, args: &[&str]) {
    fixture.with_connection(async |mut conn| {
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!("begin; {locks}"))).execute(&mut conn).await.unwrap();
        let mut child = fixture.command(args);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Who waits for a row waits for a transaction, which is of no database.
        let waits = "select exists (select from pg_locks waiting where not granted and exists (
                         select from pg_locks of where of.pid = waiting.pid
                             and of.database = (select oid from pg_database where datname = current_database())))";
        loop {
            let is_there: bool = sqlx::query_scalar(waits).fetch_one(&mut conn).await.unwrap();
            assert!(child.try_wait().unwrap().is_none(), "it has not waited");
            if is_there {
                break;
            }
            tokio::task::yield_now().await;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        sqlx::raw_sql("rollback").execute(&mut conn).await.unwrap();
    });
}

/// Returns what a server answers, and whether all of it is of one state: which of the two texts each file has.
fn states(answer: &Value) -> Vec<String> {
    let files = answer["files"].as_array().unwrap().iter();
    let mut lines: Vec<String> = files
        .map(|file| file["matches"][0]["text"].as_str().unwrap_or_default().to_owned())
        .collect();
    lines.sort();
    lines.dedup();
    lines
}

#[test]
fn an_ingest_that_is_killed_at_any_step_shows_one_state_and_loses_nothing() {
    let fixture = Fixture::new();
    let write = |round: usize| {
        for file in 0..4 {
            fixture.write(&format!("r/f{file}.txt"), format!("needle of round {round}\n"));
            fixture.write(&format!("r/own{file}.txt"), format!("own {file} of {round}\n"));
        }
    };
    write(0);
    fixture.commit("r", "first");
    fixture.run(&["ingest", "--shards", "4", "--no-symbols", "."]).code(0);
    let server = fixture.serve();
    let source = fixture.path().canonicalize().unwrap().join("r");
    // What an ingest has done when it comes to these: it has stored texts; it has derived; it has written the rows of
    // the next epoch, but nobody sees them.
    let steps = [
        ("lock table blobs in share mode", "storing texts"),
        ("lock table filters_00 in share mode", "deriving filters"),
        ("lock table chunk_filters_00 in share mode", "within the transaction that derives"),
        ("lock table files_000 in share mode", "the rows of the next epoch"),
        ("select from repos for update", "between both transactions that publish"),
        ("lock table switches in share mode", "within the second one"),
    ];
    for (round, (locks, what)) in (1..).zip(steps) {
        let last = format!("needle of round {}", round - 1);
        eventually("the server knows of the ingest before", || {
            states(&server.search("needle")) == [last.as_str()]
        });
        let before = server.search("needle");
        write(round);
        on(async {
            let store = connect(&fixture.index).await;
            store.enqueue(&[change(source.to_str().unwrap(), &[])]).await.unwrap();
            store.close().await;
        });
        let epoch: i32 = fixture.sql("select epoch from state");
        kill_at(&fixture, locks, &["ingest", "--now", "--no-symbols"]);
        assert_eq!(fixture.sql::<i32>("select epoch from state"), epoch, "{what}");
        assert_eq!(fixture.sql::<i64>("select count(*) from pending"), 1, "{what}");
        let prepared: bool = fixture.sql("select prepared is not null from state");
        assert_eq!(prepared, round > 4, "{what}");
        let after = server.search("needle");
        assert_eq!(
            (states(&after), after["files"].clone()),
            (states(&before), before["files"].clone()),
            "{what}"
        );
        assert_eq!(states(&after).len(), 1, "{what}");
        assert_eq!(fixture.search(&["-l", "needle"]).len(), 4, "{what}");
        fixture.run(&["ingest", "--now", "--no-symbols"]).code(0);
    }
    check(&fixture, &[], "all that was killed");
    fixture.check_invariants();
    eventually("the server knows of it", || {
        states(&server.search("needle")) == ["needle of round 6"]
    });
}

#[test]
fn a_collector_that_is_killed_deletes_all_or_nothing() {
    let fixture = Fixture::new();
    for file in 0..6 {
        fixture.write(&format!("r/f{file}.txt"), format!("needle {file}\n"));
    }
    fixture.commit("r", "first");
    let ingest = ["ingest", "--shards", "4", "--no-symbols", "."];
    fixture.run(&ingest).code(0);
    let texts = "select count(*) from blobs";
    for (file, locks) in [
        (0, "lock table blobs in share mode"),
        (1, "lock table chunks_000 in share mode"),
        (2, "lock table documents_000 in share mode"),
    ] {
        let before: i64 = fixture.sql(texts);
        std::fs::remove_file(fixture.path().join(format!("r/f{file}.txt"))).unwrap();
        kill_at(&fixture, locks, &ingest);
        assert_eq!(fixture.search(&["-l", "needle"]).len(), 5 - file, "it is published");
        assert_eq!(fixture.sql::<i64>(texts), before, "{locks}");
        fixture.run(&ingest).code(0);
        assert_eq!(fixture.sql::<i64>(texts), before - 1, "{locks}");
    }
    check(&fixture, &[], "after kills");
    fixture.check_invariants();
}
