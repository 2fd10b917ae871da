//! The same for trees: each query goes to a worktree, to branches and to commits that are not indexed, and its answer
//! must be that of a plain scan of that tree.

use std::collections::BTreeMap;
use std::fs;

use fastrand::Rng;

use super::evaluate::evaluate;
use super::generate::{Field, File, Node, Query, Select, configure, files, query};
use super::{SHARDS, ask, check, setting};
use crate::harness::Fixture;

/// Queries for one set of files.
const QUERIES: usize = 60;

/// A tree of all repositories, and how a query names it; nothing names the main trees.
struct Tree {
    selector: &'static str,
    files: Vec<File>,
}

#[test]
fn generated_queries_on_trees_are_answered_as_a_plain_scan_of_each_would() {
    let seed = setting("CODESEARCH_PROPERTY_SEED", 1);
    let mut rng = Rng::with_seed(seed);
    let fixture = Fixture::new();
    let trees = trees(&fixture, &mut rng);
    let shards = SHARDS.to_string();
    let args = ["ingest", "--shards", &shards, "--shard-bytes", "1", ".", "--branches", "near,far"];
    fixture.run(&args).code(0);
    fixture.check_invariants();
    let servers = [fixture.serve_with(&["--cache", "64"]), fixture.serve_with(&["--cache", "0"])];
    servers[0].settle();
    let (mut asked, mut found) = (0, 0);
    while asked < QUERIES {
        let query = query(&mut rng);
        // Symbols are taken of stored texts only, and a tree may have no stored text.
        if asks_symbols(&query.node) {
            continue;
        }
        asked += 1;
        for tree in &trees {
            let expected = evaluate(&query, &tree.files);
            for (server, source) in servers.iter().zip(["memory", "Postgres"]) {
                let place = format!("seed {seed}, query {asked}, {}, {source}", tree.selector);
                check(&ask(server, tree.selector, &query, &place), &query, &expected, &place);
            }
            found += expected.len();
        }
    }
    // If hardly any query found something, the test could not fail.
    assert!(found > asked * trees.len(), "{asked} queries found {found} results");
    several_trees_are_one_answer(&fixture, &trees);
}

/// Checks that a file with equal contents in several trees is one result with all their names.
fn several_trees_are_one_answer(fixture: &Fixture, trees: &[Tree]) {
    let server = fixture.serve_with(&["--cache", "0"]);
    let all = Query { select: Select::Lines, limit: None, multiline: false, ..every_file() };
    let mut wanted: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    for (tree, name) in trees.iter().zip(["main", "w", "near", "far"]) {
        for file in &tree.files {
            let key = (format!("{}/{}", file.repo, file.path), file.text.clone());
            wanted.entry(key).or_default().push(name);
        }
    }
    let selector = "(worktree:main or worktree:w or rev:near or rev:far) type:file ";
    let answer = ask(&server, selector, &all, "several trees");
    let mut got: Vec<(String, Vec<String>)> = Vec::new();
    for file in answer["files"].as_array().unwrap() {
        let path = format!("{}/{}", file["repo"].as_str().unwrap(), file["path"].as_str().unwrap());
        let names = file["trees"].as_array().unwrap().iter();
        let mut names: Vec<String> = names.map(|name| name.as_str().unwrap().to_owned()).collect();
        names.sort();
        got.push((path, names));
    }
    got.sort();
    let mut wanted: Vec<(String, Vec<String>)> = wanted
        .into_iter()
        .map(|((path, _), names)| {
            let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
            names.sort();
            (path, names)
        })
        .collect();
    wanted.sort();
    assert_eq!(got, wanted);
}

/// Returns a query that every file meets.
fn every_file() -> Query {
    let go = Node::Language("Go");
    let node = Node::Or(vec![go.clone(), Node::Not(Box::new(go))]);
    Query { node, ..query(&mut Rng::with_seed(1)) }
}

