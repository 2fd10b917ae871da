//! Options of the output.

use clap::Args;

use crate::cli::color::Color;
use crate::cli::hyperlink::HyperlinkFormat;
use crate::cli::sort::{Sort, order, reverse_order};

/// Modes of output, of which the last one given wins.
const MODES: [&str; 5] =
    ["files_with_matches", "files_without_match", "count", "count_matches", "json"];

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print only the paths of files that match
    #[arg(short = 'l', long, overrides_with_all = MODES)]
    pub(crate) files_with_matches: bool,
    /// Print only the paths of files without a match
    ///
    /// Conditions on paths, repositories and languages still apply.
    #[arg(long, overrides_with_all = MODES)]
    pub(crate) files_without_match: bool,
    /// Print only the number of matching lines in each file
    #[arg(short, long, overrides_with_all = MODES)]
    pub(crate) count: bool,
    /// Print only the number of matches in each file
    #[arg(long, overrides_with_all = MODES)]
    pub(crate) count_matches: bool,
    /// Print JSON as ripgrep does, one object per line
    #[arg(long, overrides_with_all = MODES)]
    pub(crate) json: bool,
    /// Print a line path:line:column:text for each match, for editors, with paths as for --local
    #[arg(long)]
    pub(crate) vimgrep: bool,
    /// Print nothing; the exit status says whether something was found
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print N lines after each match
    #[arg(short = 'A', long, value_name = "N")]
    pub(crate) after_context: Option<usize>,
    /// Print N lines before each match
    #[arg(short = 'B', long, value_name = "N")]
    pub(crate) before_context: Option<usize>,
    /// Print N lines before and after each match
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0)]
    pub(crate) context: usize,
    /// Print only the matches, each on its own line
    #[arg(short = 'o', long)]
    pub(crate) only_matching: bool,
    /// Print TEXT in place of each match
    ///
    /// In TEXT, $1, $name and ${name} stand for groups of the pattern, $0 for the match, and $$ for a dollar sign.
    /// Files are not changed. Give exactly one pattern, as -e or as the only word of the query; it must not match
    /// across lines.
    #[arg(short = 'r', long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) replace: Option<String>,
    /// Print at most N matching lines of each file
    ///
    /// The default is all lines; on a terminal, in order of relevance, it is the best 10 and the number of the others.
    #[arg(short = 'm', long, value_name = "N")]
    pub(crate) max_count: Option<usize>,
    /// Print files in this order: relevance, path, oldest (commits of history:), none
    ///
    /// The default is relevance on a terminal if --limit is at most 500, else none.
    #[arg(long, value_name = "ORDER", value_parser = order, overrides_with = "sortr")]
    pub(crate) sort: Option<Sort>,
    /// Print files in this order, reversed
    #[arg(long, value_name = "ORDER", value_parser = reverse_order, hide_short_help = true)]
    pub(crate) sortr: Option<Sort>,
    /// Name all identical copies of a file, below its heading
    ///
    /// Copies have the same contents and the same matching lines: in worktrees, forks and vendored folders. In order of
    /// relevance with headings, they are one result, which says how many there are.
    #[arg(long)]
    pub(crate) copies: bool,
    /// Print absolute paths, in the ingested folders
    ///
    /// By default, paths are relative to the current folder in its repository; those of others begin with the name of their
    /// repository on a terminal, and are absolute on a pipe. Outside of all repositories, all begin with the name.
    #[arg(long)]
    pub(crate) local: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// Print paths with hyperlinks in this format, if in colour: none, default, file, vscode, ... [default: file on a
    /// terminal, for files of this machine]
    ///
    /// As in ripgrep, the format is a name or an address with the variables {path}, {host}, {line} and {column}.
    #[arg(long, value_name = "FORMAT", hide_short_help = true)]
    pub(crate) hyperlink_format: Option<HyperlinkFormat>,
    /// If nothing is found, suggest other queries on stderr [auto: on a terminal]
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) hints: Color,
    /// Print each path once, above its matches [the default on a terminal]
    #[arg(long, overrides_with = "no_heading")]
    pub(crate) heading: bool,
    /// Print the path on every line [the default elsewhere]
    #[arg(long, overrides_with = "heading")]
    pub(crate) no_heading: bool,
    /// Print colours and headings as on a terminal
    #[arg(short = 'p', long)]
    pub(crate) pretty: bool,
    /// Print line numbers [the default]
    #[arg(short = 'n', long, overrides_with = "no_line_number", hide_short_help = true)]
    pub(crate) line_number: bool,
    /// Print no line numbers
    #[arg(short = 'N', long, overrides_with = "line_number")]
    pub(crate) no_line_number: bool,
    /// Print the path of each file [the default]
    #[arg(short = 'H', long, overrides_with = "no_filename", hide_short_help = true)]
    pub(crate) with_filename: bool,
    /// Print no paths
    #[arg(short = 'I', long, overrides_with = "with_filename")]
    pub(crate) no_filename: bool,
    /// Print the column of the first match in each line, in bytes from 1
    #[arg(long)]
    pub(crate) column: bool,
    /// Print the offset of each line in its file, in bytes from 0
    #[arg(short = 'b', long, hide_short_help = true)]
    pub(crate) byte_offset: bool,
    /// Print a NUL byte after each path, for xargs -0
    #[arg(short = '0', long)]
    pub(crate) null: bool,
    /// Leave out lines of more than N bytes; 0 for none [default: 500 on a terminal, else 0]
    #[arg(short = 'M', long, value_name = "N")]
    pub(crate) max_columns: Option<usize>,
    /// Print the beginning of lines that are too long [the default unless --max-columns is given]
    #[arg(long)]
    pub(crate) max_columns_preview: bool,
    /// Print lines without leading spaces and tabs
    #[arg(long)]
    pub(crate) trim: bool,
    /// Text between groups of lines when there is context
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "--",
        allow_hyphen_values = true,
        hide_short_help = true,
        overrides_with = "no_context_separator"
    )]
    pub(crate) context_separator: String,
    /// Print nothing between groups of lines
    #[arg(long, hide_short_help = true, overrides_with = "context_separator")]
    pub(crate) no_context_separator: bool,
    /// Text after path, number and column of a matching line
    #[arg(
        long,
        value_name = "TEXT",
        default_value = ":",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub(crate) field_match_separator: String,
    /// Text after path and number of a context line
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "-",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub(crate) field_context_separator: String,
}

impl OutputArgs {
    /// Returns whether people read the output, rather than programs.
    pub(crate) fn is_for_people(&self) -> bool {
        !self.json && !self.vimgrep
    }

    /// Returns whether each path is printed once, above its matches.
    pub(crate) fn has_headings(&self, is_terminal: bool) -> bool {
        !self.vimgrep && !self.no_heading && (is_terminal || self.heading || self.pretty)
    }
}
