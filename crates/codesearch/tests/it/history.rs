//! Blame, history and earlier contents of files, from the clones that repositories were ingested from.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::api::{check, document};
use crate::harness::{Fixture, Server, eventually};

const FIRST: &str = "def one():\n    return 1\n";
const SECOND: &str = "def one():\n    return 1\n\ndef two():\n    return 2\n";

/// A clone with three commits and an uncommitted file, and a folder that is not a clone.
fn cloned() -> (Fixture, [String; 3]) {
    let fixture = Fixture::new();
    fixture.write("one/src/a.py", FIRST);
    let first = fixture.commit("one", "First: <one>");
    fixture.write("one/src/a.py", SECOND);
    let second = fixture.commit("one", "Second\n\nwith a body");
    fixture.git("one", &["mv", "src/a.py", "src/b c.py"]);
    let third = fixture.commit("one", "Moved");
    fixture.write("one/loose.py", "loose = 1\n");
    fixture.write("two/plain.py", "plain = 1\n");
    fixture.ingest();
    (fixture, [first, second, third])
}

const FILE: &str = "repo=one&path=src/b%20c.py";

/// Requests JSON, and checks it against the document.
#[track_caller]
fn ask(server: &Server, path: &str, expected: u16) -> Value {
    let (status, answer) = server.json(path);
    assert_eq!(status, expected, "{path}: {answer}");
    check(&document(), path, status, &answer);
    answer
}

#[track_caller]
fn page(server: &Server, path: &str, status: u16) -> String {
    let (got, _, page) = server.get(path, "text/html");
    assert_eq!(got, status, "{path}: {page}");
    page
}

#[test]
fn lines_come_from_commits() {
    let (fixture, [first, second, third]) = cloned();
    let server = fixture.serve();
    let blame = ask(&server, &format!("/blame?{FILE}"), 200);
    assert_eq!(
        blame["lines"],
        json!([
            { "from": 1, "to": 2, "commit": first },
            { "from": 3, "to": 5, "commit": second },
        ])
    );
    assert_eq!((&blame["commit"], &blame["indexed"]), (&json!(third), &json!(true)));
    let told = blame["commits"].as_array().unwrap().iter().find(|one| one["hash"] == json!(first));
    let told = told.unwrap();
    assert_eq!((&told["summary"], &told["author"]), (&json!("First: <one>"), &json!("Ann O'Nym")));
    let shown = page(&server, &format!("/blame?{FILE}"), 200);
    assert!(shown.contains("First: &#60;one&#62;") && shown.contains("id=\"L5\""), "{shown}");
    assert!(!shown.contains("ann@example.org"), "{shown}");
    let of_file = page(&server, &format!("/file?{FILE}"), 200);
    assert!(of_file.contains("href=\"/blame?repo=one&#38;path=src/b%20c.py\""), "{of_file}");

    // The indexed text may differ.
    fixture.write("one/src/b c.py", format!("{SECOND}# more\n"));
    fixture.ingest();
    let blame = ask(&server, &format!("/blame?{FILE}"), 200);
    assert_eq!(blame["indexed"], false);
    let shown = page(&server, &format!("/blame?{FILE}"), 200);
    assert!(shown.contains("which is not the indexed text"), "{shown}");
    // A commit that the clone no longer has is not used.
    fixture.exec("update repos set commit = repeat('e', 40) where name = 'one'");
    assert_eq!(ask(&server, &format!("/blame?{FILE}"), 200)["commit"], json!(third));
}

