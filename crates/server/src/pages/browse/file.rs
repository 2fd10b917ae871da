//! `/file` and `/raw`: a file with the matches of a query, or its text alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use askama::Template;
use axum::Json;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use browse::FileText;
use files::Encoding;
use git::is_hash;
use navigate::Outline;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use query::{Case, MAX_QUERY_BYTES, Predicate, Query as Parsed};
use search::{Request, Stale};
use serde_json::json;

use super::around::files_around;
use super::in_tree::in_tree;
use super::missing::{no_such_file, no_such_text, not_in_index};
use super::outline::{Pane, pane};
use super::{
    Answered, BrowseParams, Crumb, DOWNLOAD, HASH, LINE_RANGE, PATH, RENDERED, REV, TREE, answered,
    crumbs_at, repo,
};
use crate::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use crate::error::Failure;
use crate::etag::{tag_of, with_etag};
use crate::json::stale_json;
use crate::pages::highlight::{Grammar, MAX_COLOURED};
use crate::pages::history::text_before;
use crate::pages::link::{self, WebFile};
use crate::pages::markdown::markdown;
use crate::pages::render::{protect, render};
use crate::pages::view::{self, LineView, Piece};
use crate::params::names::FORMAT;
use crate::params::{DeclaredParams, Param, StrictParams, wants_page};
use crate::server::Server;
use request::human::{count, encoding, grouped, size};

/// The header of `/raw` that names the encoding of the file, unless that is UTF-8.
const ENCODING: HeaderName = HeaderName::from_static("codesearch-encoding");

/// Most characters of a line shown on a file's page.
const MAX_LINE: usize = 5000;

#[derive(Template)]
#[template(path = "file.html")]
struct FilePage<'a> {
    query: &'a str,
    document: &'a FileText,
    /// Its repository as addresses name it, with the tree.
    place: &'a str,
    crumbs: Vec<Crumb>,
    lines: Vec<LineView>,
    /// Number of lines in which the query matches.
    hits: usize,
    facts: String,
    raw: String,
    download: String,
    /// The file on the web, if its repository is there.
    web: Option<WebFile>,
    /// A Markdown file as a document, if that is wanted.
    rendered: Option<String>,
    /// The addresses of a Markdown file as text, and as a document.
    either: Option<(String, String)>,
    /// Other files with the same contents, as names and addresses.
    same: Vec<(String, String)>,
    /// The tree of files around it, as HTML.
    tree: String,
    outline: Pane,
    /// The address of the page with the whole outline.
    outline_href: String,
    /// The file as a place for definitions and references; `None` if its tree is not indexed.
    from: Option<String>,
    /// The address of the page with exactly this text, even if the file changes.
    permalink: String,
    /// If this text is not the current one, the address of the file, and the first digits of this text's hash or the revision, after a word for it.
    present: Option<(String, (&'static str, &'a str))>,
    /// A sentence if the file has changed on disk since it was indexed.
    stale: Option<String>,
    /// The addresses of its blame and its history, if it comes from a clone.
    history: Option<(String, String)>,
}

/// The name of a repository.
const IN_REPO: Param =
    Param::text("repo", "The name of a repository, or of one of its trees as NAME@TREE.")
        .required();

/// `/file`: a file, with the matches of a query.
pub(crate) const FILE: Endpoint = Endpoint {
    path: "/file",
    route: || get(file),
    class: Class::Read,
    admits: Admits::Clients,
    params: DeclaredParams {
        documented: &[
            IN_REPO,
            PATH.required(),
            LINE_RANGE,
            HASH,
            REV,
            Param::text("q", "For a page: a query whose matches are marked.")
                .at_most(MAX_QUERY_BYTES),
            FORMAT,
        ],
        undocumented: &[RENDERED, TREE],
    },
    doc: Some(Doc {
        summary: "A file",
        description: "",
        answers: &[
            Answer::ok("The file, with an ETag.", Content::Json(&["File"])),
            Answer {
                status: 303,
                says: "The path is a folder; redirects to it.",
                content: Content::Nothing,
            },
            Answer {
                status: 304,
                says: "The client has this version (If-None-Match).",
                content: Content::Nothing,
            },
            Answer::BAD,
            Answer::NOT_FOUND,
        ],
    }),
};

