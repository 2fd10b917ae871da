//! The history of lines: `ingest --history`, and searches by `history:`. They are compared with `git log -p`.

mod generated;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::{Fixture, eventually};

/// A changed file of a commit: name of the commit, path, and its lines, sorted, each after `+` or `-`.
type Changed = (String, String, Vec<String>);

/// Returns all changed files of the commits that lead to some revisions, the newest commit first, as `git log -p` tells
/// them. Symbolic links and submodules have no lines.
fn log(folder: &Path, revisions: &[&str]) -> Vec<Changed> {
    let mut command = Command::new("git");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.args([
        "-c",
        "core.quotePath=true",
        "-c",
        "diff.renameLimit=0",
        "log",
        "--format=%x00%H",
    ]);
    command.args([
        "-p",
        "-U0",
        "-M",
        "--diff-algorithm=histogram",
        "--no-ext-diff",
        "--no-textconv",
    ]);
    let done = command.args(["--no-color"]).args(revisions).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut all = Vec::new();
    for one in done.stdout.split(|byte| *byte == 0).skip(1) {
        let one = String::from_utf8_lossy(one).into_owned();
        let (commit, printed) = one.split_once('\n').unwrap();
        let mut lines = printed.split_terminator('\n').peekable();
        let (mut path, mut changed, mut is_file) = (String::new(), Vec::new(), true);
        let mut keep = |path: &mut String, changed: &mut Vec<String>, is_file: bool| {
            let mut of: Vec<String> = std::mem::take(changed);
            of.sort();
            if !of.is_empty() && is_file {
                all.push((commit.to_owned(), std::mem::take(path), of));
            }
        };
        while let Some(line) = lines.next() {
            if line.starts_with("diff --git ") {
                keep(&mut path, &mut changed, is_file);
                is_file = true;
            } else if let Some(name) =
                line.strip_prefix("--- ").or_else(|| line.strip_prefix("+++ "))
            {
                if name != "/dev/null" {
                    unquoted(name)[2..].clone_into(&mut path);
                }
            } else if line.ends_with(" 120000") || line.ends_with(" 160000") {
                is_file = false;
            } else if let Some(ranges) = line.strip_prefix("@@ ") {
                let mut ranges = ranges.split(' ');
                let mut count = || {
                    let range = ranges.next().unwrap();
                    range.split_once(',').map_or(1, |(_, count)| count.parse::<usize>().unwrap())
                };
                let mut left = count() + count();
                while left > 0 {
                    let line = lines.next().unwrap();
                    if !line.starts_with('\\') {
                        changed.push(line.to_owned());
                        left -= 1;
                    }
                }
            }
        }
        keep(&mut path, &mut changed, is_file);
    }
    all
}

