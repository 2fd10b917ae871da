//! The tool `docs`: documents and comments, found by words and ranked.

use anyhow::Result;
use rmcp::schemars::JsonSchema;
use search::DEFAULT_TIMEOUT;
use search::docs::{Dictionary, Doc, DocKind, DocsRequest, MAX_QUERY, MAX_RANKED, TextRun};
use search::{Covered, View};
use serde::Deserialize;
use serde_json::json;

use super::answer::{Answer, Text, count, default_bytes};
use super::search::age;
use request::docs_answer::stopped;
use request::{self, DocsQuery};

/// What can be asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct FindDocs {
    /// Words that must all occur, in any form; "a phrase" in quotes; or between alternatives; a minus before a word
    /// that must not occur.
    #[schemars(extend("maxLength" = MAX_QUERY))]
    query: String,
    /// Search only repositories whose names match this regular expression.
    #[serde(default)]
    repo: Option<String>,
    /// Search only this language: its name (markdown) or file extension (md).
    #[serde(default)]
    language: Option<String>,
    /// Maximum number of documents in the answer.
    #[serde(default = "documents")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
    /// Maximum number of bytes of text in the answer.
    #[serde(default = "default_bytes")]
    #[schemars(range(min = 2048, max = 32768))]
    max_bytes: usize,
}

fn documents() -> usize {
    10
}

impl FindDocs {
    /// Asks for documents with these words, in an answer of at most `max_bytes` bytes.
    pub(super) fn of(query: String, max_bytes: usize) -> Self {
        Self { query, repo: None, language: None, limit: documents(), max_bytes }
    }
}

pub(super) async fn docs(view: &View, asked: FindDocs) -> Result<Answer> {
    // Fields that narrow the search may be among the words, too.
    let words = DocsQuery::of(&asked.query);
    let request = DocsRequest {
        query: words.words.clone(),
        limit: asked.limit,
        repos: Vec::new(),
        languages: Vec::new(),
        dictionary: Dictionary::Both,
        ranked: MAX_RANKED,
        timeout: Some(DEFAULT_TIMEOUT),
    };
    let repos: Vec<String> = asked.repo.into_iter().chain(words.repos.clone()).collect();
    let languages: Vec<String> =
        asked.language.into_iter().chain(words.languages.clone()).collect();
    let found = search::docs::find(view, &request::docs(request, &repos, &languages)?).await?;
    audit::told().results(found.docs.iter().map(|doc| doc.repo.as_str()));
    if found.docs.is_empty() && found.stopped.is_none() {
        let missing = request::hints::missing_repository(view, &repos).await;
        let none = missing.map_or_else(
            || {
                "No document has all of these words; use fewer words, or the order best for names and code."
                    .to_owned()
            },
            |missing| format!("Nothing found ({missing})."),
        );
        let answer = Answer::bare(none + &outdated(&found.covered), "documents");
        return Ok(answer.about(age(&found.covered).into_iter().collect()));
    }
    let mut text = Text::of(asked.max_bytes);
    let mut shown = 0;
    for doc in &found.docs {
        let is_first = text.is_empty();
        if !text.add(&written(doc, is_first)) {
            break;
        }
        text.note(json!({
            "repo": doc.repo, "path": doc.path, "title": joined(&doc.title), "text": joined(&doc.snippet),
        }));
        shown += 1;
    }
    let mut head = count(found.matched, "document has these words", "documents have these words");
    head += &match shown {
        shown if shown == found.matched && found.stopped.is_none() => ". That is all.".to_owned(),
        shown if shown < found.docs.len() => {
            format!("; here are the best {shown}: the answer is full, at {} bytes.", text.max())
        }
        shown => format!("; here are the best {shown}."),
    };
    if let Some(("timeout" | "shard_error" | "common", why)) = stopped(&found) {
        head += &format!(" The search is incomplete: {why}.");
    }
    if let Some(notice) = words.notice() {
        head += &format!(" Note: {notice}.");
    }
    let answer = text.below(&(head + &outdated(&found.covered)), "documents", "");
    Ok(answer.about(age(&found.covered).into_iter().collect()))
}

/// Returns a line about repositories that could not be updated.
fn outdated(covered: &Covered) -> String {
    let outdated = request::fresh::outdated(covered).map(|why| format!("\nNote: {why}."));
    outdated.unwrap_or_default()
}

fn joined(runs: &[TextRun]) -> String {
    runs.iter().map(|run| run.text.as_str()).collect()
}

/// Formats a document: its place, its title, and the matching part of it.
fn written(doc: &Doc, first: bool) -> String {
    let kind = match doc.kind {
        DocKind::File => "",
        DocKind::Comment => " (its first comment)",
    };
    let same = match doc.same {
        0 => String::new(),
        same => format!(" (and {same} more with the same contents)"),
    };
    let gap = if first { "" } else { "\n" };
    let mut text = format!("{gap}{}: {}{kind}{same}\n", doc.repo, doc.path);
    for part in [joined(&doc.title), joined(&doc.snippet)] {
        if !part.is_empty() {
            text += &format!("{part}\n");
        }
    }
    text
}
