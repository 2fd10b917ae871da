//! `/suggest`: how a word of a query could go on.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use engine::browse::{FindRequest, Tree};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::http::error::Failure;
use crate::http::params::StrictParams;
use crate::http::server::Server;
use crate::human::grouped;

/// Suggestions at most.
const MOST: usize = 8;

/// What a field is for.
const FIELDS: [(&str, &str); 14] = [
    ("repo:", "in the name of the repository"),
    ("lang:", "files in a language: go, c++, rs"),
    ("file:", "in the path: file:\\.go$, file:^src/"),
    ("-file:", "not in the path"),
    ("content:", "in the lines only"),
    ("lit:", "these very characters, no expression"),
    ("case:yes", "exactly this case"),
    ("case:no", "any case"),
    ("type:file", "paths only"),
    ("type:repo", "repositories only"),
    ("multiline:yes", "terms may match across lines"),
    ("count:all", "everything there is"),
    ("timeout:30s", "how long it may take"),
    ("or", "one of two terms"),
];

/// What is asked.
#[derive(Debug, Deserialize)]
pub(crate) struct SuggestParams {
    /// The word as it stands in the query.
    #[serde(default)]
    word: String,
}

/// A word that may be meant.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Suggestion {
    /// What to write in place of the word.
    text: String,
    /// What it is called.
    label: String,
    /// What it means, or how much there is of it.
    note: String,
}

/// Answers `/suggest`.
pub(crate) async fn suggest(
    State(server): State<Server>,
    StrictParams(SuggestParams { word }): StrictParams<SuggestParams>,
) -> Result<Response, Failure> {
    let tree = server.searcher.tree().await?;
    // Going through all paths takes its time.
    let work = tokio::task::spawn_blocking(move || suggestions(&word, &tree));
    let suggestions = work.await.map_err(|_| Failure::broke_off())?;
    Ok(Json(json!({ "suggestions": suggestions })).into_response())
}

fn suggestions(word: &str, tree: &Tree) -> Vec<Suggestion> {
    let (sign, bare) = word.strip_prefix('-').map_or(("", word), |bare| ("-", bare));
    let Some((field, value)) = bare.split_once(':') else { return fields(word) };
    let value = value.trim_matches('"');
    let small = value.to_lowercase();
    match field {
        "repo" | "r" => tree
            .repos()
            .iter()
            .filter(|repo| repo.name.to_lowercase().contains(&small))
            .take(MOST)
            .map(|repo| Suggestion {
                text: format!("{sign}{} ", query::exactly("repo", &repo.name)),
                label: repo.name.clone(),
                note: format!("{} files", grouped(repo.len())),
            })
            .collect(),
        "lang" | "l" | "language" => tree
            .all_languages()
            .iter()
            .filter(|(name, _)| name.to_lowercase().starts_with(&small))
            .take(MOST)
            .map(|(name, files)| Suggestion {
                text: format!("{sign}{} ", query::written("lang", &name.to_lowercase())),
                label: name.clone(),
                note: format!("{} files", grouped(*files)),
            })
            .collect(),
        "file" | "f" | "path" if !value.is_empty() => {
            let finding = FindRequest { query: value, limit: MOST, ..FindRequest::default() };
            // Of what is too long to be a path there is none.
            let (near, _) = tree.find(&finding).unwrap_or_default();
            near.into_iter()
                .map(|near| Suggestion {
                    text: format!("{sign}{} ", query::exactly("file", &near.path)),
                    label: near.path,
                    note: near.repo,
                })
                .collect()
        }
        _ => fields(word),
    }
}

fn fields(word: &str) -> Vec<Suggestion> {
    FIELDS
        .iter()
        .filter(|(name, _)| !word.is_empty() && name.starts_with(word) && *name != word)
        .take(MOST)
        .map(|(name, note)| Suggestion {
            text: if name.ends_with(':') { (*name).to_owned() } else { format!("{name} ") },
            label: (*name).to_owned(),
            note: (*note).to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_suggested_by_their_beginnings() {
        let labels = |word| fields(word).into_iter().map(|one| one.label).collect::<Vec<_>>();
        assert_eq!(labels("ca"), ["case:yes", "case:no"]);
        assert_eq!(labels("-f"), ["-file:"]);
        assert!(labels("").is_empty() && labels("xyz").is_empty());
    }
}
