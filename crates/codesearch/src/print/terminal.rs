//! Standard output and error for lines that name files, repositories or queries. The names come from anybody and must
//! not control the reader's terminal: on a terminal, pictures replace control characters.

use std::fmt::Arguments;
use std::io::{self, IsTerminal, Write};

use super::style::escape_controls;

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

#[cfg(test)]
mod tests {
    use super::*;

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
