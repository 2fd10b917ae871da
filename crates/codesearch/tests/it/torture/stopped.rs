//! A process of Postgres is stopped (SIGSTOP) for a while.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::Run;
use super::postgres::{children, signal};
use super::world::{World, asked, scan};
use crate::harness::{Ran, Server, eventually};
use crate::private_postgres::Home;

/// Parts of the process titles of Postgres: background processes, then backends. The postmaster comes on top.
const KINDS: [&str; 6] = [
    "walwriter",
    "background writer",
    "checkpointer",
    "autovacuum launcher",
    "io worker",
    "codesearch codesearch",
];

/// Maximum time for an answer with a timeout of 2 s, since connecting may take 10 s. Asserted only in the long form.
const ANSWER: Duration = Duration::from_secs(14);

/// Maximum time for `/healthz`. Asserted only in the long form.
const HEALTH: Duration = Duration::from_millis(100);

/// A stopped process; continued when dropped.
struct Stopped(u32);

impl Stopped {
    fn new(pid: u32) -> Self {
        signal("-STOP", pid);
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal("-CONT", self.0);
    }
}

#[test]
fn a_process_that_stands_still_holds_up_little() {
    let mut run = Run::new("stopped", 7, 100);
    let home = Home::new();
    let mut world = World::new(home.folder().to_owned(), &mut run.rng);
    home.run(&World::ingest_args()).code(0);
    world.settle();
    home.run(&["db", "start"]).code(0);
    let server = Server::start(home.command(&["serve", "--listen", "127.0.0.1:0", "--cache", "0"]));
    let (mut worst, mut longest) = (Duration::ZERO, Duration::ZERO);
    let (mut right, mut failed, mut ended) = (0, 0, 0);
    while let Some(step) = run.step() {
        // Postgres may have restarted in an earlier step.
        home.run(&["db", "start"]).code(0);
        let postmaster = home.pid().unwrap();
        let kind = KINDS.get(step % (KINDS.len() + 1));
        let mut ingest = run.rng.bool().then(|| {
            world.change(10);
            let mut ingest = home.command(&World::ingest_args());
            ingest.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        });
        std::thread::sleep(run.within(Duration::from_millis(300)));
        let pid = match kind {
            None => Some(postmaster),
            Some(kind) => {
                let mut found = children(postmaster);
                found.retain(|(_, title)| title.contains(kind));
                run.rng.choice(&found).map(|(pid, _)| *pid)
            }
        };
        // Some versions of Postgres lack a kind.
        let Some(pid) = pid else {
            if let Some(ingest) = ingest {
                Ran::of(ingest.wait_with_output().unwrap()).code(0);
                world.settle();
            }
            continue;
        };
        let standstill = Stopped::new(pid);
        let time = match (run.is_long, step % 10) {
            (false, _) => Duration::from_millis(700),
            (true, 0) => Duration::from_mins(1),
            (true, _) => Duration::from_secs(5),
        };
        let begun = Instant::now();
        while begun.elapsed() < time {
            let (query, regex) = world.query();
            let asking = Instant::now();
            match asked(&server, &query, "&timeout=2s") {
                Some(found) => {
                    right += 1;
                    world.is_of_some_state(&found, &regex);
                }
                None => failed += 1,
            }
            longest = longest.max(asking.elapsed());
            let asking = Instant::now();
            assert_eq!(server.get("/healthz", "*/*").0, 200);
            worst = worst.max(asking.elapsed());
        }
        drop(standstill);
        if let Some(ingest) = ingest.take() {
            let ran = Ran::of(ingest.wait_with_output().unwrap());
            assert!(matches!(ran.status.code(), Some(0 | 2)), "{} {}", ran.status, ran.err);
            ended += usize::from(ran.status.code() == Some(2));
            home.run(&World::ingest_args()).code(0);
            world.settle();
        }
        let (query, regex) = world.query();
        eventually("the server answers as the files are now", || {
            asked(&server, &query, "") == Some(scan(world.now(), &regex))
        });
    }
    home.run(&["check"]).code(0);
    drop(server);
    assert!(!run.is_long || worst < HEALTH, "{worst:?} to say that it lives");
    assert!(!run.is_long || longest < ANSWER, "{longest:?} for an answer");
    run.end(&format!(
        "{right} answers right, {failed} said that they failed, the longest took {} ms; /healthz at most {} ms; \
         {ended} ingests gave up",
        longest.as_millis(),
        worst.as_millis()
    ));
}