#[test]
fn a_history_goes_on_before_a_name_was_changed() {
    let (fixture, [first, second, third]) = cloned();
    for n in 0..60 {
        fixture.write("many/x.txt", format!("{n}\n"));
        fixture.commit("many", &format!("Number {n}"));
    }
    fixture.ingest();
    let server = fixture.serve();
    let history = ask(&server, &format!("/history?{FILE}"), 200);
    let changes = history["changes"].as_array().unwrap();
    let told: Vec<_> =
        changes.iter().map(|one| (&one["hash"], &one["path"], &one["renamed_from"])).collect();
    let (b, a) = (json!("src/b c.py"), json!("src/a.py"));
    assert_eq!(
        told,
        [
            (&json!(third), &b, &a),
            (&json!(second), &a, &Value::Null),
            (&json!(first), &a, &Value::Null)
        ]
    );
    assert_eq!(history["next"], Value::Null);
    // Each has the contents of its time.
    for (change, text) in changes.iter().zip([SECOND, SECOND, FIRST]) {
        let hash = change["blob"].as_str().unwrap();
        let file = ask(&server, &format!("/file?{FILE}&hash={hash}"), 200);
        assert_eq!((&file["text"], &file["hash"]), (&json!(text), &json!(hash)));
        assert_eq!(file["language"], "Python");
        assert_eq!(server.get(&format!("/raw?{FILE}&hash={hash}"), "*/*").2, text);
    }
    let old = changes[2]["blob"].as_str().unwrap();
    let shown = page(&server, &format!("/file?{FILE}&hash={old}"), 200);
    assert!(shown.contains("This is the version with the hash"), "{shown}");
    assert!(shown.contains("<a href=\"/file?repo=one&#38;path=src/b%20c.py\">current version"));
    // A long history comes newest first, and each commit once.
    let mut summaries = Vec::new();
    let mut path = "/history?repo=many&path=x.txt".to_owned();
    loop {
        let part = ask(&server, &path, 200);
        let changes = part["changes"].as_array().unwrap();
        summaries.extend(changes.iter().map(|one| one["summary"].as_str().unwrap().to_owned()));
        let Some(next) = part["next"].as_u64() else { break };
        path = format!("/history?repo=many&path=x.txt&skip={next}");
    }
    let expected: Vec<String> = (0..60).rev().map(|n| format!("Number {n}")).collect();
    assert_eq!(summaries, expected);
    let shown = page(&server, "/history?repo=many&path=x.txt", 200);
    assert!(shown.contains("skip=50") && shown.contains("Number 10<"), "{shown}");
    assert_eq!(server.json("/history?repo=many&path=x.txt&skip=1001").0, 400);
}

#[test]
fn what_has_no_history_is_told_and_no_folder_is_named() {
    let (fixture, _) = cloned();
    let server = fixture.serve();
    let told = |path: &str, status: u16, expected: &str| {
        for page in ["/blame", "/history"] {
            let path = format!("{page}?{path}");
            let answer = ask(&server, &path, status);
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains(expected), "{path}: {message}");
            let (_, _, page) = server.get(&path, "text/html");
            assert!(page.contains(expected), "{path}: {page}");
            for text in [message, &page] {
                assert!(!text.contains(fixture.path().to_str().unwrap()), "{path}: {text}");
            }
        }
    };
    told("repo=one&path=loose.py", 404, "it was never committed");
    told("repo=two&path=plain.py", 404, "was not ingested from a git clone");
    told("repo=one&path=none.py", 404, "ne/none.py is not in the index");
    told("repo=none&path=a", 404, "one/a is not in the index");
    told("repo=one", 400, "give repo= and path=");
    let plain = page(&server, "/file?repo=two&path=plain.py", 200);
    assert!(!plain.contains("href=\"/blame"), "{plain}");
    // A clone that git cannot read, and a deleted folder.
    fs::remove_dir_all(fixture.path().join("one/.git/objects")).unwrap();
    let (status, answer) = server.json(&format!("/blame?{FILE}"));
    assert!(matches!(status, 404 | 500), "{answer}");
    fs::rename(fixture.path().join("one"), fixture.path().join("gone")).unwrap();
    told(FILE, 404, "no longer exists, or the server may not read it");
    let hash = "0123456789abcdef0123456789abcdef01234567";
    assert_eq!(server.json(&format!("/file?{FILE}&hash={hash}")).0, 404);
}

