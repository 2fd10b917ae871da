//! What is asked of every way to ask: addresses, tools and commands.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

/// Queries of each kind.
const QUERIES: [&str; 22] = [
    "needle",
    "needle file:\\.rs$",
    "needle -file:\\.rs$",
    "needle lang:rust",
    "repo:seen needle",
    "repo:hidden needle",
    "-repo:seen needle",
    "repo:hidden or needle",
    "file:a.rs",
    "sym:shared",
    "sym:only",
    "type:file needle",
    "type:repo needle",
    "json.shared",
    "only_hidden",
    "only_seen",
    "needle only_hidden",
    "needle.*copied",
    "fn \\w+",
    "nothing_at_all",
    "diff:HEAD~1.. renewed",
    "diff:HEAD~1.. repo:hidden",
];

/// Questions in words.
const QUESTIONS: [&str; 6] = [
    "where is the needle copied",
    "how do I boil water in the kettle",
    "only hidden",
    "shared run number",
    "seen one",
    "minified function",
];

/// Statements; wall.rs has more.
const STATEMENTS: [&str; 5] = [
    "select repository, files, bytes from repositories order by 1",
    "select repository, path, symbol from symbols order by 1, 2, 3",
    "select repository, path, line from grep('needle|only') order by 1, 2, 3",
    "select * from files where repository like 'hidden%'",
    "select repo from files",
];

pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Returns the compared addresses: those of each endpoint in the document.
pub(crate) fn addresses() -> Vec<String> {
    let mut all = Vec::new();
    for query in QUERIES {
        let q = encoded(query);
        for rest in
            ["limit=1000", "limit=1000&sort=path", "limit=1000&sort=relevance&enclosing=true"]
        {
            all.push(format!("/search?q={q}&{rest}"));
        }
        all.push(format!("/explain?q={q}"));
        all.push(format!("/search/stream?q={q}&limit=1000"));
        all.push(format!("/search?q={q}&limit=1000&fresh=1"));
        all.push(format!("/api/v1/search/?q={q}"));
    }
    for word in ["kettle", "boils water", "kettle -seen", "hidden", "water repo:hidden"] {
        all.push(format!("/docs?q={}&limit=100", encoded(word)));
    }
    for question in QUESTIONS {
        all.push(format!("/ask?q={}&limit=100&explain=1", encoded(question)));
        all.push(format!("/ask?q={}&repo=one&lang=rust", encoded(question)));
        all.push(format!("/search?q={}&sort=relevance&limit=10", encoded(question)));
    }
    for query in STATEMENTS {
        all.push(format!("/sql?q={}", encoded(query)));
        all.push(format!("/sql?q={}&format=csv", encoded(query)));
    }
    for word in ["a.rs", "runts", "hidden-one/a.rs", "readme", "min"] {
        all.push(format!("/files?q={}&limit=100", encoded(word)));
    }
    for word in ["repo:", "repo:hid", "lang:", "file:", "file:a.rs", "shar"] {
        all.push(format!("/suggest?word={}", encoded(word)));
    }
    for name in ["shared", "only_hidden", "only_seen", "run"] {
        all.push(format!("/definitions?name={name}&limit=100"));
        all.push(format!("/references?name={name}&limit=100"));
    }
    for from in ["seen-one/src/main.ts:3:1", "hidden-one/src/main.ts:3:1"] {
        all.push(format!("/definitions?from={}", encoded(from)));
        all.push(format!("/references?from={}", encoded(from)));
    }
    for repo in ["seen-one", "seen-two", "hidden-one", "nowhere"] {
        all.push(format!("/repos?repo={repo}"));
        all.push(format!("/repos?repo={repo}&path=src"));
        all.push(format!("/diff?repo={repo}&base=HEAD~1"));
        all.push(format!("/diff?repo={repo}&commit=HEAD&path=json/b.rs"));
        for path in ["a.rs", "src/run.ts", "binary", "min.js", "gone.rs"] {
            for address in ["file", "raw", "outline", "blame", "history"] {
                all.push(format!("/{address}?repo={repo}&path={path}"));
            }
        }
    }
    all.extend(["/monitors", "/monitors/needles", "/whoami"].map(str::to_owned));
    all.extend(["/repos".to_owned(), "/repos?q=hidden".to_owned(), "/repos?q=seen".to_owned()]);
    all
}

/// Returns calls of all tools.
pub(crate) fn calls() -> Vec<(&'static str, Value)> {
    let mut calls: Vec<(&'static str, Value)> = Vec::new();
    for query in QUERIES {
        for order in ["best", "exhaustive"] {
            calls.push(("search", json!({ "query": query, "order": order, "limit": 100 })));
        }
    }
    for question in QUESTIONS {
        calls.push(("search", json!({ "query": question, "order": "words" })));
    }
    for query in ["kettle", "boils water"] {
        calls.push(("docs", json!({ "query": query })));
    }
    for name in ["shared", "only_hidden", "run"] {
        calls.push(("symbol", json!({ "name": name })));
        calls.push(("definitions", json!({ "name": name })));
        calls.push(("references", json!({ "name": name })));
    }
    for from in ["seen-one/src/main.ts:3:1", "hidden-one/src/main.ts:3:1"] {
        calls.push(("symbol", json!({ "from": from })));
        calls.push(("definitions", json!({ "from": from })));
        calls.push(("references", json!({ "from": from })));
    }
    for repo in ["seen-one", "hidden-one"] {
        for path in ["a.rs", "binary", "min.js"] {
            calls.push(("outline", json!({ "repo": repo, "path": path })));
            calls.push(("read_file", json!({ "repo": repo, "path": path, "outline": true })));
            calls.push(("read_file", json!({ "repo": repo, "path": path })));
        }
        calls.push(("read_file", json!({ "repo": repo, "symbol": "shared" })));
        calls.push(("diff", json!({ "repo": repo, "range": "HEAD~1..HEAD" })));
    }
    for query in ["a.rs", "hidden-one/a"] {
        calls.push(("find_file", json!({ "query": query })));
    }
    for query in STATEMENTS {
        calls.push(("sql", json!({ "query": query })));
    }
    calls.push(("list_repos", json!({})));
    calls.push(("list_repos", json!({ "query": "hidden" })));
    calls
}

/// Returns commands that read.
pub(crate) fn commands() -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = Vec::new();
    let mut add = |args: &[&str]| all.push(args.iter().map(|arg| (*arg).to_owned()).collect());
    for query in QUERIES {
        for options in [&["--limit", "0"][..], &["-l"], &["-c"], &["--json"], &["--sort", "path"]] {
            add(&[&["search"], options, &["--", query]].concat());
        }
    }
    for query in ["kettle", "boils water", "hidden"] {
        add(&["docs", query]);
    }
    for question in QUESTIONS {
        add(&["ask", question]);
        add(&["ask", "--explain", "--limit", "100", "--repo", "one", question]);
    }
    for query in ["a.rs", "hidden-one/a.rs", "readme"] {
        add(&["files", query]);
        add(&["files", "--json", query]);
    }
    for name in ["shared", "only_hidden", "run"] {
        add(&["def", name]);
        add(&["refs", name]);
    }
    for repo in ["seen-one", "hidden-one"] {
        add(&["outline", &format!("{repo}/a.rs")]);
        add(&["repos", "--skipped", repo]);
        add(&["diff", "HEAD~1..", "--repo", repo]);
        add(&["def", "--from", &format!("{repo}/src/main.ts:3:1")]);
    }
    add(&["repos"]);
    all
}
