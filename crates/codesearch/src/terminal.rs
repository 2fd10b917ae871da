//! Standard output and error for lines that name files, repositories or queries. The names come from anybody and must
//! not control the reader's terminal: on a terminal, pictures replace control characters.

use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{self, IsTerminal, Write};

/// Prints a line to stdout.
///
/// # Errors
/// It cannot be written; the reader may have closed the pipe.
pub(crate) fn say(line: Arguments<'_>) -> io::Result<()> {
    writeln!(Escaped::of(io::stdout()), "{line}")
}

/// Prints a line to stderr, if it can be written.
pub(crate) fn note(line: Arguments<'_>) {
    let _ = writeln!(Escaped::of(io::stderr()), "{line}");
}

/// An output in which control characters other than tabs and line feeds are replaced if it is a terminal.
pub(crate) struct Escaped<W> {
    out: W,
    is_terminal: bool,
}

impl<W> Escaped<W> {
    /// Makes an output that replaces control characters if it `is_terminal`.
    pub(crate) fn new(out: W, is_terminal: bool) -> Self {
        Self { out, is_terminal }
    }
}

impl<W: Write + IsTerminal> Escaped<W> {
    fn of(out: W) -> Self {
        Self { is_terminal: out.is_terminal(), out }
    }
}

impl<W: Write> Write for Escaped<W> {
    /// Writes all bytes, which must be whole characters, as `write!` passes them.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.out.write(bytes);
        }
        for line in String::from_utf8_lossy(bytes).split_inclusive('\n') {
            let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
            self.out.write_all(escape_controls(text).as_bytes())?;
            self.out.write_all(end.as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Replaces control characters by pictures. A file may come from anybody; it must not control the terminal, nor reorder
/// its characters (<https://trojansource.codes/>).
pub(crate) fn escape_controls(text: &str) -> Cow<'_, str> {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_control = |c: char| c.is_control() && c != '\t' || turns(c);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_told_nothing_by_a_file() {
        assert_eq!(escape_controls("é\tplain"), "é\tplain");
        assert_eq!(escape_controls("\u{1b}]0;x\u{7}\r\u{7f}\u{9b}"), "␛]0;x␇␍␡\u{fffd}");
        assert_eq!(escape_controls("a\u{202e}b\u{2066}c"), "a\u{fffd}b\u{fffd}c");
    }

    #[test]
    fn lines_stay_lines_and_controls_do_not_reach_a_terminal() {
        let written = |is_terminal| {
            let mut out = Escaped { out: Vec::new(), is_terminal };
            writeln!(out, "a\u{1b}[2J\u{7}\nnext\tb\u{9b}1m").unwrap();
            String::from_utf8(out.out).unwrap()
        };
        assert_eq!(written(true), "a␛[2J␇\nnext\tb\u{fffd}1m\n");
        assert_eq!(written(false), "a\u{1b}[2J\u{7}\nnext\tb\u{9b}1m\n");
    }
}
