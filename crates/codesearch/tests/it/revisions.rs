//! Searches of commits that are not indexed: `rev:`. The answers equal those of `git grep` at the same commit.

mod attacks;
mod bounds;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::harness::{Fixture, Ran, Server};

/// Patterns: what `codesearch search` is given, and what `git grep` is given.
const PATTERNS: [(&[&str], &[&str]); 8] = [
    (&["content:needle", "case:yes"], &["-e", "needle"]),
    (&["-i", "content:nEEdle"], &["-i", "-e", "nEEdle"]),
    (&["content:/v[0-9]+ = 1/", "case:yes"], &["-E", "-e", "v[0-9]+ = 1"]),
    (&["content:/^needle$/", "case:yes"], &["-e", "^needle$"]),
    (&["content:needle", "case:yes", r"file:\.go$"], &["-e", "needle", "--", "*.go"]),
    (&["content:needle", "case:yes", "-file:sub/"], &["-e", "needle", "--", ".", ":!*sub/*"]),
    (&["content:needle", "case:yes", "lang:go"], &["-e", "needle", "--", "*.go"]),
    (&["content:/value|needle/", "case:yes"], &["-E", "-e", "value|needle"]),
];

/// Numbers that look random, and are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % most
    }
}

fn text(random: &mut Random) -> String {
    let mut text = String::new();
    for line in 0..random.below(30) {
        let number = random.below(20);
        match random.below(5) {
            0 => text += "needle\n",
            1 => text += &format!("a Needle at line {line}\n"),
            2 => text.push('\n'),
            _ => text += &format!("value v{line} = {number}\n"),
        }
    }
    if random.below(3) == 0 { text.trim_end_matches('\n').to_owned() } else { text }
}

/// Makes a repository with branches, merges, renames, deletions, changes of modes, and names that are not UTF-8. Returns its
/// commits, oldest first.
fn history(fixture: &Fixture, repo: &str) -> Vec<String> {
    let mut random = Random(7);
    let at = fixture.path().join(repo);
    fs::create_dir_all(&at).unwrap();
    fixture.git(repo, &["init", "--quiet", "--initial-branch", "main"]);
    let paths = ["a.go", "b.txt", "sub/c.go", "sub/deep/d.py", "e", "sub/f.txt", "g.md"];
    let mut commits = Vec::new();
    for step in 0..24 {
        match step {
            8 => drop(fixture.git(repo, &["checkout", "--quiet", "-b", "side", "HEAD~3"])),
            13 => {
                fixture.git(repo, &["checkout", "--quiet", "main"]);
                fixture.git(repo, &["merge", "--quiet", "-s", "ours", "-m", "merge", "side"]);
            }
            16 => {
                fixture.git(repo, &["rm", "--quiet", "-r", "--cached", "."]);
                for path in paths {
                    let _ = fs::remove_file(at.join(path));
                }
                fixture.commit(repo, "nothing is left");
                commits.push(fixture.git(repo, &["rev-parse", "HEAD"]));
            }
            _ => {}
        }
        for path in paths {
            let file = at.join(path);
            match random.below(6) {
                0 | 1 => fixture.write(&format!("{repo}/{path}"), text(&mut random)),
                2 if file.exists() && step % 4 == 1 => fs::remove_file(&file).unwrap(),
                3 if file.exists() => {
                    let mode = if random.below(2) == 0 { 0o755 } else { 0o644 };
                    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
                }
                4 if file.exists() && step % 3 == 0 => {
                    let to = format!("moved_{step}_{}", path.replace('/', "_"));
                    fs::rename(&file, at.join(to)).unwrap();
                }
                _ => {}
            }
        }
        if step == 5 {
            fs::write(at.join(OsStr::from_bytes(b"caf\xe9.txt")), "needle\n").unwrap();
            std::os::unix::fs::symlink("a.go", at.join("link")).unwrap();
            fixture.write(&format!("{repo}/binary"), b"needle\0");
            fixture.write(&format!("{repo}/latin1.txt"), b"caf\xe9 needle\n");
        }
        commits.push(fixture.commit(repo, &format!("step {step}")));
    }
    fixture.git(repo, &["tag", "v1.0", &commits[3]]);
    fixture.git(repo, &["tag", "-a", "-m", "annotated", "v2.0", &commits[9]]);
    commits
}

