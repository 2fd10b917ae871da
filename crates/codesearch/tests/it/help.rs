//! The output of `--help`, and the messages for an invalid command line.

use crate::harness::{Fixture, clean_command};

const COMMANDS: [&str; 20] = [
    "",
    "up",
    "ingest",
    "search",
    "files",
    "ask",
    "docs",
    "serve",
    "token",
    "mcp",
    "repos",
    "remove",
    "init",
    "stats",
    "audit",
    "check",
    "scip",
    "monitor",
    "monitor add",
    "mirror",
];

fn help(command: &str, flag: &str, columns: usize) -> String {
    let mut run = clean_command();
    run.args(command.split_whitespace()).arg(flag).env("COLUMNS", columns.to_string());
    let out = run.output().unwrap();
    assert!(out.status.success(), "{command} {flag}");
    String::from_utf8(out.stdout).unwrap()
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns whether a line is laid out by hand: an example, a table, an item of a list, a flag.
fn is_laid_out(line: &str) -> bool {
    let text = line.trim_start();
    text.contains("  ")
        || ["codesearch ", "Usage:", "-", "#", "{", "$"].iter().any(|start| text.starts_with(start))
        || text.ends_with(':')
        || text.starts_with('[')
}

#[test]
fn paragraphs_fill_the_width_that_there_is() {
    for command in COMMANDS.iter().chain(&["db", "db stop"]) {
        for flag in ["-h", "--help"] {
            for columns in [80, 100, 120] {
                let text = help(command, flag, columns);
                let width = columns.min(100);
                let lines: Vec<&str> = text.lines().collect();
                let examples = |text: &str| -> Vec<String> {
                    let own = text.lines().filter(|line| line.starts_with("  codesearch "));
                    own.map(str::to_owned).collect()
                };
                assert_eq!(examples(&text), examples(&help(command, flag, 100)), "{command}");
                for line in &lines {
                    let too_long = line.chars().count() > width;
                    assert!(!too_long, "{command} {flag} at {columns}: {line}");
                }
                for pair in lines.windows(2) {
                    let [line, next] = pair else { unreachable!() };
                    let same = indentation(line) == indentation(next);
                    if !same
                        || line.trim().is_empty()
                        || next.trim().is_empty()
                        || is_laid_out(line)
                        || is_laid_out(next)
                    {
                        continue;
                    }
                    let word = next.split_whitespace().next().unwrap_or_default();
                    let fits = line.chars().count() + 1 + word.chars().count() <= width;
                    assert!(!fits, "{command} {flag} at {columns}: short line\n{line}\n{next}");
                }
            }
        }
    }
}

#[test]
fn short_help_is_short() {
    for command in COMMANDS {
        let short = help(command, "-h", 100);
        assert!(!short.contains("DATABASE_URL") || command.is_empty(), "{command}\n{short}");
        assert!(!short.contains("--postgres-bin"), "{command}\n{short}");
        let long = help(command, "--help", 100);
        assert!(long.contains("Database options:") && long.contains("--postgres-bin"), "{command}");
    }
    // Hidden commands for tests and ripgrep's own flags are in neither.
    let fixture = Fixture::new();
    for text in [help("db", "--help", 100), fixture.run(&["db"]).code(2).err] {
        assert!(text.contains("psql-hint") && !text.contains("hold"), "{text}");
    }
    assert!(!help("search", "--help", 100).contains("--pcre2"));
}

#[test]
fn what_cannot_be_read_is_one_sentence() {
    let fixture = Fixture::new();
    for (args, expected) in [
        (
            &["search", "--bogus", "x"][..],
            "unknown option --bogus of codesearch search (see --help); if it belongs to the query, write codesearch search \
             -- --bogus x",
        ),
        (
            &["search", "--lmit", "3", "x"],
            "unknown option --lmit of codesearch search; did you mean --limit?",
        ),
        (&["stats", "-y"], "unknown option -y of codesearch stats; see codesearch stats --help"),
        (
            &["rg", "-v", "x"],
            "--invert-match: the index finds only lines that match; for files without a match, write \
             --files-without-match, or -foo in a query",
        ),
        (
            &["docs", "--hidden", "x"],
            "unknown option --hidden of codesearch docs (see --help); if it belongs to the query, write codesearch \
             docs -- --hidden x",
        ),
        (
            &["repos", "--skiped", "x"],
            "unknown option --skiped of codesearch repos; did you mean --skipped?",
        ),
        (&["list"], "unknown command list; use codesearch repos, or codesearch search --files"),
        (&["serch", "x"], "unknown command serch; did you mean codesearch search?"),
        (
            &["func main"],
            "unknown command func main; to search for it, write codesearch search 'func main'",
        ),
        (&["db", "begin"], "unknown command begin; see codesearch db --help"),
        (&["search"], "<QUERY>... is missing; see codesearch search --help"),
        (
            &["search", "--explain", "--json", "x"],
            "--explain and --json cannot be combined; leave one out",
        ),
        (
            &["search", "--color", "pink", "x"],
            "invalid value 'pink' for '--color <WHEN>' [possible values: auto, always, never]",
        ),
        (
            &["search", "--limit", "x", "y"],
            "--limit: x is not a whole number; give a number, 0 for all",
        ),
        (&["search", "--limit"], "a value is required for '--limit <N>' but none was supplied"),
    ] {
        let ran = fixture.run(args).code(2);
        assert_eq!((&*ran.out, &*ran.err), ("", &*format!("codesearch: {expected}\n")), "{args:?}");
    }
}

#[test]
fn other_names_of_search() {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "needle\n");
    fixture.ingest();
    for name in ["search", "grep", "rg"] {
        assert_eq!(fixture.run(&[name, "-n", "needle"]).code(0).out, "r/a.txt:1:needle\n");
    }
}

#[test]
fn repositories_by_a_part_of_their_names() {
    let fixture = Fixture::new();
    for repo in ["golang", "Cargo", "rust"] {
        fixture.write(&format!("{repo}/a.txt"), "x\n");
    }
    fixture.ingest();
    let names = |args: &[&str], code: i32| -> Vec<String> {
        let out = fixture.run(&[&["repos", "--json"], args].concat()).code(code).out;
        let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        out.lines().map(|text| line(text)["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&["go"], 0), ["Cargo", "golang"]);
    assert_eq!(names(&["lang", "RUST"], 0), ["golang", "rust"]);
    assert_eq!(names(&[], 0).len(), 3);
    assert!(names(&["python"], 1).is_empty());
    let ran = fixture.run(&["repos", "python"]).code(1);
    assert_eq!(
        ran.err,
        "codesearch: no repository's name contains python; codesearch repos lists them\n"
    );
}
