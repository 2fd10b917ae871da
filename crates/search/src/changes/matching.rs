//! Evaluates a query on a changed file, and finds the changed lines that match.
//!
//! The removed lines of a place are matched as one text, and so are the added ones: a match across lines lies within
//! either.

use std::collections::HashMap;
use std::ops::Range;

use answer::{Line, LineChange, apart, merge};
use git::Hunk;
use query::{CompiledQuery, LineMatch, Predicate, Properties, Select, Shown};

use super::file::{ChangedFile, Contents, Texts};
use super::script::{Lines, Script, joined};
use crate::verify::Scratches;

/// Evaluates a query on changed files of one repository.
pub(super) struct Matching<'q> {
    query: &'q CompiledQuery,
    /// The name of the repository, and what else is known of it.
    repo: (&'q str, &'q Properties),
    /// Terms that are matched in changed lines, and those matched in paths.
    of_lines: Vec<usize>,
    of_paths: Vec<usize>,
    /// Lines before and after each match.
    context: (usize, usize),
}

/// What a query finds in a changed file.
pub(super) struct Found {
    /// The matches in its path.
    pub(super) path_ranges: Vec<Range<usize>>,
    pub(super) lines: Vec<Line>,
}

/// The lines in which a term matches, on one side.
struct Hit {
    term: usize,
    change: LineChange,
    lines: Vec<Line>,
}

impl<'q> Matching<'q> {
    pub(super) fn of(
        query: &'q CompiledQuery,
        repo: (&'q str, &'q Properties),
        context: (usize, usize),
    ) -> Self {
        let (mut of_lines, mut of_paths) = (Vec::new(), Vec::new());
        query.expr.predicates(&mut |of| match of {
            Predicate::Content(term) | Predicate::Added(term) | Predicate::Removed(term) => {
                of_lines.push(term);
            }
            Predicate::Path(term) => of_paths.push(term),
            _ => {}
        });
        for terms in [&mut of_lines, &mut of_paths] {
            terms.sort_unstable();
            terms.dedup();
        }
        Self { query, repo, of_lines, of_paths, context }
    }

    /// Returns whether a file can match, as its paths tell.
    pub(super) fn can_match(&self, paths: &[&str], go_on: &dyn Fn() -> bool) -> bool {
        let matching = self.paths(paths, go_on);
        self.query.expr.eval(&|of| self.known(&matching, of)) != Some(false)
    }

    /// Returns the terms that match one of some paths.
    fn paths(&self, paths: &[&str], go_on: &dyn Fn() -> bool) -> Vec<usize> {
        let matches = |term: &usize| {
            let matcher = &self.query.terms[*term].matcher;
            paths.iter().any(|path| matcher.is_match_within(path, go_on))
        };
        self.of_paths.iter().copied().filter(matches).collect()
    }

    /// Returns the value of a predicate if the names decide it.
    fn known(&self, paths: &[usize], predicate: Predicate) -> Option<bool> {
        match predicate {
            Predicate::Path(term) => Some(paths.contains(&term)),
            Predicate::Repo(_) | Predicate::Property(_) => {
                self.query.of_repo(predicate, self.repo.0, self.repo.1, &|| true)
            }
            // Indexed trees and symbols have nothing to do with changes.
            Predicate::InTree(_) | Predicate::Symbol(_) => Some(false),
            Predicate::Content(_)
            | Predicate::Added(_)
            | Predicate::Removed(_)
            | Predicate::Language(_) => None,
        }
    }

    /// Returns whether a file whose contents are left out might match if they were known.
    pub(super) fn might_match(&self, file: &ChangedFile, go_on: &dyn Fn() -> bool) -> bool {
        !self.of_lines.is_empty() && self.can_match(&paths_of(file), go_on)
    }

