//! codesearch as a replacement for ripgrep: the same flags give the same bytes.
//!
//! The comparisons run if `rg` is in PATH; otherwise they are skipped with a message, or fail with `CI=true`.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::equality::copy;
use crate::harness::{Fixture, Ran};

/// Returns whether ripgrep is installed.
fn has_ripgrep() -> bool {
    let there = Command::new("rg").arg("--version").output().is_ok();
    let required = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(there || !required, "there is no rg in PATH");
    if !there {
        eprintln!("left out: there is no rg in PATH");
    }
    there
}

/// The sample, indexed under the names of its folders.
struct Sample {
    fixture: Fixture,
    folder: PathBuf,
    repos: Vec<String>,
}

impl Sample {
    fn new() -> Self {
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/sample");
        let fixture = Fixture::new();
        let folder = fixture.path().canonicalize().unwrap().join("sample");
        copy(&sample, &folder);
        // ripgrep lists binary files, and prints files of other encodings undecoded.
        for path in ["driftwood/testdata/tiny.bin", "driftwood/testdata/latin1.txt"] {
            std::fs::remove_file(folder.join(path)).unwrap();
        }
        // Matches across lines that touch each other, and Windows line ends.
        fixture.write("sample/lines/1.txt", "a\nb\na\nb\nx\na\nb c a\nb\nend\n");
        fixture.write("sample/lines/2.txt", "x {\n\n return a; {\n return b\n\n\n {\n\treturn");
        fixture.write("sample/lines/3.txt", "a a a\nb a\nb\n\n\nq\na\n");
        let windows = "alpha gamma\r\nbeta\r\n\r\ngamma\r\ngamma\n gamma  beta\r\nend gamma";
        fixture.write("sample/lines/crlf.txt", windows);
        fixture.run(&["ingest", "--shards", "4", "--depth", "1", "sample"]).code(0);
        let entries = std::fs::read_dir(&folder).unwrap().flatten();
        let mut repos: Vec<String> = entries
            .filter(|entry| entry.file_type().unwrap().is_dir())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        repos.sort();
        Self { fixture, folder, repos }
    }

    fn ours(&self, args: &[&str]) -> Output {
        let args = [&["search", "--sort", "path"], args].concat();
        let mut command = self.fixture.command(&args);
        command.current_dir(&self.folder).stdin(Stdio::null()).output().unwrap()
    }

    /// Returns ripgrep's output in the sample's folder, with the flags for what codesearch does by default.
    fn theirs(&self, args: &[&str], paths: &[&str]) -> Output {
        let mut command = Command::new("rg");
        command.args(["--no-config", "--hidden", "--no-ignore", "-n", "--sort", "path"]);
        command.args(args).arg("--").args(paths);
        command.current_dir(&self.folder).stdin(Stdio::null()).output().unwrap()
    }

    /// Checks that both print the same bytes and exit with the same status.
    #[track_caller]
    fn check(&self, args: &[&str]) {
        let repos: Vec<&str> = self.repos.iter().map(String::as_str).collect();
        self.compare(args, &self.theirs(args, &repos));
    }

    #[track_caller]
    fn compare(&self, args: &[&str], theirs: &Output) {
        let ours = self.ours(args);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (left, right) = (text(&ours.stdout), text(&theirs.stdout));
        let differ = left.lines().zip(right.lines()).find(|(left, right)| left != right);
        let (mine, its) = (text(&ours.stderr), text(&theirs.stderr));
        assert!(
            ours.stdout == theirs.stdout,
            "{args:?}: {} and {} lines, first {differ:?}\n{mine}\n{its}",
            left.lines().count(),
            right.lines().count(),
        );
        assert_eq!(ours.status.code(), theirs.status.code(), "{args:?}\n{mine}\n{its}");
    }
}

