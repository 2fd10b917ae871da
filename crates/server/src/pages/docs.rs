//! `/docs`: ranked search for documents and comments by their words, as JSON for programs and a page for browsers.

use askama::Template;
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use search::docs::{
    Dictionary, DocKind, Docs, DocsError, DocsRequest, DocsStopped, MAX_QUERY, MAX_RANKED, TextRun,
};
use search::{DEFAULT_LIMIT, DEFAULT_TIMEOUT};

use super::asked::{AskedPage, Form, Truth};
use super::link;
use super::render::render;
use super::view::Piece;
use crate::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use crate::error::Failure;
use crate::params::names::{FORMAT, LANG, Q, REPO, TIMEOUT};
use crate::params::{
    CheckedParams, DeclaredParams, Kind as ParamKind, Param, StrictParams, is_browser, wants_page,
};
use crate::server::Server;
use request::docs_answer as printed;
use request::hints::missing_repository;
use request::human::count;
use request::{self, DocsQuery};
use statistics::{self, Outcome};

const LIMIT: Param = Param {
    kind: ParamKind::Number { least: 1, most: 1000, instead: "a number from 1 to 1000" },
    ..Param::text("limit", "Maximum number of results; default 100.")
};
const DICTIONARY: Param = Param::one_of(
    "dictionary",
    &["both", "english", "plain"],
    "Which texts to search: english (by word stems), plain (all others, by whole words), or both.",
);

/// `/docs`.
pub(crate) const DOCS: Endpoint = Endpoint {
    path: "/docs",
    route: || get(docs),
    class: Class::Search,
    admits: Admits::Clients,
    params: DeclaredParams {
        documented: &[
            Q.at_most(MAX_QUERY).saying(
                "Words that must all occur, in any form; a phrase in quotes; or between alternatives; a minus before \
                 a word that must not occur. Parts of an identifier find it. repo: and lang: narrow the search as in \
                 a query for code; other fields are ignored.",
            ),
            LIMIT,
            REPO.saying("A regular expression for repository names."),
            LANG.saying("A language."),
            DICTIONARY,
            TIMEOUT.saying("Timeout: 500ms, 5s, 2m; default 10s."),
            FORMAT,
        ],
        undocumented: &[],
    },
    doc: Some(Doc {
        summary: "Search documents and comments",
        description: "Searches documents (Markdown, reStructuredText, AsciiDoc, manual pages, plain text) and the \
                      comment at the head of each source file, and returns the best first. Files with the same \
                      contents are one result.",
        answers: &[
            Answer::ok("The best matches.", Content::Json(&["Docs"])),
            Answer::BAD,
        ],
    }),
};

const PAGE: AskedPage = AskedPage {
    path: "/docs",
    about: "All documents",
    input: "Words",
    example: "how do I configure retries",
    most: MAX_QUERY,
    button: "Search",
    languages: "markdown, go",
};

/// The parameters of a request, parsed.
#[derive(Clone, Debug)]
struct DocsParams {
    /// The query as it was typed: words, perhaps with fields.
    q: String,
    /// The parsed query.
    asked: DocsQuery,
    given: CheckedParams,
}

impl From<CheckedParams> for DocsParams {
    fn from(given: CheckedParams) -> Self {
        let q = given.text(&Q);
        let mut asked = DocsQuery::of(&q);
        asked.repos.extend(given.get(&REPO).map(str::to_owned));
        asked.languages.extend(given.get(&LANG).map(str::to_owned));
        Self { q, asked, given }
    }
}

#[derive(Template)]
#[template(path = "docs.html")]
struct DocsPage<'a> {
    form: Form<'a>,
    /// A sentence about parts of the query that are ignored.
    notice: Option<String>,
    error: Option<String>,
    found: Option<Found>,
}

struct Found {
    truth: Truth,
    /// A sentence about repositories that could not be updated.
    outdated: Option<String>,
    rows: Vec<Row>,
}

struct Row {
    href: String,
    title: Vec<Piece>,
    repo: String,
    path: String,
    about: String,
    snippet: Vec<Piece>,
}

async fn docs(
    server: Server,
    headers: HeaderMap,
    StrictParams(wanted): StrictParams<DocsParams>,
) -> Response {
    let page = wants_page(&headers, wanted.given.get(&FORMAT));
    // A program that requests a page gets an error if words are missing.
    let empty = page && wanted.asked.words.is_empty() && is_browser(&headers);
    let found = if empty { Ok(None) } else { answer(&server, &wanted).await.map(Some) };
    match (found, page) {
        (Ok(Some(found)), false) => {
            Json(printed::Answer::of(&wanted.q, &wanted.asked.ignored, &found)).into_response()
        }
        (Err(failure), false) => failure.into_response(),
        (Ok(found), _) => {
            let mut found = found.map(shown);
            if let Some(nothing) = found.as_mut().filter(|found| found.rows.is_empty()) {
                let missing = missing_repository(server.view(), &wanted.asked.repos).await;
                nothing.truth.stopped = nothing.truth.stopped.take().or(missing);
            }
            render(StatusCode::OK, &wanted.page(None, found))
        }
        (Err(failure), true) => {
            render(failure.status, &wanted.page(Some(failure.body.message), None))
        }
    }
}