    /// Evaluates the query on a file; `None` if it does not match.
    pub(super) fn find(
        &self,
        file: &ChangedFile,
        language: Option<&str>,
        scratches: &mut Scratches,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Found> {
        let query = self.query;
        let paths = self.paths(&paths_of(file), go_on);
        let texts = match &file.contents {
            Contents::Texts(texts) if !self.of_lines.is_empty() => Some(texts),
            _ => None,
        };
        let (mut hits, mut done) = (Vec::<Hit>::new(), Vec::new());
        let known = |hits: &[Hit], done: &[usize], of: Predicate| {
            let (term, change) = match of {
                Predicate::Content(term) => (term, None),
                Predicate::Added(term) => (term, Some(LineChange::Added)),
                Predicate::Removed(term) => (term, Some(LineChange::Removed)),
                Predicate::Language(index) => {
                    let names = &query.languages[index];
                    return Some(language.is_some_and(|of| names.contains(&of.to_lowercase())));
                }
                other => return self.known(&paths, other),
            };
            let is_hit = |hit: &Hit| hit.term == term && change.is_none_or(|of| hit.change == of);
            if hits.iter().any(is_hit) {
                return Some(true);
            }
            (texts.is_none() || done.contains(&term)).then_some(false)
        };
        if let Some(texts) = texts {
            scratches.resize_with(query.terms.len(), || None);
            let sides = [
                (LineChange::Removed, Lines::of(&texts.old), (|hunk| &hunk.old) as SideOf),
                (LineChange::Added, Lines::of(&texts.new), |hunk| &hunk.new),
            ];
            for term in &self.of_lines {
                let mut wanted = Vec::new();
                let mut want = |of| match of {
                    Predicate::Content(of) if of == *term => {
                        wanted.extend([LineChange::Removed, LineChange::Added]);
                    }
                    Predicate::Added(of) if of == *term => wanted.push(LineChange::Added),
                    Predicate::Removed(of) if of == *term => wanted.push(LineChange::Removed),
                    _ => {}
                };
                let known = |of| known(&hits, &done, of);
                if query.select == Select::Lines {
                    query.expr.involved(&known, &mut want);
                } else {
                    query.expr.resolve(&known).predicates(&mut want);
                }
                for (change, text, side) in &sides {
                    if wanted.contains(change) {
                        let hunks = texts.hunks.iter().map(side);
                        let lines = self.lines(*term, *change, text, hunks, scratches, go_on);
                        hits.extend((!lines.is_empty()).then_some(Hit {
                            term: *term,
                            change: *change,
                            lines,
                        }));
                    }
                }
                if !wanted.is_empty() {
                    done.push(*term);
                }
            }
        }
        // A term that is not wanted decides nothing.
        done.clone_from(&self.of_lines);
        let known = |of| known(&hits, &done, of);
        if query.expr.eval(&known) != Some(true) {
            return None;
        }
        let (mut parts, mut path_ranges) = ([Vec::new(), Vec::new()], Vec::new());
        let mut show = |of: Predicate| {
            let (term, change) = match of {
                Predicate::Content(term) => (term, None),
                Predicate::Added(term) => (term, Some(LineChange::Added)),
                Predicate::Removed(term) => (term, Some(LineChange::Removed)),
                Predicate::Path(term) if query.terms[term].shown == Shown::Matches => {
                    path_ranges.extend(query.terms[term].matcher.ranges(file.path(), go_on));
                    return;
                }
                _ => return,
            };
            if query.select != Select::Lines || query.terms[term].shown == Shown::Nothing {
                return;
            }
            for hit in hits.iter().filter(|hit| hit.term == term) {
                if change.is_none_or(|of| hit.change == of) {
                    parts[usize::from(hit.change == LineChange::Added)].push(hit.lines.clone());
                }
            }
        };
        if query.select != Select::Repos {
            query.expr.shown(&known, &mut show);
        }
        let [removed, added] = parts.map(merge);
        let lines = match texts {
            Some(texts) => self.in_order(texts, removed, added),
            None => Vec::new(),
        };
        Some(Found { path_ranges: apart(path_ranges), lines })
    }

    /// Returns the lines of one side in which a term matches; only the first one if files are the results.
    fn lines<'h>(
        &self,
        term: usize,
        change: LineChange,
        text: &Lines<'_>,
        hunks: impl Iterator<Item = &'h Range<u32>>,
        scratches: &mut Scratches,
        go_on: &dyn Fn() -> bool,
    ) -> Vec<Line> {
        let matcher = &self.query.terms[term].matcher;
        let scratch = scratches[term].get_or_insert_with(|| matcher.scratch());
        let first_only = self.query.select != Select::Lines;
        let mut lines = Vec::new();
        for hunk in hunks.filter(|hunk| !hunk.is_empty()) {
            if !go_on() || first_only && !lines.is_empty() {
                break;
            }
            let bytes = text.bytes(hunk);
            let part = &text.text[bytes.clone()];
            let mut add = |found: LineMatch| {
                lines.push(Line {
                    number: u64::from(hunk.start) + found.line as u64 + 1,
                    offset: (bytes.start + found.span.start) as u64,
                    ended: found.span.end < part.len(),
                    text: part[found.span].to_owned(),
                    ranges: found.ranges,
                    continues: found.continues,
                    takes_feed: found.takes_feed,
                    change: Some(change),
                    ..Line::default()
                });
            };
            if first_only {
                matcher.first_line(scratch, part.as_bytes(), go_on).into_iter().for_each(add);
            } else {
                matcher.lines(scratch, part.as_bytes(), go_on, &mut |found| {
                    add(found);
                    true
                });
            }
        }
        lines
    }

