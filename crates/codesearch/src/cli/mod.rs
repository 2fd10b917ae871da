//! The command line: a file for each command, with its options and their help.

#![expect(clippy::doc_markdown, reason = "these comments are printed as help")]
#![expect(clippy::struct_excessive_bools, reason = "they are switches of the command line")]

mod access;
mod arguments;
mod ask;
mod audit;
mod color;
mod config;
mod database;
mod diff;
mod docs;
mod files;
mod generate;
mod hyperlink;
mod identity;
mod ingest;
mod mirror;
mod monitor;
mod navigate;
mod near;
mod parse;
mod report;
mod ripgrep;
mod scip;
mod search;
mod serve;
mod settings;
mod sort;
mod sql;

use clap::{Parser, Subcommand};

pub(crate) use access::{AccessArgs, GrantArgs, GrantsArgs, RevokeArgs};
pub(crate) use arguments::{CommandLine, TypedOption, typed_options};
pub(crate) use ask::AskArgs;
pub(crate) use audit::{AuditArgs, AuditFormat};
pub(crate) use color::Color;
pub(crate) use database::{DEFAULT_INDEX, DatabaseArgs, DbArgs, DbCommand};
pub(crate) use diff::DiffArgs;
pub(crate) use docs::DocsArgs;
pub(crate) use files::FilesArgs;
pub(crate) use hyperlink::{HyperlinkFormat, LINK_END, host as machine};
pub(crate) use identity::{ProxyArgs, TokenArgs};
pub(crate) use ingest::{
    GitHook, IngestArgs, IngestOptions, InitArgs, RemoveArgs, Secrets, UpArgs,
};
pub(crate) use mirror::MirrorArgs;
pub(crate) use monitor::{AddMonitorArgs, MonitorArgs, MonitorCommand, TestMonitorArgs};
pub(crate) use navigate::{NameArgs, OutlineArgs};
pub(crate) use parse::{Unparsed, parse, parse_sent, typed_command};
pub(crate) use report::{CheckArgs, ReposArgs, StatsArgs};
pub(crate) use scip::ScipArgs;
pub(crate) use search::{FilterArgs, OutputArgs, SearchArgs};
pub(crate) use serve::{ServeArgs, ServeCommand};
pub(crate) use settings::{ConfigArgs, ConfigCommand, SettingsArgs};
pub(crate) use sort::Sort;
pub(crate) use sql::{SqlArgs, SqlFormat};

/// Search all your repositories by regular expression.
///
/// Index a folder of cloned repositories, then search it from the terminal, in the browser or over HTTP. The index is a
/// Postgres database: in a private server that codesearch starts itself, or the one in DATABASE_URL.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  codesearch up                        index the sample code, and serve it
  codesearch ingest ~/repos            index a folder of repositories
  codesearch search 'fmt\\.Print.*'     search the code (codesearch help syntax)
  codesearch files srch/candidats      find a file by part of its path
  codesearch ask 'how are retries done' find files by a question in words
  codesearch docs 'configure retries'  search documents and comments
  codesearch def ReadFile              find where a name is defined
  codesearch serve                     serve searches on http://127.0.0.1:8080
  codesearch --generate complete-bash  completions for bash, zsh, fish, ...
  codesearch search --generate man     the manual page of a command