#[test]
fn prints_the_bytes_that_ripgrep_prints() {
    if !has_ripgrep() {
        return;
    }
    let sample = Sample::new();
    let patterns = sample.fixture.path().join("patterns");
    std::fs::write(&patterns, "return\nfn \\w+\n").unwrap();
    let patterns = patterns.to_str().unwrap();
    for args in [
        // Options about matching.
        &["-s", "-e", "func"][..],
        &["-S", "-e", "func"],
        &["-S", "-e", "Func"],
        &["-i", "-e", "FUNC"],
        &["-s", "-w", "-e", "for"],
        &["-s", "-x", "-e", r"\s*\}"],
        &["-s", "-x", "-F", "-e", "}"],
        &["-s", "-F", "-e", "a[i]", "-e", "()"],
        &["-s", "-o", "-e", "err", "-e", "error", "-e", "err.r"],
        &["-S", "-e", "todo", "-e", r"\d+", "-c"],
        &["-s", "-f", patterns],
        &["-s", "-w", "-f", patterns, "-e", "if"],
        &["-s", "-e", "nowhere to be found"],
        &["-s", "-e", r"é|ü|→|“"],
        // Options about output.
        &["-s", "-l", "-e", "func"],
        &["-s", "-l", "-0", "-e", "func"],
        &["-s", "-c", "-e", "func"],
        &["-s", "-c", "-0", "-e", "func"],
        &["-s", "-c", "-I", "-e", "func"],
        &["-s", "-c", "-o", "-e", "e"],
        &["-s", "--count-matches", "-e", "e"],
        &["-s", "--count-matches", "-m", "2", "-e", "e"],
        &["-s", "--files-without-match", "-e", "func"],
        &["-s", "-q", "-e", "func"],
        &["-s", "-q", "-e", "nowhere to be found"],
        &["-s", "-m", "2", "-e", "func"],
        &["-s", "-m", "1", "-A", "9", "-e", "func"],
        &["-s", "-m", "2", "-C", "2", "-e", "func"],
        &["-s", "-A", "2", "-e", "func"],
        &["-s", "-B", "1", "-e", "func"],
        &["-s", "-C", "3", "-e", "func"],
        &["-s", "-C", "1", "--context-separator", r"#\t#", "-e", "func"],
        &["-s", "-C", "1", "--no-context-separator", "-e", "func"],
        &["-s", "-C", "1", "--field-match-separator", r"\t", "-e", "func"],
        &["-s", "-C", "1", "--field-context-separator", "=", "-e", "func"],
        &["-s", "-o", "-e", r"\w+\("],
        &["-s", "-o", "-C", "1", "-e", r"\w+\("],
        &["-s", "-o", "-b", "--column", "-e", r"\w+\("],
        &["-s", "-b", "-C", "1", "-e", "func"],
        &["-s", "--column", "-e", "func"],
        &["-s", "--column", "-C", "1", "-e", "func"],
        &["-s", "-N", "-e", "func"],
        &["-s", "-I", "-e", "func"],
        &["-s", "-I", "-N", "-o", "-e", "func"],
        &["-s", "-0", "-e", "func"],
        &["-s", "-0", "-C", "1", "-e", "func"],
        &["-s", "--trim", "-e", "return"],
        &["-s", "--trim", "--column", "-C", "1", "-e", "return"],
        &["-s", "-M", "40", "-e", "return"],
        &["-s", "-M", "40", "-C", "1", "-e", "return"],
        &["-s", "-M", "40", "--column", "-e", "e"],
        &["-s", "-M", "40", "--max-columns-preview", "-C", "1", "-e", "return"],
        &["-s", "-M", "40", "--max-columns-preview", "--column", "-e", "e"],
        &["-s", "-M", "20", "-o", "-e", ".+"],
        &["-s", "-r", "<$0>", "-e", "func"],
        &["-s", "-r", "$2 $1", "-e", r"(\w+) (?P<second>\w+)"],
        &["-s", "-o", "-r", "${second}x", "-e", r"(\w+) (?P<second>\w+)"],
        &["-s", "-w", "-r", "", "-C", "1", "-e", "(for|if)"],
        // Headings and colours, as on a terminal.
        &["-s", "--heading", "-e", "func"],
        &["-s", "--heading", "-C", "1", "-e", "func"],
        &["-s", "--heading", "-I", "-e", "func"],
        &["-s", "--heading", "-0", "-e", "func"],
        &["-s", "--heading", "--no-heading", "-e", "func"],
        &["-s", "-p", "-e", "func"],
        &["-s", "-p", "-C", "2", "--column", "-e", "func"],
        &["-s", "--color", "always", "-e", "e"],
        &["-s", "--color", "ansi", "-C", "1", "-b", "-e", "e"],
        &["-s", "--color", "always", "-l", "-e", "e"],
        &["-s", "--color", "always", "-c", "-e", "e"],
        &["-s", "--color", "always", "-o", "-e", "e"],
        &["-s", "--color", "always", "-r", "x", "-e", "e"],
        &["-s", "--color", "always", "-M", "40", "-e", "e"],
        &["-s", "--color", "always", "-M", "40", "--max-columns-preview", "-e", "e"],
        &["-s", "--color", "always", "--trim", "-M", "40", "-e", "e"],
        &["-s", "--color", "never", "-e", "e"],
        // Matches across lines.
        &["-s", "-U", "-e", r"\{\n\s*return"],
        &["-s", "-U", "-C", "1", "-e", r"\{\n\s*return"],
        &["-s", "-U", "-l", "-e", r"\{\n\s*return"],
        &["-s", "-U", "-p", "-e", r"\{\n\s*return"],
        &["-s", "-U", "--multiline-dotall", "-l", "-e", r"func.*?return"],
        &["-s", "-U", "--no-multiline", "-c", "-e", r"a\s+b"],
        &["-s", "-U", "-m", "1", "-e", r"a\nb"],
        &["-s", "-U", "-m", "1", "-o", "-e", r"a\nb"],
        &["-s", "-U", "-m", "2", "-B", "1", "-e", r"a\nb"],
        &["-s", "-U", "-m", "1", "--heading", "-e", r"[ab]\n"],
        &["-s", "-U", "-m", "1", "-e", "a"],
        &["-s", "-U", "-c", "-e", r"a\nb"],
        &["-s", "-U", "-c", "-m", "1", "-e", r"a\nb"],
        &["-s", "-U", "-c", "-o", "-e", r"\n\n"],
        &["-s", "-U", "-c", "-e", "a"],
        &["-s", "-U", "--count-matches", "-e", r"\{\n\s*return"],
        &["-s", "-U", "--count-matches", "-m", "1", "-e", r"(?s)a.*?b"],
        &["-s", "-U", "-o", "-e", r"\{\n\s*return"],
        &["-s", "-U", "-o", "-b", "--column", "-e", r"a\nb|\n\n"],
        &["-s", "-U", "-o", "--color", "always", "-e", r"a\nb"],
        &["-s", "-U", "-b", "--column", "-C", "1", "-e", r"a\nb"],
        &["-s", "-U", "-M", "9", "-e", r"\{\n\s*return"],
        &["-s", "-U", "-M", "9", "--max-columns-preview", "-e", r"\{\n\s*return"],
        &["-s", "-U", "--trim", "-e", r"\{\n\s*return"],
        &["-s", "-U", "-q", "-m", "1", "-e", r"a\nb"],
        &["-s", "-U", "-r", "<$0>", "-e", "gamma"],
        // Carriage returns at the ends of lines.
        &["-s", "-e", "gamma$"],
        &["-s", "-o", "-e", r"gamma\s"],
        &["-s", "--crlf", "-e", "gamma$"],
        &["-s", "--crlf", "-o", "-e", "gamma$|beta$"],
        &["-s", "--crlf", "-o", "-b", "--column", "-e", "a.*"],
        &["-s", "--crlf", "-c", "-e", "^gamma$"],
        &["-s", "--crlf", "-c", "-0", "-e", "a$"],
        &["-s", "--crlf", "--count-matches", "-m", "1", "-e", "a"],
        &["-s", "--crlf", "-l", "-e", "gamma$"],
        &["-s", "--crlf", "-C", "1", "-e", "^$"],
        &["-s", "--crlf", "-x", "-e", "gamma"],
        &["-s", "--crlf", "-w", "-e", "beta"],
        &["-s", "--crlf", "-F", "-e", "gamma"],
        &["-s", "--crlf", "-e", r"gamma\s"],
        &["-s", "--crlf", "-r", "X", "-e", "gamma$"],
        &["-s", "--crlf", "-o", "-r", "X", "-e", "gamma$"],
        &["-s", "--crlf", "-M", "6", "-e", "gamma$"],
        &["-s", "--crlf", "-U", "-o", "-e", "gamma$"],
        &["-s", "--crlf", "--color", "always", "-e", "gamma$"],
        &["-s", "--crlf", "--heading", "--trim", "-e", "gamma$"],
        &["-s", "--crlf", "--no-crlf", "-e", "gamma$"],
        // Options about files.
        &["--files"],
        &["--files", "-0"],
        &["--files", "-g", "*.go"],
        &["--files", "-g", "!*.go"],
        &["--files", "-g", "*.{go,rs}", "-g", "!*_test.go"],
        &["--files", "-g", "!*_test.go", "-g", "*.go"],
        &["--files", "-g", "!src/", "-g", "!docs"],
        &["--files", "-g", "**/src/**/*.rs"],
        &["--files", "-g", "[A-M]*"],
        &["--files", "--iglob", "readme.MD"],
        &["--files", "--glob-case-insensitive", "-g", "MAKE*"],
        &["--files", "-t", "go"],
        &["--files", "-t", "go", "-t", "rust"],
        &["--files", "-T", "go"],
        &["--files", "-t", "all"],
        &["--files", "-t", "c", "-T", "cpp"],
        &["--files", "-t", "go", "-g", "*.md"],
        &["--files", "-t", "go", "-g", "!*_test.go"],
        &["--files", "--type-add", "mine:*.{md,toml}", "-t", "mine"],
        &["--files", "--type-clear", "go", "--type-add", "go:*.mod", "-t", "go"],
        &["-s", "-t", "py", "-e", "def"],
        &["-s", "-g", "*.py", "-c", "-e", "def"],
        // The last of these wins.
        &["-s", "-c", "--count-matches", "-e", "e"],
        &["-s", "-n", "-N", "-e", "func"],
        &["-s", "-N", "-n", "-e", "func"],
        &["-s", "-H", "-I", "-e", "func"],
        &["-s", "-i", "-s", "-e", "Func"],
    ] {
        sample.check(args);
    }
}

