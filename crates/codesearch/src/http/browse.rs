//! Files, folders and repositories: pages for browsers, JSON for programs, at the same addresses.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::browse::{Child, Document, Finding, Tree};
use engine::search::{FileMatch, Request};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use query::{Atom, Case, Query as Parsed};
use serde::Deserialize;
use serde_json::json;
use store::Repo;

use super::ask::{Asked, Running, compiled};
use super::colour::{Grammar, MAX_COLOURED};
use super::error::Failure;
use super::given::Given;
use super::page::{human, protect, render};
use super::results::grouped;
use super::view::{self, LineView, Piece};
use super::{Server, link, page, wants_page};
use crate::statistics::{Kind, Outcome};

/// Of a longer line so many characters are shown on the page of a file.
const MAX_LINE: usize = 5000;

/// Matching lines of one file that are shown below others.
const MAX_LINES: usize = 1000;

/// Files that a finder shows, unless it is said how many, and at most.
const FOUND: usize = 50;
const MAX_FOUND: usize = 1000;

/// What can be asked of files and repositories.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Wanted {
    /// The name of a repository; of the finder, a part of it.
    #[serde(default)]
    repo: String,
    /// A path in it.
    #[serde(default)]
    path: String,
    /// A query, of which the page of a file shows what matches; or what was typed into the finder.
    #[serde(default)]
    q: String,
    /// Lines of a file to send: `10-20`.
    lines: Option<String>,
    /// A language.
    lang: Option<String>,
    /// Most files.
    limit: Option<String>,
    /// `1` for a file to be saved.
    download: Option<String>,
    /// `json` or `html`.
    format: Option<String>,
}

#[derive(Template)]
#[template(path = "file.html")]
struct FilePage<'a> {
    query: &'a str,
    document: &'a Document,
    crumbs: Vec<Crumb>,
    lines: Vec<LineView>,
    /// Lines in which the query matches.
    hits: usize,
    facts: String,
    raw: String,
    download: String,
    /// Where the file can be read on the web.
    web: Option<String>,
    /// Other places of the same contents, with their addresses.
    same: Vec<(String, String)>,
}

/// A part of a path, and the address of what it names.
struct Crumb {
    name: String,
    href: String,
}

#[derive(Template)]
#[template(path = "folder.html")]
struct FolderPage<'a> {
    query: &'a str,
    crumbs: Vec<Crumb>,
    repo: &'a Repo,
    /// On the page of a whole repository.
    about: Option<About>,
    rows: Vec<FolderRow>,
    /// A query for what is in it.
    search: String,
}

struct FolderRow {
    name: String,
    href: String,
    folder: bool,
    count: String,
    size: String,
    language: String,
}

/// What is known of a repository.
struct About {
    facts: Vec<(&'static str, String)>,
    /// Each language, its share of the text in percent, and a search in it.
    languages: Vec<(String, String, String)>,
    /// What was left out: why, how many, and some of their paths.
    skipped: Vec<(String, usize, Vec<String>)>,
    web: Option<String>,
}

#[derive(Template)]
#[template(path = "repos.html")]
struct ReposPage<'a> {
    query: &'a str,
    filter: &'a str,
    summary: String,
    rows: Vec<RepoView>,
}

struct RepoView {
    name: String,
    href: String,
    files: String,
    size: String,
    skipped: String,
    rank: u16,
    indexed: String,
}

#[derive(Template)]
#[template(path = "find.html")]
struct FindPage<'a> {
    query: &'a str,
    typed: &'a str,
    summary: String,
    rows: Vec<(String, Vec<Piece>, String)>,
}

#[derive(Template)]
#[template(path = "lines.html")]
struct Lines {
    lines: Vec<LineView>,
    href: String,
    /// Matching lines that are not shown.
    more: usize,
}

/// A page or JSON, whatever came of it.
fn answered(headers: &HeaderMap, q: &str, format: Option<&str>, done: Answered) -> Response {
    done.unwrap_or_else(|failure| {
        if wants_page(headers, format) {
            page::failed(&Asked { q: q.to_owned(), ..Asked::default() }, failure)
        } else {
            failure.into_response()
        }
    })
}

type Answered = Result<Response, Failure>;

/// `/file`: a file, with what a query matches in it.
pub(crate) async fn file(
    State(server): State<Server>,
    headers: HeaderMap,
    Given(wanted): Given<Wanted>,
) -> Response {
    let done = file_answer(&server, &headers, &wanted).await;
    answered(&headers, &wanted.q, wanted.format.as_deref(), done)
}