/// Returns the lines that `git grep` finds in a commit, as `path:line:text`, sorted. Names that are not UTF-8 are left
/// out, as are texts that are not.
fn grep(fixture: &Fixture, repo: &str, commit: &str, args: &[&str]) -> Vec<String> {
    let mut command = Command::new("git");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.args(["-c", "core.quotePath=false", "grep", "-n", "-I", "--full-name"]);
    let (options, paths) = match args.iter().position(|arg| *arg == "--") {
        Some(at) => args.split_at(at),
        None => (args, &[][..]),
    };
    command.args(options).arg(commit).args(paths).current_dir(fixture.path().join(repo));
    let out = command.output().unwrap();
    assert!(matches!(out.status.code(), Some(0 | 1)), "{args:?}: {out:?}");
    let mut lines: Vec<String> = out
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| std::str::from_utf8(line).ok())
        .filter_map(|line| line.strip_prefix(commit)?.strip_prefix(':'))
        .map(str::to_owned)
        .collect();
    lines.sort();
    lines
}

/// Returns the lines that a server finds in a commit, as `path:line:text`, sorted.
#[track_caller]
fn served(server: &Server, repo: &str, revision: &str, args: &[&str]) -> Vec<String> {
    let mut query = format!("rev:{revision} repo:^{repo}$");
    for arg in args {
        query += if *arg == "-i" { " case:no" } else { " " };
        query += if *arg == "-i" { "" } else { arg };
    }
    let query = utf8_percent_encode(&query, NON_ALPHANUMERIC);
    let (status, answer) = server.json(&format!("/search?q={query}&limit=1000&sort=path"));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["stats"]["complete"], true, "{answer}");
    let mut lines = Vec::new();
    for file in answer["files"].as_array().unwrap() {
        let path = file["path"].as_str().unwrap();
        for line in file["matches"].as_array().unwrap().iter().filter(|_| path != "latin1.txt") {
            let (number, text) = (&line["line"], line["text"].as_str().unwrap());
            lines.push(format!("{path}:{number}:{text}"));
        }
    }
    lines.sort();
    lines
}

/// Returns the lines that a command finds in a commit, as `path:line:text`, sorted.
#[track_caller]
fn found(fixture: &Fixture, repo: &str, revision: &str, args: &[&str]) -> Vec<String> {
    let (of, within) = (format!("rev:{revision}"), format!("repo:^{repo}$"));
    let query = [&[of.as_str(), within.as_str()], args].concat();
    let lines = fixture.search(&query);
    let prefix = format!("{repo}/");
    let ours = |line: String| {
        let line = line.strip_prefix(&prefix).unwrap_or(&line).to_owned();
        (!line.starts_with("latin1.txt")).then_some(line)
    };
    let mut lines: Vec<String> = lines.into_iter().filter_map(ours).collect();
    lines.sort();
    lines
}

#[test]
fn each_commit_has_the_lines_that_git_finds() {
    let fixture = Fixture::new();
    let commits = history(&fixture, "r");
    // Other repositories have some of the contents, too.
    fixture.git(".", &["clone", "--quiet", "r", "other"]);
    fixture.git("other", &["checkout", "--quiet", &commits[4]]);
    fixture.ingest_over(4);
    let server = fixture.serve();
    server.settle();
    let mut some = 0;
    for (n, commit) in commits.iter().enumerate() {
        for (at, (ours, theirs)) in PATTERNS.into_iter().enumerate() {
            let expected = grep(&fixture, "r", commit, theirs);
            assert_eq!(served(&server, "r", commit, ours), expected, "{commit} {ours:?}");
            // The command reads everything from Postgres.
            if at == n % PATTERNS.len() {
                assert_eq!(found(&fixture, "r", commit, ours), expected, "{commit} {ours:?}");
            }
            some += expected.len();
        }
    }
    assert!(some > 500, "{some} lines");
    // The file whose name is not UTF-8, the link, and the binary file are left out.
    let query = ["search", "--stats", "rev:HEAD~3", "repo:^r$", "content:needle"];
    let told = fixture.run(&query).code(0).err;
    for reason in ["1 binary", "1 name", "1 symlink"] {
        assert!(told.contains(reason), "{told}");
    }
    // A text in another encoding is found like others.
    let lines = fixture.search(&["rev:HEAD", "repo:^r$", "content:café"]);
    assert!(lines.iter().any(|line| line.contains("latin1.txt:1:café needle")), "{lines:?}");
}

