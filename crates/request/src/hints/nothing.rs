//! Finds changes to a query that found nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use query::{Case, PartKind, Query, QueryPart, QueryParts, exactly};
use search::View;
use search::docs::{Dictionary, DocsRequest};
use tokio::time::timeout_at;

use super::count::{FileCount, QueryContext, compiled, count};
use super::{Hint, MAX_QUERY, loosened, near, property, typo};
use crate::{Client, Options};

/// Number of changed queries that are counted concurrently.
const AT_ONCE: usize = 4;

/// Most terms, and most filters, that are changed one at a time.
const MAX_TERMS: usize = 6;

/// Most hints.
const MAX_HINTS: usize = 6;

/// Most texts that a search for documents ranks if it only counts them.
const RANKED: usize = 100;

/// A query that found nothing.
pub struct NoResultsQuery<'a> {
    /// The query, with its options written as fields.
    pub query: &'a str,
    /// The kind of client.
    pub client: Client,
    /// Longest time for all hints together.
    pub within: Duration,
    /// Whether to report files that are not in the index. Off if the answer reports them anyway.
    pub left_out: bool,
}

/// A change to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Change {
    /// Keep only this one of its terms, with its filters.
    Alone(usize),
    /// Drop this part.
    Without(usize),
    /// Drop all filters.
    Unnarrowed,
    AnyCase,
    AsText,
    /// Treat a carriage return as part of the end of a line.
    Crlf,
    /// Search for the names of symbols as text.
    Mentioned,
    AnyTerm,
}

/// Returns changes to a query that find something, the most helpful first.
pub async fn for_no_results(view: &View, asked: &NoResultsQuery<'_>) -> Vec<Hint> {
    let until = Instant::now() + asked.within;
    let parts = QueryParts::of(asked.query).ok().filter(|_| asked.query.len() <= MAX_QUERY);
    let Some(parts) = parts else { return Vec::new() };
    let search = Search {
        view,
        beside: QueryContext { options: Options::default(), client: asked.client },
        until,
        parts,
    };
    let mut hints = Vec::new();
    let only = search.terms().map(|(at, _)| at).collect::<Vec<usize>>();
    let only = <[usize; 1]>::try_from(only).ok().map(|[at]| at);
    let (counted, names, properties, others, near, loosened) = tokio::join!(
        Box::pin(search.counted(asked.query)),
        Box::pin(search.repositories()),
        Box::pin(search.properties()),
        Box::pin(search.elsewhere()),
        Box::pin(search.near_word(only)),
        Box::pin(search.loosened(asked.query))
    );
    hints.extend(names);
    hints.extend(properties);
    hints.extend(near);
    hints.extend(loosened);
    hints.extend(Box::pin(search.hints_of(&counted)).await);
    hints.extend(others);
    hints.extend(Box::pin(search.left_out(asked)).await);
    hints.truncate(MAX_HINTS);
    hints
}

struct Search<'a> {
    view: &'a View,
    beside: QueryContext,
    until: Instant,
    parts: QueryParts,
}

type Counted = HashMap<Change, (String, FileCount)>;

