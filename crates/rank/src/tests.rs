use query::{Case, CompiledQuery};
use store::{BlobId, RepoId, ShardId};

use super::*;
use answer::{apart, merge};

/// Returns a file as a search for the query finds it; written as `path: line | line`.
fn file(query: &CompiledQuery, written: &str) -> FileMatch {
    let (path, lines) = written.split_once(": ").unwrap();
    let lines: Vec<&str> = lines.split(" | ").collect();
    let (mut parts, mut path_ranges) = (Vec::new(), Vec::new());
    for term in &query.terms {
        path_ranges.extend(term.matcher.ranges(path, &|| true));
        let line = |(number, text): (usize, &&str)| Line {
            number: number as u64 + 1,
            offset: 0,
            text: (*text).to_owned(),
            ended: true,
            ranges: term.matcher.ranges(text, &|| true),
            ..Line::default()
        };
        let lines = lines.iter().enumerate().map(line);
        parts.push(lines.filter(|line| !line.ranges.is_empty()).collect());
    }
    FileMatch {
        repo_id: RepoId(1),
        blob_key: (ShardId(0), BlobId(0)),
        repo: "r".to_owned(),
        rank: 0,
        path: path.to_owned(),
        path_ranges: apart(path_ranges),
        language: None,
        bytes: 0,
        lines: merge(parts),
        trees: Vec::new(),
        commit: None,
        renamed_from: None,
        copies: Vec::new(),
    }
}

/// Returns the points of some files, with their votes for each other.
fn points(query: &str, files: &[&str]) -> Vec<f32> {
    let query = Query::parse(query, Case::Smart).unwrap();
    let (compiled, ranking) = (CompiledQuery::new(&query).unwrap(), Ranking::of(&query));
    let mut votes = Votes::default();
    let scores: Vec<Score> = files
        .iter()
        .map(|written| ranking.score(&file(&compiled, written), &mut votes).0)
        .collect();
    scores.iter().map(|score| votes.points(score)).collect()
}

/// Checks that files rank in this order.
#[track_caller]
fn check(query: &str, files: &[&str]) {
    let points = points(query, files);
    assert!(points.is_sorted_by(|a, b| a > b), "{query}: {points:?}");
}

#[test]
fn what_is_called_so_comes_first() {
    check("server", &["a/server.go: ", "a/http_server.go: ", "server/a.go: ", "a/b.go: servers"]);
    check("parser", &["src/parser.rs: mod parser", "src/lib.rs: mod parser", "src/x.rs: parser()"]);
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
    check("(foo|bar)", &["a.go: foo(bar)", "a.go: foo()"]);
}

#[test]
fn a_wrapper_comes_after_what_it_wraps() {
    check(
        "Open",
        &[
            "os/a.go: func Open(p string) {",
            "b/a.go: func Open(p string) { return os.Open(p) }",
            "b/a.go: x := Open(path)",
        ],
    );
    check("File", &["fs/a.go: type File struct {", "os/a.go: type File = fs.File"]);
}

#[test]
fn words_that_together_are_one_name() {
    check(
        "read file",
        &[
            "a.go: func ReadFile(name string) {",
            "a.go: read a file",
            "a.go: x := ReadFile(name)",
            "a.go: read it from a file",
            "a.go: read | a file",
            "a.go: read | a | b | c | d | file",
        ],
    );
    check("open options", &["a.rs: pub struct OpenOptions {", "a.rs: fn open(options: x)"]);
    check("read dir", &["a.rs: pub fn read_dir() {", "a.rs: fn read(dir: x)"]);
}

#[test]
fn keywords_say_what_is_defined_and_where() {
    let page = ["a/types.h: struct page {", "asm/page.h: struct page *page;"];
    check("struct page", &page);
    check(
        "def render",
        &["a.py: def render(self):", "render.go: func Render(x int) {", "a.py: render(default)"],
    );
    check("class Command", &["a.py: class Command(Base):", "command.rs: pub struct Command {"]);
}

#[test]
fn keywords_score_nowhere_but_together() {
    check("func Open", &["a.go: func Open() {", "func/func.go: Open(func() {})"]);
    check(
        "type Reader interface",
        &[
            "io/a.go: type Reader interface {",
            "io/a.go: type Reader struct { | interface",
            "type/interface.go: type | Reader | interface",
        ],
    );
}

#[test]
fn a_word_is_defined_where_the_path_has_the_other() {
    check(
        "json decoder",
        &[
            "json/stream.go: type Decoder struct {",
            "x/json.go: a json decoder",
            "x/a.go: type Decoder struct { | json",
        ],
    );
}

