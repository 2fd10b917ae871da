//! `/suggest`: completions of a word of a query.

use axum::Json;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use browse::FindRequest;
use search::Tree;
use serde::Serialize;
use serde_json::json;

use crate::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use crate::error::Failure;
use crate::params::{CheckedParams, DeclaredParams, Param, StrictParams};
use crate::server::Server;
use request::human::count;

/// Most completions.
const MOST: usize = 8;

const WORD: Param = Param::text("word", "The beginning of a word.").at_most(1024);

/// `/suggest`.
pub(crate) const SUGGEST: Endpoint = Endpoint {
    path: "/suggest",
    route: || get(suggest),
    class: Class::Read,
    admits: Admits::Clients,
    params: DeclaredParams { documented: &[WORD], undocumented: &[] },
    doc: Some(Doc {
        summary: "Completions of a word of a query",
        description: "",
        answers: &[Answer::ok("At most eight completions.", Content::Json(&["Suggestions"]))],
    }),
};

/// A completion of a word.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Suggestion {
    /// The text that replaces the word.
    text: String,
    /// The name to show.
    label: String,
    /// Its meaning, or its number of files.
    note: String,
}

/// Answers `/suggest`.
async fn suggest(
    server: Server,
    StrictParams(given): StrictParams<CheckedParams>,
) -> Result<Response, Failure> {
    let typed = given.text(&WORD);
    let tree = server.view().tree().await?;
    // The search visits all paths, which takes a while.
    let work = tokio::task::spawn_blocking(move || suggestions(&typed, &tree));
    let suggestions = work.await.map_err(|_| Failure::panicked())?;
    audit::told().count(suggestions.len());
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
                note: count(repo.len(), "file"),
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
                note: count(*files, "file"),
            })
            .collect(),
        "file" | "f" | "path" if !value.is_empty() => {
            let finding = FindRequest { query: value, limit: MOST, ..FindRequest::default() };
            // A value that is too long has no similar paths.
            let (near, _) = browse::find(tree, &finding).unwrap_or_default();
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
    query::suggestions()
        .filter(|(name, _)| !word.is_empty() && name.starts_with(word) && *name != word)
        .take(MOST)
        .map(|(name, note)| Suggestion {
            text: if name.ends_with(':') { name.to_owned() } else { format!("{name} ") },
            label: name.to_owned(),
            note: note.to_owned(),
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
