//! Prints changed files: as a unified diff, as numbers, as paths or as JSON.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use answer::LineChange;
use request::changes::{CONTEXT, Row, Totals, file_json, rows};
use search::changes::{ChangedFile, Contents, DiffLine};

use super::Paths;
use super::style::{Ink, coloured};
use crate::cli::DiffArgs;
use crate::console::Console;

pub(super) const HEAD: Style = Style::new().bold();
pub(super) const PLACE: Style = AnsiColor::Cyan.on_default();
pub(super) const ADDED: Style = AnsiColor::Green.on_default();
pub(super) const REMOVED: Style = AnsiColor::Red.on_default();

/// Most signs that show how many lines of a file changed.
const MAX_SIGNS: usize = 40;

/// The numbers of added and removed lines, or why they are unknown.
type Counts = Result<(usize, usize), &'static str>;

enum Form {
    Unified,
    Stat,
    Names,
    Json,
}

/// Prints the changed files of a repository.
pub(crate) struct DiffPrinter<'a> {
    form: Form,
    ink: Ink,
    context: usize,
    repo: &'a str,
    paths: Paths,
    /// For numbers: the names of the files, and the numbers of added and removed lines or why they are unknown.
    counted: Vec<(String, Counts)>,
    totals: Totals,
}

impl<'a> DiffPrinter<'a> {
    pub(crate) fn new(args: &DiffArgs, console: &Console, repo: &'a str, paths: Paths) -> Self {
        let form = match (args.stat, args.name_only, args.json) {
            (true, ..) => Form::Stat,
            (_, true, _) => Form::Names,
            (.., true) => Form::Json,
            _ => Form::Unified,
        };
        let ink = Ink::new(coloured(args.color, console), console.stdout_is_terminal);
        let context = args.unified.unwrap_or(CONTEXT);
        Self { form, ink, context, repo, paths, counted: Vec::new(), totals: Totals::default() }
    }

    /// Prints a file.
    pub(crate) fn file(&mut self, out: &mut dyn Write, file: &ChangedFile) -> io::Result<()> {
        self.totals.add(file);
        match self.form {
            Form::Unified => self.unified(out, file),
            Form::Names => {
                let path = self.paths.joined(self.repo, file.path());
                self.ink.plain(out, &path)?;
                writeln!(out)
            }
            Form::Json => {
                let mut line = file_json(file, Some(self.context));
                line["repo"] = self.repo.into();
                writeln!(out, "{line}")
            }
            Form::Stat => {
                let name = match file.renamed_from() {
                    Some(from) => format!("{from} => {}", file.path()),
                    None => file.path().to_owned(),
                };
                let counts = match (file.counts(), &file.contents) {
                    (None, Contents::LeftOut(why)) => Err(*why),
                    (counts, _) => Ok(counts.unwrap_or_default()),
                };
                self.counted.push((name, counts));
                Ok(())
            }
        }
    }

    fn unified(&self, out: &mut dyn Write, file: &ChangedFile) -> io::Result<()> {
        for row in rows(file, self.context) {
            let style = match &row {
                Row::Head(_) => HEAD,
                Row::Place(_) => PLACE,
                Row::Line(DiffLine { change: Some(LineChange::Added), .. }) => ADDED,
                Row::Line(DiffLine { change: Some(LineChange::Removed), .. }) => REMOVED,
                Row::Line(_) | Row::Unended => Style::new(),
            };
            // A carriage return before the line feed is harmless on a terminal.
            let (text, end) =
                row.text().strip_suffix('\r').map_or((row.text(), ""), |text| (text, "\r"));
            if style == Style::new() {
                out.write_all(row.sign().as_bytes())?;
                self.ink.plain(out, text)?;
            } else {
                self.ink.styled(out, style, &format!("{}{text}", row.sign()))?;
            }
            writeln!(out, "{end}")?;
        }
        Ok(())
    }

    /// Prints the end.
    pub(crate) fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !matches!(self.form, Form::Stat) || self.counted.is_empty() {
            return Ok(());
        }
        let sum = |counts: &Result<(usize, usize), &str>| counts.map_or(0, |(a, r)| a + r);
        let width = self.counted.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let most = self.counted.iter().map(|(_, counts)| sum(counts)).max().unwrap_or(0);
        let digits = most.to_string().len();
        for (name, counts) in &self.counted {
            let pad = width - name.chars().count();
            out.write_all(b" ")?;
            self.ink.plain(out, name)?;
            match counts {
                Err(why) => writeln!(out, "{:pad$} | {why}", "")?,
                Ok((added, removed)) => {
                    write!(out, "{:pad$} | {:>digits$}", "", added + removed)?;
                    let signs = |lines: usize| match lines * MAX_SIGNS / most.max(MAX_SIGNS) {
                        0 => usize::from(lines > 0),
                        signs => signs,
                    };
                    let (plus, minus) = ("+".repeat(signs(*added)), "-".repeat(signs(*removed)));
                    if added + removed > 0 {
                        out.write_all(b" ")?;
                        self.ink.styled(out, ADDED, &plus)?;
                        self.ink.styled(out, REMOVED, &minus)?;
                    }
                    writeln!(out)?;
                }
            }
        }
        writeln!(out, " {}", self.totals.text())
    }
}
