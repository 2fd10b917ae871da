//! Attacks by revisions and by the objects of a clone: each is refused in a sentence or shows what can be read, and the
//! server goes on.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::numbered;
use crate::agents::Agent;
use crate::harness::{Fixture, Server};

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Expects an answer, or a refusal in one short line that tells nothing of the server.
#[track_caller]
fn is_answered(server: &Server, fixture: &Fixture, address: &str) -> Value {
    let (status, answer) = server.json(address);
    let shown = &address[..address.len().min(200)];
    // The operator has to look at a clone that is damaged.
    let is_damaged = status == 500 && answer.to_string().contains("of the clone is damaged");
    let is_answered = matches!(status, 200 | 400 | 404) || is_damaged;
    assert!(is_answered, "{shown}: {status} {answer}");
    if status != 200 {
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.len() < 2000 && !message.contains('\n'), "{shown}: {message}");
        assert!(!message.contains(fixture.path().to_str().unwrap()), "{shown}: {message}");
    }
    answer
}

#[test]
fn hostile_revisions_are_refused_in_a_sentence() {
    let fixture = Fixture::new();
    numbered(&fixture, "r", 3);
    fixture.ingest();
    let server = fixture.serve();
    let mut agent = Agent::of(&fixture);
    let steps = "~".repeat(900);
    let parents = "^".repeat(990);
    let long = "a".repeat(100_000);
    let revisions = [
        ":/number",
        ":/(a*)*$",
        "HEAD^{/number}",
        "HEAD^{tree}",
        "HEAD^{blob}",
        "HEAD@{1}",
        "@{-1}",
        "@{upstream}",
        "HEAD@{1 second ago}",
        "HEAD:n.txt",
        ":0:n.txt",
        "^HEAD",
        "HEAD^!",
        "HEAD^@",
        "HEAD^-1",
        "--all",
        "-n1",
        "--output=/tmp/x",
        "/etc/passwd",
        "refs/heads/../../config",
        "../../config",
        "HEAD\\n",
        "\u{1b}[31mHEAD",
        "HEAD~99999999999999999999",
        "HEAD~1000000",
        "HEAD^1000000",
        "HEAD^{}~3^{commit}~9",
        "v1-5-g",
        "0000000000000000000000000000000000000000",
        "ffffffffffffffffffffffffffffffffffffffffff",
        "e",
        "\u{202e}DAEH",
        "$(id)",
        "HEAD;id",
        "|id",
        steps.as_str(),
        parents.as_str(),
        long.as_str(),
    ];
    for revision in revisions {
        let (of, name) = (encoded(revision), encoded(&format!("rev:\"{revision}\" number")));
        for address in [
            format!("/search?q={name}"),
            format!("/search?q={}", encoded(&format!("repo:r@{revision} number"))),
            format!("/search?q={}", encoded(&format!("diff:\"{revision}..\" number"))),
            format!("/search?q={}", encoded(&format!("diff:\"...{revision}\" number"))),
            format!("/file?repo=r&path=n.txt&rev={of}"),
            format!("/repos?repo=r&rev={of}"),
            format!("/outline?repo=r&path=n.txt&rev={of}"),
            format!("/blame?repo=r&path=n.txt&rev={of}"),
            format!("/history?repo=r&path=n.txt&rev={of}"),
            format!("/diff?repo=r&base={of}&head=HEAD"),
            format!("/diff?repo=r&commit={of}"),
        ] {
            // The line of a request has a limit of its own.
            if address.len() < 8000 {
                is_answered(&server, &fixture, &address);
            }
        }
        for (tool, arguments) in [
            ("search", json!({ "query": format!("rev:\"{revision}\" number") })),
            ("read_file", json!({ "repo": "r", "path": "n.txt", "revision": revision })),
            ("outline", json!({ "repo": "r", "path": "n.txt", "revision": revision })),
            ("diff", json!({ "repo": "r", "range": format!("{revision}..HEAD") })),
        ] {
            let answer = agent.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.len() < 4000 && !text.contains("failed; see the log"), "{tool}: {text}");
        }
    }
    let answer = is_answered(&server, &fixture, "/search?q=rev:HEAD~1+number");
    assert_eq!(answer["stats"]["files"], 1, "{answer}");
}

/// Makes a clone of what `git fast-import` reads.
fn import(fixture: &Fixture, repo: &str, stream: &str) {
    fs::create_dir_all(fixture.path().join(repo)).unwrap();
    fixture.git(repo, &["init", "--quiet", "-b", "main"]);
    let mut command = Command::new("git");
    command.args(["fast-import", "--quiet"]).current_dir(fixture.path().join(repo));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    fixture.git(repo, &["reset", "--quiet", "--hard", "main"]);
}

/// Commits of a long line.
const COMMITS: usize = 20_000;

const BY: &str = "committer A <a@b> 1700000000 +0000\ndata 1\nx\n";

