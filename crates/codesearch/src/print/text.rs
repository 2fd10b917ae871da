//! Matches as text, as ripgrep prints them: in colour below headings on a terminal, one `path:line:text` per line into
//! a pipe.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use answer::{Commit, FileMatch};
use anyhow::{Result, bail};
use query::Select;
use search::{Request, Stats};

use super::blocks::{blocks, count_matches};
use super::line::Lines;
use super::replace::Replacer;
use super::style::{Ink, PATH, coloured};
use super::{Paths, Printer};
use crate::cli::{Color, HyperlinkFormat, OutputArgs};
use crate::console::Console;
use request::human::{self, count};

/// Most bytes of a line shown on a terminal: a few rows, instead of a screen full of minified code.
const TERMINAL_COLUMNS: usize = 500;

enum Mode {
    Lines,
    Paths,
    Repos,
    /// The number of matching lines.
    Counts,
    /// The number of matches.
    MatchCounts,
}

/// Prints matches as text.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(crate) struct Text {
    mode: Mode,
    lines: Lines,
    heading: bool,
    /// Whether identical copies are named, not only counted.
    lists_copies: bool,
    filename: bool,
    vimgrep: bool,
    /// The line between groups of lines, if there is context.
    separator: Option<String>,
    context: bool,
    /// Whether a pattern spans lines.
    spans_lines: bool,
    paths: Paths,
    files: usize,
    /// The commit of the file before.
    commit: Option<Arc<Commit>>,
}

impl Text {
    /// Makes a printer from the options.
    ///
    /// # Errors
    /// A separator has an invalid escape.
    pub(crate) fn new(
        args: &OutputArgs,
        request: &Request,
        crlf: bool,
        paths: Paths,
        replacer: Option<Replacer>,
        console: &Console,
    ) -> Result<Self> {
        let terminal = console.stdout_is_terminal;
        let select = request.query().settings.select;
        let spans_lines = spans_lines(request);
        let color = if args.pretty { Color::Always } else { args.color };
        let usual = if terminal && args.is_for_people() { TERMINAL_COLUMNS } else { 0 };
        let color = coloured(color, console);
        let links = match &args.hyperlink_format {
            Some(format) if color => format.clone(),
            None if color && terminal && args.is_for_people() && console.on_same_machine => {
                HyperlinkFormat::file()
            }
            _ => HyperlinkFormat::default(),
        };
        let separators =
            (unescaped(&args.field_match_separator)?, unescaped(&args.field_context_separator)?);
        Ok(Self {
            mode: match select {
                Select::Repos => Mode::Repos,
                Select::Files => Mode::Paths,
                Select::Lines | Select::Symbols
                    if args.count_matches || args.count && (args.only_matching || spans_lines) =>
                {
                    Mode::MatchCounts
                }
                Select::Lines | Select::Symbols if args.count => Mode::Counts,
                Select::Lines | Select::Symbols => Mode::Lines,
            },
            lines: Lines {
                ink: Ink::new(color, terminal),
                links,
                number: !args.no_line_number,
                column: args.column || args.vimgrep,
                byte_offset: args.byte_offset,
                null: args.null,
                per_match: args.vimgrep,
                only_matching: args.only_matching,
                replacer,
                trim: args.trim,
                max_columns: args.max_columns.unwrap_or(usual),
                preview: args.max_columns_preview || args.max_columns.is_none(),
                end: if crlf { "\r\n" } else { "\n" },
                separators,
            },
            heading: args.has_headings(terminal),
            lists_copies: args.copies,
            filename: !args.no_filename,
            vimgrep: args.vimgrep,
            separator: if args.no_context_separator {
                None
            } else {
                Some(unescaped(&args.context_separator)?)
            },
            context: request.context != (0, 0),
            spans_lines,
            paths,
            files: 0,
            commit: None,
        })
    }

    /// Returns the file to which hyperlinks lead.
    fn link(&self, file: &FileMatch) -> Option<PathBuf> {
        if self.lines.links.is_none() { None } else { self.paths.link(file) }
    }

