//! Chooses the branches and tags that are indexed, and makes sources of their commits.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use git::{Clone, GitRef, RefKind};
use globset::{GlobBuilder, GlobMatcher};
use query::nearest;
use store::TreeKind;

use super::{OtherTree, OtherTrees};
use crate::names::NamedRepo;
use crate::source::FileSource;
use crate::source::commit::CommitSource;
use crate::source::folder::Choice;
use crate::{Event, Progress};

/// Maximum number of branches and tags of a repository.
const MAX_REFS: usize = 10_000;

/// Reads a list of globs of names of branches and tags. `none` is no glob.
pub fn globs(list: &str) -> Vec<String> {
    let globs = list.split(',').map(str::trim).filter(|glob| !glob.is_empty() && *glob != "none");
    globs.map(str::to_owned).collect()
}

/// What a branch or tag is chosen by.
enum Rule {
    Glob(GlobMatcher),
    /// The newest branches, by the times of their commits.
    Newest(usize),
}

impl Rule {
    /// Reads a rule; `None` if it is invalid.
    fn of(glob: &str) -> Option<Self> {
        if let Some(number) = glob.strip_prefix("newest:") {
            return Some(Self::Newest(number.parse().ok()?));
        }
        // As in git, `*` means slashes, too.
        Some(Self::Glob(GlobBuilder::new(glob).build().ok()?.compile_matcher()))
    }
}

impl Rule {
    /// Returns whether it is a glob that matches no branch or tag.
    fn matches_none(&self, refs: &[GitRef]) -> bool {
        let Self::Glob(glob) = self else { return false };
        let matches = |of: &GitRef| {
            glob.is_match(&*of.short) || elsewhere(of).is_some_and(|name| glob.is_match(name))
        };
        !refs.iter().any(matches)
    }
}

/// A glob that matches no branch or tag of a repository.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unmatched<'g> {
    pub(crate) glob: &'g str,
    /// The most similar name.
    pub(crate) near: Option<String>,
}

/// The globs of `--branches` that matched no branch or tag so far. Those of a repository's configuration are told at once.
#[derive(Default)]
pub(crate) struct NoBranches {
    /// The globs that matched somewhere.
    matched: HashSet<String>,
    /// For each glob that did not match somewhere: the most similar name.
    unmatched: BTreeMap<String, Option<String>>,
}

impl NoBranches {
    /// Notes the globs of `--branches` and those that did not match in a repository.
    pub(crate) fn note(&mut self, globs: &[String], unmatched: Vec<Unmatched<'_>>) {
        let is_unmatched = |glob: &String| unmatched.iter().any(|of| of.glob == *glob);
        self.matched.extend(globs.iter().filter(|glob| !is_unmatched(glob)).cloned());
        for Unmatched { glob, near } in unmatched {
            let known = self.unmatched.entry(glob.to_owned()).or_default();
            *known = known.take().or(near);
        }
    }

    /// Tells which globs matched in no repository.
    pub(crate) fn tell(self, progress: &dyn Progress) {
        for (glob, near) in self.unmatched {
            if !self.matched.contains(&glob) {
                progress(Event::Notice(sentence("--branches", &glob, near.as_deref(), "")));
            }
        }
    }
}

/// Tells which globs of a repository's configuration matched none of its branches and tags.
pub(crate) fn tell_unmatched(repo: &str, unmatched: Vec<Unmatched<'_>>, progress: &dyn Progress) {
    for Unmatched { glob, near } in unmatched {
        let of = format!(" of {repo}");
        progress(Event::Notice(sentence("codesearch.branches", glob, near.as_deref(), &of)));
    }
}

fn sentence(option: &str, glob: &str, near: Option<&str>, of: &str) -> String {
    let near = match near {
        Some(near) => format!("did you mean {near}?"),
        None => "git branch --all and git tag list them".to_owned(),
    };
    format!("{option} {glob} matches no branch or tag{of}; {near}")
}

/// A chosen branch or tag.
#[derive(Debug, PartialEq, Eq)]
struct Chosen<'r> {
    kind: TreeKind,
    name: &'r str,
    commit: git::Oid,
}