/// Makes a repository with some commits, each with a line about its number, and indexes its last state.
fn numbered(fixture: &Fixture, repo: &str, commits: usize) -> Vec<String> {
    let mut made = Vec::new();
    for n in 0..commits {
        fixture.write(&format!("{repo}/n.txt"), format!("this is number {n} of {repo}\n"));
        fixture.write(&format!("{repo}/same.txt"), format!("the same in all of {repo}\n"));
        made.push(fixture.commit(repo, &format!("number {n}")));
    }
    made
}

#[test]
fn a_revision_is_named_as_in_git() {
    let fixture = Fixture::new();
    let commits = numbered(&fixture, "r", 5);
    fixture.git("r", &["tag", "v1.2.0", &commits[1]]);
    fixture.git("r", &["tag", "-a", "-m", "x", "v1.3.0", &commits[2]]);
    fixture.git("r", &["branch", "old/one", &commits[0]]);
    fixture.ingest();
    for (revision, n) in [
        ("HEAD", 4),
        ("HEAD~3", 1),
        ("v1.2.0", 1),
        ("v1.3.0", 2),
        ("old/one", 0),
        ("v1.3.0^", 1),
        (&commits[3], 3),
        (&commits[3][..9], 3),
    ] {
        let expected = format!("r/n.txt:1:this is number {n} of r");
        let lines = fixture.search(&[&format!("rev:{revision}"), "content:number"]);
        assert_eq!(lines, [expected.as_str()], "{revision}");
        let lines = fixture.search(&[&format!("repo:r@{revision} content:number")]);
        assert_eq!(lines, [expected.as_str()], "{revision}");
    }
    // Several revisions: a file with equal contents appears once.
    let lines = fixture.search(&["repo:r@v1.2.0:HEAD"]);
    let expected = [
        "r/n.txt:1:this is number 1 of r",
        "r/n.txt:1:this is number 4 of r",
        "r/same.txt:1:the same in all of r",
    ];
    assert_eq!(fixture.search(&["repo:r@v1.2.0:HEAD content:/./"]), expected, "{lines:?}");
    let lines = fixture.search(&["rev:v1.2.0 rev:HEAD content:/./"]);
    assert_eq!(lines, ["r/same.txt:1:the same in all of r"]);
    assert_eq!(fixture.search(&["rev:v1.2.0 -rev:HEAD content:number"]), [expected[0]]);
}

#[test]
fn in_the_folder_of_a_clone_revisions_are_its_own() {
    let fixture = Fixture::new();
    numbered(&fixture, "one", 3);
    numbered(&fixture, "two", 3);
    fixture.git("one", &["tag", "only", "HEAD~1"]);
    fixture.ingest();
    let in_one = |query: &str| {
        let mut command = fixture.command(&["search", query]);
        Ran::of(command.current_dir(fixture.path().join("one")).output().unwrap())
    };
    let told = in_one("rev:only number").code(0);
    assert_eq!((told.out.lines().count(), told.err.as_str()), (1, ""), "{}", told.out);
    assert!(told.out.contains("this is number 1 of one"), "{}", told.out);
    // Unless others are asked for.
    let told = in_one("rev:HEAD~2 repo:o number").code(0).out;
    assert_eq!(told.lines().count(), 2, "{told}");
}

#[test]
fn each_client_names_the_revision() {
    let fixture = Fixture::new();
    numbered(&fixture, "r", 3);
    fixture.ingest();
    let server = fixture.serve();
    server.settle();
    let (status, answer) = server.json("/search?q=rev:HEAD~1%20content:number");
    assert_eq!(status, 200, "{answer}");
    let file = &answer["files"][0];
    assert_eq!(file["matches"][0]["text"], "this is number 1 of r", "{answer}");
    assert_eq!(answer["stats"]["complete"], true, "{answer}");
    // Lines around matches, of texts that are stored and of others.
    let (_, answer) = server.json("/search?q=rev:HEAD~1%20content:/number|same/&context=1");
    assert_eq!(answer["files"].as_array().unwrap().len(), 2, "{answer}");
}

/// Returns the files of an answer, as `repo/path`.
fn files_of(answer: &Value) -> Vec<String> {
    let files = answer["files"].as_array().unwrap().iter();
    let name = |file: &Value| {
        format!("{}/{}", file["repo"].as_str().unwrap(), file["path"].as_str().unwrap())
    };
    files.map(name).collect()
}

