//! What clients see of a repository with several trees: a command inside a worktree, agents, JSON, pages and SQL.

mod named;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::agents::Agent;
use crate::harness::{Fixture, Ran, Server};
use crate::terminal::on_a_terminal;

/// An index of `app`, with a worktree beside it and a branch, and of `lib`.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("r/app/src/main.rs", "fn needle() {}\n// needle in main\n");
    fixture.write("r/app/src/same.rs", "// needle in all trees\n");
    fixture.commit("r/app", "one");
    fixture.git("r/app", &["checkout", "-q", "-b", "dev"]);
    fixture.write("r/app/src/dev.rs", "// needle in dev\n");
    fixture.commit("r/app", "two");
    fixture.git("r/app", &["checkout", "-q", "-"]);
    fixture.git("r/app", &["worktree", "add", "--quiet", "../fix", "-b", "fix"]);
    fixture.write("r/fix/src/main.rs", "fn needle() {}\n// needle in the worktree\n");
    fixture.write("r/fix/src/new.rs", "fn added() {}\n// needle in a new file\n");
    fixture.write("r/lib/lib.rs", "// needle in lib\n");
    fixture.commit("r/lib", "one");
    fixture.run(&["ingest", "--shards", "4", "--branches", "dev", "r"]).code(0);
    fixture.run(&["symbols"]).code(0);
    fixture
}