/// Adds the branches and tags of a repository that match globs. If `keeps` is set, what the index has of a commit holds;
/// if `is_part` is set, too, only what differs between two commits is listed.
/// Returns the globs that match none of them, each with a name that was probably meant; `None` if they cannot be read.
pub(crate) fn add<'g>(
    trees: &mut OtherTrees,
    repo: &NamedRepo,
    globs: &'g [String],
    choice: &Choice,
    (keeps, is_part): (bool, bool),
    progress: &dyn Progress,
) -> Option<Vec<Unmatched<'g>>> {
    let is_ref = |tree: &&store::Tree| tree.kind != TreeKind::Worktree;
    if globs.is_empty() || (repo.data.is_none() && repo.unread.is_empty()) {
        let unmatched = globs.iter().map(|glob| Unmatched { glob, near: None });
        return Some(unmatched.collect());
    }
    let (mut rules, mut texts, mut invalid) = (Vec::new(), Vec::new(), Vec::new());
    for glob in globs {
        match Rule::of(glob) {
            Some(rule) => {
                rules.push(rule);
                texts.push(glob);
            }
            None => invalid.push(glob),
        }
    }
    for glob in invalid {
        progress(Event::Notice(format!(
            "invalid in --branches or codesearch.branches of {}: {glob}; use names or globs such as release/*, or newest:N",
            repo.name
        )));
    }
    let refs = Clone::open(&repo.folder, &repo.git_folders).and_then(|clone| clone.refs());
    let refs = match refs {
        Ok(refs) => refs,
        Err(error) => {
            progress(Event::Notice(format!("not updated: the branches of {}: {error}", repo.name)));
            let kept: Vec<OtherTree> =
                trees.known.iter().filter(is_ref).map(OtherTree::kept).collect();
            trees.now.extend(kept);
            return None;
        }
    };
    let mut chosen = choose(&refs, &rules);
    let unmatched = rules.iter().zip(texts).filter(|(rule, _)| rule.matches_none(&refs));
    let names = || refs.iter().map(|of| &*of.short);
    let unmatched = unmatched
        .map(|(_, glob)| Unmatched { glob, near: nearest(glob, names()).map(str::to_owned) })
        .collect();
    if chosen.len() > MAX_REFS {
        progress(Event::Notice(format!(
            "not indexed: {} of the branches and tags of {}; choose fewer than {MAX_REFS} with --branches",
            chosen.len() - MAX_REFS,
            repo.name
        )));
        chosen.truncate(MAX_REFS);
    }
    for Chosen { kind, name, commit } in chosen {
        let commit = commit.to_string();
        let known = trees.known.iter().find(|tree| (tree.kind, &*tree.name) == (kind, name));
        let before = known.and_then(|tree| tree.commit.as_ref());
        let is_unchanged = before == Some(&commit);
        let source = || CommitSource::new(&repo.folder, Some(&commit), choice.clone());
        let part = before.filter(|_| is_part && !is_unchanged);
        let part = part.map(|before| Arc::new(source().since(before)) as Arc<dyn FileSource>);
        trees.now.push(OtherTree {
            kind,
            name: name.to_owned(),
            source: None,
            files: Some(Arc::new(source())),
            part,
            commit: Some(commit),
            unread: Vec::new(),
            is_unchanged: is_unchanged && keeps,
        });
    }
    Some(unmatched)
}

/// Returns the name of a fetched branch (`origin/x`) without that of the other clone.
fn elsewhere(of: &GitRef) -> Option<&str> {
    let rest = of.short.split_once('/').map(|(_, name)| name);
    rest.filter(|_| of.kind == RefKind::Remote)
}

/// Returns the branches and tags that a rule chooses. A branch that was fetched (`origin/x`) counts as `x`, too, unless
/// the clone has a branch of that name. `refs` are ordered by time, the newest first.
fn choose<'r>(refs: &'r [GitRef], rules: &[Rule]) -> Vec<Chosen<'r>> {
    let own = refs.iter().filter(|of| of.kind == RefKind::Branch);
    let own: HashSet<&str> = own.map(|of| &*of.short).collect();
    let (mut seen, mut branches) = (HashSet::new(), 0);
    let mut chosen = Vec::new();
    for of in refs {
        let name = &*of.short;
        let (kind, other) = match of.kind {
            RefKind::Branch => (TreeKind::Branch, None),
            RefKind::Tag => (TreeKind::Tag, None),
            RefKind::Remote if own.contains(name) => continue,
            RefKind::Remote => match elsewhere(of) {
                Some(other) if own.contains(other) => continue,
                other => (TreeKind::Branch, other),
            },
        };
        let number = branches;
        branches += usize::from(kind == TreeKind::Branch);
        let is_chosen = rules.iter().any(|rule| match rule {
            Rule::Glob(glob) => {
                glob.is_match(name) || other.is_some_and(|name| glob.is_match(name))
            }
            Rule::Newest(most) => kind == TreeKind::Branch && number < *most,
        });
        // A name that is not UTF-8 may be that of another one, when it is read.
        if is_chosen && seen.insert((kind, name)) {
            chosen.push(Chosen { kind, name, commit: of.commit });
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_and_tags_are_chosen_by_names_globs_and_time() {
        let names = [
            "heads/main",
            "remotes/origin/topic",
            "tags/v1.2",
            "remotes/origin/main",
            "heads/release/1.x",
            "remotes/upstream/release/2.x",
            "tags/v1.1",
            "heads/old",
        ];
        let refs = names.map(|name| {
            let (folder, short) = name.split_once('/').unwrap();
            let kind = match folder {
                "heads" => RefKind::Branch,
                "tags" => RefKind::Tag,
                _ => RefKind::Remote,
            };
            let commit = git::Oid::from_hex(&[b'0'; 40]).unwrap();
            GitRef { name: format!("refs/{name}"), kind, short: short.to_owned(), commit, time: 0 }
        });
        let chosen = |list: &str| {
            let rules: Vec<Rule> = globs(list).iter().map(|glob| Rule::of(glob).unwrap()).collect();
            let chosen = choose(&refs, &rules);
            chosen
                .iter()
                .map(|of| format!("{}:{}", of.kind.word(), of.name))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(chosen("none"), "");
        assert_eq!(chosen("release/*"), "branch:release/1.x branch:upstream/release/2.x");
        assert_eq!(chosen("v1.*, main"), "branch:main tag:v1.2 tag:v1.1");
        assert_eq!(chosen("origin/*"), "branch:origin/topic");
        assert_eq!(chosen("newest:2,old"), "branch:main branch:origin/topic branch:old");
        assert_eq!(chosen("newest:0"), "");
        assert!(Rule::of("newest:x").is_none() && Rule::of("[").is_none());
    }
}
