//! Matches as text, as ripgrep prints them: on a terminal in colour below a heading, on a pipe one
//! `path:line:text` a line.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use engine::search::{FileMatch, Line, Stats};
use query::Select;

use super::{Paths, Printer};
use crate::cli::{Color, SearchArgs};

pub(super) const PATH: Style = AnsiColor::Magenta.on_default();
const NUMBER: Style = AnsiColor::Green.on_default();
pub(super) const MATCH: Style = AnsiColor::Red.on_default().bold();

/// Characters of a line shown on a terminal: a few lines of it, not a screen full of minified code.
const TERMINAL_COLUMNS: usize = 500;

/// Whether to print in colours.
pub(super) fn coloured(when: Color, terminal: bool) -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    match when {
        Color::Auto => terminal && !no_color,
        Color::Always => true,
        Color::Never => false,
    }
}

enum Mode {
    Lines,
    /// A line for each match, with its column.
    Matches,
    Paths,
    Repos,
    Counts,
}

/// Prints matches as text.
pub(crate) struct Text {
    mode: Mode,
    color: bool,
    /// Makes a text safe to print there.
    safe: fn(&str) -> Cow<'_, str>,
    heading: bool,
    context: bool,
    paths: Paths,
    max_columns: usize,
    files: usize,
}

impl Text {
    pub(crate) fn new(args: &SearchArgs, select: Select, paths: Paths, terminal: bool) -> Self {
        Self {
            mode: match select {
                Select::Repos => Mode::Repos,
                Select::Files => Mode::Paths,
                Select::Lines if args.count => Mode::Counts,
                Select::Lines if args.vimgrep => Mode::Matches,
                Select::Lines => Mode::Lines,
            },
            color: coloured(args.color, terminal),
            safe: if terminal { pictured } else { |text| Cow::Borrowed(text) },
            heading: if terminal { !args.no_heading && !args.vimgrep } else { args.heading },
            context: [args.before_context, args.after_context, Some(args.context)]
                .iter()
                .any(|lines| lines.is_some_and(|n| n > 0)),
            paths,
            max_columns: args.max_columns.unwrap_or(if terminal { TERMINAL_COLUMNS } else { 0 }),
            files: 0,
        }
    }

    fn styled(&self, style: Style, text: &str) -> String {
        let text = (self.safe)(text);
        if self.color { format!("{style}{text}{style:#}") } else { text.into_owned() }
    }

    /// Prints a line; with the column of a match in it, if one is given.
    fn line(
        &self,
        out: &mut dyn Write,
        path: &str,
        line: &Line,
        column: Option<usize>,
    ) -> io::Result<()> {
        let mark = if line.ranges.is_empty() { '-' } else { ':' };
        if !self.heading {
            write!(out, "{}{mark}", self.styled(PATH, path))?;
        }
        write!(out, "{}{mark}", self.styled(NUMBER, &line.number.to_string()))?;
        if let Some(column) = column {
            write!(out, "{column}{mark}")?;
        }
        let (shown, more) = self.shown(line);
        let mut at = 0;
        for range in line.ranges.iter().filter(|range| self.color && !range.is_empty()) {
            let (start, end) = (range.start.min(shown), range.end.min(shown));
            let (before, found) = (&line.text[at..start], &line.text[start..end]);
            write!(out, "{}{}", (self.safe)(before), self.styled(MATCH, found))?;
            at = end;
        }
        // A line may end with a carriage return before its line feed: there it does nothing.
        let rest = &line.text[at..shown];
        let (rest, end) = rest.strip_suffix('\r').map_or((rest, ""), |rest| (rest, "\r"));
        writeln!(out, "{}{end}{more}", (self.safe)(rest))
    }

    /// How many bytes of a line are shown, and what is said of the rest.
    fn shown(&self, line: &Line) -> (usize, String) {
        let all = (line.text.len(), String::new());
        if self.max_columns == 0 || line.text.len() <= self.max_columns {
            return all;
        }
        match line.text.char_indices().nth(self.max_columns) {
            None => all,
            Some((at, _)) => {
                let beyond = line.ranges.iter().filter(|range| range.end > at).count();
                let more = match beyond {
                    0 => format!(" [... {} more bytes]", line.text.len() - at),
                    n => {
                        format!(" [... {} more bytes, with {n} more matches]", line.text.len() - at)
                    }
                };
                (at, more)
            }
        }
    }
}

/// A text as it may be printed on a terminal: with a picture in the place of each control character. A file may be
/// anybody's, and what it says to the terminal is not for it to say.
pub(super) fn pictured(text: &str) -> Cow<'_, str> {
    let is_control = |c: char| c.is_control() && c != '\t';
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let picture = |c: char| match u32::from(c) {
        _ if !is_control(c) => Some(c),
        code @ 0..0x20 => char::from_u32(0x2400 + code),
        0x7f => Some('\u{2421}'),
        _ => None,
    };
    text.chars().map(|c| picture(c).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

impl Printer for Text {
    fn file(&mut self, out: &mut dyn Write, file: &FileMatch) -> io::Result<()> {
        let path = self.paths.of(file);
        let first = self.files == 0;
        self.files += 1;
        match self.mode {
            Mode::Paths => return writeln!(out, "{}", self.styled(PATH, &path)),
            Mode::Repos => return writeln!(out, "{}", self.styled(PATH, &file.repo)),
            Mode::Counts => {
                return writeln!(out, "{}:{}", self.styled(PATH, &path), file.matches());
            }
            Mode::Matches if file.lines.is_empty() => {
                // Vim takes neither a bare path nor one without a text behind it.
                let name = path.rsplit('/').next().unwrap_or(&path);
                return writeln!(out, "{}:1:1:{}", self.styled(PATH, &path), (self.safe)(name));
            }
            Mode::Lines | Mode::Matches => {}
        }
        // Found by its path, or by what is not in it.
        if file.lines.is_empty() && !self.heading {
            return writeln!(out, "{}", self.styled(PATH, &path));
        }
        if self.heading {
            if !first {
                writeln!(out)?;
            }
            writeln!(out, "{}", self.styled(PATH, &path))?;
        } else if self.context && !first {
            writeln!(out, "--")?;
        }
        let mut last = None;
        for line in &file.lines {
            if self.context && last.is_some_and(|last| last + 1 < line.number) {
                writeln!(out, "--")?;
            }
            last = Some(line.number);
            if matches!(self.mode, Mode::Matches) && !line.ranges.is_empty() {
                for range in &line.ranges {
                    self.line(out, &path, line, Some(range.start + 1))?;
                }
            } else {
                self.line(out, &path, line, None)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, _: &mut dyn Write, _: &Stats) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_told_nothing_by_a_file() {
        assert_eq!(pictured("é\tplain"), "é\tplain");
        assert_eq!(pictured("\u{1b}]0;x\u{7}\r\u{7f}\u{9b}"), "␛]0;x␇␍␡\u{fffd}");
    }
}
