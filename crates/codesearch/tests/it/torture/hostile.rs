//! Repositories with extreme values of everything that git or a file system can store, next to a good one.
//!
//! The good one and every ordinary file of the others are indexed, left out files are reported, nothing of another user
//! is read, and memory is limited.

mod disk;
mod git;

use std::collections::BTreeSet;
use std::process::Command;

use disk::Disk;

use super::Run;
use crate::harness::{Fixture, Ran};

/// Maximum memory of an ingest, in KiB: the limit set on the process.
const MEMORY_KB: u64 = 1 << 20;

/// A text in every ordinary file, and in no other.
const NEEDLE: &str = "needle";

/// A text in no file of theirs, but in one that links lead to.
const SECRET: &str = "somebody_elses";

#[test]
fn hostile_repositories_stop_nobody() {
    let mut run = Run::new("hostile", 1, 100);
    let (mut files, mut left_out) = (0, 0);
    while run.step().is_some() {
        let fixture = Fixture::new();
        let mut disk = Disk::new(fixture.path(), run.rng.fork(), run.is_long);
        disk.text("good/.git/config", "[core]\n\tbare = false\n");
        for n in 0..20 {
            disk.text(&format!("good/src/{n}.rs"), &format!("fn {NEEDLE}_{n}() {{}}\n"));
        }
        disk::build(&mut disk);
        git::build(&mut disk);
        let swaps = disk.swap_a_folder();
        let args: &[&[&str]] = &[&[], &["--no-ignore"], &["--depth", "1"]];
        let with = args[run.rng.usize(..args.len())];
        let ran = bounded(&fixture, &[&["ingest", "--shards", "3"], with, &["in"]].concat());
        swaps.end();
        // Unreadable repositories are reported, and do not make the others fail.
        let told = ran.err.contains("not updated: ");
        let ran = ran.code(if told { 2 } else { 0 });
        assert!(ran.out.contains("left out: "), "{}", ran.out);

        let found = fixture.search(&["-l", "--sort", "path", &format!("fn {NEEDLE}_[0-9]+")]);
        let good = found.iter().filter(|line| line.starts_with("good/")).count();
        assert_eq!(good, 20, "{found:?}");
        let indexed = listed(&fixture, "files", "''");
        for file in disk.ordinary() {
            assert!(indexed.contains(file), "{file:?} is not indexed: {ran:?}");
        }
        let told = listed(&fixture, "left_out", "reason || ' '");
        for (folder, path, reason) in disk.left_out() {
            let is_it = |row: &String| {
                row.starts_with(&format!("{folder}/{reason} ")) && row.contains(path.as_str())
            };
            assert!(told.iter().any(is_it), "{folder}/{path} is not told as {reason}: {told:?}");
        }
        assert_eq!(fixture.search(&[SECRET]), [""; 0]);
        fixture.check_invariants();
        // Once more, with everything known.
        bounded(&fixture, &[&["ingest", "--again"], with, &["in"]].concat());
        let still = |rows: BTreeSet<String>| -> BTreeSet<String> {
            rows.into_iter().filter(|row| !row.starts_with("swapped/")).collect()
        };
        assert_eq!(still(listed(&fixture, "files", "''")), still(indexed.clone()));
        // No repository's name contains a password or an escape.
        let repos =
            fixture.sql::<String>("select string_agg(name || coalesce(web, ''), ' ') from repos");
        assert!(!repos.contains("secret") && !repos.contains(char::is_control), "{repos:?}");
        fixture.check_invariants();
        files += indexed.len();
        left_out += told.len();
        disk.open_all();
    }
    run.end(&format!("{files} files indexed, {left_out} told to be left out"));
}

/// Returns the rows of a view, each with the folder of its repository and the path: `evil/binary a.bin`.
fn listed(fixture: &Fixture, view: &str, before: &str) -> BTreeSet<String> {
    let sql = format!(
        "select coalesce(string_agg(regexp_replace(r.folder, '.*/in/', '') || '/' || {before} || v.path, e'\\x01'), '')
         from codesearch_sql.{view} v join codesearch_sql.repositories r using (repository)"
    );
    fixture.sql::<String>(&sql).split('\u{1}').map(str::to_owned).collect()
}

/// Runs the binary with limited memory.
fn bounded(fixture: &Fixture, args: &[&str]) -> Ran {
    let command = fixture.command(args);
    let mut limited = Command::new("/bin/sh");
    limited.args(["-c", &format!("ulimit -d {MEMORY_KB}; exec \"$@\""), "sh"]);
    limited.arg(command.get_program()).args(command.get_args()).current_dir(fixture.path());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(key, value),
            None => limited.env_remove(key),
        };
    }
    Ran::of(limited.output().unwrap())
}
