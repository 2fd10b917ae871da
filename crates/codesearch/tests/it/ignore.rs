//! Which files of a repository are taken: what git tracks, and what no ignore file names.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::agents::Agent;
use crate::harness::{Fixture, Ran};

/// A file that every search of these tests finds.
const TEXT: &str = "found me\n";

/// Returns the paths that are indexed of a repository, by git's order.
fn indexed(fixture: &Fixture, repo: &str) -> Vec<String> {
    let sql = format!(
        "select coalesce(array_agg(path order by path collate \"C\"), '{{}}') from codesearch_sql.files \
         where repository = '{repo}'"
    );
    fixture.sql(&sql)
}

/// Returns what was left out of a repository: `PATH: REASON RULE`.
fn left_out(fixture: &Fixture, repo: &str) -> Vec<String> {
    let ran = fixture.run(&["repos", "--json", "--skipped", repo]);
    let rows = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut rows: Vec<String> = rows
        .map(|row| {
            let rule = row["rule"].as_str().unwrap_or_default();
            format!("{}: {} {rule}", row["path"].as_str().unwrap(), row["reason"].as_str().unwrap())
        })
        .collect();
    rows.sort();
    rows
}

/// Returns a repository as `repos` shows it.
fn shown(fixture: &Fixture, repo: &str) -> Value {
    let out = fixture.run(&["repos", "--json", repo]).code(0).out;
    serde_json::from_str(out.lines().next().unwrap()).unwrap()
}

/// A clone with untracked files, and with tracked ones that its rules name.
fn clone() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("r/.gitignore", "node_modules/\n*.log\n");
    for path in ["r/src/a.rs", "r/kept.log", "r/node_modules/patched/b.js"] {
        fixture.write(path, TEXT);
    }
    fixture.git("r", &["init", "--quiet"]);
    fixture.git("r", &["add", "--force", "--all"]);
    fixture.commit("r", "all");
    for path in ["r/new.rs", "r/new.log", "r/node_modules/x/index.js", "r/node_modules/y/index.js"]
    {
        fixture.write(path, TEXT);
    }
    fixture
}

fn ingest(fixture: &Fixture, options: &[&str]) -> Ran {
    fixture.run(&[&["ingest", "--shards", "3"], options, &["."]].concat()).code(0)
}

#[test]
fn a_clone_is_taken_as_git_sees_it() {
    let fixture = clone();
    let out = ingest(&fixture, &[]).out;
    assert!(out.contains("left out: 2 files (2 named by an ignore file)"), "{out}");
    let of_git = [".gitignore", "kept.log", "new.rs", "node_modules/patched/b.js", "src/a.rs"];
    assert_eq!(indexed(&fixture, "r"), of_git);
    let rows = [
        "new.log: ignored .gitignore:2 *.log",
        "node_modules/: ignored .gitignore:1 node_modules/",
    ];
    assert_eq!(left_out(&fixture, "r"), rows);
    let table = fixture.run(&["repos", "--skipped", "r"]).code(0).out;
    assert!(
        table.contains("named by an ignore file   node_modules/  (.gitignore:1 node_modules/)"),
        "{table}"
    );
    // Every state of the rules counts at once, although no file changes.
    fixture.write("r/.gitignore", "node_modules/\n");
    ingest(&fixture, &[]);
    assert!(indexed(&fixture, "r").contains(&"new.log".to_owned()));
    assert_eq!(left_out(&fixture, "r").len(), 1);
    // Nothing changed: nothing is published.
    let epoch = || fixture.sql::<i32>("select epoch from state");
    let before = epoch();
    fixture.write("r/node_modules/z.js", TEXT);
    ingest(&fixture, &[]);
    assert_eq!(epoch(), before);
    fixture.check_invariants();
}

