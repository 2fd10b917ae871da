//! What can be typed: commands, options and their help.

#![expect(clippy::doc_markdown, reason = "these comments are printed as help")]
#![expect(clippy::struct_excessive_bools, reason = "they are switches of the command line")]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use crate::statistics::Trim;

/// Search all your repositories by regular expression.
///
/// Point codesearch at a folder of cloned repositories, then search all of it from the terminal,
/// the browser or over HTTP. The index is plain Postgres: a private server that codesearch starts
/// by itself, or the one in DATABASE_URL.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  codesearch up                        index the sample that comes with codesearch, and serve it
  codesearch ingest ~/repos            index every repository below ~/repos, or bring it up to date
  codesearch search 'fmt\\.Print.*'     search it (codesearch help syntax)
  codesearch files srch/candidats      find a file by what is typed of its path
  codesearch docs 'configure retries'  find what was written about it (codesearch help docs)
  codesearch serve                     serve it on http://127.0.0.1:8080

Exit status: 0 when something was found or done, 1 when nothing was found, 2 on an error."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ingest folders and serve them: everything in one command
    Up(UpArgs),
    /// Index the repositories below some folders, or bring them up to date
    #[command(after_help = INGEST_HELP)]
    Ingest(IngestArgs),
    /// Search, and print the lines that match
    #[command(after_help = SEARCH_HELP)]
    Search(SearchArgs),
    /// Find files by what is typed of their paths, wrong letters forgiven
    #[command(after_help = FILES_HELP)]
    Files(FilesArgs),
    /// Find documents and comments by their words, the best first
    #[command(after_help = DOCS_HELP)]
    Docs(DocsArgs),
    /// Explain what a query can say (codesearch help syntax)
    #[command(override_help = include_str!("../../../docs/syntax.md"))]
    Syntax,
    /// Serve searches over HTTP, for browsers and programs
    #[command(after_help = SERVE_HELP)]
    Serve(ServeArgs),
    /// Serve agents: the Model Context Protocol on standard input and output
    #[command(after_help = MCP_HELP)]
    Mcp,
    /// List the repositories that are indexed, and what was left out of them
    Repos(ReposArgs),
    /// Remove repositories from the index
    Remove(RemoveArgs),
    /// Prepare the database before the first ingest, to choose the number of shards
    Init(InitArgs),
    /// Show how long searches took that servers of this index have answered
    #[command(after_help = STATS_HELP)]
    Stats(StatsArgs),
    /// Look at, start or stop the private Postgres
    Db(DbArgs),
}

const INGEST_HELP: &str = "\
What is a repository:
  Every folder below PATH that holds a .git is one; without any, PATH itself is one. Its name is
  that of its remote 'origin' (github.com/golang/go), or else its path below PATH.

What is left out:
  Files over --max-size, binary files (with a NUL byte), symbolic links, and what cannot be read;
  each is listed by: codesearch repos --skipped NAME

Ingesting the same folder again reads only what has changed. A repository is seen by searches wholly
as it was before, or wholly as it is after. If ingest is interrupted, run it again.";

const SEARCH_HELP: &str = "\
A query is made of terms with blanks between them, all of which must match somewhere in a file. Each is a
regular expression, looked for in the file's lines and in its path; in small letters it matches any case.
Write phrases in quotes, alternatives with 'or', exclusions with a minus. All of it: codesearch help syntax

Examples:
  codesearch search deadlock                           a word
  codesearch search '\"static int\" lang:c -file:test'   a phrase, in C, not in tests
  codesearch search 'TODO or FIXME' --repo kubernetes  either of two words
  codesearch search -e 'func \\w+\\(ctx'               one regular expression, blanks and all
  codesearch search -F 'a[i] = *p'                     one text, character by character
  codesearch search -l --limit 0 TODO                  every file with it
  codesearch search --json deadlock | jq .             for programs
  codesearch search --vimgrep deadlock                 for editors

Options come first, then -- before a query that begins with a minus: codesearch search -l -- '-foo lang:go'
What the query itself says (count:, timeout:, case:) goes before an option that says otherwise.

Exit status: 0 when something was found, 1 when nothing was, 2 when there was an error or not all could be
searched in time.";

