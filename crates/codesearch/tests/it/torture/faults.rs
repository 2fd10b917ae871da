//! Faults between the program and Postgres: connections that are reset, cut within a message, delayed, or silent.

use std::time::Duration;

use super::Run;
use super::proxy::{Fault, Proxy, Way};
use super::world::{World, asked, printed};
use crate::harness::{Fixture, socket_folder};

#[test]
fn an_answer_through_a_fault_is_right_or_none() {
    let mut run = Run::new("faults", 24, 5000);
    let fixture = Fixture::new();
    fixture.run(&["init", "--shards", "3"]).code(0);
    let mut world = World::new(fixture.path().to_owned(), &mut run.rng);
    fixture.run(&World::ingest_args()).code(0);
    world.settle();
    let (mut answered, mut failed) = (0, 0);
    while let Some(step) = run.step() {
        let way = if run.rng.bool() { Way::ToPostgres } else { Way::ToProgram };
        let fault = match run.rng.u8(..if run.is_long { 21 } else { 20 }) {
            0..8 => Fault::Reset,
            8..16 => Fault::Cut,
            16..20 => Fault::Delay(Duration::from_millis(200)),
            // A silent connection is noticed only after a timeout; in an ingest, after a minute.
            _ if step % 3 == 2 && run.rng.u8(..4) > 0 => Fault::Reset,
            _ => Fault::Hold,
        };
        let at = 1 + run.rng.usize(..60).pow(2) / 60;
        let proxy = Proxy::new(&socket_folder(), way, fault, at);
        let url = proxy.url(&fixture.index);
        let mut count =
            |is_answer: bool| *(if is_answer { &mut answered } else { &mut failed }) += 1;
        match step % 3 {
            0 => {
                let (query, regex) = world.query();
                let ran =
                    fixture.through(&url, &["search", "--limit", "0", "--timeout", "10s", &query]);
                let found = printed(&ran);
                count(found.is_some());
                if let Some(found) = found {
                    world.is_of_now(&found, &regex);
                }
            }
            1 => {
                let server = fixture.serve_on(&url, &["--cache", ["0", "64"][run.rng.usize(..2)]]);
                let Some(server) = server else {
                    count(false);
                    continue;
                };
                for _ in 0..6 {
                    let (query, regex) = world.query();
                    let found = asked(&server, &query, "&timeout=5s");
                    count(found.is_some());
                    if let Some(found) = found {
                        world.is_of_now(&found, &regex);
                    }
                }
                // The program survives a single fault.
                if fault != Fault::Hold {
                    let (query, regex) = world.query();
                    world.is_of_now(&asked(&server, &query, "").unwrap(), &regex);
                }
            }
            _ => {
                world.change(8);
                let ran = fixture.through(&url, &World::ingest_args());
                let is_done = ran.status.code() == Some(0);
                count(is_done);
                assert!(is_done || ran.status.code() == Some(2), "{} {}", ran.status, ran.err);
                let (query, regex) = world.query();
                let found = printed(&fixture.run(&["search", "--limit", "0", &query])).unwrap();
                world.is_of_some_state(&found, &regex);
                if is_done {
                    world.is_of_now(&found, &regex);
                } else {
                    fixture.run(&World::ingest_args()).code(0);
                    let (query, regex) = world.query();
                    let found = fixture.run(&["search", "--limit", "0", &query]);
                    world.is_of_now(&printed(&found).unwrap(), &regex);
                }
                world.settle();
            }
        }
        if step % 12 == 0 {
            fixture.check_invariants();
        }
    }
    run.end(&format!("{answered} answers and ingests were right, {failed} said that they failed"));
}
