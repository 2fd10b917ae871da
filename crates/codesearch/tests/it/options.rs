//! The configuration file, completions and manual pages, and the list of indexes.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::{Fixture, Ran, citus, clean_command};

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "one\nneedle\nthree\n");
    fixture.ingest();
    fixture
}

/// Runs a command with a configuration file of these lines.
fn run_with(fixture: &Fixture, lines: &str, args: &[&str]) -> Ran {
    fixture.write("config", lines);
    let mut command = fixture.command(args);
    command.env("CODESEARCH_CONFIG_PATH", fixture.path().join("config"));
    Ran::of(command.output().unwrap())
}

#[test]
fn options_of_the_file_come_before_those_of_the_command_line() {
    let fixture = fixture();
    let lines = "# mine\n--context=1\n--no-line-number\n\n--glob\n!vendor/\n";
    let out = |args: &[&str]| run_with(&fixture, lines, args).code(0).out;
    assert_eq!(out(&["search", "needle"]), "r/a.txt-one\nr/a.txt:needle\nr/a.txt-three\n");
    assert_eq!(out(&["search", "-C0", "-n", "needle"]), "r/a.txt:2:needle\n");
    assert_eq!(out(&["search", "--no-config", "needle"]), "r/a.txt:2:needle\n");
    // What other commands have by another meaning is not theirs.
    let ran = run_with(&fixture, "--files-with-matches\n--json\n", &["files", "a.txt"]).code(0);
    assert_eq!(ran.out, "r/a.txt\n");
    let ran = run_with(&fixture, "--color=always\n", &["docs", "needle"]).code(0);
    assert!(ran.out.contains('\u{1b}'), "{}", ran.out);
    // The environment overrides the file.
    fixture.write("config", "--index=nosuch\n");
    let mut command = clean_command();
    command.env("CODESEARCH_CONFIG_PATH", fixture.path().join("config"));
    let args: Vec<_> =
        fixture.command(&["search", "needle"]).get_args().map(ToOwned::to_owned).collect();
    command.args(&args[..2]).args(["search", "needle"]);
    let refused = Ran::of(command.output().unwrap()).code(2).err;
    assert!(refused.contains("there is no index named 'nosuch'"), "{refused}");
    let ran = Ran::of(command.env("CODESEARCH_INDEX", &fixture.index).output().unwrap()).code(0);
    assert_eq!(ran.out, "r/a.txt:2:needle\n");
}

#[test]
fn a_wrong_line_of_the_file_is_named() {
    let fixture = fixture();
    let path = fixture.path().join("config");
    for (lines, expected) in [
        ("-i\n--lmit=3\n", "2: unknown option --lmit of codesearch search; did you mean --limit?"),
        ("\n--limit=x\n", "2: --limit: x is not a whole number; give a number, 0 for all"),
        ("--invert-match\n", "1: --invert-match: the index finds only lines that match"),
    ] {
        let ran = run_with(&fixture, lines, &["search", "needle"]).code(2);
        let begin = format!("codesearch: {}:{expected}", path.display());
        assert!(ran.err.starts_with(&begin), "{}", ran.err);
        assert_eq!(run_with(&fixture, lines, &["search", "--no-config", "needle"]).code(0).err, "");
    }
    // An error of the command line is not the file's.
    let ran = run_with(&fixture, "-i\n", &["search", "--limit=x", "needle"]).code(2);
    assert!(ran.err.starts_with("codesearch: --limit: x"), "{}", ran.err);
    fs::remove_file(&path).unwrap();
    let mut command = fixture.command(&["search", "needle"]);
    let missing = command.env("CODESEARCH_CONFIG_PATH", &path).output().unwrap();
    assert!(Ran::of(missing).code(2).err.contains("cannot read the configuration file"));
    // The file in the folder for configuration need not exist.
    let folder = fixture.path().join("home");
    let mut command = fixture.command(&["search", "needle"]);
    command.env_remove("CODESEARCH_CONFIG_PATH").env("XDG_CONFIG_HOME", &folder);
    assert_eq!(Ran::of(command.output().unwrap()).code(0).out, "r/a.txt:2:needle\n");
    fixture.write("home/codesearch/config", "-N\n");
    assert_eq!(Ran::of(command.output().unwrap()).code(0).out, "r/a.txt:needle\n");
}

fn generated(args: &[&str]) -> String {
    Ran::of(clean_command().args(args).output().unwrap()).code(0).out
}