#[test]
fn a_fresh_clone_is_taken_as_a_whole() {
    let fixture = clone();
    fixture.git(".", &["clone", "--quiet", "r", "fresh"]);
    fs::remove_dir_all(fixture.path().join("r")).unwrap();
    ingest(&fixture, &[]);
    let name = fixture.sql::<String>("select name from repos");
    let by_rules = indexed(&fixture, &name);
    let tracked = fixture.git("fresh", &["ls-files"]);
    assert_eq!(by_rules, tracked.lines().collect::<Vec<_>>());
    assert!(left_out(&fixture, &name).is_empty());
    ingest(&fixture, &["--no-ignore"]);
    assert_eq!(indexed(&fixture, &name), by_rules);
}

#[test]
fn the_choice_is_kept_until_another_is_given() {
    let fixture = clone();
    ingest(&fixture, &[]);
    let choice = |fixture: &Fixture| shown(fixture, "r")["no_ignore"].as_bool().unwrap();
    assert!(!choice(&fixture));
    // Files that look unchanged come and go with the choice.
    for (options, all) in [
        (&["--no-ignore"][..], true),
        (&[], true),
        (&["--ignore"], false),
        (&[], false),
        (&["--ignore", "--no-ignore"], true),
        (&["--no-ignore", "--ignore"], false),
    ] {
        ingest(&fixture, options);
        assert_eq!(indexed(&fixture, "r").len(), if all { 8 } else { 5 }, "{options:?}");
        assert_eq!(
            (choice(&fixture), left_out(&fixture, "r").is_empty()),
            (all, all),
            "{options:?}"
        );
        let table = fixture.run(&["repos"]).code(0).out;
        assert_eq!(table.contains("\n  --no-ignore: "), all, "{table}");
        let sql = "select no_ignore from codesearch_sql.repositories";
        assert_eq!(fixture.sql::<bool>(sql), all);
    }
    // A repository that is new has the default.
    ingest(&fixture, &["--no-ignore"]);
    fixture.write("s/.gitignore", "x\n");
    fixture.write("s/x", TEXT);
    fixture.commit("s", "all");
    ingest(&fixture, &[]);
    assert_eq!(
        (indexed(&fixture, "r").len(), indexed(&fixture, "s")),
        (8, vec![".gitignore".to_owned()])
    );
    assert!(fixture.run(&["ingest", "--gitignore", "."]).code(2).err.contains("--gitignore"));
    fixture.check_invariants();
}

#[test]
fn each_repository_has_its_own_rules() {
    let fixture = Fixture::new();
    fixture.write("lib/.gitignore", "*.tmp\n");
    fixture.write("lib/a.txt", TEXT);
    fixture.commit("lib", "all");
    fixture.write("r/.gitignore", "*.txt\n/trees\n/nested\n");
    fixture.write("r/a.md", TEXT);
    fixture.commit("r", "all");
    let from = fixture.path().join("lib");
    let from = from.to_str().unwrap();
    fixture.git(
        "r",
        &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "sub"],
    );
    fixture.git("r", &["worktree", "add", "--quiet", "trees/w", "-b", "w"]);
    fixture.git("r", &["clone", "--quiet", from, "nested"]);
    for path in [
        "r/x.txt",
        "r/x.tmp",
        "r/sub/x.txt",
        "r/sub/x.tmp",
        "r/trees/w/x.txt",
        "r/trees/w/x.tmp",
        "r/nested/x.txt",
    ] {
        fixture.write(path, TEXT);
    }
    // The rules of a clone hold in its worktrees.
    fixture.write("r/.git/info/exclude", "only.md\n");
    fixture.write("r/trees/w/only.md", TEXT);
    fs::remove_dir_all(fixture.path().join("lib")).unwrap();
    ingest(&fixture, &[]);
    let of = |folder: &str| -> Vec<String> {
        let root = fixture.path().canonicalize().unwrap();
        let sql =
            format!("select name from repos where source = '{}'", root.join(folder).display());
        indexed(&fixture, &fixture.sql::<String>(&sql))
    };
    assert_eq!(of("r"), [".gitignore", ".gitmodules", "a.md", "x.tmp"]);
    assert_eq!(of("r/sub"), [".gitignore", "a.txt", "x.txt"]);
    let worktree: Vec<String> = fixture.tree("r", Some(("worktree", "w"))).into_keys().collect();
    assert_eq!(worktree, [".gitignore", "a.md", "x.tmp"]);
    assert_eq!(of("r/nested"), [".gitignore", "a.txt", "x.txt"]);
    fixture.check_invariants();
}

