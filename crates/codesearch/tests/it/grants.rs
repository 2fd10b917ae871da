//! Who may see which repository. Somebody to whom half of the repositories are granted gets, from every address and tool, the
//! answers of an index with only that half; what is taken back ends with the next request; odd input is refused.

mod deliveries;
mod many;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::access::new_token;
use crate::harness::{Fixture, Server};
use crate::view::{Both, addresses, answer_of, calls, difference, encoded, lines, plain, settled};

/// Two indexes with servers that know the same tokens. Ann sees the same of both.
struct Servers {
    both: Both,
    seen: Server,
    half: Server,
    bearer: String,
}

fn servers() -> Servers {
    let both = Both::new();
    both.all.run(&["grant", "user:ann", "seen-*"]).code(0);
    let (token, line) = new_token(&both.all, &["ann"]);
    let serve = |fixture: &Fixture| {
        fixture.write("tokens", format!("{line}\n"));
        fixture.serve_with(&["--tokens", "tokens"])
    };
    let (seen, half) = (serve(&both.all), serve(&both.half));
    Servers { both, seen, half, bearer: format!("Bearer {token}") }
}

impl Servers {
    /// Sends a JSON body; returns the status and the answer.
    fn post(&self, server: &Server, path: &str, body: &Value) -> (u16, String) {
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent: ureq::Agent = config.build().into();
        let mut request = agent.post(format!("http://{}{path}", server.address));
        let sent = [("content-type", "application/json"), ("accept", "application/json")];
        for (name, value) in sent.into_iter().chain([("authorization", &*self.bearer)]) {
            request = request.header(name, value);
        }
        let mut answer = request.send(body.to_string().as_str()).unwrap();
        let text = answer.body_mut().with_config().limit(64 << 20).read_to_string().unwrap();
        (answer.status().as_u16(), text)
    }

    fn get(&self, server: &Server, path: &str) -> (u16, String) {
        let (status, _, body) = server.ask(path, &[("authorization", &self.bearer)]);
        (status, body)
    }
}

/// Addresses that are not compared, each with the reason.
const APART: [(&str, &str); 16] = [
    ("/audit", "operators'"),
    ("/stats", "operators'"),
    ("/metrics", "operators'"),
    ("/healthz", "reads nothing"),
    ("/readyz", "tells whether the server can answer"),
    ("/ingest", "changes the index"),
    ("/hooks/{name}", "changes the index"),
    ("/sign-in", "reads nothing"),
    ("/sign-out", "reads nothing"),
    ("/openapi.json", "is constant"),
    ("/.well-known/oauth-protected-resource", "reads nothing"),
    ("/.well-known/oauth-protected-resource/mcp", "reads nothing"),
    ("/command", "commands: below"),
    ("/mcp", "tools: below"),
    ("/audit", "operators'"),
    ("/zoekt/print", "like /print"),
];

/// Removes costs and times of Zoekt's answers, before their lists are sorted.
fn costless(value: Value) -> Value {
    const VARIES: [&str; 9] = [
        "IndexTime",
        "LatestCommitDate",
        "Version",
        "ContentBytesLoaded",
        "FilesConsidered",
        "FilesLoaded",
        "MatchTreeConstruction",
        "MatchTreeSearch",
        "NgramMatches",
    ];
    match value {
        Value::Object(all) => {
            let kept = all.into_iter().filter(|(key, _)| !VARIES.contains(&&**key));
            Value::Object(kept.map(|(key, value)| (key, costless(value))).collect())
        }
        Value::Array(all) => Value::Array(all.into_iter().map(costless).collect()),
        other => other,
    }
}

