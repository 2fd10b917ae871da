//! Which results are likely to be wanted most.
//!
//! The order of the reference engines (Zoekt's `contentprovider.go` and Sourcegraph's ranking notes agree
//! on its signals): what is called so before what mentions it, definitions before uses, whole words
//! before parts of words, code that people write and read before tests, copies and output of programs; and of
//! what is much alike, what lies in the repository that its operator ranks higher.

use std::ops::Range;

use crate::types::{FileMatch, Line};

/// The file's own name is what matched, all of it or a part; or a folder's is.
const NAME: f32 = 90.0;
const IN_NAME: f32 = 45.0;
const IN_PATH: f32 = 25.0;

/// A line defines what matched.
const DEFINITION: f32 = 60.0;

/// What matched is a word of its own; or begins one.
const WORD: f32 = 20.0;
const WORD_START: f32 = 8.0;

/// Different things matched in one line.
const TOGETHER: f32 = 20.0;

/// What a line is worth that is a comment.
const COMMENT: f32 = 0.2;

/// For a single matching line; more of them count for less.
const FEW: f32 = 10.0;

/// What is not written to be read comes last.
const TEST: f32 = -30.0;
const COPIED: f32 = -70.0;
const GENERATED: f32 = -80.0;
const PROSE: f32 = -10.0;

/// For the highest rank that a repository can have: less than any of the above, so that it decides
/// between files that are much alike.
const REPOSITORY: f32 = 5.0;

/// Words before a name that say that it is defined here.
const DEFINERS: [&str; 36] = [
    "alias",
    "class",
    "const",
    "constexpr",
    "def",
    "defn",
    "define",
    "enum",
    "extension",
    "fn",
    "fun",
    "func",
    "function",
    "interface",
    "let",
    "macro",
    "macro_rules!",
    "message",
    "mod",
    "module",
    "namespace",
    "object",
    "package",
    "proc",
    "procedure",
    "protocol",
    "record",
    "service",
    "static",
    "struct",
    "sub",
    "table",
    "trait",
    "type",
    "union",
    "val",
];

/// Words that may stand before any of these.
const TEST_FOLDERS: [&str; 8] =
    ["test", "tests", "testing", "testdata", "spec", "specs", "__tests__", "fixtures"];
const COPIED_FOLDERS: [&str; 7] =
    ["vendor", "vendored", "node_modules", "third_party", "thirdparty", "3rdparty", "external"];
const GENERATED_FOLDERS: [&str; 5] = ["dist", "generated", "gen", "autogen", "__generated__"];
const GENERATED_ENDS: [&str; 13] = [
    ".pb.go",
    "_pb2.py",
    ".pb.cc",
    ".pb.h",
    ".min.js",
    ".min.css",
    ".map",
    ".lock",
    "-lock.json",
    ".generated.go",
    ".g.dart",
    "_generated.go",
    ".snap",
];
const PROSE_ENDS: [&str; 7] = [".md", ".rst", ".txt", ".adoc", ".html", ".po", ".svg"];

/// How likely it is that a file is what was looked for, for comparison with others of the same search.
pub fn score(file: &FileMatch) -> f32 {
    let matching = file.lines.iter().filter(|line| !line.ranges.is_empty());
    let best = matching.map(score_line).fold(0.0, f32::max);
    let count = file.matches();
    let few = if count == 0 { 0.0 } else { FEW / (count as f32).log2().mul_add(0.5, 1.0) };
    let rank = REPOSITORY * f32::from(file.rank) / f32::from(u16::MAX);
    best + few + score_path(&file.path, &file.path_ranges) + standing(&file.path) + rank
}

fn score_path(path: &str, ranges: &[Range<usize>]) -> f32 {
    let name = path.rfind('/').map_or(0, |at| at + 1);
    let stem = path[name..].find('.').filter(|at| *at > 0).map_or(path.len(), |at| name + at);
    let of = |range: &Range<usize>| {
        if range.is_empty() {
            0.0
        } else if range.start == name && (range.end == stem || range.end == path.len()) {
            NAME
        } else if range.start >= name {
            IN_NAME
        } else {
            IN_PATH
        }
    };
    ranges.iter().map(of).fold(0.0, f32::max)
}