const FILES_HELP: &str = "\
Type the name of the file, a part of its path, or some letters of it in their order. Case does not matter,
gaps are fine, and few wrong letters are forgiven: one missing, too many, another one, or two swapped. What is
separated by a blank may stand in any order. The name of the repository may stand before the path. The nearest comes
first: a name that is what was typed or whose words begin with its letters, then what begins
with it or is short, then what has gaps and errors.

Examples:
  codesearch files main.go                     files of that name, then what is like it
  codesearch files 'srch/candidats'            search/candidates.rs
  codesearch files linux/kernel/fork.c         kernel/fork.c in the repository linux, or .../linux
  codesearch files shard --lang rs --limit 0   all paths in Rust with these letters
  codesearch files 'deployment test' --repo k8s   two parts, in any order, in some repositories
  $EDITOR \"$(codesearch files --local --limit 1 writer.rs)\"

Exit status: 0 when files were found, 1 when nothing is near, 2 on an error.";

const DOCS_HELP: &str = "\
What is looked at:
  Documents (Markdown, reStructuredText, AsciiDoc, pages of the manual, plain text) and the comment at
  the head of each source file, without its licence. Of a large one, the first 128 KB.

A query is made of words, all of which must be there, in any form: 'retry' finds retries. Titles and
headings count for more than the rest. Quotes hold a phrase, 'or' stands between two of which one
will do, a minus before what must not be there. getUserName and get_user_name are found by 'user name'.

Examples:
  codesearch docs 'how do I configure retries'
  codesearch docs '\"memory map\" or mmap -windows' --repo linux
  codesearch docs --lang markdown --limit 5 'release notes'
  codesearch docs --json 'rate limit' | jq .

Texts in English are found by the stems of their words, all others by their words as they are;
--dictionary looks at one of the two only.

Exit status: 0 when something was found, 1 when nothing was, 2 when there was an error or not all could be
searched in time.";

const MCP_HELP: &str = "\
An agent starts this command by itself and speaks JSON-RPC with it, one message a line. It ends
with its standard input; what it has to tell people goes to stderr. In an agent's configuration:

  {\"mcpServers\": {\"codesearch\": {\"command\": \"codesearch\", \"args\": [\"mcp\"]}}}

Tools:
  search      lines, paths or repositories that match a query (codesearch help syntax)
  read_file   the lines of a file, or what lies in a folder
  find_file   files by some letters of their paths
  list_repos  the repositories that are indexed

An answer has 32 KiB of text at most. One that was cut says so in its first line, and how to get
the rest.";

const SERVE_HELP: &str = "\
Limits:
  None is set unless you say so, but for --server-at-once. A client is an address (of IPv6 its
  /64), or who sends a token: Authorization: Bearer TOKEN. Budgets fill by the second and hold a
  minute's worth. Who asks for more gets status 429 and is told when to come back (Retry-After).

  The file of --tokens has a line for each token: a name, the token (16 characters or more), and
  what it may have; what is not said is as for an address, and none is no limit.

    # name  token                             limits
    ci      3f0c9a7b3d4e285f1e0c9a7b3d4e2851  at-once=8 per-minute=600
    mirror  9b1d4e285f1e0c9a7b3d4e28513f0c9a  per-minute=none mib-per-minute=100

All of it: docs/operating.md";

const STATS_HELP: &str = "\
Spans of time are whole hours, the one that has begun included:
  24h, 7d                        so long until now
  48h-24h                        from so long ago until so long ago
  2026-01-30..2026-01-31T12:00   between two times

Examples:
  codesearch stats                           the last 24 hours
  codesearch stats --since 7d --kind scan    of a week, those that no index could help
  codesearch stats --compare before          beside the 24 hours before: what is slower?
  codesearch stats --since 1h --compare 25h-24h
  codesearch stats --slow                    the slowest of those that took long, with their plans
  codesearch stats --statements              what Postgres itself counts of statements

Quantiles are right within a tenth. Exit status: 0, or 1 when there is nothing to show.";

/// Where the index is.
#[derive(Args, Debug)]
#[command(next_help_heading = "Database options")]
pub(crate) struct DatabaseArgs {
    /// The Postgres to use instead of a private one
    #[arg(long, global = true, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) database_url: Option<String>,
    /// Where the private Postgres lives [default: ~/.local/share/codesearch, for root
    /// /var/lib/codesearch]
    #[arg(long, global = true, env = "CODESEARCH_HOME", value_name = "FOLDER")]
    pub(crate) home: Option<PathBuf>,
    /// Which index of the private Postgres to use; each is a database of its own
    #[arg(
        long,
        global = true,
        env = "CODESEARCH_INDEX",
        value_name = "NAME",
        default_value = "codesearch"
    )]
    pub(crate) index: String,
    /// The folder of initdb, pg_ctl and postgres to run the private Postgres with
    #[arg(long, global = true, env = "CODESEARCH_POSTGRES_BIN", value_name = "FOLDER")]
    pub(crate) postgres_bin: Option<PathBuf>,
    /// An archive of Postgres that was downloaded elsewhere, for machines without a network
    #[arg(long, global = true, env = "CODESEARCH_POSTGRES_ARCHIVE", value_name = "FILE")]
    pub(crate) postgres_archive: Option<PathBuf>,
    /// Download Postgres even if one is installed (unless one of the above says which to use)
    #[arg(long, global = true, env = "CODESEARCH_POSTGRES_DOWNLOAD")]
    pub(crate) postgres_download: bool,
}

