//! An index on nodes of Citus, where `CODESEARCH_CITUS` names a Postgres that has it; and what is said where none is.

use serde_json::Value;

use crate::harness::gate::Gate;
use crate::harness::{Fixture, citus, eventually, socket_folder};

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
    let refused = fixture.run(&["db", "rebuild", "nowhere:1"]).code(2).err;
    let why =
        if citus::programs().is_some() { "unknown node nowhere:1" } else { "lies on one Postgres" };
    assert!(refused.contains(why), "{refused}");
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
    if citus::is_absent() {
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
    // As if the program of an upgrade had been killed before it made the views for nodes anew.
    fixture.exec("update state set set_up = 42");
    assert_eq!(fixture.search(&["needle"]).len(), 3);
    assert!(fixture.sql::<bool>("select set_up > 42 from state"));

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
    assert!(refused.err.contains("before all nodes answer"), "{}{}", refused.out, refused.err);

    port(5999, 5434);
    assert_eq!(fixture.search(&["needle"]).len(), 3);
    fixture.ingest();
    assert_eq!(fixture.search(&["needle"]).len(), 4);
    fixture.check_invariants();
}

#[test]
fn groups_move_while_the_index_is_searched() {
    if citus::is_absent() {
        return;
    }
    let fixture = ingested();
    let drained = format!("{}:5433", socket_folder().display());
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
    let refused = |node: &str| fixture.run(&["db", "rebalance", "--drain", node]).code(2).err;
    let node = |port: u16| format!("{}:{port}", socket_folder().display());
    assert!(refused("nowhere:1").contains("unknown node nowhere:1"));
    assert!(refused(&node(5432)).contains("is the coordinator, which has no groups"));
    fixture.run(&["db", "rebalance", "--drain", &node(5434)]).code(0);
    let why = refused(&node(5435));
    assert!(why.contains("no other node can take the groups"), "{why}");
    let told = fixture.run(&["db", "nodes"]).code(0).out;
    let state = |port: &str| told.lines().find(|line| line.contains(port)).unwrap().to_owned();
    assert!(state("5433").ends_with("drained") && state("5435").ends_with("ready"), "{told}");
    // A node that is added gets about as much text as the others.
    fixture.exec(&format!(
        "select citus_set_node_property('{}', 5433, 'shouldhaveshards', true)",
        socket_folder().display()
    ));
    let moved = fixture.run(&["db", "rebalance"]).code(0);
    assert!(moved.err.contains("moving group"), "{}", moved.err);
    let told = fixture.run(&["db", "nodes", "--json"]).code(0).out;
    let groups = |port: &str| -> usize {
        let line = told.lines().find(|line| line.contains(port)).unwrap();
        serde_json::from_str::<Value>(line).unwrap()["groups"].as_array().unwrap().len()
    };
    assert!([1, 2].contains(&groups("5433")) && groups("5434") == 0, "{told}");
    assert_eq!(fixture.search(&["needle"]).len(), 3);
    fixture.check_invariants();
}

#[test]
fn tables_of_nodes_on_the_machine_of_a_server_are_read_there() {
    if citus::is_absent() {
        return;
    }
    let fixture = ingested();
    let server = fixture.serve_with(&["--cache", "0"]);
    // Those of the coordinator have names of their own.
    let direct = "pg_stat_activity where datname = current_database() and application_name like 'codesearch%'
                  and query ~ '_[0-9]{3}'";
    let nodes_asked = |what: &str| -> i64 {
        fixture.sql(&format!(
            "select count(*) filter (where result::int > 0)
             from run_command_on_workers($$select count({what}) from {direct}$$)"
        ))
    };
    let found = || {
        let answer = server.search("needle");
        assert_eq!(answer["stats"]["complete"], true, "{answer}");
        answer["files"].as_array().unwrap().len()
    };
    let all_are_read = |files: usize| {
        eventually("all nodes are asked without the coordinator", || {
            assert_eq!(found(), files);
            nodes_asked("*") == 3
        });
    };
    all_are_read(3);
    // Connections that die cost nothing.
    assert_eq!(nodes_asked("nullif(pg_terminate_backend(pid), false)"), 3);
    assert_eq!(found(), 3);
    all_are_read(3);
    // Nor do groups that move, and what comes next is seen.
    fixture
        .run(&["db", "rebalance", "--drain", &format!("{}:5433", socket_folder().display())])
        .code(0);
    assert_eq!(found(), 3);
    fixture.write("one/b.txt", "another needle\n");
    fixture.ingest();
    eventually("the new file is found", || found() == 4);
    fixture.check_invariants();
}

/// A node that is paused while a server has connections to it.
#[test]
fn a_node_that_does_not_respond_costs_its_shards() {
    if citus::is_absent() {
        return;
    }
    let fixture = ingested();
    let gate = Gate::before(&fixture, 5434);
    let server = fixture.serve_with(&["--cache", "0"]);
    let answer = || server.json("/search?q=needle&limit=0&timeout=60s").1;
    assert_eq!(answer()["stats"]["complete"], true);
    gate.close();
    let told = answer();
    assert_eq!(told["stats"]["complete"], false, "{told}");
    assert_eq!(told["files"].as_array().unwrap().len(), 2, "{told}");
    assert_eq!(told["stats"]["missing"]["shards"], 1, "{told}");
    // Who asks next does not wait for it.
    for address in ["/docs?q=needle", "/ask?q=needle"] {
        let (_, answer) = server.json(address);
        assert!(answer.to_string().contains("\"complete\":false"), "{address}: {answer}");
    }
    let refused = fixture.run(&["ingest", "--depth", "1", "."]).code(2).err;
    assert!(refused.contains("before all nodes answer"), "{refused}");
    gate.open();
    eventually("all is found again", || answer()["stats"]["complete"] == true);
    fixture.check_invariants();
}