    /// Puts matching lines in the order of the diff, with the lines around them.
    fn in_order(&self, texts: &Texts, removed: Vec<Line>, added: Vec<Line>) -> Vec<Line> {
        if self.context == (0, 0) {
            return by_hunk(&texts.hunks, removed, added);
        }
        let script = Script::of(texts);
        let mut at: HashMap<usize, Line> = HashMap::new();
        for line in removed.into_iter().chain(added) {
            let Some(change) = line.change else { continue };
            at.extend(script.position(change, line.number as usize - 1).map(|at| (at, line)));
        }
        let mut positions: Vec<usize> = at.keys().copied().collect();
        positions.sort_unstable();
        let (before, after) = self.context;
        let shown = joined(positions.iter().map(|at| {
            at.saturating_sub(before)..at.saturating_add(after).saturating_add(1).min(script.len())
        }));
        let mut lines = Vec::new();
        for part in shown {
            for (position, line) in part.clone().zip(script.lines(part)) {
                lines.push(at.remove(&position).unwrap_or_else(|| {
                    let is_old = line.change == Some(LineChange::Removed);
                    Line {
                        number: if is_old { line.old } else { line.new } as u64,
                        offset: line.offset,
                        text: line.text.to_owned(),
                        ended: line.ended,
                        change: line.change,
                        ..Line::default()
                    }
                }));
            }
        }
        lines
    }
}

type SideOf = fn(&Hunk) -> &Range<u32>;

/// Returns the lines by hunk: the removed ones of each before the added ones.
fn by_hunk(hunks: &[Hunk], removed: Vec<Line>, added: Vec<Line>) -> Vec<Line> {
    let mut lines = Vec::with_capacity(removed.len() + added.len());
    let (mut removed, mut added) = (removed.into_iter().peekable(), added.into_iter().peekable());
    for hunk in hunks {
        while let Some(line) = removed.next_if(|line| line.number <= u64::from(hunk.old.end)) {
            lines.push(line);
        }
        while let Some(line) = added.next_if(|line| line.number <= u64::from(hunk.new.end)) {
            lines.push(line);
        }
    }
    lines
}

