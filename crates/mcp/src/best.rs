//! Answers with the best results of a search: counts of all results, then the best files, each with its best lines.

use std::collections::HashMap;

use answer::{FileMatch, Line};
use anyhow::Result;
use query::Select;
use search::{Ranked, Request, ShownFiles, Stats, Stopped, View};
use serde_json::{Value, json};

use super::answer::{Answer, MAX_NEAR_BYTES, Text, count, late};
use super::file::{self, LastLines, Names, file_json, line_json, named, numbered};
use super::hints;
use super::progress::FileCounter;
use super::search::{Cursor, Search, about, broken, left_out, outdated, request, run, stale};
use rank::Order;
use rank::{RankedFile, TopK};
use request::by_words::FEW;

/// Most repositories, and most languages, named with their numbers of files.
const NAMED: usize = 6;

/// Files whose texts are read together, for the lines around matches and the ends of functions. An answer shows about so
/// many.
const BATCH: usize = 12;

/// Copies listed of a file, unless all are requested.
const FEW_COPIES: usize = 3;

/// Searches, `within` one repository if it is given, and answers with the best files.
pub(super) async fn answer(
    view: &View,
    asked: &Search,
    from: Option<Cursor>,
    found: &FileCounter,
    within: Option<&str>,
) -> Result<Answer> {
    let most = asked.lines();
    let context = (asked.context_lines, asked.context_lines);
    let shown = from.map_or(0, |from| from.shown as usize);
    let (of_lines, of_names) = (asked.limit(true), asked.limit(false));
    let limit_of = move |request: &Request| {
        if request.query().settings.select.has_lines() { of_lines } else { of_names }
    };
    let (request, mut ranked) = request(view, asked, (from.as_ref(), within), move |request| {
        // The space in the answer determines for how many files context is read.
        request.context = (0, 0);
        request.enclosing = true;
        let limit = limit_of(request);
        Ranked::of(request, Order::Relevance, shown, limit)
    })
    .await?;
    let mut firsts = FirstLines::new();
    let mut stats = run(view, &request, found, |file| {
        ranked.add(vec![file], |file, lines| {
            if most > 1
                && file.lines.len() > 1
                && let Some(first) = lines.of(file, 1).first()
            {
                let key = (file.repo.clone(), file.path.clone());
                firsts.insert(key, file.lines[*first].number);
            }
            lines.keep(file, most);
            Vec::new()
        });
        true
    })
    .await?;
    let epoch = view.state(stats.switch).await?.epoch;
    let select = request.query().settings.select;
    let top = ranked.top();
    let (files, summary) = (top.files, summary(top, &stats, select));
    let by = if select == Select::Repos { String::new() } else { by(top) };
    let best = ranked.best(view, &request, &mut stats, from.is_none() && within.is_none()).await?;
    audit::told().files(best.files.iter().map(|(ranked, _)| &ranked.file).chain(&best.near));
    let near = Near::of(&best.near);
    if files == 0 && near.items.is_empty() && from.is_none() && stats.stopped.is_none() {
        if within.is_some() {
            return Ok(Answer::bare(String::new(), "files").of_few(Vec::new()));
        }
        let hints = hints::appendix(view, &asked.query, &request, &stats).await;
        let text = format!("Nothing matches.{}{}{hints}", left_out(&stats), outdated(&stats));
        let answer = Answer::bare(text, "files").and("cursor", Value::Null);
        return Ok(answer.about(about(&stats)).at(epoch).of_few(Vec::new()));
    }
    let mut page = Page {
        select,
        text: Text::of(asked.max_bytes),
        files,
        results: best.results,
        copies: if asked.copies { usize::MAX } else { FEW_COPIES },
        shown: ShownFiles::default(),
        names: Names::default(),
        firsts,
        found: summary,
        by,
        from: shown,
        upto: shown,
        full: false,
    };
    let few = best.files.iter().take(FEW);
    let few = few.map(|(of, _)| (of.file.repo.clone(), of.file.path.clone())).collect();
    let mut rest = best.files.into_iter().map(|(ranked, _)| ranked);
    'all: loop {
        let mut batch: Vec<RankedFile> = rest.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        if context != (0, 0) && select.has_lines() {
            let files = batch.iter_mut().map(|ranked| &mut ranked.file).collect();
            let missing = view.add_context(files, stats.switch, context).await?;
            stats.note_missing(missing);
        }
        let files: Vec<&FileMatch> = batch.iter().map(|ranked| &ranked.file).collect();
        let ends = if select.has_lines() {
            view.last_lines(&files, stats.switch).await?
        } else {
            vec![LastLines::new(); files.len()]
        };
        for (ranked, ends) in batch.iter().zip(&ends) {
            if !page.add(ranked, ends, asked) {
                break 'all;
            }
        }
    }
    let resume = if page.upto < page.results {
        Some((stats.from_start(&request), page.upto))
    } else {
        stats.ended_at_limit().then(|| (stats.from(&request, stats.progress), 0))
    };
    let cursor = resume.map(|(resume, shown)| Cursor { resume, best: true, shown: shown as u64 });
    let goes_on = from.is_some_and(|from| from.resume.results > 0);
    let is_all = page.from == 0 && page.upto == page.results && stats.is_complete();
    let head = page.head(&stats, cursor, goes_on, within);
    let head = head
        + &outdated(&stats)
        + &stale(&view.stale(std::mem::take(&mut page.shown)).await)
        + &near.text;
    if stats.stopped.is_none() {
        page.text.leave_out(left_out(&stats));
    }
    let hints = match within {
        Some(_) => String::new(),
        None => hints::appendix(view, &asked.query, &request, &stats).await,
    };
    let next = cursor.map_or(Value::Null, |cursor| json!(cursor.to_string()));
    let mut answer = page.text.below(&head, "files", &hints).and("cursor", next);
    answer = if within.is_none() { answer.about(about(&stats)) } else { answer };
    answer = answer.at(epoch);
    answer.is_all = is_all;
    if files < FEW && from.is_none() && stats.stopped.is_none() {
        answer = answer.of_few(few);
    }
    Ok(if near.items.is_empty() {
        answer
    } else {
        answer.and("near_definitions", Value::Array(near.items))
    })
}

