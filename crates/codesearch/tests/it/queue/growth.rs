//! What an hour of one epoch a second leaves behind. By default, a few epochs show that nothing grows that should not.
//! A measurement takes many minutes, and prints figures:
//!
//!     CODESEARCH_EPOCHS=300,1000,3600 CODESEARCH_EPOCHS_OF=FOLDER ... many_epochs --nocapture
//!
//! where FOLDER, if given, holds repositories that are indexed, too.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use ingest::{Options, queue};

use super::{change, connect, on};
use crate::harness::{Fixture, Server};

/// Returns the bytes on disk by kind of table and index: the name without the number of the shard.
fn sizes(fixture: &Fixture) -> BTreeMap<String, i64> {
    let rows: String = fixture.sql(
        "select json_object_agg(kind, bytes)::text from (
             select regexp_replace(coalesce(o.relname || ' toast', c.relname), '_[0-9]+', '') kind,
                    sum(pg_relation_size(c.oid))::bigint bytes
             from pg_class c
             left join pg_index i on i.indexrelid = c.oid and c.relnamespace = 'pg_toast'::regnamespace
             left join pg_class o on o.reltoastrelid in (c.oid, i.indrelid) and o.reltoastrelid <> 0
             where coalesce(o.relnamespace, c.relnamespace) = 'codesearch'::regnamespace
               and c.relkind in ('r', 'm', 'i', 't') group by 1) t",
    );
    serde_json::from_str(&rows).unwrap()
}

/// Searches, and returns the time of each query: the median of some.
fn searched(server: &Server) -> Vec<(&'static str, Duration)> {
    const QUERIES: [&str; 12] = [
        "mutex",
        "return",
        "fn main",
        "TODO",
        "buffer.*overflow",
        "struct lang:c",
        "file:test assert",
        "\"connection refused\"",
        "[a-z]+_lock\\(",
        "error -file:test",
        "other_",
        "sha256 or blake",
    ];
    let time = |query: &'static str| {
        let mut times: Vec<Duration> = (0..41)
            .map(|_| {
                let begun = Instant::now();
                let query = query.replace(' ', "+").replace('\\', "%5C");
                let query = query.replace('"', "%22").replace('[', "%5B").replace(']', "%5D");
                server.get(&format!("/search?limit=50&q={query}"), "application/json");
                begun.elapsed()
            })
            .collect();
        times.sort_unstable();
        (query, times[20])
    };
    QUERIES.into_iter().map(time).collect()
}

/// Returns the processor time of a process so far, in seconds: other programs change it less than the time of day.
fn processor_time(server: &Server) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.child.id())).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    fields.skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

/// Prints how much a figure of an index has grown.
fn told(epochs: usize, before: &BTreeMap<String, i64>, after: &BTreeMap<String, i64>) {
    let (all, all_before): (i64, i64) = (after.values().sum(), before.values().sum());
    println!(
        "{epochs} epochs: {all_before} bytes before, {all} after, {:.3} x",
        all as f64 / all_before as f64
    );
    for (kind, bytes) in after {
        let of = before.get(kind).copied().unwrap_or_default();
        if *bytes != of {
            println!("  {:>+10} {kind}: {of} -> {bytes}", bytes - of);
        }
    }
}

