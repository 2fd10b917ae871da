//! The tool `sql`: one query of the views of the index.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Result, bail};
use rmcp::schemars::JsonSchema;
use search::View;
use serde::Deserialize;
use serde_json::{Value, json};
use store::{More, SqlBounds, SqlReader, SqlRows, Store, Target};
use tokio::sync::Semaphore;

use super::answer::{Answer, MAX_BYTES, Text, count, default_bytes};

pub(super) const DESCRIPTION: &str = "\
Answers by one read-only Postgres query of the whole index: how many, which repositories, largest. \
Views:
repositories(repository, folder, files, bytes, left_out, indexed_at, topics, stars, archived, fork, description)
files(repository, path, language, bytes, lines, hash); file_texts(repository, path, text): name a path
symbols(repository, path, language, symbol, kind, container, line)
left_out(repository, path, bytes, reason); trees(repository, tree, kind, commit); tree_files(repository, tree, path, hash)
owners(repository, path, owner, rule) by CODEOWNERS; newest_files(repository, path): changed by the last ingest
grep(regex, repositories => regex, paths => regex, ignore_case => true) gives repository, path, line, text
Examples:
select count(distinct repository) from grep('log4j', paths => 'pom\\.xml$')
select language, count(*), sum(lines) from files group by 1 order by 3 desc limit 10
select repository, path, line from symbols where symbol = 'main' and kind = 'function'
select hash, count(*), min(path) from files group by 1 having count(*) > 3 order by 2 desc
select text from file_texts where repository = 'a/b' and path = 'go.mod'";

/// The code of the error for a statement that is refused ([`store::Error::Refused`]).
pub const REFUSED: &str = "statement_refused";

/// Longest statement, in bytes.
const MAX_STATEMENT: usize = 10_000;

/// Longest time of a statement.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Longest time that a statement waits for its turn.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Statements that run at once, for all agents of a process.
const AT_ONCE: usize = 2;

/// Highest expected cost of a statement. Postgres expects about 10 million for reading every text of some gigabytes; what
/// joins large views without conditions is far above.
const MAX_COST: f64 = 1e8;

/// Most letters of a value.
const MAX_LETTERS: usize = 4000;

/// Most letters of a value in an answer of many rows.
const MAX_LETTERS_OF_MANY: usize = 300;

/// What can be asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Statement {
    /// One SELECT.
    #[schemars(extend("maxLength" = MAX_STATEMENT))]
    query: String,
    /// Most rows.
    #[serde(default = "rows")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
    /// Most bytes.
    #[serde(default = "default_bytes")]
    #[schemars(range(min = 2048, max = 32768))]
    max_bytes: usize,
}

fn rows() -> usize {
    100
}

/// Where statements run, for all clients of a process: as roles that may only read the views of the index. What a statement
/// sees is what the view of its client shows.
#[derive(Debug)]
pub struct Sql {
    store: Store,
    owner: Option<Target>,
    visible: Target,
    turns: Semaphore,
}

impl Sql {
    /// Makes statements run as the role of `visible` ([`store::VISIBLE`]); those of operators who see all repositories, as
    /// the role of `owner` ([`store::READER`]) if there is one. Each statement checks its role.
    pub fn new(store: Store, owner: Option<Target>, visible: Target) -> Self {
        Self { store, owner, visible, turns: Semaphore::new(AT_ONCE) }
    }

    /// Runs a statement that reads what a view shows, when its turn comes. Operators who see all repositories also read the
    /// statistics of searches. All statements of clients run here.
    ///
    /// # Errors
    /// The statement is empty or wrong ([`store::Error::Statement`]); it is refused, costs too much or takes too long
    /// ([`store::Error::Refused`]); the role is missing ([`store::Error::Unsuitable`]); other statements run.
    pub async fn rows(
        &self,
        view: &View,
        is_operator: bool,
        statement: &str,
        bounds: &SqlBounds,
    ) -> Result<SqlRows, store::Error> {
        let refuse = |why: &str| Err(store::Error::Statement(why.to_owned()));
        if statement.trim().is_empty() {
            return refuse("the query is empty; try: select repository, files from repositories");
        }
        if statement.len() > MAX_STATEMENT {
            return refuse(&format!("the query is too long: {MAX_STATEMENT} bytes are the most"));
        }
        let Ok(Ok(_turn)) = tokio::time::timeout(MAX_WAIT, self.turns.acquire()).await else {
            return refuse("other statements are running; try again in some seconds");
        };
        let repos = view.visible_repos().await?;
        let reader = match (&self.owner, &repos) {
            (Some(owner), None) if is_operator => SqlReader::owner(owner.clone()),
            _ => SqlReader::of(self.visible.clone(), repos),
        };
        let found = self.store.sql_within(&reader, statement, bounds).await?;
        let told = audit::told();
        told.count(found.rows.len());
        found.repositories().into_iter().for_each(|repo| told.repo(repo));
        Ok(found)
    }