/// Relative to the root of a repository.
#[test]
fn globs_with_a_slash_begin_at_the_root_of_a_repository() {
    if !has_ripgrep() {
        return;
    }
    let sample = Sample::new();
    for args in [
        &["--files", "-g", "/src/*.rs"][..],
        &["--files", "-g", "src/**"],
        &["--files", "-g", "!src/**"],
        &["--files", "-g", "*/harbor/*.go"],
        &["--files", "-g", "!/cmd/"],
        &["--files", "--max-depth", "1"],
        &["--files", "--max-depth", "2", "-g", "!*.md"],
    ] {
        let mut expected = String::new();
        for repo in &sample.repos {
            let mut command = Command::new("rg");
            command.args(["--no-config", "--hidden", "--no-ignore", "--sort", "path"]).args(args);
            let folder = sample.folder.join(repo);
            let out = command.current_dir(folder).stdin(Stdio::null()).output().unwrap();
            for path in String::from_utf8(out.stdout).unwrap().lines() {
                expected += &format!("{repo}/{path}\n");
            }
        }
        let ours = Ran::of(sample.ours(args));
        assert_eq!(ours.out, expected, "{args:?}\n{}", ours.err);
    }
}

#[test]
fn vimgrep_prints_paths_that_open() {
    if !has_ripgrep() {
        return;
    }
    let sample = Sample::new();
    let paths = sample.repos.iter().map(|repo| sample.folder.join(repo).display().to_string());
    let paths: Vec<String> = paths.collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    for args in [
        &["--vimgrep", "-s", "-e", "e"][..],
        &["--vimgrep", "-s", "-e", "func", "-C", "1"],
        &["--vimgrep", "-s", "--color", "always", "-e", "func|return"],
        &["--vimgrep", "-s", "-U", "-e", r"a\nb"],
        &["--vimgrep", "-s", "-U", "-o", "-e", r"a\nb"],
        &["--vimgrep", "-s", "--crlf", "-e", "gamma$"],
    ] {
        sample.compare(args, &sample.theirs(args, &paths));
    }
}