    /// Prints a path on a line of its own.
    fn path(&self, out: &mut dyn Write, path: &str, link: Option<&Path>) -> io::Result<()> {
        self.lines.linked(out, link, (None, None), PATH, path)?;
        out.write_all(if self.lines.null { b"\0" } else { self.lines.end.as_bytes() })
    }

    fn count(
        &self,
        out: &mut dyn Write,
        path: &str,
        link: Option<&Path>,
        count: usize,
    ) -> io::Result<()> {
        if self.filename {
            self.lines.linked(out, link, (None, None), PATH, path)?;
            out.write_all(if self.lines.null { b"\0" } else { b":" })?;
        }
        write!(out, "{count}{}", self.lines.end)
    }

    /// Prints the separator between groups of lines.
    fn gap(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.separator {
            Some(separator) if self.context => write!(out, "{separator}{}", self.lines.end),
            _ => Ok(()),
        }
    }

    /// Prints a path as a heading, with the path before a rename, and the trees if the repository has several.
    fn heading(
        &self,
        out: &mut dyn Write,
        path: &str,
        link: Option<&Path>,
        file: &FileMatch,
    ) -> io::Result<()> {
        if self.lines.null || file.trees.is_empty() && file.renamed_from.is_none() {
            return self.path(out, path, link);
        }
        self.lines.linked(out, link, (None, None), PATH, path)?;
        if let Some(before) = &file.renamed_from {
            write!(out, " (renamed from {})", self.lines.ink.safe(before))?;
        }
        if !file.trees.is_empty() {
            write!(out, " [{}]", self.lines.ink.safe(&human::trees(&file.trees)))?;
        }
        out.write_all(self.lines.end.as_bytes())
    }

    /// Prints the commit of a file, unless the file before has the same.
    fn commit(&mut self, out: &mut dyn Write, file: &FileMatch) -> io::Result<()> {
        let is_new = file.commit.is_some() && file.commit != self.commit;
        self.commit.clone_from(&file.commit);
        if let Some(commit) = self.commit.as_ref().filter(|_| is_new) {
            self.lines.commit(out, &format!("commit {}", human::commit(commit)))?;
            out.write_all(self.lines.end.as_bytes())?;
        }
        Ok(())
    }

    /// Prints how many identical copies a file has, or names them.
    fn copies(&self, out: &mut dyn Write, file: &FileMatch) -> io::Result<()> {
        if self.lists_copies {
            return file.copies.iter().try_for_each(|copy| {
                out.write_all(b"identical: ")?;
                self.path(out, &self.paths.in_trees(&copy.repo, &copy.trees, &copy.path), None)
            });
        }
        if file.copies.is_empty() {
            return Ok(());
        }
        let copies = count(file.copies.len(), "identical copy");
        write!(out, "{copies} (--copies names them){}", self.lines.end)
    }

    fn lines(
        &self,
        out: &mut dyn Write,
        path: &str,
        link: Option<&Path>,
        file: &FileMatch,
    ) -> io::Result<()> {
        let on_lines = (self.filename && !self.heading).then_some(path);
        let mut last = None;
        for block in blocks(&file.lines, self.spans_lines) {
            if last.is_some_and(|last| last + 1 < block[0].number) {
                self.gap(out)?;
            }
            last = block.last().map(|line| line.number);
            self.lines.print(out, (on_lines, link), block)?;
        }
        Ok(())
    }
}

