//! The start page: a summary of the index, and example queries.

use std::collections::HashMap;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use store::{Catalog, Repo};

use super::link;
use super::render::render;
use crate::error::Failure;
use crate::server::Server;
use request::human::{count, since, size};

/// Example queries by language, each with a description, for languages that are indexed.
const BY_LANGUAGE: [(&str, &str, &str); 18] = [
    ("c", "malloc sizeof lang:c", "two words, in C"),
    ("c++", "unique_ptr make lang:c++", "two words, in C++"),
    ("c#", "async Task lang:c#", "two words, in C#"),
    ("go", "func main lang:go", "two words, in Go"),
    ("haskell", "instance Show lang:haskell", "two words, in Haskell"),
    ("java", "implements Listener lang:java", "two words, in Java"),
    ("javascript", "await fetch lang:javascript", "two words, in JavaScript"),
    ("kotlin", "suspend fun lang:kotlin", "two words, in Kotlin"),
    ("lua", "local function lang:lua", "two words, in Lua"),
    ("markdown", "install usage lang:markdown", "two words, in Markdown"),
    ("php", "public function lang:php", "two words, in PHP"),
    ("python", "except raise lang:python", "two words, in Python"),
    ("ruby", "def self lang:ruby", "two words, in Ruby"),
    ("rust", "impl Iterator lang:rust", "two words, in Rust"),
    ("shell", "export PATH lang:shell", "two words, in shell scripts"),
    ("swift", "guard let lang:swift", "two words, in Swift"),
    ("typescript", "export interface lang:typescript", "two words, in TypeScript"),
    ("zig", "pub fn lang:zig", "two words, in Zig"),
];

/// Example queries for any language.
const ANYWHERE: [(&str, &str); 3] = [
    ("TODO or FIXME", "either word"),
    ("\"not found\" -file:test", "a phrase, but not in tests"),
    ("license type:repo", "repositories that mention it"),
];

/// Most examples that depend on a language.
const LANGUAGES: usize = 1;

/// Most examples.
const EXAMPLES: usize = 3;

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
    /// The time since the last ingest, and the time itself.
    indexed: (String, String),
    /// The repository that was indexed first, if that is long before the others, and the time since then.
    oldest: Option<(LargeRepo, String)>,
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

/// A repository, and what is said of it.
pub(super) struct LargeRepo {
    pub(super) name: String,
    pub(super) href: String,
    pub(super) says: String,
}

/// Sends the start page.
pub(crate) async fn home(server: Server) -> Response {
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
        let last = repos.iter().map(|repo| repo.indexed_at.as_str()).max().unwrap_or_default();
        let indexed = (since(last), last.to_owned());
        Self {
            oldest: oldest(&repos),
            indexed,
            repos: count(repos.len(), "repository"),
            size: held(stored, &repos),
            examples: examples(&languages(catalog)),
            heading: if more { "Largest repositories" } else { "Repositories" },
            largest: largest.collect(),
            more,
        }
    }
}

/// Seconds between the oldest and the newest ingest from which a page tells both: a day.
const LONG_BEFORE: i64 = 86_400;

/// Returns the repository that was indexed first, and the time since then, if that is long before the last ingest.
pub(super) fn oldest(repos: &[Repo]) -> Option<(LargeRepo, String)> {
    let oldest = repos.iter().min_by(|a, b| a.indexed_at.cmp(&b.indexed_at))?;
    let newest = repos.iter().map(|repo| repo.indexed_at.as_str()).max()?;
    let second = |time: &str| time.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second);
    let is_older = second(newest)? - second(&oldest.indexed_at)? >= LONG_BEFORE;
    let ago = since(&oldest.indexed_at);
    let (name, href) = (oldest.name.clone(), link::folder(&oldest.name, ""));
    is_older.then(|| (LargeRepo { name, href, says: oldest.indexed_at.clone() }, ago))
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
        assert!(of_two[0].ends_with("lang:rust"), "{of_two:?}");
        assert_eq!(of_two.len(), EXAMPLES);
    }
}
