//! Histograms as a bar chart, side by side: for a terminal and for a page.

use super::histogram::{Histogram, Row, used_rows};
use request::human::{duration, grouped};

/// Most bars in a chart. If few buckets are used, bars are finer.
const MAX_BARS: usize = 26;

/// A range of durations, and the searches of each histogram within it.
pub struct Bar {
    /// The range of durations.
    pub label: String,
    /// One cell for each histogram, in their order.
    pub cells: Vec<Cell>,
}

/// The searches of one histogram within a bar's range.
pub struct Cell {
    /// Number of searches.
    pub count: u64,
    /// Length of the bar relative to the longest in the chart, from 0 to 1.
    pub length: f64,
    /// The number of searches; next to another histogram, their share, so that spans with different numbers of searches
    /// can be compared.
    pub number: String,
}

/// Returns the bars of some histograms side by side.
pub fn bars(histograms: &[&Histogram]) -> Vec<Bar> {
    let finest = [4, 2].into_iter().find(|fine| used_rows(histograms, *fine).len() <= MAX_BARS);
    let rows = used_rows(histograms, finest.unwrap_or(1));
    let share = |at: usize, row: &Row| row.count as f64 / histograms[at].total().max(1) as f64;
    let cells = rows.iter().flat_map(|row| row.iter().enumerate());
    let most = cells.map(|(at, row)| share(at, row)).fold(0.0, f64::max);
    let cell = |(at, row): (usize, &Row)| {
        let share = share(at, row);
        let number = if histograms.len() > 1 {
            format!("{:.1} %", share * 100.0)
        } else {
            grouped(row.count as usize)
        };
        Cell { count: row.count, length: share / most, number }
    };
    let bar = |row: &Vec<Row>| Bar {
        label: label(&row[0]),
        cells: row.iter().enumerate().map(cell).collect(),
    };
    rows.iter().map(bar).collect()
}

/// Returns the bounds of a row: `0.5–1 ms`.
fn label(row: &Row) -> String {
    match row.upto() {
        None => format!("over {}", duration(row.from())),
        Some(upto) if row.from().is_zero() => format!("up to {}", duration(upto)),
        Some(upto) => {
            let (from, upto) = (duration(row.from()), duration(upto));
            // If both bounds have the same unit, it is written once.
            match (from.split_once(' '), upto.split_once(' ')) {
                (Some((number, unit)), Some((_, other))) if unit == other => {
                    format!("{number}–{upto}")
                }
                _ => format!("{from} – {upto}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_label_says_the_unit_once() {
        let mut histogram = Histogram::default();
        for ms in [1, 3, 900, 600_000] {
            histogram.add(Duration::from_millis(ms));
        }
        let labels: Vec<String> = bars(&[&histogram]).into_iter().map(|bar| bar.label).collect();
        assert_eq!(labels.first().unwrap(), "0.5–1 ms");
        assert_eq!(labels[1], "1–2 ms");
        assert!(labels.contains(&"512 ms – 1.02 s".to_owned()), "{labels:?}");
        assert_eq!(labels.last().unwrap(), "over 524 s");
    }
}
