//! Branches and tags.

use super::*;

/// Returns the names that git lists, with their commits and times, the newest first.
fn listed(repo: &Repo) -> Vec<(String, String, i64)> {
    let folders = ["refs/heads", "refs/tags", "refs/remotes"];
    let format = "--format=%(refname) %(symref)";
    let text = repo.git(&[&["for-each-ref", format][..], &folders].concat());
    let mut all = Vec::new();
    for line in text.lines() {
        let (name, symbolic) = line.split_once(' ').unwrap_or((line, ""));
        let commit = format!("{name}^{{commit}}");
        let is_alias = name.ends_with("/HEAD") && !symbolic.is_empty();
        if !is_alias && repo.tries(&["rev-parse", "--verify", "-q", &commit]) {
            let time = repo.git(&["log", "-1", "--format=%ct", &commit]);
            let commit = repo.git(&["rev-parse", &commit]);
            all.push((name.to_owned(), commit, time.parse::<i64>().unwrap()));
        }
    }
    all.sort_by(|a, b| (-a.2, &a.0).cmp(&(-b.2, &b.0)));
    all
}

fn found(repo: &Repo) -> Vec<(String, String, i64)> {
    let all = repo.open().refs().unwrap();
    all.into_iter().map(|found| (found.name, found.commit.to_string(), found.time)).collect()
}

#[test]
fn refs_are_those_of_git() {
    for options in [&[][..], &["--object-format=sha256"]] {
        let repo = Repo::new(options);
        repo.write("a", "a\n");
        repo.commit("first");
        for branch in ["one", "feature/two", "größe", "a.b-c_d", "{odd}", "@at", "HEAD"] {
            repo.git(&["update-ref", &format!("refs/heads/{branch}"), "HEAD"]);
            repo.commit(branch);
        }
        repo.git(&["tag", "light", "HEAD~2"]);
        repo.git(&["tag", "-a", "-m", "x", "heavy", "HEAD~3"]);
        repo.git(&["tag", "-a", "-m", "x", "heavier", "heavy"]);
        repo.git(&["tag", "of-a-tree", "HEAD^{tree}"]);
        repo.git(&["tag", "-a", "-m", "x", "of-a-file", "HEAD:a"]);
        repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
        repo.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
        repo.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/one"]);
        repo.git(&["update-ref", "refs/pull/1/head", "HEAD"]);
        repo.git(&["update-ref", "refs/stash", "HEAD"]);
        assert_eq!(found(&repo), listed(&repo));
        assert_eq!(found(&repo).len(), 13);
        let kinds =
            |kind| repo.open().refs().unwrap().iter().filter(|found| found.kind == kind).count();
        assert_eq!((kinds(RefKind::Tag), kinds(RefKind::Remote)), (3, 1));
        let clone = repo.open();
        for (revision, same) in [
            ("origin", "origin/main"),
            ("origin/HEAD", "refs/remotes/origin/main"),
            ("pull/1/head", "main"),
            ("alias", "one"),
            ("@at", "refs/heads/@at"),
            ("größe~1", "refs/heads/größe^"),
            ("HEAD", "main"),
        ] {
            assert_eq!(
                clone.resolve(revision).unwrap(),
                clone.resolve(same).unwrap(),
                "{revision}"
            );
        }
        // Files override packed refs.
        repo.git(&["pack-refs", "--all"]);
        assert_eq!(found(&repo), listed(&repo));
        repo.git(&["update-ref", "refs/heads/one", "HEAD"]);
        repo.git(&["tag", "-d", "light"]);
        assert_eq!(found(&repo), listed(&repo));
        assert_eq!(found(&repo).len(), 12);
        let head = repo.git(&["rev-parse", "HEAD"]);
        repo.git(&["checkout", "-q", "--detach"]);
        assert_eq!(repo.open().head().unwrap().unwrap().to_string(), head);
        assert_eq!(repo.open().head_branch(), None);
    }
}