#[test]
fn many_epochs_leave_little_behind() {
    let epochs = std::env::var("CODESEARCH_EPOCHS").ok();
    let is_measured = epochs.is_some();
    let epochs: Vec<usize> = epochs
        .map_or(vec![50], |list| list.split(',').map(|number| number.parse().unwrap()).collect());
    let fixture = Fixture::new();
    for file in 0..300 {
        let line =
            |number: usize| format!("let value_{file}_{number} = {};\n", number * 7919 % 1000);
        let text: String = (0..120).map(line).collect();
        fixture.write(&format!("r/src/f{file}.rs"), text);
    }
    fixture.commit("r", "all");
    let mut all = vec!["ingest", "--shards", "4", "--no-symbols", "--depth", "1", "."];
    if let Some(folder) = std::env::var_os("CODESEARCH_EPOCHS_OF") {
        let mut copy = Command::new("cp");
        copy.args(["-r", "--"]).arg(folder).arg(fixture.path().join("r/real"));
        assert!(copy.status().unwrap().success());
        all = vec!["ingest", "--shards", "200", "--no-symbols", "--depth", "1", "."];
    }
    fixture.run(&all).code(0);
    let source = fixture.path().canonicalize().unwrap().join("r");
    let server = is_measured.then(|| fixture.serve());
    let before_searches = server.as_ref().map(|server| {
        server.settle();
        searched(server);
        let begun = processor_time(server);
        (searched(server), processor_time(server) - begun)
    });
    let before = sizes(&fixture);
    let (mut times, mut parts) = (Vec::new(), [Duration::ZERO; 4]);
    let total = epochs.iter().copied().max().unwrap();
    on(async {
        let store = connect(&fixture.index).await;
        store.keep_sessions();
        for epoch in 0..total {
            let path = format!("src/f{}.rs", epoch % 20);
            let line = |number: usize| format!("let other_{epoch}_{number} = {};\n", number % 1000);
            fixture.write(&format!("r/{path}"), (0..120).map(line).collect::<String>());
            store.enqueue(&[change(source.to_str().unwrap(), &[&path])]).await.unwrap();
            let begun = Instant::now();
            let report = queue::drain(&store, &Options::default(), &|_| ()).await.unwrap();
            times.push(begun.elapsed());
            for (sum, part) in
                parts.iter_mut().zip([report.walk, report.load, report.index, report.publish])
            {
                *sum += part;
            }
            assert_eq!((report.new_files, report.retired_files), (1, 1));
            if is_measured && epochs.contains(&(epoch + 1)) {
                let now =
                    std::thread::scope(|scope| scope.spawn(|| sizes(&fixture)).join().unwrap());
                told(epoch + 1, &before, &now);
            }
        }
        store.close().await;
    });
    if let (Some(server), Some((before, took_before))) = (&server, before_searches) {
        server.settle();
        searched(server);
        let begun = processor_time(server);
        let (mut logs, after) = (0.0, searched(server));
        let took = processor_time(server) - begun;
        println!("  searches took {took_before} s of the processor before, {took} after");
        for ((query, before), (_, after)) in before.iter().zip(&after) {
            let ratio = after.as_secs_f64() / before.as_secs_f64();
            println!("  {query}: {before:?} -> {after:?}, {ratio:.3} x");
            logs += ratio.ln();
        }
        println!("  searches: {:.3} x", (logs / before.len() as f64).exp());
    }
    times.sort_unstable();
    let at = |part: usize| times[(times.len() - 1) * part / 100];
    println!("  taken in {:?} (p50), {:?} (p99), {:?} at most", at(50), at(99), at(100));
    let [walk, load, index, publish] = parts.map(|part| part / total as u32);
    println!(
        "  on average: {walk:?} walk, {load:?} load, {index:?} index, {publish:?} publish and clean up"
    );
    if server.is_none() {
        // What ended more than some epochs ago is deleted.
        let ended: i64 = fixture.sql("select count(*) from files, state where valid_to <= epoch");
        assert!(ended <= 34, "{ended} rows of earlier epochs");
        let texts: i64 = fixture.sql("select count(*) from blobs");
        assert!(texts <= 300 + 34, "{texts} texts");
        // A small ingest rewrites the filters of the last chunks alone.
        let rewritten: i64 = fixture.sql(
            "select max(n_tup_ins)::bigint from pg_stat_user_tables
             where schemaname = 'codesearch' and relname like '%filters\\_00'",
        );
        assert!(rewritten < 4 * 6200, "{rewritten} rows of filters were written");
    }
    fixture.check_invariants();
}
