//! Zoekt's own `/search` with `format=json`: matches are split into the text before, in and after them.

use std::collections::HashMap;
use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use query::{Field, MAX_QUERY_BYTES, Select, Tree};
use serde_json::{Value, json};

use super::arguments::{MAX_REPO_MATCHES, Options};
use super::find::find;
use super::list::{RepoEntry, branches, listed, looked_at, total};
use super::matches::LineMatch;
use super::query::parse;
use super::result::{FileResult, SearchResult};
use crate::endpoint::{Class, Endpoint};
use crate::error::Failure;
use crate::params::{CheckedParams, DeclaredParams, Param, RejectedParams, StrictParams};
use crate::server::Server;

/// Number of files shown without `num`.
const DEFAULT_FILES: i64 = 50;

/// Most lines of context. A higher number is an error, as in Zoekt.
const MAX_CONTEXT: i64 = 10;

/// Longest time of a search.
const MAX_WALL_TIME: Duration = Duration::from_secs(10);

const Q: Param = Param::text("q", "").at_most(MAX_QUERY_BYTES);
const NUM: Param = Param::word("num", "");
const CTX: Param = Param::word("ctx", "");
const ORDER: Param = Param::word("order", "");
const FORMAT: Param = Param::one_of("format", &["json"], "");
const DEBUG: Param = Param::word("debug", "");

/// `/zoekt/search`, which Zoekt has at `/search`.
pub(super) const WEB: Endpoint = Endpoint {
    params: DeclaredParams { documented: &[], undocumented: &[Q, NUM, CTX, ORDER, FORMAT, DEBUG] },
    ..Endpoint::undocumented("/zoekt/search", Class::Whole, || get(search))
};

async fn search(
    server: Server,
    given: Result<StrictParams<CheckedParams>, RejectedParams>,
) -> Response {
    let answer = async {
        let StrictParams(given) = given.map_err(|refused| refused.failure)?;
        let [q, num, ctx, order] = [Q, NUM, CTX, ORDER].map(|param| given.text(&param));
        answer(&server, &WebParams { q: &q, num: &num, ctx: &ctx, order: &order }).await
    };
    match answer.await {
        Ok(answer) => Json(answer).into_response(),
        Err(failure) => {
            let theirs = failure.status == StatusCode::BAD_REQUEST;
            let status = if theirs { StatusCode::IM_A_TEAPOT } else { failure.status };
            (status, failure.body.message).into_response()
        }
    }
}

#[derive(Debug)]
struct WebParams<'a> {
    q: &'a str,
    num: &'a str,
    ctx: &'a str,
    order: &'a str,
}

async fn answer(server: &Server, params: &WebParams<'_>) -> Result<Value, Failure> {
    if params.q.is_empty() {
        return Err(Failure::bad_request("the query is empty; give it in q="));
    }
    let query = parse(params.q)?;
    // A value that is not a number counts as missing, as in Zoekt.
    let num = params.num.parse().ok().filter(|num: &i64| *num > 0);
    if query.settings.select == Select::Repos || names_repos_only(&query.tree) {
        let repos = listed(server, query).await?;
        return Ok(json!({ "repos": list(repos, params, num)? }));
    }
    let context = if params.ctx.is_empty() { Some(0) } else { params.ctx.parse().ok() };
    let Some(context) = context.filter(|lines| (0..=MAX_CONTEXT).contains(lines)) else {
        let message = format!("ctx={}: use a number of lines up to {MAX_CONTEXT}", params.ctx);
        return Err(Failure::bad_request(message));
    };
    let num = num.unwrap_or(DEFAULT_FILES);
    let options = Options {
        max_wall_time: MAX_WALL_TIME.as_nanos() as i64,
        shard_max_match_count: MAX_REPO_MATCHES as i64,
        max_doc_display_count: num,
        num_context_lines: context,
        ..Options::default()
    };
    let understood = query.to_string();
    let mut result = find(server, query, options).await?;
    if result.stats.wait < result.stats.duration / 10 {
        result.stats.wait = 0;
    }
    let last = last(params, num, context);
    Ok(json!({
        "result": {
            "Last": last,
            "QueryStr": params.q,
            "Query": understood,
            "Stats": result.stats,
            "Duration": 0,
            "FileMatches": files(&result),
        },
    }))
}

/// Returns whether a query has only conditions on names of repositories.
fn names_repos_only(tree: &Tree) -> bool {
    match tree {
        Tree::All(parts) | Tree::Any(parts) => {
            !parts.is_empty() && parts.iter().all(names_repos_only)
        }
        Tree::Not(inner) => names_repos_only(inner),
        Tree::Term(term) => term.field == Field::Repo,
        Tree::Property(_) => true,
        Tree::Language(_) | Tree::InTree(_) => false,
    }
}