#[test]
fn the_rules_of_the_user_are_those_of_who_ingests() {
    let fixture = Fixture::new();
    fixture.write("in/r/a.txt", TEXT);
    fixture.commit("in/r", "all");
    for path in ["in/r/b.one", "in/r/b.two", "in/r/b.three", "in/plain/b.one"] {
        fixture.write(path, TEXT);
    }
    fixture.write("config/git/ignore", "*.one\n");
    fixture.write(
        "home/.gitconfig",
        "[include]\n\tpath = more\n[includeIf \"gitdir:/x\"]\n\tpath = gone\n",
    );
    fixture.write("home/more", "[core]\n\texcludesFile = ~/my rules\n");
    fixture.write("home/my rules", "# mine\n*.two\n");
    // Anybody may have written the configuration of a clone.
    fixture.write("elsewhere", "*.three\n");
    let elsewhere = fixture.path().join("elsewhere");
    fixture.git("in/r", &["config", "core.excludesFile", elsewhere.to_str().unwrap()]);
    let ingest = |change: &dyn Fn(&mut Command)| {
        let mut command = fixture.command(&["ingest", "--shards", "2", "--depth", "1", "in"]);
        change(&mut command);
        Ran::of(command.output().unwrap()).code(0)
    };
    ingest(&|_| ());
    assert_eq!(indexed(&fixture, "r"), ["a.txt", "b.one", "b.three", "b.two"]);
    let root = fixture.path();
    ingest(&|command| {
        command.env("XDG_CONFIG_HOME", root.join("config"));
    });
    assert_eq!(indexed(&fixture, "r"), ["a.txt", "b.three", "b.two"]);
    assert_eq!(
        left_out(&fixture, "r"),
        [format!("b.one: ignored {}:1 *.one", root.join("config/git/ignore").display())]
    );
    // A folder that is no clone has no rules of git.
    assert_eq!(indexed(&fixture, "plain"), ["b.one"]);
    ingest(&|command| {
        command.env("HOME", root.join("home")).env_remove("GIT_CONFIG_GLOBAL");
        command.env("XDG_CONFIG_HOME", root.join("config"));
    });
    assert_eq!(indexed(&fixture, "r"), ["a.txt", "b.one", "b.three"]);
}

#[test]
fn answers_count_only_what_is_tracked() {
    let fixture = clone();
    fixture.write("r/.codesearchignore", "/src\n");
    fixture.write("r/zyxwvut.log", TEXT);
    ingest(&fixture, &[]);
    assert_eq!(
        left_out(&fixture, "r"),
        [
            "new.log: ignored .gitignore:2 *.log",
            "node_modules/: ignored .gitignore:1 node_modules/",
            "src/a.rs: excluded .codesearchignore:1 /src",
            "zyxwvut.log: ignored .gitignore:2 *.log",
        ]
    );
    let server = fixture.serve();
    let skipped =
        |query: &str| server.json(&format!("/search?q={query}")).1["stats"]["skipped"].clone();
    assert_eq!(skipped("found"), json!({ "excluded": 1 }));
    assert_eq!(skipped("found+file:node_modules"), json!({}));
    let repos = server.json("/repos").1;
    assert_eq!(repos["repos"][0]["no_ignore"], json!(false));
    // Whoever looks for a file is told the rule.
    for (typed, why) in [
        (
            "src/a.rs",
            "src/a.rs was left out of the index (tracked, but named by .ignore or .codesearchignore: .codesearchignore:1 /src)",
        ),
        (
            "zyxwvut.log",
            "zyxwvut.log was left out of the index (named by an ignore file: .gitignore:2 *.log)",
        ),
        (
            "r/node_modules/qqq/vvv.js",
            "node_modules/ was left out of the index (named by an ignore file: .gitignore:1 node_modules/)",
        ),
    ] {
        let ran = fixture.run(&["files", typed]);
        let told = ran.out.clone() + &ran.err;
        assert!(told.contains(why), "{typed}: {told}");
    }
}

