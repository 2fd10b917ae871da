//! Views: a user who sees half of the repositories gets the answers of an index with only that half, from every
//! endpoint, tool and command.

mod asked;

use std::collections::BTreeSet;
use std::process::Command;

use regex::Regex;
use serde_json::{Value, json};

use crate::agents::Agent;
use crate::harness::scip::{DEFINES, Unit, document, index};
use crate::harness::{Fixture, Ran, Server};

pub(crate) use asked::{addresses, calls, commands, encoded};

/// The visible repositories begin like this.
const SEEN: &str = "^seen";

const RUN: &str = "scip-test npm shop 1.0 src/`run.ts`/run().";
const DEFINING: &str = "export function run(n: number) {\n  return n;\n}\n";
const USING: &str = "import { run } from './run';\n\nrun(1);\n";

/// The index of all repositories, and that of the visible ones.
pub(crate) struct Both {
    pub(crate) all: Fixture,
    pub(crate) half: Fixture,
}

impl Both {
    pub(crate) fn new() -> Self {
        let both = Self { all: Fixture::new(), half: Fixture::new() };
        for fixture in [&both.all, &both.half] {
            for name in ["seen-one", "seen-two"] {
                write_repo(fixture, name, "only_seen");
            }
        }
        for name in ["hidden-one", "hidden-two"] {
            write_repo(&both.all, name, "only_hidden");
        }
        for fixture in [&both.all, &both.half] {
            fixture.ingest();
            fixture.run(&["symbols"]).code(0);
            import(fixture, "seen-one");
        }
        import(&both.all, "hidden-one");
        // One that tells what not everybody may see.
        both.all.run(&["monitor", "add", "needles", "needle"]).code(0);
        both
    }

    /// Returns a command on the index of all, with a view of half of it.
    pub(crate) fn seeing(&self, args: &[&str]) -> Command {
        let mut command = self.all.command(args);
        command.env("CODESEARCH_REPOS", SEEN);
        command
    }

    /// Runs a command on both.
    #[track_caller]
    fn run(&self, args: &[&str]) -> [Ran; 2] {
        [Ran::of(self.seeing(args).output().unwrap()), self.half.run(args)]
    }

    /// Checks that a command prints the same lines, in any order, and exits with the same status.
    #[track_caller]
    fn check(&self, args: &[&str]) {
        let [seen, half] = self.run(args);
        assert_eq!(seen.status.code(), half.status.code(), "{args:?}: {}{}", seen.err, half.err);
        for (seen, half) in [(seen.out, half.out), (seen.err, half.err)] {
            let (seen, half) = (plain(&seen, &self.all), plain(&half, &self.half));
            assert_eq!(lines(&seen), lines(&half), "{args:?}");
        }
    }
}

pub(crate) fn write_repo(fixture: &Fixture, name: &str, only: &str) {
    let at = |path: &str| format!("{name}/{path}");
    fixture
        .write(&at("a.rs"), format!("fn shared() {{ needle(); }}\nfn {only}() {{}}\n// {name}\n"));
    fixture.write(&at("json/b.rs"), "pub fn shared() {}\n// needle, copied everywhere\n");
    fixture.write(&at("README.md"), format!("# The kettle of {name}\n\nIt boils water.\n"));
    fixture.write(&at("binary"), b"\0needle");
    fixture.write(&at("src/run.ts"), DEFINING);
    fixture.write(&at("src/main.ts"), USING);
    fixture.write(&at("min.js"), format!("function minified(){{{}}}", "a=1;".repeat(5000)));
    fixture.commit(name, "All of it");
    fixture
        .write(&at("json/b.rs"), "pub fn shared() {}\n// needle, copied everywhere\n// renewed\n");
    fixture.commit(name, "More of it");
}

/// Imports a SCIP index of a repository.
#[track_caller]
pub(crate) fn import(fixture: &Fixture, repo: &str) {
    let documents = [
        document("src/run.ts", DEFINING, Unit::Utf16, &[("run", 0, RUN, DEFINES)]),
        document("src/main.ts", USING, Unit::Utf16, &[("run", 0, RUN, 2), ("run", 1, RUN, 0)]),
    ];
    fixture.write("index.scip", index("scip-test", &documents));
    fixture.run(&["scip", repo, "index.scip"]).code(0);
}