impl Search<'_> {
    /// Iterates over the terms, with their indexes among the parts.
    fn terms(&self) -> impl Iterator<Item = (usize, &QueryPart)> {
        self.parts.parts.iter().enumerate().filter(|(_, part)| Self::is_term(part))
    }

    /// Iterates over the filters (repositories, paths, languages, exclusions), with their indexes among the parts.
    fn filters(&self) -> impl Iterator<Item = (usize, &QueryPart)> {
        self.parts.parts.iter().enumerate().filter(|(_, part)| !Self::is_term(part))
    }

    fn is_term(part: &QueryPart) -> bool {
        matches!(part.kind, PartKind::Term | PartKind::Group)
    }

    /// Returns the query without the parts for which `left_out` is true.
    fn without(&self, left_out: impl Fn(usize) -> bool) -> String {
        let at = |part: &QueryPart| {
            self.parts.parts.iter().position(|other| std::ptr::eq(other, part)).unwrap_or_default()
        };
        self.parts.with(|part| !left_out(at(part)))
    }

    /// Returns the changed queries to count.
    fn changes(&self, query: &str) -> Vec<(Change, String)> {
        let mut changes = Vec::new();
        let (terms, filters) = (self.terms().count(), self.filters().count());
        if (2..=MAX_TERMS).contains(&terms) {
            for (at, _) in self.terms() {
                let others = |other: usize| other != at && Self::is_term(&self.parts.parts[other]);
                changes.push((Change::Alone(at), self.without(others)));
            }
        }
        let parsed = Query::parse(query, Case::Smart);
        let has_case = |query: &Query| {
            let letters = |text: &str| text.contains(char::is_alphabetic);
            query
                .terms()
                .iter()
                .any(|term| !term.pattern.is_caseless() && letters(term.pattern.source()))
        };
        if parsed.is_ok_and(|query| has_case(&query)) {
            changes.push((Change::AnyCase, self.parts.ignoring_case()));
        }
        if terms > 0 || filters > 1 {
            for (at, _) in self.filters().take(MAX_TERMS) {
                changes.push((Change::Without(at), self.without(|other| other == at)));
            }
            if terms > 0 && filters > 1 {
                changes.push((Change::Unnarrowed, self.parts.with(Self::is_term)));
            }
        }
        changes.extend(self.parts.as_text().map(|text| (Change::AsText, text)));
        changes.extend(self.parts.with_crlf().map(|query| (Change::Crlf, query)));
        let mentioned = self.parts.symbols_as_text();
        changes.extend(mentioned.map(|query| (Change::Mentioned, query)));
        if terms > 1 {
            changes.push((Change::AnyTerm, self.parts.any_term()));
        }
        changes
    }

    /// Counts the files that each changed query finds, as far as time allows.
    async fn counted(&self, query: &str) -> Counted {
        let counts = self.changes(query).into_iter().map(async |(change, query)| {
            let found = count(self.view, &query, &self.beside, self.until).await;
            (change, query, found)
        });
        let counts: Vec<_> = counts.collect();
        let mut running = stream::iter(counts).buffer_unordered(AT_ONCE);
        let mut counted = Counted::new();
        while let Ok(Some((change, query, found))) =
            timeout_at(self.until.into(), running.next()).await
        {
            if let Some(found) = found {
                counted.insert(change, (query, found));
            }
        }
        counted
    }

    /// Returns a part as it was typed.
    fn text(&self, at: usize) -> &str {
        &self.parts.parts[at].text
    }

    /// Returns the query with the most similar word in place of a term that is mistyped.
    async fn near_word(&self, term: Option<usize>) -> Option<Hint> {
        let at = term?;
        let part = &self.parts.parts[at];
        let word = typo::near_word(self.view, &part.value, &self.beside, self.until).await?;
        let field = &part.text[..part.text.find(&part.value)?];
        let query = format!("{field}{word} {}", self.without(|other| other == at));
        let query = query.trim().to_owned();
        let found = count(self.view, &query, &self.beside, self.until).await?;
        let message = format!("a similar name, {word}");
        (found.files > 0).then(|| counted_hint(message, &query, found))
    }

    /// Returns the query of a message without its numbers, if it has any.
    async fn loosened(&self, query: &str) -> Option<Hint> {
        let has_numbers = query.contains(|c: char| c.is_ascii_digit() || "'`/".contains(c));
        if !has_numbers || !query.contains(' ') {
            return None;
        }
        loosened::hint(self.view, query, &self.beside, self.until).await
    }

    /// Names the terms that match no file, and counts the query without them.
    async fn missing(&self, missing: &[usize]) -> Option<Hint> {
        let query = self.without(|at| missing.contains(&at));
        let names: Vec<&str> = missing.iter().map(|at| self.text(*at)).collect();
        let it = if missing.len() == 1 { "it" } else { "them" };
        let message = format!("no file matches {}; without {it}", names.join(" or "));
        let found = count(self.view, &query, &self.beside, self.until).await?;
        (found.files > 0).then(|| counted_hint(message, &query, found))
    }

    /// Turns the counts into hints.
    async fn hints_of(&self, counted: &Counted) -> Vec<Hint> {
        let alone = |at: usize| counted.get(&Change::Alone(at)).map(|(_, count)| count.files);
        let places = self.terms().map(|(at, _)| at);
        let missing: Vec<usize> = places.filter(|at| alone(*at) == Some(0)).collect();
        let all = self.terms().count();
        let mut hints = Vec::new();
        if let [only] = *missing
            && all > 1
        {
            hints.extend(self.near_word(Some(only)).await);
        }
        if !missing.is_empty() && missing.len() < all {
            hints.extend(self.missing(&missing).await);
        }
        let hint = |message: String, change: Change| {
            let (query, count) = counted.get(&change).filter(|(_, count)| count.files > 0)?;
            Some(counted_hint(message, query, *count))
        };
        hints.extend(hint("in any case".to_owned(), Change::AnyCase));
        let before = hints.len();
        for (at, _) in self.filters() {
            hints.extend(hint(format!("without {}", self.text(at)), Change::Without(at)));
        }
        if hints.len() == before {
            let names: Vec<&str> = self.filters().map(|(at, _)| self.text(at)).collect();
            hints.extend(hint(format!("without {}", names.join(" ")), Change::Unnarrowed));
        }
        hints.extend(hint(
            "for lines that end in a carriage return and a line feed".to_owned(),
            Change::Crlf,
        ));
        hints.extend(hint("as text instead of a regular expression".to_owned(), Change::AsText));
        hints.extend(hint("as text anywhere".to_owned(), Change::Mentioned));
        // If one of two terms is missing, the query with the other one was reported above.
        if missing.is_empty() || missing.len() + 1 < all {
            hints.extend(hint("with any of the terms instead of all".to_owned(), Change::AnyTerm));
        }
        hints
    }

    /// Returns hints about repositories in the query that do not exist.
    async fn repositories(&self) -> Vec<Hint> {
        let mut hints = Vec::new();
        let is_repo = |(_, part): &(usize, &QueryPart)| part.kind == PartKind::Repo;
        let named: Vec<(usize, &QueryPart)> = self.filters().filter(is_repo).collect();
        for (at, part) in named {
            let asked = timeout_at(self.until.into(), near::repository(self.view, &part.value));
            let Ok(Some(Err(near))) = asked.await else { continue };
            let message = format!("no repository matches {}", part.text);
            let Some(name) = near else {
                hints.push(Hint { message, query: None, docs: None, count: None });
                continue;
            };
            let rest = self.without(|other| other == at);
            let query = format!("{} {rest}", exactly("repo", &name));
            let query = query.trim().to_owned();
            let count = count(self.view, &query, &self.beside, self.until).await;
            let message = format!("{message}; in {name}");
            hints.push(Hint { message, query: Some(query), docs: None, count });
        }
        hints
    }

    /// Returns hints about conditions that no repository meets.
    async fn properties(&self) -> Vec<Hint> {
        let mut hints = Vec::new();
        let is_one = |(_, part): &(usize, &QueryPart)| part.kind == PartKind::Property;
        let asked: Vec<(usize, &QueryPart)> = self.filters().filter(is_one).collect();
        for (at, part) in asked {
            let asked = timeout_at(self.until.into(), property::unmet(self.view, &part.text));
            let Ok(Some((message, near))) = asked.await else { continue };
            let Some(near) = near else {
                hints.push(Hint { message, query: None, docs: None, count: None });
                continue;
            };
            let rest = self.without(|other| other == at);
            let query = format!("{near} {rest}").trim().to_owned();
            let count = count(self.view, &query, &self.beside, self.until).await;
            let message = format!("{message}; did you mean {near}?");
            hints.push(Hint { message, query: Some(query), docs: None, count });
        }
        hints
    }

    /// Returns a file with a similar name, and a search in documents.
    async fn elsewhere(&self) -> Vec<Hint> {
        let terms: Vec<&QueryPart> = self.terms().map(|(_, part)| part).collect();
        let mut hints = Vec::new();
        let filters: Vec<&QueryPart> = self.filters().map(|(_, part)| part).collect();
        let only = match (&*terms, &*filters) {
            ([term], []) => Some(&term.value),
            ([], [path]) if path.kind == PartKind::Path => Some(&path.value),
            _ => None,
        };
        if let Some(name) = only {
            let near = timeout_at(self.until.into(), near::file(self.view, name)).await;
            if let Ok(Some((repo, path))) = near {
                hints.push(Hint {
                    message: format!("a file with a similar name, {repo}: {path}"),
                    query: Some(format!("{} {}", exactly("repo", &repo), exactly("file", &path))),
                    docs: None,
                    count: None,
                });
            }
        }
        let plain = |part: &&QueryPart| {
            part.kind == PartKind::Term
                && part.as_text.is_none()
                && part.value.chars().all(|c| c.is_alphanumeric() || " '-_".contains(c))
        };
        if !terms.is_empty() && terms.iter().all(plain) && self.filters().next().is_none() {
            let words: Vec<&str> = terms.iter().map(|term| term.value.as_str()).collect();
            hints.extend(self.documents(&words.join(" ")).await);
        }
        hints
    }

    async fn documents(&self, words: &str) -> Option<Hint> {
        let request = DocsRequest {
            query: words.to_owned(),
            limit: 1,
            repos: Vec::new(),
            languages: Vec::new(),
            dictionary: Dictionary::Both,
            ranked: RANKED,
            timeout: Some(self.until.saturating_duration_since(Instant::now())),
        };
        let found = timeout_at(self.until.into(), search::docs::find(self.view, &request))
            .await
            .ok()?
            .ok()?;
        let complete = matches!(
            found.stopped,
            None | Some(search::docs::DocsStopped::Limit | search::docs::DocsStopped::Common)
        );
        (found.matched > 0).then(|| Hint {
            message: "documents and comments with these words".to_owned(),
            query: None,
            docs: Some(words.to_owned()),
            count: Some(FileCount { files: found.matched, complete }),
        })
    }

    /// Reports matching files that are not in the index.
    async fn left_out(&self, asked: &NoResultsQuery<'_>) -> Option<Hint> {
        if !asked.left_out {
            return None;
        }
        let counting = async {
            let request = compiled(asked.query, &self.beside).await?;
            self.view.left_out(&Arc::new(request)).await.ok()
        };
        let skipped = timeout_at(self.until.into(), counting).await.ok()??;
        (!skipped.is_empty()).then(|| Hint {
            message: format!(
                "not in the index, but might match: {}",
                crate::notes::reasons(&skipped)
            ),
            query: None,
            docs: None,
            count: None,
        })
    }
}

fn counted_hint(message: String, query: &str, count: FileCount) -> Hint {
    Hint { message, query: Some(query.to_owned()), docs: None, count: Some(count) }
}
