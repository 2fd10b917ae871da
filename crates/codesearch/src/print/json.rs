//! Matches as JSON lines, as `rg --json` prints them
//! (<https://docs.rs/grep-printer/latest/grep_printer/struct.JSON.html>): the same messages, with the same fields in
//! the same order. In addition, there are `repo` messages, and `complete` in the summary.

use std::io::{self, Write};
use std::time::Duration;

use answer::{FileMatch, Line, LineChange};
use query::Select;
use request::notes::MissingJson;
use search::Stats;
use serde::Serialize;
use serde_json::json;

use super::blocks::{self, blocks};
use super::{Paths, Printer, Replacer};

/// Prints matches as JSON lines.
pub(crate) struct Json {
    select: Select,
    paths: Paths,
    replacer: Option<Replacer>,
    spans_lines: bool,
    /// Whether lines have their numbers.
    number: bool,
    totals: Counts,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    files: usize,
    lines: usize,
    matches: usize,
    bytes_searched: usize,
    bytes_printed: usize,
}

#[derive(Serialize)]
#[serde(tag = "type", content = "data", rename_all = "lowercase")]
enum Message<'a> {
    Begin(FileJson<'a>),
    Match(LineJson<'a>),
    Context(LineJson<'a>),
    End { path: Text<'a>, binary_offset: Option<u64>, stats: StatsJson },
    Repo { name: &'a str },
}

/// The begin of a file. All but the path is not in ripgrep.
#[derive(Serialize)]
struct FileJson<'a> {
    path: Text<'a>,
    /// The trees with the file, if its repository has several.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    trees: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<CommitJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed_from: Option<&'a str>,
}

/// The commit that changed the lines of a file.
#[derive(Serialize)]
struct CommitJson<'a> {
    hash: &'a str,
    author: &'a str,
    time: i64,
    summary: &'a str,
}

/// A text in ripgrep's JSON. ripgrep has `bytes` for invalid UTF-8, which the index does not contain.
#[derive(Clone, Copy, Serialize)]
struct Text<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct LineJson<'a> {
    path: Text<'a>,
    lines: Text<'a>,
    line_number: Option<u64>,
    absolute_offset: u64,
    submatches: Vec<SubmatchJson<'a>>,
    /// Not in ripgrep: symbols whose names match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    symbols: Vec<SymbolJson<'a>>,
    /// Not in ripgrep: whether the line was added or removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'static str>,
}

#[derive(Serialize)]
struct SymbolJson<'a> {
    name: &'a str,
    kind: &'a str,
    container: Option<&'a str>,
    start: usize,
    end: usize,
}

#[derive(Serialize)]
struct SubmatchJson<'a> {
    #[serde(rename = "match")]
    matched: Text<'a>,
    /// The text that replaces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    replacement: Option<Text<'a>>,
    start: usize,
    end: usize,
}

#[derive(Serialize)]
struct StatsJson {
    elapsed: ElapsedJson,
    searches: usize,
    searches_with_match: usize,
    bytes_searched: usize,
    bytes_printed: usize,
    matched_lines: usize,
    matches: usize,
}

#[derive(Serialize)]
struct ElapsedJson {
    secs: u64,
    nanos: u32,
    human: String,
}

impl Json {
    /// Makes a printer.
    pub(crate) fn new(
        select: Select,
        paths: Paths,
        replacer: Option<Replacer>,
        spans_lines: bool,
        number: bool,
    ) -> Self {
        Self { select, paths, replacer, spans_lines, number, totals: Counts::default() }
    }

