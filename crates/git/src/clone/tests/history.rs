//! Walks through commits.

use std::collections::BTreeSet;

use super::*;

fn walk(repo: &Repo, tips: &[&str], hidden: &[&str]) -> Vec<String> {
    let clone = repo.open();
    let resolve =
        |names: &[&str]| names.iter().map(|name| clone.resolve(name).unwrap()).collect::<Vec<_>>();
    clone
        .commits(&resolve(tips), &resolve(hidden))
        .map(|commit| commit.unwrap().id.to_string())
        .collect()
}

/// Returns what git says.
fn listed(repo: &Repo, tips: &[&str], hidden: &[&str]) -> Vec<String> {
    let mut args: Vec<String> = vec!["rev-list".to_owned()];
    args.extend(tips.iter().map(ToString::to_string));
    args.extend(hidden.iter().map(|name| format!("^{name}")));
    repo.git(&args).lines().map(str::to_owned).collect()
}

fn is_as_git(repo: &Repo, tips: &[&str], hidden: &[&str]) {
    assert_eq!(walk(repo, tips, hidden), listed(repo, tips, hidden), "{tips:?} {hidden:?}");
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
    // Commits of two histories have no common ancestor.
    repo.git(&["checkout", "-q", "--orphan", "other"]);
    repo.commit("another beginning");
    let clone = repo.open();
    let (main, other) = (clone.resolve("main").unwrap(), clone.resolve("other").unwrap());
    assert_eq!(clone.merge_base(main, other).unwrap(), None);
    is_as_git(&repo, &["main"], &["other"]);
}

/// What the time of a commit is.
#[derive(Clone, Copy, PartialEq)]
enum Times {
    Different,
    Equal,
    /// Some commits are older than their parents.
    Skewed,
}

/// Makes commits with up to five parents each, and branches `b0` ... on all of them.
fn branched(times: Times, seed: u64, commits: usize) -> Repo {
    let repo = Repo::new(&[]);
    let mut dice = Dice(seed);
    let mut input = String::new();
    for number in 0..commits {
        let time = match times {
            Times::Different => 1_000_000 + number * 10,
            Times::Equal => 1_000_000 + number / 7,
            Times::Skewed => 1_000_000 + number * 10 + dice.below(60),
        };
        input.push_str(&format!("commit refs/heads/b{number}\nmark :{}\n", number + 1));
        input.push_str(&format!("author Zoë <z@x> {} +0100\n", time - 5));
        input.push_str(&format!("committer a <a> {time} +0000\ndata 6\nabc\n\nd\n"));
        let mut parents = BTreeSet::new();
        for _ in 0..[1, 1, 1, 2, 2, 5][dice.below(6)] {
            if number > 0 && dice.below(40) > 0 {
                parents.insert(number - dice.below(number.min(12)));
            }
        }
        for (at, parent) in parents.iter().rev().enumerate() {
            input.push_str(&format!("{} :{parent}\n", if at == 0 { "from" } else { "merge" }));
        }
        input.push('\n');
    }
    repo.feed(&["fast-import", "--quiet"], input.as_bytes());
    repo
}

#[test]
fn walks_through_branches_are_those_of_git() {
    for (times, seed) in [(Times::Different, 3), (Times::Equal, 5), (Times::Skewed, 7)] {
        let repo = branched(times, seed, 120);
        let mut dice = Dice(seed);
        for round in 0..20 {
            let mut names = |most: usize| -> Vec<String> {
                (0..=dice.below(most)).map(|_| format!("b{}", dice.below(120))).collect()
            };
            let (tips, hidden) = (names(3), names(2));
            let tips: Vec<&str> = tips.iter().map(String::as_str).collect();
            let hidden: Vec<&str> = hidden.iter().map(String::as_str).collect();
            for hidden in [&hidden[..], &[]] {
                let (found, git) = (walk(&repo, &tips, hidden), listed(&repo, &tips, hidden));
                let set = |all: &[String]| all.iter().cloned().collect::<BTreeSet<_>>();
                assert_eq!(found.len(), set(&found).len(), "none comes twice");
                assert_eq!(set(&found), set(&git), "{seed} {round}: {tips:?} {hidden:?}");
                if times == Times::Different {
                    assert_eq!(found, git, "{tips:?} {hidden:?}");
                }
            }
            let clone = repo.open();
            let (a, b) = (clone.resolve(tips[0]).unwrap(), clone.resolve(hidden[0]).unwrap());
            let base = clone.merge_base(a, b).unwrap().map(|base| base.to_string());
            let (a, b) = (a.to_string(), b.to_string());
            if repo.tries(&["merge-base", &a, &b]) {
                let all = repo.git(&["merge-base", "--all", &a, &b]);
                assert!(all.lines().any(|line| Some(line) == base.as_deref()), "{all} {base:?}");
            } else {
                assert_eq!(base, None);
            }
        }
    }
}

#[test]
fn a_commit_says_who_made_it_and_why() {
    let repo = branched(Times::Different, 3, 2);
    let clone = repo.open();
    let commit = clone.commits(&[clone.resolve("b1").unwrap()], &[]).next().unwrap().unwrap();
    let said = (&*commit.author, &*commit.summary, commit.time);
    assert_eq!(said, ("Zoë", "abc", 1_000_010));
    assert_eq!(commit.parents.len(), 1);
    // Commits that git made long ago, or that it would not make.
    let tree = repo.git(&["mktree", "--missing"]);
    let write = |text: Vec<u8>| {
        let args = ["hash-object", "-w", "-t", "commit", "--literally", "--stdin"];
        oid(&repo.feed(&args, &text))
    };
    let latin = b"author G\xfcnter <g> 5 +0000\ncommitter a <a> 7 +0000\nencoding latin1\n\n\n\ngr\xfcn\xdf\n";
    let latin = write([format!("tree {tree}\n").as_bytes(), latin].concat());
    let commit = clone.commits(&[latin], &[]).next().unwrap().unwrap();
    assert_eq!((&*commit.author, &*commit.summary, commit.time), ("Günter", "grünß", 7));
    let nobody = write(format!("tree {tree}\nauthor \ncommitter \n\n").into_bytes());
    if let Some(Ok(commit)) = clone.commits(&[nobody], &[]).next() {
        assert_eq!((&*commit.author, &*commit.summary, commit.time), ("", "", 0));
    }
    let long = "x".repeat(5000);
    let text =
        format!("tree {tree}\nauthor {long} <a> 1 +0000\ncommitter a <a> 1 +0000\n\n{long}\n");
    let commit = clone.commits(&[write(text.into_bytes())], &[]).next().unwrap().unwrap();
    assert_eq!((commit.author.len(), commit.summary.len()), (1000, 1000));
}

#[test]
fn a_graph_file_and_replacements_change_nothing() {
    let repo = branched(Times::Different, 11, 60);
    let before = walk(&repo, &["b59", "b50"], &["b30"]);
    repo.git(&["commit-graph", "write", "--reachable"]);
    let (one, other) = (repo.git(&["rev-parse", "b40"]), repo.git(&["rev-parse", "b3"]));
    repo.git(&["replace", &one, &other]);
    assert_eq!(walk(&repo, &["b59", "b50"], &["b30"]), before);
    assert!(repo.open().refs().unwrap().iter().all(|found| !found.name.contains("replace")));
    repo.write(".git/objects/info/commit-graph", "CGPH nothing");
    assert_eq!(walk(&repo, &["b59", "b50"], &["b30"]), before);
    assert!(repo.open().resolve(&one).is_ok());
}