#[test]
fn pages_of_a_commit_have_each_file_once_and_end_if_the_branch_moves() {
    let fixture = Fixture::new();
    for repo in ["one", "two"] {
        for n in 0..30 {
            fixture.write(&format!("{repo}/stays_{n}.txt"), format!("{repo} needle {n} stays\n"));
            fixture.write(&format!("{repo}/goes_{n}.txt"), format!("{repo} needle {n} goes\n"));
        }
        fixture.commit(repo, "first");
        for n in 0..30 {
            fs::remove_file(fixture.path().join(format!("{repo}/goes_{n}.txt"))).unwrap();
        }
        fixture.commit(repo, "second");
        fixture.git(repo, &["branch", "old", "HEAD~1"]);
    }
    fixture.ingest_over(4);
    let server = fixture.serve();
    server.settle();
    let page = |address: &str, limit: usize, cursor: &str| {
        server
            .json(&format!("{address}?q=rev:old%20needle&limit={limit}&sort=path&cursor={cursor}"))
    };
    let (_, all) = page("/search", 500, "");
    let mut all = files_of(&all);
    assert_eq!(all.len(), 120);
    all.sort();
    for limit in [1, 7, 50] {
        let (mut files, mut cursor) = (Vec::new(), String::new());
        loop {
            let (status, answer) = page("/search", limit, &cursor);
            assert_eq!(status, 200, "{answer}");
            files.extend(files_of(&answer));
            match answer["next"].as_str() {
                Some(next) => next.clone_into(&mut cursor),
                None => break,
            }
        }
        files.sort();
        assert_eq!(files, all, "limit {limit}");
    }
    let (_, first) = page("/search", 7, "");
    let cursor = first["next"].as_str().unwrap();
    fixture.git("two", &["branch", "--force", "old", "HEAD"]);
    assert_eq!(page("/search", 7, cursor).0, 410);
    // Nor does a cursor hold if there is no such branch any more.
    fixture.git("two", &["branch", "--delete", "old"]);
    assert_eq!(page("/search", 7, cursor).0, 410);
    fixture.git("one", &["branch", "--delete", "old"]);
    assert_eq!(page("/search", 7, cursor).0, 400);
}

#[test]
fn a_revision_that_cannot_be_searched_is_told_in_a_sentence() {
    let fixture = Fixture::new();
    let commits = numbered(&fixture, "one", 3);
    numbered(&fixture, "two", 2);
    fixture.write("plain/a.txt", "no clone\n");
    fixture.git("one", &["tag", "v1"]);
    fixture.ingest();
    let told = |query: &str, code: i32| fixture.run(&["search", query]).code(code).err;
    // Nobody has it.
    let err = told("rev:nowhere content:number", 2);
    assert!(err.contains("has the revision nowhere"), "{err}");
    let err = told("rev:nowhere repo:one content:number", 2);
    assert!(err.contains("one: unknown revision nowhere"), "{err}");
    // Some have it: the others are named, and the answer is complete.
    let ran = fixture.run(&["search", "rev:v1 content:number"]).code(0);
    assert_eq!(ran.out, "one/n.txt:1:this is number 2 of one\n");
    assert!(ran.err.contains("the revision v1 is unknown in plain, two"), "{}", ran.err);
    // No commit.
    let tree = fixture.git("one", &["rev-parse", "HEAD^{tree}"]);
    let err = told(&format!("rev:{tree} repo:one content:number"), 2);
    assert!(err.contains("not a commit"), "{err}");
    let err = told("rev:HEAD~9 repo:one content:number", 2);
    assert!(err.contains("goes back too far"), "{err}");
    // The same sentence over HTTP, as an error of the query.
    let server = fixture.serve();
    let (status, answer) = server.json("/search?q=rev:nowhere%20repo:one%20number");
    assert_eq!(status, 400);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("unknown revision nowhere"), "{answer}");
    let (_, answer) = server.json("/search?q=rev:v1%20number");
    assert!(answer["stats"]["notes"][0].as_str().unwrap().contains("plain, two"), "{answer}");
    // A damaged object: the rest is not shown as if it were all.
    let blob = fixture.git("one", &["rev-parse", &format!("{}:n.txt", commits[1])]);
    let object = fixture.path().join(format!("one/.git/objects/{}/{}", &blob[..2], &blob[2..]));
    fs::set_permissions(&object, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&object, b"not an object").unwrap();
    let err = told(&format!("rev:{} repo:one content:number", commits[1]), 2);
    assert!(err.contains("damaged"), "{err}");
    // The clone is gone.
    fs::rename(fixture.path().join("two"), fixture.path().join("away")).unwrap();
    let err = told("rev:HEAD~1 repo:two content:number", 2);
    assert!(err.contains("folder no longer exists"), "{err}");
}

