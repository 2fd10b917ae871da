//! Prints results: as text for people and pipes, or as ripgrep's JSON lines.

pub(crate) mod ask;
mod blocks;
pub(crate) mod diff;
pub(crate) mod docs;
mod json;
mod line;
mod replace;
mod rows;
mod style;
mod text;

use std::io::{self, Write};
use std::path::PathBuf;

use answer::FileMatch;
use search::Stats;

use request::Here;
use request::explain::{self, Explain};

use crate::console::Console;

pub(crate) use json::Json;
pub(crate) use replace::Replacer;
pub(crate) use rows::rows;
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

/// How paths are printed: those of the current folder's repository from this folder, others below the names of their
/// repositories.
#[expect(clippy::struct_excessive_bools, reason = "they are independent")]
pub(crate) struct Paths {
    here: Here,
    /// Whether all paths are absolute, in the folders of their repositories.
    local: bool,
    /// Whether the paths of other repositories are. A program is to open all paths, or none.
    others_local: bool,
    /// Whether paths of other repositories are printed from the current folder, if they are below it.
    shortens: bool,
    on_same_machine: bool,
}

impl Paths {
    /// Chooses the form of paths for a console, whose folder is `here`.
    pub(crate) fn of(here: Here, console: &Console, local: bool) -> Self {
        let others_local = here.inside().is_some() && !console.stdout_is_terminal;
        Self {
            here,
            local,
            others_local,
            shortens: false,
            on_same_machine: console.on_same_machine,
        }
    }

    /// Prints all paths below the current folder from this folder.
    pub(crate) fn shortened(self) -> Self {
        Self { shortens: true, ..self }
    }

    /// Returns the current folder's place.
    pub(crate) fn here(&self) -> &Here {
        &self.here
    }

    /// Returns a file's path in its printed form.
    pub(crate) fn of_file(&self, file: &FileMatch) -> String {
        self.in_trees(&file.repo, &file.trees, &file.path)
    }

    /// Returns the file to which a hyperlink leads; `None` if it is known not to exist.
    fn link(&self, file: &FileMatch) -> Option<PathBuf> {
        let target = self.here.file(&file.repo, &file.trees, &file.path)?;
        (!self.on_same_machine || target.exists()).then_some(target)
    }

    /// Returns a path of a repository in its printed form.
    pub(crate) fn joined(&self, repo: &str, path: &str) -> String {
        self.in_trees(repo, &[], path)
    }

    /// Returns a path of some trees of a repository in its printed form.
    pub(crate) fn in_trees(&self, repo: &str, trees: &[String], path: &str) -> String {
        let below = || self.here.below_folder(repo, trees, path).filter(|_| self.shortens);
        let relative = || self.here.relative(repo, trees, path).or_else(below);
        let relative = if self.local { None } else { relative() };
        let local = || {
            let wanted = self.local || self.others_local;
            self.here.file(repo, trees, path).filter(|_| wanted)
        };
        relative.unwrap_or_else(|| match local() {
            Some(file) => file.to_string_lossy().into_owned(),
            // The folder of a repository removed in the meantime is unknown.
            None => format!("{repo}/{path}"),
        })
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