/// Removes data that differs between two indexes of the same repositories: folders, times, hashes of commits and
/// cursors.
pub(crate) fn plain(text: &str, fixture: &Fixture) -> String {
    let folder = fixture.path().canonicalize().unwrap();
    let text = text.replace(&*folder.to_string_lossy(), "FOLDER");
    let mut text = text.replace(&*fixture.path().to_string_lossy(), "FOLDER");
    for varying in [
        r"\d+(\.\d+)? ?(ms|us|s)\b",
        r#"\"(secs|nanos)\":\d+"#,
        r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?Z?",
        r"\b[0-9a-f]{7,40}\b",
        r"cursor=[\w-]+",
        r#"cursor \\?"[\w-]+\\?""#,
        r"(just now|\d+ (min|h|days) ago)",
        r"\d+ of \d+ shards?",
        r"epoch \d+",
        r#"title=\"[^\"]*, VARIES\""#,
    ] {
        text = Regex::new(varying).unwrap().replace_all(&text, "VARIES").into_owned();
    }
    text
}

/// Returns the lines of a text, sorted, since neither index guarantees the order of files.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// Removes the cost and the time of an answer, and sorts its lists.
pub(crate) fn settled(value: Value) -> Value {
    const VARIES: [&str; 25] = [
        "duration_ms",
        "ranking_ms",
        "phases_ms",
        "shards",
        "shards_pruned",
        "shards_searched",
        "shards_from_memory",
        "shards_from_postgres",
        "candidates",
        "files_considered",
        "rechecks",
        "next",
        "cursor",
        "rank",
        "ranked",
        "epoch",
        "Duration",
        "Wait",
        "Checksum",
        "version",
        "indexed_at",
        "looked_at",
        "oldest",
        "commit",
        "imported_at",
    ];
    match value {
        Value::Object(object) => {
            let mut kept = serde_json::Map::new();
            for (key, value) in object {
                // In a file the bytes are its size, in statistics the amount read.
                let costs = VARIES.contains(&&*key)
                    || key.starts_with("Shard") && key != "ShardFilesConsidered"
                    || key == "stats" && value.is_null();
                if costs {
                    continue;
                }
                let mut value = settled(value);
                if ["stats", "info", "Stats"].contains(&&*key)
                    && let Value::Object(stats) = &mut value
                {
                    for cost in [
                        "bytes",
                        "analyze_time",
                        "git_time",
                        "index_time",
                        "sort_time",
                        "re2_time",
                        "total_time",
                    ] {
                        stats.remove(cost);
                    }
                    stats.retain(|key, _| {
                        !key.contains("Bytes")
                            && !key.contains("Considered")
                            && !key.contains("Loaded")
                            && !key.starts_with("MatchTree")
                            && !key.starts_with("Ngram")
                    });
                }
                kept.insert(key, value);
            }
            Value::Object(kept)
        }
        Value::Array(all) => {
            let mut all: Vec<Value> = all.into_iter().map(settled).collect();
            all.sort_by_cached_key(Value::to_string);
            Value::Array(all)
        }
        other => other,
    }
}

/// Returns status, type and body of an answer, without what differs between two indexes of the same repositories.
pub(crate) fn compared(
    server: &Server,
    fixture: &Fixture,
    address: &str,
    headers: &[(&str, &str)],
) -> (u16, String, String) {
    let (status, answered, body) = server.ask(address, headers);
    let kind = answered.get("content-type").map_or("", |kind| kind.to_str().unwrap()).to_owned();
    let read = |text: &str| settled(serde_json::from_str(text).unwrap());
    let body = match &*kind {
        "application/json" => read(&body).to_string(),
        // Each event has the results since the previous one.
        "text/event-stream" => {
            let told = body.lines().filter_map(|line| line.strip_prefix("data: "));
            // On a busy machine, it tells how far it has come.
            let told = told.map(read).filter(|told| told["elapsed_ms"].is_null());
            let (files, rest): (Vec<Value>, Vec<Value>) =
                told.partition(|told| told["files"].is_array());
            let files = files.iter().flat_map(files_of).collect();
            settled(json!([Value::Array(files), rest])).to_string()
        }
        _ => lines(&plain(&body, fixture)).join("\n"),
    };
    (status, kind, plain(&body, fixture))
}

/// Says how the answers of two servers at an address differ; `None` if they do not. Hints end early on a busy machine, so one
/// that differs is asked for again.
pub(crate) fn difference(
    servers: [(&Server, &Fixture); 2],
    address: &str,
    headers: &[(&str, &str)],
) -> Option<String> {
    let ask = |(server, fixture): (&Server, &Fixture)| compared(server, fixture, address, headers);
    let mut told = None;
    for _ in 0..10 {
        let [one, other] = servers.map(ask);
        if one == other {
            return None;
        }
        told = Some(format!("{address} {headers:?}:\n{one:?}\n{other:?}"));
    }
    told
}