/// `/raw`: the text of a file, always sent as plain text.
pub(crate) const RAW: Endpoint = Endpoint {
    path: "/raw",
    route: || get(raw),
    class: Class::Read,
    admits: Admits::Clients,
    params: DeclaredParams {
        documented: &[IN_REPO, PATH.required(), HASH, REV, DOWNLOAD],
        undocumented: &[TREE],
    },
    doc: Some(Doc {
        summary: "The text of a file",
        description: "",
        answers: &[
            Answer::ok(
                "The bytes of the file, always as text/plain, re-encoded from the indexed text. The header \
                 `codesearch-encoding` names the encoding unless it is UTF-8. If it ends in `(inexact)`, some bytes \
                 were invalid; the answer is then the indexed text as UTF-8, with U+FFFD in place of the invalid \
                 bytes.",
                Content::Text("text/plain"),
            ),
            Answer { status: 304, says: "The client has this version.", content: Content::Nothing },
            Answer::NOT_FOUND,
        ],
    }),
};

async fn file(
    server: Server,
    headers: HeaderMap,
    StrictParams(wanted): StrictParams<BrowseParams>,
) -> Response {
    let (q, format) = (wanted.q.clone(), wanted.format.clone());
    let done = async {
        let (server, wanted) = in_tree(server, wanted).await?;
        file_answer(&server, &headers, &wanted).await
    };
    answered(&headers, &q, format.as_deref(), done.await)
}

async fn document(server: &Server, wanted: &BrowseParams) -> Result<Option<FileText>, Failure> {
    if wanted.repo.is_empty() || wanted.path.is_empty() {
        return Err(Failure::bad_request("the file is missing; give repo= and path="));
    }
    let (repo, path) = (wanted.repo.as_str(), wanted.path.as_str());
    if let Some(rev) = &wanted.rev {
        let found = browse::file_text_at(server.view(), repo, path, rev).await?;
        return found.map(Some).ok_or_else(|| no_such_file_at(repo, path, rev));
    }
    let Some(hash) = wanted.hash.as_deref() else {
        return Ok(browse::file_text(server.view(), repo, path).await?);
    };
    if !is_hash(hash) {
        return Err(Failure::bad_request(format!(
            "hash={hash}: give a whole hash, as in an answer of /file"
        )));
    }
    if let Some(document) = browse::file_text_of(server.view(), repo, path, hash).await? {
        return Ok(Some(document));
    }
    // The clone may have texts that are no longer stored.
    let text = text_before(server, repo, path, hash).await?;
    Ok(text.map(|(text, language)| FileText::elsewhere((repo, path, hash), text, language)))
}

/// Returns the failure for a path that a tree does not have as a file.
fn no_such_file_at(repo: &str, path: &str, rev: &str) -> Failure {
    Failure::no_such(format!("{repo} has no file {path} at {rev}"))
}

