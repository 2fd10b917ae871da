//! Zoekt's JSON API, as its clients use it, also compared with a real Zoekt if one is installed.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::{Fixture, Server, eventually};

fn served() -> (Fixture, Server) {
    let fixture = Fixture::new();
    fixture.write("one/a.go", "package a\n\n// Größe\nfunc Größe() int {\n\treturn 1\n}\n");
    fixture.write("one/same.go", "package a\n\n// Größe\nfunc Größe() int {\n\treturn 1\n}\n");
    fixture.write("two/c.md", "func\n".repeat(30));
    fixture.ingest();
    let server = fixture.serve();
    (fixture, server)
}

/// Sends a POST; returns status, content type and body.
fn post(base: &str, path: &str, body: &str) -> (u16, String, String) {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    let agent: ureq::Agent = config.build().into();
    let mut answer = agent.post(format!("{base}{path}")).send(body).unwrap();
    let kind = answer.headers().get("content-type").map_or("", |v| v.to_str().unwrap()).to_owned();
    let text = answer.body_mut().with_config().limit(128 << 20).read_to_string().unwrap();
    (answer.status().as_u16(), kind, text)
}

fn ask(server: &Server, path: &str, body: &Value) -> (u16, Value) {
    let (status, kind, text) = post(&format!("http://{}", server.address), path, &body.to_string());
    assert_eq!(kind, "application/json", "{text}");
    (status, serde_json::from_str(&text).unwrap())
}

/// Returns the result of a search that must succeed.
#[track_caller]
pub(crate) fn search(server: &Server, query: &str, options: &Value) -> Value {
    let (status, mut answer) = ask(server, "/api/search", &json!({ "Q": query, "Opts": options }));
    assert_eq!(status, 200, "{answer}");
    answer["Result"].take()
}

fn encoded(text: &str) -> String {
    STANDARD.encode(text)
}

#[test]
fn an_answer_that_would_be_huge_is_cut_and_says_so() {
    let fixture = Fixture::new();
    fixture.write("one/hay.txt", "hay\n".repeat(200_000));
    fixture.write("one/every.txt", "hay\n\n".repeat(150_000));
    fixture.ingest();
    let server = fixture.serve();
    let most = 100_000_000;
    for (query, options) in [
        ("hay file:hay", json!({ "NumContextLines": 100 })),
        ("hay file:hay", json!({ "NumContextLines": 100, "ChunkMatches": true })),
        ("hay file:every", json!({ "ChunkMatches": true })),
    ] {
        let mut options = options;
        options["TotalMaxMatchCount"] = most.into();
        options["ShardMaxMatchCount"] = most.into();
        let body = json!({ "Q": query, "Opts": options }).to_string();
        let (status, _, text) = post(&format!("http://{}", server.address), "/api/search", &body);
        assert_eq!(status, 200, "{options}");
        // The limit is about 32 MiB.
        assert!(text.len() < 48 << 20, "{options}: {} bytes", text.len());
        let answer: Value = serde_json::from_str(&text).unwrap();
        let file = &answer["Result"]["Files"][0];
        let shown = |name: &str| file[name].as_array().map_or(0, Vec::len);
        let skipped = answer["Result"]["FilesSkipped"].as_u64().unwrap();
        if query.contains("every") {
            assert!(
                shown("ChunkMatches") > 10_000
                    && (skipped > 0) == (shown("ChunkMatches") < 150_000)
            );
        } else if options["ChunkMatches"] == true {
            // All lines are one chunk.
            assert_eq!((shown("ChunkMatches"), skipped), (1, 0));
        } else {
            assert!(shown("LineMatches") > 10_000 && shown("LineMatches") < 200_000);
            assert!(skipped > 0, "{}", answer["Result"]["FilesSkipped"]);
        }
    }
    for (page, most) in [
        ("/zoekt/search?q=hay&num=1000000&ctx=10&format=json", 64 << 20),
        ("/api/v1/search/?q=hay&max_matches=0", 96 << 20),
    ] {
        let (status, _, text) = server.get(page, "application/json");
        assert!(status == 200 && text.len() < most, "{page}: {status}, {} bytes", text.len());
    }
}

