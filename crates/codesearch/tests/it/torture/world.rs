//! Repositories that change at random, and a plain scan of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use fastrand::Rng;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use regex::Regex;
use serde_json::Value;

use crate::harness::{Ran, Server};

/// The texts of all files, by repository and path.
pub(crate) type State = BTreeMap<String, BTreeMap<String, String>>;

/// A matching line: repository, path, and number.
pub(crate) type Line = (String, String, u64);

const REPOS: [&str; 4] = ["ape", "bee", "cat", "dog"];

const WORDS: [&str; 24] = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "return",
    "error",
    "import",
    "fmt",
    "Printf",
    "buffer",
    "Value",
    "node",
    "index",
    "shard",
    "日本語",
    "straße",
    "été",
    "x1",
    "y2",
    "zz",
    "static",
    "inline",
    "await",
    "TODO",
];

/// Arguments of every ingest.
const INGEST: [&str; 8] =
    ["ingest", "--shards", "3", "--shard-bytes", "20000", "--depth", "1", "repos"];

/// Files on disk, and every earlier state of them that may still be visible.
pub(crate) struct World {
    folder: PathBuf,
    rng: Rng,
    /// The newest state is the last one.
    states: Vec<State>,
}

impl World {
    /// Makes the first files in a folder `repos`.
    pub(crate) fn new(folder: PathBuf, rng: &mut Rng) -> Self {
        let mut world = Self { folder, rng: rng.fork(), states: vec![State::new()] };
        for repo in REPOS {
            let folder = world.folder.join("repos").join(repo);
            fs::create_dir_all(&folder).unwrap();
            // This file is left out. A repository without any file would be taken for one whose disk is missing.
            fs::write(folder.join("kept"), b"\0").unwrap();
        }
        world.change(30);
        world
    }

    pub(crate) fn ingest_args() -> [&'static str; 8] {
        INGEST
    }

    pub(crate) fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Returns the newest state.
    pub(crate) fn now(&self) -> &State {
        self.states.last().unwrap()
    }

    /// Allows only the newest state from now on.
    pub(crate) fn settle(&mut self) {
        self.states.drain(..self.states.len() - 1);
    }

    /// Removes a repository from the current state, as `codesearch remove` does.
    pub(crate) fn forget(&mut self, repo: &str) {
        let mut state = self.now().clone();
        for path in state.remove(repo).unwrap_or_default().into_keys() {
            fs::remove_file(self.folder.join("repos").join(repo).join(path)).unwrap();
        }
        self.states.push(state);
    }

    /// Makes up to `most` changes: new files, changed ones, deleted ones, and moved ones.
    pub(crate) fn change(&mut self, most: usize) {
        let mut state = self.now().clone();
        for _ in 0..self.rng.usize(1..=most) {
            let repo = REPOS[self.rng.usize(..REPOS.len())];
            let path = format!("{}.{}", self.rng.u8(..40), ["rs", "go", "md"][self.rng.usize(..3)]);
            let folder = self.folder.join("repos").join(repo);
            let files = state.entry(repo.to_owned()).or_default();
            match self.rng.u8(..10) {
                0 | 1 if files.contains_key(&path) => {
                    files.remove(&path);
                    fs::remove_file(folder.join(&path)).unwrap();
                }
                2 if files.contains_key(&path) => {
                    let text = files.remove(&path).unwrap();
                    let to = format!("moved-{path}");
                    fs::rename(folder.join(&path), folder.join(&to)).unwrap();
                    files.insert(to, text);
                }
                _ => {
                    let text = text(&mut self.rng);
                    fs::write(folder.join(&path), &text).unwrap();
                    files.insert(path, text);
                }
            }
        }
        self.states.push(state);
    }

    /// Returns a random query, and the expression that it searches for.
    pub(crate) fn query(&mut self) -> (String, Regex) {
        let mut word = || WORDS[self.rng.usize(..WORDS.len())];
        let pattern = match word().len() % 4 {
            0 => word().to_owned(),
            1 => format!("{}.*{}", word(), word()),
            2 => format!("({}|{})_[0-9]", word(), word()),
            _ => format!("{}_{}", word(), self.rng.u16(..400)),
        };
        (format!("case:yes {pattern}"), Regex::new(&pattern).unwrap())
    }