/// Near definitions, labelled as such since they are no matches; as many as fit in the head of an answer.
#[derive(Default)]
struct Near {
    text: String,
    items: Vec<Value>,
}

impl Near {
    fn of(files: &[FileMatch]) -> Self {
        let mut near = Self::default();
        for file in files {
            let Some(line) = file.lines.first() else { continue };
            let name = named(file);
            let text = format!("\n{name}\n{}", numbered(line, true).trim_end());
            if near.text.len() + text.len() > MAX_NEAR_BYTES {
                break;
            }
            if near.items.is_empty() {
                near.text += "\nDefined here, but without a match of the query:";
            }
            near.text += &text;
            let mut item = file_json(file);
            item["line"] = json!(line.number);
            near.items.push(item);
        }
        near
    }
}

/// The numbers of the best lines of files, by repository and path.
type FirstLines = HashMap<(String, String), u64>;

/// An answer under construction.
struct Page {
    select: Select,
    text: Text,
    /// Number of files found.
    files: usize,
    /// Number of results that they are: identical copies are one.
    results: usize,
    /// Most copies listed of a file.
    copies: usize,
    /// The files in the answer, whose state on disk it tells.
    shown: ShownFiles,
    names: Names,
    firsts: FirstLines,
    /// A summary of all results.
    found: String,
    /// The distribution of the files over repositories and languages.
    by: String,
    /// Number of results shown before, and including this answer.
    from: usize,
    upto: usize,
    full: bool,
}

impl Page {
    /// Adds a file; returns false if it does not fit. The first file is cut rather than left out.
    fn add(&mut self, ranked: &RankedFile, ends: &LastLines, asked: &Search) -> bool {
        let RankedFile { file, matches, .. } = ranked;
        if !self.select.has_lines() {
            let name = if self.select == Select::Repos { file.repo.clone() } else { named(file) };
            let taken = self.take(&format!("{name}\n{}", copies(file, self.copies)));
            if taken && self.select == Select::Repos {
                self.text.note(json!({ "repo": file.repo }));
            } else if taken {
                self.shown.add(file);
                self.text.note(with_copies(file, self.copies));
            }
            return taken;
        }
        let first = self.text.is_empty();
        let gap = if first { "" } else { "\n" };
        let mut piece = format!("{gap}{}\n{}", self.names.next(file), copies(file, self.copies));
        let left = |shown: usize| match matches.saturating_sub(shown) {
            0 => String::new(),
            left => format!("+{}\n", count(left, "more line", "more lines")),
        };
        let in_context = file.lines.iter().any(|line| line.ranges.is_empty());
        let (mut matching, mut last, mut around) = (0, None, None);
        let mut lines = Vec::new();
        let briefly =
            asked.context_lines == 0 && file.lines.iter().all(|line| line.change.is_none());
        let most = if in_context { usize::MAX } else { asked.lines_after(self.upto) };
        let key = (file.repo.clone(), file.path.clone());
        let best = self.firsts.get(&key).copied();
        for line in best_lines(&file.lines, most, best) {
            let gap = in_context && last.is_some_and(|last| last + 1 < line.number);
            last = Some(line.number);
            let gap = if gap { "--\n" } else { "" };
            let around = file::around(line, ends, &mut around);
            let shown = format!("{gap}{around}{}", numbered(line, briefly));
            let is_match = usize::from(!line.ranges.is_empty());
            let rest = left(matching + is_match);
            if first && piece.len() + shown.len() + rest.len() > self.text.room() {
                break;
            }
            piece.push_str(&shown);
            lines.push(line_json(line, ends));
            matching += is_match;
        }
        let rest = left(matching);
        piece.push_str(&rest);
        let taken = self.take(&piece);
        if taken {
            self.shown.add(file);
            let mut item = with_copies(file, self.copies);
            item["lines"] = Value::Array(lines);
            self.text.note(item);
        }
        taken
    }

