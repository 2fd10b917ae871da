//! Colours: those of ripgrep, in the same escape sequences.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::cli::Color;
use crate::console::Console;

pub(super) const PATH: Style = AnsiColor::Magenta.on_default();
pub(super) const NUMBER: Style = AnsiColor::Green.on_default();
pub(super) const COLUMN: Style = Style::new();
pub(super) const MATCH: Style = AnsiColor::Red.on_default().bold();

/// Printed before and after a style.
const RESET: &str = "\u{1b}[0m";

/// Returns whether to print in colour.
pub(super) fn coloured(when: Color, console: &Console) -> bool {
    match when {
        Color::Auto => console.stdout_is_terminal && !console.no_color,
        Color::Always => true,
        Color::Never => false,
    }
}

/// How text is printed: with or without colour, on a terminal or elsewhere.
#[derive(Clone, Copy)]
pub(super) struct Ink {
    pub(super) color: bool,
    /// Makes a text safe to print on this output.
    safe: fn(&str) -> Cow<'_, str>,
}

impl Ink {
    pub(super) fn new(color: bool, terminal: bool) -> Self {
        Self { color, safe: if terminal { escape_controls } else { |text| Cow::Borrowed(text) } }
    }

    /// Returns a text in a form that is safe to print on this output.
    pub(super) fn safe(self, text: &str) -> Cow<'_, str> {
        (self.safe)(text)
    }

    pub(super) fn plain(self, out: &mut dyn Write, text: &str) -> io::Result<()> {
        out.write_all((self.safe)(text).as_bytes())
    }

    pub(super) fn styled(self, out: &mut dyn Write, style: Style, text: &str) -> io::Result<()> {
        if !self.color {
            return self.plain(out, text);
        }
        write!(out, "{RESET}{style}")?;
        self.plain(out, text)?;
        out.write_all(RESET.as_bytes())
    }
}

/// Replaces control characters by pictures. A file may come from anybody; it must not control the terminal, nor reorder
/// its characters (<https://trojansource.codes/>).
pub(super) fn escape_controls(text: &str) -> Cow<'_, str> {
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
}
