//! Files with the same contents: one result of a ranked search, and each a result of its own in every other answer.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::agents::Agent;
use crate::harness::{Fixture, Ran};
use crate::terminal::on_a_terminal;

/// A text with a match.
const TEXT: &str = "fn needle_of_all() {\n    work();\n}\n";

/// An index with a clone, a checkout whose git data lie in it, a fork, and a copy of it in another project.
fn index() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("lib/src/needle.rs", TEXT);
    fixture.write("lib/src/other.rs", "// needle_of_all is elsewhere\n");
    fixture.commit("lib", "All of it");
    let apart = ["--separate-git-dir", "lib/.git/apart", "lib", "a-checkout"];
    fixture.git("", &[&["clone", "--quiet"], &apart[..]].concat());
    fixture.write("the-fork/src/needle.rs", TEXT);
    fixture.write("app/vendor/lib/src/needle.rs", TEXT);
    fixture.ingest();
    fixture
}

/// Returns repository and path of each file in a list.
fn places(files: &Value) -> Vec<String> {
    let text = |file: &Value, key: &str| file[key].as_str().unwrap().to_owned();
    let place = |file: &Value| format!("{}/{}", text(file, "repo"), text(file, "path"));
    files.as_array().unwrap().iter().map(place).collect()
}

const ORIGINAL: &str = "lib/src/needle.rs";
const COPIES: [&str; 3] =
    ["the-fork/src/needle.rs", "a-checkout/src/needle.rs", "app/vendor/lib/src/needle.rs"];

#[test]
fn copies_are_one_result_with_the_original_first() {
    let fixture = index();
    let server = fixture.serve();
    let (_, answer) = server.json("/search?q=needle_of_all&sort=relevance&limit=10");
    assert_eq!(places(&answer["files"]), [ORIGINAL, "lib/src/other.rs"]);
    assert_eq!(places(&answer["files"][0]["copies"]), COPIES);
    assert_eq!(answer["files"][0]["copies_total"], 3);
    assert_eq!(places(&answer["files"][1]["copies"]), ["a-checkout/src/other.rs"]);
    // Counts are of files.
    assert_eq!(
        (&answer["stats"]["files"], &answer["stats"]["complete"]),
        (&json!(6), &json!(true))
    );
    assert_eq!(answer.get("next"), None);
    // The limit is one of results.
    let (_, first) = server.json("/search?q=needle_of_all&sort=relevance&limit=1");
    assert_eq!((places(&first["files"]).len(), &first["stats"]["complete"]), (1, &json!(false)));
    let next = first["next"].as_str().unwrap();
    let rest = format!("/search?q=needle_of_all&sort=relevance&limit=1&cursor={next}");
    let (_, rest) = server.json(&rest);
    assert_eq!(places(&rest["files"]), ["lib/src/other.rs"]);
    assert_eq!(rest.get("next"), None);
    // Of copies that do not match, nothing is said.
    let (_, some) =
        server.json("/search?q=needle_of_all%20-repo:fork%20-file:vendor&sort=relevance&limit=10");
    assert_eq!(places(&some["files"][0]["copies"]), ["a-checkout/src/needle.rs"]);
    // Without a field for them, they are left out, but still no results.
    let (_, bare) = server.json("/search?q=needle_of_all&sort=relevance&limit=10&fields=repo,path");
    assert_eq!(
        (bare["files"].as_array().unwrap().len(), bare["files"][0].get("copies")),
        (2, None)
    );
}

#[test]
fn answers_with_every_file_have_every_copy() {
    let fixture = index();
    let server = fixture.serve();
    let all: BTreeSet<String> = [ORIGINAL, "lib/src/other.rs", "a-checkout/src/other.rs"]
        .into_iter()
        .chain(COPIES)
        .map(str::to_owned)
        .collect();
    for address in
        ["/search?q=needle_of_all&limit=0", "/search?q=needle_of_all&sort=path&limit=100"]
    {
        let (_, answer) = server.json(address);
        let found: BTreeSet<String> = places(&answer["files"]).into_iter().collect();
        assert_eq!(found, all, "{address}");
        assert_eq!(answer["files"][0].get("copies"), None);
    }
    let printed: BTreeSet<String> = fixture
        .search(&["needle_of_all"])
        .iter()
        .map(|line| line.split(':').next().unwrap().to_owned())
        .collect();
    assert_eq!(printed, all);
    let mut agent = Agent::of(&fixture);
    let asked = json!({ "query": "needle_of_all", "order": "exhaustive" });
    let told = agent.told("search", &asked);
    assert!(all.iter().all(|place| told.contains(&place.replacen('/', ": ", 1))), "{told}");
}

