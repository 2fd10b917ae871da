//! Tables of a report.

use std::fmt::Write as _;

use serde::Serialize;

/// Rows of cells; the first cell of each row is its name.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Table {
    /// Its subject, with units.
    pub(crate) title: String,
    /// Heads of the columns; the first is the head of the names.
    pub(crate) columns: Vec<String>,
    /// Rows with as many cells as there are columns.
    pub(crate) rows: Vec<Vec<String>>,
    /// Notes below it, needed to read it.
    pub(crate) notes: Vec<String>,
}

impl Table {
    pub(crate) fn new(title: &str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Self { title: title.to_owned(), columns, ..Self::default() }
    }

    /// Adds a row, which has as many cells as there are columns.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
        debug_assert!(self.rows.iter().all(|row| row.len() == self.columns.len()));
    }

    /// Adds a sentence below the table.
    pub(crate) fn note(&mut self, note: &str) {
        self.notes.push(note.to_owned());
    }

    pub(crate) fn text(&self) -> String {
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.chain(self.columns.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = format!("{}\n", self.title);
        for row in std::iter::once(&self.columns).chain(&self.rows) {
            let mut line = String::new();
            for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let _ = match at {
                    0 => write!(line, "  {cell:<width$}"),
                    _ => write!(line, "  {cell:>width$}"),
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(text, "  {note}");
        }
        text
    }
}
