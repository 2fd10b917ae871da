//! Output from files, paths and clients does not control the reader's terminal.

use std::process::Command;

use crate::harness::Fixture;

/// Sets the title of a window and clears the screen.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J";

/// Runs the program on a terminal, and returns everything written to it.
pub(crate) fn on_a_terminal(fixture: &Fixture, args: &[&str]) -> String {
    let run = fixture.command(args);
    let words = std::iter::once(run.get_program()).chain(run.get_args());
    let quoted = words.map(|word| format!("'{}'", word.to_str().unwrap().replace('\'', r"'\''")));
    let line = quoted.collect::<Vec<_>>().join(" ");
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(fixture.path()).env("NO_COLOR", "1");
    let out = script.output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.code().is_some_and(|code| code < 2), "{args:?}: {text}");
    text
}

#[test]
fn no_command_passes_controls_on() {
    let fixture = Fixture::new();
    let repo = format!("one{HOSTILE}");
    fixture.write(&format!("{repo}/needle{HOSTILE}.md"), "# Needle\n\nAll about the needle.\n");
    fixture.write(
        &format!("{repo}/needle{HOSTILE}.go"),
        format!("func needle() {{ /*{HOSTILE}*/ }}\n"),
    );
    fixture.write(&format!("{repo}/call{HOSTILE}.go"), "func main() { needle() }\n");
    fixture.write(&format!("{repo}/image{HOSTILE}.bin"), b"\x89PNG\0\0".as_slice());
    fixture.ingest();
    fixture.run(&["symbols"]).code(0);
    // A slow query of a client is logged.
    let server = fixture.serve_with(&["--slow", "0.001ms"]);
    let query = "needle%1B%5D0%3Bowned%07";
    assert_eq!(server.json(&format!("/search?q={query}")).0, 200);
    server.stop();
    for args in [
        &["search", "needle"][..],
        &["search", "--heading", "needle"],
        &["search", "--explain", "-F", HOSTILE],
        &["files", "needle"],
        &["docs", "needle"],
        &["def", "needle"],
        &["refs", "needle"],
        &["repos"],
        &["repos", "--skipped", &repo],
        &["stats", "--slow"],
    ] {
        let text = on_a_terminal(&fixture, args);
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{args:?}: {text:?}");
        assert!(text.contains("␛"), "{args:?} was to show a name: {text:?}");
    }
    // A pipe gets every byte.
    let piped = fixture.run(&["files", "needle"]).code(0).out;
    assert!(piped.contains(HOSTILE), "{piped:?}");
}

#[test]
fn a_terminal_shows_the_best_lines_of_a_file_and_counts_the_others() {
    let fixture = Fixture::new();
    let calls = "    needle();\n".repeat(30);
    fixture.write("r/needle.rs", format!("// needle\n{calls}fn needle() {{}}\n"));
    fixture.ingest();
    fixture.run(&["symbols"]).code(0);
    let text = on_a_terminal(&fixture, &["search", "needle"]);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    assert_eq!(lines.len(), 12, "{text}");
    assert_eq!((lines[0], lines[10]), ("r/needle.rs", "32:fn needle() {}"), "{text}");
    assert_eq!(
        lines[11],
        "codesearch: the best 10 lines of each file; 22 more matching lines not shown (-m 1000 for all)"
    );
    // An explicit number of lines or order returns all of them; so does a pipe.
    for args in [&["-m", "1000"][..], &["--sort", "relevance"], &["--sort", "path"]] {
        let args = [&["search", "needle"], args].concat();
        assert_eq!(on_a_terminal(&fixture, &args).lines().count(), 33, "{args:?}");
    }
    assert_eq!(on_a_terminal(&fixture, &["search", "-c", "needle"]).trim_end(), "r/needle.rs:32");
    assert_eq!(fixture.run(&["search", "needle"]).code(0).out.lines().count(), 32);
}
