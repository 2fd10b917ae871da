//! `/docs`: documents and comments by their words, the best first; JSON for programs, a page for browsers.

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::docs::{
    Dictionary, DocKind, Docs, DocsError, DocsRequest, DocsStopped, MAX_RANKED, TextRun,
};
use engine::search::{DEFAULT_LIMIT, DEFAULT_TIMEOUT};
use serde::Deserialize;

use super::link;
use super::render::render;
use super::view::Piece;
use crate::http::error::Failure;
use crate::http::params::{StrictParams, wants_page};
use crate::http::server::Server;
use crate::human::grouped;
use crate::narrow;
use crate::print::docs::{Answer, stopped};
use crate::statistics::{self, Outcome};

/// Most results of one answer: each is marked anew.
const MAX_DOCS: usize = 1000;

/// What can be asked.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Wanted {
    /// Words.
    #[serde(default)]
    q: String,
    /// Most results.
    limit: Option<String>,
    /// A pattern for names of repositories.
    #[serde(default)]
    repo: String,
    /// A language.
    #[serde(default)]
    lang: String,
    /// `both`, `english` or `plain`.
    dictionary: Option<String>,
    /// How long it may take: `500ms`, `5s`, `2m`.
    timeout: Option<String>,
    /// `json` or `html`.
    format: Option<String>,
}

#[derive(Template)]
#[template(path = "docs.html")]
struct DocsPage<'a> {
    query: &'a str,
    repo: &'a str,
    lang: &'a str,
    error: Option<String>,
    found: Option<Found>,
}

struct Found {
    summary: String,
    stopped: Option<String>,
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

/// `/docs`.
pub(crate) async fn docs(
    State(server): State<Server>,
    headers: HeaderMap,
    StrictParams(wanted): StrictParams<Wanted>,
) -> Response {
    let page = wants_page(&headers, wanted.format.as_deref());
    let found = if page && wanted.q.trim().is_empty() {
        Ok(None)
    } else {
        answer(&server, &wanted).await.map(Some)
    };
    match (found, page) {
        (Ok(Some(found)), false) => Json(Answer::of(&wanted.q, &found)).into_response(),
        (Err(failure), false) => failure.into_response(),
        (Ok(found), _) => render(StatusCode::OK, &wanted.page(None, found.map(shown))),
        (Err(failure), true) => {
            render(failure.status, &wanted.page(Some(failure.body.message), None))
        }
    }
}

impl Wanted {
    fn page(&self, error: Option<String>, found: Option<Found>) -> DocsPage<'_> {
        DocsPage { query: &self.q, repo: &self.repo, lang: &self.lang, error, found }
    }

    fn request(&self) -> Result<DocsRequest, Failure> {
        if let Some(format) = self.format.as_deref().filter(|f| !matches!(*f, "json" | "html")) {
            return Err(Failure::bad_request(format!("format={format}: use json or html")));
        }
        let limit = match self.limit.as_deref().filter(|limit| !limit.is_empty()) {
            None => DEFAULT_LIMIT,
            Some(text) => {
                let limit = text.parse().ok().filter(|limit| (1..=MAX_DOCS).contains(limit));
                limit.ok_or_else(|| {
                    Failure::bad_request(format!("limit={text}: use a number from 1 to {MAX_DOCS}"))
                })?
            }
        };
        let dictionary = match self.dictionary.as_deref() {
            None | Some("" | "both") => Dictionary::Both,
            Some("english") => Dictionary::English,
            Some("plain") => Dictionary::Plain,
            Some(other) => {
                return Err(Failure::bad_request(format!(
                    "dictionary={other}: use both, english or plain"
                )));
            }
        };
        let timeout = match self.timeout.as_deref().filter(|timeout| !timeout.is_empty()) {
            None => DEFAULT_TIMEOUT,
            Some(text) => query::duration(text)
                .map_err(|why| Failure::bad_request(format!("timeout={text}: {why}")))?,
        };
        let request = DocsRequest {
            query: self.q.clone(),
            limit,
            repos: Vec::new(),
            languages: Vec::new(),
            ranked: MAX_RANKED,
            dictionary,
            timeout: Some(timeout),
        };
        let given = |text: &str| -> Vec<String> {
            (!text.is_empty()).then(|| text.to_owned()).into_iter().collect()
        };
        narrow::docs(request, &given(&self.repo), &given(&self.lang)).map_err(|(kind, why)| {
            Failure::bad_request(format!("{kind}=: {}", why.lines().next().unwrap_or_default()))
        })
    }
}

async fn answer(server: &Server, wanted: &Wanted) -> Result<Docs, Failure> {
    let request = wanted.request()?;
    let _turn = server.turn().await?;
    let query = wanted.q.clone();
    let counted =
        server.metrics.begin(statistics::Kind::Docs, move |_| (query.clone(), String::new()));
    let found = server.searcher.docs(&request).await;
    counted.ended(match &found {
        Err(_) => Outcome::Failed,
        Ok(found) => match found.stopped {
            None => Outcome::Complete,
            Some(DocsStopped::Limit | DocsStopped::Common) => Outcome::Limit,
            Some(DocsStopped::Timeout(_)) => Outcome::Timeout,
            Some(DocsStopped::Shards(_)) => Outcome::ShardError,
        },
    });
    Ok(found?)
}

fn shown(found: Docs) -> Found {
    let summary = match found.matched {
        1 => "1 text".to_owned(),
        n => format!("{} texts", grouped(n)),
    };
    let stopped = stopped(&found).map(|(_, why)| why);
    let pieces = |runs: Vec<TextRun>| -> Vec<Piece> {
        let piece = |run: TextRun| Piece { hit: run.hit, class: "", text: run.text };
        runs.into_iter().map(piece).collect()
    };
    let ms = found.duration.as_secs_f64() * 1000.0;
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
        // Of a text of one sentence that is all there is.
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
    Found { summary: format!("{summary} in {ms:.0} ms"), stopped, rows: rows.collect() }
}

/// What some pieces say, but for the end of the sentence.
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