async fn file_answer(server: &Server, headers: &HeaderMap, wanted: &BrowseParams) -> Answered {
    let lines = wanted.lines.as_deref().map(lines_wanted).transpose()?;
    let page = wants_page(headers, wanted.format.as_deref());
    let Some(document) = document(server, wanted).await? else {
        return match &wanted.hash {
            Some(hash) => no_such_text(server, wanted, hash, page).await,
            None => no_such_file(server, wanted, page).await,
        };
    };
    audit::told().file(&document.repo);
    let stale = stale(server, &document).await;
    if !page {
        return file_json(headers, lines, &document, &stale);
    }
    let repo = repo(server, &wanted.repo).await?;
    let is_cloned = repo.as_ref().is_some_and(|repo| repo.commit.is_some());
    let is_current = document.is_current;
    // The web address shows the text read at the last ingest.
    let web = repo.and_then(|repo| repo.web).filter(|_| is_current && wanted.tree.is_none());
    let rev = wanted.rev.as_deref();
    let (tree, is_indexed) = match rev {
        None => (server.view().tree().await?, true),
        Some(rev) => match server.view().tree_at(&wanted.repo, rev).await? {
            Some(at) => (Arc::clone(at.tree()), at.is_indexed()),
            None => return Err(no_such_file_at(&wanted.repo, &wanted.path, rev)),
        },
    };
    let from = is_indexed.then(|| {
        let repo = rev.map_or_else(|| wanted.place(), |rev| link::in_tree(&wanted.repo, rev));
        format!("{repo}/{}", wanted.path)
    });
    let symbols = match navigate::outline_of_text(server.view(), &document).await {
        // The text is there; its outline says nothing.
        Err(store::Error::Node { .. } | store::Error::Lost(_)) => None,
        symbols => symbols?,
    };
    let symbols = symbols.or_else(|| rev.map(|_| Outline::not_indexed(&document)));
    let is_markdown =
        document.language.as_deref() == Some("Markdown") && document.text.len() <= MAX_COLOURED;
    let is_rendered = is_markdown && wanted.rendered;
    let (q, place) = (wanted.q.clone(), wanted.place());
    let missing = request::notes::missing(&tree.missing());
    let missing = missing.or_else(|| tree.lacking_in(&document.repo));
    let bytes = document.text.len();
    // Highlighting and matching may take as long as a search, so they wait for a turn, too.
    let _turn = server.turn().await?;
    let work = tokio::task::spawn_blocking(move || {
        let lines = file_lines(&document, &q);
        let around = tree.repo(&document.repo);
        let rev = document.revision.as_deref();
        let around = around.map(|repo| files_around(&tree, repo, &place, &document.path, rev));
        let beside = (around.unwrap_or_default(), pane(&document, symbols));
        let rendered = is_rendered.then(|| markdown(&document.text, &place, &document.path));
        (document, lines, beside, rendered)
    });
    let (document, (lines, hits), (tree, outline), rendered) =
        work.await.map_err(|_| Failure::panicked())?;
    let mut facts = vec![
        count(lines.len(), "line"),
        size(bytes as u64),
        document.language.clone().unwrap_or_default(),
        encoding(document.encoding).unwrap_or_default(),
    ];
    facts.retain(|fact| !fact.is_empty());
    if bytes > MAX_COLOURED {
        facts.push("too large to highlight".to_owned());
    }
    if tree.is_empty() {
        // Why its folder is not listed.
        facts.extend(missing);
    }
    if let Some(tree) = &wanted.tree {
        facts.push(format!("{} {}", tree.kind.word(), tree.tree));
    }
    let place = wanted.place();
    let (repo, path) = (("repo", place.as_str()), ("path", wanted.path.as_str()));
    let hash = ("hash", document.hash.as_str());
    let of_text = match rev {
        Some(rev) => ("rev", rev),
        None if is_current => ("hash", ""),
        None => hash,
    };
    let history = (is_cloned && server.shows_history()).then(|| {
        let to = |page| link::of_file_at(page, repo.1, path.1, rev);
        (to("/blame"), to("/history"))
    });
    let same = document
        .copies
        .iter()
        .map(|(repo, path)| (format!("{repo}/{path}"), link::file(repo, path, &wanted.q, None)));
    let page = FilePage {
        query: &wanted.q,
        crumbs: crumbs_at(&place, &wanted.path, rev),
        facts: facts.join(" · "),
        raw: link::to("/raw", &[repo, path, of_text]),
        download: link::to("/raw", &[repo, path, of_text, ("download", "1")]),
        web: web.map(|web| link::on_the_web(&web, &wanted.path)),
        rendered,
        either: is_markdown.then(|| {
            let q = ("q", wanted.q.as_str());
            let text = link::to("/file", &[repo, path, of_text, q]);
            (text, link::to("/file", &[repo, path, of_text, q, ("rendered", "1")]))
        }),
        same: same.collect(),
        document: &document,
        place: &place,
        lines,
        hits,
        tree,
        outline,
        outline_href: link::of_file_at("/outline", repo.1, path.1, rev),
        from,
        permalink: {
            let rendered = ("rendered", if is_rendered { "1" } else { "" });
            let hash = if rev.is_some() { of_text } else { hash };
            link::to("/file", &[repo, path, hash, rendered])
        },
        present: (!is_current).then(|| {
            let what = match rev {
                Some(rev) => ("revision", rev),
                None => ("hash", document.hash.get(..12).unwrap_or_default()),
            };
            (link::file(repo.1, path.1, &wanted.q, None), what)
        }),
        stale: request::stale::of_file(&stale),
        history,
    };
    Ok(render(StatusCode::OK, &page))
}

