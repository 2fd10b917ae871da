//! The same for changes: each query goes to the changes between two revisions, and its answer must be that of a plain scan
//! of both sides of every changed file.

use std::collections::BTreeMap;
use std::fs;

use fastrand::Rng;
use serde_json::Value;

use super::evaluate::{build, lines};
use super::generate::{Case, Field, File, Node, Query, Select, configure, files, is_known, query};
use super::trees::{asks_symbols, copy};
use super::{SHARDS, ask, setting};
use crate::harness::Fixture;

/// Queries for one set of changes.
const QUERIES: u64 = 40;

/// A changed file, and the neighbouring lines that were removed or added.
struct Changed {
    repo: String,
    path: String,
    language: &'static str,
    parts: Vec<Part>,
}

struct Part {
    is_added: bool,
    /// The number of the first line, from 1.
    first: usize,
    text: String,
}

/// The changed lines that match: side and number; the text, and for each byte whether it matches.
type Lines = BTreeMap<(bool, usize), (String, Vec<bool>)>;
type Answer = BTreeMap<String, Lines>;

#[test]
fn generated_queries_on_changes_are_answered_as_a_plain_scan_of_both_sides_would() {
    let seed = setting("CODESEARCH_PROPERTY_SEED", 1);
    let mut rng = Rng::with_seed(seed);
    let fixture = Fixture::new();
    let changed = changes(&fixture, &mut rng);
    fixture.ingest_over(SHARDS);
    let server = fixture.serve();
    let queries = setting("CODESEARCH_PROPERTY_CHANGES", QUERIES);
    let (mut asked, mut found) = (0, 0);
    while asked < queries {
        let mut query = Query { limit: None, ..query(&mut rng) };
        if asks_symbols(&query.node) {
            continue;
        }
        choose_sides(&mut query.node, &mut rng);
        asked += 1;
        let expected = evaluate(&query, &changed);
        let place = format!("seed {seed}, query {asked}");
        let answer = ask(&server, "diff:base..far ", &query, &place);
        assert_eq!(answer["stats"]["complete"], true, "{place}: {query}\n{}", answer["stats"]);
        assert_same(&told(&answer), &expected, &format!("{place}: {query}"));
        found += expected.values().map(|lines| lines.len().max(1)).sum::<usize>();
    }
    // If hardly any query found something, the test could not fail.
    assert!(found > asked as usize, "{asked} queries found {found} results");
}

/// Makes some terms on texts ask for added or for removed lines only.
fn choose_sides(node: &mut Node, rng: &mut Rng) {
    match node {
        Node::Term(term) if term.field == Field::Content => {
            term.field = [Field::Content, Field::Added, Field::Removed][rng.usize(..3)];
        }
        Node::Term(_) | Node::Language(_) | Node::Property(_) => {}
        Node::Not(inner) | Node::Group(inner, ..) => choose_sides(inner, rng),
        Node::And(parts) | Node::Or(parts) => {
            for part in parts {
                choose_sides(part, rng);
            }
        }
    }
}

