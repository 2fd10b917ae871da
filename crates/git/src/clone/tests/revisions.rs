//! Revisions, and what is said of those that name nothing.

use super::*;

#[test]
fn revisions_are_those_of_git() {
    for options in [&[][..], &["--object-format=sha256"]] {
        let repo = Repo::new(options);
        for number in 0..3 {
            repo.write("a", format!("{number}\n"));
            repo.commit(&format!("number {number}"));
        }
        for side in ["side", "other"] {
            repo.git(&["checkout", "-q", "-b", side, "main~1"]);
            repo.write(side, "b\n");
            repo.commit(side);
        }
        repo.git(&["checkout", "-q", "main"]);
        repo.git(&["merge", "-q", "--no-ff", "-m", "merge", "side", "other"]);
        repo.git(&["tag", "light"]);
        repo.git(&["tag", "-a", "-m", "heavy", "heavy", "HEAD~1"]);
        repo.git(&["tag", "-a", "-m", "heavier", "heavier", "heavy"]);
        // Names that are also others.
        repo.git(&["branch", "both", "main~1"]);
        repo.git(&["tag", "both", "main~2"]);
        repo.git(&["branch", "cafe", "main~1"]);
        repo.git(&["update-ref", "refs/heads/HEAD", "main~1"]);
        let full = repo.git(&["rev-parse", "HEAD"]);
        repo.git(&["update-ref", &format!("refs/heads/{full}"), "main~1"]);
        let short = repo.git(&["rev-parse", "--short=4", "HEAD"]);
        let clone = repo.open();
        for revision in [
            "HEAD",
            "@",
            "main",
            "side",
            "light",
            "heavy",
            "heavy^{}",
            "heavier~1",
            "main^2",
            "main^2~1",
            "main^3",
            "main~2",
            "refs/heads/side",
            "heads/side",
            "tags/heavy",
            "HEAD^0",
            "@~",
            "@^^",
            &short,
            "both",
            "cafe",
            "heads/both",
            "heavy^{commit}",
            "HEAD~0",
            "light-0-gSHORT",
            &full,
            &full.to_uppercase(),
            "heavier^{}^{}~1^1",
            "main~1^1",
            "@^^{}",
        ] {
            let revision = revision.replace("SHORT", &short);
            let expected = repo.git(&["rev-parse", &format!("{revision}^{{commit}}")]);
            assert_eq!(clone.resolve(&revision).unwrap().to_string(), expected, "{revision}");
        }
        assert_eq!(clone.head_branch().as_deref(), Some("main"));
    }
}