/// Longest time to match a page's query.
const MAX_MATCHING: Duration = Duration::from_millis(500);

/// Highlights the lines of a file and marks the matches of a query. Also returns the number of matching lines.
fn file_lines(document: &FileText, q: &str) -> (Vec<LineView>, usize) {
    let text = &document.text;
    let mut hits: BTreeMap<usize, Vec<std::ops::Range<usize>>> = BTreeMap::new();
    // A file is shown even if the query is invalid.
    let parsed = Parsed::parse(q, Case::Smart).ok().filter(|_| !q.trim().is_empty());
    if let Some(request) = parsed.and_then(|query| Request::new(&query).ok()) {
        let compiled = request.compiled_query();
        let begun = Instant::now();
        // A line may have very many matches, or matches that take long to find.
        let go_on = || begun.elapsed() < MAX_MATCHING;
        compiled.expr.predicates(&mut |atom| {
            if let Predicate::Content(term) = atom {
                let matcher = &compiled.terms[term].matcher;
                matcher.lines(&mut matcher.scratch(), text.as_bytes(), &go_on, &mut |found| {
                    hits.entry(found.line).or_default().extend(found.ranges);
                    go_on()
                });
            }
        });
    }
    for ranges in hits.values_mut() {
        ranges.sort_by_key(|range| (range.start, range.end));
    }
    let lines: Vec<&str> = text.lines().collect();
    let grammar = Grammar::of(document.language.as_deref(), &document.path);
    let mut colours = match grammar.filter(|_| text.len() <= MAX_COLOURED) {
        Some(grammar) => grammar.colour(lines.iter().copied()),
        None => Vec::new(),
    };
    colours.resize(lines.len(), Vec::new());
    let none = Vec::new();
    let views = lines.iter().zip(colours).enumerate().map(|(at, (line, colours))| {
        let ranges = hits.get(&at).unwrap_or(&none);
        let upto = line.char_indices().nth(MAX_LINE).map_or(line.len(), |(at, _)| at);
        let mut pieces = view::pieces(line, ranges, &colours, 0..upto);
        if upto < line.len() {
            let text = format!(" … {} more bytes", grouped(line.len() - upto));
            pieces.push(Piece { hit: false, class: "cut", text });
        }
        LineView {
            change: None,
            number: at as u64 + 1,
            hit: !ranges.is_empty(),
            gap: false,
            pieces,
            around: None,
        }
    });
    (views.collect(), hits.len())
}

/// Returns whether the current text of a file is not the one on disk any more.
async fn stale(server: &Server, document: &FileText) -> Stale {
    match document.stored.filter(|_| document.is_current) {
        Some(key) => server.view().stale_file(&document.repo, &document.path, key).await,
        None => Stale::default(),
    }
}

