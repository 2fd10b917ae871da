//! The largest accepted and the smallest refused input for each parameter of an address, each argument of a tool and
//! each body, 20 at once. Meanwhile health checks are answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::Run;
use crate::harness::{Fixture, Server};

/// Requests at once.
const AT_ONCE: usize = 20;

/// Longest body, in bytes.
const MAX_BODY: usize = 256 << 10;

/// Requests that take longer are slow: a health check must be answered before they end.
const SLOW: Duration = Duration::from_secs(2);

/// Pieces of hostile texts: some that a lexer reads to their end from each place on, and some that it does not.
const PIECES: [&str; 16] = [
    "[",
    "(",
    "a ",
    "-(",
    "\\",
    "\"",
    "c:/ ",
    "{",
    "(a|",
    "file:has.content( ",
    "-",
    "[]",
    "a:",
    "*",
    "é",
    "a/",
];

/// A request, and whether its input is too large.
#[derive(Clone)]
struct Case {
    what: String,
    path: String,
    /// The content type and body; `None` to get the path.
    body: Option<(&'static str, String)>,
    refused: bool,
}

/// Returns a text of exactly this many bytes.
fn text(piece: &str, bytes: usize) -> String {
    let mut text = piece.repeat(bytes / piece.len());
    text.push_str(&"x".repeat(bytes - text.len()));
    text
}

/// Returns the cases of the documented addresses: each parameter at its limit and beyond.
fn described(document: &Value, piece: &str) -> Vec<Vec<Case>> {
    let usual = |name: &str| match name {
        "repo" => "r",
        "path" => "a.rs",
        _ => "needle",
    };
    let of_path = |(path, of): (&String, &Value)| -> Vec<Case> {
        let params = of["get"]["parameters"].as_array().cloned().unwrap_or_default();
        let mut cases = Vec::new();
        for param in &params {
            let Some(most) = param["schema"]["maxLength"].as_u64() else { continue };
            for refused in [false, true] {
                let name = param["name"].as_str().unwrap();
                let others = params.iter().filter(|other| other["required"] == true);
                let others = others.filter_map(|other| other["name"].as_str());
                let others = others
                    .filter(|other| *other != name)
                    .map(|other| (other, usual(other).to_owned()));
                let value = text(piece, most as usize + usize::from(refused));
                let pairs: Vec<String> = others
                    .chain([(name, value)])
                    .map(|(name, value)| {
                        format!("{name}={}", utf8_percent_encode(&value, NON_ALPHANUMERIC))
                    })
                    .collect();
                cases.push(Case {
                    what: format!("{path} {name}"),
                    path: format!("{path}?{}", pairs.join("&")),
                    body: None,
                    refused,
                });
            }
        }
        cases
    };
    let all = document["paths"].as_object().unwrap().iter().map(of_path);
    all.filter(|cases| !cases.is_empty()).collect()
}

/// Returns the cases of the tools: each text argument at its limit and beyond.
fn tools(server: &Server, piece: &str) -> Vec<Vec<Case>> {
    let call = |method: &str, params: &Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
    };
    let case = |what: String, body: String, refused| Case {
        what,
        path: "/mcp".to_owned(),
        body: Some(("application/json", body)),
        refused,
    };
    let (_, listed) = send(server, &case(String::new(), call("tools/list", &json!({})), false));
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let of_tool = |tool: &Value| {
        let schema = &tool["inputSchema"];
        let mut cases = Vec::new();
        for (name, argument) in schema["properties"].as_object().unwrap() {
            if argument["type"] != "string" || argument["enum"].is_array() {
                continue;
            }
            let case_of = |bytes: usize, refused: bool| {
                let mut arguments = json!({});
                for other in schema["required"].as_array().into_iter().flatten() {
                    arguments[other.as_str().unwrap()] = json!("r");
                }
                arguments[name] = json!(text(piece, bytes));
                let params = json!({ "name": tool["name"], "arguments": arguments });
                case(format!("{} {name}", tool["name"]), call("tools/call", &params), refused)
            };
            // The list does not tell the bounds, which would make it longer: the refusals do.
            let (_, refusal) = send(server, &case_of(100_000, true));
            let bound = refusal.split(" is longer than ").nth(1).and_then(|rest| {
                let (digits, _) = rest.split_once(" bytes")?;
                digits.parse::<usize>().ok()
            });
            let Some(most) = bound else {
                panic!("{} {name} has no bound: {refusal}", tool["name"])
            };
            cases
                .extend([false, true].map(|refused| case_of(most + usize::from(refused), refused)));
        }
        cases
    };
    let mut all: Vec<Vec<Case>> =
        listed["result"]["tools"].as_array().unwrap().iter().map(of_tool).collect();
    let spaces =
        |bytes| call("ping", &json!({})) + &" ".repeat(bytes - call("ping", &json!({})).len());
    all.push(vec![
        case("a message".to_owned(), spaces(MAX_BODY), false),
        case("a message".to_owned(), spaces(MAX_BODY + 1), true),
    ]);
    all
}