#[test]
fn an_operator_may_show_no_history() {
    let (fixture, [first, ..]) = cloned();
    let before = fixture.git("one", &["rev-parse", &format!("{first}:src/a.py")]);
    let path = format!("/file?{FILE}&hash={before}");
    let server = fixture.serve();
    assert_eq!(server.json(&path).0, 200);
    let server = fixture.serve_with(&["--no-history"]);
    let answer = ask(&server, &format!("/blame?{FILE}"), 404);
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("does not show blame"),
        "{answer}"
    );
    assert_eq!(server.json(&path).0, 404);
    assert!(!page(&server, &format!("/file?{FILE}"), 200).contains("href=\"/blame"));
}

/// Sets every option of a clone that makes git run a program, always the same program.
fn trap(fixture: &Fixture) {
    let program = fixture.path().join("program");
    let (path, sprung) = (program.to_str().unwrap(), fixture.path().join("sprung"));
    let script = format!("#!/bin/sh\ntouch '{}'\nexec cat \"$@\"\n", sprung.to_str().unwrap());
    fs::write(&program, script).unwrap();
    let mut mode = fs::metadata(&program).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    fs::set_permissions(&program, mode).unwrap();
    let config = format!(
        "[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tfsmonitor = {path}\n\tpager = {path}\n\
         \thooksPath = {0}\n\tsshCommand = {path}\n\tgitProxy = {path}\n\tworktree = {0}\n\
         [extensions]\n\tpartialClone = origin\n\
         [remote \"origin\"]\n\turl = ext::{path}\n\tuploadpack = {path}\n\tpromisor = true\n\
         [protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n\
         [log]\n\tshowSignature = true\n[gpg]\n\tprogram = {path}\n[diff]\n\texternal = {path}\n\
         [diff \"trap\"]\n\ttextconv = {path}\n\tcommand = {path}\n\
         [filter \"trap\"]\n\tclean = {path}\n\tsmudge = {path}\n\trequired = true\n\
         [alias]\n\tlog = !{path}\n\tblame = !{path}\n",
        fixture.path().to_str().unwrap(),
    );
    fixture.write("one/.git/config", config);
    fixture.write("one/.git/info/attributes", "* diff=trap filter=trap\n");
    fixture.write("one/.gitattributes", "* diff=trap filter=trap\n");
}

#[test]
fn a_clone_runs_no_program() {
    let (fixture, [first, ..]) = cloned();
    let before = fixture.git("one", &["rev-parse", &format!("{first}:src/a.py")]);
    trap(&fixture);
    let sprung = fixture.path().join("sprung");
    let server = fixture.serve();
    let missing = "1".repeat(40);
    for path in [
        format!("/blame?{FILE}"),
        format!("/history?{FILE}"),
        format!("/file?{FILE}&hash={before}"),
    ] {
        assert_eq!(server.json(&path).0, 200, "{path}");
        assert!(!sprung.exists(), "{path} ran a program");
    }
    assert_eq!(server.json(&format!("/file?{FILE}&hash={missing}")).0, 404);
    let changed = fixture.run(&["search", &format!("diff:{first}..HEAD two")]).code(0).out;
    assert!(changed.contains("def two") && !sprung.exists(), "{changed}");
    fixture.ingest();
    assert!(!sprung.exists(), "a program was run for an object that is missing, or by an ingest");
    // Git itself falls into the trap.
    let mut git = Command::new("git");
    let one = fixture.path().join("one");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_DIR", one.join(".git"));
    git.env("GIT_WORK_TREE", &one).args(["blame", "src/b c.py"]).current_dir(&one);
    let _ = git.output().unwrap();
    assert!(sprung.exists(), "the trap is none");
}

