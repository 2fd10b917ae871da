//! Kills an ingest: at a certain piece of its traffic with Postgres, or at a random time.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::Run;
use super::proxy::{Fault, Proxy, Way};
use super::world::{World, asked, printed};
use crate::harness::{Fixture, eventually, socket_folder};
use crate::trees::refs::in_git;
use crate::trees::{Files, on_disk};

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

/// Returns the indexed files of each repository with those of the commit that it claims to have: path and hash.
fn by_commit(fixture: &Fixture) -> Vec<(String, Vec<String>, Vec<String>)> {
    let repos: Vec<String> = fixture.sql(
        "select coalesce(array_agg(format('%s %s', source, commit) order by source), '{}') from repos
         where indexed_at is not null",
    );
    let of = |repo: String| {
        let (source, commit) = repo.split_once(' ').unwrap();
        let indexed = fixture.sql(&format!(
            "select coalesce(array_agg(format('%s %s', encode(b.oid, 'hex'), f.path)
                     order by f.path collate \"C\"), '{{}}')
             from files f join repos r on r.id = f.repo join blobs b on b.shard = f.shard and b.id = f.blob, state s
             where r.source = '{source}' and f.valid_from <= s.epoch and s.epoch < f.valid_to"
        ));
        let tree =
            fixture.git(source, &["ls-tree", "-r", "--format=%(objectname) %(path)", commit]);
        (source.to_owned(), indexed, tree.lines().map(str::to_owned).collect())
    };
    repos.into_iter().map(of).collect()
}

#[test]
fn a_killed_ingest_of_commits_leaves_each_clone_at_a_commit() {
    let mut run = Run::new("kills of commits", 10, 400);
    let fixture = Fixture::new();
    for number in 0..30 {
        fixture.write(&format!("r/src/{number}.c"), format!("// needle {number}\n"));
    }
    fixture.commit("r", "first");
    fixture.git(".", &["clone", "--quiet", "--bare", "r", "m.git"]);
    fixture.git(".", &["clone", "--quiet", "--bare", "r", "n.git"]);
    let args = ["ingest", "--shards", "3", "--no-symbols", "--commit", "."];
    let proxy = Proxy::new(&socket_folder(), Way::ToPostgres, Fault::None, 0);
    let url = {
        fixture.run(&["init", "--shards", "3"]).code(0);
        proxy.url(&fixture.index)
    };
    fixture.through(&url, &args).code(0);
    let pieces = proxy.passed();
    drop(proxy);
    let mut killed = 0;
    while let Some(step) = run.step() {
        // One clone gets the texts before the others: there, they are known.
        for _ in 0..5 {
            let (from, to) = (run.rng.u8(..30), run.rng.u8(..30));
            fixture.write(&format!("r/src/{from}.c"), format!("// needle {step} of {to}\n"));
            let _ = std::fs::remove_file(fixture.path().join(format!("r/src/{to}.c")));
        }
        let before: Vec<String> = fixture.sql(
            "select array_agg(commit order by source) from repos where indexed_at is not null",
        );
        let commit = fixture.commit("r", &step.to_string());
        for clone in ["m.git", "n.git"] {
            fixture.git("r", &["push", "--quiet", "--force", &format!("../{clone}"), "HEAD"]);
        }
        let proxy =
            Proxy::new(&socket_folder(), Way::ToPostgres, Fault::Hold, run.rng.usize(1..=pieces));
        let url = proxy.url(&fixture.index);
        let mut child = fixture.command_on(&url, &args);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        eventually("the ingest is where it is to be killed", || {
            proxy.has_struck() || child.try_wait().unwrap().is_some()
        });
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        // Postgres learns that the ingest is gone, which the next one would wait for.
        drop(proxy);
        let now: Vec<String> = fixture.sql(
            "select array_agg(commit order by source) from repos where indexed_at is not null",
        );
        assert!(
            now == before || now.iter().all(|now| *now == commit),
            "{before:?} {now:?} {commit}"
        );
        for (source, indexed, tree) in by_commit(&fixture) {
            assert_eq!(indexed, tree, "{source}");
        }
        if run.rng.bool() {
            fixture.run(&args).code(0);
            for (source, indexed, tree) in by_commit(&fixture) {
                assert_eq!(indexed, tree, "{source}");
            }
            fixture.check_invariants();
        }
    }
    assert!(killed > 0);
}

/// The files of each tree of a repository, by kind and name; those of the main one have no kind.
type Trees = BTreeMap<String, Files>;

