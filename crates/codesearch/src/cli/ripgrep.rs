//! ripgrep's flags: which of them `codesearch search` supports, and how it treats the others.
//!
//! [`FLAGS`] lists all of them. Supported flags are declared in `search`. The others are declared here and hidden from
//! its help: flags that are ignored, and flags that are refused with a sentence. `docs/ripgrep.md` is generated from
//! the list.

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

use Fate::{Idle, Off, Other, Same, Taken, WhyNot};

/// A flag of ripgrep.
pub(super) struct Flag {
    /// The short form; a space for none.
    short: char,
    long: &'static str,
    /// The name of its value; empty if it takes none.
    value: &'static str,
    fate: Fate,
}

/// The treatment of a flag.
enum Fate {
    /// Supported, with the differences.
    Same(&'static str),
    /// Used for something else: a description.
    Taken(&'static str),
    /// Undoes a supported flag, given by the name of its field.
    Off(&'static str),
    /// Accepted and ignored, with the reason.
    Idle(&'static str),
    /// Refused, with what to write instead.
    Other(&'static str),
    /// Refused, with the reason.
    WhyNot(&'static str),
}

const fn flag(short: char, long: &'static str, value: &'static str, fate: Fate) -> Flag {
    Flag { short, long, value, fate }
}

const CASE: &str = "smart case is the default";
const NOT_IGNORED: &str = "codesearch ingest decides (--no-ignore)";
const LEFT_OUT: &str = "write -g '!GLOB' to leave out files";
const ONE_ENGINE: &str = "patterns have the syntax of Rust's regex crate, without look-around and backreferences; \
                          combine terms instead, as in 'foo -bar'";
const DECODED: &str = "files were decoded when they were indexed";
const BINARY: &str =
    "binary files are not indexed; codesearch repos --skipped NAME lists those of a repository";
const PACKED: &str = "files are indexed as they are; unpack them, then run codesearch ingest";
const BOUNDED: &str = "the limits on patterns are fixed";
const STREAMED: &str = "results are printed as they are found";
const LINKS: &str =
    "symbolic links are not indexed; for files without a match, write --files-without-match";
const LOGS: &str = "write --explain or --stats, or set CODESEARCH_LOG=debug";

/// ripgrep's flags, in the order of its help.
#[rustfmt::skip]
pub(super) const FLAGS: &[Flag] = &[
    flag('e', "regexp", "PATTERN", Same("a query given as well must also match")),
    flag('f', "pattern-file", "FILE", Same("ripgrep's long name for it is --file")),
    flag(' ', "file", "REGEX", Taken("restricts paths; for a file of patterns, use -f FILE")),
    flag(' ', "pre", "COMMAND", WhyNot(PACKED)),
    flag(' ', "no-pre", "", Idle(PACKED)),
    flag(' ', "pre-glob", "GLOB", WhyNot(PACKED)),
    flag('z', "search-zip", "", WhyNot(PACKED)),
    flag(' ', "no-search-zip", "", Idle(PACKED)),
    flag('s', "case-sensitive", "", Same(CASE)),
    flag(' ', "crlf", "", Same("in a query, (?R) before a pattern does this for ^, $ and the dot")),
    flag(' ', "no-crlf", "", Off("crlf")),
    flag(' ', "dfa-size-limit", "N", Idle(BOUNDED)),
    flag('E', "encoding", "NAME", Idle(DECODED)),
    flag(' ', "no-encoding", "", Idle(DECODED)),
    flag(' ', "engine", "NAME", WhyNot(ONE_ENGINE)),
    flag('F', "fixed-strings", "", Same("the query is one text, too")),
    flag(' ', "no-fixed-strings", "", Off("fixed_strings")),
    flag('i', "ignore-case", "", Same("")),
    flag('v', "invert-match", "", WhyNot("the index finds only lines that match; for files without a match, write \
        --files-without-match, or -foo in a query")),
    flag(' ', "no-invert-match", "", Idle("matches are never inverted")),
    flag('x', "line-regexp", "", Same("")),
    flag('m', "max-count", "N", Same("by default on a terminal, the best 10 lines of each file")),
    flag(' ', "mmap", "", Idle("a search opens no files")),
    flag(' ', "no-mmap", "", Idle("a search opens no files")),
    flag('U', "multiline", "", Same("a pattern with \\n spans lines without it")),
    flag(' ', "no-multiline", "", Off("multiline")),
    flag(' ', "multiline-dotall", "", Same("")),
    flag(' ', "no-multiline-dotall", "", Off("multiline_dotall")),
    flag(' ', "no-unicode", "", WhyNot("texts are UTF-8; write (?-u:\\w) for an ASCII class")),
    flag(' ', "unicode", "", Idle("texts are UTF-8")),
    flag(' ', "null-data", "", WhyNot("files with NUL bytes are binary, and are not indexed")),
    flag('P', "pcre2", "", WhyNot(ONE_ENGINE)),
    flag(' ', "no-pcre2", "", Idle("there is one engine")),
    flag(' ', "regex-size-limit", "N", Idle(BOUNDED)),
    flag('S', "smart-case", "", Same(CASE)),
    flag(' ', "stop-on-nonmatch", "", WhyNot("write -m N for the first matches of each file")),
    flag('a', "text", "", WhyNot(BINARY)),
    flag(' ', "no-text", "", Idle("binary files are not indexed")),
    flag('j', "threads", "N", Idle("a search uses all cores")),
    flag('w', "word-regexp", "", Same("")),
    flag(' ', "auto-hybrid-regex", "", Idle("there is one engine")),
    flag(' ', "no-auto-hybrid-regex", "", Idle("there is one engine")),
    flag(' ', "no-pcre2-unicode", "", Idle("there is one engine")),
    flag(' ', "pcre2-unicode", "", Idle("there is one engine")),
    flag(' ', "binary", "", WhyNot(BINARY)),
    flag(' ', "no-binary", "", Idle("binary files are not indexed")),
    flag('L', "follow", "", WhyNot(LINKS)),
    flag(' ', "no-follow", "", Idle("symbolic links are not indexed")),
    flag('g', "glob", "GLOB", Same("relative to the root of each repository")),
    flag(' ', "glob-case-insensitive", "", Same("")),
    flag(' ', "no-glob-case-insensitive", "", Off("glob_case_insensitive")),
    flag('.', "hidden", "", Idle(NOT_IGNORED)),
    flag(' ', "no-hidden", "", Other("write -g '!.*' to leave out hidden files")),
    flag(' ', "iglob", "GLOB", Same("relative to the root of each repository")),
    flag(' ', "ignore-file", "FILE", WhyNot(LEFT_OUT)),
    flag(' ', "ignore-file-case-insensitive", "", Idle("--ignore-file is refused")),
    flag(' ', "no-ignore-file-case-insensitive", "", Idle("--ignore-file is refused")),
    flag('d', "max-depth", "N", Same("relative to the root of each repository")),
    flag(' ', "maxdepth", "N", Same("another name for --max-depth")),
    flag(' ', "max-filesize", "N", Other("set it when indexing: codesearch ingest --max-size BYTES")),
    flag(' ', "no-ignore", "", Idle(NOT_IGNORED)),
    flag(' ', "ignore", "", WhyNot(NOT_IGNORED)),
    flag(' ', "no-ignore-dot", "", Idle(NOT_IGNORED)),
    flag(' ', "ignore-dot", "", WhyNot(NOT_IGNORED)),
    flag(' ', "no-ignore-exclude", "", Idle(NOT_IGNORED)),
    flag(' ', "ignore-exclude", "", WhyNot(NOT_IGNORED)),
    flag(' ', "no-ignore-files", "", Idle(NOT_IGNORED)),
    flag(' ', "ignore-files", "", WhyNot(NOT_IGNORED)),
    flag(' ', "no-ignore-global", "", Idle(NOT_IGNORED)),
    flag(' ', "ignore-global", "", WhyNot(NOT_IGNORED)),
    flag(' ', "no-ignore-parent", "", Idle(NOT_IGNORED)),
    flag(' ', "ignore-parent", "", WhyNot(NOT_IGNORED)),
    flag(' ', "no-ignore-vcs", "", Idle(NOT_IGNORED)),
    flag(' ', "ignore-vcs", "", WhyNot(NOT_IGNORED)),
    flag(' ', "no-require-git", "", Idle(NOT_IGNORED)),
    flag(' ', "require-git", "", Idle(NOT_IGNORED)),
    flag(' ', "one-file-system", "", Idle("a search walks no folders")),
    flag(' ', "no-one-file-system", "", Idle("a search walks no folders")),
    flag('t', "type", "TYPE", Same("")),
    flag('T', "type-not", "TYPE", Same("")),
    flag(' ', "type-add", "TYPE:GLOB", Same("")),
    flag(' ', "type-clear", "TYPE", Same("")),
    flag('u', "unrestricted", "", Idle(NOT_IGNORED)),
    flag('A', "after-context", "N", Same("")),
    flag('B', "before-context", "N", Same("")),
    flag(' ', "block-buffered", "", Idle(STREAMED)),
    flag(' ', "no-block-buffered", "", Idle(STREAMED)),
    flag('b', "byte-offset", "", Same("")),
    flag(' ', "no-byte-offset", "", Off("byte_offset")),
    flag(' ', "color", "WHEN", Same("")),
    flag(' ', "colors", "SPEC", Idle("the colours are ripgrep's defaults")),
    flag(' ', "column", "", Same("")),
    flag(' ', "no-column", "", Off("column")),
    flag('C', "context", "N", Same("")),
    flag(' ', "context-separator", "TEXT", Same("")),
    flag(' ', "no-context-separator", "", Same("")),
    flag(' ', "field-context-separator", "TEXT", Same("")),
    flag(' ', "field-match-separator", "TEXT", Same("")),
    flag(' ', "heading", "", Same("")),
    flag(' ', "no-heading", "", Same("")),
    flag(' ', "hostname-bin", "COMMAND", Idle("the host is the name of the machine")),
    flag(' ', "hyperlink-format", "FORMAT", Same("the default is file on a terminal; {wslprefix} is empty")),
    flag(' ', "include-zero", "", Other("write --files-without-match to list files without a match")),
    flag(' ', "no-include-zero", "", Idle("files without a match are not counted")),
    flag(' ', "line-buffered", "", Idle(STREAMED)),
    flag(' ', "no-line-buffered", "", Idle(STREAMED)),
    flag('n', "line-number", "", Same("the default, also on a pipe")),
    flag('N', "no-line-number", "", Same("")),
    flag('M', "max-columns", "N", Same("by default on a terminal, 500 with a preview")),
    flag(' ', "max-columns-preview", "", Same("")),
    flag(' ', "no-max-columns-preview", "", Off("max_columns_preview")),
    flag('0', "null", "", Same("")),
    flag('o', "only-matching", "", Same("")),
    flag(' ', "path-separator", "TEXT", WhyNot("paths are printed with /")),
    flag(' ', "passthru", "", Other("write -C 999999 for all lines of the files that match")),
    flag(' ', "passthrough", "", Other("write -C 999999 for all lines of the files that match")),
    flag('p', "pretty", "", Same("")),
    flag('q', "quiet", "", Same("")),
    flag('r', "replace", "TEXT", Same("not with patterns that span lines, nor with several terms")),
    flag(' ', "sort", "ORDER", Same("not by time: the index does not store the times of files")),
    flag(' ', "sortr", "ORDER", Same("not by time: the index does not store the times of files")),
    flag(' ', "sort-files", "", Other("write --sort path")),
    flag(' ', "no-sort-files", "", Idle("--sort-files is refused")),
    flag(' ', "trim", "", Same("")),
    flag(' ', "no-trim", "", Off("trim")),
    flag(' ', "vimgrep", "", Same("paths are absolute, in the ingested folders")),
    flag('H', "with-filename", "", Same("the default")),
    flag('I', "no-filename", "", Same("")),
    flag('c', "count", "", Same("")),
    flag(' ', "count-matches", "", Same("")),
    flag('l', "files-with-matches", "", Same("")),
    flag(' ', "files-without-match", "", Same("")),
    flag(' ', "json", "", Same("the summary counts matching files, and says whether the results are complete")),
    flag(' ', "no-json", "", Off("json")),
    flag(' ', "debug", "", Other(LOGS)),
    flag(' ', "trace", "", Other(LOGS)),
    flag(' ', "no-ignore-messages", "", Idle("no ignore file is read")),
    flag(' ', "ignore-messages", "", Idle("no ignore file is read")),
    flag(' ', "no-messages", "", Idle("a search opens no files")),
    flag(' ', "messages", "", Idle("a search opens no files")),
    flag(' ', "stats", "", Same("statistics of codesearch's own work, on stderr")),
    flag(' ', "no-stats", "", Off("stats")),
    flag(' ', "files", "", Same("a query given as well restricts them")),
    flag(' ', "generate", "KIND", Other("write codesearch --generate KIND, without other arguments")),
    flag(' ', "no-config", "", Same("the file is that of CODESEARCH_CONFIG_PATH, or ~/.config/codesearch/config")),
    flag(' ', "pcre2-version", "", WhyNot(ONE_ENGINE)),
    flag(' ', "type-list", "", Same("")),
    flag('V', "version", "", Other("write codesearch --version")),
    flag('h', "help", "", Same("")),
];

/// Accepts ripgrep's flags that are ignored. Those that are refused are an error.
#[derive(Clone, Debug)]
pub(crate) struct ForeignFlags;

impl Args for ForeignFlags {
    fn augment_args(command: Command) -> Command {
        let hidden = FLAGS.iter().filter(|flag| !matches!(flag.fate, Same(_) | Taken(_)));
        command.args(hidden.map(Flag::hidden))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ForeignFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = |flag: &&Flag| match flag.fate {
            Other(_) | WhyNot(_) if flag.value.is_empty() => matches.get_count(flag.long) > 0,
            Other(_) | WhyNot(_) => matches.contains_id(flag.long),
            _ => false,
        };
        match FLAGS.iter().find(given) {
            Some(flag) => Err(Error::raw(ErrorKind::InvalidValue, flag.refusal())),
            None => Ok(Self),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        Self::from_arg_matches(matches).map(drop)
    }
}

impl Flag {
    /// Returns the hidden argument of a flag.
    fn hidden(&self) -> Arg {
        let arg = Arg::new(self.long).long(self.long).hide(true);
        let arg = if self.short == ' ' { arg } else { arg.short(self.short) };
        let arg = if let Off(field) = self.fate { arg.overrides_with(field) } else { arg };
        if self.value.is_empty() {
            arg.action(ArgAction::Count)
        } else {
            arg.action(ArgAction::Append).allow_hyphen_values(true)
        }
    }

    /// Returns the reason for refusing it, or what to write instead.
    fn refusal(&self) -> String {
        let (Same(why) | Taken(why) | Off(why) | Idle(why) | Other(why) | WhyNot(why)) = self.fate;
        format!("--{}: {why}", self.long)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    /// Formats the list as a table for `docs/ripgrep.md`.
    fn table() -> String {
        // Flags of one fate share a row.
        let mut rows: Vec<(String, String)> = Vec::new();
        for Flag { short, long, value, fate } in FLAGS {
            let short = if *short == ' ' { String::new() } else { format!("`-{short}`, ") };
            let value = if value.is_empty() { String::new() } else { format!(" {value}") };
            let (fate, note) = match fate {
                Same(note) => ("same", (*note).to_owned()),
                Taken(note) => ("other flag", (*note).to_owned()),
                Off(field) => ("same", format!("undoes `--{}`", field.replace('_', "-"))),
                Idle(why) => ("no effect", (*why).to_owned()),
                Other(instead) => ("other name", (*instead).to_owned()),
                WhyNot(why) => ("why not", (*why).to_owned()),
            };
            let (names, told) = (format!("{short}`--{long}{value}`"), format!("{fate} | {note}"));
            match rows.iter_mut().find(|(_, other)| *other == told) {
                Some((row, _)) => row.extend(["; ", &names]),
                None => rows.push((names, told)),
            }
        }
        let mut table = "| flags | here | |\n|---|---|---|\n".to_owned();
        for (names, told) in rows {
            let _ = writeln!(table, "| {names} | {told} |");
        }
        table
    }

    #[test]
    fn the_document_has_the_list() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ripgrep.md");
        let document = std::fs::read_to_string(path).unwrap();
        let begin = document.find("| flags |").unwrap();
        let end = begin + document[begin..].find("\n\n").unwrap() + 1;
        let renewed = format!("{}{}{}", &document[..begin], table(), &document[end..]);
        if std::env::var_os("CODESEARCH_RENEW").is_some() {
            std::fs::write(path, &renewed).unwrap();
        } else {
            assert_eq!(document, renewed, "renew it with CODESEARCH_RENEW=1");
        }
    }

    #[test]
    fn each_flag_is_declared_once_as_the_list_says() {
        let mut cli = Cli::command();
        cli.build();
        let search = cli.find_subcommand("search").unwrap();
        for flag in FLAGS {
            let has = |arg: &&Arg| {
                let names = arg.get_all_aliases().unwrap_or_default();
                arg.get_long() == Some(flag.long) || names.contains(&flag.long)
            };
            let declared: Vec<&Arg> = search.get_arguments().filter(has).collect();
            let [arg] = declared[..] else { panic!("--{}: {declared:?}", flag.long) };
            let short = if flag.short == ' ' { None } else { Some(flag.short) };
            assert!(short.is_none() || arg.get_short() == short, "--{}", flag.long);
            assert_eq!(arg.get_action().takes_values(), !flag.value.is_empty(), "--{}", flag.long);
            if let Off(field) = flag.fate {
                assert!(search.get_arguments().any(|arg| arg.get_id() == field), "{field}");
            }
        }
    }
}
