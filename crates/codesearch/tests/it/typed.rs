//! Queries as people type them in other engines, on the sample. Each has results, or is refused with a suggestion that
//! runs.

use std::path::Path;
use std::process::Command;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::harness::{Fixture, Server, eventually};

const TYPED: &str = include_str!("../../../query/tests/typed.tsv");

fn ask(server: &Server, query: &str) -> (u16, Value) {
    let query = utf8_percent_encode(query, NON_ALPHANUMERIC);
    server.json(&format!("/search?q={query}&limit=0"))
}

/// Returns the repositories and paths of the files in an answer.
fn paths(answer: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let Some(files) = answer["files"].as_array() else {
        let repos = answer["repos"].as_array().unwrap();
        return repos.iter().map(|repo| (text(repo), String::new())).collect();
    };
    files.iter().map(|file| (text(&file["repo"]), text(&file["path"]))).collect()
}

#[test]
fn what_is_typed_elsewhere_works_or_is_mended() {
    let fixture = Fixture::new();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/sample");
    let copied = Command::new("cp").arg("-r").arg(&sample).arg(fixture.path().join("r")).status();
    assert!(copied.unwrap().success());
    // Revisions are of clones.
    for folder in std::fs::read_dir(fixture.path().join("r")).unwrap() {
        let folder = format!("r/{}", folder.unwrap().file_name().to_str().unwrap());
        if fixture.path().join(&folder).is_dir() {
            fixture.git(&folder, &["init", "--quiet", "--initial-branch", "main"]);
            fixture.commit(&folder, "The sample");
        }
    }
    fixture.run(&["ingest", "--shards", "4", "--depth", "1", "r"]).code(0);
    let server = fixture.serve();
    let mut wrong = Vec::new();
    for line in TYPED.lines().filter(|line| !line.starts_with('#')) {
        let [_, typed, outcome] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not three columns: {line}")
        };
        let (kind, expected) = outcome.split_once(' ').unwrap();
        let (status, answer) = ask(&server, typed);
        match kind {
            "ok" => {
                let found =
                    if status == 200 { paths(&answer).len().to_string() } else { String::new() };
                if found != expected {
                    wrong.push(format!("{line}\n    {status}: {found} {}", answer["error"]));
                }
            }
            "=" => {
                let (_, same) = ask(&server, expected);
                if status != 200 || paths(&answer) != paths(&same) {
                    wrong.push(format!("{line}\n    {status}: {answer}"));
                }
            }
            "?" => {
                let encoded = utf8_percent_encode(typed, NON_ALPHANUMERIC);
                // Counting may run out of time on a busy machine.
                eventually(line, || {
                    let (_, answer) = server.json(&format!("/search?q={encoded}&hints=1"));
                    assert_eq!(answer["stats"]["files"], 0, "{line}");
                    let hints = answer["hints"].as_array().unwrap();
                    hints.iter().any(|hint| hint["query"] == expected && hint["files"] != 0)
                });
                let (_, found) = ask(&server, expected);
                assert_ne!(found["stats"]["files"], 0, "{line}");
            }
            _ => {
                let suggested = &answer["error"]["suggestion"];
                if (status, suggested["query"].as_str()) != (400, Some(expected)) {
                    wrong.push(format!("{line}\n    {status}: {}", answer["error"]));
                    continue;
                }
                let (status, found) = ask(&server, expected);
                let is_counted = suggested["complete"] == true;
                // For repositories, the count is that of their files.
                let counts = !is_counted
                    || found["repos"].is_array()
                    || suggested["files"] == found["stats"]["files"];
                if status != 200 || !counts {
                    wrong.push(format!("{line}\n    {suggested} {}", found["stats"]["files"]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
