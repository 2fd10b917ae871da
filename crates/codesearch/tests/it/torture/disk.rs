//! Fills the disk at a different moment in each step.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Run;
use super::world::{World, printed};
use crate::harness::{Ran, is_root};
use crate::private_postgres::Home;

/// Size with which the disk is never full, in MB.
const PLENTY: u64 = 8000;

/// A file system in memory, with this many MB.
struct Disk<'a> {
    at: &'a Path,
}

impl<'a> Disk<'a> {
    /// Mounts it; `None` without the permission.
    fn mount(at: &'a Path) -> Option<Self> {
        std::fs::create_dir(at).unwrap();
        let options = format!("size={PLENTY}m,mode=0755");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "none"]).arg(at);
        mount.output().is_ok_and(|done| done.status.success()).then_some(Self { at })
    }

    fn resize(&self, mib: u64) {
        let options = format!("remount,size={mib}m");
        assert!(
            Command::new("mount").args(["-o", &options]).arg(self.at).status().unwrap().success()
        );
    }

    fn used_mib(&self) -> u64 {
        let out = Command::new("df").args(["-m", "--output=used"]).arg(self.at).output().unwrap();
        String::from_utf8(out.stdout).unwrap().lines().nth(1).unwrap().trim().parse().unwrap()
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.at).status();
    }
}

#[test]
fn a_full_disk_is_told_and_nothing_is_lost() {
    let mut run = Run::new("disk", 3, 60);
    let home = Home::new();
    let at = home.path();
    let Some(disk) = is_root().then(|| Disk::mount(&at)).flatten() else {
        println!("disk: left out, only root may mount a file system");
        return;
    };
    let mut world = World::new(home.folder().to_owned(), &mut run.rng);
    home.run(&World::ingest_args()).code(0);
    world.settle();
    let (mut full, mut fitted) = (0, 0);
    while run.step().is_some() {
        world.change(60);
        // Text that no query finds.
        let folder = home.folder().join("repos/ape/noise");
        std::fs::create_dir_all(&folder).unwrap();
        for n in 0..run.rng.usize(5..30) {
            let digits = std::iter::repeat_with(|| run.rng.digit(10)).take(900_000);
            std::fs::write(folder.join(format!("{n}.txt")), digits.collect::<String>()).unwrap();
        }
        // The ingest starts with plenty of room, and then has little: otherwise it would not start.
        let mut ingest = home.command(&World::ingest_args());
        let ingest = ingest.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(run.within(Duration::from_millis(600)));
        disk.resize(disk.used_mib() + run.rng.u64(1..64));
        let ran = Ran::of(ingest.wait_with_output().unwrap());
        if ran.status.code() == Some(0) {
            fitted += 1;
        } else {
            full += 1;
            let err = ran.code(2).err;
            assert!(err.contains("disk") && err.contains("full"), "{err}");
        }
        // The answer is complete, or reports that the disk is full.
        let (query, regex) = world.query();
        let ran = home.run(&["search", "--limit", "0", &query]);
        match printed(&ran) {
            Some(found) => world.is_of_some_state(&found, &regex),
            None => assert!(ran.err.contains("disk") && ran.err.contains("full"), "{}", ran.err),
        }
        // With the disk still full, an ingest is refused, and searches are answered again.
        disk.resize(disk.used_mib() + 8);
        let refused = home.run(&World::ingest_args()).code(2).err;
        assert!(refused.contains("disk") && refused.contains("full"), "{refused}");
        let found = home.run(&["search", "--limit", "0", &query]);
        world.is_of_some_state(&printed(&found).unwrap(), &regex);
        disk.resize(PLENTY);
        let (query, regex) = world.query();
        let found = home.run(&["search", "--limit", "0", &query]);
        world.is_of_some_state(&printed(&found).unwrap(), &regex);
        home.run(&World::ingest_args()).code(0);
        world.settle();
        let found = home.run(&["search", "--limit", "0", &query]);
        world.is_of_now(&printed(&found).unwrap(), &regex);
        home.run(&["check"]).code(0);
    }
    home.run(&["db", "stop", "--force"]);
    drop(disk);
    run.end(&format!("the disk was full {full} times, {fitted} ingests fitted"));
}

/// Whoever asks for a change is told that the disk is full, searches go on, and once it is not, the change is indexed.
#[test]
fn a_change_that_finds_the_disk_full_is_refused_until_it_is_not() {
    let home = Home::new();
    let at = home.path();
    let Some(disk) = is_root().then(|| Disk::mount(&at)).flatten() else {
        println!("disk: left out, only root may mount a file system");
        return;
    };
    home.ingest();
    std::fs::write(home.folder().join("r/a.txt"), "hello again\n").unwrap();
    let refused = |what: &str| {
        let err = home.run(&["ingest", "--now", "r"]).code(2).err;
        assert!(
            err.contains("disk") && err.contains("full") && err.contains("free"),
            "{what}: {err}"
        );
    };
    disk.resize(disk.used_mib() + 16);
    refused("little room");
    let found = home.run(&["search", "hello"]).code(0).out;
    assert!(found.contains("hello") && !found.contains("again"), "{found}");
    // Not a byte is left.
    let filler = at.join("filler");
    let mut rest = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut rest, &[0; 4096]).is_ok() {}
    refused("no room");
    let found = home.run(&["search", "hello"]);
    assert!(
        found.out.contains("hello") || found.err.contains("full"),
        "{} {}",
        found.out,
        found.err
    );
    std::fs::remove_file(&filler).unwrap();
    disk.resize(PLENTY);
    home.run(&["ingest", "--now", "r"]).code(0);
    assert!(home.run(&["search", "again"]).code(0).out.contains("hello again"));
    home.run(&["check"]).code(0);
    home.run(&["db", "stop", "--force"]);
}