#[test]
fn callers_say_what_is_meant() {
    let files = [
        "os/a.go: func ReadFile() {",
        "zz/a.go: func ReadFile() {",
        "u/a.go: os.ReadFile()",
        "u/b.go: os.ReadFile()",
        "u/c.go: zz.ReadFile()",
    ];
    let points = points("ReadFile", &files);
    assert!(points[0] > points[1], "{points:?}");
    assert!((points[2] - points[3]).abs() < f32::EPSILON, "{points:?}");
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
    let query = Query::parse("Open", Case::Smart).unwrap();
    let (compiled, ranking) = (CompiledQuery::new(&query).unwrap(), Ranking::of(&query));
    let of = |rank, written| {
        let file = FileMatch { rank, ..file(&compiled, written) };
        ranking.score(&file, &mut Votes::default()).0.alone
    };
    let (highest, use_of) = (u16::MAX, "a.go: x := Open(path)");
    assert!(of(2, use_of) > of(1, use_of) && of(1, use_of) > of(0, use_of));
    assert!(of(0, "a.go: func Open(path string) {") > of(highest, use_of));
    assert!(of(0, use_of) > of(highest, "a.go: x := Opened(path)"));
    assert!(of(0, "Open.go: Open") > of(highest, use_of));
}

#[test]
fn the_best_lines_are_kept() {
    let query = Query::parse("load", Case::Smart).unwrap();
    let compiled = CompiledQuery::new(&query).unwrap();
    let lines_of = |written| Ranking::of(&query).score_lines(&file(&compiled, written));
    let head = lines_of("a.py:  http://load.org/licenses/LICENSE | loads | # loads");
    assert_eq!(head.best(2), [1, 2]);
    let lines =
        lines_of("a.py: # load it | import load | load(1) | def load(x): | loads | load(2)");
    assert_eq!(lines.best(1), [3]);
    assert_eq!(lines.best(3), [2, 3, 5]);
    assert_eq!(lines.best(5), [0, 2, 3, 4, 5]);
    assert_eq!(lines.best(9), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn alternatives_are_scored_each() {
    check("foo or bar", &["a.go: func foo() {", "a.go: bar()"]);
    check("foo or bar", &["a.go: func bar() {", "a.go: foo()"]);
}

#[test]
fn a_name_of_some_of_the_words_comes_before_scattered_words() {
    check(
        "orbit camera controls",
        &[
            "a.js: class OrbitControls extends Controls { | camera",
            "a.js: class Controls { | orbit | camera",
            "a.js: orbit | camera | x | x | x | controls",
        ],
    );
}

#[test]
fn a_key_counts_where_it_is_defined() {
    check(
        "linger.ms",
        &[
            "a/b.java: String LINGER = \"linger.ms\";",
            "a/b.java: see linger.ms for more",
            "a/b.java: // linger.ms",
        ],
    );
    check("scrape_interval", &["a.yml: scrape_interval: 15s", "a.yml: a scrape_interval of 15s"]);
    check("max-entries", &["a.c: set(\"max-entries\")", "a.c: set(max-entries)"]);
}

#[test]
fn a_file_is_called_by_its_whole_name() {
    let of = ["src/window-copy.c: x", "src/window.c: window-copy.c", "src/copy.c: window-copy.c"];
    check("window-copy.c", &of);
    check(
        "webpack Compiler.js",
        &["lib/Compiler.js: webpack", "lib/Compiler.ts: Compiler.js webpack"],
    );
    check("admin options.py", &["admin/options.py: x", "db/options.py: admin"]);
}

#[test]
fn more_of_a_word_counts_in_a_short_file() {
    let query = Query::parse("lazy cache", Case::Smart).unwrap();
    let (compiled, ranking) = (CompiledQuery::new(&query).unwrap(), Ranking::of(&query));
    let of = |bytes, written| {
        let file = FileMatch { bytes, ..file(&compiled, written) };
        ranking.score(&file, &mut Votes::default()).0.alone
    };
    let often = "a.rs: lazy | x | x | x | x | cache | lazy | cache | lazy";
    let once = "a.rs: lazy | x | x | x | x | cache";
    assert!(of(1_000, often) > of(1_000, once));
    assert!(of(1_000, often) > of(100_000, often));
}

#[test]
fn the_parts_add_up() {
    let query = Query::parse("read file", Case::Smart).unwrap();
    let (compiled, ranking) = (CompiledQuery::new(&query).unwrap(), Ranking::of(&query));
    let mut votes = Votes::default();
    let files = ["os/file.go: func ReadFile() {", "a.go: os.ReadFile()", "b.go: os.ReadFile()"];
    let scores = files.map(|written| ranking.score(&file(&compiled, written), &mut votes).0);
    for score in &scores {
        let explained = votes.explain(score);
        assert!((explained.parts.points() - votes.points(score)).abs() < 0.01, "{explained:?}");
        assert_eq!(explained.line, Some(1));
    }
    let explained = votes.explain(&scores[0]).parts;
    assert!(explained.votes > 0.0 && explained.definition > explained.words, "{explained:?}");
}