#[test]
fn clones_without_all_objects_say_so() {
    let fixture = Fixture::new();
    let commits = numbered(&fixture, "away/full", 4);
    fixture.git("away/full", &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", fixture.path().join("away/full").display());
    fixture.git(".", &["clone", "--quiet", "--depth", "2", &url, "shallow"]);
    fixture.git(".", &["clone", "--quiet", "--filter=blob:none", &url, "partial"]);
    fixture.run(&["ingest", "--shards", "4", "shallow", "partial"]).code(0);
    let search = |repo: &str, revision: &str| {
        fixture.run(&["search", &format!("rev:{revision} repo:{repo} content:number")])
    };
    assert_eq!(search("shallow", "HEAD~1").code(0).out.lines().count(), 1);
    let err = search("shallow", &commits[0]).code(2).err;
    assert!(err.contains("unknown revision") || err.contains("shallow"), "{err}");
    let err = search("shallow", "HEAD~2").code(2).err;
    assert!(err.contains("shallow"), "{err}");
    // The index has what the working tree has; the clone lacks the others.
    assert_eq!(search("partial", "HEAD").code(0).out.lines().count(), 1);
    let ran = search("partial", "HEAD~1").code(2);
    assert!(ran.err.contains("incomplete") && ran.err.contains("partial clone"), "{}", ran.err);
}

#[test]
fn at_most_twenty_clones_are_read() {
    let fixture = Fixture::new();
    for n in 0..21 {
        numbered(&fixture, &format!("r{n:02}"), 2);
    }
    fixture.ingest();
    let err = fixture.run(&["search", "rev:HEAD~1 content:number"]).code(2).err;
    assert!(err.contains("21 repositories") && err.contains("repo:"), "{err}");
    let lines = fixture.search(&["rev:HEAD~1 content:number -repo:r20"]);
    assert_eq!(lines.len(), 20, "{lines:?}");
    assert!(lines.iter().all(|line| line.contains("number 0")), "{lines:?}");
}

#[test]
fn a_search_of_a_commit_ends_at_its_timeout() {
    let fixture = Fixture::new();
    numbered(&fixture, "r", 2);
    fixture.ingest();
    let server = fixture.serve();
    let held = fixture.hold("lock table blobs in access exclusive mode");
    let (status, answer) = server.json("/search?q=rev:HEAD~1%20content:number%20timeout:100ms");
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["stats"]["stopped_because"], "timeout", "{answer}");
    assert_eq!(answer["stats"]["complete"], false, "{answer}");
    drop(held);
    let (_, answer) = server.json("/search?q=rev:HEAD~1%20content:number");
    assert_eq!(answer["stats"]["complete"], true, "{answer}");
    assert_eq!(files_of(&answer), ["r/n.txt"]);
}

#[test]
fn commits_of_hidden_repositories_are_hidden() {
    let fixture = Fixture::new();
    let commits = numbered(&fixture, "secret/one", 2);
    numbered(&fixture, "open/two", 2);
    fixture.run(&["ingest", "--shards", "4", "secret", "open"]).code(0);
    let all = fixture.serve();
    let mut some = fixture.command(&["serve", "--listen", "127.0.0.1:0"]);
    some.env("CODESEARCH_REPOS", "two");
    let some = Server::start(some);
    let ask = |server: &Server, path: &str| {
        let (status, _, body) = server.get(path, "application/json");
        (status, body)
    };
    let commit = &commits[0];
    let path = format!("/search?q=rev:{commit}%20content:number");
    let (status, body) = ask(&all, &path);
    assert!(status == 200 && body.contains("number 0 of secret/one"), "{status} {body}");
    let (status, body) = ask(&some, &path);
    assert!(status == 400 && !body.contains("secret"), "{status} {body}");
    let (status, body) = ask(&some, "/search?q=rev:HEAD~1%20content:number");
    assert!(status == 200 && body.contains("number 0 of open/two"), "{status} {body}");
    assert!(!body.contains("secret"), "{body}");
}

