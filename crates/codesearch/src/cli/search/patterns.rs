//! Options with patterns, in addition to the query or instead of it.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Patterns")]
pub(crate) struct PatternArgs {
    /// Search lines for this regular expression
    ///
    /// Spaces are literal. Any -e may match; a query given as well must also match.
    #[arg(short = 'e', long, value_name = "PATTERN", allow_hyphen_values = true)]
    pub(crate) regexp: Vec<String>,
    /// Search for the patterns in a file, one per line
    ///
    /// Any of these patterns, or any -e, may match. An empty line matches every line. - is standard input.
    #[arg(short = 'f', long = "pattern-file", value_name = "FILE")]
    pub(crate) pattern_file: Vec<PathBuf>,
    /// Treat the query and all patterns as literal text, not as regular expressions
    ///
    /// The whole query is then one text: fields, quotes and operators have no meaning.
    #[arg(short = 'F', long, alias = "fixed")]
    pub(crate) fixed_strings: bool,
    /// Treat the query as one regular expression, as -e does
    ///
    /// Spaces are literal; fields, quotes and operators have no meaning. This is for programs that know where options
    /// go, but put the pattern last.
    #[arg(long)]
    pub(crate) regex: bool,
    /// Match whole words only
    #[arg(short = 'w', long, overrides_with = "line_regexp")]
    pub(crate) word_regexp: bool,
    /// Match whole lines only
    #[arg(short = 'x', long, overrides_with = "word_regexp")]
    pub(crate) line_regexp: bool,
    /// Ignore case
    #[arg(short, long, overrides_with_all = ["case_sensitive", "smart_case"])]
    pub(crate) ignore_case: bool,
    /// Match case exactly
    #[arg(short = 's', long, overrides_with_all = ["ignore_case", "smart_case"])]
    pub(crate) case_sensitive: bool,
    /// Ignore case if the pattern has no capital letter [the default]
    #[arg(short = 'S', long, overrides_with_all = ["ignore_case", "case_sensitive"])]
    pub(crate) smart_case: bool,
    /// Treat a carriage return before a line feed as part of the end of a line
    ///
    /// $ then matches before both, and no pattern matches a carriage return. A printed line without an end gets both.
    #[arg(long)]
    pub(crate) crlf: bool,
    /// Let patterns match across lines
    #[arg(short = 'U', long)]
    pub(crate) multiline: bool,
    /// With --multiline, let a dot also match the end of a line
    #[arg(long, hide_short_help = true)]
    pub(crate) multiline_dotall: bool,
}