#[derive(Args, Debug)]
pub(crate) struct UpArgs {
    /// Folders to look for repositories in [default: the sample that comes with codesearch]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) how: IngestOptions,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

#[derive(Args, Debug)]
pub(crate) struct IngestArgs {
    /// Folders to look for repositories in
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) how: IngestOptions,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct IngestOptions {
    /// Make every folder N levels below a path a repository, with or without .git
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<usize>,
    /// Leave out files larger than this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    pub(crate) max_size: u64,
    /// Leave out what .gitignore names (a tracked file may be among it)
    #[arg(long)]
    pub(crate) gitignore: bool,
    /// Read every file again, also those that look unchanged
    #[arg(long)]
    pub(crate) again: bool,
    /// How many shards to make if the index is new; fixed from then on
    #[arg(long, value_name = "N", default_value_t = SHARDS, value_parser = clap::value_parser!(i16).range(1..=1000))]
    pub(crate) shards: i16,
    /// Begin another shard after this many bytes of text: tests make several of a few files
    #[arg(long, value_name = "BYTES", hide = true)]
    pub(crate) shard_bytes: Option<u64>,
}

/// The number of partitions of the reference experiment.
const SHARDS: i16 = 200;

#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// What to search for: see `codesearch help syntax`
    #[arg(value_name = "QUERY", required_unless_present_any = ["regexp", "fixed"])]
    pub(crate) query: Vec<String>,
    /// Search the files' lines for this regular expression, as it stands (several: any of them)
    #[arg(short = 'e', long, value_name = "PATTERN", allow_hyphen_values = true)]
    pub(crate) regexp: Vec<String>,
    /// Search the files' lines for this very text (several: any of them)
    #[arg(short = 'F', long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) fixed: Vec<String>,
    /// Let patterns match across lines
    #[arg(short = 'U', long)]
    pub(crate) multiline: bool,
    /// Search without regard to case
    #[arg(short, long, overrides_with_all = ["case_sensitive", "smart_case"])]
    pub(crate) ignore_case: bool,
    /// Search for exactly this case
    #[arg(short = 's', long, overrides_with_all = ["ignore_case", "smart_case"])]
    pub(crate) case_sensitive: bool,
    /// Search without regard to case if the pattern holds no capital letter [the default]
    #[arg(short = 'S', long, overrides_with_all = ["ignore_case", "case_sensitive"])]
    pub(crate) smart_case: bool,
    /// Print only the paths of files that match
    #[arg(short = 'l', long, conflicts_with_all = ["count", "json"])]
    pub(crate) files_with_matches: bool,
    /// Print only how many lines match in each file
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) count: bool,
    /// Print N lines after each match
    #[arg(short = 'A', long, value_name = "N")]
    pub(crate) after_context: Option<usize>,
    /// Print N lines before each match
    #[arg(short = 'B', long, value_name = "N")]
    pub(crate) before_context: Option<usize>,
    /// Print N lines before and after each match
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0)]
    pub(crate) context: usize,
    /// Stop after N files; 0 for all [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Stop after this time: 500ms, 5s, 2m [default: 10s, but none with --limit 0]
    #[arg(long, value_name = "TIME", value_parser = query::duration)]
    pub(crate) timeout: Option<Duration>,
    /// Only repositories whose name matches (several: any of them)
    #[arg(long, value_name = "REGEX")]
    pub(crate) repo: Vec<String>,
    /// Only files whose path matches (several: any of them)
    #[arg(long, value_name = "REGEX")]
    pub(crate) file: Vec<String>,
    /// Only files in this language: go, rust, c++, ... (several: any of them)
    #[arg(long, value_name = "NAME")]
    pub(crate) lang: Vec<String>,
    /// Print JSON, one object a line, as ripgrep does
    #[arg(long)]
    pub(crate) json: bool,
    /// Print path:line:column:text for editors, a line for each match, with paths as of --local
    #[arg(long, conflicts_with_all = ["json", "count", "heading"])]
    pub(crate) vimgrep: bool,
    /// Print paths in the folders that were indexed, so that editors and other programs can open
    /// them, instead of paths that begin with the name of their repository
    #[arg(long)]
    pub(crate) local: bool,
    /// Read every stored byte instead of asking the index
    #[arg(long)]
    pub(crate) brute: bool,
    /// Print to stderr what was done: shards, candidates, time
    #[arg(long)]
    pub(crate) stats: bool,
    /// Search, but print how the query was understood, planned and run instead of what was found
    #[arg(long, conflicts_with = "json")]
    pub(crate) explain: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// Print each path once, above its matches [the default on a terminal]
    #[arg(long, overrides_with = "no_heading")]
    pub(crate) heading: bool,
    /// Print the path on every line [the default elsewhere]
    #[arg(long, overrides_with = "heading")]
    pub(crate) no_heading: bool,
    /// Cut printed lines after N characters; 0 for never [default: 500 on a terminal, else 0]
    #[arg(short = 'M', long, value_name = "N", action = ArgAction::Set)]
    pub(crate) max_columns: Option<usize>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct FilesArgs {
    /// What is typed of the path
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,
    /// Print at most N files; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Only in repositories whose name holds this
    #[arg(long, value_name = "PART")]
    pub(crate) repo: Option<String>,
    /// Only files in this language: go, rust, c++, ...
    #[arg(long, value_name = "NAME")]
    pub(crate) lang: Option<String>,
    /// Print JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print paths in the folders that were indexed, so that editors can open them, instead of paths
    /// that begin with the name of their repository
    #[arg(long)]
    pub(crate) local: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DocsArgs {
    /// Words to look for
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    /// Print the best N, up to 1000
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Stop after this time: 500ms, 5s, 2m [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = query::duration)]
    pub(crate) timeout: Option<Duration>,
    /// Only repositories whose name matches (several: any of them)
    #[arg(long, value_name = "REGEX")]
    pub(crate) repo: Vec<String>,
    /// Only files in this language: markdown, go, ... (several: any of them)
    #[arg(long, value_name = "NAME")]
    pub(crate) lang: Vec<String>,
    /// Which texts to look at
    #[arg(long, value_name = "WHICH", default_value = "both")]
    pub(crate) dictionary: Dictionary,
    /// Print JSON: one object with all results
    #[arg(long)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dictionary {
    /// Texts in English by the stems of their words, all others by their words as they are
    Both,
    /// Texts in English only
    English,
    /// All others only; words that are in every English text count, too
    Plain,
}