#[test]
fn a_view_of_half_is_as_an_index_of_half() {
    let both = Both::new();
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let (seen, half) =
        (Server::start(both.seeing(&serve)), Server::start(both.half.command(&serve)));
    let addresses = addresses();
    let (_, openapi) = half.json("/openapi.json");
    // Operators' pages are about the whole index; agents are tested below.
    // Nor do requests that change something have answers to compare: fresh.rs.
    let apart =
        ["/audit", "/stats", "/metrics", "/healthz", "/readyz", "/mcp", "/ingest", "/hooks/{name}"];
    for path in
        openapi["paths"].as_object().unwrap().keys().filter(|path| !apart.contains(&&***path))
    {
        let is_tried = |address: &String| {
            let (tried, _) = address.split_once('?').unwrap_or((address, ""));
            tried == path || path.starts_with("/monitors/") && tried.starts_with("/monitors/")
        };
        assert!(addresses.iter().any(is_tried), "{path} is not compared");
    }
    let mut wrong = Vec::new();
    for address in &addresses {
        for accept in ["application/json", "text/html"] {
            let servers = [(&seen, &both.all), (&half, &both.half)];
            wrong.extend(difference(servers, address, &[("accept", accept)]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    for query in ["needle", "only_hidden", "shared"] {
        let search = |server: &Server, fixture: &Fixture| {
            let told = crate::zoekt::search(server, query, &json!({ "ChunkMatches": true }));
            let told = json!([told["Files"], told["FileCount"], told["MatchCount"]]);
            plain(&settled(told).to_string(), fixture)
        };
        assert_eq!(search(&seen, &both.all), search(&half, &both.half), "Zoekt: {query}");
    }
    // Limited answers are parts of the complete ones.
    let (_, all) = half.json("/search?q=needle&limit=1000&fields=repo,path");
    let all: BTreeSet<String> = files(&all).into_iter().collect();
    for limit in 1..4 {
        let (_, some) = seen.json(&format!("/search?q=needle&limit={limit}&fields=repo,path"));
        let some = files(&some);
        assert_eq!(some.len(), limit, "{some:?}");
        assert!(some.iter().all(|file| all.contains(file)), "{some:?}");
    }
    // A text of an invisible repository has no address, even if a visible one has the same text.
    let hash =
        half.json("/file?repo=seen-one&path=json/b.rs").1["hash"].as_str().unwrap().to_owned();
    let at =
        |repo: &str| seen.get(&format!("/raw?repo={repo}&path=json/b.rs&hash={hash}"), "*/*").0;
    assert_eq!((at("seen-one"), at("hidden-one")), (200, 404));
}

fn files(answer: &Value) -> Vec<String> {
    files_of(answer).iter().map(ToString::to_string).collect()
}

fn files_of(answer: &Value) -> Vec<Value> {
    answer["files"].as_array().unwrap().clone()
}

/// Returns what a tool told, without what differs between two indexes of the same repositories.
pub(crate) fn answer_of(answer: &Value, fixture: &Fixture) -> (Value, String, String) {
    // Each index counts its own epochs.
    let epoch = Regex::new(r#"(; )?epoch [0-9]+|,?"epoch":[0-9]+"#).unwrap();
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    let structured = settled(result["structuredContent"].clone()).to_string();
    let structured = epoch.replace(&plain(&structured, fixture), "").into_owned();
    let text = epoch.replace(&plain(text, fixture), "").into_owned();
    let text = lines(&text).join("\n");
    (result["isError"].clone(), text, structured)
}

#[test]
fn agents_are_told_of_half() {
    let both = Both::new();
    let mut seen = Agent::start(both.seeing(&["mcp"]));
    let mut half = Agent::of(&both.half);
    let calls = calls();
    let tools = half.ask("tools/list", &json!({}));
    for tool in tools["result"]["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(calls.iter().any(|(tried, _)| *tried == name), "{name} is not compared");
    }
    for (tool, arguments) in calls {
        let told = |agent: &mut Agent, fixture: &Fixture| {
            let meta = json!({ "codesearch/structured": true });
            let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
            let answer = agent.ask("tools/call", &params);
            answer_of(&answer, fixture)
        };
        let (one, other) = (told(&mut seen, &both.all), told(&mut half, &both.half));
        assert_eq!(one, other, "{tool} {arguments}");
    }
}

#[test]
fn commands_tell_of_half() {
    let both = Both::new();
    for args in commands() {
        both.check(&args.iter().map(String::as_str).collect::<Vec<_>>());
    }
}