#[test]
fn files_and_folders_are_shown_at_a_revision() {
    let fixture = Fixture::new();
    fixture.write("r/sub/old.rs", "fn old() {}\n");
    fixture.write("r/same.txt", "the same\n");
    fixture.write("r/latin1.txt", b"caf\xe9\n");
    fixture.write("r/binary", b"\0");
    let first = fixture.commit("r", "first");
    fs::remove_file(fixture.path().join("r/sub/old.rs")).unwrap();
    fixture.write("r/new.rs", "fn new() {}\n");
    fixture.write("r/latin1.txt", "cafe\n");
    fixture.commit("r", "second");
    fixture.git("r", &["tag", "v1", &first]);
    fixture.ingest();
    let server = fixture.serve();
    server.settle();
    for rev in ["v1", "HEAD~1", &first] {
        let (status, file) = server.json(&format!("/file?repo=r&path=sub/old.rs&rev={rev}"));
        assert_eq!((status, &file["text"]), (200, &Value::from("fn old() {}\n")), "{rev}: {file}");
        assert_eq!(file["language"], "Rust");
        let (_, _, raw) = server.ask_bytes(&format!("/raw?repo=r&path=latin1.txt&rev={rev}"), &[]);
        assert_eq!(raw, b"caf\xe9\n", "{rev}");
        // Stored contents.
        let (_, file) = server.json(&format!("/file?repo=r&path=same.txt&rev={rev}"));
        assert_eq!(file["text"], "the same\n", "{file}");
        let (_, folder) = server.json(&format!("/repos?repo=r&rev={rev}"));
        let children = folder["children"].as_array().unwrap().iter();
        let names: Vec<&str> = children.map(|child| child["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["sub", "binary", "latin1.txt", "same.txt"], "{folder}");
        assert_eq!((&folder["commit"], &folder["rev"]), (&first.as_str().into(), &rev.into()));
        let (_, folder) = server.json(&format!("/repos?repo=r&path=sub&rev={rev}"));
        assert_eq!(folder["children"][0]["name"], "old.rs", "{folder}");
    }
    // What is not there, and what is not shown.
    for (path, rev, status, why) in [
        ("new.rs", "v1", 404, "r has no file new.rs at v1"),
        ("new.rs", "v2", 400, "unknown revision v2"),
        ("binary", "v1", 400, "left out (binary)"),
    ] {
        let (told, answer) = server.json(&format!("/file?repo=r&path={path}&rev={rev}"));
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(told == status && message.contains(why), "{path} {rev}: {told} {answer}");
    }
    // Pages lead to files of the same revision.
    let (status, _, page) = server.get("/file?repo=r&path=sub/old.rs&rev=v1", "text/html");
    assert_eq!(status, 200);
    let raw = "/raw?repo=r&amp;path=sub/old.rs&amp;rev=v1";
    for part in ["the revision <code>v1</code>", "path=sub&amp;rev=v1", raw] {
        let plain = part.replace("&amp;", "&#38;");
        assert!(page.contains(part) || page.contains(&plain), "{part}: {page}");
    }
    let (status, _, page) = server.get("/repos?repo=r&path=sub&tree=v1", "text/html");
    assert!(status == 200 && page.contains("old.rs"), "{page}");
}

#[test]
fn what_an_ingest_leaves_out_a_search_of_a_commit_leaves_out() {
    let fixture = Fixture::new();
    fixture.write("r/.codesearchignore", "private/\n*.log\n!kept.log\n");
    fixture.write("r/.gitattributes", "*.x linguist-language=Go\n");
    for path in ["private/a.txt", "a.log", "kept.log", "b.x", "id_rsa"] {
        fixture.write(&format!("r/{path}"), format!("number one in {path}\n"));
    }
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\nnumber\n";
    fixture.write("r/pointer", pointer);
    fixture.write("r/large", "number\n".repeat(200_000));
    fixture.commit("r", "one");
    fixture.git("r", &["rm", "--quiet", "-r", "."]);
    fixture.write("r/README", "nothing is left\n");
    fixture.commit("r", "two");
    fixture.run(&["ingest", "--shards", "4", "--secrets", "skip", "r"]).code(0);
    let lines = fixture.search(&["rev:HEAD~1", "content:number", "type:file"]);
    assert_eq!(lines, ["r/b.x", "r/kept.log"]);
    assert_eq!(fixture.search(&["rev:HEAD~1", "lang:go", "type:file"]), ["r/b.x"]);
    let told = fixture.run(&["search", "--stats", "rev:HEAD~1", "content:number"]).code(0).err;
    for reason in ["2 excluded", "1 lfs", "1 secret", "1 too-large"] {
        assert!(told.contains(reason), "{reason}: {told}");
    }
}
