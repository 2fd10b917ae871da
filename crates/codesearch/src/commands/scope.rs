//! The part of the index that a search is about, as the current folder and the paths after the query tell.
//!
//! A word after the first is a path if it looks like one (`.`, `..`, or with a slash), exists, and lies in an indexed
//! repository or has some below it. Without a slash it is a word of the query.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use query::{Changes, Field, Query, QueryError, Tree, TreeField};
use request::shell;
use request::{Below, Here};
use store::InTree;

use crate::cli::{self, SearchArgs};
use crate::console::Console;

/// The part of the index that a search is about.
pub(super) struct Scope {
    /// The arguments without the paths.
    pub(super) args: SearchArgs,
    /// The condition that `--here` and the paths make.
    only: Option<Tree>,
    /// The trees to which the paths belong, of each repository; none for the main one.
    pub(super) trees: BTreeMap<String, Vec<InTree>>,
    /// The repository whose results come first: that of the current folder.
    first: Option<String>,
    is_of_folders: bool,
}

impl Scope {
    /// Finds it out.
    ///
    /// # Errors
    /// `--here` was typed outside of all repositories, or a path is too long.
    pub(super) fn of(console: &Console, args: &SearchArgs, here: &Here) -> Result<Self> {
        let mut args = args.clone();
        let (mut words, mut only, mut trees) = (Vec::new(), Vec::new(), BTreeMap::new());
        let first = first_path(&args);
        for (at, word) in std::mem::take(&mut args.query).into_iter().enumerate() {
            let is_path = at >= first && looks_like_path(&word) && console.exists(&word);
            match is_path.then(|| here.below(&word)).transpose()?.flatten() {
                Some(below) => {
                    add_trees(&mut trees, below.trees)?;
                    only.push(below.condition);
                }
                None if at >= first && is_only_a_path(&word) => bail!(
                    "{word} is in no indexed repository, and has none below it; to index it, run: codesearch ingest {}; \
                     to search for the text, write -e {}",
                    shell::word(&word),
                    shell::quoted(&word)
                ),
                None => words.push(word),
            }
        }
        let is_of_folders = !only.is_empty() || args.filters.here;
        args.query = words;
        let mut parts: Vec<Tree> = Vec::new();
        if !only.is_empty() {
            parts.push(Tree::any(only));
        }
        if args.filters.here
            && let Some(around) = around(console, here)?
        {
            add_trees(&mut trees, around.trees)?;
            parts.push(around.condition);
        }
        let only = (!parts.is_empty()).then(|| Tree::all(parts));
        let first = here.inside().map(|inside| inside.repo.clone());
        Ok(Self { args, only, trees, first, is_of_folders })
    }

    /// Returns whether the search was restricted to folders.
    pub(super) fn is_of_folders(&self) -> bool {
        self.is_of_folders
    }

    /// Returns the searches that a query means, the results of the current folder's repository first if `grouped`.
    ///
    /// # Errors
    /// The name of a repository is too long for a pattern.
    pub(super) fn queries(
        &self,
        here: &Here,
        query: Query,
        grouped: bool,
    ) -> Result<Vec<Query>, QueryError> {
        let query = match &self.only {
            Some(only) => query.and(only.clone()),
            None => query,
        };
        // Revisions are those of a repository: in its folder, they are not sought elsewhere unless repo: asks for it.
        let names_repos = || {
            let of_repo = |term: &&query::Term| term.field == Field::Repo;
            !self.args.filters.repo.is_empty() || query.terms().iter().any(of_repo)
        };
        let is_of_revisions =
            matches!(query.changes, Some(Changes::Between(_))) || names_revision(&query.tree);
        if let Some(first) = &self.first
            && is_of_revisions
            && !names_repos()
        {
            return Ok(vec![query.and(here.of_repo(first)?)]);
        }
        // Whether a name means no tree is known only of all repositories.
        match self.first.as_deref().filter(|_| grouped && !names_trees(&query.tree)) {
            Some(first) => {
                let first = here.of_repo(first)?;
                Ok(vec![query.clone().and(first.clone()), query.and(!first)])
            }
            None => Ok(vec![query]),
        }
    }
}