/// Makes clones with two branches, and returns what changed between them. Each clone has either new or deleted files, so
/// that none is renamed.
fn changes(fixture: &Fixture, rng: &mut Rng) -> Vec<Changed> {
    let old = files(rng);
    let mut repos: Vec<String> = old.iter().map(|file| file.repo.clone()).collect();
    repos.sort_unstable();
    repos.dedup();
    let commit = |repo: &str| {
        fixture.git(repo, &["add", "-A", "--force"]);
        fixture.git(repo, &["commit", "-q", "--allow-empty", "-m", "change"]);
    };
    for file in &old {
        fixture.write(&format!("{}/{}", file.repo, file.path), &file.text);
    }
    for repo in &repos {
        fixture.git(repo, &["init", "-q", "-b", "base"]);
        commit(repo);
        fixture.git(repo, &["checkout", "-q", "-b", "far"]);
    }
    let mut pairs: Vec<(Option<&File>, Option<File>)> = Vec::new();
    for (n, file) in old.iter().enumerate() {
        let is_first = file.repo == repos[0];
        let new = match rng.u8(0..10) {
            0 if is_first => None,
            1 if !is_first => {
                let path = format!("new{n}/{}", file.path);
                let text = format!("kernel {n}\n{}", old[rng.usize(..old.len())].text);
                pairs.push((None, Some(File { path, text, ..copy(file) })));
                Some(copy(file))
            }
            2..8 => Some(File { text: edited(rng, &file.text, &old), ..copy(file) }),
            _ => Some(copy(file)),
        };
        pairs.push((Some(file), new));
    }
    for (old, new) in &pairs {
        match (old, new) {
            (_, Some(new)) => fixture.write(&format!("{}/{}", new.repo, new.path), &new.text),
            (Some(old), None) => {
                fs::remove_file(fixture.path().join(&old.repo).join(&old.path)).unwrap();
            }
            (None, None) => {}
        }
    }
    for repo in &repos {
        commit(repo);
    }
    configure(fixture);
    let is_changed = |(old, new): &&(Option<&File>, Option<File>)| {
        old.map(|file| &file.text) != new.as_ref().map(|file| &file.text)
    };
    let changed = pairs.iter().filter(is_changed).map(|(old, new)| {
        let file = new.as_ref().or(*old).unwrap();
        Changed {
            repo: file.repo.clone(),
            path: file.path.clone(),
            language: file.language,
            parts: parts(*old, new.as_ref()),
        }
    });
    changed.collect()
}

/// Returns a text with some lines deleted, replaced or inserted.
fn edited(rng: &mut Rng, text: &str, others: &[File]) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..rng.usize(1..5) {
        let at = rng.usize(..=lines.len());
        let upto = (at + rng.usize(..4)).min(lines.len());
        let from = &others[rng.usize(..others.len())].text;
        let new = from.split_inclusive('\n').take(rng.usize(..4)).map(str::to_owned);
        lines.splice(at..upto, new.collect::<Vec<_>>());
    }
    lines.concat()
}

/// Returns the removed and the added lines of a file. Without them, both texts are the same.
fn parts(old: Option<&File>, new: Option<&File>) -> Vec<Part> {
    let text = |file: Option<&File>| file.map_or(String::new(), |file| file.text.clone());
    let (old, new) = (text(old), text(new));
    let hunks = git::line_changes(&old, &new);
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let (mut parts, mut kept) = (Vec::new(), (0, 0));
    for hunk in &hunks {
        let (removed, added) = (hunk.old.start as usize, hunk.new.start as usize);
        assert_eq!(old[kept.0..removed], new[kept.1..added]);
        kept = (hunk.old.end as usize, hunk.new.end as usize);
        let sides = [(&old, removed..kept.0, false), (&new, added..kept.1, true)];
        for (lines, range, is_added) in sides {
            if !range.is_empty() {
                let (first, text) = (range.start + 1, lines[range].concat());
                parts.push(Part { is_added, first, text });
            }
        }
    }
    assert_eq!(old[kept.0..], new[kept.1..]);
    parts
}

fn evaluate(query: &Query, changed: &[Changed]) -> Answer {
    let mut answer = Answer::new();
    for file in changed {
        let (holds, lines) = holds(&query.node, file, query.case, query.multiline);
        if !holds {
            continue;
        }
        match query.select {
            Select::Lines => answer.insert(format!("{}/{}", file.repo, file.path), lines),
            Select::Files => answer.insert(format!("{}/{}", file.repo, file.path), Lines::new()),
            Select::Repos => answer.insert(file.repo.clone(), Lines::new()),
        };
    }
    answer
}

