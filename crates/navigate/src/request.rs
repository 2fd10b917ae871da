//! A request for a name, and the search for it: everywhere, and in the repository of the request's place.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use query::{Case, Count, Field, Pattern, Query, Tree};
use tokio::sync::mpsc;

use super::family;
use super::near::{Near, Origin, origin};
use super::place::{Error, Place};
use answer::FileMatch;
use search::View;
use search::{Request, Stats, Stopped};

/// Longest name, in bytes.
const MAX_NAME: usize = 512;

/// Most files found everywhere, and in the repository of the request's place. The nearest are returned.
const POOL: usize = 500;

/// Batches of files that a search may be ahead of its reader.
const AHEAD: usize = 2;

/// A request for a name.
#[derive(Clone, Debug)]
pub struct NameRequest {
    /// The name, perhaps with its containers: `Foo.bar`, `Foo::bar`. If empty, the name at the line and column of the
    /// place.
    pub name: String,
    /// The place where the user sees the name.
    pub from: Option<Place>,
    /// The repository where the user is. If there is no place, it is the nearest one.
    pub here: Option<String>,
    /// A pattern for the names of repositories.
    pub repo: Option<String>,
    /// A language; by default those that share names with the place's language.
    pub language: Option<String>,
    /// Most definitions, or most files with references.
    pub limit: usize,
    /// Timeout of the search.
    pub timeout: Duration,
}

/// Splits a name into its containers and the name itself.
pub(super) fn parts(name: &str) -> Result<Vec<&str>, Error> {
    let name = name.trim();
    if name.is_empty() {
        return Err(Error::Invalid(
            "the name is missing; give one, such as Foo or Foo.bar".to_owned(),
        ));
    }
    if name.len() > MAX_NAME || name.contains(['\n', '\0']) {
        return Err(Error::Invalid(format!("a name must be one line of at most {MAX_NAME} bytes")));
    }
    let mut parts = vec![name];
    for between in ["::", ".", "#", "->", "\\"] {
        let cut = |part| str::split(part, between);
        let cut: Vec<&str> = parts.iter().copied().flat_map(cut).collect();
        // An operator with nothing before or after it is part of a name.
        if cut.iter().all(|part| !part.trim().is_empty()) {
            parts = cut;
        }
    }
    Ok(parts)
}

/// The restrictions on files, and the request's place.
pub(super) struct NameScope {
    trees: Vec<Tree>,
    pub(super) origin: Option<Origin>,
    here: Option<String>,
}

impl NameScope {
    /// Returns how near a file is.
    pub(super) fn near(&self, repo: &str, path: &str) -> Near {
        match (&self.origin, &self.here) {
            (Some(origin), _) => origin.near(repo, path),
            (None, Some(here)) if here == repo => Near::Repository,
            (None, _) => Near::Elsewhere,
        }
    }

    /// Returns the nearest repository, if one is known.
    fn repo(&self) -> Option<&str> {
        let origin = self.origin.as_ref().map(|origin| &origin.place.repo);
        origin.or(self.here.as_ref()).map(String::as_str)
    }

    /// Returns the requested name: the given one, or the one at the place.
    pub(super) fn name(&self, request: &NameRequest) -> Result<String, Error> {
        let given = request.name.trim();
        if !given.is_empty() {
            return Ok(given.to_owned());
        }
        let name = self.origin.as_ref().and_then(Origin::name);
        name.map(str::to_owned).ok_or_else(|| {
            Error::Invalid(
                "there is no name at that line and column; give one, such as Foo".to_owned(),
            )
        })
    }
}

/// Reads the request's place and restrictions.
pub(super) async fn scope(view: &View, request: &NameRequest) -> Result<NameScope, Error> {
    if !request.name.trim().is_empty() {
        parts(&request.name)?;
    } else if request.from.as_ref().is_none_or(|place| place.column.is_none()) {
        let why = "the name is missing; give one, such as Foo or Foo.bar, or a place with line and column";
        return Err(Error::Invalid(why.to_owned()));
    }
    let origin = match &request.from {
        Some(place) => Some(origin(view, place).await?),
        None => None,
    };
    let mut trees = Vec::new();
    if let Some(repo) = request.repo.as_deref().filter(|repo| !repo.is_empty()) {
        trees.push(Tree::term(Field::Repo, Pattern::of_repository(repo, Case::Smart)?));
    }
    let languages: Vec<String> = match (&request.language, &origin) {
        (Some(language), _) => {
            query::check_language(language).map_err(Error::Invalid)?;
            vec![language.clone()]
        }
        (None, Some(origin)) => {
            let of = origin.language.as_deref();
            of.map_or(Vec::new(), |of| family::of(of).into_iter().map(str::to_owned).collect())
        }
        (None, None) => Vec::new(),
    };
    if !languages.is_empty() {
        trees.push(Tree::any(languages.into_iter().map(Tree::Language).collect()));
    }
    Ok(NameScope { trees, origin, here: request.here.clone() })
}

/// Returns files that match a condition, each once: up to [`POOL`], and if there are more, as many from the place's
/// repository.
pub(super) async fn near_and_far(
    view: &View,
    name: Tree,
    scope: &NameScope,
    timeout: Duration,
) -> Result<(Vec<FileMatch>, Stats), Error> {
    let mut all = vec![name];
    all.extend(scope.trees.iter().cloned());
    let everywhere = Query::from_tree(Tree::all(all.clone()));
    let (mut files, mut stats) = found(view, everywhere, timeout).await?;
    let is_cut = matches!(stats.stopped, Some(Stopped::Limit | Stopped::Shards(_)));
    if let Some(repo) = scope.repo().filter(|_| is_cut) {
        let name = format!("^{}$", query::escape(repo));
        all.push(Tree::term(Field::Repo, Pattern::parse(&name, Case::Sensitive, false)?));
        let (near, beside) = found(view, Query::from_tree(Tree::all(all)), timeout).await?;
        let known: HashSet<(String, String)> =
            files.iter().map(|file| (file.repo.clone(), file.path.clone())).collect();
        let is_new = |file: &FileMatch| !known.contains(&(file.repo.clone(), file.path.clone()));
        files.extend(near.into_iter().filter(is_new));
        stats.duration += beside.duration;
        stats.missing.join(beside.missing);
    }
    Ok((files, stats))
}

async fn found(
    view: &View,
    mut query: Query,
    timeout: Duration,
) -> Result<(Vec<FileMatch>, Stats), Error> {
    query.settings.count = Some(Count::Most(POOL));
    query.settings.timeout = Some(timeout);
    let request = Arc::new(Request::new(&query)?);
    let (send, mut found) = mpsc::channel(AHEAD);
    let all = async {
        let mut all = Vec::new();
        while let Some(some) = found.recv().await {
            all.extend(some);
        }
        all
    };
    let (stats, files) = tokio::join!(view.search(&request, send), all);
    Ok((files, stats?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_parts() {
        for (name, expected) in [
            ("foo", vec!["foo"]),
            (" Foo.bar ", vec!["Foo", "bar"]),
            ("a::B.c#d", vec!["a", "B", "c", "d"]),
            ("x->y", vec!["x", "y"]),
            (r"App\Models\User", vec!["App", "Models", "User"]),
            (".hidden", vec![".hidden"]),
            ("Foo::", vec!["Foo::"]),
            ("operator==", vec!["operator=="]),
        ] {
            assert_eq!(parts(name).unwrap(), expected, "{name}");
        }
        assert!(parts(" ").is_err() && parts(&"x".repeat(600)).is_err() && parts("a\nb").is_err());
    }
}