fn score_line(line: &Line) -> f32 {
    let text = line.text.as_str();
    let mut best = 0.0_f32;
    // A line may be a megabyte of matches.
    for range in line.ranges.iter().take(16) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let matched = &text[range.clone()];
        let starts = !matched.starts_with(is_word) || !text[..range.start].ends_with(is_word);
        let ends = !matched.ends_with(is_word) || !text[range.end..].starts_with(is_word);
        let mut score = match (starts, ends) {
            (true, true) => WORD,
            (true, false) => WORD_START,
            _ => 0.0,
        };
        if starts && defines(text, range) {
            score += if ends { DEFINITION } else { DEFINITION / 2.0 };
        }
        best = best.max(score);
    }
    let mut all = line.ranges.iter().take(16).map(|range| text[range.clone()].to_lowercase());
    let first = all.next();
    if all.any(|other| Some(other) != first) {
        best += TOGETHER;
    }
    if is_comment(text) { best * COMMENT } else { best }
}

/// Whether a line looks like a comment, in most languages.
fn is_comment(text: &str) -> bool {
    let text = text.trim_start();
    let directive = ["#define", "#include", "#if", "#[", "#!["];
    let marks = ["//", "/*", "* ", "#", "--", ";;", "<!--", "%%"];
    marks.iter().any(|mark| text.starts_with(mark))
        && !directive.iter().any(|d| text.starts_with(d))
}

/// Whether a line looks as if it defined what matched, in any language.
fn defines(text: &str, range: &Range<usize>) -> bool {
    let before = &text[..range.start];
    // Far inside a line nothing is defined, and a line may be very long.
    if before.len() > 200 {
        return false;
    }
    let matched = &text[range.clone()];
    let last = |text: &str| text.split_whitespace().next_back().map(str::to_owned);
    // The definer may be what matched, too: `func \w+`.
    let first = matched.split_whitespace().next().unwrap_or_default();
    if first.len() < matched.len() && DEFINERS.contains(&first) {
        return true;
    }
    if before.ends_with(char::is_whitespace)
        && last(before).is_some_and(|word| {
            DEFINERS.contains(&word.trim_start_matches(['#', '(']).trim_end_matches('!'))
        })
    {
        return true;
    }
    let after = text[range.end..].trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    // A method of Go: `func (s *Server) Name(`.
    if before.starts_with("func (") && before.trim_end().ends_with(')') {
        return after.starts_with(['(', '[']);
    }
    // A function of C and its like begins at the start of a line and has a type before its name.
    let end = text.trim_end();
    before.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && before.ends_with([' ', '*', '&', ':'])
        && !before.contains(['=', '(', '"', ';', ',', '.'])
        && !before.starts_with("return ")
        && !before.starts_with("else ")
        && after.starts_with('(')
        && !end.ends_with(';')
}

/// What is to be thought of a file by where it stands.
fn standing(path: &str) -> f32 {
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", lower.as_str()));
    let within = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let stem = name.split('.').next().unwrap_or(name);
    let mut standing = 0.0;
    if within(&TEST_FOLDERS)
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("-test")
        || path.contains("Test.")
        || path.contains("Tests.")
        || name.contains(".test.")
        || name.contains(".spec.")
    {
        standing += TEST;
    }
    if within(&COPIED_FOLDERS) {
        standing += COPIED;
    }
    if within(&GENERATED_FOLDERS) || ends(&GENERATED_ENDS) {
        standing += GENERATED;
    }
    if ends(&PROSE_ENDS) {
        standing += PROSE;
    }
    standing
}

#[cfg(test)]
mod tests {
    use query::{Case, Pattern};
    use store::{BlobId, RepoId, ShardId};

    use super::*;