#[test]
fn refs_that_lead_nowhere_are_left_out() {
    let repo = Repo::new(&[]);
    let commit = repo.commit("first");
    let git = repo.path.join(".git");
    for (name, text) in [
        ("refs/heads/nowhere", "0123456789abcdef0123456789abcdef01234567\n"),
        ("refs/heads/zero", "0000000000000000000000000000000000000000\n"),
        ("refs/heads/a", "ref: refs/heads/b\n"),
        ("refs/heads/b", "ref: refs/heads/a\n"),
        ("refs/heads/itself", "ref: refs/heads/itself\n"),
        ("refs/heads/out", "ref: ../../../../etc/passwd\n"),
        ("refs/heads/config", "ref: config\n"),
        ("refs/heads/text", "not a hash\n"),
        ("refs/heads/none", ""),
        ("refs/heads/main.lock", &commit),
        ("refs/heads/sp ace", &commit),
        ("refs/heads/-dash", &commit),
    ] {
        fs::write(git.join(name), text).unwrap();
    }
    std::os::unix::fs::symlink("/etc/passwd", git.join("refs/heads/link")).unwrap();
    std::os::unix::fs::symlink(git.join("refs/heads/main"), git.join("refs/heads/linked")).unwrap();
    std::os::unix::fs::symlink("..", git.join("refs/heads/up")).unwrap();
    nix::unistd::mkfifo(&git.join("refs/heads/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let clone = repo.open();
    let names: Vec<String> = clone.refs().unwrap().into_iter().map(|found| found.short).collect();
    assert_eq!(names, ["-dash", "main"]);
    for (name, expected) in [
        (
            "nowhere",
            "nowhere cannot be read: the clone does not have 0123456789abcdef0123456789abcdef01234567; check the \
                     clone with: git fsck",
        ),
        ("a", "unknown revision a"),
        ("itself", "unknown revision itself"),
        ("link", "unknown revision link"),
        ("config", "unknown revision config"),
    ] {
        let said = clone.resolve(name).unwrap_err().to_string();
        assert!(said.starts_with(expected), "{name}: {said}");
    }
    for head in ["ref: refs/heads/a\n", "ref: refs/heads/gone\n", "", "ref: /etc/passwd\n"] {
        fs::write(git.join("HEAD"), head).unwrap();
        assert_eq!(repo.open().head().unwrap(), None, "{head}");
    }
}

#[test]
fn ten_thousand_refs() {
    let repo = Repo::new(&[]);
    let commit = repo.commit("first");
    let mut input = String::new();
    for number in 0..10_000 {
        input.push_str(&format!("create refs/heads/topic/{number} {commit}\n"));
    }
    repo.feed(&["update-ref", "--stdin"], input.as_bytes());
    assert_eq!(repo.open().refs().unwrap().len(), 10_001);
    repo.git(&["pack-refs", "--all"]);
    let clone = repo.open();
    assert_eq!(clone.refs().unwrap().len(), 10_001);
    assert_eq!(clone.resolve("topic/9999").unwrap().to_string(), commit);
    let said = clone.resolve("topic/99999").unwrap_err().to_string();
    assert!(said.starts_with("unknown revision topic/99999; did you mean topic/9999"), "{said}");
}

#[test]
fn a_table_of_refs_is_not_supported() {
    let repo = Repo::new(&[]);
    let folder = repo.path.join("../table");
    if !repo.tries(&["init", "-q", "--ref-format=reftable", folder.to_str().unwrap()]) {
        eprintln!("left out: this git has no reftable");
        return;
    }
    let repo = repo.at(folder.canonicalize().unwrap());
    let commit = repo.commit("first");
    let clone = repo.open();
    let said = clone.refs().unwrap_err().to_string();
    assert!(said.contains("reftable, which is not supported"), "{said}");
    for revision in ["HEAD", "main"] {
        let said = clone.resolve(revision).unwrap_err().to_string();
        assert!(said.contains("git refs migrate --ref-format=files"), "{said}");
    }
    // A whole hash needs no ref.
    assert_eq!(clone.resolve(&commit).unwrap().to_string(), commit);
}
