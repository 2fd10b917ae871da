//! Changes between two revisions: the lines found equal those of `git diff`, and the printed diff makes one tree the other.

mod random;
mod views;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::{Fixture, Ran};

/// A changed line: whether it was added, and its text.
type Changed = (bool, String);

/// Runs git in a clone, and returns what it prints.
#[track_caller]
fn git(fixture: &Fixture, repo: &str, args: &[&str]) -> Vec<u8> {
    let mut command = Command::new("git");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let done = command.args(args).current_dir(fixture.path().join(repo)).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}

/// Returns a path after `---` or `+++`, which is in quotes if it has special characters.
fn path_of(name: &str, folder: &str) -> String {
    let name = name.trim_end_matches('\t');
    let plain = match name.strip_prefix('"') {
        Some(quoted) => quoted
            .trim_end_matches('"')
            .replace("\\t", "\t")
            .replace("\\\"", "\"")
            .replace("\\\\", "\\"),
        None => name.to_owned(),
    };
    plain.strip_prefix(folder).map_or(plain.clone(), str::to_owned)
}

/// Returns the changed lines that git prints, by path: the new one or, of a deleted file, the old one.
fn lines_of_git(fixture: &Fixture, repo: &str, range: &str) -> BTreeMap<String, Vec<Changed>> {
    let options =
        ["diff", "-U0", "-M", "--no-ext-diff", "--no-color", "--diff-algorithm=histogram"];
    let args: Vec<&str> =
        ["-c", "core.quotePath=false"].into_iter().chain(options).chain([range]).collect();
    let told = String::from_utf8_lossy(&git(fixture, repo, &args)).into_owned();
    let mut files: BTreeMap<String, Vec<Changed>> = BTreeMap::new();
    let (mut old, mut path, mut left) = (String::new(), String::new(), (0_usize, 0_usize));
    for line in told.split_inclusive('\n') {
        let line = line.strip_suffix('\n').unwrap_or(line);
        if let Some(text) = line.strip_prefix('-').filter(|_| left.0 > 0) {
            left.0 -= 1;
            files.entry(path.clone()).or_default().push((false, text.to_owned()));
        } else if let Some(text) = line.strip_prefix('+').filter(|_| left.1 > 0) {
            left.1 -= 1;
            files.entry(path.clone()).or_default().push((true, text.to_owned()));
        } else if let Some(name) = line.strip_prefix("--- ") {
            old = path_of(name, "a/");
        } else if let Some(name) = line.strip_prefix("+++ ") {
            let name = path_of(name, "b/");
            path = if name == "/dev/null" { old.clone() } else { name };
        } else if let Some(place) = line.strip_prefix("@@ -") {
            let mut numbers = place.split(['+', ' ']).filter(|part| !part.is_empty());
            let mut lines = || {
                let part = numbers.next().unwrap();
                part.split_once(',').map_or(1, |(_, lines)| lines.parse().unwrap())
            };
            left = (lines(), lines());
        }
    }
    files
}

/// Returns the changed lines that a search finds, by path.
#[track_caller]
fn lines_found(fixture: &Fixture, query: &str) -> BTreeMap<String, Vec<Changed>> {
    let ran = fixture.run(&["search", "--json", query]);
    assert!(matches!(ran.status.code(), Some(0 | 1)), "{query}: {}", ran.err);
    let mut files: BTreeMap<String, Vec<Changed>> = BTreeMap::new();
    for line in ran.out.lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        let data = &message["data"];
        if message["type"] == "match" {
            let path = data["path"]["text"].as_str().unwrap();
            let path = path.split_once('/').unwrap().1;
            let text = data["lines"]["text"].as_str().unwrap();
            let text = text.strip_suffix('\n').unwrap_or(text);
            let is_added = match data["change"].as_str() {
                Some("added") => true,
                Some("removed") => false,
                other => panic!("{query}: {other:?}"),
            };
            files.entry(path.to_owned()).or_default().push((is_added, text.to_owned()));
        } else if message["type"] == "summary" {
            assert_eq!(data["complete"], true, "{query}: {}", ran.err);
        }
    }
    files
}

/// Checks that the lines found for a pattern are those of git that match it, each as often.
#[track_caller]
fn check_lines(fixture: &Fixture, repo: &str, range: &str, pattern: &str) -> usize {
    let regex = regex::Regex::new(&format!("(?i){pattern}")).unwrap();
    let mut expected = lines_of_git(fixture, repo, range);
    for lines in expected.values_mut() {
        lines.retain(|(_, text)| regex.is_match(text));
        lines.sort();
    }
    expected.retain(|_, lines| !lines.is_empty());
    let query = format!("diff:{range} repo:^{repo}$ content:/{pattern}/ case:no");
    let mut found = lines_found(fixture, &query);
    for lines in found.values_mut() {
        lines.sort();
    }
    assert_eq!(found, expected, "{query}");
    found.values().map(Vec::len).sum()
}

