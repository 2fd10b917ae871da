//! The order of results: the same on pages, for programs, agents and terminals, with the wanted file first.

mod tree;

use std::fmt::Write as _;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};

use crate::agents::Agent;
use crate::harness::{Fixture, Server};

/// Queries, and for each the file of the small tree that should come first.
const WANTED: [(&str, &str); 30] = [
    // Definitions before uses; wrappers of one or two lines after the functions that they call.
    ("ReadFile", "os/file.go"),
    // Keywords mark a definition, and do not score in paths.
    ("func ReadFile", "os/file.go"),
    ("type Reader interface", "io/io.go"),
    ("type Client struct", "net/http/client.go"),
    ("func Unmarshal", "encoding/json/decode.go"),
    // Words that together form one name.
    ("read file", "os/file.go"),
    ("write file", "os/file.go"),
    ("new reader", "bufio/bufio.go"),
    ("serve http", "net/http/server.go"),
    ("unexpected eof", "io/io.go"),
    ("open options", "src/fs.rs"),
    ("read dir", "src/fs.rs"),
    // Callers that qualify the name tell which definition is meant.
    ("NewReader", "bufio/bufio.go"),
    ("Unmarshal", "encoding/json/decode.go"),
    // Several definitions, and a path that has the words of the name.
    ("ServeHTTP", "net/http/server.go"),
    // One word is defined in a file whose path has the other word.
    ("json decoder", "encoding/json/stream.go"),
    ("http server", "net/http/server.go"),
    ("http client", "net/http/client.go"),
    ("xml unmarshal", "encoding/xml/read.go"),
    // A qualified name is defined in the file that the qualifier names, where the qualifier is not written.
    ("json.Unmarshal", "encoding/json/decode.go"),
    ("xml.Unmarshal", "encoding/xml/read.go"),
    ("http.Client", "net/http/client.go"),
    ("io.Reader", "io/io.go"),
    ("fs::read_dir", "src/fs.rs"),
    // Copies and tests come last.
    ("read_dir", "src/fs.rs"),
    ("type Server", "net/http/server.go"),
    // A type before other definitions of the same name; entries of groups; patterns.
    ("OpenOptions", "src/fs.rs"),
    ("ErrUnexpectedEOF", "io/io.go"),
    (r"func \(\w+ \*?ServeMux\)", "net/http/server.go"),
    (r"fn\s+walk", "src/walk.rs"),
];

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    for (path, text) in tree::FILES {
        fixture.write(path, text);
    }
    fixture.ingest();
    fixture
}

/// Returns the best files as JSON, as a program gets them.
fn asked(server: &Server, query: &str, limit: usize, cursor: &str) -> Value {
    let query = utf8_percent_encode(query, NON_ALPHANUMERIC);
    let address = format!("/search?q={query}&sort=relevance&limit={limit}&cursor={cursor}");
    let (status, found) = server.json(&address);
    assert_eq!(status, 200, "{found}");
    found
}

/// Returns the paths of the best files as a program gets them.
fn ranked(server: &Server, query: &str, limit: usize) -> Vec<String> {
    paths(&asked(server, query, limit, "")["files"])
}

/// Returns the paths of the near definitions, which are not results.
fn near(server: &Server, query: &str) -> Vec<String> {
    let found = asked(server, query, 1, "");
    found.get("near_definitions").map(paths).unwrap_or_default()
}

fn paths(files: &Value) -> Vec<String> {
    let path = |file: &Value| {
        format!("{}/{}", file["repo"].as_str().unwrap(), file["path"].as_str().unwrap())
    };
    files.as_array().unwrap().iter().map(path).collect()
}

/// Returns a page without the files that are ranked by words below few results.
fn matching(page: &str) -> &str {
    page.split("<section class=\"near\" aria-label=\"Ranked by words\">").next().unwrap()
}