/// Returns what is on disk and in git: the main checkout, the worktrees and the branches.
fn trees_now(fixture: &Fixture) -> Trees {
    let mut trees = Trees::from([(String::new(), on_disk(&fixture.path().join("r")))]);
    for name in ["w", "v"] {
        let folder = fixture.path().join(name);
        if folder.exists() {
            trees.insert(format!("worktree {name}"), on_disk(&folder));
        }
    }
    let branches =
        fixture.git("r", &["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/"]);
    for name in branches.lines().filter(|name| ["b", "w"].contains(name)) {
        trees.insert(format!("branch {name}"), in_git(fixture, "r", name));
    }
    trees
}

/// Returns what the index has.
fn trees_indexed(fixture: &Fixture) -> Trees {
    let names = fixture.trees().into_iter();
    let others = names.map(|name| {
        let files = fixture.tree("r", name.split_once(' '));
        (name, files)
    });
    others.chain([(String::new(), fixture.tree("r", None))]).collect()
}

#[test]
fn a_killed_ingest_of_trees_leaves_all_as_they_were_or_as_they_are() {
    let mut run = Run::new("kills of trees", 12, 400);
    let fixture = Fixture::new();
    for number in 0..20 {
        fixture.write(&format!("r/src/{number}.c"), format!("// needle {number}\n"));
    }
    fixture.commit("r", "first");
    fixture.git("r", &["branch", "--move", "main"]);
    fixture.git("r", &["branch", "b"]);
    fixture.git("r", &["worktree", "add", "--quiet", "../w", "-b", "w"]);
    fixture.run(&["init", "--shards", "3"]).code(0);
    let args = ["ingest", "--shards", "3", "--no-symbols", "--branches", "b,w", "r"];
    let proxy = Proxy::new(&socket_folder(), Way::ToPostgres, Fault::None, 0);
    fixture.through(&proxy.url(&fixture.index), &args).code(0);
    let pieces = proxy.passed();
    drop(proxy);
    let mut killed = 0;
    while let Some(step) = run.step() {
        let before = trees_indexed(&fixture);
        for tree in ["r", "w", "v"] {
            if !fixture.path().join(tree).exists() {
                continue;
            }
            for _ in 0..run.rng.usize(..4) {
                let (from, to) = (run.rng.u8(..20), run.rng.u8(..20));
                // Texts that another tree may have had first.
                let text = format!("// needle {}\n", run.rng.usize(..3 * step));
                fixture.write(&format!("{tree}/src/{from}.c"), text);
                drop(fs::remove_file(fixture.path().join(format!("{tree}/src/{to}.c"))));
            }
        }
        match run.rng.u8(..5) {
            0 => drop(fixture.commit("w", &step.to_string())),
            1 => drop(fixture.commit("r", &step.to_string())),
            2 => drop(fixture.git("r", &["branch", "--force", "b", ["main", "w"][step % 2]])),
            3 if fixture.path().join("v").exists() => {
                fixture.git("r", &["worktree", "remove", "--force", "../v"]);
            }
            3 => drop(fixture.git("r", &["worktree", "add", "--quiet", "--detach", "../v"])),
            _ if step % 2 == 0
                && !fixture.git("r", &["for-each-ref", "refs/heads/b"]).is_empty() =>
            {
                fixture.git("r", &["branch", "--quiet", "-D", "b"]);
            }
            _ => drop(fixture.git("r", &["branch", "--force", "b", "w"])),
        }
        let now = trees_now(&fixture);
        let at = run.rng.usize(1..=pieces);
        let proxy = Proxy::new(&socket_folder(), Way::ToPostgres, Fault::Hold, at);
        let mut child = fixture.command_on(&proxy.url(&fixture.index), &args);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        eventually("the ingest is where it is to be killed", || {
            proxy.has_struck() || child.try_wait().unwrap().is_some()
        });
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        // Postgres learns that the ingest is gone, which the next one would wait for.
        drop(proxy);
        let indexed = trees_indexed(&fixture);
        assert!(indexed == before || indexed == now, "{before:#?} {indexed:#?} {now:#?}");
        if run.rng.bool() {
            fixture.run(&args).code(0);
            assert_eq!(trees_indexed(&fixture), now);
            fixture.check_invariants();
        }
    }
    fixture.run(&args).code(0);
    assert_eq!(trees_indexed(&fixture), trees_now(&fixture));
    fixture.check_invariants();
    assert!(killed > 0);
    run.end(&format!("{killed} ingests killed"));
}
