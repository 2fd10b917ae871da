//! Limits on texts whose symbols are taken, and on the time that this takes.

use std::cell::RefCell;
use std::fmt;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, Parser, Tree};

use crate::blanks::Blanks;
use crate::grammar::Grammar;

/// Maximum size of a text in bytes. Texts by people are rarely larger, though the best known file of a project may have
/// half of this.
pub const MAX_BYTES: usize = 640 << 10;

/// Mean line length, in bytes, from which a text counts as minified.
pub const MAX_LINE_BYTES: usize = 500;

/// Maximum number of brackets open at once. In error recovery, a parser takes time quadratic in it, and never checks
/// whether to go on.
pub const MAX_NESTING: usize = 500;

/// Maximum time for a text, in seconds. Of 28,000 files of all kinds, the slowest took 0.33.
pub const MAX_SECONDS: u64 = 3;

/// Maximum number of parser steps for each byte, beyond [`FREE_STEPS`]. Of 7,400 files in 15 languages, none took more
/// than 2.7. A text that takes more is in error recovery, where each step may take time and memory proportional to the
/// text so far.
const MAX_STEPS: usize = 6;

/// Steps allowed for short texts.
const FREE_STEPS: usize = 20_000;

/// Steps of the parser between two checks whether to go on.
const STEPS_BETWEEN: usize = 100;

/// Maximum number of symbols in a text: their indexes are stored in 15 bits.
pub const MAX_SYMBOLS: usize = i16::MAX as usize;

/// Maximum size of a name in bytes.
pub const MAX_NAME_BYTES: usize = 1000;

/// The reason why some symbols of a text were not taken.
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
    /// The parser ran out of memory, or failed otherwise.
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

    /// Returns the word for the reason in the index.
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

    /// Returns the reason for a word.
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

/// Rejects a text that is not worth parsing or may take too long.
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
    /// Each thread keeps a parser, since a parser allocates a lot.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// Parses a text within the limits.
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
        // Otherwise the parser would resume the interrupted text.
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
