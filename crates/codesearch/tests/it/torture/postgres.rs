//! Postgres dies: completely, completely before its last commits are on disk, or one of its processes.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Run;
use super::world::{World, asked, printed, scan};
use crate::harness::{Server, eventually};
use crate::private_postgres::Home;

/// Lists the processes of a server, each with its title.
pub(super) fn children(pid: u32) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(child) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // The second field is a name in parentheses; the fourth is the parent.
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1));
        if parent == Some(&pid.to_string()) {
            let title = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push((child, String::from_utf8_lossy(&title).into_owned()));
        }
    }
    found
}

pub(super) fn signal(name: &str, pid: u32) {
    let _ = Command::new("kill").args([name, &pid.to_string()]).stderr(Stdio::null()).status();
}

#[test]
fn what_postgres_has_committed_is_there_after_it_dies() {
    let mut run = Run::new("postgres", 4, 700);
    let home = Home::new();
    let mut world = World::new(home.folder().to_owned(), &mut run.rng);
    home.run(&World::ingest_args()).code(0);
    world.settle();
    home.run(&["db", "start"]).code(0);
    let server = Server::start(home.command(&["serve", "--listen", "127.0.0.1:0"]));
    let (mut all, mut lost, mut single) = (0, 0, 0);
    while run.step().is_some() {
        let pid = home.pid().unwrap();
        let is_single = run.rng.u8(..7) < 2;
        let keeps_unwritten = !is_single && run.rng.u8(..5) == 0;
        if keeps_unwritten {
            // Commits return before they are on disk, and with these processes dead nothing writes them.
            for (child, title) in children(pid) {
                if ["walwriter", "background writer", "checkpointer"]
                    .iter()
                    .any(|name| title.contains(name))
                {
                    signal("-STOP", child);
                }
            }
        }
        world.change(10);
        let mut ingest = home.command(&World::ingest_args());
        let ingest = ingest.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(run.within(Duration::from_millis(1200)));
        let processes = children(pid);
        if is_single {
            single += 1;
            let backends: Vec<u32> = processes
                .iter()
                .filter(|(_, title)| title.contains("codesearch"))
                .map(|(child, _)| *child)
                .collect();
            if let Some(child) = run.rng.choice(&backends) {
                signal("-KILL", *child);
            }
        } else {
            *(if keeps_unwritten { &mut lost } else { &mut all }) += 1;
            signal("-KILL", pid);
            for (child, _) in processes {
                signal("-KILL", child);
            }
        }
        let ran = crate::harness::Ran::of(ingest.wait_with_output().unwrap());
        assert!(matches!(ran.status.code(), Some(0 | 2)), "{} {}", ran.status, ran.err);
        for _ in 0..2 {
            let (query, regex) = world.query();
            let mut found = None;
            eventually("the command line answers", || {
                found = printed(&home.run(&["search", "--limit", "0", &query]));
                found.is_some()
            });
            world.is_of_some_state(&found.unwrap(), &regex);
            if let Some(found) = asked(&server, &query, "") {
                world.is_of_some_state(&found, &regex);
            }
        }
        home.run(&World::ingest_args()).code(0);
        world.settle();
        for _ in 0..3 {
            let (query, regex) = world.query();
            let found = home.run(&["search", "--limit", "0", &query]);
            world.is_of_now(&printed(&found).unwrap(), &regex);
            eventually("the server answers as the files are now", || {
                asked(&server, &query, "") == Some(scan(world.now(), &regex))
            });
        }
        home.run(&["check"]).code(0);
    }
    drop(server);
    run.end(&format!(
        "{all} crashes of Postgres, {lost} with unwritten commits, {single} of one of its processes"
    ));
}