/// Returns whether a condition holds for a changed file, and the lines that it shows.
fn holds(node: &Node, file: &Changed, case: Case, multiline: bool) -> (bool, Lines) {
    match node {
        Node::Group(inner, inner_case, inner_multiline) => {
            holds(inner, file, inner_case.unwrap_or(case), inner_multiline.unwrap_or(multiline))
        }
        Node::Language(language) => (file.language == *language, Lines::new()),
        Node::Property(field) => (is_known(&file.repo, field), Lines::new()),
        Node::Not(inner) => (!holds(inner, file, case, multiline).0, Lines::new()),
        Node::And(parts) | Node::Or(parts) => {
            let is_and = matches!(node, Node::And(_));
            let each: Vec<(bool, Lines)> =
                parts.iter().map(|part| holds(part, file, case, multiline)).collect();
            let mut hold = each.iter().map(|(holds, _)| *holds);
            if !(if is_and { hold.all(|holds| holds) } else { hold.any(|holds| holds) }) {
                return (false, Lines::new());
            }
            let mut all = Lines::new();
            for (key, (text, marked)) in
                each.into_iter().filter(|(holds, _)| *holds).flat_map(|(_, lines)| lines)
            {
                let known = all.entry(key).or_insert_with(|| (text, vec![false; marked.len()]));
                known.1.iter_mut().zip(marked).for_each(|(known, new)| *known |= new);
            }
            (true, all)
        }
        Node::Term(term) => {
            let in_name = |name: &str| build(term, case, true).is_match(name);
            let sides = match term.field {
                Field::Path => return (in_name(&file.path), Lines::new()),
                Field::Repo => return (in_name(&file.repo), Lines::new()),
                Field::Symbol => unreachable!("changes have no symbols"),
                Field::Added => [false, true],
                Field::Removed => [true, false],
                Field::Any | Field::Content => [true, true],
            };
            let mut all = Lines::new();
            for part in file.parts.iter().filter(|part| sides[usize::from(part.is_added)]) {
                for (number, line) in lines(term, &part.text, case, multiline) {
                    all.insert((part.is_added, part.first + number - 1), line);
                }
            }
            let by_name = term.field == Field::Any && in_name(&file.path);
            (!all.is_empty() || by_name, all)
        }
    }
}

/// Compares two answers, and tells the first difference.
#[track_caller]
fn assert_same(got: &Answer, expected: &Answer, what: &str) {
    let files = |answer: &Answer| answer.keys().cloned().collect::<Vec<_>>();
    assert_eq!(files(got), files(expected), "{what}");
    for (file, lines) in expected {
        let mut keys = lines.keys().chain(got[file].keys());
        if let Some(key) = keys.find(|key| got[file].get(key) != lines.get(key)) {
            let (got, expected) = (got[file].get(key), lines.get(key));
            panic!("{what}\nin {file}, {key:?}\n     got {got:?}\nexpected {expected:?}");
        }
    }
}

/// Converts a server's answer.
fn told(got: &Value) -> Answer {
    if let Some(repos) = got["repos"].as_array() {
        return repos.iter().map(|r| (r.as_str().unwrap().to_owned(), Lines::new())).collect();
    }
    let mut answer = Answer::new();
    for file in got["files"].as_array().unwrap() {
        let path = format!("{}/{}", file["repo"].as_str().unwrap(), file["path"].as_str().unwrap());
        let mut lines = Lines::new();
        for line in file["matches"].as_array().unwrap() {
            let text = line["text"].as_str().unwrap();
            let mut marked = vec![false; text.len()];
            for range in line["ranges"].as_array().unwrap() {
                let (start, end) = (range[0].as_u64().unwrap(), range[1].as_u64().unwrap());
                marked[start as usize..end as usize].fill(true);
            }
            let key = (line["change"] == "added", line["line"].as_u64().unwrap() as usize);
            assert!(lines.insert(key, (text.to_owned(), marked)).is_none(), "a line twice: {path}");
        }
        assert!(answer.insert(path, lines).is_none(), "a file twice");
    }
    answer
}
