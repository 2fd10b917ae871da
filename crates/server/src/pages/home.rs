//! The start page: a summary of the index, and example queries.

use std::collections::HashMap;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use store::{Catalog, Repo};

use super::link;
use super::render::render;
use crate::error::Failure;
use crate::server::Server;
use request::human::{count, size};

/// Example queries by language, each with a description, for languages that are indexed.
const BY_LANGUAGE: [(&str, &str, &str); 18] = [
    ("c", r"\bmalloc\(.*sizeof lang:c", "allocations by the size of a type"),
    ("c++", r#""std::unique_ptr<\w+> \w+\(" lang:c++"#, "functions that return an owned pointer"),
    ("c#", r#""async Task<\w+>" lang:c#"#, "asynchronous methods"),
    (
        "go",
        r#""func \w+\(ctx context\.Context" lang:go -file:_test"#,
        "functions that can be cancelled, without tests",
    ),
    ("haskell", r#""^instance \w+" lang:haskell"#, "instances"),
    ("java", r#""implements \w*Listener" lang:java"#, "classes that listen"),
    ("javascript", r"\bawait\s+fetch\( lang:javascript", "requests that are waited for"),
    ("kotlin", r#""suspend fun \w+" lang:kotlin"#, "functions that can be suspended"),
    ("lua", r#""^local function \w+" lang:lua"#, "local functions"),
    ("markdown", r"^#+\s.*install lang:markdown", "headings on installing"),
    ("php", r#""public function \w+" lang:php"#, "public methods"),
    ("python", r#""except \w+ as \w+" lang:python"#, "handlers of exceptions"),
    ("ruby", r"^\s*def\s+self\. lang:ruby", "methods of classes"),
    ("rust", r#""impl.* Iterator for" lang:rust"#, "iterators"),
    ("shell", r#""set -e" lang:shell"#, "scripts that end at an error"),
    ("swift", r#""guard let \w+" lang:swift"#, "guards"),
    ("typescript", r#""export interface \w+" lang:typescript"#, "interfaces"),
    ("zig", r#""pub fn \w+" lang:zig"#, "public functions"),
];

/// Example queries for any language.
const ANYWHERE: [(&str, &str); 4] = [
    ("TODO or FIXME", "either word"),
    ("\"rate limit\" -file:test", "a phrase, but not in tests"),
    (r"return\n\s*\}", "across lines"),
    ("license type:repo", "repositories that mention it"),
];

/// Most examples that depend on a language.
const LANGUAGES: usize = 4;

/// Most examples.
const EXAMPLES: usize = 6;

/// Most repositories listed.
const LARGEST: usize = 8;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'a> {
    query: &'a str,
    /// Whether nothing is indexed.
    is_empty: bool,
    /// The reason why the index cannot be shown.
    trouble: Option<String>,
    index: Option<Index>,
}

/// A summary of the index.
struct Index {
    /// The number of repositories.
    repos: String,
    size: String,
    examples: Vec<Example>,
    /// The heading above the repositories.
    heading: &'static str,
    largest: Vec<LargeRepo>,
    /// Whether there are more repositories than listed.
    more: bool,
}

struct Example {
    query: &'static str,
    href: String,
    says: &'static str,
}

struct LargeRepo {
    name: String,
    href: String,
    says: String,
}

/// Sends the start page.
pub(crate) async fn home(State(server): State<Server>) -> Response {
    let index = async {
        let catalog = server.view().catalog().await?;
        let repos = server.view().repos().await?;
        let stored = server.view().stored_bytes().await?;
        Ok::<_, store::Error>(Index::of(&catalog, stored, repos))
    };
    let page = match index.await {
        Ok(index) => HomePage { query: "", is_empty: false, trouble: None, index: Some(index) },
        Err(store::Error::Empty) => {
            HomePage { query: "", is_empty: true, trouble: None, index: None }
        }
        Err(error) => {
            let trouble = Some(Failure::from(error).body.message);
            HomePage { query: "", is_empty: false, trouble, index: None }
        }
    };
    render(StatusCode::OK, &page)
}

impl Index {
    fn of(catalog: &Catalog, stored: i64, mut repos: Vec<Repo>) -> Self {
        repos.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        let largest = repos.iter().take(LARGEST).map(|repo| LargeRepo {
            name: repo.name.clone(),
            href: link::folder(&repo.name, ""),
            says: format!("{}, {}", count(repo.files as usize, "file"), size(repo.bytes as u64)),
        });
        let more = repos.len() > LARGEST;
        Self {
            repos: count(repos.len(), "repository"),
            size: held(stored, &repos),
            examples: examples(&languages(catalog)),
            heading: if more { "Largest repositories" } else { "Repositories" },
            largest: largest.collect(),
            more,
        }
    }
}

/// Describes the amount of text, and the bytes stored: equal files are stored once.
pub(super) fn held(stored: i64, repos: &[Repo]) -> String {
    let files: i64 = repos.iter().map(|repo| repo.files).sum();
    let bytes: i64 = repos.iter().map(|repo| repo.bytes).sum();
    let all = format!("{}, {} of text", count(files as usize, "file"), size(bytes as u64));
    let once = size(stored as u64);
    if size(bytes as u64) == once {
        all
    } else {
        format!("{all} ({once} stored, equal files once)")
    }
}

/// Returns the lower-case names of the indexed languages, those with most chunks first.
fn languages(catalog: &Catalog) -> Vec<&str> {
    let mut chunks: HashMap<&str, u64> = HashMap::new();
    for (name, of) in catalog.shards.iter().flat_map(|shard| shard.languages.iter()) {
        *chunks.entry(name).or_default() += u64::from(*of);
    }
    let mut all: Vec<(&str, u64)> = chunks.into_iter().collect();
    all.sort_by(|(a, x), (b, y)| (y, a).cmp(&(x, b)));
    all.into_iter().map(|(name, _)| name).collect()
}

/// Returns example queries for these languages, and some for any language.
fn examples(languages: &[&str]) -> Vec<Example> {
    let known = languages.iter().filter_map(|name| BY_LANGUAGE.iter().find(|of| of.0 == *name));
    let known = known.take(LANGUAGES).map(|(_, query, says)| (*query, *says));
    let all = known.chain(ANYWHERE).take(EXAMPLES);
    all.map(|(query, says)| Example { query, href: link::to("/search", &[("q", query)]), says })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_queries_of_languages_that_there_are() {
        for (language, query, _) in BY_LANGUAGE {
            query::check_language(language).unwrap();
            let parsed = query::Query::parse(query, query::Case::Smart).unwrap();
            search::Request::new(&parsed).unwrap();
            let fields = query::typed_fields(query);
            assert!(
                fields.iter().any(|field| field.name == "lang" && field.value == language),
                "{query}"
            );
        }
        for (query, _) in ANYWHERE {
            let parsed = query::Query::parse(query, query::Case::Smart).unwrap();
            search::Request::new(&parsed).unwrap();
        }
        let shown = |languages: &[&str]| -> Vec<&str> {
            examples(languages).into_iter().map(|example| example.query).collect()
        };
        assert_eq!(shown(&[])[0], "TODO or FIXME");
        let of_two = shown(&["text", "rust", "go"]);
        assert!(of_two[0].ends_with("lang:rust") && of_two[1].contains("lang:go"), "{of_two:?}");
        assert_eq!(of_two.len(), EXAMPLES);
    }
}