    pub(super) async fn answer(
        &self,
        view: &View,
        is_operator: bool,
        asked: Statement,
    ) -> Result<Answer> {
        let bounds = bounds(asked.limit, MAX_BYTES);
        let found = match self.rows(view, is_operator, &asked.query, &bounds).await {
            Err(store::Error::Statement(why)) => bail!("{}", with_near_view(&why)),
            other => other?,
        };
        let names: Vec<&str> = found.columns.iter().map(|column| &*column.name).collect();
        let mut text = Text::of(asked.max_bytes);
        text.add(&format!("{}\n", names.join(" | ")));
        let mut shown = 0;
        for row in &found.rows {
            let is_only = found.rows.len() == 1;
            let mut line = line(row, is_only);
            if is_only && line.len() > text.room() {
                line.truncate(line.floor_char_boundary(text.room()));
            }
            if !text.add(&line) {
                break;
            }
            text.note(json!(row));
            shown += 1;
        }
        let all = found.rows.len();
        let mut head = count(all, "row", "rows");
        let cut = found.cut();
        head += &match found.more {
            Some(More::Rows) => {
                format!(
                    ", and {cut}: the limit was reached. Count them in the query, or raise limit."
                )
            }
            Some(More::Bytes) => {
                format!(
                    ", and {cut}: the answer is full. Select fewer columns, or count in the query."
                )
            }
            None if shown == all => ". That is all.".to_owned(),
            None => format!(
                ". Here are 1 to {shown}: the answer is full, at {} bytes. Select fewer columns, or raise max_bytes.",
                asked.max_bytes
            ),
        };
        let columns: Vec<Value> = names.iter().map(|name| json!(name)).collect();
        Ok(text.below(&head, "rows", "").and("columns", Value::Array(columns)))
    }
}

/// Returns the bounds of a statement of a client, which gets up to so many rows and bytes.
pub fn bounds(rows: usize, bytes: usize) -> SqlBounds {
    SqlBounds { timeout: TIMEOUT, cost: MAX_COST, rows, bytes, letters: MAX_LETTERS }
}

/// Formats a row: values between bars, each in one line unless it is the only row.
fn line(row: &[Option<String>], is_only: bool) -> String {
    let value = |value: &Option<String>| {
        let text = value.as_deref().unwrap_or("null");
        if is_only {
            return text.to_owned();
        }
        let text = text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
        cut(&text)
    };
    let values: Vec<String> = row.iter().map(value).collect();
    format!("{}\n", values.join(" | "))
}

/// Cuts a long value, which may have been cut before.
fn cut(text: &str) -> String {
    let (body, before) = match text.rsplit_once("[... ") {
        Some((body, rest)) => match rest.strip_suffix(" letters ...]").map(str::parse::<usize>) {
            Some(Ok(before)) => (body, before),
            _ => (text, 0),
        },
        None => (text, 0),
    };
    match body.chars().count().checked_sub(MAX_LETTERS_OF_MANY) {
        None | Some(0) => text.to_owned(),
        Some(left) => {
            let mut short: String = body.chars().take(MAX_LETTERS_OF_MANY).collect();
            let _ = write!(short, "[... {} letters ...]", left + before);
            short
        }
    }
}

/// The views and functions that statements may name.
const VIEWS: [&str; 20] = [
    "repositories",
    "pending",
    "files",
    "trees",
    "tree_files",
    "file_texts",
    "symbols",
    "scip_indexes",
    "left_out",
    "owners",
    "owners_of",
    "newest_files",
    "history_commits",
    "history_lines",
    "searches",
    "search_times",
    "slow_searches",
    "refusals",
    "grep",
    "explain_grep",
];

/// Adds the nearest view to Postgres's message about one that does not exist.
fn with_near_view(why: &str) -> String {
    let missing = why.split_once("relation \"").and_then(|(_, rest)| rest.split_once('"'));
    let Some((missing, _)) = missing.filter(|_| why.contains("does not exist")) else {
        return why.to_owned();
    };
    let name = missing.rsplit('.').next().unwrap_or(missing);
    let meant = match name {
        "repos" | "repository" | "repositorys" => Some("repositories"),
        "file" => Some("files"),
        "contents" | "texts" | "chunks" | "blobs" => Some("file_texts"),
        _ => query::nearest(name, VIEWS),
    };
    let why = why.split("; codesearch sql").next().unwrap_or(why);
    match meant {
        Some(near) => format!("{why}; did you mean {near}?"),
        None => format!(
            "{why}; the views are repositories, files, file_texts, symbols, left_out, trees"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_line() {
        let row = [Some("a\nb".to_owned()), None, Some("x".repeat(310))];
        let expected = format!("a\\nb | null | {}[... 10 letters ...]\n", "x".repeat(300));
        assert_eq!(line(&row, false), expected);
        assert_eq!(line(&row[..1], true), "a\nb\n");
    }

    #[test]
    fn a_missing_view_has_a_near_one() {
        let why = |name: &str| {
            with_near_view(&format!(
                "relation \"{name}\" does not exist (line 1, column 15); codesearch sql --help lists the views"
            ))
        };
        assert!(why("repos").ends_with("(line 1, column 15); did you mean repositories?"));
        assert!(why("codesearch_sql.symbol").ends_with("did you mean symbols?"));
        assert!(why("zzz").contains("the views are"));
        assert_eq!(with_near_view("syntax error"), "syntax error");
    }
}
