//! Output for editors: one line for each match, and JSON as ripgrep writes it; and editors that read it, with the
//! settings of `docs/editors.md`.

mod document;
mod emacs;
mod helix;
mod neovim;
mod tree;
mod vim;
mod vscode;

use std::fs;

use serde_json::{Value, json};

use crate::harness::Fixture;
use crate::terminal::on_a_terminal;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/a.go", "package a\n\nfunc A() {\n\treturn\n}\n\nfunc B() { func C }\n}\n");
    fixture.write("two/b.txt", "x\r\nfunc é func\r\nlast func");
    fixture.ingest();
    fixture
}

/// The fixture's folder, with symbolic links resolved.
fn folder(fixture: &Fixture) -> String {
    fs::canonicalize(fixture.path()).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_line_for_each_match_with_a_path_that_opens() {
    let fixture = fixture();
    let folder = folder(&fixture);
    // As printed by `rg --vimgrep`, with the paths of folders.
    let mut expected: Vec<String> = [
        "one/a.go:3:1:func A() {",
        "one/a.go:7:1:func B() { func C }",
        "one/a.go:7:12:func B() { func C }",
        "two/b.txt:2:1:func é func\r",
        "two/b.txt:2:9:func é func\r",
        "two/b.txt:3:6:last func",
    ]
    .iter()
    .map(|line| format!("{folder}/{line}"))
    .collect();
    expected.sort();
    assert_eq!(fixture.search(&["--vimgrep", "func"]), expected);
    for line in &expected {
        let (path, rest) = line.split_once(':').unwrap();
        let number: usize = rest.split(':').next().unwrap().parse().unwrap();
        let text = fs::read_to_string(path).unwrap();
        assert!(line.ends_with(text.split('\n').nth(number - 1).unwrap()));
    }
    // Context has no column, a match that spans lines is on its first, and a path match opens the file at its start.
    assert_eq!(
        fixture.run(&["search", "--vimgrep", "-C1", "-U", "-e", r"A\(\) \{\n\s+return"]).out,
        ["2-", "3:6:func A() {", "5-}"]
            .map(|line| format!(
                "{folder}/one/a.go{}{line}\n",
                if line.contains(':') { ':' } else { '-' }
            ))
            .concat()
    );
    assert_eq!(
        fixture.search(&["--vimgrep", "file:a.go"]),
        [format!("{folder}/one/a.go:1:1:a.go")]
    );
}

#[test]
fn a_query_that_is_one_regular_expression() {
    let fixture = fixture();
    let search = |args: &[&str]| fixture.search(&[&["--local"], args].concat());
    for (with, without) in [
        (&["--regex", "func A"][..], &["-e", "func A"][..]),
        // Also after the end of options, and in several words.
        (&["--regex", "--", "func A"], &["-e", "func A"]),
        (&["--regex", "--", "func", "A"], &["-e", "func A"]),
        (&["--regex", "-w", "-i", "FUNC b"], &["-w", "-i", "-e", "FUNC b"]),
        (&["--regex", "file:a.go"], &["-e", "file:a.go"]),
        (&["--regex", "-F", "B() {"], &["-F", "-e", "B() {"]),
        (&["--regex", "--lang", "go", "func"], &["--lang", "go", "-e", "func"]),
        (&["--regex", "-r", "<$0>", "func A"], &["-r", "<$0>", "-e", "func A"]),
    ] {
        assert_eq!(search(with), search(without), "{with:?}");
    }
    assert!(search(&["--regex", "file:a.go"]).is_empty());
    assert_eq!((search(&["--regex", "func A"]).len(), search(&["func A"]).len()), (1, 2));
    let refused = fixture.run(&["search", "--regex", "func("]).code(2).err;
    assert!(refused.contains("unclosed group"), "{refused}");
    assert!(refused.ends_with("try: codesearch search -F 'func('\n"), "{refused}");
}

#[test]
fn programs_on_a_terminal_get_everything() {
    let fixture = Fixture::new();
    let long = format!("{}needle\n", "x ".repeat(2000));
    fixture.write("r/many.txt", format!("{long}{}", "needle\n".repeat(40)));
    for n in 0..120 {
        fixture.write(&format!("r/{n}.txt"), "needle\n");
    }
    fixture.ingest();
    for option in ["--vimgrep", "--json"] {
        let sorted = |text: &str| {
            // The times of a search differ.
            let lines =
                text.lines().map(str::trim_end).filter(|line| !line.contains("elapsed_total"));
            let mut lines: Vec<String> = lines.map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let args = ["search", option, "needle"];
        let piped = sorted(&fixture.run(&args).code(0).out);
        assert!(piped.len() > 160, "{option}");
        assert_eq!(sorted(&on_a_terminal(&fixture, &args)), piped, "{option}");
        // Only people are told what finds something.
        assert_eq!(sorted(&on_a_terminal(&fixture, &["search", option, "neeedle"])).len(), 0);
    }
    // Emacs says by this name that its terminal has no colours.
    let run = |term: &str| {
        let mut script = fixture.program("script");
        script.args(["-qec", "codesearch search needle", "/dev/null"]).env_remove("NO_COLOR");
        String::from_utf8(script.env("TERM", term).output().unwrap().stdout).unwrap()
    };
    assert!(run("xterm").contains('\u{1b}'));
    assert!(!run("dumb").contains('\u{1b}'));
}

#[test]
fn paths_in_the_folders_that_were_indexed() {
    let fixture = fixture();
    let folder = folder(&fixture);
    assert_eq!(
        fixture.search(&["--local", "-l", "func"]),
        [format!("{folder}/one/a.go"), format!("{folder}/two/b.txt")]
    );
    let out = fixture.run(&["search", "--local", "--json", "return"]).code(0).out;
    let begin: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!(begin["data"]["path"]["text"], format!("{folder}/one/a.go"));
}

#[test]
fn json_has_the_fields_of_ripgrep_in_their_order() {
    let fixture = fixture();
    let out = fixture.run(&["search", "--json", "-A1", "func"]).code(0).out;
    let (lines, summary) = out.trim_end().rsplit_once('\n').unwrap();
    let ended = |path: &str, bytes: usize, lines: usize, matches: usize| {
        let printed: usize = out
            .lines()
            .filter(|line| line.contains(path) && !line.starts_with(r#"{"type":"end""#))
            .map(|line| line.len() + 1)
            .sum();
        format!(
            r#"{{"type":"end","data":{{"path":{{"text":"{path}"}},"binary_offset":null,"stats":{{"elapsed":{{"secs":0,"nanos":0,"human":"0.000000s"}},"searches":1,"searches_with_match":1,"bytes_searched":{bytes},"bytes_printed":{printed},"matched_lines":{lines},"matches":{matches}}}}}}}"#
        )
    };
    // The output of `rg --json -A1 func one/a.go two/b.txt`, apart from times.
    let expected = [
        r#"{"type":"begin","data":{"path":{"text":"one/a.go"}}}"#.to_owned(),
        r#"{"type":"match","data":{"path":{"text":"one/a.go"},"lines":{"text":"func A() {\n"},"line_number":3,"absolute_offset":11,"submatches":[{"match":{"text":"func"},"start":0,"end":4}]}}"#.to_owned(),
        r#"{"type":"context","data":{"path":{"text":"one/a.go"},"lines":{"text":"\treturn\n"},"line_number":4,"absolute_offset":22,"submatches":[]}}"#.to_owned(),
        r#"{"type":"match","data":{"path":{"text":"one/a.go"},"lines":{"text":"func B() { func C }\n"},"line_number":7,"absolute_offset":33,"submatches":[{"match":{"text":"func"},"start":0,"end":4},{"match":{"text":"func"},"start":11,"end":15}]}}"#.to_owned(),
        r#"{"type":"context","data":{"path":{"text":"one/a.go"},"lines":{"text":"}\n"},"line_number":8,"absolute_offset":53,"submatches":[]}}"#.to_owned(),
        ended("one/a.go", 55, 2, 3),
        r#"{"type":"begin","data":{"path":{"text":"two/b.txt"}}}"#.to_owned(),
        r#"{"type":"match","data":{"path":{"text":"two/b.txt"},"lines":{"text":"func é func\r\n"},"line_number":2,"absolute_offset":3,"submatches":[{"match":{"text":"func"},"start":0,"end":4},{"match":{"text":"func"},"start":8,"end":12}]}}"#.to_owned(),
        r#"{"type":"match","data":{"path":{"text":"two/b.txt"},"lines":{"text":"last func"},"line_number":3,"absolute_offset":17,"submatches":[{"match":{"text":"func"},"start":5,"end":9}]}}"#.to_owned(),
        ended("two/b.txt", 26, 2, 3),
    ];
    for (line, expected) in lines.lines().zip(&expected) {
        assert_eq!(line, expected);
    }
    assert_eq!(lines.lines().count(), expected.len());
    assert!(summary.starts_with(r#"{"data":{"#), "{summary}");
    let mut summary: Value = serde_json::from_str(summary).unwrap();
    for elapsed in ["/data/elapsed_total", "/data/stats/elapsed"] {
        let elapsed = summary.pointer_mut(elapsed).unwrap();
        assert!(elapsed["secs"].is_u64() && elapsed["nanos"].is_u64());
        assert!(elapsed["human"].as_str().unwrap().ends_with('s'));
        *elapsed = json!(null);
    }
    let printed: usize = lines
        .lines()
        .filter(|line| !line.starts_with(r#"{"type":"end""#))
        .map(|line| line.len() + 1)
        .sum();
    assert_eq!(
        summary,
        json!({
            "type": "summary",
            "data": {
                "elapsed_total": null,
                "complete": true,
                "stats": {
                    "elapsed": null,
                    "searches": 2,
                    "searches_with_match": 2,
                    "bytes_searched": 81,
                    "bytes_printed": printed,
                    "matched_lines": 4,
                    "matches": 6,
                },
            },
        })
    );
}
