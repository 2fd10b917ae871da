//! Random changes of watched folders: in the end, the index is as a new one would be.

use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;

use super::found;
use crate::harness::{Fixture, eventually};

struct World {
    fixture: Fixture,
    rng: Rng,
    next: usize,
}

impl World {
    fn at(&self, path: &str) -> PathBuf {
        self.fixture.path().join(path)
    }

    fn name(&mut self, kind: &str) -> String {
        self.next += 1;
        format!("{kind}{}", self.next)
    }

    /// Makes a clone with a name of its own.
    fn clone_new(&mut self) {
        let name = self.name("c");
        let group = ["in", "in/group"][self.rng.usize(..2)];
        fs::create_dir_all(self.at(group)).unwrap();
        let folder = format!("{group}/{name}");
        match self.clones().first().cloned() {
            Some(from) => {
                let from = from.to_str().unwrap().to_owned();
                self.fixture.git(group, &["clone", "--quiet", "--no-local", &from, &name]);
                let origin = format!("https://example.org/{name}");
                self.fixture.git(&folder, &["remote", "set-url", "origin", &origin]);
            }
            None => {
                (0..9).for_each(|n| {
                    self.fixture
                        .write(&format!("{folder}/d{}/{n}.txt", n % 3), format!("text {n}\n"));
                });
                self.fixture.named_clone(&folder, &name);
            }
        }
    }

    /// Returns the folders of the clones.
    fn clones(&self) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for group in ["in", "in/group"] {
            let entries = fs::read_dir(self.at(group)).into_iter().flatten().flatten();
            all.extend(entries.map(|entry| entry.path()).filter(|path| path.join(".git").is_dir()));
        }
        all.sort();
        all
    }

    fn git(&self, clone: &Path, args: &[&str]) {
        let folder = clone.strip_prefix(self.fixture.path()).unwrap();
        self.fixture.git(folder.to_str().unwrap(), args);
    }

    /// Returns the files, or the folders, of a clone.
    fn below(clone: &Path, wants_folders: bool) -> Vec<PathBuf> {
        let (mut all, mut rest) = (Vec::new(), vec![clone.to_owned()]);
        while let Some(folder) = rest.pop() {
            for entry in fs::read_dir(&folder).unwrap().flatten() {
                let path = entry.path();
                if entry.file_name() == ".git" {
                    continue;
                }
                // Not through links.
                let is_folder = entry.file_type().unwrap().is_dir();
                if is_folder == wants_folders {
                    all.push(path.clone());
                }
                if is_folder {
                    rest.push(path);
                }
            }
        }
        all.sort();
        all
    }

    fn change(&mut self) {
        let clones = self.clones();
        let clone = clones[self.rng.usize(..clones.len())].clone();
        let (files, folders) = (Self::below(&clone, false), Self::below(&clone, true));
        let file = self.rng.choice(&files).cloned();
        let folder = self.rng.choice(&folders).cloned().unwrap_or_else(|| clone.clone());
        let text = format!("text {} {}\n", self.rng.u8(..20), self.next);
        match self.rng.u8(..24) {
            0..5 => fs::write(file.unwrap_or_else(|| clone.join("new.txt")), text).unwrap(),
            5..7 => {
                let path = folder.join(format!("{}/{}", self.name("d"), self.name("d")));
                fs::create_dir_all(&path).unwrap();
                fs::write(path.join("deep.txt"), text).unwrap();
            }
            7 => {
                if let Some(file) = file {
                    fs::remove_file(file).unwrap();
                }
            }
            8..10 => {
                if let Some(file) = file {
                    fs::rename(file, folder.join(self.name("f"))).unwrap();
                }
            }
            10..13 if folder != clone => {
                let to = clones[self.rng.usize(..clones.len())].join(self.name("moved"));
                fs::rename(folder, to).unwrap();
            }
            13 if folder != clone => fs::remove_dir_all(folder).unwrap(),
            14 => {
                let rules = [".gitignore", ".ignore"][self.rng.usize(..2)];
                let text = ["d1/\n", "*.txt\n", "moved*\n!moved2\n", "\n"][self.rng.usize(..4)];
                fs::write(folder.join(rules), text).unwrap();
            }
            15 => {
                self.git(&clone, &["add", "--all"]);
                self.git(&clone, &["commit", "--quiet", "--allow-empty", "--message", "more"]);
            }
            16 => {
                let name = self.name("branch");
                self.git(&clone, &["stash", "--quiet", "--include-untracked"]);
                self.git(&clone, &["checkout", "--quiet", "-b", &name, "main"]);
            }
            17 => self.git(&clone, &["reset", "--quiet", "--hard", "main"]),
            18 => {
                if let Some(file) = file {
                    self.git(&clone, &["add", "--force", file.to_str().unwrap()]);
                }
            }
            19 => {
                if let Some(file) = file {
                    self.git(
                        &clone,
                        &["rm", "--quiet", "--cached", "--ignore-unmatch", file.to_str().unwrap()],
                    );
                }
            }
            20 if clones.len() < 5 => self.clone_new(),
            21 if clones.len() > 2 => fs::remove_dir_all(&clone).unwrap(),
            22 => {
                let to = clone.with_file_name(self.name("renamed"));
                fs::rename(&clone, to).unwrap();
            }
            _ => {
                // A link in place of a folder, and back.
                let link = clone.join(self.name("link"));
                std::os::unix::fs::symlink(".", link).unwrap();
            }
        }
    }
}

/// Returns what an index has.
fn contents(fixture: &Fixture) -> Vec<String> {
    fixture.sql(
        "select coalesce(array_agg(row order by row collate \"C\"), '{}') from (
             select concat_ws(' ', repository, path, language, bytes, hash) from codesearch_sql.files
             union all select concat_ws(' ', 'left out:', repository, path, reason, rule) from codesearch_sql.left_out
             union all select concat_ws(' ', 'repository:', name, source, commit, files, bytes, skipped) from repos
                       where indexed_at is not null
         ) rows (row)",
    )
}

#[test]
fn after_random_changes_the_index_is_as_a_new_one() {
    let (rounds, seed) = match std::env::var("CODESEARCH_TORTURE") {
        Ok(_) => (60, fastrand::u64(..)),
        Err(_) => (4, 11),
    };
    println!("seed {seed}");
    let mut world = World { fixture: Fixture::new(), rng: Rng::with_seed(seed), next: 0 };
    world.clone_new();
    world.clone_new();
    let server = world.fixture.up(&[]);
    for round in 0..rounds {
        for _ in 0..world.rng.u8(5..25) {
            world.change();
        }
        // Not all at once.
        let witness = world.name("witness");
        let clone = world.clones()[0].clone();
        fs::write(clone.join(format!("{witness}.md")), &witness).unwrap();
        if round % 2 == 0 {
            eventually("a change is seen", || {
                !found(&server, &format!("lit:{witness}")).is_empty()
            });
        }
    }
    let fresh = Fixture::new();
    let folder = world.at("in");
    fresh.run(&["ingest", "--shards", "4", "--no-symbols", folder.to_str().unwrap()]).code(0);
    let expected = contents(&fresh);
    // What is left waits for no more than a few looks.
    for look in 0.. {
        let now = contents(&world.fixture);
        if now == expected {
            break;
        }
        let missing: Vec<_> = expected.iter().filter(|row| !now.contains(row)).collect();
        let more: Vec<_> = now.iter().filter(|row| !expected.contains(row)).collect();
        assert!(look < 3000, "missing: {missing:#?}; more: {more:#?}");
    }
    server.stop();
    world.fixture.check_invariants();
}
