//! Outcomes of experiments as text, JSON and pictures.

mod picture;
mod table;

use std::fmt::Write as _;
use std::io::Result;

use serde::Serialize;

pub(crate) use table::Table;

use crate::shared;

/// All measurements.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The machine.
    pub(crate) machine: String,
    /// One section for each system.
    pub(crate) sections: Vec<Section>,
}

/// The measurements of one system.
#[derive(Debug, Serialize)]
pub(crate) struct Section {
    /// A word, for file names.
    pub(crate) name: &'static str,
    /// The subject of the experiment.
    pub(crate) title: String,
    /// The tables, in order.
    pub(crate) tables: Vec<Table>,
}

impl Report {
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "codesearch, reference experiments, {}\ntimes of one run on one machine: compare them with each other only\n",
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

    /// Writes the records `NAME.txt`, `NAME.json` and a picture for each table.
    pub(crate) fn write(&self, name: &str) -> Result<()> {
        shared::record(&format!("{name}.txt"), &self.text())?;
        shared::record(&format!("{name}.json"), &serde_json::to_string_pretty(self)?)?;
        for section in &self.sections {
            for (svg, at) in section.tables.iter().filter_map(picture::bars).zip(1..) {
                // The name of a record of one experiment contains that already.
                let file = match self.sections.len() {
                    1 => format!("{name}-{at}.svg"),
                    _ => format!("{name}-{}-{at}.svg", section.name),
                };
                shared::record(&file, &svg)?;
            }
        }
        Ok(())
    }
}

/// Describes this machine: cores, memory and system.
pub(crate) fn machine() -> String {
    format!(
        "{} cores, {} GB of memory, {}",
        crate::index::cores(),
        postgres::Memory::available().bytes >> 30,
        std::env::consts::OS
    )
}
