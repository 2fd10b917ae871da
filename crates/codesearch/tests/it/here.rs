//! The current folder: paths from it, its repository first, and searches restricted to folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Fixture, Ran, eventually};
use crate::terminal::on_a_terminal;

/// An index of two repositories: `app` with a submodule and a checkout of its own inside, and `lib`.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("app/src/main.rs", "fn needle() {}\nfn run() { needle() }\n// needle in main\n");
    fixture.write("app/src/deep/more.rs", "// needle in more\n");
    fixture.write("app/docs/guide.md", "# Guide\n\nHow to find the needle.\n");
    fixture.write("lib/src/lib.rs", "fn needle() {}\nfn run() { needle() }\n// needle in lib\n");
    fixture.commit("app", "one");
    fixture.commit("lib", "one");
    // Folders with `.git` inside of a clone are repositories of their own.
    fixture.write("app/vendor/sub/sub.rs", "// needle in sub\n");
    fixture.commit("app/vendor/sub", "one");
    let apart = ["--separate-git-dir", "app/.git/apart", "app", "app/trees/fix"];
    fixture.git("", &[&["clone", "--quiet"], &apart[..]].concat());
    fixture.run(&["ingest", "--shards", "4", "."]).code(0);
    fixture
}

/// Runs a command in a folder of the fixture.
fn run_in(fixture: &Fixture, folder: impl AsRef<Path>, args: &[&str]) -> Ran {
    let mut command = fixture.command(args);
    command.current_dir(fixture.path().join(folder));
    Ran::of(command.output().unwrap())
}

#[track_caller]
fn lines(fixture: &Fixture, folder: &str, args: &[&str]) -> Vec<String> {
    run_in(fixture, folder, args).code(0).out.lines().map(str::to_owned).collect()
}

