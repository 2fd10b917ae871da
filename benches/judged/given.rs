//! A given set of questions: a folder with `repos.json` (name, language, url, revision, root of each repository) and
//! `annotations/NAME.json`, as in the benchmark of `MinishLab/semble`. The set is not part of this repository, nor are the
//! checkouts that it is about.

use std::io::Error;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::Result;
use crate::queries::{Answer, Query, Set};
use crate::repo::Repo;

/// The repositories that can be asked, and a sentence about each other one.
pub(crate) struct Checkouts {
    pub(crate) repos: Vec<Repo>,
    pub(crate) missing: Vec<String>,
}

/// Reads the repositories of a set, and verifies the revision of each checkout: `folder/NAME`.
pub(crate) fn checkouts(set: &Path, folder: &Path) -> Result<Checkouts> {
    let file = set.join("repos.json");
    let all = parse(&file)?;
    let all = all.as_array().ok_or_else(|| damaged(&file))?;
    let mut found = Checkouts { repos: Vec::new(), missing: Vec::new() };
    for of in all {
        let text = |field: &str| of[field].as_str().unwrap_or_default();
        let (name, url, revision) = (text("name"), text("url"), text("revision"));
        if name.is_empty() || revision.is_empty() {
            return Err(damaged(&file));
        }
        let checkout = folder.join(name);
        let is_at = head(&checkout);
        if is_at.as_deref() == Some(revision) {
            let root = text("benchmark_root").trim_matches('/');
            let root = if root.is_empty() { String::new() } else { format!("{root}/") };
            let language = text("language").to_owned();
            let called = url.trim_end_matches('/').trim_end_matches(".git").rsplit('/').next();
            let called = called.unwrap_or(name).to_owned();
            found.repos.push(Repo { name: name.to_owned(), called, language, root });
        } else {
            let why = is_at.map_or("is missing".to_owned(), |at| format!("is at {at}"));
            let at = checkout.display();
            found.missing.push(format!(
                "{name} {why}: git clone {url} {at}; git -C {at} checkout {revision}"
            ));
        }
    }
    Ok(found)
}

/// Returns the revision of a checkout; `None` if there is none.
fn head(checkout: &Path) -> Option<String> {
    // Without its own `.git`, git would tell the revision of a repository around it.
    checkout.join(".git").exists().then_some(())?;
    let out = Command::new("git").arg("-C").arg(checkout).args(["rev-parse", "HEAD"]).output();
    let out = out.ok().filter(|out| out.status.success())?;
    Some(String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

/// Returns the path of a target, which is a text or has one.
fn path_of(target: &Value) -> Option<&str> {
    target.as_str().or(target["path"].as_str())
}

/// Returns the questions about some repositories.
pub(crate) fn queries(set: &Path, repos: &[Repo]) -> Result<Vec<Query>> {
    let mut queries = Vec::new();
    for repo in repos {
        let file = set.join("annotations").join(format!("{}.json", repo.name));
        let all = parse(&file)?;
        for of in all.as_array().ok_or_else(|| damaged(&file))? {
            let text = |field: &str| of[field].as_str().map(str::to_owned);
            let targets = ["relevant", "secondary"].map(|field| of[field].as_array());
            let answers = targets
                .into_iter()
                .flatten()
                .flatten()
                .filter_map(path_of)
                .map(|path| Answer { grade: 1, path: path.to_owned(), repo: Some(repo.clone()) });
            let answers: Vec<Answer> = answers.collect();
            let (Some(question), Some(category)) = (text("query"), text("category")) else {
                return Err(damaged(&file));
            };
            if answers.is_empty() {
                return Err(damaged(&file));
            }
            queries.push(Query {
                class: category,
                set: Set::Given,
                text: question,
                answers,
                repo: Some(repo.clone()),
            });
        }
    }
    Ok(queries)
}

fn parse(file: &Path) -> Result<Value> {
    let text = std::fs::read(file)
        .map_err(|error| Error::other(format!("{}: {error}", file.display())))?;
    serde_json::from_slice(&text).map_err(|_| damaged(file))
}

fn damaged(file: &Path) -> Error {
    Error::other(format!("{} is not a file of such a set", file.display()))
}