fn file_json(
    headers: &HeaderMap,
    lines: Option<(usize, usize)>,
    document: &FileText,
    stale: &Stale,
) -> Answered {
    let all = document.text.lines().count();
    let (from, upto) = lines.unwrap_or((1, all));
    if from > all.max(1) {
        return Err(Failure::bad_request(format!("lines={from}: the file has {all} lines")));
    }
    let lines =
        document.text.split_inclusive('\n').skip(from - 1).take((upto + 1).saturating_sub(from));
    let text: String = lines.collect();
    let same: Vec<_> =
        document.copies.iter().map(|(repo, path)| json!({ "repo": repo, "path": path })).collect();
    let mut body = json!({
        "repo": document.repo,
        "path": document.path,
        "language": document.language,
        "encoding": document.encoding.to_string(),
        "hash": document.hash,
        "bytes": document.text.len(),
        "lines": all,
        "from": from,
        "to": upto.min(all),
        "text": text,
        "same": same,
    });
    if let Some(stale) = stale_json(stale) {
        body["stale"] = stale;
    }
    let tag = format!("{}-{}", document.hash, tag_of(&body.to_string()));
    Ok(with_etag(headers, &tag, Json(body).into_response()))
}

/// Parses `lines=`.
fn lines_wanted(text: &str) -> Result<(usize, usize), Failure> {
    let told = || format!("lines={text}: use a range such as 10-20, or one number");
    range(text).ok_or_else(|| Failure::bad_request(told()))
}

/// Parses `10-20` or `10`.
fn range(text: &str) -> Option<(usize, usize)> {
    let (from, upto) = text.split_once('-').unwrap_or((text, text));
    let (from, upto) = (from.parse().ok()?, upto.parse().ok()?);
    (from >= 1 && from <= upto).then_some((from, upto))
}

async fn raw(
    server: Server,
    headers: HeaderMap,
    StrictParams(wanted): StrictParams<BrowseParams>,
) -> Response {
    let (server, wanted) = match in_tree(server, wanted).await {
        Ok(found) => found,
        Err(failure) => return answered(&headers, "", None, Err(failure)),
    };
    let document = match document(&server, &wanted).await {
        Ok(Some(document)) => document,
        Ok(None) => {
            let failure = match &wanted.hash {
                Some(hash) => {
                    Failure::not_stored(&format!("{}/{}", wanted.repo, wanted.path), hash)
                }
                None => not_in_index(&server, &wanted.repo, &wanted.path)
                    .await
                    .map_or_else(Failure::from, Failure::no_such),
            };
            return answered(&headers, "", None, Err(failure));
        }
        Err(failure) => return answered(&headers, "", None, Err(failure)),
    };
    audit::told().file(&document.repo);
    let encoding = document.encoding;
    let (charset, body) = match encoding.encode(&document.text) {
        Some(bytes) => (encoding.charset(), bytes.into_owned()),
        None => ("utf-8".to_owned(), document.text.into_bytes()),
    };
    let mut response =
        ([(CONTENT_TYPE, format!("text/plain; charset={charset}"))], body).into_response();
    let mut tag = document.hash;
    if encoding != Encoding::UTF_8
        && let Ok(name) = HeaderValue::from_str(&encoding.to_string())
    {
        response.headers_mut().insert(ENCODING, name);
        // Earlier versions sent another body for this hash.
        tag = format!("{tag}-{charset}");
    }
    if wanted.download {
        let name = document.path.rsplit('/').next().unwrap_or("file");
        let name = utf8_percent_encode(name, NON_ALPHANUMERIC);
        // https://datatracker.ietf.org/doc/html/rfc6266
        if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename*=UTF-8''{name}")) {
            response.headers_mut().insert(CONTENT_DISPOSITION, value);
        }
    }
    protect(&mut response, "default-src 'none'; sandbox");
    with_etag(&headers, &tag, response)
}
