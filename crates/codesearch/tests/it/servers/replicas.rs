//! Servers that read from a streaming replica, while the index changes and everything is killed and comes back.

use std::collections::BTreeSet;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::cluster::Cluster;
use crate::harness::{Fixture, Server, eventually};

/// Files, each of which has the number of the state in each of its lines.
const FILES: usize = 8;

fn write(fixture: &Fixture, state: usize) {
    for file in 0..FILES {
        // Some files come and go; most change.
        if file == 0 && state % 2 == 1 {
            let _ = std::fs::remove_file(fixture.path().join("r/file_0.txt"));
            continue;
        }
        let line = format!("needle of state_{state} in file {file}\n");
        fixture.write(&format!("r/file_{file}.txt"), line.repeat(2 + file));
    }
}

fn ingest(fixture: &Fixture, cluster: &Cluster) {
    let args = ["ingest", "--shards", "4", "--depth", "1", "--no-symbols", "."];
    let ran = fixture.through(&cluster.url("primary"), &args);
    assert_eq!(ran.status.code(), Some(0), "{}{}", ran.out, ran.err);
}

/// Returns the state that an answer is of. All of it must be of that state.
#[track_caller]
fn state_of(answer: &Value) -> usize {
    assert_eq!(answer["stats"]["complete"], true, "{answer}");
    assert!(answer["missing"].is_null(), "{answer}");
    let mut states = BTreeSet::new();
    let files = answer["files"].as_array().unwrap();
    for file in files {
        let path = file["path"].as_str().unwrap();
        let number: usize =
            path.trim_start_matches("file_").trim_end_matches(".txt").parse().unwrap();
        let lines = file["matches"].as_array().unwrap();
        assert_eq!(lines.len(), 2 + number, "{path}");
        for line in lines {
            let text = line["text"].as_str().unwrap();
            let state = text.split_once("state_").unwrap().1.split_once(' ').unwrap().0;
            states.insert(state.parse::<usize>().unwrap());
        }
    }
    assert_eq!(states.len(), 1, "a mixture: {states:?}");
    let state = states.pop_first().unwrap();
    assert_eq!(files.len(), FILES - state % 2, "state {state}");
    state
}

fn is_ready(server: &Server) -> bool {
    let metrics = server.get("/metrics", "*/*").2;
    let line = metrics.lines().find(|line| line.starts_with("codesearch_replica_ready{")).unwrap();
    line.ends_with(" 1")
}