#[test]
fn json_lines_are_those_of_ripgrep() {
    if !has_ripgrep() {
        return;
    }
    let sample = Sample::new();
    let repos: Vec<&str> = sample.repos.iter().map(String::as_str).collect();
    // Times differ, and ripgrep's summary also counts files without a match. The newest version adds a field to paths.
    let known = |out: Output| -> Vec<Value> {
        let text = String::from_utf8(out.stdout).unwrap();
        let messages = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        messages
            .filter(|message| message["type"] != "summary")
            .map(|mut message| {
                if let Some(stats) = message["data"].get_mut("stats") {
                    stats["elapsed"] = Value::Null;
                }
                message
            })
            .collect()
    };
    for args in [
        &["--json", "-s", "-e", "func"][..],
        &["--json", "-s", "-e", "e", "-e", "er"],
        &["--json", "-s", "-C", "1", "-w", "-e", "return"],
        &["--json", "-s", "-e", "é|→"],
        &["--json", "-s", "-e", "nowhere to be found"],
        &["--json", "-s", "-N", "-e", "func"],
        &["--json", "-s", "-U", "-e", r"a\nb"],
        &["--json", "-s", "-U", "-C", "1", "-e", r"[ab]\n|\n\n"],
        &["--json", "-s", "-U", "-e", "a"],
        &["--json", "-s", "--crlf", "-e", "gamma$"],
    ] {
        let (ours, theirs) = (sample.ours(args), sample.theirs(args, &repos));
        assert_eq!(ours.status.code(), theirs.status.code(), "{args:?}");
        assert_eq!(known(ours), known(theirs), "{args:?}");
    }
}

