//! Prints results: as text for people and pipes, or as ripgrep's JSON lines.

mod blocks;
pub(crate) mod docs;
mod json;
mod line;
mod replace;
mod rows;
mod style;
mod terminal;
mod text;

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use answer::FileMatch;
use search::Stats;
use search::View;

use request::explain::{self, Explain};

pub(crate) use json::Json;
pub(crate) use replace::Replacer;
pub(crate) use rows::rows;
pub(crate) use terminal::{Escaped, note, say};
pub(crate) use text::{Text, keep_first, spans_lines};

/// Prints the files of one search.
pub(crate) trait Printer {
    /// Prints a file.
    fn file(&mut self, out: &mut dyn Write, file: &FileMatch) -> io::Result<()>;
    /// Prints near definitions before the files, labelled as such since they are no matches.
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
    /// Below the folders of the repositories, by repository name. Such paths can be opened.
    Local(HashMap<String, String>),
}

impl Paths {
    /// Chooses between paths that can be opened and those of the index.
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
        // The folder of a repository removed in the meantime is unknown.
        Path::new(folder.unwrap_or(repo)).join(path).to_string_lossy().into_owned()
    }
}

impl Printer for Explain {
    fn file(&mut self, _: &mut dyn Write, _: &FileMatch) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write, stats: &Stats) -> io::Result<()> {
        self.planned(out)?;
        explain::done(out, stats)
    }
}