/// Makes the clones, and returns their trees, the main ones first.
fn trees(fixture: &Fixture, rng: &mut Rng) -> Vec<Tree> {
    let main = files(rng);
    let mut repos: Vec<&str> = main.iter().map(|file| file.repo.as_str()).collect();
    repos.sort_unstable();
    repos.dedup();
    let commit = |repo: &str| {
        fixture.git(repo, &["add", "-A", "--force"]);
        fixture.git(repo, &["commit", "-q", "--allow-empty", "-m", "change"]);
    };
    for file in &main {
        fixture.write(&format!("{}/{}", file.repo, file.path), &file.text);
    }
    for repo in &repos {
        fixture.git(repo, &["init", "-q", "-b", "main"]);
        commit(repo);
    }
    configure(fixture);
    let mut trees = Vec::new();
    for (selector, branch) in [("rev:near ", "near"), ("rev:far ", "far"), ("rev:other ", "other")]
    {
        let changed = changed(rng, &main);
        for repo in &repos {
            fixture.git(repo, &["checkout", "-q", "-b", branch, "main"]);
            clear(fixture, repo, &main);
        }
        write(fixture, "", &changed);
        for repo in &repos {
            commit(repo);
            fixture.git(repo, &["checkout", "-q", "main"]);
        }
        trees.push(Tree { selector, files: changed });
    }
    // What differs in a worktree is not committed.
    let changed = changed(rng, &main);
    for repo in &repos {
        fixture.git(repo, &["worktree", "add", "-q", "--detach", ".worktrees/w", "main"]);
        clear(fixture, &format!("{repo}/.worktrees/w"), &main);
    }
    write(fixture, ".worktrees/w/", &changed);
    trees.insert(0, Tree { selector: "worktree:w ", files: changed });
    // A commit that no branch names any more, and the main one.
    trees.push(Tree { selector: "rev:HEAD ", files: copies(&main) });
    trees.insert(0, Tree { selector: "", files: main });
    trees
}

/// Deletes the files of the main tree from the folder of another tree of a repository.
fn clear(fixture: &Fixture, folder: &str, main: &[File]) {
    for file in main {
        // Other repositories' files do not exist there.
        drop(fs::remove_file(fixture.path().join(folder).join(&file.path)));
    }
}

/// Writes files below a folder of their repositories.
fn write(fixture: &Fixture, below: &str, files: &[File]) {
    for file in files {
        fixture.write(&format!("{}/{below}{}", file.repo, file.path), &file.text);
    }
}

/// Returns files of which some are deleted, renamed, new, or have the text of another one.
fn changed(rng: &mut Rng, main: &[File]) -> Vec<File> {
    let mut changed = Vec::new();
    for (n, mut file) in copies(main).into_iter().enumerate() {
        match rng.u8(0..10) {
            0 => continue,
            1 => file.path = format!("moved/{}", file.path),
            2 => file.text = format!("{}deadlock Error {n}\n", file.text),
            3 => file.text.clone_from(&main[rng.usize(0..main.len())].text),
            4 => {
                let path = format!("new{n}/{}", file.path);
                changed.push(File { path, text: "foo kernel\n".to_owned(), ..copy(&file) });
            }
            _ => {}
        }
        changed.push(file);
    }
    changed
}

fn copies(files: &[File]) -> Vec<File> {
    files.iter().map(copy).collect()
}

pub(super) fn copy(file: &File) -> File {
    File {
        repo: file.repo.clone(),
        path: file.path.clone(),
        text: file.text.clone(),
        language: file.language,
        symbols: Vec::new(),
    }
}

pub(super) fn asks_symbols(node: &Node) -> bool {
    match node {
        Node::Term(term) => term.field == Field::Symbol,
        Node::Language(_) | Node::Property(_) => false,
        Node::Not(node) | Node::Group(node, ..) => asks_symbols(node),
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().any(asks_symbols),
    }
}