/// A flag in a row of the table: its names with its value, its fate, and a note.
struct Row {
    names: Vec<String>,
    value: Option<String>,
    fate: String,
    note: String,
}

fn rows() -> Vec<Row> {
    let document = include_str!("../../../../docs/ripgrep.md");
    let rows = document.lines().filter(|line| line.starts_with("| `-"));
    let flags = rows.flat_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').splitn(3, " | ").map(str::trim).collect();
        cells[0].split("; ").map(|flag| [flag, cells[1], cells[2]]).collect::<Vec<_>>()
    });
    flags
        .map(|cells| {
            let names = cells[0].split(", ").map(|name| name.trim_matches('`'));
            let value = names
                .clone()
                .find_map(|name| name.split_once(' ').map(|(_, value)| value.to_owned()));
            Row {
                names: names.map(|name| name.split(' ').next().unwrap().to_owned()).collect(),
                value,
                fate: cells[1].to_owned(),
                note: cells[2].to_owned(),
            }
        })
        .collect()
}

#[test]
fn the_table_names_every_flag_of_ripgrep() {
    if !has_ripgrep() {
        return;
    }
    let out = Command::new("rg").arg("--help").output().unwrap();
    let help = String::from_utf8(out.stdout).unwrap();
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut flags: BTreeSet<String> = help
        .split(|c| !word(c))
        .filter(|word| {
            word.strip_prefix("--").is_some_and(|rest| rest.starts_with(char::is_alphanumeric))
        })
        .map(str::to_owned)
        .collect();
    // Short flags are at the beginning of a line.
    flags.extend(help.lines().filter_map(|line| {
        let mut letters = line.trim_start().strip_prefix('-')?.chars();
        let letter = letters.next().filter(|c| *c != '-')?;
        matches!(letters.next(), Some(',' | ' ')).then(|| format!("-{letter}"))
    }));
    // This one belongs to find.
    flags.remove("--print0");
    assert!(flags.len() > 120, "{flags:?}");
    let known: BTreeSet<String> = rows().into_iter().flat_map(|row| row.names).collect();
    let missing: Vec<&String> = flags.difference(&known).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_row_of_the_table_holds() {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "x y\n");
    fixture.write("r/patterns", "x\n");
    fixture.ingest();
    let found = fixture.run(&["search", "-e", "x"]).code(0).out;
    let rows = rows();
    assert!(rows.len() > 130);
    for Row { names, value, fate, note } in rows {
        let value = value.map(|value| match &*value {
            "N" => "1",
            "WHEN" => "never",
            "ORDER" => "path",
            "REGEX" | "GLOB" => "a.*",
            "TYPE" => "txt",
            "TYPE:GLOB" => "txt:*.md",
            "FILE" => "r/patterns",
            "FORMAT" => "file",
            _ => "x",
        });
        for name in names {
            let args: Vec<&str> =
                ["search", "-e", "x", name.as_str()].into_iter().chain(value).collect();
            let ran = fixture.run(&args);
            let context = format!("{args:?}: {fate}, {note}\n{}{}", ran.out, ran.err);
            match &*fate {
                "same" | "other flag" => {
                    assert!(matches!(ran.status.code(), Some(0 | 1)), "{context}");
                }
                "no effect" => assert_eq!((&*ran.out, &*ran.err), (&*found, ""), "{context}"),
                "other name" | "why not" => {
                    assert_eq!(ran.status.code(), Some(2), "{context}");
                    assert_eq!(ran.out, "", "{context}");
                    let sentence = ran
                        .err
                        .strip_prefix("codesearch: --")
                        .unwrap_or_else(|| panic!("{context}"));
                    assert!(sentence.trim_end().ends_with(&format!(": {note}")), "{context}");
                }
                _ => panic!("{context}"),
            }
        }
    }
}

