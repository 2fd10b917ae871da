//! Links of the documents: what they lead to exists.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// The root of the checkout.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Returns the documents in a folder, and with `deep` in those below it.
fn documents(folder: &Path, deep: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && deep {
            found.extend(documents(&path, deep));
        } else if path.extension().is_some_and(|own| own == "md") {
            found.push(path);
        }
    }
    found
}

fn headings(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim())
}

/// Returns the anchor that a heading gets: `What it costs`, `what-it-costs`.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn documents_lead_to_what_is_there() {
    let root = Path::new(ROOT);
    let mut all = documents(root, false);
    for folder in ["docs", "benches", "corpus"] {
        all.extend(documents(&root.join(folder), folder == "docs"));
    }
    let link = Regex::new(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)").unwrap();
    let fence = Regex::new(r"(?s)```.*?```").unwrap();
    let log = Regex::new(r"the log, ([^;.)]*)").unwrap();
    let quoted = Regex::new("\"([^\"]+)\"").unwrap();
    let levers = fs::read_to_string(root.join("benches/levers.md")).unwrap();
    let (mut faults, mut links, mut sections) = (Vec::new(), 0, 0);
    for path in &all {
        let text = fs::read_to_string(path).unwrap();
        let prose = fence.replace_all(&text, "");
        for found in link.captures_iter(&prose) {
            if found[1].contains(':') {
                continue;
            }
            links += 1;
            let target = match &found[1] {
                "" => path.clone(),
                name => path.parent().unwrap().join(name),
            };
            let is_there = match found.get(2) {
                None => target.exists(),
                Some(name) => fs::read_to_string(&target).is_ok_and(|text| {
                    headings(&text).map(anchor).collect::<HashSet<_>>().contains(name.as_str())
                }),
            };
            if !is_there {
                faults.push(format!("{}: {}", path.display(), &found[0]));
            }
        }
        for found in log.captures_iter(&prose) {
            for name in quoted.captures_iter(&found[1]) {
                sections += 1;
                if !headings(&levers).any(|heading| heading.starts_with(&name[1])) {
                    faults.push(format!("{}: the log has no section {}", path.display(), &name[1]));
                }
            }
        }
    }
    assert!(links > 100 && sections > 5, "{links} links, {sections} sections of the log");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
