//! What an hour of one epoch a second leaves behind. `CODESEARCH_EPOCHS=3600` takes many minutes, and prints figures; by
//! default, a few epochs show that nothing grows that should not.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ingest::{Options, queue};

use super::{change, connect, on};
use crate::harness::Fixture;

/// Returns the bytes on disk by kind of table, with indexes: the letters before the number of the shard.
fn sizes(fixture: &Fixture) -> BTreeMap<String, i64> {
    let rows: String = fixture.sql(
        "select json_object_agg(kind, bytes)::text from (
             select regexp_replace(relname, '_[0-9]+$', '') kind, sum(pg_total_relation_size(oid))::bigint bytes
             from pg_class where relnamespace = 'codesearch'::regnamespace and relkind in ('r', 'm') group by 1) t",
    );
    serde_json::from_str(&rows).unwrap()
}

#[test]
fn many_epochs_leave_little_behind() {
    let epochs = std::env::var("CODESEARCH_EPOCHS").ok();
    let epochs: usize = epochs.map_or(50, |text| text.parse().unwrap());
    let fixture = Fixture::new();
    for file in 0..300 {
        let line =
            |number: usize| format!("let value_{file}_{number} = {};\n", number * 7919 % 1000);
        let text: String = (0..120).map(line).collect();
        fixture.write(&format!("r/src/f{file}.rs"), text);
    }
    fixture.commit("r", "all");
    fixture.run(&["ingest", "--shards", "4", "--no-symbols", "."]).code(0);
    let source = fixture.path().canonicalize().unwrap().join("r");
    let before = sizes(&fixture);
    let (mut times, mut parts) = (Vec::new(), [Duration::ZERO; 4]);
    on(async {
        let store = connect(&fixture.index).await;
        store.keep_sessions();
        for epoch in 0..epochs {
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
        }
        store.close().await;
    });
    let after = sizes(&fixture);
    let (all, all_before): (i64, i64) = (after.values().sum(), before.values().sum());
    println!(
        "{epochs} epochs: {all_before} bytes before, {all} after, {:.3} x",
        all as f64 / all_before as f64
    );
    for (kind, bytes) in &after {
        let of = before.get(kind).copied().unwrap_or_default();
        if *bytes != of {
            println!("  {kind}: {of} -> {bytes}");
        }
    }
    times.sort_unstable();
    let at = |part: usize| times[(times.len() - 1) * part / 100];
    println!("  taken in {:?} (p50), {:?} (p99), {:?} at most", at(50), at(99), at(100));
    let [walk, load, index, publish] = parts.map(|part| part / epochs as u32);
    println!(
        "  on average: {walk:?} walk, {load:?} load, {index:?} index, {publish:?} publish and clean up"
    );
    // What ended more than some epochs ago is deleted.
    let ended: i64 = fixture.sql("select count(*) from files, state where valid_to <= epoch");
    assert!(ended <= 34, "{ended} rows of earlier epochs");
    let texts: i64 = fixture.sql("select count(*) from blobs");
    assert!(texts <= 300 + 34, "{texts} texts");
    fixture.check_invariants();
}
