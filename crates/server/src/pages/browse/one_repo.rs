//! A repository with its left-out files, or a folder in it.

use std::collections::{BTreeMap, HashMap};

use askama::Template;
use axum::Json;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use search::{FolderItem, Tree};
use serde_json::json;
use store::{Catalog, InTree, MAIN_TREE, QueuePlace, Repo, RepoId, ScipImport, TreeKind};

use super::missing::{no_such_file, no_such_repo};
use super::{Answered, BrowseParams, Crumb, crumbs, crumbs_at, repo, trees_json};
use crate::error::Failure;
use crate::pages::link;
use crate::pages::render::render;
use crate::server::Server;
use request::about::{about_json, about_words, pushed_at};
use request::fresh;
use request::human::{count, grouped, size};
use request::scip::{scip_json, scip_text};

#[derive(Template)]
#[template(path = "folder.html")]
struct FolderPage<'a> {
    query: &'a str,
    crumbs: Vec<Crumb>,
    repo: &'a Repo,
    /// Facts about the repository, if the page shows a whole repository.
    about: Option<About>,
    rows: Vec<FolderRow>,
    /// A query restricted to the folder.
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

/// Facts about a repository.
struct About {
    facts: Vec<(&'static str, String)>,
    /// Time since it was looked at, and that time.
    looked: (String, String),
    /// Why it could not be updated, and its place in the queue.
    troubles: Vec<String>,
    /// Whether the page has a button to look at it now.
    can_ingest: bool,
    /// Each language, its share of the text in percent, and the address of a search in it.
    languages: Vec<(String, String, String)>,
    /// Files left out of the index: the reason, their number, and some of their paths.
    skipped: Vec<(String, usize, Vec<String>)>,
    web: Option<String>,
    /// The trees, if there are several.
    trees: Vec<TreeRow>,
    /// The number of trees that are not listed.
    more_trees: usize,
}

/// A tree of a repository.
struct TreeRow {
    name: String,
    kind: &'static str,
    href: String,
    /// The first digits of its commit.
    commit: String,
    files: String,
    /// Whether the page shows it.
    is_here: bool,
}

/// The places of repositories in the queue.
type Queue = HashMap<RepoId, QueuePlace>;

/// Returns what is told of a repository.
pub(super) fn repo_json(
    repo: &Repo,
    imports: &[ScipImport],
    catalog: &Catalog,
    queue: &Queue,
) -> serde_json::Value {
    let scip = imports.iter().filter(|import| import.repo == repo.id);
    let mut told = json!({
        "name": repo.name,
        "files": repo.files,
        "bytes": repo.bytes,
        "skipped": repo.skipped,
        "rank": repo.rank,
        "about": about_json(&repo.metadata),
        "no_ignore": repo.no_ignore,
        "secrets": repo.secrets,
        "indexed_at": repo.indexed_at,
        "commit": repo.commit,
        "web": repo.web,
        "scip": scip.map(scip_json).collect::<Vec<_>>(),
        "trees": trees_json(catalog, repo),
    });
    for (name, value) in fresh::members(repo, queue.get(&repo.id)) {
        told[name] = value;
    }
    told
}

/// Answers for a repository, or a folder in it.
pub(super) async fn one_repo(
    server: &Server,
    wanted: &BrowseParams,
    page: bool,
    can_ingest: bool,
) -> Answered {
    let tree = server.view().tree().await?;
    let (Some(repo), Some(of)) = (repo(server, &wanted.repo).await?, tree.repo(&wanted.repo))
    else {
        return no_such_repo(&tree, wanted, page);
    };
    audit::told().repo(&repo.name);
    let folder = wanted.path.trim_matches('/');
    if let Some(rev) = &wanted.rev {
        return one_revision(server, &repo, folder, rev, page).await;
    }
    let Some(children) = tree.folder(of, folder)? else {
        return no_such_file(server, wanted, page).await;
    };
    if !page {
        let children_of = children;
        let children: Vec<_> = children_of.iter().map(child_json).collect();
        let imports = server.view().scip_imports().await?;
        let catalog = server.view().catalog().await?;
        let queue = server.view().queue_places().await?;
        let mut body = repo_json(&repo, &imports, &catalog, &queue);
        body["path"] = json!(folder);
        if let Some(tree) = &wanted.tree {
            body["tree"] = json!(tree.tree);
        }
        if !folder.is_empty() || wanted.tree.is_some() {
            let files = children_of.iter().map(|child| child.files.unwrap_or(1)).sum::<usize>();
            body["files"] = json!(files);
            body["bytes"] = json!(children_of.iter().map(|child| child.bytes).sum::<usize>());
        }
        body["children"] = json!(children);
        return Ok(Json(body).into_response());
    }
    let place = wanted.place();
    let about = if folder.is_empty() {
        let bytes = children.iter().map(|child| child.bytes).sum();
        Some(about(server, &repo, &tree, (wanted, can_ingest), bytes).await?)
    } else {
        None
    };
    let rows = folder_rows(&place, folder, children, None, true);
    let mut search = search_in(&repo.name, folder);
    if let Some(tree) = &wanted.tree {
        let field = if tree.kind == TreeKind::Worktree { "worktree" } else { "rev" };
        search = format!("{search} {}", query::written(field, &tree.tree));
    }
    let crumbs = crumbs(&place, folder);
    let page = FolderPage { query: "", crumbs, repo: &repo, about, rows, search: search + " " };
    Ok(render(StatusCode::OK, &page))
}

/// Answers for a folder of another tree of a repository.
async fn one_revision(
    server: &Server,
    repo: &Repo,
    folder: &str,
    rev: &str,
    page: bool,
) -> Answered {
    let name = &repo.name;
    let at = server.view().tree_at(name, rev).await?;
    let no_such = || Failure::no_such(format!("{name} has no folder {folder} at {rev}"));
    let at = at.ok_or_else(no_such)?;
    let tree = at.tree();
    let children = tree.repo(name).map(|of| tree.folder(of, folder)).transpose()?.flatten();
    let children = children.ok_or_else(no_such)?;
    if page {
        let rows = folder_rows(name, folder, children, Some(rev), at.is_indexed());
        let search = format!("{} {} ", search_in(name, folder), query::written("rev", rev));
        let crumbs = crumbs_at(name, folder, Some(rev));
        let page = FolderPage { query: "", crumbs, repo, about: None, rows, search };
        return Ok(render(StatusCode::OK, &page));
    }
    let imports = server.view().scip_imports().await?;
    let catalog = server.view().catalog().await?;
    let queue = server.view().queue_places().await?;
    let mut body = repo_json(repo, &imports, &catalog, &queue);
    body["path"] = json!(folder);
    body["rev"] = json!(rev);
    body["files"] = json!(children.iter().map(|child| child.files.unwrap_or(1)).sum::<usize>());
    let bytes = children.iter().map(|child| child.bytes).sum::<usize>();
    body["bytes"] = json!(at.is_indexed().then_some(bytes));
    body["commit"] = json!(at.commit());
    let mut children: Vec<_> = children.iter().map(child_json).collect();
    if !at.is_indexed() {
        for child in &mut children {
            child["bytes"] = json!(null);
        }
    }
    body["children"] = json!(children);
    Ok(Json(body).into_response())
}

/// Returns the query for a folder of a repository.
fn search_in(repo: &str, folder: &str) -> String {
    let search = query::exactly("repo", repo);
    if folder.is_empty() { search } else { format!("{search} {}", query::below("file", folder)) }
}

/// Returns the rows of the page of a folder.
fn folder_rows(
    repo: &str,
    folder: &str,
    children: Vec<FolderItem>,
    rev: Option<&str>,
    has_sizes: bool,
) -> Vec<FolderRow> {
    let within = |name: &str| {
        if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
    };
    children
        .into_iter()
        .map(|child| FolderRow {
            href: match child.files {
                Some(_) => link::folder_at(repo, &within(&child.name), rev),
                None => link::file_at(repo, &within(&child.name), rev),
            },
            folder: child.files.is_some(),
            count: child.files.map_or_else(String::new, grouped),
            size: if has_sizes { size(child.bytes as u64) } else { String::new() },
            language: child.language.unwrap_or_default(),
            name: child.name,
        })
        .collect()
}

fn child_json(child: &FolderItem) -> serde_json::Value {
    json!({
        "name": child.name,
        "kind": if child.files.is_some() { "folder" } else { "file" },
        "files": child.files,
        "bytes": child.bytes,
        "language": child.language,
    })
}

/// Trees that the page of a repository lists.
const MAX_TREES: usize = 500;

/// Returns the trees of a repository, if it has several; `here` is the one that the page shows.
fn trees(catalog: &Catalog, repo: &Repo, here: Option<&InTree>) -> (Vec<TreeRow>, usize) {
    let Some(known) = catalog.repos.get(&repo.id).filter(|known| !known.trees.trees.is_empty())
    else {
        return (Vec::new(), 0);
    };
    let commit = |commit: Option<&str>| commit.map_or("", link::short).to_owned();
    let main = TreeRow {
        name: MAIN_TREE.to_owned(),
        kind: "main",
        href: link::folder(&repo.name, ""),
        commit: commit(repo.commit.as_deref()),
        files: grouped(repo.files as usize),
        is_here: here.is_none(),
    };
    let others = known.trees.trees.iter().take(MAX_TREES).map(|tree| TreeRow {
        name: tree.name.clone(),
        kind: tree.kind.word(),
        href: link::folder(&link::in_tree(&repo.name, &tree.name), ""),
        commit: commit(tree.commit.as_deref()),
        files: grouped(tree.files as usize),
        is_here: here.is_some_and(|here| here.kind == tree.kind && here.tree == tree.name),
    });
    let more = known.trees.trees.len().saturating_sub(MAX_TREES);
    (std::iter::once(main).chain(others).collect(), more)
}

async fn about(
    server: &Server,
    repo: &Repo,
    tree: &Tree,
    (wanted, can_ingest): (&BrowseParams, bool),
    bytes: usize,
) -> Result<About, Failure> {
    let mut skipped: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    for row in server.view().skipped(repo.id).await? {
        let (count, paths) = skipped.entry(row.reason).or_default();
        *count += 1;
        if paths.len() < 20 {
            let why = row.rule.unwrap_or_else(|| size(row.bytes as u64));
            paths.push(format!("{} ({why})", row.path));
        }
    }
    let of = tree.repo(&repo.name);
    let languages = of.map(|of| tree.languages(of)).transpose()?.unwrap_or_default();
    let all: usize = languages.iter().map(|(_, counted)| counted.bytes).sum();
    let languages = languages.into_iter().take(12).map(|(name, counted)| {
        let share = 100.0 * counted.bytes as f64 / all.max(1) as f64;
        let q = format!("{} {}", query::exactly("repo", &repo.name), query::written("lang", &name));
        let href = if name == "other" { String::new() } else { link::to("/search", &[("q", &q)]) };
        (name, format!("{share:.1}"), href)
    });
    let catalog = server.view().catalog().await?;
    let (trees, more_trees) = trees(&catalog, repo, wanted.tree.as_ref());
    let shown = wanted.tree.as_ref().and_then(|wanted| {
        let known = &catalog.repos.get(&repo.id)?.trees.trees;
        known.iter().find(|tree| tree.kind == wanted.kind && tree.name == wanted.tree)
    });
    let mut facts = match shown {
        None => vec![
            ("Files", grouped(repo.files as usize)),
            ("Text", size(repo.bytes as u64)),
            ("Left out", count(repo.skipped as usize, "file")),
            ("From", repo.source.clone()),
        ],
        Some(tree) => vec![
            ("Tree", format!("{} {}", tree.kind.word(), tree.name)),
            ("Files", grouped(tree.files as usize)),
            ("Text", size(bytes as u64)),
            ("From", tree.source.clone().unwrap_or_else(|| repo.source.clone())),
        ],
    };
    if let Some(commit) = shown.and_then(|tree| tree.commit.as_deref()) {
        facts.push(("Commit", link::short(commit).to_owned()));
    } else if let Some(commit) = repo.commit.as_deref().filter(|_| server.shows_history()) {
        let of = repo.clone();
        let reading = tokio::task::spawn_blocking(move || git::branch_of(&of));
        let branch = reading.await.map_err(|_| Failure::panicked())?;
        facts.extend(branch.map(|branch| ("Branch", branch)));
        facts.push(("Commit", link::short(commit).to_owned()));
    }
    if repo.rank > 0 {
        facts.push(("Rank", repo.rank.to_string()));
    }
    let (known, words) = (&repo.metadata, about_words(&repo.metadata));
    facts.extend(known.description.clone().map(|text| ("About", text)));
    if !words.is_empty() {
        facts.push(("Properties", words.join(", ")));
    }
    if !known.properties.topics.is_empty() {
        facts.push(("Topics", known.properties.topics.join(", ")));
    }
    facts.extend(pushed_at(known).map(|time| ("Pushed at", time)));
    for (name, text) in &known.properties.meta {
        facts.push(("Meta", format!("{name}: {text}")));
    }
    if repo.no_ignore {
        facts.push(("Ignore files", "not applied (--no-ignore)".to_owned()));
    }
    if repo.secrets == "skip" {
        facts.push(("Secrets", "left out (--secrets skip)".to_owned()));
    }
    let queue = server.view().queue_places().await?;
    let imports = server.view().scip_imports().await?;
    for import in imports.iter().filter(|import| import.repo == repo.id) {
        facts.push(("SCIP index", scip_text(import)));
    }
    Ok(About {
        facts,
        looked: (fresh::since(repo.looked_at), fresh::time(repo.looked_at)),
        troubles: fresh::troubles(repo, queue.get(&repo.id)),
        can_ingest,
        languages: languages.collect(),
        skipped: skipped.into_iter().map(|(why, (count, paths))| (why, count, paths)).collect(),
        web: repo.web.clone(),
        trees,
        more_trees,
    })
}