impl DocsParams {
    fn page(&self, error: Option<String>, found: Option<Found>) -> DocsPage<'_> {
        let DocsQuery { words, repos, languages, .. } = &self.asked;
        // Patterns are alternatives. The page's boxes hold one pattern and one language.
        let form = Form {
            of: &PAGE,
            words,
            code: self.code(),
            repo: repos.join("|"),
            lang: languages.first().map_or("", String::as_str),
        };
        DocsPage { form, notice: self.asked.notice(), error, found }
    }

    /// Returns the query that searches code for the same words.
    fn code(&self) -> String {
        let DocsQuery { words, repos, languages, ignored } = &self.asked;
        let field = |name| move |value: &String| query::written(name, value);
        let repos = repos.iter().map(field("repo"));
        let fields =
            repos.chain(languages.iter().map(field("lang"))).chain(ignored.iter().cloned());
        let all: Vec<String> = std::iter::once(words.clone()).chain(fields).collect();
        all.join(" ").trim().to_owned()
    }

    fn request(&self) -> Result<DocsRequest, Failure> {
        let dictionary = match self.given.get(&DICTIONARY) {
            Some("english") => Dictionary::English,
            Some("plain") => Dictionary::Plain,
            _ => Dictionary::Both,
        };
        let timeout = match self.given.get(&TIMEOUT) {
            None => DEFAULT_TIMEOUT,
            Some(text) => query::duration(text)
                .map_err(|why| Failure::bad_request(format!("timeout={text}: {why}")))?,
        };
        let request = DocsRequest {
            query: self.asked.words.clone(),
            limit: self.given.number(&LIMIT).unwrap_or(DEFAULT_LIMIT),
            repos: Vec::new(),
            languages: Vec::new(),
            ranked: MAX_RANKED,
            dictionary,
            timeout: Some(timeout),
        };
        Ok(request::docs(request, &self.asked.repos, &self.asked.languages)?)
    }
}

async fn answer(server: &Server, wanted: &DocsParams) -> Result<Docs, Failure> {
    let request = wanted.request()?;
    let _turn = server.turn().await?;
    let query = wanted.q.clone();
    let counted =
        server.metrics.begin(statistics::Kind::Docs, move |_| (query.clone(), String::new()));
    let found = search::docs::find(server.view(), &request).await;
    counted.ended(match &found {
        Err(_) => Outcome::Failed,
        Ok(found) => match found.stopped {
            None => Outcome::Complete,
            Some(DocsStopped::Limit | DocsStopped::Common) => Outcome::Limit,
            Some(DocsStopped::Timeout(_)) => Outcome::Timeout,
            Some(DocsStopped::Shards(_)) => Outcome::ShardError,
        },
    });
    let found = found?;
    audit::told().results(found.docs.iter().map(|doc| doc.repo.as_str()));
    Ok(found)
}

fn shown(found: Docs) -> Found {
    let summary = count(found.matched, "text");
    let truth = Truth::of(&summary, found.duration, printed::stopped(&found), &found.covered);
    let outdated = request::fresh::outdated(&found.covered);
    let pieces = |runs: Vec<TextRun>| -> Vec<Piece> {
        let piece = |run: TextRun| Piece { hit: run.hit, class: "", text: run.text };
        runs.into_iter().map(piece).collect()
    };
    let rows = found.docs.into_iter().map(|doc| {
        let mut about = Vec::new();
        if doc.kind == DocKind::Comment {
            about.push("comment".to_owned());
        }
        about.extend(doc.language);
        match doc.same {
            0 => {}
            same => about.push(format!("{same} more with the same contents")),
        }
        let (title, mut snippet) = (pieces(doc.title), pieces(doc.snippet));
        // A text of one sentence would be repeated in its snippet.
        if said(&title) == said(&snippet) {
            snippet.clear();
        }
        Row {
            href: link::file(&doc.repo, &doc.path, "", None),
            title,
            repo: doc.repo,
            path: doc.path,
            about: about.join(" · "),
            snippet,
        }
    });
    Found { truth, outdated, rows: rows.collect() }
}

/// Returns the text of some pieces, without the full stop at the end.
fn said(pieces: &[Piece]) -> String {
    let all: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
    all.trim().trim_end_matches('.').to_owned()
}

impl From<DocsError> for Failure {
    fn from(error: DocsError) -> Self {
        match error {
            DocsError::Store(error) => error.into(),
            other => Self::bad_request(other.to_string()),
        }
    }
}
