//! Prints results: as text for people and pipes, or as ripgrep's JSON lines.

mod blocks;
pub(crate) mod docs;
mod explain;
mod json;
mod line;
mod replace;
mod rows;
mod scip;
mod style;
mod terminal;
mod text;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::Path;

use engine::navigate::{Outline, SymbolsState};
use engine::search::{FileMatch, Stats};
use engine::View;

use crate::human::{count, grouped};

pub(crate) use explain::{Explain, explained, explanation, score, scores};
pub(crate) use json::Json;
pub(crate) use replace::Replacer;
pub(crate) use rows::rows;
pub(crate) use scip::{scip_json, scip_text};
pub(crate) use terminal::{note, say, stdout};
pub(crate) use text::{Text, keep_first, spans_lines};

/// Prints the files of one search.
pub(crate) trait Printer {
    /// Prints a file.
    fn file(&mut self, out: &mut dyn Write, file: &FileMatch) -> io::Result<()>;
    /// Prints near definitions, before the files: they are no matches, and said to be none.
    fn near(&mut self, _: &mut dyn Write, _: &[FileMatch]) -> io::Result<()> {
        Ok(())
    }
    /// Prints the end of the output.
    fn end(&mut self, out: &mut dyn Write, stats: &Stats) -> io::Result<()>;
}

/// Prints nothing; the exit status is the answer.
pub(crate) struct Silent;

impl Printer for Silent {
    fn file(&mut self, _: &mut dyn Write, _: &FileMatch) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, _: &mut dyn Write, _: &Stats) -> io::Result<()> {
        Ok(())
    }
}

/// The form in which paths are printed.
pub(crate) enum Paths {
    /// Below the names of their repositories.
    Named,
    /// Below the folders that the repositories were read from, by their names. Such paths can be opened.
    Local(HashMap<String, String>),
}

impl Paths {
    /// Chooses paths that can be opened, or those of the index.
    pub(crate) async fn new(view: &View, local: bool) -> Result<Self, store::Error> {
        if !local {
            return Ok(Self::Named);
        }
        let repos = view.repos().await?.into_iter();
        Ok(Self::Local(repos.map(|repo| (repo.name, repo.source)).collect()))
    }

    /// Returns a file's path in its printed form.
    fn of(&self, file: &FileMatch) -> String {
        self.joined(&file.repo, &file.path)
    }

    /// Returns a path of a repository in its printed form.
    pub(crate) fn joined(&self, repo: &str, path: &str) -> String {
        let folder = match self {
            Paths::Named => None,
            Paths::Local(folders) => folders.get(repo).map(String::as_str),
        };
        // A repository removed since then has no known folder.
        Path::new(folder.unwrap_or(repo)).join(path).to_string_lossy().into_owned()
    }
}

/// Returns the numbers of files that are not in the index, by reason: `12 binary, 3 too-large`.
pub(crate) fn skipped(stats: &Stats) -> String {
    reasons(&stats.skipped)
}

/// Formats numbers by reason.
pub(crate) fn reasons(skipped: &BTreeMap<String, usize>) -> String {
    let parts: Vec<String> =
        skipped.iter().map(|(reason, count)| format!("{} {reason}", grouped(*count))).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

/// What a search for symbols could not find, as a sentence without a full stop; none if it could find all.
pub(crate) fn symbols_left(stats: &Stats) -> Option<String> {
    let left = &stats.symbols;
    if let Some(language) = left.without.first() {
        return Some(format!(
            "no symbols are taken of files in {language}; search for text instead"
        ));
    }
    let pending = (left.pending > 0).then(|| {
        let files = count(left.pending, "file");
        format!("the symbols of {files} are not there yet; codesearch symbols takes them")
    });
    let given_up: usize = left.given_up.values().sum();
    let given_up = (given_up > 0).then(|| {
        let (files, why) = (count(given_up, "file"), reasons(&left.given_up));
        format!(
            "symbols of {files} were given up ({why}); search for text to find what they define"
        )
    });
    let all: Vec<String> = pending.into_iter().chain(given_up).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// What is to be said of an outline beside its symbols.
pub(crate) fn outline_note(outline: &Outline) -> String {
    let language = outline.language.as_deref().unwrap_or("an unknown language");
    match &outline.state {
        SymbolsState::Taken if outline.symbols.is_empty() => "the file defines nothing".to_owned(),
        SymbolsState::Taken => String::new(),
        SymbolsState::Pending => {
            "its symbols are not there yet; codesearch symbols takes them".to_owned()
        }
        SymbolsState::GivenUp(reason) => {
            format!("its symbols, or some of them, were given up: {reason}")
        }
        SymbolsState::Without => format!("no symbols are taken of files in {language}"),
    }
}
