//! Lists of repositories in Zoekt's format.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use query::{Query, Select, Switch, Tree};
use serde::Serialize;
use serde_json::{Value, json};
use store::{Repo, RepoTrees, TreeKind};

use super::error::internal;
use super::query::compiled;
use crate::compat::collect::gather;
use crate::error::Failure;
use crate::server::Server;
use request::{Options, fresh};

/// The branch of every clone: its main tree.
pub(super) const HEAD: &str = "HEAD";

#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct RepoStats {
    pub(super) repos: usize,
    pub(super) shards: usize,
    pub(super) documents: i64,
    pub(super) index_bytes: i64,
    pub(super) content_bytes: i64,
    pub(super) new_lines_count: u64,
    pub(super) default_branch_new_lines_count: u64,
    pub(super) other_branches_new_lines_count: u64,
}

/// A listed repository.
#[derive(Debug)]
pub(super) struct RepoEntry {
    pub(super) repo: Repo,
    pub(super) trees: Arc<RepoTrees>,
    pub(super) stats: RepoStats,
}

/// Returns the repositories that match, by name.
pub(super) async fn listed(server: &Server, mut query: Query) -> Result<Vec<RepoEntry>, Failure> {
    let everything = matches!(&query.tree, Tree::All(parts) if parts.is_empty());
    query.settings.select = Select::Repos;
    let mut request = compiled(query, Options::default()).await?;
    // A list is complete, whatever the query's limit.
    request.limit = None;
    let _turn = server.turn().await?;
    let repos = server.view().repos().await?;
    let mut names = BTreeSet::new();
    if !everything {
        let stats = gather(server, request, |file| names.insert(file.repo)).await?;
        if stats.stopped.is_some() {
            return Err(internal(
                "the list is incomplete: the search timed out or failed; ask for less".to_owned(),
            ));
        }
    }
    let catalog = server.view().catalog().await?;
    let listed = repos.into_iter().filter(|repo| everything || names.contains(&repo.name));
    let listed = listed.map(|repo| {
        let known = catalog.repos.get(&repo.id);
        let trees = known.map(|known| Arc::clone(&known.trees)).unwrap_or_default();
        let stats = RepoStats {
            shards: known.map_or(0, |repo| repo.shards.len()),
            documents: repo.files,
            content_bytes: repo.bytes,
            ..RepoStats::default()
        };
        RepoEntry { repo, trees, stats }
    });
    let listed: Vec<RepoEntry> = listed.collect();
    audit::told().results(listed.iter().map(|entry| entry.repo.name.as_str()));
    Ok(listed)
}

/// Returns the totals of all repositories.
pub(super) fn total(repos: &[RepoEntry]) -> RepoStats {
    let mut total = RepoStats { repos: repos.len(), ..RepoStats::default() };
    for RepoEntry { stats, .. } in repos {
        total.shards += stats.shards;
        total.documents += stats.documents;
        total.content_bytes += stats.content_bytes;
    }
    total
}

/// Formats a repository as `/api/list` does. Unknown fields are empty, as in Zoekt.
pub(super) fn entry(RepoEntry { repo, trees, stats }: &RepoEntry) -> Value {
    json!({
        "Repository": {
            "TenantID": 0,
            "ID": 0,
            "Name": repo.name,
            "URL": "",
            "Metadata": metadata(repo),
            "Source": "",
            "Branches": branches(repo, trees),
            "SubRepoMap": {},
            "CommitURLTemplate": "",
            "FileURLTemplate": file_url(repo),
            "LineFragmentTemplate": line_fragment(repo),
            "RawConfig": raw_config(repo),
            "Rank": repo.effective_rank(),
            "IndexOptions": "",
            "HasSymbols": false,
            "Tombstone": false,
            "LatestCommitDate": "0001-01-01T00:00:00Z",
        },
        "IndexMetadata": {
            "IndexFormatVersion": 0,
            "IndexFeatureVersion": 0,
            "IndexMinReaderVersion": 0,
            "IndexTime": looked_at(repo),
            "PlainASCII": false,
            "LanguageMap": {},
            "ZoektVersion": "",
            "ID": "",
        },
        "Stats": stats,
    })
}

/// Returns the further texts about a repository; `None` if there are none.
fn metadata(repo: &Repo) -> Option<&BTreeMap<String, String>> {
    Some(&repo.metadata.properties.meta).filter(|meta| !meta.is_empty())
}

/// Returns what Zoekt's commands that mirror hosts write to the configuration of a clone; `None` if nothing is known.
fn raw_config(repo: &Repo) -> Option<BTreeMap<&'static str, String>> {
    let known = &repo.metadata.properties;
    let mut config = BTreeMap::new();
    for switch in Switch::ALL {
        let digit = known.switch(switch).map(|on| u8::from(on).to_string());
        config.extend(digit.map(|digit| (switch.name(), digit)));
    }
    config.extend(repo.metadata.stars.map(|stars| ("github-stars", stars.to_string())));
    (!config.is_empty()).then_some(config)
}

/// Returns the branches of a repository; `None` for a folder that is not a clone.
pub(super) fn branches(repo: &Repo, trees: &RepoTrees) -> Option<Value> {
    let head = repo.commit.as_ref()?;
    let others = trees.trees.iter().filter(|tree| tree.kind != TreeKind::Worktree);
    let others = others.map(|tree| json!({ "Name": tree.name, "Version": tree.commit }));
    Some([json!({ "Name": HEAD, "Version": head })].into_iter().chain(others).collect())
}

/// Returns the template for a file's address on the web; empty if unknown.
pub(super) fn file_url(repo: &Repo) -> String {
    repo.web.as_ref().map_or_else(String::new, |web| format!("{web}{{{{.Path}}}}"))
}

/// Returns the template for the end of a file's address, which names a line.
pub(super) fn line_fragment(repo: &Repo) -> &'static str {
    repo.web.as_ref().map_or("", |_| "#L{{.LineNumber}}")
}

/// Returns the time of the last look at a repository, in the format of Go's JSON.
pub(super) fn looked_at(repo: &Repo) -> String {
    fresh::time(repo.looked_at).replace(' ', "T")
}
