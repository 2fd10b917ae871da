//! Simulated losses of power: all processes end at once, and random unflushed writes are undone.

use std::process::Stdio;
use std::time::Duration;

use super::Run;
use super::layer::Layer;
use super::undo::{Loss, lose};
use super::world::{World, printed};
use crate::harness::Ran;
use crate::private_postgres::Home;

/// Settings with which Postgres flushes and reuses its log often.
pub(super) const BUSY: &str = "max_wal_size = '32MB'\nmin_wal_size = '32MB'\ncheckpoint_timeout = '30s'\ncheckpoint_warning = 0\n";

fn loss(run: &mut Run) -> Loss {
    match run.rng.u8(..8) {
        0 => Loss::Nothing,
        1 | 2 => Loss::All,
        3 | 4 => Loss::Latest,
        5 | 6 => Loss::Sectors(4096),
        _ => Loss::Sectors(512),
    }
}

#[test]
fn what_was_told_is_there_after_the_power_fails() {
    let mut run = Run::new("power", 4, 200);
    let home = Home::new();
    let Some(layer) = Layer::new(&home.path(), &home.folder().join("layer")) else { return };
    let mut world = World::new(home.folder().to_owned(), &mut run.rng);
    let command = |args: &[&str]| layer.below(home.command(args));
    let ran = |args: &[&str]| Ran::of(command(args).output().unwrap());
    // The journal covers initdb, too.
    layer.journal(true);
    ran(&World::ingest_args()).code(0);
    world.settle();
    std::fs::write(home.path().join("data/local.conf"), BUSY).unwrap();
    let (mut again, mut told, mut writes, mut names) = (0, 0, 0, 0);
    while run.step().is_some() {
        ran(&["db", "start"]).code(0);
        if run.rng.bool() {
            home.sql_texts("checkpoint");
        }
        world.change(12);
        let mut ingest = command(&World::ingest_args());
        let mut ingest = ingest.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(run.within(Duration::from_millis(1500)));
        let was_told = ingest.try_wait().unwrap().is_some_and(|status| status.success());
        layer.cut_power();
        ingest.wait().unwrap();
        let mut lost = lose(&layer, loss(&mut run), &mut run.rng);
        // A second loss may strike during recovery.
        while run.rng.u8(..4) == 0 {
            again += 1;
            layer.journal(true);
            let mut start = command(&["db", "start"]);
            let mut start = start.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(run.within(Duration::from_millis(500)));
            layer.cut_power();
            start.wait().unwrap();
            let more = lose(&layer, loss(&mut run), &mut run.rng);
            lost = (lost.0 + more.0, lost.1 + more.1);
        }
        writes += lost.0;
        names += lost.1;
        layer.journal(true);
        if was_told {
            told += 1;
            world.settle();
        }
        for _ in 0..2 {
            let (query, regex) = world.query();
            let searched = ran(&["search", "--limit", "0", &query]);
            let found = printed(&searched).unwrap_or_else(|| panic!("{}", searched.err));
            world.is_of_some_state(&found, &regex);
        }
        ran(&World::ingest_args()).code(0);
        world.settle();
        for _ in 0..2 {
            let (query, regex) = world.query();
            let found = ran(&["search", "--limit", "0", &query]);
            world.is_of_now(&printed(&found).unwrap(), &regex);
        }
        ran(&["check"]).code(0);
    }
    let all = run.done + again;
    run.end(&format!(
        "{all} losses of power, {again} of them during recovery, {told} after an ingest had ended; {writes} writes and \
         {names} names were not flushed; nothing that was told is lost"
    ));
}
