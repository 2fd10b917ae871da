//! What a text must not be for its symbols to be taken, and how long that may last.

use std::cell::RefCell;
use std::fmt;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, Parser, Tree};

use crate::blanks::Blanks;
use crate::grammar::Grammar;

/// Most bytes of a text. What people wrote is rarely larger, though the best known file of a project may be half as large.
pub const MAX_BYTES: usize = 640 << 10;

/// Mean length of lines, in bytes, from which on a text counts as minified.
pub const MAX_LINE_BYTES: usize = 500;

/// Most brackets that are open at once. In error recovery, a parser takes a time that grows with the square of it, and
/// does not ask whether to go on.
pub const MAX_NESTING: usize = 500;

/// Longest time for a text, in seconds. Of 28,000 files of all kinds, the slowest took 0.33.
pub const MAX_SECONDS: u64 = 3;

/// Most steps of the parser for each byte, beyond [`FREE_STEPS`]. Of 7,400 files in 15 languages, none took more than 2.7.
/// What takes more is in error recovery, where each step may take time and memory that grow with all that was read.
const MAX_STEPS: usize = 6;

/// Steps for short texts.
const FREE_STEPS: usize = 20_000;

/// Steps of the parser after which it asks whether to go on.
const STEPS_BETWEEN: usize = 100;

/// Most symbols of a text: their indexes are stored in 15 bits.
pub const MAX_SYMBOLS: usize = i16::MAX as usize;

/// Most bytes of a name.
pub const MAX_NAME_BYTES: usize = 1000;

/// Why not all symbols of a text were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// It has more than [`MAX_BYTES`].
    TooLarge,
    /// Its lines are longer than [`MAX_LINE_BYTES`] on average.
    Minified,
    /// It has more than [`MAX_NESTING`] open brackets.
    TooNested,
    /// It took more steps than a text of its size should, or longer than [`MAX_SECONDS`].
    TooSlow,
    /// It defines more than [`MAX_SYMBOLS`]; the first ones were taken.
    TooMany,
    /// The parser took too much memory, or failed otherwise.
    ParserFailed,
    /// A name has more than [`MAX_NAME_BYTES`]; the others were taken.
    LongName,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 7] = [
        Self::TooLarge,
        Self::Minified,
        Self::TooNested,
        Self::TooSlow,
        Self::TooMany,
        Self::ParserFailed,
        Self::LongName,
    ];

    /// Returns the word that stands for it in the index.
    pub fn word(self) -> &'static str {
        match self {
            Self::TooLarge => "too-large",
            Self::Minified => "minified",
            Self::TooNested => "too-nested",
            Self::TooSlow => "too-slow",
            Self::TooMany => "too-many",
            Self::ParserFailed => "parser-failed",
            Self::LongName => "long-name",
        }
    }

    /// Returns the reason that a word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.word() == word)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "too large",
            Self::Minified => "minified",
            Self::TooNested => "nested too deeply",
            Self::TooSlow => "slow to parse",
            Self::TooMany => "more than 32,767 symbols",
            Self::ParserFailed => "not parsed within the limits",
            Self::LongName => "names longer than 1,000 bytes",
        })
    }
}

/// Refuses a text that is not worth parsing or may take too long.
pub(crate) fn check(text: &str) -> Result<(), Reason> {
    if text.len() > MAX_BYTES {
        return Err(Reason::TooLarge);
    }
    let (mut lines, mut open, mut deepest) = (1, 0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'\n' => lines += 1,
            b'(' | b'[' | b'{' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    if text.len() / lines >= MAX_LINE_BYTES {
        return Err(Reason::Minified);
    }
    if deepest > MAX_NESTING {
        return Err(Reason::TooNested);
    }
    Ok(())
}

thread_local! {
    /// A parser allocates much: each thread keeps one.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// Parses a text, unless that takes too long.
pub(crate) fn parse(grammar: &Grammar, text: &str) -> Result<Tree, Reason> {
    let end = Instant::now() + Duration::from_secs(MAX_SECONDS);
    let most = (text.len() * MAX_STEPS + FREE_STEPS) / STEPS_BETWEEN;
    let mut asked = 0;
    let mut go_on = |_: &_| {
        asked += 1;
        if asked > most || Instant::now() > end {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(&grammar.language()).expect("the parser knows the grammar's version");
        // A parser goes on with a text that it was stopped in.
        parser.reset();
        let options = ParseOptions::new().progress_callback(&mut go_on);
        let mut blanks = Blanks::new(text);
        if let Some(blank) = grammar.blank {
            blank(&mut blanks);
        }
        let bytes = blanks.into_bytes();
        let tree = parser.parse_with_options(
            &mut |at, _| bytes.get(at..).unwrap_or_default(),
            None,
            Some(options),
        );
        tree.ok_or(Reason::TooSlow)
    })
}