    fn take(&mut self, piece: &str) -> bool {
        let taken = self.text.add(piece);
        self.upto += usize::from(taken);
        self.full |= !taken;
        taken
    }

    /// Returns the head: a summary of all results, the part that is shown, and how to get the rest.
    fn head(
        &self,
        stats: &Stats,
        cursor: Option<Cursor>,
        goes_on: bool,
        within: Option<&str>,
    ) -> String {
        let mut head = self.found.clone();
        match &stats.stopped {
            Some(Stopped::Timeout(time)) => {
                head += &format!(", and there may be more: {}", late(*time));
            }
            Some(Stopped::Revision(why)) => head += &format!(", and there may be more: {why}."),
            Some(Stopped::Shards(_)) => {
                head += &format!(", and there may be more: {}", broken(stats));
            }
            Some(Stopped::Limit) => {
                let which = if goes_on { "next" } else { "first" };
                head += &format!(
                    ", and there is more: these are the best of the {which} {}. Narrow the query to rank all.",
                    count(self.files, "file", "files")
                );
            }
            None => head += ".",
        }
        let all = self.from == 0 && self.upto == self.results;
        if all && stats.is_complete() {
            head += if goes_on { " That is the rest." } else { " That is all." };
        } else if self.upto > self.from && !(all && cursor.is_none()) {
            head += &format!(" Here are {} to {}", self.from + 1, self.upto);
            head += &if self.full {
                format!(": the answer is full, at {} bytes.", self.text.max())
            } else if self.upto < self.results {
                ": the limit was reached.".to_owned()
            } else {
                ".".to_owned()
            };
        }
        if let Some(repo) = within.filter(|_| cursor.is_some()) {
            head += &format!(" For more, add repo:{repo} to the query.");
        } else if let Some(cursor) = cursor {
            head += &format!(" For more: the same query with cursor \"{cursor}\".");
        }
        if !all && !self.by.is_empty() {
            head += &format!("\n{}", self.by);
        }
        head
    }
}

/// Returns at most so many lines: that with the number `first`, those that define a name, then others.
pub(super) fn best_lines(lines: &[Line], most: usize, first: Option<u64>) -> Vec<&Line> {
    let mut best: Vec<&Line> = lines.iter().collect();
    if best.len() > most {
        best.sort_by_key(|line| (Some(line.number) != first, line.symbols.is_empty()));
        best.truncate(most);
        best.sort_by_key(|line| line.number);
    }
    best
}

/// Returns a line that names up to `most` identical copies of a file; empty if it has none.
fn copies(file: &FileMatch, most: usize) -> String {
    let all = file.copies.len();
    if all == 0 {
        return String::new();
    }
    let named = file.copies.iter().take(most).map(|copy| match &copy.path {
        path if *path == file.path => copy.repo.clone(),
        path => format!("{}: {path}", copy.repo),
    });
    let named: Vec<String> = named.collect();
    let more = if all > most { ", ... (copies=true lists all)" } else { "" };
    format!("({}: {}{more})\n", count(all, "identical copy", "identical copies"), named.join(", "))
}

fn with_copies(file: &FileMatch, most: usize) -> Value {
    let mut item = file_json(file);
    if !file.copies.is_empty() {
        let listed = file.copies.iter().take(most);
        let listed = listed.map(|copy| json!({ "repo": copy.repo, "path": copy.path }));
        item["copies"] = listed.collect();
        item["copies_total"] = json!(file.copies.len());
    }
    item
}

/// Returns a summary of all results.
fn summary(top: &TopK, stats: &Stats, select: Select) -> String {
    let files = count(top.files, "file", "files");
    let least = if stats.is_complete() { "" } else { "at least " };
    let repos = match top.repos.len() {
        0 | 1 => String::new(),
        many => format!(" of {}", count(many, "repository", "repositories")),
    };
    match select {
        Select::Repos => format!("{least}{}", count(top.files, "repository", "repositories")),
        Select::Files => format!("{least}{files}{repos}"),
        Select::Lines | Select::Symbols => {
            let lines = count(top.matches, "matching line", "matching lines");
            format!("{least}{lines} in {files}{repos}")
        }
    }
}

/// Returns how many of the files each repository and each language has, the largest number first.
fn by(top: &TopK) -> String {
    let of = |what: &str, counts: &HashMap<String, usize>| {
        if counts.len() < 2 {
            return None;
        }
        let mut counts: Vec<(&String, &usize)> = counts.iter().collect();
        counts.sort_by(|(a, x), (b, y)| (y, a).cmp(&(x, b)));
        let named = counts.iter().take(NAMED).map(|(name, files)| format!("{name} {files}"));
        let more = match counts.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(", {more} more"),
        };
        Some(format!("Files by {what}: {}{more}.", named.collect::<Vec<_>>().join(", ")))
    };
    let parts = [of("repository", &top.repos), of("language", &top.languages)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