/// Checks that the printed diff makes the tree of the older revision that of the newer one.
#[track_caller]
fn check_patch(fixture: &Fixture, repo: &str, old: &str, new: &str) {
    let ran = fixture.run(&["diff", &format!("{old}..{new}"), "--repo", repo]);
    let told = i32::from(git(fixture, repo, &["diff", "--raw", old, new]).is_empty());
    let patch = ran.code(told).out;
    let index = fixture.path().join("index-of-patch");
    let _ = fs::remove_file(&index);
    let run = |args: &[&str], input: &str| {
        let mut command = Command::new("git");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_INDEX_FILE", &index);
        command.args(args).current_dir(fixture.path().join(repo)).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        let writing = std::thread::spawn(move || {
            let _ = std::io::Write::write_all(&mut stdin, input.as_bytes());
        });
        let done = child.wait_with_output().unwrap();
        writing.join().unwrap();
        let err = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{old}..{new} {args:?}: {err}\n{patch}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    run(&["read-tree", old], "");
    if told == 0 {
        run(&["apply", "--cached", "--whitespace=nowarn"], &patch);
    }
    let expected = run(&["rev-parse", &format!("{new}^{{tree}}")], "");
    assert_eq!(run(&["write-tree"], ""), expected, "{old}..{new}\n{patch}");
}

/// A clone whose commits change files in every way.
fn changed_in_every_way() -> (Fixture, Vec<String>) {
    let fixture = Fixture::new();
    let long = (0..40).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    fixture.write("r/keep.txt", "same\n");
    fixture.write("r/edit.txt", &long);
    fixture.write("r/move.txt", long.replace("line", "moved"));
    fixture.write("r/move-and-edit.rs", long.replace("line", "fn"));
    fixture.write("r/gone.txt", "one gone line\n");
    fixture.write("r/mode.sh", "#!/bin/sh\necho mode\n");
    fixture.write("r/crlf.txt", "a line\r\nsecond line\r\n");
    fixture.write("r/end.txt", "line without an end");
    fixture.write("r/empty.txt", "");
    fixture.write("r/with space.txt", "a line\n");
    fixture.write("r/quote\"d\ttab.txt", "a line\n");
    let mut commits = vec![fixture.commit("r", "all")];
    fixture.write("r/edit.txt", long.replace("line 7\n", "line seven\n").replace("line 30\n", ""));
    fixture.git("r", &["mv", "move.txt", "moved.txt"]);
    fixture.git("r", &["mv", "move-and-edit.rs", "deep.rs"]);
    fixture.write("r/deep.rs", long.replace("line", "fn").replace("fn 3\n", "fn three\n"));
    fs::remove_file(fixture.path().join("r/gone.txt")).unwrap();
    fixture.write("r/new.txt", "a new line\nand another\n");
    fixture.write("r/crlf.txt", "a line\r\nsecond changed line\r\nthird line\n");
    fixture.write("r/end.txt", "line without an end\nand one more line");
    fixture.write("r/empty.txt", "no longer an empty line\n");
    fixture.write("r/also-empty.txt", "");
    fixture.write("r/with space.txt", "another line\n");
    fixture.write("r/quote\"d\ttab.txt", "another line\n");
    fixture.git("r", &["update-index", "--chmod=+x", "mode.sh"]);
    let mode = fixture.path().join("r/mode.sh");
    fs::set_permissions(&mode, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    commits.push(fixture.commit("r", "much"));
    fixture.write("r/end.txt", "line without an end\nand one more line\n");
    fixture.write("r/empty.txt", "");
    commits.push(fixture.commit("r", "ends"));
    // A merge of two branches.
    fixture.git("r", &["checkout", "--quiet", "-b", "topic"]);
    fixture.write("r/topic.txt", "topic line\n");
    commits.push(fixture.commit("r", "topic"));
    fixture.git("r", &["checkout", "--quiet", "-"]);
    fixture.write("r/keep.txt", "same\nbut one line\n");
    commits.push(fixture.commit("r", "main"));
    fixture.git("r", &["merge", "--quiet", "--no-edit", "topic"]);
    commits.push(fixture.git("r", &["rev-parse", "HEAD"]));
    fixture.ingest();
    (fixture, commits)
}

#[test]
fn every_kind_of_change_is_that_of_git() {
    let (fixture, commits) = changed_in_every_way();
    let mut lines = 0;
    for old in &commits {
        for new in &commits {
            check_patch(&fixture, "r", old, new);
        }
    }
    for pair in commits.windows(2) {
        for (old, new) in [(&pair[0], &pair[1]), (&pair[1], &pair[0]), (&commits[0], &pair[1])] {
            lines += check_lines(&fixture, "r", &format!("{old}..{new}"), "line");
        }
    }
    lines += check_lines(&fixture, "r", "topic...HEAD", "line");
    lines += check_lines(&fixture, "r", "HEAD~1...topic", "^[a-t]");
    assert!(lines > 100, "{lines}");
}

#[test]
fn renames_and_fields_of_a_query() {
    let (fixture, commits) = changed_in_every_way();
    let range = format!("diff:{}..{}", commits[0], commits[1]);
    let paths = |query: &str| {
        let ran = fixture.run(&["search", "-l", "--sort", "none", &format!("{range} {query}")]);
        ran.out.lines().map(|line| line.trim_start_matches("r/").to_owned()).collect::<Vec<_>>()
    };
    // A renamed file has both paths; the results are in the order of their new ones.
    assert_eq!(paths("file:move"), ["deep.rs", "moved.txt"]);
    assert_eq!(paths("three"), ["deep.rs"]);
    assert_eq!(paths("lang:rust"), ["deep.rs"]);
    assert_eq!(paths("removed:gone"), ["gone.txt"]);
    assert_eq!(paths("added:gone"), [""; 0]);
    assert_eq!(paths("added:seven removed:7"), ["edit.txt"]);
    assert_eq!(paths("added:line -removed:line file:txt$ -file:quote"), ["empty.txt", "new.txt"]);
    assert_eq!(paths("type:repo seven"), ["r"]);
    // Neither line is beside another changed one.
    assert_eq!(paths(r"content:seven\nline"), [""; 0]);
    assert_eq!(paths(r"content:a\snew.*\nand"), ["new.txt"]);
    let all = paths("");
    let raw = git(&fixture, "r", &["diff", "--name-only", "-M", &commits[0], &commits[1]]);
    assert_eq!(all.len(), String::from_utf8(raw).unwrap().lines().count(), "{all:?}");
    assert_eq!(paths("count:2"), all[..2]);
    // The unchanged lines around a match, and changed ones that do not match.
    let ran = fixture.run(&["search", "-C", "1", "--json", &format!("{range} added:seven")]);
    let texts: Vec<String> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|message| message["type"] == "match" || message["type"] == "context")
        .map(|message| message["data"]["lines"]["text"].as_str().unwrap().trim().to_owned())
        .collect();
    assert_eq!(texts, ["line 7", "line seven", "line 8"]);
}

#[test]
fn contents_that_are_no_text_are_told() {
    let fixture = Fixture::new();
    fixture.write("r/image", b"\0one line");
    fixture.write("r/text", "line one\n");
    fixture.write("r/lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n");
    std::os::unix::fs::symlink("text", fixture.path().join("r/link")).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    fs::write(fixture.path().join("r").join(name), b"caf\xe9 line\n").unwrap();
    fixture.commit("r", "one");
    fixture.write("r/image", b"\0two line");
    fixture.write("r/text", "line two\n");
    fixture.write("r/lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:2\nsize 1\n");
    fs::remove_file(fixture.path().join("r/link")).unwrap();
    std::os::unix::fs::symlink("image", fixture.path().join("r/link")).unwrap();
    fs::write(fixture.path().join("r").join(name), b"caf\xe9 line two\n").unwrap();
    fixture.commit("r", "two");
    fixture.ingest();
    let ran = fixture.run(&["search", "--stats", "--json", "diff:HEAD~1.. content:line"]).code(0);
    assert!(ran.err.contains("1 binary, 1 lfs, 1 symlink"), "{}", ran.err);
    // The name is that of bytes in another encoding, and so is the text.
    let found = lines_found(&fixture, "diff:HEAD~1.. content:line");
    let changed = |old: &str, new: &str| vec![(false, old.to_owned()), (true, new.to_owned())];
    let expected = [
        ("caf\u{e9}.txt".to_owned(), changed("caf\u{e9} line", "caf\u{e9} line two")),
        ("text".to_owned(), changed("line one", "line two")),
    ];
    assert_eq!(found, expected.into());
    let listed = fixture.run(&["diff", "HEAD~1..", "--repo", "r"]).code(0).out;
    for told in
        ["Binary files a/image and b/image differ", "Not compared: lfs", "Not compared: symlink"]
    {
        assert!(listed.contains(told), "{listed}");
    }
    let stat = fixture.run(&["diff", "HEAD~1..", "--stat"]).code(0).out;
    assert!(
        stat.contains("5 files changed, 2 lines added, 2 lines removed; 3 files not compared"),
        "{stat}"
    );
}

/// Runs `codesearch diff` in a folder.
fn diff_in(fixture: &Fixture, folder: &str, args: &[&str]) -> Ran {
    let mut all = vec!["diff"];
    all.extend(args);
    let mut command = fixture.command(&all);
    Ran::of(command.current_dir(fixture.path().join(folder)).output().unwrap())
}

#[test]
fn the_command_knows_the_repository_around_it() {
    let fixture = Fixture::new();
    for repo in ["one", "two"] {
        fixture.write(&format!("{repo}/src/a.txt"), "first\n");
        fixture.write(&format!("{repo}/b.txt"), "first\n");
        fixture.commit(repo, "first");
        fixture.write(&format!("{repo}/src/a.txt"), format!("second {repo}\n"));
        fixture.write(&format!("{repo}/b.txt"), format!("third {repo}\n"));
        fixture.commit(repo, "second");
    }
    fixture.ingest();
    let names = diff_in(&fixture, "one/src", &["HEAD~1..", "--name-only"]).code(0).out;
    assert_eq!(names, "../b.txt\na.txt\n");
    let names = diff_in(&fixture, "one", &["HEAD~1..", "src/", "--name-only"]).code(0).out;
    assert_eq!(names, "src/a.txt\n");
    let found = diff_in(&fixture, "one", &["HEAD~1..HEAD", "added:second", "--json"]).code(0).out;
    assert!(found.contains("second one") && !found.contains("two"), "{found}");
    let found = diff_in(&fixture, "one", &["HEAD~1..HEAD", "second", "--repo", "two"]).code(0).out;
    assert!(found.contains("second two") && !found.contains("one"), "{found}");
    diff_in(&fixture, "one", &["HEAD~1..HEAD", "nowhere"]).code(1);
    let same = diff_in(&fixture, "one", &["HEAD..HEAD"]).code(1);
    assert!(same.err.contains("nothing changed: HEAD..HEAD"), "{}", same.err);
    let json = diff_in(&fixture, "one", &["HEAD~1..", "--json"]).code(0).out;
    let first: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(first["path"], "b.txt");
    assert_eq!(first["hunks"][0]["lines"][1]["text"], "third one");
    let wrong = |folder: &str, args: &[&str], told: &str| {
        let ran = diff_in(&fixture, folder, args).code(2);
        assert!(ran.err.contains(told) && ran.err.lines().count() == 1, "{}", ran.err);
    };
    wrong(".", &["HEAD~1.."], "name the repository with --repo");
    wrong("one", &["HEAD"], "write A..B, such as HEAD..HEAD or 'HEAD^..HEAD'");
    wrong("one", &["HEAD~1..", "--repo", "three"], "--repo: ");
    // In all repositories, by the same query.
    let both = fixture.run(&["search", "-l", "diff:HEAD~1..HEAD second"]).code(0).out;
    assert_eq!(both.lines().count(), 2, "{both}");
}

#[test]
fn a_wrong_revision_is_one_sentence() {
    let fixture = Fixture::new();
    fixture.write("r/a", "one\n");
    let first = fixture.commit("r", "one");
    fixture.write("r/a", "two\n");
    fixture.commit("r", "two");
    fixture.git("r", &["branch", "main-line"]);
    fixture.git("r", &["checkout", "--quiet", "--orphan", "alone"]);
    fixture.commit("r", "alone");
    fixture.write("plain/a", "one\n");
    fixture.git(
        ".",
        &[
            "clone",
            "--quiet",
            "--depth",
            "1",
            &format!("file://{}", fixture.path().join("r").display()),
            "shallow",
        ],
    );
    fixture.ingest();
    let told = |repo: &str, range: &str, expected: &str| {
        let ran = fixture.run(&["diff", range, "--repo", repo]).code(2);
        assert!(ran.err.contains(expected), "{range}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        let query = format!("repo:^{repo}$ diff:{range} x");
        let ran = fixture.run(&["search", &query]).code(2);
        assert!(ran.err.contains(expected), "{query}: {}", ran.err);
    };
    told("r", "main-lime..HEAD", "did you mean main-line?");
    told("r", "nowhere..HEAD", "unknown revision nowhere");
    told("r", "main-line...HEAD", "have no common ancestor");
    told("r", "main-line~5..HEAD", "goes back too far");
    told("plain", "HEAD~1..HEAD", "was not ingested from a git clone");
    told("shallow", &format!("{first}..HEAD"), "does not have");
    // An empty clone, and a repository whose objects are gone.
    fixture.git(".", &["init", "--quiet", "unborn"]);
    fixture.write("unborn/a", "one\n");
    fixture.ingest();
    told("unborn", "..HEAD", "no commit yet");
    fs::remove_dir_all(fixture.path().join("r/.git/objects")).unwrap();
    let ran = fixture.run(&["diff", "main-line..HEAD", "--repo", "r"]).code(2);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    // Repositories without the revision do not hide those with it.
    let some = fixture.run(&["search", "-l", "diff:HEAD..HEAD x"]);
    assert!(matches!(some.status.code(), Some(1 | 2)), "{}", some.err);
}
