//! The statistics of a span, alone or compared with another span, as text for a terminal.

use std::fmt::Write as _;
use std::time::Duration;

use super::bars::{Bar, bars};
use super::histogram::{Histogram, Trim};
use super::summary::Summary;
use request::human::{duration, grouped};

/// Length of the longest bar, in characters.
const BAR_CHARS: usize = 30;

/// Returns the summary of a span as text, compared with another one if given.
pub fn text(name: &str, one: &Summary, other: Option<(&str, &Summary)>, trim: Trim) -> String {
    let mut text = String::new();
    for (name, summary) in std::iter::once((name, one)).chain(other) {
        let searches = grouped(summary.all().total() as usize);
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name}: {searches} searches{}", refusals(summary));
    }
    chart(&mut text, one, other.map(|(_, other)| other));
    times(&mut text, one, other.map(|(_, other)| other), trim);
    parts(&mut text, one, other.map(|(_, other)| other), trim);
    text
}

fn refusals(summary: &Summary) -> String {
    let parts: Vec<String> = summary
        .refused()
        .iter()
        .map(|(reason, count)| format!("{count} {}", reason.replace('_', " ")))
        .collect();
    if parts.is_empty() { String::new() } else { format!(", refused: {}", parts.join(", ")) }
}

/// Adds a chart. Compared with another span, bars are shares.
fn chart(text: &mut String, one: &Summary, other: Option<&Summary>) {
    let histograms: Vec<&Histogram> =
        std::iter::once(one.all()).chain(other.map(Summary::all)).collect();
    let bars = bars(&histograms);
    if bars.is_empty() {
        return;
    }
    let width = bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
    text.push('\n');
    if other.is_some() {
        let _ = writeln!(text, "  {:width$}  {:<38}  compared with", "", "this span");
    }
    for Bar { label, cells } in &bars {
        let mut line = format!("  {label:>width$} ");
        for cell in cells {
            let number = if cell.count == 0 { String::new() } else { format!(" {}", cell.number) };
            let _ = write!(line, " {:<39}", format!("{}{number}", blocks(cell.length)));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// Returns a bar in eighths of a character; at least one eighth if the part is above zero.
fn blocks(part: f64) -> String {
    if part <= 0.0 {
        return String::new();
    }
    let eighths = ((part * (BAR_CHARS * 8) as f64).round() as usize).max(1);
    let mut blocks = "█".repeat(eighths / 8);
    blocks.extend(" ▏▎▍▌▋▊▉".chars().nth(eighths % 8).filter(|c| *c != ' '));
    blocks
}

/// Adds quantiles and means, and their ratio to those of the other span.
fn times(text: &mut String, one: &Summary, other: Option<&Summary>, trim: Trim) {
    let mine = Summary::times(one.all(), trim);
    if one.all().total() == 0 && other.is_none_or(|other| other.all().total() == 0) {
        return;
    }
    let cell = |time: &Option<Duration>| time.map_or_else(|| "-".to_owned(), duration);
    let width = mine.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    text.push('\n');
    for (at, (name, time)) in mine.iter().enumerate() {
        let _ = write!(text, "  {name:<width$}  {:>9}", cell(time));
        if let Some(other) = other {
            let theirs = Summary::times(other.all(), trim).swap_remove(at).1;
            let _ = write!(text, "  {:>9}", cell(&theirs));
            if let (Some(time), Some(theirs)) = (time, theirs) {
                let _ = write!(text, "  {:.2} times", time.as_secs_f64() / theirs.as_secs_f64());
            }
        }
        text.push('\n');
    }
}

/// Adds kinds and outcomes.
fn parts(text: &mut String, one: &Summary, other: Option<&Summary>, trim: Trim) {
    let (kinds, outcomes) = (one.kinds(), one.outcomes());
    if kinds.is_empty() {
        return;
    }
    let theirs = other.map(Summary::kinds).unwrap_or_default();
    text.push('\n');
    for (kind, part) in kinds {
        let time = |part: f64, histogram: &Histogram| {
            histogram.quantile(part).map_or_else(|| "-".to_owned(), duration)
        };
        let _ = write!(
            text,
            "  {:<11} {:>9}   p50 {:>8}   p99 {:>8}   trimmed mean {:>8}",
            kind.replace('_', "-"),
            grouped(part.total() as usize),
            time(0.5, &part),
            time(0.99, &part),
            part.trimmed_mean(trim).map_or_else(|| "-".to_owned(), duration)
        );
        if let Some(theirs) = theirs.get(kind) {
            let _ = write!(
                text,
                "   compared with p50 {:>8}   p99 {:>8}",
                time(0.5, theirs),
                time(0.99, theirs)
            );
        }
        text.push('\n');
    }
    let ended: Vec<String> = outcomes
        .into_iter()
        .map(|(outcome, part)| {
            format!("{} {}", grouped(part.total() as usize), outcome.replace('_', " "))
        })
        .collect();
    let _ = writeln!(text, "  ended: {}", ended.join(", "));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(durations: &[(u64, u64)]) -> Summary {
        let mut histogram = Histogram::default();
        for (ms, times) in durations {
            (0..*times).for_each(|_| histogram.add(Duration::from_millis(*ms)));
        }
        let part = ("indexed".to_owned(), "complete".to_owned(), histogram);
        Summary::of(std::iter::once(part), std::iter::empty())
    }

    #[test]
    fn what_slows_down_below_a_threshold_is_seen() {
        // The reference's case: from 50 ms to 150 ms, below a threshold of 200 ms.
        let (now, before) = (summary(&[(150, 1000)]), summary(&[(50, 100)]));
        let text = text("today", &now, Some(("yesterday", &before)), Trim::default());
        let p50 = text.lines().find(|line| line.trim_start().starts_with("p50")).unwrap();
        assert!(p50.ends_with("times"), "{text}");
        let times: f64 = p50.split_whitespace().rev().nth(1).unwrap().parse().unwrap();
        assert!((2.7..3.3).contains(&times), "{text}");
        let bars: Vec<&str> = text.lines().filter(|line| line.contains('█')).collect();
        assert_eq!(bars.len(), 2, "{text}");
        assert!(bars.iter().all(|bar| bar.contains("100.0 %")), "{text}");
    }
}