/// Returns the cases of other engines' addresses and of forms, which are not documented.
fn others(piece: &str) -> Vec<Vec<Case>> {
    let case = |path: &str, body: Option<(&'static str, String)>, refused| Case {
        what: path.split('?').next().unwrap().to_owned(),
        path: path.to_owned(),
        body,
        refused,
    };
    let form = "application/x-www-form-urlencoded";
    let encoded =
        |bytes: usize| utf8_percent_encode(&text(piece, bytes), NON_ALPHANUMERIC).to_string();
    let (query, pattern) = (16 << 10, 8 << 10);
    let both = |of: &dyn Fn(usize, bool) -> Case| vec![of(0, false), of(1, true)];
    vec![
        both(&|more, refused| {
            let body = json!({ "Q": text(piece, query + more) }).to_string();
            case("/api/search", Some(("application/json", body)), refused)
        }),
        both(&|more, refused| {
            let body = json!({ "Q": text(piece, query + more) }).to_string();
            case("/zoekt/api/list", Some(("application/json", body)), refused)
        }),
        both(&|more, refused| {
            let body = format!("{{\"Q\":\"needle\"}}{}", " ".repeat(MAX_BODY + more - 14));
            case("/api/search", Some(("application/json", body)), refused)
        }),
        both(&|more, refused| {
            case(&format!("/zoekt/search?format=json&q={}", encoded(query + more)), None, refused)
        }),
        both(&|more, refused| {
            case(&format!("/print?r=r&f={}", encoded(4096 + more)), None, refused)
        }),
        both(&|more, refused| {
            case(&format!("/api/v1/search/?q={}", encoded(query + more)), None, refused)
        }),
        both(&|more, refused| {
            let body = format!("q=needle&file={}", encoded(pattern + more));
            case("/api/v1/search/", Some((form, body)), refused)
        }),
        both(&|more, refused| {
            let files = "file:a ".repeat(200 + more);
            case("/api/v1/search/", Some((form, format!("q={files}needle"))), refused)
        }),
        both(&|more, refused| {
            case(
                &format!("/search/lines?repo=r&path=a.rs&q={}", encoded(query + more)),
                None,
                refused,
            )
        }),
        // A wrong token is refused, too.
        both(&|more, _| {
            case("/sign-in", Some((form, format!("token={}", encoded(4096 + more)))), true)
        }),
    ]
}

/// Sends a request; returns its status and text.
fn send(server: &Server, case: &Case) -> (u16, String) {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    let agent: ureq::Agent = config.timeout_global(Some(Duration::from_mins(2))).build().into();
    let address = format!("http://{}{}", server.address, case.path);
    let mut answer = match &case.body {
        None => agent.get(&address).call().unwrap(),
        Some((kind, text)) => {
            agent.post(&address).header("content-type", *kind).send(text).unwrap()
        }
    };
    let body = answer.body_mut().with_config().limit(1 << 30).read_to_string().unwrap();
    (answer.status().as_u16(), body)
}

/// Checks an answer: too large input is refused in a sentence, and nothing fails.
#[track_caller]
fn check(case: &Case, (status, body): &(u16, String)) {
    let what = &case.what;
    assert_ne!(*status, 500, "{what}: {body}");
    if case.path == "/mcp" && *status == 200 {
        let answer: Value = serde_json::from_str(body).unwrap();
        let failed = answer["result"]["isError"] == true;
        assert!(failed || !case.refused, "{what}: {body}");
        assert!(!case.refused || body.contains("longer than"), "{what}: {body}");
    } else {
        assert!(
            !case.refused || matches!(status, 400 | 401 | 413 | 418),
            "{what} {status}: {body}"
        );
    }
    // An error repeats only a part of the request.
    assert!(!case.refused || body.len() < 8 << 10, "{what}: {} bytes", body.len());
}

#[test]
fn the_largest_inputs_do_not_hold_up_others() {
    let mut run = Run::new("largest", 1, PIECES.len());
    let fixture = Fixture::new();
    fixture.write("r/a.rs", "fn needle() {}\n".repeat(200));
    fixture.write("r/README.md", "# A needle\n\nin a haystack\n");
    fixture.ingest();
    // The limit on concurrent requests must not refuse them here.
    let server = fixture.serve_with(&["--server-at-once", "64"]);
    let (mut times, mut sent, mut slowest) = (Vec::new(), 0, Duration::ZERO);
    while let Some(step) = run.step() {
        let piece = PIECES[(step - 1) % PIECES.len()];
        let document = server.json("/openapi.json").1;
        let all = [described(&document, piece), tools(&server, piece), others(piece)].concat();
        for cases in &all {
            let done = AtomicBool::new(false);
            let begun = Instant::now();
            let health = std::thread::scope(|scope| {
                let health = scope.spawn(|| {
                    let mut times = Vec::new();
                    while !done.load(Ordering::Relaxed) {
                        let begun = Instant::now();
                        assert_eq!(server.get("/healthz", "*/*").0, 200);
                        times.push(begun.elapsed());
                    }
                    times
                });
                let asking: Vec<_> = (cases.iter().cycle().take(AT_ONCE))
                    .map(|case| scope.spawn(|| check(case, &send(&server, case))))
                    .collect();
                let ended: Vec<_> =
                    asking.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
                done.store(true, Ordering::Relaxed);
                for ended in ended {
                    ended.unwrap();
                }
                let took = begun.elapsed();
                slowest = slowest.max(took);
                (health.join().unwrap(), took)
            });
            let (health, took) = health;
            // The last health check may have been answered after them.
            assert!(
                took < SLOW || health.len() > 1,
                "{}: no health check in {took:?}",
                cases[0].what
            );
            times.extend(health);
            sent += AT_ONCE;
        }
    }
    times.sort_unstable();
    let p99 = times[(times.len() - 1) * 99 / 100];
    run.end(&format!(
        "{sent} requests; 20 took at most {} ms; of {} health checks p99 is {} ms",
        slowest.as_millis(),
        times.len(),
        p99.as_millis()
    ));
}
