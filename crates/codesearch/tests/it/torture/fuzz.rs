//! Randomly mangled requests and files.

use std::time::{Duration, Instant};

use fastrand::Rng;
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};

use super::Run;
use crate::harness::Fixture;

/// Seeds of the random requests: path, and body for a POST.
const REQUESTS: &[(&str, &str)] = &[
    ("/search?q=alpha&limit=10", ""),
    (
        "/search?q=case:yes+(alpha+or+file:go$)+-lang:rust&limit=3&context=2&sort=path&format=json",
        "",
    ),
    ("/search?q=alpha&limit=1&cursor=1AAECAwQFBgcICQ", ""),
    ("/search?q=%2Falpha%5Cs%2Bbeta%2F&limit=0&timeout=1s&explain=1", ""),
    ("/search/stream?q=alpha&limit=10", ""),
    ("/docs?q=alpha+%22beta+gamma%22&limit=5", ""),
    ("/files?q=main&limit=5", ""),
    ("/file?repo=r&path=0.rs&lines=3-9", ""),
    ("/file?repo=r&path=1.rs&q=alpha", ""),
    ("/raw?repo=r&path=2.rs", ""),
    ("/explain?q=alpha.*beta", ""),
    ("/suggest?q=al", ""),
    ("/tree?repo=r&path=", ""),
    ("/repos", ""),
    ("/stats?since=24h&compare=before&kind=scan&trim=0,1", ""),
    ("/openapi.json", ""),
    ("/api/v1/search/r?q=alpha&fold_case=auto&regex=true&context=true&file=rs&repo=r", ""),
    ("/api/v1/search/", "q=alpha&fold_case=false&regex=false"),
    (
        "/api/search",
        r#"{"Q":"alpha","Opts":{"TotalMaxMatchCount":10,"NumContextLines":1,"ChunkMatches":true}}"#,
    ),
    (
        "/api/search",
        r#"{"Q":"case:yes file:rs (alpha or sym:x)","RepoIDs":[1,2],"Opts":{"MaxWallTime":100}}"#,
    ),
    ("/api/list", r#"{"Q":"repo:r"}"#),
];

const PIECES: &[&str] = &[
    "",
    "(",
    ")",
    "\"",
    "\\",
    "[",
    "{9999}",
    "*",
    "+",
    "?",
    "|",
    " or ",
    "-",
    "\u{0}",
    "\u{202e}",
    "%",
    "&",
    "=",
    "null",
    "1e99",
    "-1",
    "18446744073709551616",
    "{",
    "}",
    "[]",
    "日本",
    "\u{fffd}",
    "file:",
    "repo:",
    "lang:",
    "case:",
    "/",
    "..",
    "(?i)",
    "(?s:.)",
    r"\p{L}",
    r"\b",
    "$",
    "^",
];

/// Changes some bytes: removes, duplicates or flips them, or inserts a piece.
fn mangle(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..rng.usize(1..6) {
        let at = rng.usize(..=bytes.len());
        match rng.u8(..5) {
            0 => drop(bytes.drain(at..(at + rng.usize(..8)).min(bytes.len()))),
            1 => {
                let part =
                    bytes[at..(at + rng.usize(..40)).min(bytes.len())].repeat(rng.usize(1..50));
                bytes.splice(at..at, part);
            }
            2 if at < bytes.len() => bytes[at] ^= 1 << rng.u8(..8),
            _ => {
                let piece = PIECES[rng.usize(..PIECES.len())].as_bytes().iter().copied();
                bytes.splice(at..at, piece);
            }
        }
    }
}

#[test]
fn mangled_requests_and_files_are_answered() {
    let mut run = Run::new("fuzz", 400, 200_000);
    let fixture = Fixture::new();
    let sources = [
        include_str!("world.rs"),
        include_str!("proxy.rs"),
        "# Title\n\n```go\nfunc main() {}\n```\n\n> alpha beta\n\n| a | b |\n|---|---|\n",
        "{\"a\": [1, \"alpha\", {\"b\": null}]}\n",
        "<html><script>alpha = '</scr' + 'ipt>'</script></html>\n",
        "def alpha(beta):\n    \"\"\"gamma\"\"\"\n    return f'{beta!r:>{10}}'\n",
    ];
    let endings = ["rs", "rs", "md", "json", "html", "py"];
    for n in 0..60 {
        let mut text = sources[n % 6].as_bytes().to_vec();
        for _ in 0..n / 6 {
            mangle(&mut text, &mut run.rng);
        }
        fixture.write(&format!("r/{n}.{}", endings[n % 6]), text);
    }
    fixture.ingest();
    fixture.check_invariants();
    let server = fixture.serve();
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    let agent: ureq::Agent = config.timeout_global(Some(Duration::from_mins(2))).build().into();
    let (mut good, mut refused, mut slowest) = (0, 0, Duration::ZERO);
    while let Some(step) = run.step() {
        let begun = Instant::now();
        let (address, asked) = if step % 8 == 0 {
            let n = run.rng.usize(..60);
            (format!("/file?repo=r&path={n}.{}", endings[n % 6]), String::new())
        } else {
            let (address, body) = REQUESTS[run.rng.usize(..REQUESTS.len())];
            let (path, query) = address.split_once('?').unwrap_or((address, ""));
            let mut pairs = Vec::new();
            for pair in query.split('&').filter(|pair| !pair.is_empty()) {
                let (name, value) = pair.split_once('=').unwrap();
                let value = percent_encoding::percent_decode_str(&value.replace('+', " "))
                    .collect::<Vec<u8>>();
                let mut value = value;
                if run.rng.bool() {
                    mangle(&mut value, &mut run.rng);
                }
                pairs.push(format!("{name}={}", percent_encode(&value, NON_ALPHANUMERIC)));
            }
            let mut body = body.as_bytes().to_vec();
            if !body.is_empty() {
                mangle(&mut body, &mut run.rng);
            }
            (format!("{path}?{}", pairs.join("&")), String::from_utf8_lossy(&body).into_owned())
        };
        let url = format!("http://{}{address}", server.address);
        // Also requests pages of results.
        let accept = ["application/json", "text/html"][run.rng.usize(..2)];
        let answer = if asked.is_empty() {
            agent.get(&url).header("accept", accept).call()
        } else {
            let kind = if asked.contains('{') {
                "application/json"
            } else {
                "application/x-www-form-urlencoded"
            };
            agent.post(&url).header("content-type", kind).send(&asked)
        };
        let mut answer = answer.unwrap_or_else(|error| panic!("{url} {asked:?}: {error}"));
        let status = answer.status().as_u16();
        let body = answer.body_mut().read_to_vec().unwrap();
        let text = String::from_utf8_lossy(&body);
        match status {
            200..400 => good += 1,
            400..500 => {
                refused += 1;
                assert!(!text.trim().is_empty(), "{url} {asked:?}: {status}");
            }
            _ => panic!("{url} {asked:?}: {status} {text}"),
        }
        slowest = slowest.max(begun.elapsed());
    }
    assert_eq!(server.get("/healthz", "*/*").0, 200);
    run.end(&format!(
        "{good} answered, {refused} refused; the slowest took {} ms",
        slowest.as_millis()
    ));
}