    /// Checks an answer that may be of any state since the last [`World::settle`], for each repository.
    #[track_caller]
    pub(crate) fn is_of_some_state(&self, found: &BTreeSet<Line>, regex: &Regex) {
        let repos: BTreeSet<&str> = found.iter().map(|line| &*line.0).chain(REPOS).collect();
        for repo in repos {
            let found: BTreeSet<&Line> = found.iter().filter(|line| line.0 == repo).collect();
            let is_that = |state: &State| {
                scan(state, regex).iter().filter(|line| line.0 == repo).eq(found.iter().copied())
            };
            assert!(
                self.states.iter().any(is_that),
                "{regex}: {repo} is as it never was: {found:?}"
            );
        }
    }

    /// Checks an answer that must show the newest state.
    #[track_caller]
    pub(crate) fn is_of_now(&self, found: &BTreeSet<Line>, regex: &Regex) {
        assert_eq!(*found, scan(self.now(), regex), "{regex}");
    }
}

/// Returns the matching lines of a state.
pub(crate) fn scan(state: &State, regex: &Regex) -> BTreeSet<Line> {
    let mut found = BTreeSet::new();
    for (repo, files) in state {
        for (path, text) in files {
            for (n, line) in text.lines().enumerate() {
                if regex.is_match(line) {
                    found.insert((repo.clone(), path.clone(), n as u64 + 1));
                }
            }
        }
    }
    found
}

/// Returns a text: mostly short, occasionally with several chunks or a long line.
fn text(rng: &mut Rng) -> String {
    let lines = match rng.u8(..20) {
        0 => 3000,
        1 => 0,
        _ => rng.usize(1..60),
    };
    let mut text = String::new();
    for _ in 0..lines {
        for _ in 0..if rng.u16(..900) == 0 { 4000 } else { rng.usize(1..7) } {
            let _ = write!(text, "{}_{} ", WORDS[rng.usize(..WORDS.len())], rng.u16(..400));
        }
        text.push('\n');
    }
    text
}

/// Returns the lines that the command line finds; `None` if it reports a failure or an incomplete answer.
#[track_caller]
pub(crate) fn printed(ran: &Ran) -> Option<BTreeSet<Line>> {
    match ran.status.code() {
        Some(0 | 1) => {}
        Some(2) => {
            assert!(ran.err.contains("codesearch: "), "{}", ran.err);
            return None;
        }
        _ => panic!("it ended with {}: {}", ran.status, ran.err),
    }
    let line = |line: &str| {
        let mut parts = line.splitn(3, ':');
        let (repo, path) = parts.next().unwrap().split_once('/').unwrap();
        (repo.to_owned(), path.to_owned(), parts.next().unwrap().parse().unwrap())
    };
    Some(ran.out.split_terminator('\n').map(line).collect())
}

/// Returns the matching lines of an answer.
pub(crate) fn lines(answer: &Value) -> BTreeSet<Line> {
    let mut found = BTreeSet::new();
    for file in answer["files"].as_array().unwrap() {
        for line in file["matches"].as_array().unwrap() {
            let text = |name: &str| file[name].as_str().unwrap().to_owned();
            found.insert((text("repo"), text("path"), line["line"].as_u64().unwrap()));
        }
    }
    found
}

/// Returns the lines that a server finds; `None` if it reports a failure or an incomplete answer.
#[track_caller]
pub(crate) fn asked(server: &Server, query: &str, parameters: &str) -> Option<BTreeSet<Line>> {
    let query = utf8_percent_encode(query, NON_ALPHANUMERIC);
    let (status, answer) = server.json(&format!("/search?q={query}&limit=0{parameters}"));
    match status {
        200 => (answer["stats"]["complete"] == true).then(|| lines(&answer)),
        500..=503 => {
            assert!(
                !answer["error"]["message"].as_str().unwrap_or_default().is_empty(),
                "{answer}"
            );
            None
        }
        _ => panic!("{status}: {answer}"),
    }
}
