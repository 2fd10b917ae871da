//! Answers equal a brute-force scan, and the results of ripgrep.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use grep_regex::RegexMatcherBuilder;
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, SearcherBuilder};

use crate::harness::Fixture;

/// Patterns of every kind that the planner treats differently.
const PATTERNS: &[&str] = &[
    // Literals: common, rare, absent, short, long, with capitals, with punctuation.
    "var",
    "error",
    "Error",
    "123456789",
    "ac8ac5d63b66b83b90ce41a2d4061635",
    "zq",
    "=>",
    "e",
    "->",
    "static int",
    "bytes.Buffer",
    r"fmt\.Println",
    r"\$\{",
    "100%",
    "a_b",
    r"back\\slash",
    // Expressions.
    r"fmt\.Print.*",
    r"func \w+\(ctx context\.Context",
    r"[a-z]+_alloc\(",
    r"\bxyz\d+",
    r"\d{4,}",
    "d97f1d3ff91543[e-f]49.8b07517548877",
    "colou?r",
    "(foo|bar)baz",
    "x{2,3}y",
    "TODO|FIXME",
    "[A-Z]{3}",
    "(?i)deadlock",
    "(?i)STRASSE",
    "(?-i)Deadlock",
    "(?i:k)elvin",
    "a.b",
    ".*",
    "",
    "x*",
    "[^a-z]+",
    r"\s+",
    r"(ab|cd)+e",
    "(one|two|three) (four|five)",
    r"\w+\s*=\s*\w+;",
    // Anchors.
    "^",
    "$",
    "^$",
    "^func",
    r"\}$",
    r"^\s*//",
    r"\bfor\b",
    r"\Bor\b",
    r"\r$",
    r"a$",
    r"^last line$",
    // Scripts.
    "日本語",
    "ταχύτητα",
    "(?i)ΤΑΧΎΤΗΤΑ",
    "скорость",
    "سرعة",
    "naïve",
    "NAÏVE",
    r"\p{Greek}+",
    r"\p{Lu}",
    "🚢",
    "straße",
    "ſ",
    "(?i)sesam",
    "İ",
    "(?i)ÉTÉ",
    // The long line.
    "needle-in-the-long-line",
    "minified.*end",
    "^function m",
];

/// ripgrep searches the bytes, codesearch the decoded text, so a dot matches different things.
const NOT_UTF8: &str = "latin1.txt";

/// Writes unusual but legal files, none of which ripgrep and codesearch read differently.
fn awkward(fixture: &Fixture) {
    fixture.write("r/crlf.txt", "first a\r\nsecond a\r\n\r\nlast line\r\n");
    fixture.write("r/no-newline.txt", "one\ntwo\nlast line");
    fixture.write("r/empty.txt", "");
    fixture.write("r/only-newlines.txt", "\n\n\n");
    fixture.write("r/lone-cr.txt", "a\rb\nc\r");
    let scripts = "日本語のテキスト\nταχύτητα ΤΑΧΎΤΗΤΑ\nскорость Скорость\nسرعة\nnaïve NAÏVE été ÉTÉ\n🚢 ship\n\
                   straße STRASSE Straße\nſeſam sesam SESAM\nİstanbul ıi\nK\u{212a}elvin kelvin Kelvin\n";
    fixture.write("r/scripts.txt", scripts);
    fixture.write("r/name with spaces.txt", "var spaced = 123456789;\n");
    fixture.write("r/it's \"quoted\".txt", "error: quoted\n");
    fixture.write("r/.hidden/file.rs", "// TODO hidden\n");
    fixture.write("r/.gitignore", "*.ignored\n");
    fixture.write("r/x.ignored", "FIXME: not ignored\n");
    fixture.write("r/bom.txt", b"\xef\xbb\xbffunction marked\nlast line\n");
    fixture.write("r/utf16.txt", b"\xff\xfee\0r\0r\0o\0r\0\n\0f\0o\0o\0b\0a\0z\0\n\0");
    fixture.write("r/binary.bin", b"error\0error\n");
    fixture.write("r/large.txt", "error\n".repeat(200_000));
    let mut minified = String::from("function m(){");
    for n in 0..60_000 {
        write!(minified, "var v{n}={n};").unwrap();
        if n == 45_000 {
            minified.push_str("needle-in-the-long-line");
        }
    }
    minified.push_str("minified}/*end*/");
    assert!(minified.len() > 900_000 && minified.len() < 1 << 20);
    fixture.write("r/min.js", &minified);
    let code = "func Do(ctx context.Context) error {\n\tfmt.Println(\"a_b => 100%\", foobaz, xxy, back\\slash)\n}\n\
                static int kmem_alloc(void);\nstatic\nint x;\nxyz42 color colour ababe one four deadlock Deadlock\n";
    for n in 0..40 {
        let mut text = code.repeat(n * 7 % 40 + 1);
        writeln!(text, "unique{n} line ${{n}}").unwrap();
        fixture.write(&format!("s{}/deep/{n}.go", n % 3), text);
    }
}