    fn file(path: &str, pattern: &str, lines: &[&str]) -> FileMatch {
        let matcher =
            query::Matcher::new(&Pattern::parse(pattern, Case::Smart, false).unwrap()).unwrap();
        let line = |(number, text): (usize, &&str)| Line {
            number: number as u64 + 1,
            offset: 0,
            text: (*text).to_owned(),
            ended: true,
            ranges: matcher.ranges(text, &|| true),
        };
        FileMatch {
            repo_id: RepoId(1),
            place: (ShardId(0), BlobId(0)),
            repo: "r".to_owned(),
            rank: 0,
            path: path.to_owned(),
            path_ranges: matcher.ranges(path, &|| true),
            language: None,
            bytes: 0,
            lines: lines.iter().enumerate().map(line).collect(),
        }
    }

    /// Files in the order in which they are wanted; each is `path: line | line`.
    fn check(pattern: &str, files: &[&str]) {
        let scores: Vec<(f32, &str)> = files
            .iter()
            .map(|text| {
                let (path, lines) = text.split_once(": ").unwrap();
                let lines: Vec<&str> = lines.split(" | ").filter(|line| !line.is_empty()).collect();
                (score(&file(path, pattern, &lines)), *text)
            })
            .collect();
        assert!(scores.is_sorted_by(|(a, _), (b, _)| a > b), "{pattern}: {scores:#?}");
    }

    #[test]
    fn what_is_called_so_comes_first() {
        check(
            "server",
            &["a/server.go: ", "a/http_server.go: ", "server/a.go: ", "a/b.go: servers"],
        );
        check(
            "parser",
            &["src/parser.rs: mod parser", "src/lib.rs: mod parser", "src/x.rs: parser()"],
        );
    }

    #[test]
    fn definitions_come_before_uses() {
        let of = ["a.go: func Open(path string) {", "a.go: x := Open(path)", "a.go: Opened"];
        check("Open", &of);
        check("Open", &["a.go: func (s *Server) Open() {", "a.go: return s.Open()"]);
        check("open_file", &["a.c: static int open_file(int x)", "a.c: int open_file(int x);"]);
        check("open_file", &["a.c: void *open_file(int x)", "a.c: \treturn open_file(1);"]);
        check("Limit", &["a.c: #define Limit 100", "a.c: x < Limit"]);
        check("Point", &["a.rs: pub struct Point {", "a.rs: let p: Point = x;", "a.rs: Points"]);
        check("Open", &["a.go: x := Open(path)", "a.go: // func Open is not here"]);
        check(r"func \w+", &["a.go: func main() {", "a.go: // func main"]);
        check("(foo|bar)", &["a.go: foo(bar)", "a.go: foo() | bar()"]);
    }

    #[test]
    fn what_nobody_wrote_to_be_read_comes_last() {
        check(
            "word",
            &[
                "a/b.go: word",
                "a/README.md: word",
                "a/b_test.go: word",
                "vendor/a/b.go: word",
                "a/b.pb.go: word",
                "vendor/a/b.min.js: word",
            ],
        );
    }

    #[test]
    fn a_repository_s_rank_decides_between_equals_only() {
        let of = |rank, line| score(&FileMatch { rank, ..file("a.go", "Open", &[line]) });
        let (highest, use_of) = (u16::MAX, "x := Open(path)");
        assert!(of(2, use_of) > of(1, use_of) && of(1, use_of) > of(0, use_of));
        assert!(of(0, "func Open(path string) {") > of(highest, use_of));
        assert!(of(0, use_of) > of(highest, "x := Opened(path)"));
        assert!(of(0, "x := Opened(path)") > of(highest, "x := ReOpened(path)"));
        let named = score(&file("Open.go", "Open", &[]));
        assert!(named > of(highest, use_of));
    }

    #[test]
    fn few_matches_come_before_many() {
        check(
            "word",
            &["a.go: word", "a.go: word | word", "a.go: word | word | word | word | word"],
        );
    }
}
