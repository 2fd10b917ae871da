//! Options with patterns, beside the query or instead of it.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
#[command(next_help_heading = "Patterns")]
pub(crate) struct PatternArgs {
    /// Search the files' lines for this regular expression
    ///
    /// It is taken as it stands: spaces are part of it. If there are several, one of them must match. A query beside
    /// it must hold, too.
    #[arg(short = 'e', long, value_name = "PATTERN", allow_hyphen_values = true)]
    pub(crate) regexp: Vec<String>,
    /// Search for the patterns in a file, one a line
    ///
    /// One of them must match, or one of -e. An empty line matches every line. - is standard input.
    #[arg(short = 'f', long = "pattern-file", value_name = "FILE")]
    pub(crate) pattern_file: Vec<PathBuf>,
    /// Take the query and all patterns as texts, not as regular expressions
    ///
    /// The whole query is one text then: fields, quotes and operators mean nothing in it.
    #[arg(short = 'F', long, alias = "fixed")]
    pub(crate) fixed_strings: bool,
    /// Match whole words only
    #[arg(short = 'w', long, overrides_with = "line_regexp")]
    pub(crate) word_regexp: bool,
    /// Match whole lines only
    #[arg(short = 'x', long, overrides_with = "word_regexp")]
    pub(crate) line_regexp: bool,
    /// Search without regard to case
    #[arg(short, long, overrides_with_all = ["case_sensitive", "smart_case"])]
    pub(crate) ignore_case: bool,
    /// Search for exactly this case
    #[arg(short = 's', long, overrides_with_all = ["ignore_case", "smart_case"])]
    pub(crate) case_sensitive: bool,
    /// Search without regard to case if the pattern holds no capital letter [the default]
    #[arg(short = 'S', long, overrides_with_all = ["ignore_case", "case_sensitive"])]
    pub(crate) smart_case: bool,
    /// Take a carriage return before a line feed as part of the end of a line
    ///
    /// So $ matches before both, and no pattern matches a carriage return. Printed lines that lack an end get both.
    #[arg(long)]
    pub(crate) crlf: bool,
    /// Let patterns match across lines
    #[arg(short = 'U', long)]
    pub(crate) multiline: bool,
    /// With --multiline, let a dot match the end of a line, too
    #[arg(long, hide_short_help = true)]
    pub(crate) multiline_dotall: bool,
}
