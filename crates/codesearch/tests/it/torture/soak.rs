//! The memory of a server does not grow over many changes.

use super::Run;
use super::clients::memory_mib;
use super::world::{World, asked, scan};
use crate::harness::{Fixture, eventually};

/// Maximum growth of a server's memory after the first quarter of the changes, in MiB; and that of a short run, in which it has
/// not settled: that takes some thirty changes, and up to 80 MiB beside other tests.
const GROWTH_MIB: u64 = 48;
const UNSETTLED_MIB: u64 = 96;

#[test]
fn memory_does_not_grow_with_changes() {
    let mut run = Run::new("soak", 20, 3000);
    let fixture = Fixture::new();
    fixture.run(&["init", "--shards", "3"]).code(0);
    let mut world = World::new(fixture.path().to_owned(), &mut run.rng);
    fixture.run(&World::ingest_args()).code(0);
    world.settle();
    let server = fixture.serve();
    let mut sizes = Vec::new();
    while run.step().is_some() {
        world.change(6);
        fixture.run(&World::ingest_args()).code(0);
        world.settle();
        for _ in 0..10 {
            let (query, regex) = world.query();
            eventually("the server answers as the files are now", || {
                asked(&server, &query, "") == Some(scan(world.now(), &regex))
            });
        }
        sizes.push(memory_mib(&server));
        if run.is_long && sizes.len().is_multiple_of(100) {
            let bytes: usize =
                world.now().values().flat_map(|files| files.values()).map(String::len).sum();
            println!(
                "soak {} changes: {} MiB, {bytes} bytes of text",
                sizes.len(),
                sizes.last().unwrap()
            );
        }
    }
    let (early, late) = (sizes[sizes.len() / 4], *sizes.last().unwrap());
    let most = early + if run.is_long { GROWTH_MIB } else { UNSETTLED_MIB };
    assert!(late < most, "{sizes:?}");
    fixture.check_invariants();
    run.end(&format!("{early} MiB after a quarter of the changes, {late} MiB at the end"));
}