#[test]
fn pages_and_agents_name_copies() {
    let fixture = index();
    for n in 0..12 {
        fixture.write(&format!("the-fork/copy{n:02}/needle.rs"), TEXT);
    }
    fixture.ingest();
    let server = fixture.serve();
    let (_, _, page) = server.get("/search?q=needle_of_all&wait=1", "text/html");
    assert!(page.contains("<summary>15 identical copies</summary>"), "{page}");
    assert!(page.contains(">5 more</a>") && page.contains("18 files"), "{page}");
    let (_, _, page) = server.get("/search?q=needle_of_all&copies=1&wait=1", "text/html");
    assert!(page.contains("<details class=\"faint copies\" open>"), "{page}");
    assert!(page.contains("the-fork/copy11/needle.rs") && !page.contains(" more</a>"), "{page}");
    let (_, answer) = server.json("/search?q=needle_of_all&sort=relevance&limit=10");
    let copies = |answer: &Value| answer["files"][0]["copies"].as_array().unwrap().len();
    assert_eq!((copies(&answer), &answer["files"][0]["copies_total"]), (10, &json!(15)));
    let (_, answer) = server.json("/search?q=needle_of_all&sort=relevance&limit=10&copies=1");
    assert_eq!(copies(&answer), 15);
    let mut agent = Agent::of(&fixture);
    let told = agent.told("search", &json!({ "query": "needle_of_all" }));
    assert!(told.contains("lib: src/needle.rs\n(15 identical copies: "), "{told}");
    assert!(told.contains("18 files") && told.contains("That is all."), "{told}");
    assert!(told.contains("copies=true lists all") && !told.contains("copy11"), "{told}");
    let told = agent.told("search", &json!({ "query": "needle_of_all", "copies": "true" }));
    assert!(told.contains("the-fork: copy11/needle.rs") && !told.contains("lists all"), "{told}");
    let one = agent.told("search", &json!({ "query": "needle_of_all", "limit": 1 }));
    assert!(one.contains("Here are 1 to 1: the limit was reached."), "{one}");
    let why = agent.refused("search", &json!({ "query": "a", "copies": "some" }));
    assert!(why.contains("the argument copies takes true or false, not some"), "{why}");
}

#[test]
fn a_terminal_counts_copies_and_names_them_on_request() {
    let fixture = index();
    let text = on_a_terminal(&fixture, &["search", "fn needle_of_all"]);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let count = "3 identical copies (--copies names them)";
    assert_eq!(lines, [ORIGINAL, count, "1:fn needle_of_all() {"], "{text}");
    let text = on_a_terminal(&fixture, &["search", "--copies", "fn needle_of_all"]);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let named = COPIES.map(|copy| format!("identical: {copy}"));
    assert_eq!(
        (lines[0], &lines[1..4], lines.len()),
        (ORIGINAL, &named.each_ref().map(String::as_str)[..], 5)
    );
    // Where the user works, files are opened.
    let args = ["search", "--sort", "relevance", "--heading", "fn needle_of_all"];
    let in_folder = |folder: &str| {
        let mut command = fixture.command(&args);
        let ran = Ran::of(command.current_dir(fixture.path().join(folder)).output().unwrap());
        ran.code(0).out.lines().next().unwrap().to_owned()
    };
    let here = in_folder("a-checkout/src");
    assert!(here.ends_with("needle.rs") && !here.contains("lib"), "{here}");
    assert_eq!(in_folder("."), ORIGINAL);
    // Output that programs read has every file.
    for args in [&["-l"][..], &["--no-heading"], &["-c"], &["--json"], &["--vimgrep"]] {
        let args = [&["search", "--sort", "relevance", "fn needle_of_all"], args].concat();
        let out = fixture.run(&args).code(0).out;
        assert_eq!(out.matches("vendor/lib/src/needle.rs").count().min(1), 1, "{args:?}: {out}");
        assert!(!out.contains("identical"), "{args:?}: {out}");
    }
}

#[test]
fn pages_of_results_together_have_each_once() {
    let fixture = Fixture::new();
    for n in 0..30 {
        for repo in ["one", "two", "three"] {
            fixture.write(&format!("{repo}/part{n}/file{n}.rs"), format!("fn needle{n}() {{}}\n"));
        }
    }
    fixture.ingest_over(4);
    let server = fixture.serve();
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let (_, answer) = server.json(&format!("/search?q=needle&sort=relevance&limit=7{cursor}"));
        for file in answer["files"].as_array().unwrap() {
            assert_eq!(file["copies_total"], 2, "{file}");
            seen.push(file["path"].as_str().unwrap().to_owned());
        }
        assert_eq!(answer["stats"]["files"], 90);
        match answer["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!((seen.len(), seen.iter().collect::<BTreeSet<_>>().len()), (30, 30));
}

#[test]
fn paths_that_match_are_copies_only_in_the_same_place() {
    let fixture = Fixture::new();
    for repo in ["one", "two"] {
        fixture.write(&format!("{repo}/a/__init__.py"), "");
        fixture.write(&format!("{repo}/a/setup.py"), "setup()\n");
        fixture.write(&format!("{repo}/b/setup.py"), "setup()\n");
    }
    fixture.ingest();
    let server = fixture.serve();
    let (_, answer) = server.json("/search?q=file:setup.py&sort=relevance&limit=10");
    assert_eq!(places(&answer["files"]).len(), 2, "{answer}");
    let (_, answer) = server.json("/search?q=type:file%20setup&sort=relevance&limit=10");
    assert_eq!(places(&answer["files"]).len(), 2, "{answer}");
    let (_, answer) = server.json("/search?q=file:__init__&sort=relevance&limit=10");
    assert_eq!(places(&answer["files"]).len(), 2, "{answer}");
}