Exit status: 0 when something was found or done, 1 when nothing was found, 2 on an error."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    /// Do not read the configuration file (CODESEARCH_CONFIG_PATH, or codesearch/config in the folder for configuration)
    #[arg(long, global = true, hide_short_help = true)]
    _no_config: bool,
    /// Show results on a terminal with a pager: that of CODESEARCH_PAGER (which needs no --pager), of PAGER, or less
    #[arg(long, global = true, hide_short_help = true, overrides_with = "no_pager")]
    pub(crate) pager: bool,
    /// Use no pager
    #[arg(long, global = true, hide_short_help = true, overrides_with = "pager")]
    pub(crate) no_pager: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ingest folders, then serve them and index what changes
    Up(UpArgs),
    /// Index the repositories in folders, or update them
    #[command(after_help = ingest::INGEST_HELP)]
    Ingest(IngestArgs),
    /// Keep clones of the repositories of GitHub, GitLab, Gitea and Forgejo in step, and index them
    #[command(after_help = mirror::MIRROR_HELP)]
    Mirror(MirrorArgs),
    /// Extract the symbols that `ingest --no-symbols` skipped
    Symbols,
    /// Import a repository's SCIP index, for precise definitions and references
    #[command(after_help = scip::SCIP_HELP)]
    Scip(ScipArgs),
    /// Search, and print the lines that match
    #[command(after_help = search::SEARCH_HELP, aliases = ["grep", "rg"])]
    Search(Box<SearchArgs>),
    /// Print or search what changed between two revisions
    #[command(after_help = diff::DIFF_HELP)]
    Diff(DiffArgs),
    /// Find files by parts of their paths, typing errors forgiven
    #[command(after_help = files::FILES_HELP)]
    Files(FilesArgs),
    /// Print where a name is defined, the nearest first
    #[command(after_help = navigate::DEF_HELP, alias = "definitions")]
    Def(NameArgs),
    /// Print where a name is used, and how (call, type, import, ...)
    #[command(after_help = navigate::REFS_HELP, alias = "references")]
    Refs(NameArgs),
    /// Print what a file defines
    #[command(after_help = navigate::OUTLINE_HELP)]
    Outline(OutlineArgs),
    /// Ask in words; print the files that answer best
    #[command(after_help = ask::ASK_HELP)]
    Ask(AskArgs),
    /// Search documents and comments, the best first
    #[command(after_help = docs::DOCS_HELP)]
    Docs(DocsArgs),
    /// Explain the query syntax (codesearch help syntax)
    #[command(override_help = include_str!("../../../../docs/syntax.md"))]
    Syntax,
    /// Serve searches over HTTP, for browsers and programs
    #[command(after_help = serve::SERVE_HELP)]
    Serve(ServeCommand),
    /// Make an access token: its line for the token file on stdout, the token on stderr
    Token(TokenArgs),
    /// Let a user, a group or everybody see repositories
    #[command(after_help = access::GRANT_HELP)]
    Grant(GrantArgs),
    /// Take back what was granted
    Revoke(RevokeArgs),
    /// List what is granted, and to whom
    Grants(GrantsArgs),
    /// Print whether a user sees a repository, and why
    Access(AccessArgs),
    /// Serve agents over the Model Context Protocol on standard input and output
    #[command(after_help = serve::MCP_HELP)]
    Mcp,
    /// Print the matches of a query as they appear and disappear, or keep monitors that do
    #[command(after_help = monitor::MONITOR_HELP)]
    Monitor(MonitorArgs),
    /// List the indexed repositories, and the files left out of them
    Repos(ReposArgs),
    /// Remove repositories from the index
    Remove(RemoveArgs),
    /// Create the index before the first ingest, with a given number of shards
    Init(InitArgs),
    /// Show how long searches took on this index's servers
    #[command(after_help = report::STATS_HELP)]
    Stats(StatsArgs),
    /// Show who asked this index's servers what, and which repositories were in the answers
    #[command(after_help = audit::AUDIT_HELP)]
    Audit(AuditArgs),
    /// Query the index with SQL: one statement, or psql
    #[command(after_help = sql::SQL_HELP)]
    Sql(SqlArgs),
    /// Verify the index
    #[command(after_help = report::CHECK_HELP)]
    Check(CheckArgs),
    /// Parse texts for another codesearch process, which limits and watches this one
    #[command(hide = true, name = ::ingest::symbols::worker::ARGUMENT)]
    SymbolsWorker,
    /// Check the configuration file: folders, hosts, webhooks, monitors
    #[command(arg_required_else_help = true, after_help = settings::CONFIG_HELP)]
    Config(ConfigArgs),
    /// Inspect, start or stop the private Postgres
    #[command(arg_required_else_help = true)]
    Db(DbArgs),
}

impl Command {
    /// Returns whether it reads the index and prints results; a server may then run it.
    pub(crate) fn reads_index(&self) -> bool {
        matches!(
            self,
            Self::Search(_)
                | Self::Diff(_)
                | Self::Files(_)
                | Self::Def(_)
                | Self::Refs(_)
                | Self::Outline(_)
                | Self::Docs(_)
                | Self::Ask(_)
        )
    }
}