#[test]
fn an_ignore_file_that_never_ends_leaves_out_what_is_not_tracked() {
    let fixture = Fixture::new();
    for path in ["r/a.txt", "r/pipe/a.txt", "r/pipe/below/a.txt", "r/ordinary/a.txt", "s/a.txt"] {
        fixture.write(path, TEXT);
    }
    for repo in ["r", "s"] {
        fixture.git(repo, &["init", "--quiet"]);
    }
    fixture.git("r", &["add", "pipe/a.txt"]);
    fixture.write("r/ordinary/.gitignore", "*.log\n");
    let pipe = fixture.path().join("r/pipe/.gitignore");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Git does not follow it.
    std::os::unix::fs::symlink("/dev/zero", fixture.path().join("s/.gitignore")).unwrap();
    ingest(&fixture, &[]);
    let found = || fixture.search(&["-l", "found"]);
    assert_eq!(found(), ["r/a.txt", "r/ordinary/a.txt", "r/pipe/a.txt", "s/a.txt"]);
    assert!(left_out(&fixture, "r").iter().any(|row| row.starts_with("pipe/.gitignore: special")));
    assert!(left_out(&fixture, "s").iter().any(|row| row.starts_with(".gitignore: symlink")));
    ingest(&fixture, &["--no-ignore"]);
    assert_eq!(found().len(), 5);
}

#[test]
fn secrets_are_left_out_on_request() {
    let fixture = Fixture::new();
    let key = "-----BEGIN EC PRIVATE KEY-----\nfound me\n-----END EC PRIVATE KEY-----\n";
    for (path, text) in
        [("r/.env", TEXT), ("r/.env.example", TEXT), ("r/deploy.pem", key), ("r/src/a.rs", TEXT)]
    {
        // Equal texts would be one result.
        fixture.write(path, format!("{text}{path}\n"));
    }
    fixture.commit("r", "all");
    let found = || fixture.search(&["-l", "found me"]);
    ingest(&fixture, &[]);
    assert_eq!(found().len(), 4);
    let mut agent = Agent::of(&fixture);
    let said = agent.told("search", &json!({ "query": "found me" }));
    assert!(said.contains(": .env (looks like a secret)\n"), "{said}");
    assert!(said.contains(": .env.example\n") && said.contains(": src/a.rs\n"), "{said}");
    for (path, warns) in
        [(".env", true), ("deploy.pem", true), (".env.example", false), ("src/a.rs", false)]
    {
        let said = agent.told("read_file", &json!({ "repo": "r", "path": path }));
        let head = said.lines().next().unwrap();
        assert_eq!(head.contains(", looks like a secret. Lines 1 to "), warns, "{head}");
    }
    drop(agent);
    // Nor do files that look unchanged stay.
    crate::harness::eventually("files that do not change are not read", || {
        ingest(&fixture, &[]).out.contains(": 0 read,")
    });
    let out = ingest(&fixture, &["--secrets", "skip"]).out;
    assert!(out.contains("left out: 2 files (2 possible secrets)"), "{out}");
    assert_eq!(found(), ["r/.env.example", "r/src/a.rs"]);
    assert_eq!(left_out(&fixture, "r"), [".env: secret --secrets skip", "deploy.pem: secret "]);
    assert_eq!(shown(&fixture, "r")["secrets"], "skip");
    assert!(fixture.run(&["repos"]).code(0).out.contains("\n  --secrets skip: "));
    ingest(&fixture, &[]);
    assert_eq!(found().len(), 2);
    ingest(&fixture, &["--secrets", "keep"]);
    assert_eq!(found().len(), 4);
    fixture.check_invariants();
}