async fn document(server: &Server, wanted: &Wanted) -> Result<Document, Failure> {
    if wanted.repo.is_empty() || wanted.path.is_empty() {
        return Err(Failure::bad_request("which file? give repo= and path="));
    }
    let found = server.searcher.document(&wanted.repo, &wanted.path).await?;
    found.ok_or_else(|| Failure::no_such(&format!("{}/{}", wanted.repo, wanted.path)))
}

async fn file_answer(server: &Server, headers: &HeaderMap, wanted: &Wanted) -> Answered {
    let document = document(server, wanted).await?;
    if !wants_page(headers, wanted.format.as_deref()) {
        return file_json(headers, wanted, &document);
    }
    let repo = repo(server, &wanted.repo).await?;
    let q = wanted.q.clone();
    let bytes = document.text.len();
    // Colours and matching take their time.
    let work = tokio::task::spawn_blocking(move || {
        let lines = file_lines(&document, &q);
        (document, lines)
    });
    let (document, (lines, hits)) = work.await.map_err(|_| Failure::broke_off())?;
    let mut facts = vec![
        format!("{} lines", grouped(lines.len())),
        human(bytes as u64),
        document.language.clone().unwrap_or_default(),
    ];
    facts.retain(|fact| !fact.is_empty());
    if bytes > MAX_COLOURED {
        facts.push("too large for colours".to_owned());
    }
    let raw = [("repo", wanted.repo.as_str()), ("path", wanted.path.as_str()), ("download", "1")];
    let same = document
        .same
        .iter()
        .map(|(repo, path)| (format!("{repo}/{path}"), link::file(repo, path, &wanted.q, None)));
    let page = FilePage {
        query: &wanted.q,
        crumbs: crumbs(&wanted.repo, &wanted.path),
        facts: facts.join(" · "),
        raw: link::to("/raw", &raw[..2]),
        download: link::to("/raw", &raw),
        web: repo.web.as_ref().map(|web| format!("{web}{}", link::path(&wanted.path))),
        same: same.collect(),
        document: &document,
        lines,
        hits,
    };
    Ok(render(StatusCode::OK, &page))
}

