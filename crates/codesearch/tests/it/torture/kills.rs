//! Kills an ingest: at a certain piece of its traffic with Postgres, or at a random time.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::Run;
use super::proxy::{Fault, Proxy, Way};
use super::world::{World, asked, printed};
use crate::harness::{Fixture, eventually, socket_folder};

#[test]
fn a_killed_ingest_loses_and_shows_nothing() {
    let mut run = Run::new("kills", 16, 1500);
    let fixture = Fixture::new();
    fixture.run(&["init", "--shards", "3"]).code(0);
    let mut world = World::new(fixture.path().to_owned(), &mut run.rng);
    let begun = Instant::now();
    let proxy = Proxy::new(&socket_folder(), Way::ToPostgres, Fault::None, 0);
    fixture.through(&proxy.url(&fixture.index), &World::ingest_args()).code(0);
    let (mut pieces, mut takes) = (proxy.passed(), begun.elapsed());
    drop(proxy);
    world.settle();
    let server = fixture.serve();
    let (mut killed, mut ended) = (0, 0);
    while let Some(step) = run.step() {
        world.change(12);
        if step % 2 == 0 {
            let at = run.rng.usize(1..=pieces);
            let proxy = Proxy::new(&socket_folder(), Way::ToPostgres, Fault::Hold, at);
            let url = proxy.url(&fixture.index);
            let mut child = fixture.command_on(&url, &World::ingest_args());
            let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            eventually("the ingest is where it is to be killed", || {
                proxy.has_struck() || child.try_wait().unwrap().is_some()
            });
            let is_over = child.try_wait().unwrap().is_some();
            child.kill().unwrap();
            child.wait().unwrap();
            *(if is_over { &mut ended } else { &mut killed }) += 1;
            pieces = if is_over { proxy.passed().max(2) } else { pieces };
        } else {
            let mut child = fixture.command(&World::ingest_args());
            let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(run.within(takes.min(Duration::from_secs(2))));
            *(if child.try_wait().unwrap().is_some() { &mut ended } else { &mut killed }) += 1;
            child.kill().unwrap();
            child.wait().unwrap();
        }
        for _ in 0..2 {
            let (query, regex) = world.query();
            let found = fixture.run(&["search", "--limit", "0", &query]);
            world.is_of_some_state(&printed(&found).unwrap(), &regex);
            world.is_of_some_state(&asked(&server, &query, "").unwrap(), &regex);
        }
        if run.rng.u8(..3) == 0 {
            let begun = Instant::now();
            fixture.run(&World::ingest_args()).code(0);
            takes = begun.elapsed();
            world.settle();
            for _ in 0..4 {
                let (query, regex) = world.query();
                world.is_of_now(
                    &printed(&fixture.run(&["search", "--limit", "0", &query])).unwrap(),
                    &regex,
                );
                eventually("the server knows of it", || {
                    asked(&server, &query, "") == Some(super::world::scan(world.now(), &regex))
                });
            }
            fixture.check_invariants();
        }
    }
    fixture.run(&World::ingest_args()).code(0);
    fixture.check_invariants();
    run.end(&format!("{killed} ingests killed, {ended} had ended before"));
}
