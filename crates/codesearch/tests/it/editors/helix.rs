//! The commands of the shell in Helix's setting. Helix itself is not run here.

use std::io::Write;
use std::process::Stdio;

use regex::Regex;

use super::document::setting;
use super::tree::{Place, Tree, has};

#[test]
fn helix_lists_and_opens_what_ripgrep_finds() {
    if !has("rg") {
        return;
    }
    let tree = Tree::new();
    let setting = setting("Helix", "toml").replace("\\\\", "\\");
    let commands = Regex::new(r#"":pipe-to ([^"]+)""#).unwrap();
    let commands: Vec<&str> =
        commands.captures_iter(&setting).map(|found| found.get(1).unwrap().as_str()).collect();
    let [list, open] = commands[..] else { panic!("{commands:?}") };
    let opened = Regex::new(r":open %sh\{([^}]+)\}").unwrap();
    let opened = opened.captures(&setting).unwrap().get(1).unwrap().as_str();
    // As Helix does with the selected text.
    let piped = |command: &str, text: &str| {
        let mut shell = tree.editor("sh");
        shell.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        shell.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        String::from_utf8(shell.wait_with_output().unwrap().stdout).unwrap()
    };
    std::fs::create_dir(tree.folder.join(".cache")).unwrap();
    for selected in ["needle", "needle two", "\"needle\" it's", "a[i]", "x*y # 100% a|b"] {
        assert_eq!(piped(list, selected), "");
        let lines = std::fs::read_to_string(tree.folder.join(".cache/codesearch")).unwrap();
        let mut places: Vec<Place> = lines
            .lines()
            .map(|line| {
                piped(open, &format!("{line}\n"));
                let place = piped(opened, "");
                let parts: Vec<&str> = place.rsplitn(3, ':').collect();
                let [column, line, file] = parts[..] else { panic!("{place}") };
                Place {
                    file: file.to_owned(),
                    line: line.parse().unwrap_or_default(),
                    column: column.parse().unwrap_or_default(),
                }
            })
            .collect();
        places.sort();
        // A colon in a name is not read.
        let readable = |places: Vec<Place>| -> Vec<Place> {
            places.into_iter().filter(|place| !place.file.contains("/co")).collect()
        };
        assert_eq!(readable(places), readable(tree.ripgrep(&["-F", "-e", selected])), "{selected}");
    }
}