#[test]
fn what_undoes_a_flag_is_accepted_after_it() {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "  x[1] X\n");
    fixture.ingest();
    let found = fixture.run(&["search", "-e", "x"]).code(0).out;
    for flags in [
        ["--trim", "--no-trim"],
        ["--column", "--no-column"],
        ["--byte-offset", "--no-byte-offset"],
        ["--json", "--no-json"],
        ["--multiline", "--no-multiline"],
        ["--fixed-strings", "--no-fixed-strings"],
    ] {
        let on = fixture.run(&["search", flags[0], flags[1], "-e", "x"]).code(0);
        assert_eq!((&*on.out, &*on.err), (&*found, ""), "{flags:?}");
        let off = fixture.run(&["search", flags[1], flags[0], "-e", "x"]).code(0).out;
        let alone = fixture.run(&["search", flags[0], "-e", "x"]).code(0).out;
        if flags[0] != "--json" {
            assert_eq!(off, alone, "{flags:?}");
        }
    }
}

#[test]
fn options_hold_for_the_terms_of_a_query_too() {
    let fixture = Fixture::new();
    fixture.write("r/one.txt", "a word here\nwords there\nkeyword\n");
    fixture.write("r/two.txt", "words only\nfmt.Println( x\n");
    fixture.write("s/three.md", "word\n");
    fixture.ingest();
    let found = |args: &[&str]| fixture.search(args);
    assert_eq!(found(&["-w", "word", "file:txt"]), ["r/one.txt:1:a word here"]);
    assert_eq!(found(&["-x", "word"]), ["s/three.md:1:word"]);
    assert_eq!(found(&["-F", "fmt.Println("]), ["r/two.txt:2:fmt.Println( x"]);
    assert_eq!(found(&["-F", "lang:go"]), [""; 0]);
    assert_eq!(found(&["-l", "--files-without-match", "-w", "word"]), ["r/two.txt"]);
    assert_eq!(found(&["--files-without-match", "-w", "word repo:^s$"]), [""; 0]);
    assert_eq!(found(&["--files-without-match", "here", "-g", "*.txt"]), ["r/two.txt"]);
    assert_eq!(found(&["--files", "repo:^r$"]), ["r/one.txt", "r/two.txt"]);
    assert_eq!(
        found(&["-r", "$1!", "-e", "(word)s", "-N"]),
        ["r/one.txt:word! there", "r/two.txt:word! only"]
    );
    let json = fixture.run(&["search", "--json", "-r", "$1!", "-e", "(word)s"]).code(0).out;
    assert!(
        json.contains(r#""match":{"text":"words"},"replacement":{"text":"word!"},"start":0"#),
        "{json}"
    );
    // A query can ask for Windows line ends, too.
    fixture.write("r/crlf.txt", "gamma\r\nx\r\n");
    fixture.ingest();
    assert_eq!(found(&["-e", "gamma$"]), [""; 0]);
    for args in [
        &["--crlf", "gamma$"][..],
        &["(?R)gamma$"],
        &["content:(?R)^gamma$"],
        &["-x", "--crlf", "gamma"],
    ] {
        assert_eq!(found(args), ["r/crlf.txt:1:gamma\r"], "{args:?}");
        assert_eq!(found(&[args, &["--brute"]].concat()), ["r/crlf.txt:1:gamma\r"], "{args:?}");
    }
    for (args, expected) in [
        (&["--crlf", "-e", r"\r"][..], "--crlf: it matches only a carriage return"),
        (&["-r", "x", "word here"], "--replace needs exactly one pattern"),
        (&["-r", "x", r"word\nx"], "--replace is not supported"),
        (
            &["--files-without-match", "repo:r"],
            "--files-without-match: give a pattern that must not match",
        ),
        (&["-f", "nowhere"], "cannot read patterns from nowhere"),
        (&["-t", "klingon", "x"], "--type: unknown type klingon"),
        (&["-g", "[", "x"], "--glob [: "),
        (&["--type-add", "x", "x", "-t", "x"], "--type-add x: give NAME:GLOB"),
        (
            &["--sort", "modified", "x"],
            "invalid value 'modified' for '--sort <ORDER>': the index does not store",
        ),
        (&["--field-match-separator", r"\xff", "x"], "separators: "),
    ] {
        let ran = fixture.run(&[&["search"], args].concat()).code(2);
        assert!(ran.err.starts_with(&format!("codesearch: {expected}")), "{args:?}: {}", ran.err);
    }
}

#[test]
fn many_patterns_are_searched_at_once() {
    let fixture = Fixture::new();
    let lines: Vec<String> = (0..3000).map(|n| format!("word{n}x")).collect();
    fixture.write("r/a.txt", lines.join("\n"));
    fixture.ingest();
    let even: Vec<&str> = lines.iter().step_by(2).map(String::as_str).collect();
    fixture.write("patterns", even.join("\n"));
    fixture.write("none", "");
    assert_eq!(fixture.run(&["search", "-cIf", "patterns"]).code(0).out, "1500\n");
    assert_eq!(fixture.run(&["search", "-cIFf", "patterns", "--brute"]).code(0).out, "1500\n");
    assert_eq!(fixture.run(&["search", "-f", "none"]).code(1).out, "");
    let mut command = fixture.command(&["search", "-xN", "-f", "-", "-I"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"word7x\nword\n").unwrap();
    assert_eq!(Ran::of(child.wait_with_output().unwrap()).code(0).out, "word7x\n");
}

#[test]
fn a_pipe_gets_all_and_gets_it_while_the_search_runs() {
    let fixture = Fixture::new();
    for n in 0..150 {
        fixture.write(&format!("r/{n:03}.txt"), format!("needle {n}\n{}", "filling\n".repeat(500)));
    }
    fixture.ingest();
    let ran = fixture.run(&["search", "-l", "needle"]).code(0);
    assert_eq!((ran.out.lines().count(), &*ran.err), (150, ""));
    let sorted =
        fixture.run(&["search", "-l", "--sort", "path", "--limit", "20", "needle"]).code(0);
    let expected: String = (0..20).map(|n| format!("r/{n:03}.txt\n")).collect::<Vec<_>>().concat();
    assert_eq!(sorted.out, expected);
    assert!(sorted.err.contains("stopped at 20 files"), "{}", sorted.err);
    let reversed = fixture.run(&["search", "-l", "--sortr", "path", "--limit", "2", "needle"]).out;
    assert_eq!(reversed, "r/149.txt\nr/148.txt\n");
    // A slow reader delays the search, so output that it has read by then was printed before the search ended.
    let mut child =
        fixture.command(&["search", "needle|filling"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.contains(":1:needle "), "{line}");
    assert!(child.try_wait().unwrap().is_none());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest.lines().count() + 1, 150 * 501);
    assert!(child.wait().unwrap().success());
}

#[test]
fn xargs_opens_what_is_listed() {
    let fixture = Fixture::new();
    fixture.write("r/with a space.txt", "needle one\n");
    fixture.write("r/plain.txt", "needle two\n");
    fixture.write("r/other.txt", "hay\n");
    fixture.ingest();
    let mut list = fixture
        .command(&["search", "-l0", "--local", "--sort", "path", "needle"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut xargs = Command::new("xargs");
    let opened = xargs.args(["-0", "cat"]).stdin(list.stdout.take().unwrap()).output().unwrap();
    assert!(list.wait().unwrap().success());
    assert_eq!(Ran::of(opened).code(0).out, "needle two\nneedle one\n");
}