#[test]
fn graphs_of_many_commits_are_followed() {
    let fixture = Fixture::new();
    // A long line.
    let mut stream = String::new();
    for n in 0..COMMITS {
        writeln!(
            stream,
            "commit refs/heads/main\n{BY}M 644 inline n.txt\ndata {}",
            n.to_string().len() + 8
        )
        .unwrap();
        writeln!(stream, "number {n}").unwrap();
    }
    import(&fixture, "line", &stream);
    // Two branches, each of which merges the other again and again: there are 2^60 ways from the end to the beginning.
    let mut stream =
        format!("commit refs/heads/main\nmark :1\n{BY}M 644 inline a.txt\ndata 2\na\n");
    let mut ends = (1, 1);
    for n in 0..60 {
        let (a, b) = (2 * n + 2, 2 * n + 3);
        for (mark, branch, first, other) in
            [(a, "main", ends.0, ends.1), (b, "other", ends.1, ends.0)]
        {
            write!(stream, "commit refs/heads/{branch}\nmark :{mark}\n{BY}from :{first}\n")
                .unwrap();
            if first != other {
                writeln!(stream, "merge :{other}").unwrap();
            }
            write!(stream, "M 644 inline {branch}.txt\ndata {}\n{n}\n", n.to_string().len() + 1)
                .unwrap();
        }
        ends = (a, b);
    }
    import(&fixture, "crossed", &stream);
    fixture.ingest();
    let first = format!("HEAD~{}", COMMITS - 1);
    assert_eq!(
        fixture.search(&[&format!("rev:{first} repo:line number")]),
        ["line/n.txt:1:number 0"]
    );
    let ran = fixture.run(&["search", &format!("rev:HEAD~{COMMITS} repo:line number")]).code(2);
    assert!(ran.err.contains("goes back too far"), "{}", ran.err);
    let found = fixture.search(&[&format!("diff:{first}... repo:line added:{}", COMMITS - 1)]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(fixture.search(&["rev:HEAD~58^2 repo:crossed file:other"]).len(), 1);
    let changed = fixture.run(&["diff", "main...other", "--repo", "crossed"]).code(0).out;
    assert!(changed.contains("other.txt"), "{changed}");
    assert_eq!(fixture.search(&["rev:HEAD~60 repo:crossed content:/./"]), ["crossed/a.txt:1:a"]);
}

/// Writes an object without a check, and returns its hash.
fn object(fixture: &Fixture, repo: &str, kind: &str, contents: &[u8]) -> String {
    let mut command = Command::new("git");
    command.args(["hash-object", "-w", "--literally", "-t", kind, "--stdin"]);
    command.current_dir(fixture.path().join(repo)).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(contents).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success());
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// Returns an entry of a tree.
fn entry(mode: &str, name: &[u8], hash: &str) -> Vec<u8> {
    let bytes =
        (0..hash.len()).step_by(2).map(|at| u8::from_str_radix(&hash[at..at + 2], 16).unwrap());
    [mode.as_bytes(), b" ", name, b"\0", &bytes.collect::<Vec<u8>>()].concat()
}

#[test]
fn hostile_objects_are_refused_or_left_out() {
    let fixture = Fixture::new();
    let commits = numbered(&fixture, "r", 3);
    let blob = object(&fixture, "r", "blob", b"needle in an odd place\n");
    let bomb = object(&fixture, "r", "blob", &vec![b'a'; 8 << 20]);
    let tree = |entries: &[Vec<u8>]| object(&fixture, "r", "tree", &entries.concat());
    let by = "author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n";
    let mut trees = Vec::new();
    for mode in ["100644", "100664", "100600", "0", "777777", "120000", "160000", "40000", "99", ""]
    {
        trees.push(tree(&[entry(mode, b"odd.txt", &blob)]));
    }
    let names: [&[u8]; 11] = [
        b".",
        b"..",
        b".git",
        b".GIT",
        b"a/b",
        b"/etc/passwd",
        b"",
        b"\xff\xfe",
        b"a\nb",
        b"../../x",
        b"con\x1b[31m",
    ];
    for name in names {
        trees.push(tree(&[entry("100644", name, &blob)]));
    }
    // The same name twice, disorder, a file in the place of a folder, and folders without end.
    trees.push(tree(&[entry("100644", b"a", &blob), entry("100644", b"a", &blob)]));
    trees.push(tree(&[entry("100644", b"b", &blob), entry("100644", b"a", &blob)]));
    trees.push(tree(&[entry("40000", b"folder", &blob), entry("100644", b"x", &commits[0])]));
    let mut deep = tree(&[entry("100644", b"needle.txt", &blob)]);
    for _ in 0..150 {
        deep = tree(&[entry("40000", b"d", &deep)]);
    }
    trees.push(deep);
    // Each level has the one below it twice: 2^40 files.
    let mut wide = tree(&[entry("100644", b"needle.txt", &blob)]);
    for _ in 0..40 {
        wide = tree(&[entry("40000", b"a", &wide), entry("40000", b"b", &wide)]);
    }
    trees.push(tree(&[entry("100644", b"bomb.txt", &bomb), entry("100644", b"needle.txt", &blob)]));
    trees.push(object(&fixture, "r", "tree", b"100644 cut"));
    let mut revisions: Vec<String> = trees
        .iter()
        .map(|tree| object(&fixture, "r", "commit", format!("tree {tree}\n{by}").as_bytes()))
        .collect();
    let good = fixture.git("r", &["rev-parse", "HEAD^{tree}"]);
    let missing = "1234567890123456789012345678901234567890";
    for text in [
        String::new(),
        "tree\n".to_owned(),
        format!("tree {missing}\n{by}"),
        format!("tree {blob}\n{by}"),
        format!("tree {good}\nparent {missing}\n{by}"),
        format!("tree {good}\nparent {blob}\n{by}"),
        format!("tree {good}\n{}{by}", format!("parent {}\n", commits[0]).repeat(5000)),
        format!("tree {good}\nauthor \u{1b}[31m <> 99999999999999999999 +9999\ncommitter\n\n"),
    ] {
        let commit = object(&fixture, "r", "commit", text.as_bytes());
        revisions.push(format!("{commit}~1"));
        revisions.push(commit);
    }
    // Tags of tags.
    let mut tag = commits[0].clone();
    for n in 0..40 {
        let kind = if n == 0 { "commit" } else { "tag" };
        let text = format!("object {tag}\ntype {kind}\ntag t\ntagger A <a@b> 1 +0000\n\nx\n");
        tag = object(&fixture, "r", "tag", text.as_bytes());
    }
    revisions.push(tag);
    // Refs that lead to each other, or to nothing.
    for (name, text) in [
        ("loop-a", "ref: refs/heads/loop-b\n"),
        ("loop-b", "ref: refs/heads/loop-a\n"),
        ("itself", "ref: refs/heads/itself\n"),
        ("outside", "ref: ../../../../etc/passwd\n"),
        ("garbage", "\0\0\0\0"),
        ("missing", missing),
    ] {
        fs::write(fixture.path().join(format!("r/.git/refs/heads/{name}")), text).unwrap();
        revisions.push(name.to_owned());
    }
    fixture.ingest();
    let server = fixture.serve();
    for revision in &revisions {
        for address in [
            format!("/search?q=rev:{revision}+needle&timeout=20s"),
            format!("/search?q={}", encoded(&format!("diff:{}..{revision} needle", commits[0]))),
            format!("/diff?repo=r&commit={revision}"),
            format!("/repos?repo=r&rev={revision}"),
        ] {
            let answer = is_answered(&server, &fixture, &address);
            let paths = answer["files"].as_array().into_iter().flatten();
            for path in paths.filter_map(|file| file["path"].as_str()) {
                let is_odd = |part: &str| {
                    ["", ".", ".."].contains(&part) || part.eq_ignore_ascii_case(".git")
                };
                assert!(!path.split('/').any(is_odd), "{address}: {path}");
            }
        }
    }
    // Listing files without end ends at the timeout, or at the limit of their number.
    let wide = object(&fixture, "r", "commit", format!("tree {wide}\n{by}").as_bytes());
    let answer = is_answered(&server, &fixture, &format!("/search?q=rev:{wide}+needle&timeout=1s"));
    assert!(answer["stats"]["complete"] != true, "{answer}");
    let answer = is_answered(&server, &fixture, &format!("/search?q=rev:{}+number", commits[1]));
    assert_eq!(answer["stats"]["files"], 1, "{answer}");
    // A pack that is cut in the middle, and one with other bytes.
    fixture.git("r", &["update-ref", "refs/heads/kept", &commits[1]]);
    for name in ["loop-a", "loop-b", "itself", "outside", "garbage", "missing"] {
        fs::remove_file(fixture.path().join(format!("r/.git/refs/heads/{name}"))).unwrap();
    }
    fixture.git("r", &["repack", "-a", "-d", "--quiet"]);
    fixture.git("r", &["prune-packed"]);
    let packs = fixture.path().join("r/.git/objects/pack");
    let pack = fs::read_dir(packs).unwrap().map(|entry| entry.unwrap().path());
    let pack =
        pack.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "pack")).unwrap();
    let whole = fs::read(&pack).unwrap();
    fs::set_permissions(&pack, fs::Permissions::from_mode(0o644)).unwrap();
    let mut other = whole.clone();
    other[whole.len() / 3..whole.len() / 2].fill(0xa5);
    for bytes in [&whole[..whole.len() / 2], &other, &whole[..10], b"".as_slice()] {
        fs::write(&pack, bytes).unwrap();
        for revision in [&commits[0], &commits[1], "HEAD~1", "kept"] {
            let ran = fixture.run(&["search", &format!("rev:{revision} number")]);
            let code = ran.status.code();
            assert!(matches!(code, Some(0..=2)) && !ran.err.contains("panicked"), "{}", ran.err);
            is_answered(&server, &fixture, &format!("/search?q=rev:{revision}+number"));
            is_answered(&server, &fixture, &format!("/diff?repo=r&commit={revision}"));
        }
    }
    // The index still answers, and the whole pack is read again.
    assert_eq!(fixture.search(&["content:number"]), ["r/n.txt:1:this is number 2 of r"]);
    fs::write(&pack, &whole).unwrap();
    assert_eq!(fixture.search(&["rev:kept content:number"]), ["r/n.txt:1:this is number 1 of r"]);
}