/// The lines of a file, in colours, with what a query matches; and in how many lines it does.
fn file_lines(document: &Document, q: &str) -> (Vec<LineView>, usize) {
    let text = &document.text;
    let mut hits: BTreeMap<usize, Vec<std::ops::Range<usize>>> = BTreeMap::new();
    // A query that is none is no reason not to show the file.
    let parsed = Parsed::parse(q, Case::Smart).ok().filter(|_| !q.trim().is_empty());
    if let Some(request) = parsed.and_then(|query| Request::new(&query).ok()) {
        let program = request.program();
        program.expr.atoms(&mut |atom| {
            if let Atom::Content(term) = atom {
                let matcher = &program.terms[term].matcher;
                let begun = std::time::Instant::now();
                // A line may have very many matches.
                let go_on = || begun.elapsed().as_secs() < 2;
                matcher.lines(&mut matcher.scratch(), text, &go_on, &mut |found| {
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
        LineView { number: at as u64 + 1, hit: !ranges.is_empty(), gap: false, pieces }
    });
    (views.collect(), hits.len())
}

fn file_json(headers: &HeaderMap, wanted: &Wanted, document: &Document) -> Answered {
    let all = document.text.lines().count();
    let (from, upto) = match wanted.lines.as_deref().filter(|lines| !lines.is_empty()) {
        None => (1, all),
        Some(text) => range(text).ok_or_else(|| {
            Failure::bad_request(format!("lines={text}: use a range such as 10-20, or one number"))
        })?,
    };
    if from > all.max(1) {
        return Err(Failure::bad_request(format!("lines={from}: the file has {all} lines")));
    }
    let lines =
        document.text.split_inclusive('\n').skip(from - 1).take((upto + 1).saturating_sub(from));
    let text: String = lines.collect();
    let same: Vec<_> =
        document.same.iter().map(|(repo, path)| json!({ "repo": repo, "path": path })).collect();
    let body = json!({
        "repo": document.repo,
        "path": document.path,
        "language": document.language,
        "hash": document.hash,
        "bytes": document.text.len(),
        "lines": all,
        "from": from,
        "to": upto.min(all),
        "text": text,
        "same": same,
    });
    Ok(tagged(headers, &document.hash, Json(body).into_response()))
}

/// `10-20`, or `10`.
fn range(text: &str) -> Option<(usize, usize)> {
    let (from, upto) = text.split_once('-').unwrap_or((text, text));
    let (from, upto) = (from.parse().ok()?, upto.parse().ok()?);
    (from >= 1 && from <= upto).then_some((from, upto))
}

/// A response with a tag by which it is known again, or word that it has not changed.
fn tagged(headers: &HeaderMap, tag: &str, mut response: Response) -> Response {
    let tag = format!("\"{tag}\"");
    let known = headers.get(IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag)) {
        response = StatusCode::NOT_MODIFIED.into_response();
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

/// `/raw`: the text of a file, never as anything but text.
pub(crate) async fn raw(
    State(server): State<Server>,
    headers: HeaderMap,
    Given(wanted): Given<Wanted>,
) -> Response {
    let document = match document(&server, &wanted).await {
        Ok(document) => document,
        Err(failure) => return answered(&headers, "", None, Err(failure)),
    };
    let hash = document.hash;
    let mut response =
        ([(CONTENT_TYPE, "text/plain; charset=utf-8")], document.text).into_response();
    if wanted.download.is_some() {
        let name = document.path.rsplit('/').next().unwrap_or("file");
        let name = utf8_percent_encode(name, NON_ALPHANUMERIC);
        // https://datatracker.ietf.org/doc/html/rfc6266
        if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename*=UTF-8''{name}")) {
            response.headers_mut().insert(CONTENT_DISPOSITION, value);
        }
    }
    protect(&mut response, "default-src 'none'; sandbox");
    tagged(&headers, &hash, response)
}

/// `/repos`: the repositories, or one of them, or a folder in it.
pub(crate) async fn repos(
    State(server): State<Server>,
    headers: HeaderMap,
    Given(wanted): Given<Wanted>,
) -> Response {
    let page = wants_page(&headers, wanted.format.as_deref());
    let done = match (wanted.repo.is_empty(), page) {
        (true, true) => all_repos_page(&server, &wanted).await,
        (true, false) => all_repos(&server, &wanted).await,
        (false, _) => one_repo(&server, &wanted, page).await,
    };
    answered(&headers, "", wanted.format.as_deref(), done)
}

async fn chosen_repos(server: &Server, wanted: &Wanted) -> Result<Vec<Repo>, Failure> {
    // An index that is empty says so.
    server.searcher.catalog().await?;
    let filter = wanted.q.to_lowercase();
    let mut repos = server.searcher.store().repos().await?;
    repos.retain(|repo| repo.name.to_lowercase().contains(&filter));
    Ok(repos)
}

async fn all_repos(server: &Server, wanted: &Wanted) -> Answered {
    let repos = chosen_repos(server, wanted).await?;
    let repos: Vec<_> = repos.iter().map(repo_json).collect();
    Ok(Json(json!({ "repos": repos })).into_response())
}

fn repo_json(repo: &Repo) -> serde_json::Value {
    json!({
        "name": repo.name,
        "files": repo.files,
        "bytes": repo.bytes,
        "skipped": repo.skipped,
        "rank": repo.rank,
        "indexed_at": repo.indexed_at,
        "web": repo.web,
    })
}

async fn all_repos_page(server: &Server, wanted: &Wanted) -> Answered {
    let repos = chosen_repos(server, wanted).await?;
    let bytes: i64 = repos.iter().map(|repo| repo.bytes).sum();
    let files: i64 = repos.iter().map(|repo| repo.files).sum();
    let page = ReposPage {
        query: "",
        filter: &wanted.q,
        summary: format!(
            "{} repositories, {} files, {} of text",
            grouped(repos.len()),
            grouped(files as usize),
            human(bytes as u64)
        ),
        rows: repos
            .iter()
            .map(|repo| RepoView {
                name: repo.name.clone(),
                href: link::folder(&repo.name, ""),
                files: grouped(repo.files as usize),
                size: human(repo.bytes as u64),
                skipped: grouped(repo.skipped as usize),
                rank: repo.rank,
                indexed: repo.indexed_at.clone(),
            })
            .collect(),
    };
    Ok(render(StatusCode::OK, &page))
}

async fn repo(server: &Server, name: &str) -> Result<Repo, Failure> {
    let repos = server.searcher.store().repos().await?;
    let found = repos.into_iter().find(|repo| repo.name == name);
    found.ok_or_else(|| Failure::no_such(name))
}

async fn one_repo(server: &Server, wanted: &Wanted, page: bool) -> Answered {
    let tree = server.searcher.tree().await?;
    let repo = repo(server, &wanted.repo).await?;
    let folder = wanted.path.trim_matches('/');
    let of = tree.repo(&repo.name).ok_or_else(|| Failure::no_such(&wanted.repo))?;
    let children = tree
        .folder(of, folder)
        .ok_or_else(|| Failure::no_such(&format!("{}/{folder}", repo.name)))?;
    if !page {
        let children_of = children;
        let children: Vec<_> = children_of.iter().map(child_json).collect();
        let mut body = repo_json(&repo);
        body["path"] = json!(folder);
        if !folder.is_empty() {
            let files = children_of.iter().map(|child| child.files.unwrap_or(1)).sum::<usize>();
            body["files"] = json!(files);
            body["bytes"] = json!(children_of.iter().map(|child| child.bytes).sum::<usize>());
        }
        body["children"] = json!(children);
        return Ok(Json(body).into_response());
    }
    let about = if folder.is_empty() { Some(about(server, &repo, &tree).await?) } else { None };
    let within = |name: &str| {
        if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
    };
    let rows = children
        .into_iter()
        .map(|child| FolderRow {
            href: match child.files {
                Some(_) => link::folder(&repo.name, &within(&child.name)),
                None => link::file(&repo.name, &within(&child.name), "", None),
            },
            folder: child.files.is_some(),
            count: child.files.map_or_else(String::new, grouped),
            size: human(child.bytes as u64),
            language: child.language.unwrap_or_default(),
            name: child.name,
        })
        .collect();
    let mut search = query::exactly("repo", &repo.name);
    if !folder.is_empty() {
        search = format!("{search} {}", query::below("file", folder));
    }
    let crumbs = crumbs(&repo.name, folder);
    let page = FolderPage { query: "", crumbs, repo: &repo, about, rows, search: search + " " };
    Ok(render(StatusCode::OK, &page))
}

fn child_json(child: &Child) -> serde_json::Value {
    json!({
        "name": child.name,
        "kind": if child.files.is_some() { "folder" } else { "file" },
        "files": child.files,
        "bytes": child.bytes,
        "language": child.language,
    })
}

async fn about(server: &Server, repo: &Repo, tree: &Tree) -> Result<About, Failure> {
    let mut skipped: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    for (path, bytes, reason) in server.searcher.store().skipped(repo.id).await? {
        let (count, paths) = skipped.entry(reason).or_default();
        *count += 1;
        if paths.len() < 20 {
            paths.push(format!("{path} ({})", human(bytes as u64)));
        }
    }
    let of = tree.repo(&repo.name);
    let languages = of.map(|of| tree.languages(of)).unwrap_or_default();
    let all: usize = languages.iter().map(|(_, counted)| counted.bytes).sum();
    let languages = languages.into_iter().take(12).map(|(name, counted)| {
        let share = 100.0 * counted.bytes as f64 / all.max(1) as f64;
        let q = format!("{} {}", query::exactly("repo", &repo.name), query::written("lang", &name));
        let href = if name == "other" { String::new() } else { link::to("/search", &[("q", &q)]) };
        (name, format!("{share:.1}"), href)
    });
    Ok(About {
        facts: vec![
            ("Files", grouped(repo.files as usize)),
            ("Text", human(repo.bytes as u64)),
            ("Left out", format!("{} files", grouped(repo.skipped as usize))),
            ("Read", repo.indexed_at.clone()),
            ("Rank", repo.rank.to_string()),
            ("From", repo.source.clone()),
        ],
        languages: languages.collect(),
        skipped: skipped.into_iter().map(|(why, (count, paths))| (why, count, paths)).collect(),
        web: repo.web.clone(),
    })
}

/// The parts of a path, each with its address.
fn crumbs(repo: &str, path: &str) -> Vec<Crumb> {
    let mut crumbs = vec![Crumb { name: repo.to_owned(), href: link::folder(repo, "") }];
    let mut upto = String::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        if !upto.is_empty() {
            upto.push('/');
        }
        upto.push_str(part);
        crumbs.push(Crumb { name: part.to_owned(), href: link::folder(repo, &upto) });
    }
    crumbs
}

/// `/files`: the files whose paths are like what was typed.
pub(crate) async fn files(
    State(server): State<Server>,
    headers: HeaderMap,
    Given(wanted): Given<Wanted>,
) -> Response {
    let done = files_answer(&server, &headers, &wanted).await;
    answered(&headers, "", wanted.format.as_deref(), done)
}

async fn files_answer(server: &Server, headers: &HeaderMap, wanted: &Wanted) -> Answered {
    let limit = match wanted.limit.as_deref().filter(|limit| !limit.is_empty()) {
        None => FOUND,
        Some(text) => {
            text.parse::<usize>().ok().filter(|limit| *limit <= MAX_FOUND).ok_or_else(|| {
                Failure::bad_request(format!("limit={text}: use a number up to {MAX_FOUND}"))
            })?
        }
    };
    let language = wanted.lang.as_deref().filter(|language| !language.is_empty());
    let languages = language.map_or(Ok(Vec::new()), query::languages);
    let languages = languages.map_err(|why| Failure::bad_request(format!("lang=: {why}")))?;
    let _turn = server.turn().await?;
    let typed = wanted.q.clone();
    let counted = server.metrics.begin(Kind::Files, move |_| (typed.clone(), String::new()));
    let tree = server.searcher.tree().await?;
    let (asked, kept) = (wanted.clone(), Arc::clone(&tree));
    let work = tokio::task::spawn_blocking(move || {
        let repo = Some(asked.repo.as_str()).filter(|repo| !repo.is_empty());
        kept.find(&Finding { typed: asked.q.trim(), repo, languages: &languages, limit })
    });
    let (near, count) = work
        .await
        .map_err(|_| Failure::broke_off())?
        .map_err(|why| Failure::bad_request(format!("q=: {why}")))?;
    counted.ended(if count > near.len() { Outcome::Limit } else { Outcome::Complete });
    if !wants_page(headers, wanted.format.as_deref()) {
        let files: Vec<_> = near
            .iter()
            .map(|near| {
                json!({
                    "repo": near.repo,
                    "path": near.path,
                    "language": near.language,
                    "matched": near.matched,
                })
            })
            .collect();
        let complete = files.len() == count;
        let body = json!({ "files": files, "found": count, "complete": complete });
        return Ok(Json(body).into_response());
    }
    let rows = near
        .iter()
        .map(|near| {
            let path = view::pieces(&near.path, &near.ranges(), &[], 0..near.path.len());
            (link::file(&near.repo, &near.path, "", None), path, near.repo.clone())
        })
        .collect();
    let summary = format!(
        "{} of {} files",
        grouped(near.len()),
        grouped(if count == 0 { tree.len() } else { count })
    );
    Ok(render(StatusCode::OK, &FindPage { query: "", typed: &wanted.q, summary, rows }))
}

/// `/search/lines`: all lines of one file in which a query matches, as a piece of a page.
pub(crate) async fn lines(State(server): State<Server>, Given(wanted): Given<Wanted>) -> Response {
    lines_answer(&server, &wanted).await.unwrap_or_else(IntoResponse::into_response)
}

async fn lines_answer(server: &Server, wanted: &Wanted) -> Answered {
    let _turn = server.turn().await?;
    let exactly = |name: &str| Some(format!("(?-i:^{}$)", query::escape(name)));
    let asked = Asked {
        q: wanted.q.clone(),
        limit: Some("1".to_owned()),
        repo: exactly(&wanted.repo),
        file: exactly(&wanted.path),
        ..Asked::default()
    };
    let mut request = compiled(&asked, None).await?;
    request.context = (view::CONTEXT, view::CONTEXT);
    request.limit = Some(1);
    let mut search = Running::start(server, &Arc::new(request));
    let mut found: Vec<FileMatch> = Vec::new();
    while let Some(files) = search.next().await {
        found.extend(files);
    }
    search.end()?;
    let Some(mut file) = found.pop() else {
        return Err(Failure::no_such(&format!("{}/{}", wanted.repo, wanted.path)));
    };
    let all = file.matches();
    file.lines.truncate(MAX_LINES);
    let more = all - file.matches();
    let href = link::file(&wanted.repo, &wanted.path, &wanted.q, None);
    let work = tokio::task::spawn_blocking(move || view::lines(&file));
    let lines = work.await.map_err(|_| Failure::broke_off())?;
    Ok(render(StatusCode::OK, &Lines { lines, href, more }))
}