/// Returns a path that git may have quoted. Bytes that are not UTF-8 are replaced.
fn unquoted(name: &str) -> String {
    let name = name.strip_suffix('\t').unwrap_or(name);
    let Some(quoted) = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return name.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = quoted.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let escaped = rest.next().unwrap();
        bytes.push(match escaped {
            b'0'..=b'3' => {
                let digits = [escaped, rest.next().unwrap(), rest.next().unwrap()];
                digits.iter().fold(0, |value, digit| value * 8 + (digit - b'0'))
            }
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the changed files that a search finds, in its order, with their matching lines, sorted.
fn found(fixture: &Fixture, args: &[&str]) -> Vec<Changed> {
    let ran = fixture.run(&[&["search", "--json", "--limit", "0"], args].concat());
    assert!(matches!(ran.status.code(), Some(0 | 1)), "{args:?}: {}", ran.err);
    let mut all: Vec<Changed> = Vec::new();
    for line in ran.out.lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        let data = &message["data"];
        match message["type"].as_str().unwrap() {
            "begin" => {
                let path = data["path"]["text"].as_str().unwrap();
                let path = path.split_once('/').unwrap().1.to_owned();
                all.push((data["commit"]["hash"].as_str().unwrap().to_owned(), path, Vec::new()));
            }
            "match" => {
                let sign = match data["change"].as_str().unwrap() {
                    "added" => '+',
                    "removed" => '-',
                    other => panic!("{other}"),
                };
                let text = data["lines"]["text"].as_str().unwrap();
                let text = text.strip_suffix('\n').unwrap_or(text);
                all.last_mut().unwrap().2.push(format!("{sign}{text}"));
            }
            _ => {}
        }
    }
    for (.., lines) in &mut all {
        lines.sort();
    }
    all
}

/// Returns those changed files that have lines of a kind, with these only.
fn only(log: &[Changed], matches: impl Fn(&str, &str) -> bool) -> Vec<Changed> {
    let of = |(commit, path, lines): &Changed| {
        let lines: Vec<String> =
            lines.iter().filter(|line| matches(&line[..1], &line[1..])).cloned().collect();
        (!lines.is_empty()).then(|| (commit.clone(), path.clone(), lines))
    };
    log.iter().filter_map(of).collect()
}

/// A condition on the sign and the text of a line.
type Condition = fn(&str, &str) -> bool;

/// Queries, and what they mean.
const QUERIES: &[(&str, Condition)] = &[
    ("history:alpha", |_, line| line.to_lowercase().contains("alpha")),
    ("history:Alpha", |_, line| line.contains("Alpha")),
    ("history:^}$", |_, line| line == "}"),
    ("history:^$", |_, line| line.is_empty()),
    ("history:/beta_[0-9]*7;/", |_, line| {
        let digits = |rest: &str| {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..end].ends_with('7') && rest[end..].starts_with(';')
        };
        line.to_lowercase().split("beta_").skip(1).any(digits)
    }),
    ("history:nothing_has_this", |_, _| false),
    ("history:* added:gamma", |sign, line| sign == "+" && line.to_lowercase().contains("gamma")),
    ("history:* removed:gamma", |sign, line| sign == "-" && line.to_lowercase().contains("gamma")),
    ("history:.", |_, line| !line.is_empty()),
];

/// Compares searches with a log. The order of commits is that of their times.
#[track_caller]
fn check(fixture: &Fixture, log: &[Changed], context: &str) {
    for (query, condition) in QUERIES {
        let (mut expected, mut found) = (only(log, condition), found(fixture, &[query]));
        let order = |changed: &[Changed]| {
            let mut commits: Vec<String> = changed.iter().map(|of| of.0.clone()).collect();
            commits.dedup();
            commits
        };
        // Git walks commits of the same second from its first revision.
        if !context.starts_with("branches") {
            assert_eq!(order(&found), order(&expected), "{context}: the commits of {query}");
        }
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{context}: {query}");
    }
}

#[track_caller]
fn ingest(fixture: &Fixture, options: &[&str]) -> String {
    let ran =
        fixture.run(&[&["ingest", "--no-symbols", "--shards", "2"], options, &["."]].concat());
    let ran = ran.code(0);
    ran.out + &ran.err
}

#[test]
fn searches_find_the_lines_of_git_log() {
    for seed in 0..3 {
        let fixture = Fixture::new();
        generated::repository(&fixture, "repo", seed, 70);
        ingest(&fixture, &["--history"]);
        let log = log(&fixture.path().join("repo"), &["HEAD"]);
        assert!(log.len() > 50, "{}", log.len());
        check(&fixture, &log, &format!("seed {seed}"));
        fixture.check_invariants();
        // What depends on names.
        let path = &log[log.len() / 2].1;
        let of_path: Vec<Changed> = log.iter().filter(|of| of.1 == *path).cloned().collect();
        let quoted = format!("file:\"^{}$\"", escaped(path));
        let by_path: Vec<Changed> = found(&fixture, &["history:.", &quoted])
            .into_iter()
            .filter(|of| of.1 == *path)
            .collect();
        assert_eq!(by_path.len(), only(&of_path, |_, line| !line.is_empty()).len(), "{path:?}");
        let oldest = found(&fixture, &["--sort", "oldest", "history:alpha"]);
        let mut newest = found(&fixture, &["history:alpha"]);
        newest.sort();
        let mut sorted = oldest.clone();
        sorted.sort();
        assert_eq!(sorted, newest);
        let first = only(&log, QUERIES[0].1).last().unwrap().0.clone();
        assert_eq!(oldest[0].0, first);
        assert_eq!(found(&fixture, &["history:alpha", "-repo:repo"]), []);
    }
}

/// Returns a pattern for a text within quotes.
fn escaped(text: &str) -> String {
    text.chars().map(|c| if c.is_alphanumeric() { c.to_string() } else { ".".to_owned() }).collect()
}

#[test]
fn a_history_is_updated_with_each_ingest() {
    let fixture = Fixture::new();
    generated::repository(&fixture, "repo", 11, 30);
    let folder = fixture.path().join("repo");
    assert!(!ingest(&fixture, &[]).contains("history:"));
    let ran = fixture.run(&["search", "history:alpha"]).code(1);
    assert!(ran.err.contains("repo") && ran.err.contains("ingest --history"), "{}", ran.err);
    ingest(&fixture, &["--history"]);
    let mut at_least_one_merge = false;
    for round in 0..8 {
        fixture.write("repo/new.txt", format!("alpha {round}\nbeta_{round}7;\n}}\n"));
        fixture.commit("repo", &format!("round {round}"));
        let told = ingest(&fixture, &[]);
        assert!(told.contains("history: 1 commit read"), "{told}");
        if round % 3 == 1 {
            check(&fixture, &log(&folder, &["HEAD"]), &format!("round {round}"));
        }
        let batches: i64 = fixture.sql("select count(*) from history_batches");
        assert!(batches <= 4, "{batches}");
        at_least_one_merge |= batches < i64::from(round) + 2;
    }
    assert!(at_least_one_merge);
    let told = ingest(&fixture, &[]);
    assert!(!told.contains("history:"), "nothing is new: {told}");
    fixture.check_invariants();

    fixture.write("repo/new.txt", "alpha amended\n");
    fixture.git("repo", &["commit", "--quiet", "--all", "--amend", "--message", "amended"]);
    let told = ingest(&fixture, &[]);
    assert!(told.contains("1 commit read") && told.contains("1 no longer reached"), "{told}");
    check(&fixture, &log(&folder, &["HEAD"]), "amended");
    fixture.check_invariants();

    // Nothing leads to the commits of before, and git deletes them.
    fixture.git("repo", &["reset", "--quiet", "--hard", "HEAD~6"]);
    fixture.git("repo", &["reflog", "expire", "--expire=now", "--all"]);
    fixture.git("repo", &["gc", "--quiet", "--prune=now"]);
    fixture.commit("repo", "after");
    ingest(&fixture, &[]);
    check(&fixture, &log(&folder, &["HEAD"]), "reset");
    fixture.check_invariants();

    fixture.git("repo", &["config", "codesearch.history", "false"]);
    let told = ingest(&fixture, &[]);
    assert!(told.contains("the history of repo is removed"), "{told}");
    assert_eq!(found(&fixture, &["history:alpha"]), []);
    fixture.git("repo", &["config", "codesearch.history", "true"]);
    ingest(&fixture, &[]);
    check(&fixture, &log(&folder, &["HEAD"]), "configured");
    ingest(&fixture, &["--no-history"]);
    let rows: i64 = fixture.sql(
        "select (select count(*) from histories) + (select count(*) from history_batches)
              + (select count(*) from history_commits) + (select count(*) from history_lines)",
    );
    assert_eq!(rows, 0);
    fixture.check_invariants();
}

#[test]
fn indexed_branches_are_part_of_a_history() {
    let fixture = Fixture::new();
    generated::repository(&fixture, "repo", 13, 20);
    let folder = fixture.path().join("repo");
    fixture.git("repo", &["checkout", "--quiet", "-b", "side", "HEAD~4"]);
    fixture.write("repo/of-side.txt", "alpha of side\n");
    fixture.commit("repo", "side");
    fixture.git("repo", &["checkout", "--quiet", "main"]);
    ingest(&fixture, &["--history"]);
    check(&fixture, &log(&folder, &["main"]), "branches: without it");
    ingest(&fixture, &["--branches", "side"]);
    check(&fixture, &log(&folder, &["main", "side"]), "branches: with it");
    fixture.check_invariants();
    fixture.git("repo", &["branch", "--quiet", "-D", "side"]);
    let told = ingest(&fixture, &[]);
    assert!(told.contains("1 no longer reached"), "{told}");
    check(&fixture, &log(&folder, &["main"]), "branches: deleted");
    fixture.check_invariants();
}

#[test]
fn a_removed_repository_takes_its_history_along() {
    let fixture = Fixture::new();
    for name in ["a", "b"] {
        generated::repository(&fixture, name, 5, 10);
    }
    ingest(&fixture, &["--history"]);
    let both = found(&fixture, &["history:alpha"]);
    let mut some = fixture.command(&["search", "--json", "--limit", "0", "history:alpha"]);
    let some = some.env("CODESEARCH_REPOS", "^b$").output().unwrap();
    let some = String::from_utf8(some.stdout).unwrap();
    assert_eq!(some.matches("\"begin\"").count() * 2, both.len(), "only what may be seen");
    fixture.run(&["remove", "a"]).code(0);
    // Cherry-picked changes, and those of copies of a repository, stay apart.
    assert_eq!(found(&fixture, &["history:alpha"]).len() * 2, both.len());
    let rows: i64 = fixture
        .sql("select count(*) from history_batches where repo not in (select id from repos)");
    assert_eq!(rows, 0);
    fixture.check_invariants();
}

#[test]
fn a_killed_build_goes_on_and_shows_nothing() {
    let fixture = Fixture::new();
    generated::repository(&fixture, "repo", 17, 60);
    let folder = fixture.path().join("repo");
    ingest(&fixture, &[]);
    // Each commit is a batch of its own, so a build can be killed after each.
    let args = ["ingest", "--no-symbols", "--shards", "2", "--shard-bytes", "1", "--history", "."];
    for stored in [1, 7, 30] {
        let mut child =
            fixture.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        eventually("the build has come so far", || {
            fixture.sql::<i64>("select count(*) from history_commits") >= stored
                || child.try_wait().unwrap().is_some()
        });
        child.kill().unwrap();
        child.wait().unwrap();
        let is_complete: Option<bool> = fixture.sql("select bool_and(is_complete) from histories");
        if is_complete != Some(true) {
            assert_eq!(found(&fixture, &["history:alpha"]), []);
        }
        fixture.check_invariants();
    }
    fixture.run(&args).code(0);
    check(&fixture, &log(&folder, &["HEAD"]), "killed");
    fixture.check_invariants();

    // A killed update has changed nothing.
    let before = log(&folder, &["HEAD"]);
    fixture.write("repo/new.txt", "alpha\n");
    fixture.commit("repo", "new");
    let held = fixture.hold("lock table history_lines in share mode");
    let mut child =
        fixture.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("the update waits", || {
        fixture.sql::<bool>("select exists (select from pg_locks where not granted and relation = 'history_lines'::regclass)")
    });
    child.kill().unwrap();
    child.wait().unwrap();
    drop(held);
    check(&fixture, &before, "a killed update");
    fixture.run(&args).code(0);
    check(&fixture, &log(&folder, &["HEAD"]), "the next update");
    fixture.check_invariants();
}

#[test]
fn shallow_and_partial_clones_are_told() {
    let fixture = Fixture::new();
    generated::repository(&fixture, "origin", 23, 30);
    fixture.git("origin", &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", fixture.path().join("origin").display());
    for (name, option) in [("shallow", "--depth=5"), ("partial", "--filter=blob:none")] {
        fixture.git(".", &["clone", "--quiet", option, &url, &format!("clones/{name}")]);
    }
    let args = ["ingest", "--no-symbols", "--shards", "2", "--history", "clones"];
    let told = fixture.run(&args).code(0).err;
    assert!(
        told.contains("is incomplete, as it is a shallow clone; fetch all of it with"),
        "{told}"
    );
    assert!(told.contains("changed files, as it is a partial clone"), "{told}");
    let folder = fixture.path().join("clones/shallow");
    let expected = only(&log(&folder, &["HEAD"]), QUERIES[0].1);
    assert_eq!(found(&fixture, &["history:alpha", "repo:shallow"]).len(), expected.len());
    fixture.check_invariants();
    // With all commits, those where it ended do not have all lines any more.
    fixture.git("clones/shallow", &["fetch", "--quiet", "--unshallow", &url, "main"]);
    let told = fixture.run(&args).code(0).err;
    assert!(!told.contains("shallow clone"), "{told}");
    let expected = only(&log(&folder, &["HEAD"]), QUERIES[0].1);
    assert_eq!(found(&fixture, &["history:alpha", "repo:shallow"]).len(), expected.len());
}

#[test]
fn cursors_continue_where_an_answer_ended() {
    let fixture = Fixture::new();
    generated::repository(&fixture, "repo", 31, 40);
    ingest(&fixture, &["--history"]);
    let server = fixture.serve();
    for sort in ["", "&sort=oldest"] {
        let answer = |limit: usize, cursor: Option<&str>| -> Value {
            let cursor = cursor.map_or(String::new(), |cursor| format!("&cursor={cursor}"));
            let (status, answer) =
                server.json(&format!("/search?q=history:alpha&limit={limit}{sort}{cursor}"));
            assert_eq!(status, 200, "{answer}");
            answer
        };
        let ids = |answer: &Value| -> Vec<String> {
            let results = answer["files"].as_array().unwrap();
            results.iter().map(|of| format!("{} {}", of["commit"]["hash"], of["path"])).collect()
        };
        let all = ids(&answer(1000, None));
        assert!(all.len() > 20);
        let (mut pages, mut cursor) = (Vec::new(), None);
        loop {
            let page = answer(7, cursor.as_deref());
            pages.extend(ids(&page));
            if pages.len() == 7 {
                // Newer commits do not move what follows.
                fixture.write("repo/later.txt", format!("alpha {sort}\n"));
                fixture.commit("repo", "later");
                ingest(&fixture, &[]);
            }
            cursor = page["next"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        pages.retain(|id| !id.ends_with("\"later.txt\"") || all.contains(id));
        assert_eq!(pages, all, "{sort}");
    }
}

#[test]
fn people_ask_by_sql() {
    let fixture = Fixture::new();
    generated::repository(&fixture, "repo", 41, 30);
    ingest(&fixture, &["--history"]);
    let log = log(&fixture.path().join("repo"), &["HEAD"]);
    let lines = |condition: &str| -> Vec<String> {
        let sql = format!("select commit, path, kind, line from history_lines where {condition}");
        let out = fixture.run(&["sql", "--format", "json", &sql]).code(0).out;
        let of = |line: &str| {
            let row: Value = serde_json::from_str(line).unwrap();
            let sign = if row["kind"] == "added" { '+' } else { '-' };
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            format!("{} {} {sign}{}", text("commit"), text("path"), text("line"))
        };
        let mut lines: Vec<String> = out.lines().map(of).collect();
        lines.sort();
        lines
    };
    let expected = |matches: Condition| -> Vec<String> {
        let all = only(&log, matches);
        let of = |(commit, path, lines): Changed| {
            lines.into_iter().map(move |line| format!("{commit} {path} {line}")).collect::<Vec<_>>()
        };
        let mut lines: Vec<String> = all.into_iter().flat_map(of).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines("line ilike '%alpha%'"), expected(QUERIES[0].1));
    assert_eq!(lines("words ilike '%alpha%' and line ilike '%alpha%'"), expected(QUERIES[0].1));
    assert_eq!(lines("true"), expected(|_, _| true));
    let commits = fixture.run(&[
        "sql",
        "--format",
        "csv",
        "select commit from history_commits order by time",
    ]);
    let count = fixture.git("repo", &["rev-list", "--count", "HEAD"]).parse::<usize>().unwrap();
    assert_eq!(commits.code(0).out.lines().count(), count + 1);
    let joined =
        "select count(distinct path) from history_lines join files using (repository, path)";
    let joined = fixture.run(&["sql", "--format", "csv", joined]).code(0).out;
    assert!(joined.lines().nth(1).unwrap().parse::<usize>().unwrap() > 3, "{joined}");
}

#[test]
fn graphs_of_many_commits_are_walked() {
    let fixture = Fixture::new();
    let mut stream = Vec::new();
    for mark in 1..=30_000 {
        let from = if mark == 1 { String::new() } else { format!("from :{}\n", mark - 1) };
        let file = if mark % 1000 == 1 {
            format!("M 100644 inline f\ndata 8\nalpha {:01}\n", mark / 1000 % 10)
        } else {
            String::new()
        };
        let commit = format!(
            "commit refs/heads/main\nmark :{mark}\ncommitter A <a@x> {} +0000\ndata 1\nc\n{from}{file}\n",
            1_000_000 + mark
        );
        stream.extend(commit.into_bytes());
    }
    generated::import(&fixture, "repo", &stream);
    let told = ingest(&fixture, &["--history"]);
    assert!(told.contains("history: 30,000 commits read"), "{told}");
    let commits: BTreeMap<String, usize> =
        found(&fixture, &["history:alpha"]).into_iter().fold(BTreeMap::new(), |mut all, of| {
            *all.entry(of.0).or_default() += 1;
            all
        });
    assert_eq!(commits.len(), 30);
    fixture.check_invariants();
}
