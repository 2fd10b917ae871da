//! Matches as JSON lines, as `rg --json` prints them
//! (<https://docs.rs/grep-printer/latest/grep_printer/struct.JSON.html>).

use std::io::{self, Write};
use std::time::Duration;

use engine::search::{FileMatch, Line, Stats};
use query::Select;
use serde_json::{Value, json};

use super::{Printer, full_path};

/// Prints matches as JSON lines.
pub(crate) struct Json {
    select: Select,
    totals: Counts,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    files: usize,
    lines: usize,
    matches: usize,
    bytes_printed: usize,
}

impl Json {
    pub(crate) fn new(select: Select) -> Self {
        Self { select, totals: Counts::default() }
    }
}

impl Printer for Json {
    fn file(&mut self, out: &mut dyn Write, file: &FileMatch) -> io::Result<()> {
        if self.select == Select::Repos {
            // Beyond what ripgrep has.
            self.totals.files += 1;
            return writeln!(out, "{}", json!({ "type": "repo", "data": { "name": file.repo } }));
        }
        let path = json!({ "text": full_path(file) });
        let mut counts = Counts { files: 1, ..Counts::default() };
        let mut print = |message: Value| {
            let text = format!("{message}\n");
            counts.bytes_printed += text.len();
            out.write_all(text.as_bytes())
        };
        print(json!({ "type": "begin", "data": { "path": path } }))?;
        for line in &file.lines {
            print(line_message(&path, line))?;
        }
        for line in file.lines.iter().filter(|line| !line.ranges.is_empty()) {
            counts.lines += 1;
            counts.matches += line.ranges.len();
        }
        let stats = stats(counts, Duration::ZERO);
        writeln!(
            out,
            "{}",
            json!({ "type": "end", "data": { "path": path, "binary_offset": null, "stats": stats } })
        )?;
        self.totals.files += counts.files;
        self.totals.lines += counts.lines;
        self.totals.matches += counts.matches;
        self.totals.bytes_printed += counts.bytes_printed;
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write, stats_: &Stats) -> io::Result<()> {
        let data = json!({
            "elapsed_total": elapsed(stats_.duration),
            "stats": stats(self.totals, stats_.duration),
            // Beyond what ripgrep says.
            "complete": stats_.stopped.is_none(),
        });
        writeln!(out, "{}", json!({ "data": data, "type": "summary" }))
    }
}

fn line_message(path: &Value, line: &Line) -> Value {
    let submatches: Vec<Value> = line
        .ranges
        .iter()
        .map(|r| json!({ "match": { "text": line.text[r.clone()] }, "start": r.start, "end": r.end }))
        .collect();
    let end = if line.ended { "\n" } else { "" };
    json!({
        "type": if submatches.is_empty() { "context" } else { "match" },
        "data": {
            "path": path,
            "lines": { "text": format!("{}{end}", line.text) },
            "line_number": line.number,
            "absolute_offset": line.offset,
            "submatches": submatches,
        },
    })
}

fn stats(counts: Counts, duration: Duration) -> Value {
    json!({
        "elapsed": elapsed(duration),
        "searches": counts.files,
        "searches_with_match": counts.files,
        "bytes_searched": 0,
        "bytes_printed": counts.bytes_printed,
        "matched_lines": counts.lines,
        "matches": counts.matches,
    })
}

fn elapsed(duration: Duration) -> Value {
    json!({
        "secs": duration.as_secs(),
        "nanos": duration.subsec_nanos(),
        "human": format!("{:.6}s", duration.as_secs_f64()),
    })
}