impl Printer for Text {
    fn file(&mut self, out: &mut dyn Write, file: &FileMatch) -> io::Result<()> {
        let mut path = self.paths.of_file(file);
        let above = self.heading && matches!(self.mode, Mode::Lines);
        if let Some(commit) = file.commit.as_ref().filter(|_| !above) {
            // As git grep prints the files of a commit.
            path = format!("{}:{path}", human::short(&commit.hash));
        }
        let link = self.link(file);
        let link = link.as_deref();
        let first = self.files == 0;
        self.files += 1;
        match self.mode {
            Mode::Paths => return self.path(out, &path, link),
            Mode::Repos => return self.path(out, &file.repo, None),
            Mode::Counts => return self.count(out, &path, link, file.matches()),
            Mode::MatchCounts => return self.count(out, &path, link, count_matches(&file.lines)),
            Mode::Lines => {}
        }
        // The file matches by its path, or because its text lacks something.
        let by_path = file.lines.is_empty();
        if by_path && self.vimgrep {
            // Vim accepts neither a bare path nor one without a text after it.
            let name = path.rsplit('/').next().unwrap_or(&path);
            self.lines.ink.styled(out, PATH, &path)?;
            return writeln!(out, ":1:1:{}", self.lines.ink.safe(name));
        }
        if self.heading {
            if !first {
                writeln!(out)?;
            }
            self.commit(out, file)?;
            if self.filename || by_path {
                self.heading(out, &path, link, file)?;
            }
            self.copies(out, file)?;
        } else if by_path {
            return self.path(out, &path, link);
        } else if !first {
            self.gap(out)?;
        }
        self.lines(out, &path, link, file)
    }

    fn near(&mut self, out: &mut dyn Write, files: &[FileMatch]) -> io::Result<()> {
        // Near definitions are for people who read from the top. Output without headings is read by programs.
        if files.is_empty() || !matches!(self.mode, Mode::Lines) || !self.heading {
            return Ok(());
        }
        writeln!(out, "defined here, but without a match of the query:")?;
        for file in files {
            let (path, link) = (self.paths.of_file(file), self.link(file));
            for line in &file.lines {
                let place = (Some(path.as_str()), link.as_deref());
                self.lines.print(out, place, std::slice::from_ref(line))?;
            }
        }
        writeln!(out)
    }

    fn end(&mut self, _: &mut dyn Write, _: &Stats) -> io::Result<()> {
        Ok(())
    }
}

/// Returns whether a pattern of a search spans lines, so that adjacent lines are one result.
pub(crate) fn spans_lines(request: &Request) -> bool {
    request.compiled_query().terms.iter().any(|term| term.matcher.spans_lines())
}

/// Keeps the first matching blocks of a file with their context; `after` is the context after the last one.
pub(crate) fn keep_first(file: &mut FileMatch, spans_lines: bool, most: usize, after: usize) {
    let matching = blocks(&file.lines, spans_lines).filter(|block| !block[0].ranges.is_empty());
    let last = matching.take(most).last().and_then(|block| block.last());
    let Some(last) = last else { return };
    if file.lines.iter().any(|line| line.change.is_some()) {
        // The numbers of changed lines do not ascend: they are those of two texts.
        let kept = file.lines.iter().position(|line| std::ptr::eq(line, last));
        let more = file.lines[kept.map_or(0, |at| at + 1)..].iter();
        let context = more.take_while(|line| line.ranges.is_empty()).take(after).count();
        file.lines.truncate(kept.map_or(0, |at| at + 1) + context);
        return;
    }
    let last = last.number;
    let end = last.saturating_add(after as u64);
    file.lines.retain(|line| line.number <= end);
}

/// Replaces the escapes `\t`, `\n`, `\r`, `\0`, `\\` and `\xHH`.
fn unescaped(text: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('0') => out.push('\0'),
            Some('\\') | None => out.push('\\'),
            Some('x') => {
                let digits: String = rest.by_ref().take(2).collect();
                match u8::from_str_radix(&digits, 16) {
                    Ok(byte) if byte.is_ascii() => out.push(char::from(byte)),
                    _ => {
                        bail!("separators: \\x needs two hexadecimal digits up to 7f, not {digits}")
                    }
                }
            }
            Some(other) => out.extend(['\\', other]),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_may_have_escapes() {
        assert_eq!(unescaped(r"\t|\x00\\\q\").unwrap(), "\t|\0\\\\q\\");
        assert!(unescaped(r"\xff").is_err());
        assert!(unescaped(r"\xg").is_err());
    }
}