#[test]
fn lines_with_fragments() {
    let (_fixture, server) = served();
    let result = search(&server, "Größe file:a.go", &json!({ "NumContextLines": 1 }));
    let mut file = result["Files"][0].clone();
    assert!(file["Score"].as_f64().unwrap() > 0.0, "{file}");
    assert_eq!(STANDARD.decode(file["Checksum"].as_str().unwrap()).unwrap().len(), 8);
    let fields = file.as_object_mut().unwrap();
    fields.remove("Score");
    fields.remove("Checksum");
    // Each line counts as much as its file.
    for line in fields["LineMatches"].as_array_mut().unwrap() {
        assert!(line.as_object_mut().unwrap().remove("Score").unwrap().as_f64() > Some(0.0));
    }
    let line = |text: &str, start: u64, number: u64, offset: u64, before: &str, after: &str| {
        json!({
            "Line": encoded(text),
            "LineStart": start,
            "LineEnd": start + text.len() as u64,
            "LineNumber": number,
            "Before": encoded(before),
            "After": encoded(after),
            "FileName": false,
            "DebugScore": "",
            "LineFragments": [{
                "LineOffset": offset, "Offset": start + offset, "MatchLength": 7, "SymbolInfo": null,
            }],
        })
    };
    let expected = json!({
        "FileName": "a.go",
        "Repository": "one",
        "Language": "Go",
        "LineMatches": [
            line("// Größe\n", 11, 3, 3, "\n", "func Größe() int {\n"),
            line("func Größe() int {\n", 22, 4, 5, "// Größe\n", "\treturn 1\n"),
        ],
    });
    assert_eq!(file, expected);
    assert_eq!(result["MatchCount"], 2);
    assert_eq!(
        (&result["RepoURLs"], &result["LineFragments"]),
        (&json!({ "one": "" }), &json!({ "one": "" }))
    );
}

#[test]
fn chunks_count_columns_in_characters() {
    let (_fixture, server) = served();
    let result = search(&server, r"ße.*\n\treturn file:a.go", &json!({ "ChunkMatches": true }));
    let chunk = &result["Files"][0]["ChunkMatches"][0];
    assert_eq!(chunk["Content"], encoded("func Größe() int {\n\treturn 1\n"));
    assert_eq!(
        chunk["Ranges"],
        json!([{
            "Start": { "ByteOffset": 31, "LineNumber": 4, "Column": 9 },
            "End": { "ByteOffset": 50, "LineNumber": 5, "Column": 8 },
        }])
    );
    assert_eq!(chunk["ContentStart"], json!({ "ByteOffset": 22, "LineNumber": 4, "Column": 1 }));
    assert_eq!((&chunk["BestLineMatch"], &result["MatchCount"]), (&json!(4), &json!(1)));
}

#[test]
fn options_bound_what_is_shown() {
    let (_fixture, server) = served();
    let shown = |options: Value| {
        let result = search(&server, "func", &options);
        let files = result["Files"].as_array().unwrap();
        let fragments = |line: &Value| line["LineFragments"].as_array().unwrap().len();
        let of_file = |file: &Value| {
            file["LineMatches"].as_array().unwrap().iter().map(fragments).sum::<usize>()
        };
        (
            files.len(),
            files.iter().map(of_file).sum::<usize>(),
            result["MatchCount"].as_u64().unwrap(),
        )
    };
    assert_eq!(shown(json!({})), (3, 32, 32));
    assert_eq!(shown(json!({ "MaxMatchDisplayCount": 1 })), (1, 1, 32));
    assert_eq!(shown(json!({ "MaxDocDisplayCount": 2 })).0, 2);
    // One file of each repository.
    assert_eq!(shown(json!({ "ShardMaxMatchCount": 1 })), (2, 31, 31));
    assert_eq!(shown(json!({ "ShardRepoMaxMatchCount": 1 })), (2, 31, 31));
    let first = search(&server, "func", &json!({ "TotalMaxMatchCount": 1, "MaxWallTime": 0 }));
    assert!(first["FilesSkipped"].as_u64().unwrap() > 0, "{first}");
    let estimate = search(&server, "func repo:one", &json!({ "EstimateDocCount": true }));
    assert_eq!((&estimate["ShardFilesConsidered"], &estimate["Files"]), (&json!(2), &json!(null)));
    let whole = search(&server, "file:a.go", &json!({ "Whole": true }));
    let text = "package a\n\n// Größe\nfunc Größe() int {\n\treturn 1\n}\n";
    assert_eq!(whole["Files"][0]["Content"], encoded(text));
}