#[test]
fn what_names_no_commit_is_told() {
    let repo = Repo::new(&[]);
    repo.write("a", "a\n");
    repo.commit("first");
    repo.commit("second");
    repo.git(&["branch", "release-1"]);
    repo.git(&["branch", "release-2"]);
    let blob = repo.git(&["rev-parse", "HEAD:a"]);
    let first = repo.git(&["rev-parse", "HEAD~1"]);
    repo.git(&["tag", "of-a-file", &blob]);
    repo.git(&["tag", "of-a-folder", "HEAD^{tree}"]);
    let clone = repo.open();
    let unknown = "0123456789abcdef0123456789abcdef01234567";
    for (revision, expected) in [
        ("mian", "unknown revision mian; did you mean main?".to_owned()),
        (
            "release-3",
            "unknown revision release-3; did you mean release-1 or release-2?".to_owned(),
        ),
        (
            "nothing",
            "unknown revision nothing; use a branch, a tag or a commit of the repository"
                .to_owned(),
        ),
        (
            unknown,
            format!(
                "unknown revision {unknown}; use a branch, a tag or a commit of the repository"
            ),
        ),
        (
            "HEAD~2",
            format!("HEAD~2 goes back too far: {first} has no such parent; use a smaller number"),
        ),
        (
            "main^2",
            format!(
                "main^2 goes back too far: {} has no such parent; use a smaller number",
                repo.git(&["rev-parse", "main"])
            ),
        ),
        (
            "of-a-file",
            "of-a-file is not a commit but a blob; use a branch, a tag or a commit".to_owned(),
        ),
        (
            "of-a-folder~1",
            "of-a-folder~1 is not a commit but a tree; use a branch, a tag or a commit".to_owned(),
        ),
        (&blob, format!("{blob} is not a commit but a blob; use a branch, a tag or a commit")),
        (
            "012",
            "unknown revision 012; use a branch, a tag or a commit of the repository".to_owned(),
        ),
    ] {
        assert_eq!(clone.resolve(revision).unwrap_err().to_string(), expected);
    }
    let long = "x".repeat(1001);
    for invalid in [
        "",
        ":/second",
        "HEAD:a",
        ":a",
        "main@{1}",
        "@{-1}",
        "@{u}",
        "main@{upstream}",
        "HEAD^{/second}",
        "HEAD^{tree}",
        "HEAD^@",
        "HEAD^!",
        "HEAD^-1",
        "^main",
        "~1",
        "main..release-1",
        "main...release-1",
        "-1",
        "--all",
        "a b",
        "a\0b",
        "a\nb",
        "main\n",
        "main~é",
        "main^x",
        "main~1x",
        "main~99999999999999999999",
        "main~1000001",
        "main~600000~600000",
        "../../etc/passwd",
        "a\\b",
        "ma*n",
        "main?",
        "[m]ain",
        "a\u{1b}[31m",
        &long,
    ] {
        let told = clone.resolve(invalid).unwrap_err();
        assert!(matches!(told, RevisionError::Invalid { .. }), "{invalid:?}: {told}");
        assert!(told.to_string().len() < 250 && !told.to_string().contains(char::is_control));
    }
    for file in [
        "config",
        "shallow",
        "objects",
        "packed-refs",
        "refs",
        "heads",
        "FETCH_HEAD",
        "index",
        "/",
        "a/",
        ".",
    ] {
        let told = clone.resolve(file).unwrap_err();
        assert!(matches!(told, RevisionError::Unknown { .. }), "{file}: {told}");
    }
    // The message for `:path` names it as it was typed.
    let said = clone.resolve("HEAD:a").unwrap_err().to_string();
    assert_eq!(
        said,
        "invalid revision \"HEAD:a\"; use a branch, a tag or a commit, or one of them with ~N or ^N"
    );
}

#[test]
fn short_hashes_may_be_ambiguous() {
    let repo = Repo::new(&[]);
    let mut input = String::new();
    for number in 0..2000 {
        input.push_str(&format!(
            "commit refs/heads/main\ncommitter a <a> {number} +0000\ndata 1\nx\n"
        ));
        input.push_str("M 644 inline a\n");
        let text = number.to_string();
        input.push_str(&format!("data {}\n{text}\n", text.len()));
    }
    repo.feed(&["fast-import", "--quiet"], input.as_bytes());
    let clone = repo.open();
    let all = repo.git(&["rev-list", "main"]);
    let mut all: Vec<&str> = all.lines().collect();
    all.sort_unstable();
    let mut seen = (0, 0);
    for pair in all.windows(2) {
        let short = &pair[0][..4];
        let expected = repo.tries(&["rev-parse", "--verify", "-q", &format!("{short}^{{commit}}")]);
        if pair[1].starts_with(short) {
            let told = clone.resolve(short).unwrap_err();
            let RevisionError::Ambiguous { candidates, .. } = &told else { panic!("{told}") };
            assert!(candidates.iter().any(|hash| hash == pair[0]), "{told}");
            assert!(candidates.iter().all(|hash| all.contains(&&**hash)), "only commits: {told}");
            assert!(!expected);
            seen.0 += 1;
        }
        assert_eq!(clone.resolve(&pair[0][..8]).unwrap().to_string(), pair[0]);
        seen.1 += 1;
        if seen.0 > 5 {
            break;
        }
    }
    assert!(seen.0 > 0);
}
