//! Generated repositories: merges, renames, modes, empty commits, reverts, and unusual names and texts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use fastrand::Rng;

use crate::harness::Fixture;

/// Names of files: every kind of byte that git allows. Those that are not UTF-8 cannot be checked out by ingest.
const NAMES: &[&[u8]] = &[
    b"a.rs",
    b"dir/b.go",
    b"dir/deep/c.py",
    b"with space.txt",
    b"tab\tname",
    b"line\nfeed",
    b"quote\"d'.c",
    b"back\\slash",
    "größe/µ.txt".as_bytes(),
    b"\xff\xfe/not-utf8.txt",
    b"-dash",
    b"*glob?[x]",
    b"\x01\x1b[31m",
];

const MODES: [&str; 2] = ["100644", "100755"];

#[derive(Clone, PartialEq)]
struct File {
    mode: &'static str,
    contents: Vec<u8>,
}

type Tree = BTreeMap<Vec<u8>, File>;

fn line(rng: &mut Rng) -> String {
    match rng.u8(..10) {
        0 => "}".to_owned(),
        1 => String::new(),
        2 => format!("    alpha = {};", rng.u8(..30)),
        3 => format!("Alpha({})", rng.u16(..)),
        4 => format!("beta_{};", rng.u16(..500)),
        5 => format!("let gamma{} = delta;", rng.u8(..)),
        6 => "return x;".to_owned(),
        7 => format!("// größe {}", rng.u8(..20)),
        8 => "\tindented \u{212a}elvin".to_owned(),
        _ => format!("unique {}", rng.u64(..)),
    }
}

fn text(rng: &mut Rng) -> Vec<u8> {
    let end = if rng.u8(..6) == 0 { "\r\n" } else { "\n" };
    let mut text: String = (0..rng.usize(..40)).map(|_| line(rng) + end).collect();
    if rng.u8(..5) == 0 {
        // No line feed at the end.
        text.truncate(text.trim_end().len());
    }
    if rng.u8(..12) == 0 {
        text.insert(0, '\0');
    }
    text.into_bytes()
}

fn edited(rng: &mut Rng, contents: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(contents).into_owned();
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(..=lines.len());
        match rng.u8(..3) {
            0 => lines.insert(at, line(rng) + "\n"),
            1 if at < lines.len() => {
                lines.remove(at);
            }
            _ if at < lines.len() => lines[at] = line(rng) + "\n",
            _ => {}
        }
    }
    lines.concat().into_bytes()
}

/// Changes some files.
fn change(rng: &mut Rng, tree: &mut Tree) {
    for _ in 0..rng.usize(1..4) {
        let names: Vec<Vec<u8>> = tree.keys().cloned().collect();
        let one = |rng: &mut Rng| names[rng.usize(..names.len())].clone();
        match rng.u8(..12) {
            0..=2 => {
                let name = NAMES[rng.usize(..NAMES.len())].to_vec();
                tree.insert(name, File { mode: MODES[0], contents: text(rng) });
            }
            _ if names.is_empty() => {}
            3 => {
                tree.remove(&one(rng));
            }
            4 => {
                // A rename, with or without an edit.
                let file = tree.remove(&one(rng)).unwrap();
                let contents = if rng.bool() { file.contents } else { edited(rng, &file.contents) };
                tree.insert(
                    format!("moved/{}", rng.u16(..)).into_bytes(),
                    File { contents, ..file },
                );
            }
            5 => {
                let file = tree.get_mut(&one(rng)).unwrap();
                if file.mode != "120000" {
                    file.mode = MODES[rng.usize(..2)];
                }
            }
            6 => {
                let link = File { mode: "120000", contents: b"a.rs".to_vec() };
                let name = if rng.bool() { one(rng) } else { b"link".to_vec() };
                tree.insert(name, link);
            }
            _ => {
                let file = tree.get_mut(&one(rng)).unwrap();
                if file.mode != "120000" {
                    file.contents = edited(rng, &file.contents);
                }
            }
        }
    }
}

/// A branch: its last commit, its files and those of the commit before.
#[derive(Clone)]
struct Branch {
    mark: usize,
    tree: Tree,
    before: Tree,
}

struct Stream {
    bytes: Vec<u8>,
    mark: usize,
}