#[test]
fn repositories_are_listed() {
    let (_fixture, server) = served();
    let names = |query: &str, field: u8| -> Vec<String> {
        let (status, answer) =
            ask(&server, "/api/list", &json!({ "Q": query, "Opts": { "Field": field } }));
        assert_eq!(status, 200, "{answer}");
        let repos = answer["List"]["Repos"].as_array().unwrap();
        assert_eq!(answer["List"]["Stats"]["Repos"], repos.len());
        repos.iter().map(|r| r["Repository"]["Name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("", 0), ["one", "two"]);
    assert_eq!(names("return", 0), ["one"]);
    assert_eq!(names("-repo:one", 0), ["two"]);
    assert!(names("nowhere-at-all", 0).is_empty());
    let (_, answer) = ask(&server, "/api/list", &json!({ "Q": "repo:two" }));
    let stats = &answer["List"]["Repos"][0]["Stats"];
    assert_eq!((&stats["Documents"], &stats["ContentBytes"]), (&json!(1), &json!(150)));
}

#[test]
fn errors_are_zoekts() {
    let (_fixture, server) = served();
    let base = format!("http://{}", server.address);
    for (path, body, status) in [
        ("/api/search", "", 400),
        ("/api/search", "{", 400),
        ("/api/search", "null", 400),
        ("/api/search", r#"{"Q":""}"#, 400),
        ("/api/search", r#"{"Q":7}"#, 400),
        ("/api/search", r#"{"Q":"a("}"#, 400),
        ("/api/search", r#"{"Q":"a","Opts":{"Whole":1}}"#, 400),
        ("/api/search", r#"{"Q":"a","RepoIDs":[1]}"#, 400),
        ("/api/list", r#"{"Q":"a("}"#, 400),
        ("/api/list", r#"{"Q":"","Opts":{"Field":1}}"#, 500),
        ("/api/list", r#"{"Q":"","Opts":{"Field":2}}"#, 400),
        ("/api/search", r#"{"Q":"return"} x"#, 400),
        ("/api/search", "{\"Q\":\"\u{0}\"", 400),
    ] {
        let (got, kind, text) = post(&base, path, body);
        assert_eq!((got, kind.as_str()), (status, "application/json"), "{body}: {text}");
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert!(answer["Error"].is_string(), "{body}: {text}");
    }
    // Names may be in any case, and null counts as missing.
    let body = r#"{"q":"return","repoids":null,"opts":{"maxdocdisplaycount":1,"Trace":true}}"#;
    assert_eq!(post(&base, "/api/search", body).0, 200);
    let (status, answer) = server.json("/api/search");
    assert_eq!((status, answer["Error"].is_string()), (405, true));
    let (status, kind, text) = server.get("/zoekt/search?format=json&num=5", "*/*");
    assert_eq!((status, kind.as_str()), (418, "text/plain; charset=utf-8"), "{text}");
    assert_eq!(server.get("/zoekt/search?format=json&num=5&q=a&ctx=11", "*/*").0, 418);
}

#[test]
fn only_its_own_clients_get_the_answer_of_its_pages() {
    let (_fixture, server) = served();
    let (_, theirs) = server.json("/zoekt/search?q=return&num=1&ctx=1&format=json");
    let result = &theirs["result"];
    assert_eq!(
        result["Last"],
        json!({ "Query": "return", "Num": 1, "Ctx": 1, "AutoFocus": true, "Debug": false })
    );
    assert_eq!(result["FileMatches"].as_array().unwrap().len(), 1);
    assert_eq!(
        result["FileMatches"][0]["Matches"],
        json!([{
            "URL": "",
            "FileName": "a.go",
            "LineNum": 5,
            "Fragments": [{ "Pre": "\t", "Match": "return", "Post": " 1\n" }],
            "Before": "func Größe() int {\n",
            "After": "}\n",
        }])
    );
    let (_, same) = server.json("/zoekt/search?q=return&num=9&format=json");
    assert_eq!(same["result"]["FileMatches"][1]["DuplicateID"], "one:a.go");
    let (_, repos) = server.json("/zoekt/search?q=repo:.&num=1&format=json&order=revsize");
    assert_eq!(repos["repos"]["Repos"][0]["Name"], "two");
    assert_eq!(
        (&repos["repos"]["Stats"]["Repos"], &repos["repos"]["Last"]["Num"]),
        (&json!(2), &json!(1))
    );
    // A parameter that Zoekt does not have is reported, not ignored.
    let (status, _, text) = server.get("/zoekt/search?q=return&format=json&lang=go", "*/*");
    assert_eq!((status, text.contains("unknown parameter lang=")), (418, true), "{text}");
}

#[test]
fn our_own_search_never_answers_as_zoekt_does() {
    let (_fixture, server) = served();
    for ours in ["num=1", "limit=1&format=json", "format=json", "num=1&limit=1&format=json"] {
        let (_, answer) = server.json(&format!("/search?q=return&{ours}"));
        assert!(answer["stats"].is_object(), "{ours}: {answer}");
    }
    let (status, answer) = server.json("/search?q=func&num=1&format=json&lang=go");
    assert_eq!((status, &answer["stats"]["files"]), (200, &json!(1)), "{answer}");
    assert_eq!(answer["files"][0]["language"], "Go", "{answer}");
    assert_eq!(answer["stats"]["stopped_because"], "limit", "{answer}");
    let (_, answer) = server.json("/search?q=func&num=5&format=json&lang=rust");
    assert_eq!((&answer["stats"]["files"], &answer["files"]), (&json!(0), &json!([])), "{answer}");
    for wrong in ["ctx=1", "bogus=1", "order=name"] {
        let (status, answer) = server.json(&format!("/search?q=func&num=5&format=json&{wrong}"));
        assert_eq!((status, &answer["error"]["code"]), (400, &json!("bad_request")), "{answer}");
    }
    let body = r#"{"q":"return"}"#;
    let base = format!("http://{}", server.address);
    for path in ["/api/search", "/zoekt/api/search", "/api/list", "/zoekt/api/list"] {
        assert_eq!(post(&base, path, body).0, 200, "{path}");
    }
}

/// A Zoekt that serves the sample, and is stopped when dropped.
struct Zoekt {
    child: Child,
    base: String,
}

impl Drop for Zoekt {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Zoekt {
    /// Indexes the folders in a folder; `None` if Zoekt is not installed.
    fn start(folder: &Path, index: &Path) -> Option<Self> {
        let mut repos: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        repos.retain(|path| path.is_dir());
        for repo in repos {
            let mut command = Command::new("zoekt-index");
            command.arg("-index").arg(index).arg(repo).stderr(Stdio::null());
            assert!(command.status().ok()?.success());
        }
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut command = Command::new("zoekt-webserver");
        command.args(["-rpc", "-listen", &free.to_string(), "-index"]).arg(index);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let zoekt = Self { child, base: format!("http://{free}") };
        let agent = ureq::Agent::new_with_defaults();
        eventually("Zoekt serves", || agent.get(format!("{}/readyz", zoekt.base)).call().is_ok());
        Some(zoekt)
    }
}

/// Fields that must differ: the costs of a search, the ranking, and properties that only Zoekt's index has.
const APART: [&str; 27] = [
    "ContentBytesLoaded",
    "IndexBytesLoaded",
    "Duration",
    "FilesConsidered",
    "FilesLoaded",
    "ShardsScanned",
    "ShardsSkipped",
    "ShardsSkippedFilter",
    "NgramMatches",
    "NgramLookups",
    "Wait",
    "MatchTreeConstruction",
    "MatchTreeSearch",
    "RegexpsConsidered",
    "BestLineMatch",
    "Checksum",
    "Source",
    "IndexOptions",
    "IndexMetadata",
    "IndexBytes",
    // Also in paths.
    "ContentBytes",
    "Size",
    "MemorySize",
    "NewLinesCount",
    "IndexTime",
    "Query",
    "URL",
];

/// Makes answers comparable: replaces each field that must differ with the name of its type, and sorts lists.
fn comparable(value: Value) -> Value {
    match value {
        Value::Object(mut fields) => {
            // A score of zero is left out.
            fields.remove("Score");
            let known = |name: String, value: Value| {
                let apart = APART.contains(&name.as_str());
                let value = if apart { json!(kind(&value)) } else { comparable(value) };
                (name, value)
            };
            Value::Object(fields.into_iter().map(|(name, value)| known(name, value)).collect())
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.into_iter().map(comparable).collect();
            items.sort_by_key(Value::to_string);
            Value::Array(items)
        }
        // Some languages have different names here.
        Value::String(text) if text == "Plain Text" => json!("Text"),
        Value::String(text) if text == "go.mod" => json!("Go Module"),
        Value::String(text) if text == "PLpgSQL" => json!("SQL"),
        other => other,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[test]
fn answers_are_those_of_a_real_zoekt() {
    let fixture = Fixture::new();
    let sample = fixture.path().join("sample");
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/sample");
    let copied = Command::new("cp").arg("-r").args([&original, &sample]).status().unwrap();
    assert!(copied.success());
    // Zoekt finds a binary file by its name; codesearch leaves it out.
    std::fs::remove_file(sample.join("driftwood/testdata/tiny.bin")).unwrap();
    let Some(zoekt) = Zoekt::start(&sample, &fixture.path().join("zoekt")) else {
        println!("not compared with a real Zoekt: zoekt-index and zoekt-webserver are not in PATH");
        return;
    };
    fixture.run(&["ingest", "--shards", "4", "--depth", "1", sample.to_str().unwrap()]).code(0);
    let server = fixture.serve();
    let ours = format!("http://{}", server.address);
    let mut wrong = Vec::new();
    let searches = [
        ("tide", json!({})),
        ("tide", json!({ "NumContextLines": 2 })),
        ("tide", json!({ "NumContextLines": 2, "ChunkMatches": true })),
        ("Tide or station", json!({ "ChunkMatches": true })),
        ("return -file:test", json!({})),
        ("lang:rust fn\\s+\\w+\\(", json!({ "NumContextLines": 1 })),
        ("\\{\\n\\s+return", json!({ "ChunkMatches": true })),
        ("\\{\\n\\s+return", json!({})),
        ("\"if err\" repo:h", json!({ "Whole": true })),
        ("file:md$", json!({})),
        ("file:md$", json!({ "ChunkMatches": true })),
        ("case:yes [^\\x00-\\x7f]+ -file:latin1 -file:utf16", json!({ "ChunkMatches": true })),
        ("type:file tide", json!({})),
        ("type:repo tide", json!({ "ChunkMatches": true })),
        ("repo:drift", json!({})),
        ("-lang:go -repo:drift", json!({})),
        ("nowhere-at-all", json!({})),
        ("tide", json!({ "EstimateDocCount": true })),
        ("case:yes Tide (high or low)", json!({})),
        (
            "^import",
            json!({ "MaxDocDisplayCount": 1000, "ChunkMatches": true, "NumContextLines": 1 }),
        ),
    ];
    for (query, options) in searches {
        let body = json!({ "Q": query, "Opts": options }).to_string();
        compare(
            &mut wrong,
            &body,
            || post(&zoekt.base, "/api/search", &body),
            || post(&ours, "/api/search", &body),
        );
    }
    for query in ["", "tide", "repo:o", "-repo:o", "nowhere-at-all", "type:repo tide", "lang:go"] {
        let body = json!({ "Q": query }).to_string();
        compare(
            &mut wrong,
            &format!("list {body}"),
            || post(&zoekt.base, "/api/list", &body),
            || post(&ours, "/api/list", &body),
        );
    }
    let agent = ureq::Agent::new_with_defaults();
    let get = |base: &str, path: &str| {
        let mut answer = agent.get(format!("{base}{path}")).call().unwrap();
        let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
        let text = answer.body_mut().with_config().limit(128 << 20).read_to_string().unwrap();
        (answer.status().as_u16(), kind, text)
    };
    for query in
        ["tide", "tide&ctx=2", "repo:o", "-repo:o&order=revsize", "nowhere-at-all", "repo:nowhere"]
    {
        let path = format!("/search?format=json&num=1000&q={query}");
        let below = format!("{ours}/zoekt");
        compare(&mut wrong, &path, || get(&zoekt.base, &path), || get(&below, &path));
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Records the differences between two answers.
fn compare(
    wrong: &mut Vec<String>,
    what: &str,
    theirs: impl Fn() -> (u16, String, String),
    ours: impl Fn() -> (u16, String, String),
) {
    let (theirs, ours) = (theirs(), ours());
    if (theirs.0, &theirs.1) != (ours.0, &ours.1) {
        wrong.push(format!("{what}: {} {} / {} {}", theirs.0, theirs.1, ours.0, ours.1));
    }
    let read = |text: &str| comparable(serde_json::from_str(text).expect(text));
    differences(wrong, what, &read(&theirs.2), &read(&ours.2));
}

fn differences(wrong: &mut Vec<String>, at: &str, theirs: &Value, ours: &Value) {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            let mut names: Vec<&String> = theirs.keys().chain(ours.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                match (theirs.get(name), ours.get(name)) {
                    (Some(theirs), Some(ours)) => {
                        differences(wrong, &format!("{at} {name}"), theirs, ours);
                    }
                    (theirs, _) => {
                        let who = if theirs.is_some() { "Zoekt" } else { "we" };
                        wrong.push(format!("{at}: only {who} have {name}"));
                    }
                }
            }
        }
        (Value::Array(theirs), Value::Array(ours)) if theirs.len() == ours.len() => {
            for (at_item, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                differences(wrong, &format!("{at} {at_item}"), theirs, ours);
            }
        }
        (theirs, ours) if theirs != ours => {
            wrong.push(format!("{at}:\n  Zoekt: {theirs}\n  we:    {ours}"));
        }
        _ => {}
    }
}
