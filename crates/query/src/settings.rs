//! The settings of a query (`type:`, `count:`, `timeout:`): their names, values, parsing and printing. Each applies to
//! the whole query.

use std::fmt;
use std::time::Duration;

/// Longest `timeout:`.
const MAX_TIMEOUT: Duration = Duration::from_hours(1);

/// The settings in a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The part of a matching file that is shown (`type:`).
    pub select: Select,
    /// How many results are wanted, if the query says so (`count:`).
    pub count: Option<Count>,
    /// How long the search may take, if the query says so (`timeout:`).
    pub timeout: Option<Duration>,
}

/// A setting, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Select,
    Count,
    Timeout,
    /// Another engine's setting for the kind of pattern; only regular expressions are accepted.
    PatternType,
    /// Another engine's setting for the repositories to search; only all of them are accepted.
    Context,
}

/// The names of settings; the first one of each is how it is printed.
pub(crate) const NAMES: &[(&str, Setting)] = &[
    ("type", Setting::Select),
    ("t", Setting::Select),
    ("select", Setting::Select),
    ("count", Setting::Count),
    ("timeout", Setting::Timeout),
    ("patterntype", Setting::PatternType),
    ("context", Setting::Context),
];

/// Settings to suggest to users who type a query, each with its meaning.
pub(crate) const SUGGESTIONS: &[(&str, &str)] = &[
    ("type:file", "paths only"),
    ("type:repo", "repositories only"),
    ("type:symbol", "definitions only"),
    ("count:all", "all results"),
    ("timeout:30s", "timeout of the search"),
];

/// The part of a matching file that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Select {
    /// The lines that match.
    #[default]
    Lines,
    /// Their paths only.
    Files,
    /// Their repositories only, each once.
    Repos,
    /// Their definitions: terms without a field match names of symbols, and only these are shown.
    Symbols,
}

impl Select {
    /// Returns whether lines of the files are shown.
    pub fn has_lines(self) -> bool {
        matches!(self, Select::Lines | Select::Symbols)
    }
}

/// How many results are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// All.
    All,
    /// At most this many.
    Most(usize),
}

impl Count {
    /// Converts a number that a user typed; 0 means all.
    pub fn of(number: usize) -> Self {
        if number == 0 { Count::All } else { Count::Most(number) }
    }

    /// Returns the limit; `None` for all results.
    pub fn limit(self) -> Option<usize> {
        match self {
            Count::All => None,
            Count::Most(limit) => Some(limit),
        }
    }
}

impl Settings {
    /// Reads the value of a setting; a later one replaces an earlier one.
    pub(crate) fn set(&mut self, setting: Setting, value: &str) -> Result<(), String> {
        let unknown = |wanted: &str| Err(format!("unknown value \"{value}\"; use {wanted}"));
        match setting {
            Setting::Select => {
                self.select = match value.to_ascii_lowercase().as_str() {
                    "filematch" | "content" | "code" => Select::Lines,
                    "filename" | "file" | "path" => Select::Files,
                    "repo" | "repository" | "repositories" => Select::Repos,
                    "symbol" | "symbols" => Select::Symbols,
                    _ => return unknown("type:filematch, type:file, type:repo or type:symbol"),
                }
            }
            Setting::Count => {
                let number = if value == "all" { Some(0) } else { value.parse().ok() };
                match number {
                    Some(number) => self.count = Some(Count::of(number)),
                    None => return unknown("a number of files, as in count:50, or count:all"),
                }
            }
            Setting::Timeout => self.timeout = Some(duration(value)?),
            // Terms are regular expressions already.
            Setting::PatternType => match value.to_ascii_lowercase().as_str() {
                "regexp" | "regex" | "re2" => {}
                _ => {
                    return Err(
                        "terms are regular expressions; for literal text, use lit:TEXT".to_owned()
                    );
                }
            },
            Setting::Context => match value {
                "global" => {}
                _ => return Err("only context:global is supported; use repo:".to_owned()),
            },
        }
        Ok(())
    }
}

/// Prints as typed, with a space before each setting: ` type:file count:10`.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.select {
            Select::Lines => {}
            Select::Files => f.write_str(" type:file")?,
            Select::Repos => f.write_str(" type:repo")?,
            Select::Symbols => f.write_str(" type:symbol")?,
        }
        match self.count {
            None => {}
            Some(Count::All) => f.write_str(" count:all")?,
            Some(Count::Most(n)) => write!(f, " count:{n}")?,
        }
        match self.timeout {
            None => Ok(()),
            Some(timeout) => write!(f, " timeout:{timeout:?}"),
        }
    }
}

/// Reads `10s`, `500ms`, `2m` or `10` (seconds).
///
/// # Errors
/// A sentence that says what to type, without a full stop.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        _ => f64::NAN,
    };
    let seconds = number.parse().unwrap_or(f64::NAN) * seconds;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() && duration <= MAX_TIMEOUT => Ok(duration),
        Ok(duration) if duration > MAX_TIMEOUT => Err("the longest timeout is 60m".to_owned()),
        _ => Err(format!("\"{text}\" is not a duration; use 5s, 500ms or 2m")),
    }
}