impl From<Dictionary> for engine::docs::Dictionary {
    fn from(dictionary: Dictionary) -> Self {
        match dictionary {
            Dictionary::Both => Self::Both,
            Dictionary::English => Self::English,
            Dictionary::Plain => Self::Plain,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    Auto,
    Always,
    Never,
}

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// The address to listen on; port 0 for any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// Answer to this name, too, as when a proxy passes it on (several: each of them). A server on a loopback
    /// address answers to localhost and loopback addresses only, so that no other site can read it
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// Keep up to this many MiB of texts in memory, compressed; 0 for none [default: a quarter of the
    /// machine's memory]
    #[arg(long = "cache", value_name = "MIB", value_parser = mebibytes)]
    pub(crate) cache_bytes: Option<u64>,
    #[command(flatten)]
    pub(crate) operator: OperatorArgs,
}

/// What the operator of a server decides.
#[derive(Args, Debug)]
#[command(next_help_heading = "Statistics and limits")]
pub(crate) struct OperatorArgs {
    /// Log searches that take this long with their plans, for `codesearch stats --slow`
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = query::duration)]
    pub(crate) slow: Duration,
    /// Keep no statistics and no slow searches in the database
    #[arg(long)]
    pub(crate) no_statistics: bool,
    /// Searches that a client may have running
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) client_at_once: Option<u32>,
    /// Searches that a client may make in a minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) client_per_minute: Option<u32>,
    /// MiB of answers that a client may be sent in a minute, before they are compressed
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) client_mib_per_minute: Option<u32>,
    /// Searches that may run for all clients together; more wait up to 10 s for their turn [default: 4
    /// for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) server_at_once: Option<u32>,
    /// Searches that all clients together may make in a minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) server_per_minute: Option<u32>,
    /// MiB of answers that all clients together may be sent in a minute
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) server_mib_per_minute: Option<u32>,
    /// A file of tokens with limits of their own
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: Option<PathBuf>,
    /// Take the client's address from the last entry of X-Forwarded-For. Only behind a proxy that adds
    /// it: whoever else reaches the server can say anything
    #[arg(long)]
    pub(crate) trust_forwarded: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StatsArgs {
    /// So long until now [default: 24h]
    #[arg(long, value_name = "SPAN", conflicts_with_all = ["from", "to"])]
    pub(crate) since: Option<String>,
    /// From this time: 2026-01-31, 2026-01-31T12:00, with Z for UTC
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// Until this time [default: now]
    #[arg(long, value_name = "TIME", requires = "from")]
    pub(crate) to: Option<String>,
    /// Show another span beside it: as many hours `before` it, or any span
    #[arg(long, value_name = "SPAN")]
    pub(crate) compare: Option<String>,
    /// Only searches of this kind: indexed, scan, multi-line, names, ...
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Percentages of the quickest and of the slowest that the trimmed mean leaves out
    #[arg(long, value_name = "LOW,HIGH", default_value = "5,5")]
    pub(crate) trim: Trim,
    /// List the slowest searches of those that took long, with their plans
    #[arg(long, conflicts_with_all = ["compare", "statements"])]
    pub(crate) slow: bool,
    /// List what Postgres counts of the statements of this database (pg_stat_statements)
    #[arg(long, conflicts_with = "compare")]
    pub(crate) statements: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ReposArgs {
    /// List the files that were left out of this repository, and why
    #[arg(long, value_name = "NAME")]
    pub(crate) skipped: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RemoveArgs {
    /// Names, as `codesearch repos` lists them
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
}

/// A number of MiB, perhaps with a fraction, as bytes.
fn mebibytes(text: &str) -> Result<u64, String> {
    let number = text.parse::<f64>().ok().filter(|mib| (0.0..1e12).contains(mib));
    number.map(|mib| (mib * 1_048_576.0) as u64).ok_or_else(|| "give a number of MiB".to_owned())
}

#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// How many shards to make; fixed from then on
    #[arg(long, value_name = "N", default_value_t = SHARDS, value_parser = clap::value_parser!(i16).range(1..=1000))]
    pub(crate) shards: i16,
}

#[derive(Args, Debug)]
pub(crate) struct DbArgs {
    #[command(subcommand)]
    pub(crate) what: DbCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Say where it is, which Postgres it is, whether it runs, how large it is
    Status,
    /// Start it, and let it run until `codesearch db stop`
    Start,
    /// Stop it
    Stop {
        /// Even while another program uses it (one that serves starts it again)
        #[arg(long)]
        force: bool,
    },
    /// Print the URL to connect to it with
    Url,
    /// Print the command that opens it in psql
    PsqlHint,
    /// Start it, and stop it when standard input ends
    #[command(hide = true)]
    Hold,
}