#[test]
fn who_sees_half_gets_the_answers_of_an_index_of_half() {
    let of = servers();
    let mut all = addresses();
    for query in ["needle", "only_hidden", "file:a.rs", "r:hidden needle", "nothing_at_all"] {
        let q = encoded(query);
        all.push(format!("/zoekt/search?q={q}&format=json&num=100"));
        all.push(format!("/api/v1/search?q={q}"));
        all.push(format!("/api/v1/search/backend?q={q}"));
        for repo in ["seen-one", "hidden-one", "nowhere"] {
            all.push(format!("/search/lines?q={q}&repo={repo}&path=a.rs"));
            all.push(format!("/print?r={repo}&f=a.rs&q={q}"));
        }
    }
    all.extend(["/", "/syntax"].map(str::to_owned));
    let posted = [
        ("/api/search", json!({ "Q": "needle", "Opts": { "ChunkMatches": true } })),
        ("/api/search", json!({ "Q": "repo:hidden needle" })),
        ("/zoekt/api/search", json!({ "Q": "only_hidden", "Opts": { "Whole": true } })),
        ("/api/list", json!({ "Q": "" })),
        ("/zoekt/api/list", json!({ "Q": "repo:hidden" })),
        ("/zoekt/api/list", json!({ "Q": "needle" })),
        ("/api/v1/search/", json!({ "q": "needle" })),
    ];
    for path in server::addresses() {
        let beginning = path.split('{').next().unwrap();
        let is_tried = |tried: &str| {
            let tried = tried.split('?').next().unwrap();
            tried == path
                || path.contains('{')
                    && tried.len() > beginning.len()
                    && tried.starts_with(beginning)
        };
        let tried = all.iter().map(String::as_str).chain(posted.iter().map(|(path, _)| *path));
        let is_apart = APART.iter().any(|(apart, _)| *apart == path);
        assert!(is_apart || tried.into_iter().any(is_tried), "{path} is not compared");
    }
    let mut wrong = Vec::new();
    for address in &all {
        for accept in ["application/json", "text/html"] {
            let headers = [("accept", accept), ("authorization", &*of.bearer)];
            let servers = [(&of.seen, &of.both.all), (&of.half, &of.both.half)];
            wrong.extend(difference(servers, address, &headers));
        }
    }
    for (path, body) in &posted {
        let ask = |server: &Server, fixture: &Fixture| {
            let (status, text) = of.post(server, path, body);
            let text = serde_json::from_str(&text)
                .map_or(text, |read| settled(costless(read)).to_string());
            (status, lines(&plain(&text, fixture)).join("\n"))
        };
        let (one, other) = (ask(&of.seen, &of.both.all), ask(&of.half, &of.both.half));
        if one != other {
            wrong.push(format!("{path} {body}:\n{one:?}\n{other:?}"));
        }
    }
    // Agents' tools, over HTTP.
    let mut id = 0;
    let mut call = |server: &Server, method: &str, params: &Value| {
        id += 1;
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let (status, text) = of.post(server, "/mcp", &body);
        assert_eq!(status, 200, "{text}");
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let calls = calls();
    let tools = call(&of.half, "tools/list", &json!({}));
    for tool in tools["result"]["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(calls.iter().any(|(tried, _)| *tried == name), "{name} is not compared");
    }
    assert_eq!(call(&of.seen, "tools/list", &json!({}))["result"], tools["result"]);
    for (tool, arguments) in calls {
        let meta = json!({ "codesearch/structured": true });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let one = answer_of(&call(&of.seen, "tools/call", &params), &of.both.all);
        let other = answer_of(&call(&of.half, "tools/call", &params), &of.both.half);
        if one != other {
            wrong.push(format!("{tool} {arguments}:\n{one:?}\n{other:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));

    // What a search costs counts what is not seen.
    let (_, told) = of.get(&of.seen, "/search?q=needle");
    let told: Value = serde_json::from_str(&told).unwrap();
    let stats = told["stats"].as_object().unwrap();
    for cost in ["candidates", "bytes", "files_considered", "rechecks", "phases_ms"] {
        assert!(!stats.contains_key(cost), "{told}");
    }
    assert!(!stats.keys().any(|name| name.starts_with("shards")), "{told}");
    // Commands run as whoever sends them, and a server takes nobody's word for who that is.
    of.both.all.write("token", &of.bearer["Bearer ".len()..]);
    let url = format!("http://{}", of.seen.address);
    let run = |args: &[&str]| {
        let server = ["--server", &*url, "--server-token", "token"];
        of.both.all.run(&[args, &server].concat())
    };
    let seen = run(&["search", "-l", "--limit", "0", "needle"]).code(0);
    assert!(seen.out.contains("seen-one") && !seen.out.contains("hidden"), "{}", seen.out);
    run(&["search", "only_hidden"]).code(1);
    let as_bob = run(&["search", "needle", "--as", "bob"]).code(2);
    assert!(as_bob.err.contains("--as"), "{}", as_bob.err);

    of.timing();
}

impl Servers {
    /// Prints how the medians of lookups of a hidden and of a missing repository differ; no test can tell how much is noise.
    fn timing(&self) {
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..200 {
            for (at, repo) in ["hidden-one", "missing-1"].into_iter().enumerate() {
                let address = format!("/file?repo={repo}&path=a.rs&round={round}");
                let begun = Instant::now();
                self.get(&self.seen, &address);
                times[at].push(begun.elapsed());
            }
        }
        let median = |times: &mut Vec<Duration>| {
            times.sort();
            times[times.len() / 2]
        };
        let [hidden, missing] = times.each_mut().map(median);
        println!("a file of a hidden repository: {hidden:?}, of a missing one: {missing:?}");
    }
}

/// Returns an index of repositories whose names have two parts.
fn indexed(repos: &[&str]) -> Fixture {
    let fixture = Fixture::new();
    for repo in repos {
        fixture.write(&format!("{repo}/a.rs"), "fn needle() {}\n");
    }
    fixture.run(&["ingest", "--shards", "4", "--depth", "2", "."]).code(0);
    fixture
}

#[test]
fn what_is_taken_back_ends_with_the_next_request_on_every_server() {
    let fixture = indexed(&["shop/web", "shop/db", "lab/x"]);
    let (ann, line) = new_token(&fixture, &["ann"]);
    fixture.write("tokens", format!("{line}\n"));
    let servers = [(); 2].map(|()| fixture.serve_with(&["--tokens", "tokens"]));
    let sees = || -> Vec<Vec<String>> {
        let ask = |server: &Server| {
            let bearer = format!("Bearer {ann}");
            let address = "/search?q=needle&fields=repo&sort=path";
            let (status, _, body) = server.ask(address, &[("authorization", &bearer)]);
            assert_eq!(status, 200, "{body}");
            let answer: Value = serde_json::from_str(&body).unwrap();
            let files = answer["files"].as_array().unwrap().iter();
            files.map(|file| file["repo"].as_str().unwrap().to_owned()).collect()
        };
        servers.iter().map(ask).collect()
    };
    let check = |expected: &[&str]| {
        for seen in sees() {
            assert_eq!(seen, expected);
        }
    };
    check(&["lab/x", "shop/db", "shop/web"]);
    // From the first grant on, nothing else is seen.
    let ran = fixture.run(&["grant", "group:shop", "shop/**"]).code(0);
    assert!(ran.out.contains("2 repositories") && ran.err.contains("nobody but"), "{ran:?}");
    check(&[]);
    fixture.run(&["grant", "user:ann", "shop/*", "lab/x"]).code(0);
    check(&["lab/x", "shop/db", "shop/web"]);
    let cursor = {
        let bearer = format!("Bearer {ann}");
        let (_, _, body) =
            servers[0].ask("/search?q=needle&limit=1", &[("authorization", &bearer)]);
        let answer: Value = serde_json::from_str(&body).unwrap();
        answer["next"].as_str().map(str::to_owned)
    };
    fixture.run(&["revoke", "user:ann", "lab/x"]).code(0);
    check(&["shop/db", "shop/web"]);
    // A cursor of before goes on for nobody who sees something else.
    if let Some(next) = cursor {
        let bearer = format!("Bearer {ann}");
        let address = if next.starts_with('/') {
            next
        } else {
            format!("/search?q=needle&limit=1&cursor={}", encoded(&next))
        };
        let (status, _, body) = servers[1].ask(&address, &[("authorization", &bearer)]);
        assert!(status == 410 && !body.contains("lab"), "{status} {body}");
    }
    let ran = fixture.run(&["access", "ann", "shop/web"]).code(0);
    assert_eq!(ran.out, "ann sees shop/web: shop/* is granted to user:ann\n");
    fixture.run(&["access", "ann", "lab/x"]).code(1);
    let ran = fixture.run(&["access", "bob", "shop/db", "--as-groups", "shop"]).code(0);
    assert!(ran.out.contains("shop/** is granted to group:shop"), "{}", ran.out);
    let ran = fixture.run(&["grants", "--of", "ann"]).code(0);
    assert!(ran.out.contains("shop/*") && !ran.out.contains("group:shop"), "{}", ran.out);
    // The owner sees all, and what others see.
    let files = |more: &[&str]| {
        fixture.run(&[&["search", "-l", "needle"], more].concat()).out.lines().count()
    };
    assert_eq!((files(&[]), files(&["--as", "ann"]), files(&["--as", "*"])), (3, 2, 0));
    assert_eq!(files(&["--as", "bob", "--as-groups", "shop"]), 2);
    fixture.run(&["revoke", "user:ann", "--all"]).code(0);
    fixture.run(&["revoke", "group:shop", "shop/**"]).code(0);
    // Nothing is granted now, which shows nobody more.
    check(&[]);
    fixture.run(&["grant", "*", "**"]).code(0);
    check(&["lab/x", "shop/db", "shop/web"]);
}

#[test]
fn the_configuration_file_grants_and_is_read_again() {
    let fixture = indexed(&["shop/web", "lab/x"]);
    fixture.write(
        "c.toml",
        "[access]\n\"*\" = [\"shop/**\"]\n\"group:lab\" = [\"lab/x\", \"labs/*\"]\n",
    );
    let ran = fixture.run(&["config", "check", "c.toml"]).code(0);
    assert!(ran.out.contains("group:lab: lab/x, labs/*"), "{}", ran.out);
    assert!(ran.err.contains("labs/*, granted to group:lab, matches no repository"), "{}", ran.err);
    assert!(!ran.err.contains("shop/**"), "{}", ran.err);
    let server = fixture.serve_with(&["--settings", "c.toml"]);
    let count = || server.search("needle")["stats"]["files"].as_u64().unwrap();
    assert_eq!(count(), 1);
    fixture.write("c.toml", "[access]\n\"*\" = [\"shop/**\", \"lab/x\"]\n");
    assert_eq!(count(), 2);
    // A file with a mistake changes nothing.
    fixture.write("c.toml", "[access]\n\"everybody\" = [\"**\"]\n");
    assert_eq!(count(), 2);
    fixture.write("c.toml", "[access]\n");
    assert_eq!(count(), 0);
    for (file, said) in [
        ("[access]\nann = [\"x\"]\n", "user:ann or group:ann"),
        ("[access]\n\"user:ann\" = \"x\"\n", "a list of globs"),
        ("[access]\n\"user:ann\" = [7]\n", "a glob is text"),
        ("[access]\n\"user:ann\" = [\"a[\"]\n", "invalid"),
        ("[access]\n\"user:\" = [\"a\"]\n", "user:NAME"),
        ("access = 3\n", "write [access]"),
    ] {
        fixture.write("wrong.toml", file);
        let ran = fixture.run(&["config", "check", "wrong.toml"]).code(2);
        assert!(ran.err.contains(said), "{file}: {}", ran.err);
    }
}

#[test]
fn odd_grants_are_refused_in_one_sentence() {
    let fixture = Fixture::new();
    fixture.write("a/b.rs", "fn needle() {}\n");
    fixture.ingest();
    for (args, said) in [
        (&["grant", "ann", "**"][..], "user:ann or group:ann"),
        (&["grant", "user:ann", ""], "an empty glob"),
        (&["grant", "user:ann", "a[b"], "invalid"),
        (&["grant", "user:ann", "https://x/y"], "write the repository's name"),
        (&["grant", "group:*", "**"], "user:*"),
        (&["revoke", "user:ann"], "PATTERN"),
        (&["access", "group:x", "a"], "is a group"),
        (&["access", "ann", "b"], "no repository is named b"),
        (&["serve", "--as", "ann"], "does not take --as"),
        (&["ingest", "--as", "ann", "a"], "does not take --as"),
    ] {
        let ran = fixture.run(args).code(2);
        assert!(ran.err.contains(said) && ran.err.lines().count() <= 5, "{args:?}: {}", ran.err);
    }
    // Nothing of that restricted anything.
    assert!(fixture.run(&["grants"]).code(1).err.contains("nothing was ever granted"));
    let ran = fixture.run(&["grant", "user:ann", "A"]).code(0);
    assert!(ran.err.contains("matches no repository; did you mean a?"), "{}", ran.err);
    fixture.run(&["revoke", "user:ann", "B"]).code(1);
}
