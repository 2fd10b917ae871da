//! What can be asked of a name, and what answers about names have in common.

use std::time::Duration;

use anyhow::{Result, bail};
use navigate::{self, Basis, NameRequest};
use rmcp::schemars::JsonSchema;
use search::View;
use search::{Stats, Stopped};
use serde::Deserialize;

use super::answer::{Text, default_bytes, late};

/// Default number of definitions, or of files with references, in an answer.
const ENTRIES: usize = 20;

/// Timeout of a search.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Longest time to find the name that was meant.
const NEAR_WITHIN: Duration = Duration::from_secs(1);

/// The head of an answer, its list, and what its last line says of the index.
pub(super) type Told = (String, Text, Vec<String>);

/// What can be asked of a name.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Name {
    /// The exact name: bar, or Foo.bar for bar in Foo. By default, the one at `from`.
    #[serde(default)]
    pub(super) name: String,
    /// Where you see the name: REPOSITORY/PATH:LINE or REPOSITORY/PATH:LINE:COLUMN. What is nearest to it comes first.
    #[serde(default)]
    from: Option<String>,
    /// What to find.
    #[serde(default = "both")]
    #[schemars(extend("enum" = ["both", "definitions", "references"]))]
    pub(super) find: String,
    /// Only repositories whose names match this regular expression.
    #[serde(default)]
    repo: Option<String>,
    /// Only this language: rust or rs.
    #[serde(default)]
    language: Option<String>,
    /// Most definitions, and most files with references.
    #[serde(default = "entries")]
    #[schemars(range(min = 1, max = 500))]
    pub(super) limit: usize,
    /// Most bytes.
    #[serde(default = "default_bytes")]
    #[schemars(range(min = 2048, max = 32768))]
    pub(super) max_bytes: usize,
}

impl Name {
    /// Returns whether the call names a place.
    pub(super) fn has_place(&self) -> bool {
        self.from.as_ref().is_some_and(|from| !from.trim().is_empty())
    }
}

fn both() -> String {
    "both".to_owned()
}

fn entries() -> usize {
    ENTRIES
}

/// Returns the name that was probably meant instead of one that is not defined, as the rest of a sentence: of the
/// repository, or of the symbol.
pub(super) async fn nearest(view: &View, asked: &Name) -> String {
    let repos: Vec<String> = asked.repo.iter().cloned().collect();
    if let Some(missing) = request::hints::missing_repository(view, &repos).await {
        return format!(" ({missing}).");
    }
    match request::hints::near_symbol(view, &asked.name, NEAR_WITHIN).await {
        Some(near) => format!("; did you mean {near}?"),
        None => ".".to_owned(),
    }
}

/// Builds the request for at most `limit` definitions or files.
pub(super) async fn request(view: &View, asked: &Name, limit: usize) -> Result<NameRequest> {
    let from = match asked.from.as_deref().map(str::trim).filter(|from| !from.is_empty()) {
        // Other tools print places in this form.
        Some(from) => {
            let place = navigate::place(view, &from.replacen(": ", "/", 1)).await;
            Some(match place {
                Err(navigate::Error::NoFile(file)) => {
                    match request::hints::near_path(view, &file).await {
                        Some(near) => bail!("unknown file {file}; did you mean {near}?"),
                        None => bail!("unknown file {file}; find_file finds files by their paths"),
                    }
                }
                other => other?,
            })
        }
        None => None,
    };
    Ok(NameRequest {
        name: asked.name.clone(),
        from,
        here: None,
        repo: asked.repo.clone(),
        language: asked.language.clone(),
        limit,
        timeout: TIMEOUT,
    })
}

/// Returns the head: a summary of the results, and the part that is shown.
pub(super) fn head(
    what: &str,
    (told, all, things): (usize, usize, &str),
    stats: &Stats,
    bytes: usize,
) -> String {
    let mut head = match &stats.stopped {
        Some(Stopped::Limit) => format!(
            "At least {what}, and there are more: narrow the search with repo or language, or give from."
        ),
        Some(Stopped::Timeout(time)) => {
            format!("At least {what}, and there may be more: {}", late(*time))
        }
        Some(Stopped::Shards(error) | Stopped::Revision(error)) => {
            let missing = request::notes::missing(&stats.shown_missing());
            let why = missing.as_ref().unwrap_or(error);
            format!("At least {what}, and there may be more: {why}.")
        }
        None if !stats.is_complete() => format!("At least {what}."),
        None => format!("{what}."),
    };
    if told < all {
        head += &format!(
            " Here are the nearest {told} {things}; for more, raise limit or max_bytes ({bytes})."
        );
    } else if stats.is_complete() {
        head += " That is all.";
    }
    head
}

/// Returns what the last line of an answer says of the index: symbols that are not in it, and repositories that could not be
/// updated.
pub(super) fn about(stats: &Stats) -> Vec<String> {
    request::notes::unsearched_in_short(stats).into_iter().collect()
}

/// Returns `precise, ` or `search, `; nothing if no SCIP index covers the request's place.
pub(super) fn basis(basis: Basis, is_precise: bool) -> &'static str {
    match basis {
        _ if !is_precise => "",
        Basis::Precise => "precise, ",
        Basis::Search => "search, ",
    }
}
