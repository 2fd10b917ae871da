//! Answers with all results of a search, in the order of the index, in parts. Together the parts are the complete
//! answer.

use answer::{FileMatch, Line};
use anyhow::Result;
use query::Select;
use search::{AnswerProgress, ShownFiles, Stats, Stopped, View};
use serde_json::{Value, json};

use super::answer::{Answer, Text, count, late};
use super::file::{self, LastLines, file_json, line_json, named, numbered};
use super::hints;
use super::progress::FileCounter;
use super::search::{Cursor, Search, about, broken, left_out, outdated, request, run, stale};

pub(super) async fn answer(
    view: &View,
    asked: &Search,
    from: Option<Cursor>,
    found: &FileCounter,
) -> Result<Answer> {
    let (request, ()) =
        request(view, asked, (from.as_ref(), None), |request| request.enclosing = true).await?;
    let mut page = Page {
        select: request.compiled_query().select,
        text: Text::of(asked.max_bytes),
        results: 0,
        files: ShownFiles::default(),
        progress: AnswerProgress::of(&request),
        matches: 0,
        shown: from.as_ref().map_or(0, |from| from.shown),
        full: false,
    };
    let stats = run(view, &request, found, |file| page.add(&file)).await?;
    let epoch = view.state(stats.switch).await?.epoch;
    if page.results == 0 && from.is_none() && stats.stopped.is_none() && !page.full {
        let hints = hints::appendix(view, &asked.query, &request, &stats).await;
        let text = format!("Nothing matches.{}{}{hints}", left_out(&stats), outdated(&stats));
        let answer = Answer::bare(text, "files").and("cursor", Value::Null);
        return Ok(answer.about(about(&stats)).at(epoch));
    }
    let cursor =
        Cursor { resume: stats.from(&request, page.progress), best: false, shown: page.shown };
    let stale = stale(&view.stale(std::mem::take(&mut page.files)).await);
    let head = head(&page, &stats, &cursor, from.is_some()) + &outdated(&stats) + &stale;
    if stats.stopped.is_none() && !page.full {
        page.text.leave_out(left_out(&stats));
    }
    let hints = hints::appendix(view, &asked.query, &request, &stats).await;
    let goes_on = page.full || matches!(stats.stopped, Some(Stopped::Limit));
    let next = if goes_on { json!(cursor.to_string()) } else { Value::Null };
    let answer = page.text.below(&head, "files", &hints).and("cursor", next);
    Ok(answer.about(about(&stats)).at(epoch))
}

/// An answer under construction.
struct Page {
    select: Select,
    text: Text,
    /// Number of results in it; the last one may be cut.
    results: usize,
    /// Some of them, whose state on disk the answer tells.
    files: ShownFiles,
    /// The position in the search after the last result that is complete.
    progress: AnswerProgress,
    /// Matching lines in it.
    matches: usize,
    /// The last line shown of the next file, in this answer or the one before; 0 if none was.
    shown: u64,
    /// Whether the answer is full.
    full: bool,
}

impl Page {
    /// Adds as many lines of a file as fit; returns false if some are left out.
    fn add(&mut self, file: &FileMatch) -> bool {
        let before = self.shown;
        // The numbers of changed lines are those of two texts, or 0, so their places count.
        let of_changes = file.lines.iter().any(|line| line.change.is_some());
        let place = |at: usize, line: &Line| if of_changes { at as u64 + 1 } else { line.number };
        let lines = file.lines.iter().enumerate();
        let mut lines = lines.filter(|(at, line)| place(*at, line) > before);
        let mut piece = match self.select {
            Select::Repos => format!("{}\n", file.repo),
            Select::Files => format!("{}\n", named(file)),
            Select::Lines | Select::Symbols => {
                let gap = if self.text.is_empty() { "" } else { "\n" };
                format!("{gap}{}\n", named(file))
            }
        };
        // A file is named only together with one of its lines.
        let mut line = lines.next();
        let mut around = None;
        let ends = LastLines::new();
        let mut shown =
            |line| format!("{}{}", file::around(line, &ends, &mut around), numbered(line, false));
        if let Some((_, line)) = line {
            piece.push_str(&shown(line));
        }
        loop {
            if !self.text.add(&piece) {
                self.full = true;
                return false;
            }
            if self.shown == before {
                self.results += 1;
                audit::told().files([file]);
                self.files.add(file);
            }
            match line {
                Some((_, line)) => self.text.note_line(file_json(file), line_json(line, &ends)),
                None if self.select == Select::Repos => {
                    self.text.note(json!({ "repo": file.repo }));
                }
                None => self.text.note(file_json(file)),
            }
            if let Some((at, line)) = line {
                self.shown = place(at, line);
                self.matches += usize::from(!line.ranges.is_empty());
            }
            line = lines.next();
            match line {
                Some((_, line)) => piece = shown(line),
                None => break,
            }
        }
        self.shown = 0;
        self.progress.note(file);
        true
    }
}

/// Returns the head: the contents of the answer, whether it is complete, and how to get the rest.
fn head(page: &Page, stats: &Stats, cursor: &Cursor, goes_on: bool) -> String {
    let found = match page.select {
        Select::Lines | Select::Symbols => format!(
            "{} in {}",
            count(page.matches, "matching line", "matching lines"),
            count(page.results, "file", "files")
        ),
        Select::Files => count(page.results, "file", "files"),
        Select::Repos => count(page.results, "repository", "repositories"),
    };
    let next = format!(
        "For the rest, search again with the same query and order and cursor \"{cursor}\"."
    );
    match &stats.stopped {
        _ if page.full => format!(
            "{found}, and there is more: the answer is full, at {} bytes. {next} With type:file, the query gives \
             only paths.",
            page.text.max()
        ),
        Some(Stopped::Limit) => {
            format!("{found}, and there is more: the limit was reached. {next}")
        }
        Some(Stopped::Timeout(time)) => format!("{found}, and there may be more: {}", late(*time)),
        Some(Stopped::Revision(why)) => format!("{found}, and there may be more: {why}."),
        Some(Stopped::Shards(_)) => format!("{found}, and there may be more: {}", broken(stats)),
        None if !stats.is_complete() => format!("{found}."),
        None => {
            let rest = if goes_on { "That is the rest." } else { "That is all." };
            format!("{found}. {rest}")
        }
    }
}