/// Returns the paths of a file in both revisions, each once.
fn paths_of(file: &ChangedFile) -> Vec<&str> {
    let mut paths: Vec<&str> =
        [&file.new, &file.old].into_iter().flatten().map(|side| side.path.as_str()).collect();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use git::FileMode;
    use query::{Case, Changes, Comparison, Field, Pattern, Query, Tree};

    use super::*;
    use crate::changes::file::Side;

    fn file(old: &str, new: &str) -> ChangedFile {
        let side = |path: &str, hash: &str| Side {
            path: path.to_owned(),
            hash: hash.repeat(40),
            mode: FileMode::File,
        };
        let hunks = git::line_changes(old, new);
        let texts = Texts { old: old.to_owned(), new: new.to_owned(), hunks };
        ChangedFile {
            old: Some(side("src/old.rs", "a")),
            new: Some(side("src/new.rs", "b")),
            contents: Contents::Texts(texts),
        }
    }

    fn term(field: Field, pattern: &str) -> Tree {
        Tree::term(field, Pattern::parse(pattern, Case::Smart, false).unwrap())
    }

    /// Returns the lines of a file that a query finds, as `-2:text`; `None` if it does not match.
    fn found(tree: Tree, file: &ChangedFile, context: usize) -> Option<String> {
        let mut query = Query::from_tree(tree);
        let (old, new) = ("A".to_owned(), "B".to_owned());
        query.changes = Some(Changes::Between(Comparison { old, new, from_merge_base: false }));
        let query = CompiledQuery::new(&query).unwrap();
        let properties = Properties::default();
        let matching = Matching::of(&query, ("repo", &properties), (context, context));
        let language = file.language();
        let found = matching.find(file, language.as_deref(), &mut Vec::new(), &|| true)?;
        let told = found.lines.iter().map(|line| {
            let mark = match line.change {
                None => ' ',
                Some(LineChange::Added) => '+',
                Some(LineChange::Removed) => '-',
            };
            let hit = if line.ranges.is_empty() { "" } else { ":" };
            format!("{mark}{}{hit}{}", line.number, line.text)
        });
        Some(told.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn changed_lines_match_on_their_side_and_in_order() {
        use Field::{Added, Anywhere, Content, Path, Removed};
        let file = file("one\ntwo\nthree\nfour\n", "one\nTWO\nthree\nfive\n");
        let check = |tree: Tree, expected: Option<&str>| {
            let told = tree.to_string();
            assert_eq!(found(tree, &file, 0).as_deref(), expected, "{told}");
        };
        check(term(Content, "two"), Some("-2:two +2:TWO"));
        check(term(Added, "two"), Some("+2:TWO"));
        check(term(Removed, "two"), Some("-2:two"));
        check(term(Content, "one|three"), None);
        check(term(Content, "f|t"), Some("-2:two +2:TWO -4:four +4:five"));
        check(term(Anywhere, "old"), Some(""));
        check(term(Path, r"new\.rs$"), Some(""));
        check(Tree::all(vec![term(Removed, "four"), term(Added, "five")]), Some("-4:four +4:five"));
        check(Tree::all(vec![term(Content, "four"), !term(Content, "five")]), None);
        check(Tree::all(vec![term(Content, "two"), !term(Path, "old")]), None);
        check(!term(Added, "four"), Some(""));
        check(Tree::Language("rust".to_owned()), Some(""));
        check(Tree::all(vec![term(Content, "five"), Tree::Language("go".to_owned())]), None);
        check(Tree::any(vec![term(Removed, "two"), term(Added, "f")]), Some("-2:two +4:five"));
        assert_eq!(
            found(term(Removed, "four"), &file, 2).as_deref(),
            Some("+2TWO  3three -4:four +4five")
        );
    }

    #[test]
    fn a_match_across_lines_lies_on_one_side_of_one_place() {
        let file = file("a\nx\ny\nb\nc\n", "a\nx1\ny1\nb\nc1\n");
        assert_eq!(found(term(Field::Content, r"x\ny"), &file, 0).as_deref(), Some("-2:x -3:y"));
        assert_eq!(found(term(Field::Content, r"x1\ny"), &file, 0).as_deref(), Some("+2:x1 +3:y1"));
        for apart in [r"a\nx", r"y\nb", r"b\nc"] {
            assert_eq!(found(term(Field::Content, apart), &file, 0), None, "{apart}");
        }
    }

    #[test]
    fn contents_that_are_left_out_have_no_lines() {
        let mut file = file("one\n", "two\n");
        file.contents = Contents::LeftOut("binary");
        assert_eq!(found(term(Field::Content, "one"), &file, 0), None);
        assert_eq!(found(term(Field::Path, "new"), &file, 0).as_deref(), Some(""));
        assert_eq!(found(Tree::every_file(), &file, 0).as_deref(), Some(""));
    }
}
