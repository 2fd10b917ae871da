//! The problem matcher for Visual Studio Code, which is not run here: its expression, on the program's output.

use std::fs;

use regex::Regex;
use serde_json::Value;

use super::document::setting;
use super::tree::{Place, Tree, has};
use crate::terminal::on_a_terminal;

#[test]
fn the_problem_matcher_reads_every_line() {
    if !has("rg") {
        return;
    }
    let tree = Tree::new();
    let tasks: Value = serde_json::from_str(&setting("Visual Studio Code", "json")).unwrap();
    let task = &tasks["tasks"][0];
    assert_eq!(task["command"], "codesearch");
    let id = tasks["inputs"][0]["id"].as_str().unwrap();
    let pattern = &task["problemMatcher"]["pattern"];
    // JavaScript reads what stands in this expression as Rust does.
    let matcher = Regex::new(pattern["regexp"].as_str().unwrap()).unwrap();
    let group = |name: &str| usize::try_from(pattern[name].as_u64().unwrap()).unwrap();
    for query in ["needle", "needle two", "\"needle\" it's", r"a\|b|100%", "some lines", "-x"] {
        let args: Vec<String> = task["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(|arg| arg.as_str().unwrap().replace(&format!("${{input:{id}}}"), query))
            .collect();
        assert!(args.iter().any(|arg| arg == query));
        // VS Code runs tasks on a terminal, without its escape sequences when it reads them.
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let out = on_a_terminal(&tree.fixture, &args);
        let mut found: Vec<Place> = out
            .lines()
            .map(|line| {
                let parts = matcher.captures(line).unwrap_or_else(|| panic!("{line}"));
                assert!(!parts[group("message")].trim().is_empty());
                let file = fs::canonicalize(&parts[group("file")]).unwrap();
                let number = |name| parts[group(name)].parse().unwrap();
                Place {
                    file: file.to_str().unwrap().to_owned(),
                    line: number("line"),
                    column: number("column"),
                }
            })
            .collect();
        found.sort();
        assert_eq!(found, tree.ripgrep(&["-S", "-e", query]), "{query}");
    }
}
