//! The reference evaluator: it walks a query's tree for each file, with the `regex` crate on each line.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use regex::{Regex, RegexBuilder};

use super::generate::{Case, Field, File, Node, Query, Select, Term, is_known};

/// The matching lines of each file or repository: number, text, and for each byte whether it matches.
pub(crate) type Answer = BTreeMap<String, Lines>;
pub(super) type Lines = BTreeMap<usize, (String, Vec<bool>)>;

pub(crate) fn evaluate(query: &Query, files: &[File]) -> Answer {
    BUILT.with_borrow_mut(HashMap::clear);
    let mut answer = Answer::new();
    for file in files {
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

/// Returns whether a condition holds for a file, and the lines that it shows.
fn holds(node: &Node, file: &File, case: Case, multiline: bool) -> (bool, Lines) {
    match node {
        Node::Group(inner, inner_case, inner_multiline) => {
            holds(inner, file, inner_case.unwrap_or(case), inner_multiline.unwrap_or(multiline))
        }
        Node::Language(language) => (file.language == *language, Lines::new()),
        Node::Property(field) => (is_known(&file.repo, field), Lines::new()),
        Node::Not(inner) => (!holds(inner, file, case, multiline).0, Lines::new()),
        Node::And(parts) => {
            let mut all = Lines::new();
            for part in parts {
                let (part, lines) = holds(part, file, case, multiline);
                if !part {
                    return (false, Lines::new());
                }
                merge(&mut all, lines);
            }
            (true, all)
        }
        Node::Or(parts) => {
            let (mut any, mut all) = (false, Lines::new());
            for part in parts {
                let (part, lines) = holds(part, file, case, multiline);
                if part {
                    any = true;
                    merge(&mut all, lines);
                }
            }
            (any, all)
        }
        Node::Term(term) => {
            let in_name = |name: &str| build(term, case, true).is_match(name);
            match term.field {
                Field::Path => (in_name(&file.path), Lines::new()),
                Field::Repo => (in_name(&file.repo), Lines::new()),
                Field::Symbol => {
                    let lines = symbols(term, file, case);
                    (!lines.is_empty(), lines)
                }
                Field::Added | Field::Removed => unreachable!("no change is searched"),
                Field::Content => {
                    let lines = lines(term, &file.text, case, multiline);
                    (!lines.is_empty(), lines)
                }
                Field::Any => {
                    let lines = lines(term, &file.text, case, multiline);
                    (!lines.is_empty() || in_name(&file.path), lines)
                }
            }
        }
    }
}

fn merge(all: &mut Lines, lines: Lines) {
    for (number, (text, marked)) in lines {
        let known = all.entry(number).or_insert_with(|| (text, vec![false; marked.len()]));
        for (known, new) in known.1.iter_mut().zip(marked) {
            *known |= new;
        }
    }
}

/// Returns the lines of a file with the names of symbols that a term asks for; these names are the matches.
fn symbols(term: &Term, file: &File, case: Case) -> Lines {
    const CONTAINER: u8 = 20;
    let regex = build(term, case, false);
    let mut found = Lines::new();
    for symbol in &file.symbols {
        let is_one = match &term.kinds[..] {
            [] => symbol.kind != CONTAINER,
            kinds => kinds.iter().any(|(kind, _)| *kind == symbol.kind),
        };
        if !is_one || !regex.is_match(&symbol.name) {
            continue;
        }
        let begin = file.text[..symbol.start].rfind('\n').map_or(0, |at| at + 1);
        let end = file.text[begin..].find('\n').map_or(file.text.len(), |at| begin + at);
        let line = &file.text[begin..end];
        let entry = found.entry(symbol.line);
        let entry = entry.or_insert_with(|| (line.to_owned(), vec![false; line.len()]));
        let at = symbol.start - begin;
        entry.1[at..at + symbol.name.len()].fill(true);
    }
    found
}

/// Returns the lines of a text in which a term matches.
pub(super) fn lines(term: &Term, text: &str, case: Case, multiline: bool) -> Lines {
    let mut all: Vec<&str> = text.split('\n').collect();
    if all.last() == Some(&"") {
        all.pop();
    }
    let mut found = Lines::new();
    if !(multiline || term.spans) {
        let regex = build(term, case, false);
        for (i, line) in all.iter().enumerate() {
            let mut marked = vec![false; line.len()];
            let mut any = false;
            for m in regex.find_iter(line) {
                marked[m.range()].fill(true);
                any = true;
            }
            if any {
                found.insert(i + 1, ((*line).to_owned(), marked));
            }
        }
        return found;
    }
    let starts: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let line_of = |at: usize| starts.partition_point(|start| *start <= at) - 1;
    for m in build(term, case, true).find_iter(text) {
        // The lines of a match's characters; for an empty match, the line around it.
        let last = if m.is_empty() { m.start() } else { m.end() - 1 };
        let first = line_of(m.start());
        let touched = starts.iter().enumerate().take(line_of(last) + 1).skip(first);
        for (i, start) in touched {
            let (Some(line), start) = (all.get(i), *start) else { continue };
            let entry =
                found.entry(i + 1).or_insert_with(|| ((*line).to_owned(), vec![false; line.len()]));
            let range = m.start().max(start)..m.end().min(start + line.len());
            if !range.is_empty() {
                entry.1[range.start - start..range.end - start].fill(true);
            }
        }
    }
    found
}

thread_local! {
    /// Compiled expressions, so that each is compiled once and not for each file.
    static BUILT: RefCell<HashMap<(String, bool, bool), Regex>> = RefCell::default();
}

pub(super) fn build(term: &Term, case: Case, multi_line: bool) -> Regex {
    let caseless = match case {
        Case::Yes => false,
        Case::No => true,
        Case::Auto => term.letters && !term.capital,
    };
    BUILT.with_borrow_mut(|built| {
        let key = (term.pattern.clone(), caseless, multi_line);
        let build = || {
            let mut builder = RegexBuilder::new(&term.pattern);
            builder.case_insensitive(caseless).multi_line(multi_line).build().unwrap()
        };
        built.entry(key).or_insert_with(build).clone()
    })
}
