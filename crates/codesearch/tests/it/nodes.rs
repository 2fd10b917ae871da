//! An index on nodes of Citus, where `CODESEARCH_CITUS` names a Postgres that has it; and what is said where none is.

use serde_json::Value;

use crate::harness::{Fixture, citus};

/// Three repositories, in shards of their own.
fn ingested() -> Fixture {
    let fixture = Fixture::new();
    for name in ["one", "two", "three"] {
        fixture.write(&format!("{name}/a.txt"), format!("{name} has a needle\n"));
    }
    fixture.ingest_over(3);
    fixture
}

#[test]
fn an_index_on_one_postgres_has_no_nodes() {
    let fixture = ingested();
    let refused = fixture.run(&["db", "rebalance", "--drain", "nowhere"]).code(2).err;
    assert!(refused.contains("a node is named by its host and port"), "{refused}");
    for args in [&["db", "nodes"][..], &["db", "rebalance"]] {
        let ran = fixture.run(args);
        if citus::programs().is_some() {
            assert_eq!(ran.status.code(), Some(0), "{}", ran.err);
        } else {
            assert_eq!(ran.status.code(), Some(2), "{}", ran.out);
            assert!(ran.err.contains("the index lies on one Postgres"), "{}", ran.err);
        }
    }
}

#[test]
fn a_node_that_does_not_answer_costs_its_shards_until_it_is_back() {
    if citus::programs().is_none() {
        println!("left out: CODESEARCH_CITUS names no folder of a Postgres with Citus");
        return;
    }
    let fixture = ingested();
    let nodes = || -> Vec<Value> {
        let told = fixture.run(&["db", "nodes", "--json"]).out;
        told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = nodes();
    assert_eq!(all.len(), 3, "{all:?}");
    let groups = |node: &Value| node["groups"].as_array().unwrap().len();
    assert_eq!(all.iter().map(groups).sum::<usize>(), 3, "{all:?}");
    assert!(
        all.iter().all(|node| node["answers"] == true && node["disk_bytes"].as_i64() > Some(0))
    );
    assert_eq!(fixture.search(&["needle"]).len(), 3);

    // Only this index loses it.
    let port = |from: u16, to: u16| {
        fixture.exec(&format!("update pg_dist_node set nodeport = {to} where nodeport = {from}"));
    };
    port(5434, 5999);
    let ran = fixture.run(&["search", "--limit", "0", "needle"]);
    assert_eq!(ran.status.code(), Some(2), "{}{}", ran.out, ran.err);
    assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
    assert!(ran.err.contains("codesearch: incomplete: 1 shard with "), "{}", ran.err);
    assert!(ran.err.contains("5999 does not answer"), "{}", ran.err);
    let (_, answer) = fixture.serve().json("/search?q=needle&limit=0");
    assert_eq!(answer["stats"]["complete"], false, "{answer}");
    assert_eq!(answer["stats"]["stopped_because"], "shard_error");
    assert_eq!(answer["stats"]["missing"]["shards"], 1, "{answer}");
    assert_eq!(nodes().iter().filter(|node| node["answers"] == false).count(), 1);
    fixture.write("one/b.txt", "another needle\n");
    let refused = fixture.run(&["ingest", "--depth", "1", "."]);
    assert!(refused.err.contains("an ingest needs all nodes"), "{}{}", refused.out, refused.err);

    port(5999, 5434);
    assert_eq!(fixture.search(&["needle"]).len(), 3);
    fixture.ingest();
    assert_eq!(fixture.search(&["needle"]).len(), 4);
    fixture.check_invariants();
}

#[test]
fn groups_move_while_the_index_is_searched() {
    if citus::programs().is_none() {
        println!("left out: CODESEARCH_CITUS names no folder of a Postgres with Citus");
        return;
    }
    let fixture = ingested();
    let drained = format!("{}:5433", crate::harness::socket_folder().display());
    let searches = std::thread::scope(|scope| {
        let searching =
            scope.spawn(|| (0..10).map(|_| fixture.search(&["needle"]).len()).collect::<Vec<_>>());
        fixture.run(&["db", "rebalance", "--drain", &drained]).code(0);
        searching.join().unwrap()
    });
    assert_eq!(searches, [3; 10]);
    let told = fixture.run(&["db", "nodes", "--json"]).code(0).out;
    let left = told.lines().find(|line| line.contains("5433")).unwrap();
    assert!(left.contains("\"groups\":[]"), "{told}");
    fixture.check_invariants();
}