#[test]
fn the_answer_equals_brute_force_and_ripgrep() {
    let fixture = Fixture::new();
    awkward(&fixture);
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/sample");
    copy(&sample, &fixture.path().join("sample"));
    fixture.run(&["ingest", "--shards", "3", "--depth", "1", "."]).code(0);
    fixture.check_invariants();

    for pattern in PATTERNS {
        let found = fixture.search(&["-e", pattern]);
        let brute = fixture.search(&["--brute", "-e", pattern]);
        assert_eq!(found, brute, "index and brute force differ for {pattern:?}");
        let expected = ripgrep_library(fixture.path(), pattern);
        assert_same(pattern, &found, &expected);
    }
    // Also against the program `rg`, if it is installed.
    if Command::new("rg").arg("--version").output().is_ok() {
        for pattern in PATTERNS {
            let expected = ripgrep_program(fixture.path(), pattern);
            let mut counts = fixture.search(&["-c", "-e", pattern]);
            counts.retain(|line| !line.contains(NOT_UTF8));
            assert_eq!(counts, expected, "ripgrep counts differently for {pattern:?}");
        }
    }
}

#[test]
fn every_option_for_case_equals_ripgrep() {
    let fixture = Fixture::new();
    awkward(&fixture);
    fixture.ingest();
    for pattern in ["deadlock", "Deadlock", "TODO", "sesam", "ΤΑΧΎΤΗΤΑ", "straße", "kelvin"]
    {
        for (option, smart, insensitive) in
            [("-i", false, true), ("-s", false, false), ("-S", true, false)]
        {
            let found = fixture.search(&[option, pattern]);
            let expected = ripgrep_cased(fixture.path(), pattern, smart, insensitive);
            assert_same(&format!("{option} {pattern}"), &found, &expected);
            assert_eq!(found, fixture.search(&["--brute", option, pattern]));
        }
    }
}

#[track_caller]
fn assert_same(pattern: &str, found: &[String], expected: &BTreeSet<String>) {
    let found: BTreeSet<String> = found.iter().cloned().collect();
    let missing: Vec<_> = expected.difference(&found).take(5).map(|line| head(line)).collect();
    let extra: Vec<_> = found.difference(expected).take(5).map(|line| head(line)).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "{pattern:?}: missing {missing:?}, too many {extra:?}"
    );
}

fn head(line: &str) -> String {
    line.chars().take(200).collect()
}

/// Searches with ripgrep's own libraries: returns `path:line:text` of every match below a folder.
fn ripgrep_library(folder: &Path, pattern: &str) -> BTreeSet<String> {
    ripgrep_cased(folder, pattern, true, false)
}

fn ripgrep_cased(folder: &Path, pattern: &str, smart: bool, insensitive: bool) -> BTreeSet<String> {
    let matcher = RegexMatcherBuilder::new()
        .case_smart(smart)
        .case_insensitive(insensitive)
        .line_terminator(Some(b'\n'))
        .build(pattern)
        .unwrap();
    let mut searcher = SearcherBuilder::new().binary_detection(BinaryDetection::none()).build();
    let mut found = BTreeSet::new();
    let walk = ignore::WalkBuilder::new(folder)
        .standard_filters(false)
        .max_filesize(Some(1 << 20))
        .build();
    for entry in walk.flatten().filter(|e| e.file_type().is_some_and(|kind| kind.is_file())) {
        let bytes = fs::read(entry.path()).unwrap();
        let utf16 = bytes.starts_with(b"\xff\xfe");
        if bytes.contains(&0) && !utf16 {
            continue;
        }
        let path = entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
        if !path.contains('/') {
            // A file outside any repository.
            continue;
        }
        // Text in another encoding is searched decoded.
        let text = match String::from_utf8(bytes) {
            Err(error) if !utf16 => {
                encoding_rs::WINDOWS_1252.decode(error.as_bytes()).0.into_owned().into_bytes()
            }
            Err(error) => error.into_bytes(),
            Ok(text) => text.into_bytes(),
        };
        searcher
            .search_slice(
                &matcher,
                &text,
                Lossy(|number, line| {
                    let line = line.strip_suffix('\n').unwrap_or(line);
                    found.insert(format!("{path}:{number}:{line}"));
                    Ok(true)
                }),
            )
            .unwrap();
    }
    found
}

/// Searches with the program `rg`: returns `path:count` of every file, sorted.
fn ripgrep_program(folder: &Path, pattern: &str) -> Vec<String> {
    let out = Command::new("rg")
        .args([
            "-S",
            "-c",
            "--no-ignore",
            "--hidden",
            "--no-config",
            "--max-filesize",
            "1M",
            "-e",
            pattern,
            ".",
        ])
        .args(["-g", &format!("!{NOT_UTF8}"), "-g", "!*.bin"])
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let mut lines: Vec<String> = text
        .lines()
        .map(|line| line.trim_start_matches("./").to_owned())
        .filter(|line| line.contains('/'))
        .collect();
    lines.sort();
    lines
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
