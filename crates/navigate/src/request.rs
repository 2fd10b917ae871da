//! What is asked of a name, and the search for it: near the place from which is asked, and everywhere.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use query::{Case, Count, Field, Pattern, Query, Tree};
use tokio::sync::mpsc;

use super::family;
use super::near::Origin;
use super::near::origin;
use super::place::{Error, Place};
use answer::FileMatch;
use search::View;
use search::{Request, Stats, Stopped};

/// Longest name, in bytes.
const MAX_NAME: usize = 512;

/// Files that are looked at, of the repository from which is asked and of all. The nearest of them are given.
const POOL: usize = 500;

/// Batches of files that a search may be ahead.
const AHEAD: usize = 2;

/// What is asked of a name.
#[derive(Clone, Debug)]
pub struct NameRequest {
    /// The name, perhaps with its containers: `Foo.bar`, `Foo::bar`. If it is empty, the name that stands at the line and
    /// column of the place.
    pub name: String,
    /// The place from which is asked.
    pub from: Option<Place>,
    /// A pattern for the names of repositories.
    pub repo: Option<String>,
    /// A language; by default that of the place and those whose names mean the same.
    pub language: Option<String>,
    /// Most definitions, or most files with references.
    pub limit: usize,
    /// How long the search may take.
    pub timeout: Duration,
}

/// A name in its parts, the last of which is what is looked for.
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
        // What has nothing before or behind it is a part of a name.
        if cut.iter().all(|part| !part.trim().is_empty()) {
            parts = cut;
        }
    }
    Ok(parts)
}

/// What files must be beside having the name, and where it is looked for first.
pub(super) struct NameScope {
    trees: Vec<Tree>,
    pub(super) origin: Option<Origin>,
}

impl NameScope {
    /// Returns the name that is asked for: as given, or as it stands at the place.
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

/// Reads the place from which is asked, and what else narrows the search.
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
    Ok(NameScope { trees, origin })
}

/// Returns the files for which a condition holds: first of the repository from which is asked, then of all; each
/// once.
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
    if let (Some(origin), Some(Stopped::Limit)) = (&scope.origin, &stats.stopped) {
        let name = format!("^{}$", query::escape(&origin.place.repo));
        all.push(Tree::term(Field::Repo, Pattern::parse(&name, Case::Sensitive, false)?));
        let (near, beside) = found(view, Query::from_tree(Tree::all(all)), timeout).await?;
        let known: HashSet<(String, String)> =
            files.iter().map(|file| (file.repo.clone(), file.path.clone())).collect();
        let is_new = |file: &FileMatch| !known.contains(&(file.repo.clone(), file.path.clone()));
        files.extend(near.into_iter().filter(is_new));
        stats.duration += beside.duration;
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