/// An index of three repositories that has lost a node, and the name of the repository that was on it.
fn lost() -> (Fixture, String, String) {
    let fixture = ingested();
    let node = |port: u16| format!("{}:{port}", socket_folder().display());
    let refused = fixture.run(&["db", "rebuild", &node(5434)]).code(2).err;
    assert!(refused.contains("answers, so nothing is lost"), "{refused}");
    let refused = fixture.run(&["db", "rebuild", &node(5432)]).code(2).err;
    assert!(refused.contains("restore it from its backup"), "{refused}");
    // Only this index loses it.
    fixture.exec("update pg_dist_node set nodeport = 5999 where nodeport = 5434");
    let found = fixture.run(&["search", "--limit", "0", "needle"]).code(2).out;
    let has = |name: &&str| found.contains(&format!("{name}/a.txt"));
    let gone = ["one", "two", "three"].into_iter().find(|name| !has(name)).unwrap();
    (fixture, node(5999), gone.to_owned())
}

#[test]
fn a_lost_node_is_rebuilt_from_the_sources() {
    if citus::is_absent() {
        return;
    }
    let (fixture, node, name) = lost();
    let server = fixture.serve();
    let answers = || server.json("/search?q=needle&limit=0").1;
    assert_eq!(answers()["stats"]["missing"]["shards"], 1);

    // Its folder is gone, too.
    let away = format!("{name}.away");
    std::fs::rename(fixture.path().join(&name), fixture.path().join(&away)).unwrap();
    let ran = fixture.run(&["db", "rebuild", &node]).code(2);
    assert!(ran.out.contains("1 group made on other nodes"), "{}{}", ran.out, ran.err);
    let left = format!("not ingested again: {name}: its folder");
    assert!(ran.out.contains(&left) && ran.out.contains("codesearch remove"), "{}", ran.out);
    let told = fixture.run(&["db", "nodes", "--json"]).code(0).out;
    assert_eq!(told.lines().count(), 2, "{told}");
    let checked = fixture.run(&["check"]).code(1).out;
    assert!(checked.contains(&format!("{name} lacks files of a lost node")), "{checked}");
    assert!(checked.contains("checked: 1 problem"), "{checked}");
    let ran = fixture.run(&["search", "--limit", "0", "needle"]).code(2);
    assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
    assert!(ran.err.contains(&format!("{name} lacks files until")), "{}", ran.err);
    eventually("the server tells that files are lacking", || {
        answers()["stats"]["missing"].is_null()
    });
    let answer = answers();
    assert_eq!(answer["stats"]["complete"], false, "{answer}");
    assert_eq!(answer["stats"]["stopped_because"], "shard_error", "{answer}");
    assert!(answer["stats"]["notes"][0].as_str().unwrap().contains("lacks files"), "{answer}");
    for other in ["/docs?q=needle", "/ask?q=needle", "/files?q=a.txt"] {
        let (_, answer) = server.json(other);
        assert!(answer.to_string().contains("\"complete\":false"), "{other}: {answer}");
    }
    let absent = server.json(&format!("/file?repo={name}&path=absent"));
    assert_eq!(absent.0, 503, "{absent:?}");
    // Nothing is said of others.
    let (_, answer) = server.json(&format!("/search?q=needle+-repo:{name}&limit=0"));
    assert_eq!(answer["stats"]["complete"], true, "{answer}");

    std::fs::rename(fixture.path().join(&away), fixture.path().join(&name)).unwrap();
    let ran = fixture.run(&["db", "rebuild", &node]).code(0);
    assert!(ran.out.contains("ingested again: 1 repository"), "{}{}", ran.out, ran.err);
    assert_eq!(fixture.search(&["needle"]).len(), 3);
    eventually("the server finds all", || answers()["stats"]["complete"] == true);
    fixture.check_invariants();
    let refused = fixture.run(&["db", "rebuild", &node]).code(2).err;
    assert!(refused.contains("unknown node"), "{refused}");
}

#[test]
fn a_rebuild_that_is_killed_is_run_again() {
    if citus::is_absent() {
        return;
    }
    let (fixture, node, _) = lost();
    // It waits for a search of before.
    let search = fixture.hold("select pg_advisory_xact_lock_shared(1668481025, 1)");
    let mut rebuild = fixture.command(&["db", "rebuild", &node]).spawn().unwrap();
    eventually("the node is given up", || {
        fixture.sql::<bool>("select lost is not null from state")
    });
    rebuild.kill().unwrap();
    rebuild.wait().unwrap();
    let ran = fixture.run(&["search", "--limit", "0", "needle"]).code(2);
    assert!(ran.err.contains("lacks files until it is ingested again"), "{}", ran.err);
    let refused = fixture.run(&["ingest", "--depth", "1", "."]).code(2).err;
    assert!(refused.contains(&format!("run: codesearch db rebuild {node}")), "{refused}");
    drop(search);
    let ran = fixture.run(&["db", "rebuild", &node]).code(0);
    assert!(ran.out.contains("ingested again: 1 repository"), "{}{}", ran.out, ran.err);
    assert_eq!(fixture.search(&["needle"]).len(), 3);
    fixture.check_invariants();
}