#[test]
fn history_is_only_that_of_a_trusted_clone() {
    let fixture = Fixture::new();
    let at = |path: &str| fixture.path().join(path);
    fixture.write("private/a.py", FIRST);
    fixture.commit("private", "Nobody's business");
    let blob = fixture.git("private", &["rev-parse", "HEAD:a.py"]);
    fixture.write("private/a.py", SECOND);
    fixture.commit("private", "More of it");
    // Each has a file with the same path.
    for repo in ["file", "link", "common", "borrows", "objects", "later"] {
        fixture.write(&format!("in/{repo}/a.py"), "a = 1\n");
        if !matches!(repo, "file" | "link") {
            fixture.commit(&format!("in/{repo}"), "Own");
        }
    }
    let private = at("private/.git");
    fixture.write("in/file/.git", format!("gitdir: {}\n", private.display()));
    std::os::unix::fs::symlink(&private, at("in/link/.git")).unwrap();
    fixture.write("in/common/.git/commondir", "../../../private/.git");
    let objects = format!("{}/objects\n", private.display());
    fixture.write("in/borrows/.git/objects/info/alternates", &objects);
    fs::remove_dir_all(at("in/objects/.git/objects")).unwrap();
    std::os::unix::fs::symlink(private.join("objects"), at("in/objects/.git/objects")).unwrap();
    fixture.git("private", &["worktree", "add", "--quiet", "../in/worktree"]);
    let from = format!("file://{}", at("private").display());
    fixture.git("in", &["clone", "--quiet", "--depth", "1", &from, "shallow"]);
    let told = fixture.run(&["ingest", "--shards", "2", "in"]).code(0).err;
    assert_eq!(told.matches("use --follow-git").count(), 5, "{told}");
    // A folder with its own clone now points to another one.
    fixture.write("in/later/.git/objects/info/alternates", &objects);
    let server = fixture.serve();
    for repo in ["file", "link", "common", "borrows", "objects", "later"] {
        for page in ["blame", "history"] {
            let answer = ask(&server, &format!("/{page}?repo={repo}&path=a.py"), 404);
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains("with --follow-git"), "{repo}: {message}");
        }
        let of_file = format!("/file?repo={repo}&path=a.py&hash={blob}");
        assert_eq!(server.json(&of_file).0, 404, "{repo}");
        assert_eq!(server.get(&of_file.replace("/file", "/raw"), "*/*").0, 404, "{repo}");
    }
    // The same for changes, by any name of a commit.
    let commit = |revision: &str| fixture.git("private", &["rev-parse", revision]);
    let (old, new) = (commit("HEAD~1"), commit("HEAD"));
    let changes = |repo: &str, from: &str, to: &str| {
        let ran = fixture.run(&["search", &format!("repo:^{repo}$ diff:{from}..{to} two")]);
        (ran.status.code(), ran.out, ran.err)
    };
    for repo in ["file", "link", "common", "borrows", "objects", "later", "shallow"] {
        for (from, to) in [(&*old, &*new), (&old[..7], &new[..7]), ("HEAD~1", "HEAD")] {
            let (code, out, err) = changes(repo, from, to);
            assert!(code != Some(0) && !out.contains("def two"), "{repo}: {out}{err}");
        }
    }
    assert!(
        changes("private", &old, &new).1.contains("def two"),
        "the clone of a worktree is trusted"
    );
    let skipped = fixture.run(&["repos", "--skipped", "file"]).code(0).out;
    assert!(skipped.contains("git data outside the ingested folder") && skipped.contains(".git"));
    // The private clone itself lists the worktree, and belongs to the same user; and a shallow clone has all of its own objects.
    for (repo, commits) in [("private", 2), ("shallow", 1)] {
        let history = ask(&server, &format!("/history?repo={repo}&path=a.py"), 200);
        assert_eq!(history["changes"].as_array().unwrap().len(), commits, "{repo}");
    }
    // The owner may allow it.
    fixture.run(&["ingest", "--follow-git", "in"]).code(0);
    let server = fixture.serve();
    for repo in ["file", "link", "common", "borrows", "later"] {
        let history = ask(&server, &format!("/history?repo={repo}&path=a.py"), 200);
        assert!(!history["changes"].as_array().unwrap().is_empty(), "{repo}");
    }
    assert_eq!(ask(&server, &format!("/file?repo=file&path=a.py&hash={blob}"), 200)["text"], FIRST);
    // Nothing waits for a pipe among the objects, or reads an endless file.
    let pipe = at("in/borrows/.git/objects/pack/x.idx");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(server.json("/blame?repo=borrows&path=a.py").0, 500);
}

