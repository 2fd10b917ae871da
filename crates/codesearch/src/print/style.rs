//! Colours: those of ripgrep, in the same escape sequences.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::cli::Color;
use crate::console::Console;
use crate::terminal::escape_controls;

pub(super) const PATH: Style = AnsiColor::Magenta.on_default();
pub(super) const NUMBER: Style = AnsiColor::Green.on_default();
pub(super) const COLUMN: Style = Style::new();
pub(super) const MATCH: Style = AnsiColor::Red.on_default().bold();

pub(super) const ADDED: Style = AnsiColor::Green.on_default();
pub(super) const REMOVED: Style = AnsiColor::Red.on_default();
pub(super) const COMMIT: Style = AnsiColor::Yellow.on_default();

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