    /// Prints a block; returns the length of its message in bytes.
    fn block(&self, out: &mut dyn Write, path: Text<'_>, block: &[Line]) -> io::Result<usize> {
        let (line, text) = (&block[0], blocks::text(block));
        let matches = blocks::matches(block);
        let replacements = self.replacer.as_ref().map(|replacer| {
            let (text, places) = replacer.replaced(&line.text, &line.ranges);
            places.into_iter().map(|place| text[place].to_owned()).collect::<Vec<_>>()
        });
        let replacement = |at: usize| Some(Text { text: replacements.as_ref()?.get(at)? });
        let submatches: Vec<SubmatchJson<'_>> = matches
            .iter()
            .enumerate()
            .map(|(at, range)| SubmatchJson {
                matched: Text { text: &text[range.clone()] },
                replacement: replacement(at),
                start: range.start,
                end: range.end,
            })
            .collect();
        let message = if submatches.is_empty() { Message::Context } else { Message::Match };
        let lines = Text { text: &text };
        let number = Some(line.number).filter(|number| self.number && *number > 0);
        let (line_number, absolute_offset) = (number, line.offset);
        let change = line.change.map(LineChange::word);
        let symbols = block.iter().flat_map(|line| &line.symbols).map(|found| SymbolJson {
            name: &found.symbol.name,
            kind: found.symbol.kind,
            container: found.symbol.container.as_ref().map(|(name, _)| name.as_str()),
            start: found.range.start,
            end: found.range.end,
        });
        let symbols = symbols.collect();
        print(
            out,
            &message(LineJson {
                path,
                lines,
                line_number,
                absolute_offset,
                submatches,
                symbols,
                change,
            }),
        )
    }
}

impl Printer for Json {
    fn file(&mut self, out: &mut dyn Write, file: &FileMatch) -> io::Result<()> {
        if self.select == Select::Repos {
            self.totals.files += 1;
            return print(out, &Message::Repo { name: &file.repo }).map(drop);
        }
        let path = self.paths.of_file(file);
        let path = Text { text: &path };
        let mut counts = Counts { files: 1, bytes_searched: file.bytes, ..Counts::default() };
        let begin = FileJson {
            path,
            trees: &file.trees,
            commit: file.commit.as_deref().map(|of| CommitJson {
                hash: &of.hash,
                author: &of.author,
                time: of.time,
                summary: &of.summary,
            }),
            renamed_from: file.renamed_from.as_deref(),
        };
        counts.bytes_printed += print(out, &Message::Begin(begin))?;
        counts.lines = file.matches();
        counts.matches = blocks::count_matches(&file.lines);
        for block in blocks(&file.lines, self.spans_lines) {
            counts.bytes_printed += self.block(out, path, block)?;
        }
        let stats = StatsJson::of(counts, Duration::ZERO);
        print(out, &Message::End { path, binary_offset: None, stats })?;
        self.totals.files += counts.files;
        self.totals.lines += counts.lines;
        self.totals.matches += counts.matches;
        self.totals.bytes_searched += counts.bytes_searched;
        self.totals.bytes_printed += counts.bytes_printed;
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write, stats: &Stats) -> io::Result<()> {
        let mut data = json!({
            "elapsed_total": ElapsedJson::of(stats.duration),
            "stats": StatsJson::of(self.totals, stats.duration),
            "complete": stats.is_complete(),
        });
        if let Some(missing) = MissingJson::of(&stats.shown_missing()) {
            data["missing"] = json!(missing);
        }
        writeln!(out, "{}", json!({ "data": data, "type": "summary" }))
    }
}

/// Prints a message; returns its length in bytes.
fn print(out: &mut dyn Write, message: &Message<'_>) -> io::Result<usize> {
    let mut text = serde_json::to_vec(message)?;
    text.push(b'\n');
    out.write_all(&text)?;
    Ok(text.len())
}

impl StatsJson {
    fn of(counts: Counts, duration: Duration) -> Self {
        Self {
            elapsed: ElapsedJson::of(duration),
            searches: counts.files,
            searches_with_match: counts.files,
            bytes_searched: counts.bytes_searched,
            bytes_printed: counts.bytes_printed,
            matched_lines: counts.lines,
            matches: counts.matches,
        }
    }
}

impl ElapsedJson {
    fn of(duration: Duration) -> Self {
        Self {
            secs: duration.as_secs(),
            nanos: duration.subsec_nanos(),
            human: format!("{:.6}s", duration.as_secs_f64()),
        }
    }
}
