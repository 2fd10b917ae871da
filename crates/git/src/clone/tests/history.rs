//! Walks through commits.

use super::*;

/// Compares a walk with git's.
fn is_as_git(repo: &Repo, tips: &[&str], hidden: &[&str]) {
    let clone = repo.open();
    let resolve =
        |names: &[&str]| names.iter().map(|name| clone.resolve(name).unwrap()).collect::<Vec<_>>();
    let found: Vec<String> = clone
        .commits(&resolve(tips), &resolve(hidden))
        .map(|commit| commit.unwrap().id.to_string())
        .collect();
    let mut args: Vec<String> = vec!["rev-list".to_owned()];
    args.extend(tips.iter().map(ToString::to_string));
    args.extend(hidden.iter().map(|name| format!("^{name}")));
    let expected = repo.git(&args);
    assert_eq!(found, expected.lines().collect::<Vec<_>>(), "{tips:?} {hidden:?}");
}

#[test]
fn commits_are_those_of_git() {
    let repo = Repo::new(&[]);
    for number in 0..4 {
        repo.write("a", format!("{number}\n"));
        repo.commit(&format!("number {number}"));
    }
    repo.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    repo.write("b", "b\n");
    repo.commit("side");
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    is_as_git(&repo, &["main"], &[]);
    is_as_git(&repo, &["main", "side"], &[]);
    is_as_git(&repo, &["main"], &["side"]);
    is_as_git(&repo, &["side"], &["main~1"]);
    is_as_git(&repo, &["side"], &["main"]);
    let clone = repo.open();
    let base = clone.merge_base(clone.resolve("main~1").unwrap(), clone.resolve("side").unwrap());
    assert_eq!(base.unwrap().unwrap().to_string(), repo.git(&["merge-base", "main~1", "side"]));
}