/// Returns whether a query has a `rev:` that is not negated.
fn names_revision(tree: &Tree) -> bool {
    match tree {
        Tree::All(parts) | Tree::Any(parts) => parts.iter().any(names_revision),
        Tree::InTree(term) => term.field == TreeField::Revision,
        Tree::Not(_) | Tree::Term(_) | Tree::Language(_) | Tree::Property(_) => false,
    }
}

/// Returns whether a query names trees.
fn names_trees(tree: &Tree) -> bool {
    match tree {
        Tree::All(parts) | Tree::Any(parts) => parts.iter().any(names_trees),
        Tree::Not(inner) => names_trees(inner),
        Tree::InTree(_) => true,
        Tree::Term(_) | Tree::Language(_) | Tree::Property(_) => false,
    }
}

/// Adds the trees of a path to those of other paths.
///
/// # Errors
/// Two paths lie in different trees of one repository: one search covers one of them.
fn add_trees(
    all: &mut BTreeMap<String, Vec<InTree>>,
    trees: BTreeMap<String, Vec<InTree>>,
) -> Result<()> {
    for (repo, trees) in trees {
        match all.get(&repo) {
            Some(known) if *known != trees => bail!(
                "the paths are in different trees of {repo}; search one after the other, or all with worktree:*"
            ),
            _ => drop(all.insert(repo, trees)),
        }
    }
    Ok(())
}

/// Returns whether words of the query may be paths. Whether they are, the index knows.
pub(super) fn may_have_paths(console: &Console, args: &SearchArgs) -> bool {
    let words = args.query.iter().skip(first_path(args));
    words
        .into_iter()
        .any(|word| is_only_a_path(word) || looks_like_path(word) && console.exists(word))
}

/// Says how words were read that may be meant otherwise.
pub(super) fn tell_readings(console: &Console, typed: &SearchArgs, read: &SearchArgs, here: &Here) {
    for word in typed.query.iter().skip(first_path(typed)) {
        let quoted = shell::word(word);
        if !read.query.contains(word) {
            // Whoever begins with a dot or ends with a slash means a path.
            if !word.starts_with(['.', '/']) && !word.ends_with('/') {
                note!(to console,
                    "codesearch: {word} exists, so the search is restricted to it; to search for the text, write -e {quoted}"
                );
            }
        } else if looks_like_path(word) && console.exists(word) {
            note!(to console,
                "codesearch: {word} is a term of the query, since it is in no indexed repository; to index it, run: codesearch \
                 ingest {quoted}"
            );
        } else if console.exists(word) && here.locate(word).is_some() {
            note!(to console,
                "codesearch: {word} is a term of the query; to search only this path, write {}",
                shell::word(&format!("./{word}"))
            );
        }
    }
}

/// Returns the index of the first word that may be a path. Without a pattern beside it, the first word is the query.
fn first_path(args: &SearchArgs) -> usize {
    let has_pattern = !args.patterns.regexp.is_empty() || !args.patterns.pattern_file.is_empty();
    usize::from(!has_pattern && !args.how.files)
}

/// Returns whether a word of the command line is a path.
pub(super) fn is_path(console: &Console, word: &str) -> bool {
    looks_like_path(word) && console.exists(word)
}

fn looks_like_path(word: &str) -> bool {
    word == "." || word == ".." || word.contains('/')
}

/// Returns whether nobody means a word as a regular expression: `.`, which would match everything.
fn is_only_a_path(word: &str) -> bool {
    matches!(word, "." | ".." | "./" | "../")
}

/// Returns the condition of `--here`; `None` if it comes from the configuration file and does not apply.
fn around(console: &Console, here: &Here) -> Result<Option<Below>> {
    if let Some(around) = here.around()? {
        return Ok(Some(around));
    }
    let is_typed = cli::typed_options(&console.line).iter().any(|option| option.flag == "--here");
    match console.folder.as_deref().filter(|_| is_typed) {
        Some(folder) => bail!(
            "--here: {} is in no indexed repository, and has none below it; to index it, run: codesearch ingest .",
            folder.display()
        ),
        None if is_typed => bail!("--here: the current folder is not known"),
        None => Ok(None),
    }
}
