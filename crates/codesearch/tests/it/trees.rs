//! Several trees of one repository: what the index has of each is what lies in its folder, or in its commit.

mod random;
pub(crate) mod refs;
mod worktrees;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::harness::Fixture;

/// The texts of a tree by path.
pub(crate) type Files = BTreeMap<String, String>;

/// A tree of a repository, by kind and name; `None` for the main one.
pub(crate) type Name<'a> = Option<(&'a str, &'a str)>;

impl Fixture {
    /// Returns what the index has of a tree of a repository, whose name ends like this.
    pub(crate) fn tree(&self, repo: &str, tree: Name<'_>) -> Files {
        let has = match tree {
            None => "f.trees >= 0".to_owned(),
            Some((kind, name)) => format!(
                "exists (select from trees t join tree_sets s on s.repo = t.repo
                     where t.repo = f.repo and t.kind = '{kind}' and t.name = '{name}' and s.id = abs(f.trees)
                       and t.valid_from <= epoch and t.valid_to > epoch and s.valid_from <= epoch
                       and s.valid_to > epoch and t.bit < 8 * length(s.members) and get_bit(s.members, t.bit) = 1)"
            ),
        };
        let sql = format!(
            "select coalesce(array_agg(path || chr(9) || text), '{{}}') from (
                 select f.path, (select coalesce(string_agg(c.contents, '' order by c.n), '') from chunks c
                      where c.shard = f.shard and c.n >= b.id and c.n < b.id + b.chunks) as text
                 from files f join blobs b on b.shard = f.shard and b.id = f.blob
                 join repos r on r.id = f.repo, state
                 where f.valid_from <= epoch and f.valid_to > epoch and r.name like '%{repo}' and {has}) f"
        );
        let files = self.sql::<Vec<String>>(&sql);
        let count = files.len();
        let files: Files = files
            .into_iter()
            .map(|file| {
                file.split_once('\t').map(|(path, text)| (path.to_owned(), text.to_owned()))
            })
            .map(Option::unwrap)
            .collect();
        assert_eq!(files.len(), count, "a path occurs twice in {tree:?}");
        files
    }

    /// Returns the kinds and names of the trees of all repositories, in the current epoch: a killed ingest may have
    /// written the rows of the next one.
    pub(crate) fn trees(&self) -> Vec<String> {
        self.sql(
            "select coalesce(array_agg(kind || ' ' || name order by kind, name), '{}') from trees, state
             where valid_from <= epoch and epoch < valid_to",
        )
    }

    /// Returns the names of all repositories.
    fn repos(&self) -> Vec<String> {
        self.sql("select coalesce(array_agg(name order by name), '{}') from repos where indexed_at is not null")
    }

    /// Returns the number of sets of trees.
    fn sets(&self) -> i64 {
        self.sql("select count(*) from tree_sets where valid_to = 2147483647")
    }
}

/// Returns the files in a folder, without those of other checkouts in it.
pub(crate) fn on_disk(folder: &Path) -> Files {
    let (mut files, mut rest) = (Files::new(), vec![folder.to_owned()]);
    while let Some(at) = rest.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap() == ".git" || path.join(".git").exists() {
                continue;
            }
            if path.is_dir() {
                rest.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                files.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

/// Returns the number of different sets of trees, besides the main one, of which some file is in.
fn memberships(main: &Files, others: &[Files]) -> usize {
    let mut members: BTreeMap<(&String, &String), BTreeSet<usize>> = BTreeMap::new();
    for (number, files) in others.iter().enumerate() {
        for file in files {
            members.entry(file).or_default().insert(number);
        }
    }
    let _ = main;
    members.into_values().collect::<BTreeSet<_>>().len()
}
