//! `codesearch sql`: the statement, and the format of its rows.

use std::time::Duration;

use clap::{Args, ValueEnum};

pub(super) const SQL_HELP: &str = "\
The schema codesearch_sql has the views repositories, files, file_texts, symbols, scip_indexes, left_out, \
owners, newest_files, history_commits, history_lines, searches, \
search_times, slow_searches and refusals. The function grep(PATTERN) finds lines with the trigram index. The \
statement may be a query, EXPLAIN or SHOW. It runs as the role codesearch_reader, which may only read the views; \
with CODESEARCH_REPOS, as codesearch_visible, which sees only these repositories. \
Without a statement, the command opens psql on a terminal; otherwise it reads the statement from standard input.

Examples:
  codesearch sql                                             psql, if it is installed; there: \\dv+
  codesearch sql 'select repository, files from repositories'
  codesearch sql --format csv 'select path, bytes from files order by bytes desc limit 10'
  codesearch sql --format json \"select * from grep('TODO|FIXME', paths => '\\.go$')\"
  codesearch sql < question.sql

Exit status: 0 when there are rows, 1 when there are none, 2 on an error.";

#[derive(Args, Debug)]
pub(crate) struct SqlArgs {
    /// One SQL statement
    #[arg(value_name = "STATEMENT")]
    pub(crate) statement: Vec<String>,
    /// How to print the rows
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: SqlFormat,
    /// Timeout of the statement, at most 60m (in psql: set statement_timeout = 0)
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = query::duration)]
    pub(crate) timeout: Duration,
    /// With DATABASE_URL: the URL for the role that may only read the views [default: DATABASE_URL with the user
    /// codesearch_reader and no password]
    #[arg(long, env = "CODESEARCH_READER_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) reader_url: Option<String>,
    /// Open psql even if standard input is not a terminal
    #[arg(long, conflicts_with_all = ["statement", "format"])]
    pub(crate) psql: bool,
}

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SqlFormat {
    /// Columns with headers; control characters as symbols (␉)
    Table,
    /// Comma-separated values, with a header line
    Csv,
    /// A JSON object per row, one per line
    Json,
}