/// Returns the lines that a command prints in a folder.
#[track_caller]
fn lines(fixture: &Fixture, folder: &str, args: &[&str]) -> Vec<String> {
    let mut command = fixture.command(args);
    command.current_dir(fixture.path().join(folder));
    let ran = Ran::of(command.output().unwrap()).code(0);
    let mut lines: Vec<String> = ran.out.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn a_command_inside_a_worktree_reads_that_tree() {
    let fixture = fixture();
    let root = fs::canonicalize(fixture.path()).unwrap();
    let root = root.to_str().unwrap();
    let lib = format!("{root}/r/lib/lib.rs");
    let found = |folder: &str, args: &[&str]| {
        let found = lines(&fixture, folder, &[&["search", "-l"], args].concat());
        for path in &found {
            assert!(fixture.path().join(folder).join(path).exists(), "{folder} {path}");
        }
        found
    };
    let of = |paths: &[&str]| -> Vec<String> {
        let mut all: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        all.sort();
        all
    };
    assert_eq!(found("r/app", &["needle"]), of(&[&lib, "src/main.rs", "src/same.rs"]));
    assert_eq!(
        found("r/fix", &["needle"]),
        of(&[&lib, "src/main.rs", "src/new.rs", "src/same.rs"])
    );
    assert_eq!(found("r/fix/src", &["--here", "needle"]), of(&["main.rs", "new.rs", "same.rs"]));
    assert_eq!(
        lines(&fixture, "r/fix", &["search", "\"in the worktree\""]),
        ["src/main.rs:2:// needle in the worktree"]
    );
    // A path chooses its tree, wherever one is.
    assert_eq!(
        found("r/app", &["needle", "../fix/src/new.rs"]),
        of(&[&format!("{root}/r/fix/src/new.rs")])
    );
    assert_eq!(lines(&fixture, "r", &["search", "\"in the worktree\"", "./fix"]).len(), 1);
    let main = ["main.rs", "same.rs"].map(|name| format!("{root}/r/app/src/{name}"));
    assert_eq!(found("r/fix", &["needle", "../app"]), main);
    let mut both = fixture.command(&["search", "needle", "./app", "./fix"]);
    let refused = Ran::of(both.current_dir(fixture.path().join("r")).output().unwrap()).code(2);
    assert!(refused.err.contains("different trees of app"), "{}", refused.err);
    // A query that names trees is about these.
    assert_eq!(
        found("r/fix", &["needle", "worktree:main", "file:main"]),
        of(&[&format!("{root}/r/app/src/main.rs")])
    );
    assert_eq!(
        lines(&fixture, "r/fix", &["search", "\"in dev\"", "branch:dev"]),
        ["app/src/dev.rs:1:// needle in dev"]
    );
    // So do the other commands.
    assert_eq!(
        lines(&fixture, "r/fix", &["def", "added"]),
        ["src/new.rs:1:function: fn added() {}"]
    );
    assert!(lines(&fixture, "r/fix", &["files", "new.rs"]).contains(&"src/new.rs".to_owned()));
    assert_eq!(lines(&fixture, "r/fix/src", &["outline", "new.rs"]).len(), 1);
    assert_eq!(lines(&fixture, "r/app", &["outline", "../fix/src/new.rs"]).len(), 1);
    let mut elsewhere = fixture.command(&["def", "added"]);
    Ran::of(elsewhere.current_dir(fixture.path().join("r/app")).output().unwrap()).code(1);
    let json = lines(&fixture, "r/fix", &["files", "--json", "--limit", "1", "new.rs"]);
    assert_eq!(serde_json::from_str::<Value>(&json[0]).unwrap()["tree"], "fix");
    let begin = lines(&fixture, "r/fix", &["search", "--json", "in all trees"]);
    let begin = begin.iter().find(|line| line.contains("\"begin\"")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(begin).unwrap()["data"]["trees"], json!(["fix"]));
}

#[test]
fn a_terminal_names_the_trees() {
    let fixture = fixture();
    let all = "\"needle in all trees\" (worktree:* or branch:dev)";
    let shown = on_a_terminal(&fixture, &["search", all]);
    assert!(shown.contains("src/same.rs [main, dev, fix]"), "{shown}");
    let shown = on_a_terminal(&fixture, &["search", "needle in lib"]);
    assert!(shown.contains("lib.rs\r\n"), "{shown}");
    let shown = fixture.run(&["repos"]).code(0).out;
    assert!(shown.contains("\n  worktree fix  "), "{shown}");
    assert!(shown.contains("\n  branch   dev  "), "{shown}");
    let listed = fixture.run(&["repos", "--json"]).code(0).out;
    let app: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let trees: Vec<(&str, &str)> = app["trees"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tree| (tree["kind"].as_str().unwrap(), tree["name"].as_str().unwrap()))
        .collect();
    assert_eq!(trees, [("branch", "dev"), ("worktree", "fix")]);
}

/// Returns the paths of an answer, each with its trees.
fn paths(server: &Server, query: &str) -> Vec<(String, Value)> {
    let answer = server.search(query);
    let files = answer["files"].as_array().unwrap().iter();
    files.map(|file| (file["path"].as_str().unwrap().to_owned(), file["trees"].clone())).collect()
}

#[test]
fn programs_and_pages_know_the_trees() {
    let fixture = fixture();
    let server = fixture.serve();
    let of = |path: &str, trees: Value| (path.to_owned(), trees);
    assert_eq!(
        paths(&server, "needle"),
        [
            of("src/main.rs", json!(["main"])),
            of("src/same.rs", json!(["main"])),
            of("lib.rs", Value::Null)
        ]
    );
    assert_eq!(
        paths(&server, "needle worktree:fix file:main"),
        [of("src/main.rs", json!(["fix"]))]
    );
    assert_eq!(
        paths(&server, "needle repo:app@dev:fix file:dev"),
        [of("src/dev.rs", json!(["dev"]))]
    );
    // A list, a file and a folder of another tree.
    let (_, repos) = server.json("/repos?repo=app");
    let names: Vec<&str> = repos["trees"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tree| tree["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["main", "dev", "fix"]);
    let (_, folder) = server.json("/repos?repo=app@fix&path=src");
    let names: Vec<&str> = folder["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|child| child["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["main.rs", "new.rs", "same.rs"]);
    assert_eq!(folder["tree"], "fix");
    let text = |place: &str| server.json(&format!("/file?repo={place}")).1["text"].clone();
    assert_eq!(text("app@fix&path=src/main.rs"), "fn needle() {}\n// needle in the worktree\n");
    assert_eq!(text("app@dev&path=src/dev.rs"), "// needle in dev\n");
    assert_eq!(text("app&path=src/main.rs"), "fn needle() {}\n// needle in main\n");
    assert_eq!(server.json("/file?repo=app@nope&path=src/main.rs").0, 404);
    assert_eq!(server.json("/file?repo=app&path=src/dev.rs").0, 404);
    // Pages link to them.
    let page = |address: &str| {
        let (status, _, page) = server.get(address, "text/html");
        assert_eq!(status, 200, "{page}");
        page
    };
    let results = page("/search?q=needle+worktree:*");
    assert!(results.contains("<h2>Tree</h2>"), "{results}");
    assert!(results.contains("/search?q=needle%20worktree:fix"), "{results}");
    assert!(results.contains("/file?repo=app@fix&#38;path=src/new.rs"), "{results}");
    let choice = page("/search?q=needle+repo:app");
    assert!(choice.contains("/search?q=needle%20repo:app%20rev:dev"), "{choice}");
    let repository = page("/repos?repo=app");
    assert!(repository.contains("/repos?repo=app@fix"), "{repository}");
    let worktree = page("/repos?repo=app@fix");
    assert!(worktree.contains("worktree fix"), "{worktree}");
    assert!(worktree.contains("/repos?repo=app@fix&#38;path=src"), "{worktree}");
    page("/file?repo=app@fix&path=src/new.rs");
    // Zoekt's and livegrep's clients.
    let (_, found) = server.json("/zoekt/search?q=needle+branch:dev+f:same&format=json");
    assert_eq!(found["result"]["FileMatches"][0]["Branches"], json!(["dev"]));
    let (_, listed) = server.json("/zoekt/search?q=r:app+t:repo&format=json");
    let branches = &listed["repos"]["Repos"][0]["Branches"];
    let names: Vec<&Value> =
        branches.as_array().unwrap().iter().map(|branch| &branch["Name"]).collect();
    assert_eq!(names, ["HEAD", "dev"]);
    let (_, _, raw) = server.get("/print?r=app&f=src/dev.rs&b=dev&format=raw", "*/*");
    assert_eq!(raw, "// needle in dev\n");
}

#[test]
fn an_agent_in_a_worktree_reads_that_tree() {
    let fixture = fixture();
    let root = fs::canonicalize(fixture.path()).unwrap();
    let folder = root.join("r/fix");
    let texts = |agent: &mut Agent, tool: &str, arguments: Value| {
        let answer = agent.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    // By an argument, from wherever the agent runs.
    let mut agent = Agent::of(&fixture);
    let found = texts(&mut agent, "search", json!({ "query": "needle in", "folder": folder }));
    assert!(found.contains(": src/new.rs [fix]"), "{found}");
    assert!(found.contains("(Read in worktree fix of app.)"), "{found}");
    let read = json!({ "repo": "app", "path": "src/main.rs", "folder": folder });
    assert!(texts(&mut agent, "read_file", read).contains("in the worktree"));
    let main = texts(&mut agent, "search", json!({ "query": "needle in" }));
    assert!(main.contains(": src/main.rs [main]"), "{main}");
    let refused = texts(&mut agent, "search", json!({ "query": "x", "folder": "/nowhere" }));
    assert!(refused.contains("/nowhere is in no indexed repository"), "{refused}");
    let refused = texts(&mut agent, "search", json!({ "query": "x", "folder": "fix" }));
    assert!(refused.contains("absolute path"), "{refused}");
    let repos = texts(&mut agent, "list_repos", json!({}));
    assert!(repos.contains("trees: main, dev, fix"), "{repos}");
    // By the folder of its process.
    let in_folder = |folder: &Path| {
        let mut command = fixture.command(&["mcp"]);
        command.current_dir(folder);
        Agent::start(command)
    };
    let mut agent = in_folder(&folder);
    let found = texts(&mut agent, "definitions", json!({ "name": "added" }));
    assert!(found.contains("src/new.rs"), "{found}");
    let mut agent = in_folder(&root.join("r/app"));
    let found = texts(&mut agent, "definitions", json!({ "name": "added" }));
    assert!(!found.contains("src/new.rs"), "{found}");
}

#[test]
fn a_name_that_means_no_tree_is_told() {
    let fixture = fixture();
    let note = |query: &str| {
        let ran = fixture.run(&["search", query]).code(1);
        ran.err
    };
    for (query, said) in [
        ("needle worktree:fxi", "no worktree matches worktree:fxi; did you mean fix?"),
        ("needle worktree:nosuch", "no worktree matches worktree:nosuch; known: fix, main"),
        ("needle worktree:nosuch repo:lib", "no worktree matches worktree:nosuch; known: main"),
        ("needle branch:dve", "no indexed branch or tag matches branch:dve; did you mean dev?"),
        (
            "needle branch:nosuch",
            "no indexed branch or tag matches branch:nosuch; rev: and a whole name searches one that is not indexed",
        ),
        ("needle rev:nosuch/*", "no indexed branch or tag matches rev:\"nosuch/*\"; "),
        ("needle repo:app@nosuch/*", "no indexed branch or tag matches "),
    ] {
        let err = note(query);
        assert!(err.contains(said), "{query}: {err}");
    }
    // A name that means something, or that no repository is left for, is not told.
    for query in ["nothing worktree:fix", "nothing branch:dev", "nothing branch:x repo:nosuch"] {
        let err = note(query);
        assert!(!err.contains("no worktree") && !err.contains("branch or tag"), "{query}: {err}");
    }
    // Inside a repository, those of others are not unknown.
    let mut command = fixture.command(&["search", "needle worktree:fix"]);
    let ran = Ran::of(command.current_dir(fixture.path().join("r/lib")).output().unwrap()).code(0);
    assert!(!ran.err.contains("no worktree"), "{}", ran.err);
    // Programs read it, and a reader learns nothing of other repositories.
    let mut of_lib = fixture.command(&["serve", "--listen", "127.0.0.1:0"]);
    of_lib.env("CODESEARCH_REPOS", "^lib$");
    let server = Server::start(of_lib);
    let notes = |query: &str| server.search(query)["stats"]["notes"].clone();
    assert_eq!(
        notes("needle worktree:fxi"),
        json!(["no worktree matches worktree:fxi; known: main"])
    );
    assert!(notes("needle branch:dve")[0].as_str().unwrap().contains("a whole name"));
}

#[test]
fn sql_knows_the_trees() {
    let fixture = fixture();
    let rows = |statement: &str| -> Vec<Value> {
        let ran = fixture.run(&["sql", "--format", "json", statement]);
        // The exit status tells whether there are rows.
        assert!(ran.status.code().is_some_and(|code| code < 2), "{}", ran.err);
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    assert_eq!(
        rows("select tree, kind, files from trees where repository = 'app' order by kind, tree"),
        [
            json!({ "tree": "dev", "kind": "branch", "files": 3 }),
            json!({ "tree": "main", "kind": "main", "files": 2 }),
            json!({ "tree": "fix", "kind": "worktree", "files": 3 }),
        ]
    );
    assert_eq!(
        rows("select path, array_to_string(trees, ' ') as trees from files order by 1"),
        [
            json!({ "path": "lib.rs", "trees": "main" }),
            json!({ "path": "src/main.rs", "trees": "main dev" }),
            json!({ "path": "src/same.rs", "trees": "main dev fix" }),
        ]
    );
    assert_eq!(
        rows("select tree, path from tree_files where path like '%main.rs' order by 1"),
        [
            json!({ "tree": "dev", "path": "src/main.rs" }),
            json!({ "tree": "fix", "path": "src/main.rs" }),
            json!({ "tree": "main", "path": "src/main.rs" }),
        ]
    );
    assert_eq!(rows("select * from grep('needle in a new file')"), [] as [Value; 0]);
    assert_eq!(rows("select * from symbols where symbol = 'added'"), [] as [Value; 0]);
}
