//! What experiments found, as text, JSON and pictures.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::picture;

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// On what.
    pub(crate) machine: String,
    /// One for each system.
    pub(crate) sections: Vec<Section>,
}

/// What was measured of one system.
#[derive(Debug, Serialize)]
pub(crate) struct Section {
    /// A word, for file names.
    pub(crate) name: &'static str,
    /// What was measured, and whose experiment it is.
    pub(crate) title: String,
    /// In their order.
    pub(crate) tables: Vec<Table>,
}

/// Rows of cells, the first of each its name.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Table {
    /// What it shows, with units.
    pub(crate) title: String,
    /// Heads of the columns, the first one's that of the names.
    pub(crate) columns: Vec<String>,
    /// As many cells as there are columns.
    pub(crate) rows: Vec<Vec<String>>,
    /// What has to be known to read it.
    pub(crate) notes: Vec<String>,
}

impl Report {
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "codesearch bench reference, {}\ntimes of one run on one machine: compare them with each other only\n",
            self.machine
        );
        for section in &self.sections {
            let _ = write!(text, "\n== {}\n", section.title);
            for table in &section.tables {
                let _ = write!(text, "\n{}", table.text());
            }
        }
        text
    }

    /// Writes `report.txt`, `report.json` and the pictures into a folder.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        super::write(&folder.join("report.txt"), self.text().as_bytes())?;
        super::write(&folder.join("report.json"), &serde_json::to_vec_pretty(self)?)?;
        for section in &self.sections {
            for (svg, at) in section.tables.iter().filter_map(picture::bars).zip(1..) {
                super::write(&folder.join(format!("{}-{at}.svg", section.name)), svg.as_bytes())?;
            }
        }
        Ok(())
    }
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

    /// Adds a sentence below.
    pub(crate) fn note(&mut self, note: &str) {
        self.notes.push(note.to_owned());
    }

    fn text(&self) -> String {
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

/// Cores, memory and system of this machine.
pub(crate) fn machine() -> String {
    format!(
        "{} cores, {} GB of memory, {}",
        super::serve::cores(),
        postgres::machine_memory() >> 30,
        std::env::consts::OS
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_as_wide_as_its_cells() {
        let cells = |row: &[&str]| row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let table = Table {
            title: "sizes".to_owned(),
            columns: cells(&["what", "MB"]),
            rows: vec![cells(&["titles", "20"]), cells(&["é", "1672"])],
            notes: vec!["of one run".to_owned()],
        };
        assert_eq!(
            table.text(),
            "sizes\n  what      MB\n  titles    20\n  é       1672\n  of one run\n"
        );
    }
}
