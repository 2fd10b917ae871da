//! Random histories of a repository with several trees.

use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;

use super::refs::in_git;
use super::{Files, memberships, on_disk};
use crate::harness::Fixture;

/// A clone and its worktrees, which change at random.
struct World {
    fixture: Fixture,
    rng: Rng,
    next: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let fixture = Fixture::new();
        for n in 0..12 {
            fixture.write(&format!("in/r/d{}/{n}.txt", n % 3), format!("text {n}\n"));
        }
        fixture.commit("in/r", "first");
        fixture.git("in/r", &["branch", "--move", "main"]);
        // A folder that is empty might be one of a disk that is missing.
        fixture.write("elsewhere/kept.txt", "kept");
        // Else git would take the checkouts in it for submodules.
        fixture.write("in/r/.git/info/exclude", ".worktrees/\n");
        Self { fixture, rng: Rng::with_seed(seed), next: 0 }
    }

    /// Returns the worktrees that git has, the main one first: name and folder.
    fn trees(&self) -> Vec<(String, PathBuf)> {
        let list = self.fixture.git("in/r", &["worktree", "list", "--porcelain"]);
        let folders = list.lines().filter_map(|line| line.strip_prefix("worktree "));
        folders
            .map(PathBuf::from)
            .filter(|folder| folder.exists())
            .map(|folder| {
                let git = fs::read_to_string(folder.join(".git")).unwrap_or_default();
                let name = Path::new(git.trim()).file_name().map(|name| name.to_str().unwrap());
                (name.unwrap_or_default().to_owned(), folder)
            })
            .collect()
    }

    fn git(&self, folder: &Path, args: &[&str]) {
        let folder = folder.strip_prefix(self.fixture.path().canonicalize().unwrap()).unwrap();
        self.fixture.git(folder.to_str().unwrap(), args);
    }

    /// Returns the branches and tags that are ingested, by kind and name.
    fn refs(&self) -> Vec<(&'static str, String)> {
        let of = |folder: &str, kind: &'static str| {
            let format = "--format=%(refname:lstrip=2)";
            let listed = self.fixture.git("in/r", &["for-each-ref", format, folder]);
            listed.lines().map(|name| (kind, name.to_owned())).collect::<Vec<_>>()
        };
        [of("refs/heads/b*", "branch"), of("refs/tags/t*", "tag")].concat()
    }

    fn name(&mut self) -> String {
        self.next += 1;
        format!("n{}", self.next)
    }

    fn change(&mut self) {
        let trees = self.trees();
        let at = self.rng.usize(..trees.len());
        let folder = trees[at].1.clone();
        let files: Vec<String> = on_disk(&folder).into_keys().collect();
        let file = self.rng.choice(&files).cloned();
        match self.rng.u8(..24) {
            0..2 if trees.len() < 7 => {
                let name = self.name();
                let place = ["../", ".worktrees/", "../../elsewhere/"][self.rng.usize(..3)];
                let from = if self.rng.bool() { "HEAD" } else { "main" };
                self.git(
                    &trees[0].1,
                    &["worktree", "add", "--quiet", "-b", &name, &format!("{place}{name}"), from],
                );
            }
            2 if at > 0 => {
                self.git(&trees[0].1, &["worktree", "remove", "--force", folder.to_str().unwrap()]);
            }
            3 if at > 0 => fs::remove_dir_all(&folder).unwrap(),
            4 if at > 0 => {
                let to = folder.with_file_name(self.name());
                self.git(
                    &trees[0].1,
                    &["worktree", "move", folder.to_str().unwrap(), to.to_str().unwrap()],
                );
            }
            // The main checkout switches.
            5 => {
                self.git(&trees[0].1, &["stash", "--quiet", "--include-untracked"]);
                let name = self.name();
                self.git(&trees[0].1, &["checkout", "--quiet", "-b", &name, "HEAD~0"]);
            }
            6 => {
                self.git(&folder, &["reset", "--quiet", "--hard", "main"]);
            }
            7..10 => {
                self.git(&folder, &["add", "--all"]);
                self.git(&folder, &["commit", "--quiet", "--allow-empty", "--message", "more"]);
            }
            10..13 => {
                // Texts that other trees have or may have had, too.
                let text = format!("text {}\n", self.rng.u8(..20));
                let path = format!("d{}/{}.txt", self.rng.u8(..3), self.rng.u8(..20));
                fs::create_dir_all(folder.join(&path).parent().unwrap()).unwrap();
                fs::write(folder.join(path), text).unwrap();
            }
            13..15 => {
                if let Some(file) = file {
                    fs::remove_file(folder.join(file)).unwrap();
                }
            }
            15..17 => {
                if let Some(file) = file {
                    let to = format!("{}.txt", self.name());
                    fs::rename(folder.join(file), folder.join(to)).unwrap();
                }
            }
            // A branch or a tag that no tree has checked out is made, moved or deleted.
            20..23 => {
                let (name, folder) = (format!("b{}", self.rng.u8(..4)), folder);
                self.git(&folder, &["branch", "--quiet", "--force", &name, "HEAD"]);
            }
            23 => {
                let name = format!("t{}", self.rng.u8(..3));
                let known = self.refs();
                match self.rng.choice(&known) {
                    Some(("branch", name)) if self.rng.bool() => {
                        self.git(&folder, &["branch", "--quiet", "-D", name]);
                    }
                    _ => self.git(&folder, &["tag", "--force", &name, "HEAD"]),
                }
            }
            // A folder of one tree in another.
            _ => {
                let from = self.rng.choice(&trees).unwrap().1.clone();
                for (path, text) in on_disk(&from) {
                    if self.rng.bool() {
                        fs::create_dir_all(folder.join(&path).parent().unwrap()).unwrap();
                        fs::write(folder.join(path), text).unwrap();
                    }
                }
            }
        }
    }

    fn check(&self) {
        let trees = self.trees();
        let main = on_disk(&trees[0].1);
        assert_eq!(self.fixture.tree("r", None), main);
        let mut others: Vec<Files> = trees[1..].iter().map(|(_, folder)| on_disk(folder)).collect();
        for ((name, _), files) in trees[1..].iter().zip(&others) {
            let indexed = self.fixture.tree("r", Some(("worktree", name)));
            assert_eq!(indexed, *files, "{name}");
        }
        let mut names: Vec<String> =
            trees[1..].iter().map(|(name, _)| format!("worktree {name}")).collect();
        for (kind, name) in self.refs() {
            let files = in_git(&self.fixture, "in/r", &name);
            assert_eq!(self.fixture.tree("r", Some((kind, &name))), files, "{kind} {name}");
            names.push(format!("{kind} {name}"));
            others.push(files);
        }
        names.sort();
        assert_eq!(self.fixture.trees(), names);
        assert_eq!(self.fixture.sets() as usize, memberships(&main, &others));
        assert_eq!(self.fixture.repos(), ["r"]);
        self.fixture.check_invariants();
    }
}

/// How the world is ingested into an index.
fn ingest(world: &World, index: &Fixture) {
    let folder = world.fixture.path().join("in");
    let options = ["--shards", "4", "--branches", "b*,t*"];
    index.run(&[&["ingest", folder.to_str().unwrap()], &options[..]].concat()).code(0);
}

/// Returns all that an index tells of its trees.
fn told(index: &Fixture) -> String {
    let files = "select * from tree_files order by repository, tree, path";
    let trees =
        "select repository, tree, kind, folder, commit, files from trees order by kind, tree";
    [files, trees].map(|rows| index.run(&["sql", "--format", "json", rows]).code(0).out).concat()
}

#[test]
fn every_tree_is_as_on_disk_after_any_history() {
    let steps = if std::env::var_os("CODESEARCH_TORTURE").is_some() { 400 } else { 25 };
    let mut world = World::new(7);
    for step in 0..steps {
        for _ in 0..world.rng.u8(1..6) {
            world.change();
        }
        println!("step {step}");
        ingest(&world, &world.fixture);
        world.check();
        // An index that has seen nothing before.
        if step % 8 == 7 {
            let fresh = Fixture::new();
            ingest(&world, &fresh);
            assert_eq!(told(&world.fixture), told(&fresh));
        }
    }
}