#[test]
fn three_servers_and_a_replica_give_answers_of_one_state() {
    let fixture = Fixture::new();
    let mut cluster = Cluster::new(&fixture);
    write(&fixture, 0);
    ingest(&fixture, &cluster);
    let (primary, replica) = (cluster.url("primary"), cluster.url("replica"));
    let start = || {
        let options = ["--read-from", &*replica, "--cache", "0"];
        RwLock::new(fixture.serve_on(&primary, &options).unwrap())
    };
    let servers = [start(), start(), start()];
    for server in &servers {
        eventually("the replica is read", || is_ready(&server.read().unwrap()));
        assert_eq!(state_of(&server.read().unwrap().search("needle")), 0);
    }
    let read = "select count(*) from pg_stat_activity
                where application_name like 'codesearch/%' and query like '%chunks\\_0%'";
    assert!(cluster.value::<i64>("replica", read) > 0, "searches read from the replica");

    // What is published counts for every search that begins later.
    let (published, ends) = (AtomicUsize::new(0), AtomicBool::new(false));
    let answers = [const { AtomicUsize::new(0) }; 3];
    std::thread::scope(|scope| {
        let end = Ends(&ends);
        for (server, answers) in servers.iter().zip(&answers) {
            let (published, ends) = (&published, &ends);
            scope.spawn(move || {
                let mut cursor = None;
                while !ends.load(Ordering::Relaxed) {
                    let server = server.read().unwrap();
                    let before = published.load(Ordering::SeqCst);
                    let state = state_of(&server.search("needle"));
                    assert!(state >= before, "{state} is older than {before}");
                    // A search goes on in its own state, wherever it reads.
                    let path = match &cursor {
                        None => "/search?q=needle&limit=3".to_owned(),
                        Some((_, next)) => format!("/search?q=needle&limit=20&cursor={next}"),
                    };
                    let (status, page) = server.json(&path);
                    cursor = match (cursor, status) {
                        (None, 200) => {
                            let state = page_state(&page, 3);
                            Some((state, page["next"].as_str().unwrap().to_owned()))
                        }
                        (Some((state, _)), 200) => {
                            assert_eq!(page_state(&page, FILES - state % 2 - 3), state);
                            None
                        }
                        // A server that was restarted meanwhile did not know that state.
                        (Some(_), 410) => None,
                        (_, status) => panic!("{status}: {page}"),
                    };
                    answers.fetch_add(1, Ordering::Relaxed);
                    // Ingests need the processor, too.
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
        }
        let publish = |cluster: &Cluster, state: usize| {
            write(&fixture, state);
            ingest(&fixture, cluster);
            published.store(state, Ordering::SeqCst);
        };
        let all_answer = || {
            let before: Vec<usize> = answers.iter().map(|of| of.load(Ordering::Relaxed)).collect();
            let more =
                |(of, before): (&AtomicUsize, &usize)| of.load(Ordering::Relaxed) > before + 1;
            eventually("all answer", || answers.iter().zip(&before).all(more));
        };
        publish(&cluster, 1);
        all_answer();
        // It is behind.
        cluster.exec("replica", "cs", "select pg_wal_replay_pause()");
        publish(&cluster, 2);
        all_answer();
        assert!(!is_ready(&servers[0].read().unwrap()));
        cluster.exec("replica", "cs", "select pg_wal_replay_resume()");
        eventually("it is read again", || is_ready(&servers[0].read().unwrap()));
        // Its connections are lost while searches run.
        let end_all = "select pg_terminate_backend(pid) from pg_stat_activity
                       where application_name like 'codesearch/%'";
        cluster.exec("replica", "cs", end_all);
        publish(&cluster, 3);
        cluster.exec("replica", "cs", end_all);
        all_answer();
        // It is gone, and a server is killed. Both come back.
        cluster.kill_replica();
        publish(&cluster, 4);
        all_answer();
        assert!(!is_ready(&servers[1].read().unwrap()));
        {
            let mut killed = servers[2].write().unwrap();
            killed.child.kill().unwrap();
            *killed = start().into_inner().unwrap();
        }
        cluster.start_replica();
        publish(&cluster, 5);
        for server in &servers {
            eventually("it is read again", || is_ready(&server.read().unwrap()));
        }
        all_answer();
        drop(end);
    });
    for server in &servers {
        assert_eq!(state_of(&server.read().unwrap().search("needle")), 5);
    }
    let checked = fixture.through(&primary, &["check"]);
    assert_eq!(checked.status.code(), Some(0), "{}{}", checked.out, checked.err);
    let wrong = fixture.through(&primary, &["serve", "--read-from", "nowhere"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(wrong.err.contains("--read-from is not a Postgres URL"), "{}", wrong.err);
}

/// Returns the state of a page of some files.
#[track_caller]
fn page_state(page: &Value, files: usize) -> usize {
    let found = page["files"].as_array().unwrap();
    assert_eq!(found.len(), files, "{page}");
    let texts = found.iter().flat_map(|file| file["matches"].as_array().unwrap());
    let states = texts.map(|line| {
        let text = line["text"].as_str().unwrap();
        text.split_once("state_").unwrap().1.split_once(' ').unwrap().0.to_owned()
    });
    let states: BTreeSet<String> = states.collect();
    assert_eq!(states.len(), 1, "a mixture: {states:?}");
    states.first().unwrap().parse().unwrap()
}

/// Tells threads to end when dropped, also by a panic.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