impl Stream {
    fn commit(&mut self, branch: &mut Branch, tree: Tree, merged: &[usize]) {
        self.mark += 1;
        let mut head = String::new();
        // Some commits are of the same second.
        let time = 1_700_000_000 + self.mark / 2 * 60;
        let message = format!("commit {}", self.mark);
        let _ = write!(
            head,
            "commit refs/heads/main\nmark :{0}\nauthor Ann <a@x> {time} +0000\ncommitter Cy <c@x> {time} +0000\ndata {1}\n{2}\n",
            self.mark,
            message.len(),
            message
        );
        if branch.mark > 0 {
            let _ = writeln!(head, "from :{}", branch.mark);
        }
        for other in merged {
            let _ = writeln!(head, "merge :{other}");
        }
        self.bytes.extend(head.into_bytes());
        self.bytes.extend(b"deleteall\n");
        for (name, file) in &tree {
            self.bytes.extend(format!("M {} inline {}\n", file.mode, quoted(name)).into_bytes());
            self.bytes.extend(format!("data {}\n", file.contents.len()).into_bytes());
            self.bytes.extend(&file.contents);
            self.bytes.push(b'\n');
        }
        self.bytes.push(b'\n');
        let before = std::mem::replace(&mut branch.tree, tree);
        (branch.mark, branch.before) = (self.mark, before);
    }
}

fn quoted(name: &[u8]) -> String {
    let escaped: Vec<String> = name.iter().map(|byte| format!("\\{byte:03o}")).collect();
    format!("\"{}\"", escaped.concat())
}

/// Makes a repository with some commits, whose last one is checked out.
pub(super) fn repository(fixture: &Fixture, folder: &str, seed: u64, commits: usize) {
    let mut rng = Rng::with_seed(seed);
    let mut stream = Stream { bytes: Vec::new(), mark: 0 };
    let mut main = Branch { mark: 0, tree: Tree::new(), before: Tree::new() };
    let mut sides: Vec<Branch> = Vec::new();
    while stream.mark < commits {
        match rng.u8(..12) {
            0 if main.mark > 0 && sides.len() < 3 => sides.push(main.clone()),
            1 | 2 if !sides.is_empty() => {
                let side = rng.usize(..sides.len());
                let mut tree = sides[side].tree.clone();
                change(&mut rng, &mut tree);
                stream.commit(&mut sides[side], tree, &[]);
            }
            // A merge, of several branches if there are some.
            3 if !sides.is_empty() => {
                let mut tree = main.tree.clone();
                let mut merged = Vec::new();
                for side in sides.drain(..) {
                    if side.mark != main.mark && !merged.contains(&side.mark) {
                        tree.extend(side.tree);
                        merged.push(side.mark);
                    }
                }
                // A merge may change what no parent has.
                change(&mut rng, &mut tree);
                stream.commit(&mut main, valid(tree), &merged);
            }
            // An empty commit.
            4 if main.mark > 0 => {
                let tree = main.tree.clone();
                stream.commit(&mut main, tree, &[]);
            }
            // A revert.
            5 if main.mark > 0 => {
                let tree = main.before.clone();
                stream.commit(&mut main, tree, &[]);
            }
            _ => {
                let mut tree = main.tree.clone();
                change(&mut rng, &mut tree);
                stream.commit(&mut main, valid(tree), &[]);
            }
        }
    }
    let mut tree = main.tree.clone();
    tree.insert(b"last.txt".to_vec(), File { mode: MODES[0], contents: b"last alpha\n".to_vec() });
    stream.commit(&mut main, tree, &[]);
    import(fixture, folder, &stream.bytes);
}

/// Returns a tree without files that are folders of others.
fn valid(mut tree: Tree) -> Tree {
    let names: Vec<Vec<u8>> = tree.keys().cloned().collect();
    tree.retain(|name, _| {
        let folder = [name.as_slice(), b"/"].concat();
        !names.iter().any(|other| other.starts_with(&folder))
    });
    tree
}

/// Makes a repository of a stream of `git fast-import`, and checks out its main branch.
pub(super) fn import(fixture: &Fixture, folder: &str, stream: &[u8]) {
    std::fs::create_dir_all(fixture.path().join(folder)).unwrap();
    fixture.git(folder, &["init", "--quiet", "--initial-branch=main"]);
    let mut command = Command::new("git");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.args(["fast-import", "--quiet", "--force"]).current_dir(fixture.path().join(folder));
    let mut import = command.stdin(Stdio::piped()).spawn().unwrap();
    import.stdin.take().unwrap().write_all(stream).unwrap();
    assert!(import.wait().unwrap().success());
    fixture.git(folder, &["reset", "--quiet", "--hard", "main"]);
}
