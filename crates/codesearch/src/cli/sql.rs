//! `codesearch sql`: the statement, and the format of its rows.

use std::time::Duration;

use clap::{Args, ValueEnum};

pub(super) const SQL_HELP: &str = "\
The views are in the schema codesearch_sql: repositories, files, file_texts, symbols, scip_indexes, left_out, searches,
search_times, slow_searches, refusals; the function grep(PATTERN) finds lines by the trigram index. The statement is a
query, EXPLAIN or SHOW. It runs as the role codesearch_reader, which may read the views and do nothing else.
Without a statement, on a terminal, it opens psql; elsewhere it reads the statement from standard input.

Examples:
  codesearch sql                                             psql, if it is installed; there: \\dv+
  codesearch sql 'select repository, files from repositories'
  codesearch sql --format csv 'select path, bytes from files order by bytes desc limit 10'
  codesearch sql --format json \"select * from grep('TODO|FIXME', paths => '\\.go$')\"
  codesearch sql < question.sql

Exit status: 0 when there are rows, 1 when there are none, 2 on an error.";

#[derive(Args, Debug)]
pub(crate) struct SqlArgs {
    /// One statement of Postgres' SQL
    #[arg(value_name = "STATEMENT")]
    pub(crate) statement: Vec<String>,
    /// How to print the rows
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: SqlFormat,
    /// End a statement that takes longer; 60m at most (psql: set statement_timeout = 0)
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = query::duration)]
    pub(crate) timeout: Duration,
    /// With DATABASE_URL: the URL by which the role connects that may only read the views [default: that of the
    /// database, as codesearch_reader and without a password]
    #[arg(long, env = "CODESEARCH_READER_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) reader_url: Option<String>,
    /// Open psql even if standard input is no terminal
    #[arg(long, conflicts_with_all = ["statement", "format"])]
    pub(crate) psql: bool,
}

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SqlFormat {
    /// Columns below their names; control characters as symbols (␉)
    Table,
    /// Values with commas between them, below a line of names
    Csv,
    /// A JSON object for each row, one a line
    Json,
}
