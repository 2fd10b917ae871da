//! The n-th write, flush or change of a directory entry fails, or all from the n-th on.

use super::Run;
use super::layer::{Kind, Layer};
use super::power::BUSY;
use super::world::{World, printed};
use crate::harness::{Ran, eventually};
use crate::private_postgres::Home;

/// `EIO` and `ENOSPC`.
const ERRORS: [i32; 2] = [5, 28];

#[test]
fn what_the_system_refuses_is_told_and_nothing_is_lost() {
    let mut run = Run::new("refused", 6, 600);
    let home = Home::new();
    let Some(layer) = Layer::new(&home.path(), &home.folder().join("layer")) else { return };
    let mut world = World::new(home.folder().to_owned(), &mut run.rng);
    let ran = |args: &[&str]| Ran::of(layer.below(home.command(args)).output().unwrap());
    ran(&World::ingest_args()).code(0);
    world.settle();
    std::fs::write(home.path().join("data/local.conf"), BUSY).unwrap();
    let (mut struck, mut told, mut failed) = (0, 0, 0);
    while run.step().is_some() {
        ran(&["db", "start"]).code(0);
        if run.rng.bool() {
            home.sql_texts("checkpoint");
        }
        world.change(12);
        let (kind, most) = match run.rng.u8(..3) {
            0 => (Kind::Writes, 2000_f64),
            1 => (Kind::Flushes, 60.0),
            _ => (Kind::Names, 120.0),
        };
        // Log-uniform.
        let first = most.powf(run.rng.f64()) as i64;
        let last = if run.rng.u8(..4) == 0 { i64::MAX } else { first };
        layer.fail(kind, ERRORS[run.rng.usize(..2)], first, last);
        let ingest = ran(&World::ingest_args());
        let is_done = ingest.status.code() == Some(0);
        if is_done {
            // From here on, searches must see this state.
            world.settle();
        } else {
            failed += 1;
            let err = ingest.code(2).err;
            assert!(err.contains("codesearch: "), "{err}");
        }
        let (query, regex) = world.query();
        match printed(&ran(&["search", "--limit", "0", &query])) {
            Some(found) => world.is_of_some_state(&found, &regex),
            None => told += 1,
        }
        struck += usize::from(layer.heal() > 0);
        let mut found = None;
        eventually("the command line answers", || {
            found = printed(&ran(&["search", "--limit", "0", &query]));
            found.is_some()
        });
        world.is_of_some_state(&found.unwrap(), &regex);
        ran(&World::ingest_args()).code(0);
        world.settle();
        for _ in 0..2 {
            let (query, regex) = world.query();
            let found = ran(&["search", "--limit", "0", &query]);
            world.is_of_now(&printed(&found).unwrap(), &regex);
        }
        ran(&["check"]).code(0);
    }
    run.end(&format!(
        "{struck} times something was refused; {failed} ingests and {told} searches said that they failed"
    ));
}
