//! Random operations on two servers of one index.

use std::collections::BTreeSet;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use regex::Regex;

use super::Run;
use super::world::{Line, World, asked, lines, scan};
use crate::harness::{Fixture, Server, eventually};

/// Follows an answer by its cursors, a few files at a time; `None` if its epoch is gone meanwhile, or cannot be held.
fn followed(server: &Server, other: &Server, query: &str) -> Option<BTreeSet<Line>> {
    let query = utf8_percent_encode(query, NON_ALPHANUMERIC);
    let (mut found, mut cursor) = (BTreeSet::new(), String::new());
    for page in 0.. {
        let server = if page % 2 == 0 { server } else { other };
        let (status, answer) = server.json(&format!("/search?q={query}&limit=3{cursor}"));
        // The connection that held the epoch may have been ended.
        let is_cut = status == 503 && answer["error"]["code"] == "database_unreachable";
        if status == 410 || status == 409 || is_cut {
            return None;
        }
        assert_eq!(status, 200, "{answer}");
        for line in lines(&answer) {
            assert!(found.insert(line.clone()), "{line:?} is there twice");
        }
        match answer["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    Some(found)
}

fn both_know(servers: &[Server; 2], world: &World, query: &str, regex: &Regex) {
    for server in servers {
        eventually("the server answers as the files are now", || {
            asked(server, query, "") == Some(scan(world.now(), regex))
        });
    }
}

#[test]
fn two_servers_answer_as_the_model_does() {
    let mut run = Run::new("operations", 60, 10_000);
    let fixture = Fixture::new();
    fixture.run(&["init", "--shards", "3"]).code(0);
    let mut world = World::new(fixture.path().to_owned(), &mut run.rng);
    fixture.run(&World::ingest_args()).code(0);
    world.settle();
    let start = |n: usize| fixture.serve_with(&["--cache", ["0", "64"][n]]);
    let mut servers = [start(0), start(1)];
    let (mut searches, mut followed_, mut gone, mut changes) = (0, 0, 0, 0);
    while run.step().is_some() {
        let (query, regex) = world.query();
        match run.rng.u8(..20) {
            0..10 => {
                searches += 1;
                both_know(&servers, &world, &query, &regex);
            }
            10..13 => match followed(&servers[0], &servers[1], &query) {
                Some(found) => {
                    followed_ += 1;
                    world.is_of_now(&found, &regex);
                }
                None => gone += 1,
            },
            13..17 => {
                changes += 1;
                world.change(8);
                fixture.run(&World::ingest_args()).code(0);
                world.settle();
                both_know(&servers, &world, &query, &regex);
            }
            17 => {
                changes += 1;
                let repos = world.now().iter().filter(|(_, files)| !files.is_empty());
                let repos: Vec<String> = repos.map(|(name, _)| name.clone()).collect();
                // Without any files, an ingest refuses: a folder may not be mounted.
                if repos.len() > 1
                    && let Some(repo) = world.rng().choice(&repos).cloned()
                {
                    world.forget(&repo);
                    fixture.run(&["remove", &repo]);
                    fixture.run(&World::ingest_args()).code(0);
                    world.settle();
                    both_know(&servers, &world, &query, &regex);
                }
            }
            18 => {
                let which = run.rng.usize(..2);
                servers[which] = start(which);
                both_know(&servers, &world, &query, &regex);
            }
            _ => {
                // Ends the connections that hold the epochs, among others.
                fixture.exec(
                    "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'
                       and classid::bigint = 1668481025 and objsubid = 2
                       and database = (select oid from pg_database where datname = current_database())",
                );
                both_know(&servers, &world, &query, &regex);
            }
        }
    }
    fixture.check_invariants();
    run.end(&format!(
        "{searches} searches, {followed_} followed to their end ({gone} of a state that had gone), {changes} changes"
    ));
}