#[test]
fn a_link_to_a_text_lives_longer_than_the_text() {
    let fixture = Fixture::new();
    fixture.write("one/a.py", FIRST);
    fixture.write("one/other.py", "other = 1\n");
    fixture.ingest();
    let server = fixture.serve();
    let hash = server.json("/file?repo=one&path=a.py").1["hash"].as_str().unwrap().to_owned();
    let link = format!("/file?repo=one&path=a.py&hash={hash}");
    let now = page(&server, "/file?repo=one&path=a.py", 200);
    assert!(now.contains(&format!("href=\"{}\"", link.replace('&', "&#38;"))), "{now}");
    assert!(!page(&server, &link, 200).contains("This is the version with the hash"));
    // The text is available as long as it is stored, here because the server keeps the previous epoch.
    fixture.write("one/a.py", SECOND);
    fixture.ingest();
    assert_eq!(ask(&server, &link, 200)["text"], FIRST);
    let shown = page(&server, &link, 200);
    assert!(shown.contains("This is the version with the hash"), "{shown}");
    assert!(shown.contains(">one</span>"), "the outline is that of the text: {shown}");
    server.stop();
    // No epoch with it is kept any more.
    fixture.write("one/other.py", "other = 2\n");
    fixture.ingest();
    let server = fixture.serve();
    let answer = ask(&server, &link, 404);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("no longer stored"), "{message}");
    assert!(message.ends_with("the current version: /file?repo=one&path=a.py"), "{message}");
    let shown = page(&server, &link, 404);
    assert!(shown.contains("the file has changed since"), "{shown}");
    assert!(shown.contains("<a href=\"/file?repo=one&#38;path=a.py\">"), "{shown}");
    assert_eq!(server.get(&link.replace("/file", "/raw"), "*/*").0, 404);
    // Another file may have the text, also a later one.
    fixture.write("one/copy.py", FIRST);
    fixture.ingest();
    assert_eq!(ask(&server, &link, 200)["same"], json!([{ "repo": "one", "path": "copy.py" }]));
    fixture.write("one/a.py", FIRST);
    fixture.ingest();
    assert!(!page(&server, &link, 200).contains("This is the version with the hash"));
    for (wrong, status, expected) in [
        (&hash[1..], 400, "give a whole hash"),
        ("../../../etc/passwd", 400, "give a whole hash"),
        (&hash.to_uppercase(), 200, ""),
    ] {
        let (got, answer) = server.json(&format!("/file?repo=one&path=a.py&hash={wrong}"));
        assert_eq!(got, status, "{answer}");
        assert!(answer.to_string().contains(expected), "{answer}");
    }
    // A text of another repository is returned only under its name, and none of a removed one.
    fixture.write("two/secret.py", "secret = 1\n");
    fixture.ingest();
    let secret =
        server.json("/file?repo=two&path=secret.py").1["hash"].as_str().unwrap().to_owned();
    let asked = |repo: &str, path: &str, status| {
        for form in ["file", "raw"] {
            let address = format!("/{form}?repo={repo}&path={path}&hash={secret}");
            assert_eq!(server.get(&address, "*/*").0, status, "{address}");
        }
    };
    asked("two", "secret.py", 200);
    asked("one", "a.py", 404);
    asked("one", "secret.py", 404);
    fixture.run(&["remove", "two"]).code(0);
    eventually("the server knows of the removal", || {
        server.json("/file?repo=two&path=secret.py").0 == 404
    });
    asked("two", "secret.py", 404);
    asked("one", "a.py", 404);
}