/// Repeats the parameters, for the form of a page.
fn last(params: &WebParams<'_>, num: i64, context: i64) -> Value {
    json!({ "Query": params.q, "Num": num, "Ctx": context, "AutoFocus": true, "Debug": false })
}

fn list(
    mut repos: Vec<RepoEntry>,
    params: &WebParams<'_>,
    num: Option<i64>,
) -> Result<Value, Failure> {
    let (order, backwards) = match params.order.strip_prefix("rev") {
        Some(order) => (order, true),
        None => (params.order, false),
    };
    match order {
        "" | "name" => repos.sort_by(|a, b| a.repo.name.cmp(&b.repo.name)),
        "size" => repos.sort_by_key(|listed| listed.repo.bytes),
        "time" => repos.sort_by(|a, b| a.repo.looked_at.total_cmp(&b.repo.looked_at)),
        _ => {
            let message = format!(
                "order={}: use name, size or time, with rev before it for the reverse",
                params.order
            );
            return Err(Failure::bad_request(message));
        }
    }
    if backwards {
        repos.reverse();
    }
    let stats = total(&repos);
    let num = num.map_or(0, |num| num.min(repos.len() as i64));
    if num > 0 {
        repos.truncate(num as usize);
    }
    let shown: Vec<Value> = repos
        .iter()
        .map(|RepoEntry { repo, trees, .. }| {
            json!({
                "Name": repo.name,
                "URL": "",
                "IndexTime": looked_at(repo),
                "Branches": branches(repo, trees),
                "Files": repo.files,
                "Size": repo.bytes,
                "MemorySize": 0,
            })
        })
        .collect();
    let shown = Some(shown).filter(|shown| !shown.is_empty());
    Ok(json!({ "Last": last(params, num, 0), "Stats": stats, "Repos": shown }))
}

fn files(result: &SearchResult) -> Option<Vec<Value>> {
    // The first file with the same contents.
    let mut first: HashMap<&[u8], String> = HashMap::new();
    let files = result.files.as_ref()?;
    let shown = files.iter().map(|file| {
        let id = format!("{}:{}", file.repository, file.file_name);
        let mut same = String::new();
        if let Some(contents) = &file.checksum {
            match first.get(contents.0.as_slice()) {
                Some(known) => same.clone_from(known),
                None => drop(first.insert(&contents.0, id.clone())),
            }
        }
        let address = address(result, file);
        let matches: Vec<Value> =
            file.line_matches.iter().map(|line| line_match(file, line, &address)).collect();
        json!({
            "FileName": file.file_name,
            "Repo": file.repository,
            "ResultID": id,
            "Language": file.language,
            "DuplicateID": same,
            "Branches": Some(&file.branches).filter(|branches| !branches.is_empty()),
            "Matches": Some(matches).filter(|matches| !matches.is_empty()),
            "URL": address,
        })
    });
    Some(shown.collect())
}

/// Returns a file's address on the web; empty if unknown.
fn address(result: &SearchResult, file: &FileResult) -> String {
    let template = result.repo_urls.get(&file.repository).map_or("", String::as_str);
    template.replace("{{.Path}}", &file.file_name)
}

fn line_match(file: &FileResult, line: &LineMatch, address: &str) -> Value {
    let text =
        |from: usize, upto: usize| String::from_utf8_lossy(&line.line.0[from..upto]).into_owned();
    let mut end = 0;
    let mut fragments = Vec::with_capacity(line.line_fragments.len());
    for (at, fragment) in line.line_fragments.iter().enumerate() {
        let (from, upto) = (fragment.line_offset, fragment.line_offset + fragment.match_length);
        let is_last = at + 1 == line.line_fragments.len();
        let post = if is_last { text(upto, line.line.0.len()) } else { String::new() };
        fragments.push(json!({ "Pre": text(end, from), "Match": text(from, upto), "Post": post }));
        end = upto;
    }
    let url =
        if address.is_empty() { String::new() } else { format!("{address}#L{}", line.line_number) };
    let mut shown = json!({
        "URL": url,
        "FileName": file.file_name,
        "LineNum": line.line_number,
        "Fragments": fragments,
    });
    for (name, near) in [("Before", &line.before), ("After", &line.after)] {
        if let Some(near) = near.as_ref().filter(|near| !near.is_empty()) {
            shown[name] = json!(String::from_utf8_lossy(&near.0));
        }
    }
    shown
}