/// Returns the paths of the files on the page, in order, and those of its near definitions.
fn on_page(server: &Server, query: &str) -> (Vec<String>, Vec<String>) {
    let query = utf8_percent_encode(query, NON_ALPHANUMERIC);
    let (status, _, page) = server.get(&format!("/search?q={query}&wait=1"), "text/html");
    assert_eq!(status, 200, "{page}");
    let path = |article: &str| {
        let link = article.split("href=\"/file?repo=").nth(1).unwrap().split('"').next().unwrap();
        let link = link.split("&#38;q=").next().unwrap().replace("&#38;path=", "/");
        percent_decode_str(&link).decode_utf8().unwrap().into_owned()
    };
    let articles = |part: &str| part.split("<article").skip(1).map(path).collect();
    let page = matching(&page);
    match page.split_once("<section class=\"near\"") {
        None => (articles(page), Vec::new()),
        Some((_, rest)) => {
            let (near, found) = rest.split_once("</section>").unwrap();
            (articles(found), articles(near))
        }
    }
}

#[test]
fn what_is_wanted_comes_first() {
    let fixture = fixture();
    let server = fixture.serve();
    let mut wrong = String::new();
    for (query, wanted) in WANTED {
        let mut found = near(&server, query);
        found.extend(ranked(&server, query, 10));
        if !found.first().is_some_and(|first| first.ends_with(wanted)) {
            writeln!(wrong, "{query}: {wanted}, not {found:#?}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    // Vendored code comes after the project's own.
    let copies = ranked(&server, "read_dir", 10);
    let place = |name: &str| copies.iter().position(|path| path == name).unwrap();
    assert!(place("crate/src/fs.rs") < place("crate/vendor/old/fs.rs"), "{copies:?}");
    assert!(place("crate/tests/fs.rs") < place("crate/vendor/old/fs.rs"), "{copies:?}");
    let wrapper = ranked(&server, "ReadFile", 20);
    let at = |name: &str| wrapper.iter().position(|path| path.ends_with(name)).unwrap();
    assert!(at("os/file.go") < at("ioutil/ioutil.go"), "{wrapper:?}");
}

#[test]
fn everybody_is_shown_the_same_order() {
    let fixture = fixture();
    let server = fixture.serve();
    let mut agent = Agent::of(&fixture);
    for (query, _) in WANTED {
        let expected = ranked(&server, query, 100);
        let told =
            agent.told("search", &json!({ "query": query, "limit": 100, "max_bytes": 32768 }));
        let (_, body) = told.split_once("\n\n").unwrap();
        let heads = body.split("\n\n").map(|file| file.lines().next().unwrap());
        // What is ranked by words follows.
        let heads = heads.take_while(|head| !head.contains("ranked by words"));
        let mut repo = String::new();
        let place = |head: &str| {
            let (of, path) = head.split(" (").next().unwrap().split_once(": ").unwrap();
            (of.to_owned(), path.to_owned())
        };
        let mut paths: Vec<String> = Vec::new();
        for (of, path) in heads.map(place) {
            repo = if of.is_empty() { repo } else { of };
            paths.push(format!("{repo}/{path}"));
        }
        assert_eq!(paths, expected, "{query}");
        let near = near(&server, query);
        assert_eq!(on_page(&server, query), (expected.clone(), near.clone()), "{query}");
        let (head, _) = told.split_once("\n\n").unwrap();
        let labelled: Vec<String> = near.iter().map(|path| path.replacen('/', ": ", 1)).collect();
        for path in &labelled {
            assert!(head.contains(&format!("\n{path}\n")), "{query}: {head}");
        }
        assert_eq!(head.contains("Defined here"), !near.is_empty(), "{query}: {head}");
        let printed = fixture.run(&["search", "--sort", "relevance", query]).code(0).out;
        let mut paths: Vec<&str> =
            printed.lines().map(|line| line.split(':').next().unwrap()).collect();
        paths.dedup();
        assert_eq!(paths, expected, "{query}");
    }
}

#[test]
fn paths_alone_are_ranked_by_lines_that_are_not_shown() {
    let fixture = fixture();
    let server = fixture.serve();
    for (query, first) in WANTED {
        let of_paths = format!("{query} type:file");
        assert_eq!(ranked(&server, &of_paths, 10), ranked(&server, query, 10), "{query}");
        let found = asked(&server, &of_paths, 3, "");
        let files = found["files"].as_array().unwrap();
        assert!(files.iter().all(|file| file["matches"] == json!([])), "{found}");
        let shown = fixture.run(&["search", "-l", "--sort", "relevance", query]).code(0).out;
        // A client that asks for matching files gets no near definition.
        let first = if near(&server, query).is_empty() { first } else { "" };
        assert!(shown.lines().next().unwrap().ends_with(first), "{query}: {shown}");
    }
}

#[test]
fn a_score_says_how_it_came_about() {
    let fixture = fixture();
    let server = fixture.serve();
    for (query, _) in WANTED {
        let typed = utf8_percent_encode(query, NON_ALPHANUMERIC);
        let address = format!("/search?q={typed}&sort=relevance&limit=100&explain=1");
        let found = server.json(&address).1;
        assert_eq!(paths(&found["files"]), ranked(&server, query, 100), "{query}");
        assert!(found["explain"]["plan"].is_string(), "{found}");
        let scores = found["files"].as_array().unwrap().iter().map(|file| &file["score"]);
        let points: Vec<f64> = scores
            .map(|score| {
                let parts = score["parts"].as_object().unwrap();
                let sum: f64 = parts.values().map(|points| points.as_f64().unwrap()).sum();
                let points = score["points"].as_f64().unwrap();
                assert!((sum - points).abs() < 0.1, "{query}: {score}");
                points
            })
            .collect();
        assert!(points.is_sorted_by(|a, b| a >= b), "{query}: {points:?}");
    }
    let found = server.json("/search?q=ReadFile&sort=relevance&limit=1&explain=1").1;
    let (file, score) = (&found["files"][0], &found["files"][0]["score"]);
    let line =
        file["matches"].as_array().unwrap().iter().find(|line| line["line"] == score["line"]);
    assert!(line.unwrap()["text"].as_str().unwrap().contains("func ReadFile"), "{file}");
    assert!(score["parts"]["definition"].as_f64().unwrap() > 50.0, "{score}");
    assert!(score["parts"]["votes"].as_f64().unwrap() > 0.0, "{score}");
    // Clients get no explanation without asking, nor in an order without scores.
    for address in ["sort=relevance", "sort=path&explain=1", "explain=1"] {
        let found = server.json(&format!("/search?q=ReadFile&limit=9&{address}")).1;
        let files = found["files"].as_array().unwrap();
        assert!(files.iter().all(|file| file.get("score").is_none()), "{address}: {found}");
    }
    // The terminal and the page say the same.
    let points = format!("{:.1} = definition", score["points"].as_f64().unwrap());
    let told = fixture.run(&["search", "--sort", "relevance", "--explain", "ReadFile"]).code(0).out;
    let first = told.lines().find(|line| line.starts_with("score ")).unwrap();
    let path = format!("{}/{}", file["repo"].as_str().unwrap(), file["path"].as_str().unwrap());
    assert!(first.contains(&format!("{path}: {points}")), "{told}");
    assert!(told.starts_with("query       /ReadFile/\n"), "{told}");
    let told = fixture.run(&["search", "--explain", "ReadFile"]).code(0).out;
    assert!(!told.contains("score "), "{told}");
    let page = server.get("/search?q=ReadFile&wait=1&explain=1", "text/html").2;
    assert!(page.contains(&format!("Score {points}")), "{page}");
}

#[test]
fn the_limit_does_not_choose_what_is_ranked() {
    let fixture = fixture();
    let server = fixture.serve();
    for (query, _) in WANTED {
        let expected = ranked(&server, query, 100);
        assert_eq!(ranked(&server, query, 1), expected[..1], "{query}");
        let encoded = utf8_percent_encode(query, NON_ALPHANUMERIC);
        let (_, _, page) = server.get(&format!("/search?q={encoded}&limit=1&wait=1"), "text/html");
        let near = near(&server, query).len();
        assert_eq!(matching(&page).matches("<article").count(), 1 + near, "{query}");
        let (repo, path) = expected[0].split_once('/').unwrap();
        assert!(page.contains(&format!("/file?repo={repo}&#38;path={path}")), "{query}: {page}");
    }
}

#[test]
fn of_a_file_the_best_lines_are_shown() {
    let fixture = fixture();
    let mut agent = Agent::of(&fixture);
    let asked = json!({ "query": "loader", "lines_per_file": 3 });
    let told = agent.told("search", &asked);
    let (head, body) = told.split_once("\n\n").unwrap();
    assert!(head.ends_with("That is all."), "{head}");
    assert_eq!(
        body,
        "crate: py/loader.py\nin main, 6-7:\n7:loader(\"a\")\noutside:\n10:class Loader:  [defines class]\n25:def loader(name):  [defines function]\n+14 more lines\n"
    );
    let (_, _, page) = fixture.serve().get("/search?q=loader&wait=1", "text/html");
    assert!(page.contains("#L25") && !page.contains("Licence"), "{page}");
}

#[test]
fn the_best_are_found_beyond_the_files_that_are_ranked() {
    let fixture = Fixture::new();
    for n in 0..1400 {
        fixture.write(
            &format!("r/uses/use{n}.go"),
            format!("package uses\n\n// {n}\nfunc u() {{ pkg.Wanted(x) }}\n"),
        );
    }
    fixture.write("r/zzz/pkg/impl.go", "package pkg\n\nfunc Wanted(x int) int {\n\treturn x\n}\n");
    fixture.ingest_over(7);
    let server = fixture.serve();
    for query in ["Wanted", "pkg.Wanted", "wanted"] {
        let mut first = near(&server, query);
        first.extend(ranked(&server, query, 3));
        assert_eq!(first[0], "r/zzz/pkg/impl.go", "{query}");
        // All pages together have each file once, also the boosted files that were found early.
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let found = asked(&server, query, 300, &cursor);
            all.extend(paths(&found["files"]));
            match found["next"].as_str() {
                Some(next) => cursor = next.to_owned(),
                None => break,
            }
        }
        let given = all.len();
        all.sort();
        all.dedup();
        // The file that defines it does not contain `pkg.Wanted`.
        let matching = 1400 + usize::from(query != "pkg.Wanted");
        assert_eq!((given, all.len()), (matching, matching), "{query}");
    }
    let mut agent = Agent::of(&fixture);
    let told = agent.told("search", &json!({ "query": "Wanted" }));
    assert!(told.starts_with("at least "), "{told}");
    assert!(told.contains("these are the best of the first 50"), "{told}");
    assert!(
        told.contains("\n\nr: zzz/pkg/impl.go\n3:func Wanted(x int) int {  [defines function]\n"),
        "{told}"
    );
}

/// Queries on the Go standard library, and the wanted file for each; several if they are equally good.
const IN_GO: [(&str, &str); 50] = [
    ("json decoder", "encoding/json/stream.go"),
    ("ReadFile", "os/file.go"),
    ("func ReadFile", "os/file.go"),
    ("read file", "os/file.go"),
    ("ServeHTTP", "net/http/server.go"),
    ("NewReader", "bufio/bufio.go"),
    ("Unmarshal", "encoding/json/decode.go"),
    ("json.Unmarshal", "encoding/json/decode.go"),
    ("type Reader interface", "io/io.go"),
    ("http.Client", "net/http/client.go"),
    ("http server", "net/http/server.go"),
    ("strings builder", "strings/builder.go"),
    ("bytes.Buffer", "bytes/buffer.go"),
    ("sync.Mutex", "sync/mutex.go"),
    ("WaitGroup", "sync/waitgroup.go"),
    ("with timeout", "context/context.go"),
    ("type Context interface", "context/context.go"),
    ("fmt.Println", "fmt/print.go"),
    ("Sprintf", "fmt/print.go"),
    ("url.Parse", "net/url/url.go"),
    ("ErrUnexpectedEOF", "io/io.go"),
    ("io.EOF", "io/io.go"),
    ("copy buffer", "io/io.go"),
    ("type Handler interface", "net/http/server.go"),
    ("sort.Slice", "sort/slice.go"),
    ("time.Duration", "time/time.go"),
    ("regexp compile", "regexp/regexp.go"),
    ("MustCompile", "regexp/regexp.go"),
    ("flag parse", "flag/flag.go"),
    ("big int", "math/big/int.go"),
    ("tls config", "crypto/tls/common.go"),
    ("gzip writer", "compress/gzip/gzip.go"),
    ("new request", "net/http/request.go"),
    ("http.Get", "net/http/client.go"),
    ("bufio scanner", "bufio/scan.go"),
    ("exec command", "os/exec/exec.go"),
    ("Getenv", "os/env.go"),
    ("listen and serve", "net/http/server.go"),
    ("atomic value", "sync/atomic/value.go"),
    ("file server", "net/http/fs.go"),
    ("reverse proxy", "net/http/httputil/reverseproxy.go"),
    ("csv reader", "encoding/csv/reader.go"),
    ("filepath.Walk", "path/filepath/path.go"),
    ("heap.Push", "container/heap/heap.go"),
    ("func Getwd", "os/getwd.go"),
    ("type Server struct", "net/http/server.go"),
    ("round tripper", "net/http/client.go"),
    ("errors.Is", "errors/wrap.go"),
    ("temp dir", "os/file.go"),
    ("hex dump", "encoding/hex/hex.go"),
];

/// The environment variable with the folder of the Go standard library's source, as of version 1.26 (`src` of
/// `go env GOROOT`). Without it, these queries are skipped.
const GO_TREE: &str = "CODESEARCH_GO_SRC";

#[test]
fn what_is_wanted_of_a_large_tree_comes_first() {
    let Some(tree) = std::env::var_os(GO_TREE) else {
        eprintln!("left out: set {GO_TREE} to the folder src of the Go tree");
        return;
    };
    let fixture = Fixture::new();
    fixture.run(&["ingest", "--depth", "0", tree.to_str().unwrap()]).code(0);
    let server = fixture.serve();
    let (mut first, mut wrong) = (0, String::new());
    for (query, wanted) in IN_GO {
        let mut found = near(&server, query);
        found.extend(ranked(&server, query, 50));
        let is_wanted =
            |path: &String| path.split_once('/').is_some_and(|(_, path)| path.ends_with(wanted));
        let place = found.iter().position(is_wanted).map(|at| at + 1);
        eprintln!("{query}\t{wanted}\t{}", place.map_or("-".to_owned(), |place| place.to_string()));
        first += usize::from(place == Some(1));
        if place.is_none_or(|place| place > 3) {
            writeln!(
                wrong,
                "{query}: {wanted} is {place:?}; first: {:?}",
                &found[..found.len().min(3)]
            )
            .unwrap();
        }
    }
    eprintln!("{first} of {} come first", IN_GO.len());
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_best_file_is_first_however_many_match() {
    let fixture = Fixture::new();
    // More than are ranked of those found first, and more than name their words in a row or in their paths.
    for n in 0..700 {
        let filler = "// one of many lines of a text that says nothing\n".repeat(40);
        fixture.write(
            &format!("a/src/f{n:03}.go"),
            format!("package a\n\n// quota\n{filler}// lease {n}\n"),
        );
    }
    fixture.write(
        "z/src/keeper.go",
        "package z\n\nfunc (k *Keeper) Renew() error {\n\t// The quota of a lease: lease by quota.\n\treturn quota.Of(lease)\n}\n",
    );
    fixture.ingest();
    let one = |path: &str| path == "z/src/keeper.go";
    for server in [fixture.serve(), fixture.serve_with(&["--cache", "0"])] {
        for query in ["quota lease", "lease quota lang:go", "quota lease -file:f000"] {
            assert!(one(&ranked(&server, query, 5)[0]), "{query}");
        }
        // What does not match is not found, however many words it has.
        let others = ranked(&server, "quota lease -file:keeper", 500);
        assert!(!others.iter().any(|path| one(path)), "{others:?}");
        assert!(!ranked(&server, "quota lease many", 500).iter().any(|path| one(path)));
        // All pages together have each file once.
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = asked(&server, "quota lease", 200, &cursor);
            all.extend(paths(&page["files"]));
            match page["next"].as_str() {
                Some(next) => cursor = next.to_owned(),
                None => break,
            }
        }
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!((count, all.len()), (701, 701));
    }
    // Nor is what a view does not see.
    let mut restricted = fixture.command(&["search", "--sort", "relevance", "quota lease"]);
    let seen = restricted.env("CODESEARCH_REPOS", "^a$").output().unwrap().stdout;
    let seen = String::from_utf8(seen).unwrap();
    assert!(seen.contains("f0") && !seen.contains("keeper.go"), "{seen}");
}