#[test]
fn bash_completes_commands_and_options() {
    let script = generated(&["--generate", "complete-bash"]);
    let complete = |words: &[&str]| -> Vec<String> {
        let name = words.join(" ");
        let asked = format!(
            "{script}\nCOMP_WORDS=({name})\nCOMP_CWORD={}\n_codesearch codesearch \"${{COMP_WORDS[COMP_CWORD]}}\" x\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.len() - 1
        );
        // An argument has at most 128 KB.
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, asked.as_bytes()).unwrap();
        let ran = Command::new("bash").arg("--norc").arg(file.path()).output().unwrap();
        Ran::of(ran).code(0).out.lines().map(str::to_owned).collect()
    };
    assert_eq!(complete(&["codesearch", "sea"]), ["search"]);
    assert_eq!(complete(&["codesearch", "db", "psql"]), ["psql-hint"]);
    assert_eq!(
        complete(&["codesearch", "search", "--files-with"]),
        ["--files-with-matches", "--files-without-match"]
    );
    // Flags that are refused are not offered.
    assert_eq!(complete(&["codesearch", "search", "--invert"]), [""]);
    let mut check = Command::new("bash");
    let mut child = check.arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), script.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    for (kind, part) in [
        ("complete-zsh", "#compdef codesearch"),
        ("complete-fish", "complete -c codesearch"),
        ("complete-powershell", "Register-ArgumentCompleter"),
    ] {
        assert!(generated(&["rg", &format!("--generate={kind}")]).contains(part), "{kind}");
    }
}

#[test]
fn each_command_has_a_manual_page() {
    let page = generated(&["--generate", "man"]);
    assert!(page.contains(".TH codesearch 1") && page.contains("codesearch\\-search(1)"), "{page}");
    let page = generated(&["search", "--generate", "man"]);
    for part in [
        ".TH codesearch-search 1",
        "\\-\\-files\\-with\\-matches",
        "Folder of the private Postgres",
        "Examples:",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("pcre2"));
    let refused = |args: &[&str]| Ran::of(clean_command().args(args).output().unwrap()).code(2).err;
    assert!(refused(&["--generate", "mann"]).contains("unknown value mann; did you mean man?"));
    assert!(refused(&["--generate"]).contains("name what: man, complete-bash,"));
    assert!(refused(&["search", "x", "--generate", "man"]).contains("without other arguments"));
}

#[test]
fn the_indexes_of_a_server_are_listed() {
    let (one, other) = (fixture(), Fixture::new());
    other.write("a/x.txt", "x\n");
    other.write("b/y.txt", "y\n");
    other.ingest();
    let lines = one.run(&["db", "list", "--json"]).code(0).out;
    let all: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (fixture, repos, files) in [(&one, 1, 1), (&other, 2, 2)] {
        let found = all.iter().find(|index| index["name"] == *fixture.index).unwrap();
        assert_eq!((&found["repositories"], &found["files"]), (&repos.into(), &files.into()));
        assert!(found["disk_bytes"].as_u64() > Some(1 << 20), "{found}");
    }
    let text = one.run(&["db", "list"]).code(0).out;
    let line = text.lines().find(|line| line.starts_with(&other.index)).unwrap();
    assert!(line.contains(" 2 "), "{line}");
    if citus::leaves_out("each index of a test exists") {
        return;
    }
    // No command prints the address of an index that does not exist.
    for what in ["url", "psql-hint"] {
        let told = one.run(&["db", what]).code(0).out.replace("%5F", "_");
        assert!(told.contains(&one.index), "{told}");
        let nothing = Fixture::new();
        let ran = nothing.run(&["db", what]).code(2);
        let begin = format!("codesearch: there is no index named '{}'; there ", nothing.index);
        assert!(ran.out.is_empty() && ran.err.starts_with(&begin), "{}", ran.err);
    }
}

#[test]
fn results_on_a_terminal_go_through_a_pager_on_request() {
    let fixture = fixture();
    let on_terminal = |environment: &str, args: &str| -> String {
        let run = fixture.command(&["search"]);
        let words = std::iter::once(run.get_program()).chain(run.get_args());
        let words: Vec<_> = words.map(|word| word.to_str().unwrap()).collect();
        let line = format!("{environment} {} {args} needle", words.join(" "));
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).current_dir(fixture.path());
        script.env("CODESEARCH_CONFIG_PATH", "").env_remove("NO_COLOR");
        let out = Ran::of(script.output().unwrap());
        assert_eq!(out.status.code(), Some(0), "{}", out.out);
        out.out
    };
    // Colours and headings stay.
    let paged = on_terminal("CODESEARCH_PAGER='sed s/^/paged:/'", "");
    assert!(paged.contains("paged:\u{1b}") && paged.matches("paged:").count() == 2, "{paged:?}");
    assert!(paged.contains("\u{1b}[1m\u{1b}[31mneedle"), "{paged:?}");
    let by_flag = on_terminal("PAGER='sed s/^/paged:/'", "--pager");
    assert_eq!(by_flag.matches("paged:").count(), 2, "{by_flag:?}");
    for (environment, args) in [
        ("CODESEARCH_PAGER='sed s/^/paged:/'", "--no-pager"),
        ("PAGER='sed s/^/paged:/'", ""),
        ("CODESEARCH_PAGER=", "--pager"),
    ] {
        let text = on_terminal(environment, args);
        assert!(!text.contains("paged:") && text.contains("needle"), "{text:?}");
    }
    // A pager that quits is no error, nor is one that reads nothing.
    on_terminal("CODESEARCH_PAGER=true", "");
    // A pipe gets none.
    let mut piped = fixture.command(&["search", "--pager", "needle"]);
    piped.env("CODESEARCH_PAGER", "sed s/^/paged:/");
    assert_eq!(Ran::of(piped.output().unwrap()).code(0).out, "r/a.txt:2:needle\n");
}