/// The fixture's folder, without links.
fn root(fixture: &Fixture) -> String {
    fs::canonicalize(fixture.path()).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn paths_are_those_of_the_folder_and_its_repository_comes_first() {
    let fixture = fixture();
    let root = root(&fixture);
    let own = |folder: &str, count: usize| {
        let mut found = lines(&fixture, folder, &["search", "-l", "needle"]);
        assert_eq!(found.len(), 8, "{found:?}");
        let others = found.split_off(count);
        // A program can open each path; on a pipe, those of other repositories are absolute.
        for path in &found {
            assert!(fixture.path().join(folder).join(path).exists(), "{path}");
        }
        assert!(
            others.iter().all(|path| path.starts_with(&root) && Path::new(path).exists()),
            "{others:?}"
        );
        found.sort();
        found
    };
    assert_eq!(own("app", 3), ["docs/guide.md", "src/deep/more.rs", "src/main.rs"]);
    assert_eq!(own("app/src/deep", 3), ["../../docs/guide.md", "../main.rs", "more.rs"]);
    assert_eq!(own("lib/src", 1), ["lib.rs"]);
    // The innermost repository wins.
    assert_eq!(own("app/vendor/sub", 1), ["sub.rs"]);
    assert_eq!(own("app/trees/fix/src", 3), ["../docs/guide.md", "deep/more.rs", "main.rs"]);
    // A link to a folder is the folder.
    symlink("app/src", fixture.path().join("link")).unwrap();
    assert_eq!(own("link", 3), ["../docs/guide.md", "deep/more.rs", "main.rs"]);
    // Outside of all repositories, paths begin with their names, and so they do for people elsewhere.
    let outside = lines(&fixture, ".", &["search", "-l", "needle"]);
    assert!(outside.contains(&"lib/src/lib.rs".to_owned()), "{outside:?}");
    let text = |args: &[&str]| lines(&fixture, "lib", args);
    assert_eq!(text(&["search", "-e", "needle in lib"])[0], "src/lib.rs:3:// needle in lib");
    assert_eq!(
        text(&["search", "--local", "-l", "-e", "needle in lib"]),
        [format!("{root}/lib/src/lib.rs")]
    );
    // The order by path is that of all.
    assert!(text(&["search", "--sort", "path", "-l", "needle"])[0].ends_with("app/docs/guide.md"));
    let begin: Value = serde_json::from_str(&text(&["search", "--json", "needle"])[0]).unwrap();
    assert_eq!(begin["data"]["path"]["text"], "src/lib.rs");
}

#[test]
fn a_limit_counts_the_results_of_all_repositories() {
    let fixture = fixture();
    for (limit, more) in [("1", true), ("3", true), ("4", true), ("8", false), ("0", false)] {
        let ran = run_in(&fixture, "app", &["search", "-l", "--limit", limit, "needle"]).code(0);
        let found = ran.out.lines().count();
        assert_eq!(
            found,
            match limit {
                "0" => 8,
                limit => limit.parse().unwrap(),
            }
        );
        assert_eq!(ran.err.contains("there are more"), more, "{limit}: {}", ran.err);
        let own = ran.out.lines().take(3).filter(|path| !path.starts_with('/')).count();
        assert_eq!(own, found.min(3), "{}", ran.out);
        // Ranked, too.
        let args = ["search", "-l", "--sort", "relevance", "--limit", limit, "needle"];
        let ranked = run_in(&fixture, "app", &args).code(0);
        assert_eq!(ranked.out.lines().count(), found);
        assert!(ranked.out.lines().take(3.min(found)).all(|path| !path.starts_with('/')));
        assert_eq!(ranked.err.contains("there are more"), more, "{limit}: {}", ranked.err);
    }
    let summary = |folder: &str| -> Value {
        let all = lines(&fixture, folder, &["search", "--json", "needle"]);
        let summary: Value = serde_json::from_str(all.last().unwrap()).unwrap();
        summary["data"]["stats"]["matches"].clone()
    };
    assert_eq!(summary("app"), summary("."));
    // Nothing in the own repository, nothing at all.
    assert_eq!(lines(&fixture, "lib", &["search", "-c", "Guide"]).len(), 2);
    run_in(&fixture, "lib", &["search", "nowhere"]).code(1);
}

#[test]
fn paths_after_the_query_restrict_it() {
    let fixture = fixture();
    let found = |folder: &str, args: &[&str]| {
        let mut found = lines(&fixture, folder, &[&["search", "-l"], args].concat());
        found.sort();
        found
    };
    assert_eq!(found("app", &["needle", "src/"]), ["src/deep/more.rs", "src/main.rs"]);
    assert_eq!(found("app", &["needle", "src/deep"]), ["src/deep/more.rs"]);
    assert_eq!(found("app", &["needle", "./src/main.rs"]), ["src/main.rs"]);
    assert_eq!(found("app/src", &["needle", "."]), ["deep/more.rs", "main.rs"]);
    assert_eq!(
        found("app/src", &["needle", "../docs", "deep/"]),
        ["../docs/guide.md", "deep/more.rs"]
    );
    assert_eq!(found("app/src", &["-e", "needle", ".."]).len(), 7);
    assert_eq!(found("lib", &["--files", "."]), ["src/lib.rs"]);
    // As a walk does, a folder includes the repositories below it.
    let all = found(".", &["needle", "app/vendor/", "lib/"]);
    assert_eq!(all, ["app/vendor/sub/sub.rs", "lib/src/lib.rs"]);
    assert_eq!(found(".", &["needle", &format!("{}/lib", root(&fixture))]), ["lib/src/lib.rs"]);
    // Whoever names a folder means the files in it: each opens from here, also from above all repositories.
    let parent = fixture.path().parent().unwrap();
    let folder = fixture.path().file_name().unwrap().to_str().unwrap();
    let above =
        |path: &str| run_in(&fixture, parent, &["search", "-l", "needle", path]).code(0).out;
    let named = above(&format!("{folder}/lib/"));
    assert_eq!(named, format!("{folder}/lib/src/lib.rs\n"));
    // A folder without repositories is no pattern that matches everything.
    let outside = tempfile::tempdir().unwrap();
    for path in [".", "./"] {
        let refused = run_in(&fixture, outside.path(), &["search", "needle", path]).code(2).err;
        assert!(refused.contains("is in no indexed repository"), "{path}: {refused}");
    }
    // What can be told: `src` is a word, `src/` a path; a missing path is a word.
    run_in(&fixture, "app", &["search", "needle", "nowhere/"]).code(1);
    let told = |args: &[&str]| {
        let args = [&["search", "--hints", "always", "-l"], args].concat();
        run_in(&fixture, "app", &args).err
    };
    let word = told(&["needle", "src"]);
    assert!(
        word.contains("src is a term of the query; to search only this path, write ./src"),
        "{word}"
    );
    let path = told(&["needle", "src/deep"]);
    assert!(path.contains("src/deep exists, so the search is restricted to it"), "{path}");
    assert_eq!(told(&["needle", "src/"]), "");
    fixture.write("app-not-indexed/x", "");
    let args = ["search", "--hints", "always", "needle", "../app-not-indexed/x"];
    let other = run_in(&fixture, "lib", &args).code(1).err;
    assert!(
        other.contains("is a term of the query, since it is in no indexed repository"),
        "{other}"
    );
}

#[test]
fn here_is_the_repository_or_those_below() {
    let fixture = fixture();
    let count = |folder: &str, args: &[&str]| {
        lines(&fixture, folder, &[&["search", "-l", "needle"], args].concat()).len()
    };
    assert_eq!(count("app/src", &["--here"]), 3);
    assert_eq!(count("app", &["--here", "--no-here"]), 8);
    assert_eq!(count(".", &["--here"]), 8);
    assert_eq!(count("app/vendor", &["--here"]), 3);
    assert_eq!(count("app/src", &["--here", "deep/"]), 1);
    let outside = tempfile::tempdir().unwrap();
    let refused = run_in(&fixture, outside.path(), &["search", "--here", "needle"]).code(2);
    assert!(
        refused.err.contains("is in no indexed repository, and has none below it"),
        "{}",
        refused.err
    );
    // As a setting, it applies where it can.
    fixture.write("config", "--here\n");
    let with_setting = |folder: &Path| {
        let mut command = fixture.command(&["search", "-l", "needle"]);
        command.env("CODESEARCH_CONFIG_PATH", fixture.path().join("config")).current_dir(folder);
        Ran::of(command.output().unwrap()).code(0).out.lines().count()
    };
    assert_eq!(with_setting(&fixture.path().join("app")), 3);
    assert_eq!(with_setting(outside.path()), 8);
}

#[test]
fn all_commands_know_the_folder() {
    let fixture = fixture();
    let root = root(&fixture);
    let first = |folder: &str, args: &[&str]| lines(&fixture, folder, args)[0].clone();
    for (folder, path) in
        [("lib", "src/lib.rs"), ("app/src", "main.rs"), ("app/docs", "../src/main.rs")]
    {
        assert!(first(folder, &["def", "needle"]).starts_with(&format!("{path}:1:function")));
        assert!(first(folder, &["refs", "needle"]).starts_with(&format!("{path}:2:call")));
        let line = first(folder, &["def", "--vimgrep", "needle"]);
        let source = fs::canonicalize(fixture.path().join(folder).join(path)).unwrap();
        assert_eq!(line, format!("{}:1:4:fn needle() {{}}", source.display()));
        let line = first(folder, &["refs", "--vimgrep", "needle"]);
        assert!(
            line.starts_with(&format!("{}:2:12:fn run() {{ needle() }}", source.display())),
            "{line}"
        );
        assert!(first(folder, &["outline", path]).ends_with("function needle"));
        let at = format!("{path}:2:14");
        assert!(first(folder, &["def", "--from", &at]).starts_with(&format!("{path}:1:")));
    }
    assert_eq!(first("app/src", &["files", "guide.md"]), "../docs/guide.md");
    assert_eq!(first("lib", &["files", "rs"]), "src/lib.rs");
    let doc = first("app/src", &["docs", "find the needle"]);
    assert!(doc.starts_with("../docs/guide.md"), "{doc}");
    assert_eq!(first("lib", &["def", "--local", "needle"]).find(&root), Some(0));
    let json: Value =
        serde_json::from_str(&first("lib", &["def", "--json", "--local", "needle"])).unwrap();
    assert_eq!(
        (&json["repo"], &json["file"]),
        (&"lib".into(), &format!("{root}/lib/src/lib.rs").into())
    );
    // The name of a repository still names its files.
    assert!(first("app", &["outline", "lib/src/lib.rs"]).ends_with("function needle"));
    let wrong = run_in(&fixture, "app", &["outline", "src/mian.rs"]).code(2).err;
    assert!(wrong.contains("did you mean"), "{wrong}");
}

#[test]
fn a_server_knows_the_folder_of_its_client() {
    let fixture = fixture();
    let commands: [(&str, &[&str]); 6] = [
        ("app/src", &["search", "needle", "."]),
        ("app/src", &["search", "-l", "needle"]),
        ("lib", &["def", "needle"]),
        ("app/docs", &["files", "main"]),
        ("lib", &["search", "--here", "-c", "needle"]),
        (".", &["search", "-l", "needle", "lib/"]),
    ];
    let run = || -> Vec<(Option<i32>, String, String)> {
        let all = commands.iter().map(|(folder, args)| run_in(&fixture, folder, args));
        all.map(|ran| (ran.status.code(), ran.out, ran.err)).collect()
    };
    let alone = run();
    let server = fixture.serve();
    eventually("the server runs the commands", || run() == alone);
    server.stop();
    // The output of a program in a pipe can be opened.
    let command = fixture.command(&["search", "-l", "needle"]);
    let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
    let words = words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ");
    let piped = Command::new("sh")
        .args(["-c", &format!("{words} | xargs head -n 1")])
        .env("CODESEARCH_CONFIG_PATH", "")
        .current_dir(fixture.path().join("app/src"))
        .output()
        .unwrap();
    assert_eq!(Ran::of(piped).code(0).out.matches("==> ").count(), 8);
}

#[test]
fn terminals_get_hyperlinks() {
    let fixture = fixture();
    let root = root(&fixture);
    let out = |args: &[&str]| {
        lines(&fixture, "lib", &[&["search", "-N", "-e", "needle in lib"], args].concat())
    };
    let link = format!("\u{1b}]8;;vscode://file{root}/lib/src/lib.rs:3:4\u{1b}\\");
    let shown = "\u{1b}[0m\u{1b}[35msrc/lib.rs\u{1b}[0m\u{1b}]8;;\u{1b}\\";
    let first = &out(&["--color", "always", "--hyperlink-format", "vscode"])[0];
    assert!(first.starts_with(&format!("{link}{shown}")), "{first:?}");
    // Below a heading, the number leads to its line.
    let pretty = out(&["-p", "-n", "--hyperlink-format", "vscode"]);
    assert!(
        pretty[0].starts_with("\u{1b}]8;;vscode://file")
            && pretty[0].ends_with("\u{1b}]8;;\u{1b}\\")
    );
    assert!(pretty[1].starts_with(&link), "{:?}", pretty[1]);
    for args in [
        &["--color", "always"][..],
        &["--hyperlink-format", "file"],
        &["--color", "always", "--hyperlink-format", "none"],
    ] {
        assert!(!out(args)[0].contains("]8;;"), "{args:?}");
    }
    let wrong =
        run_in(&fixture, "lib", &["search", "--hyperlink-format", "vscod", "x"]).code(2).err;
    assert!(wrong.contains("did you mean vscode?"), "{wrong}");
    // On a terminal they are there without being asked for, unless there are no colours.
    let text = on_a_terminal(&fixture, &["search", "--color", "always", "-e", "needle in lib"]);
    assert!(text.contains("]8;;file://") && text.contains("/lib/src/lib.rs\u{1b}\\"), "{text:?}");
    assert!(!on_a_terminal(&fixture, &["search", "-e", "needle in lib"]).contains("]8;;"));
}
