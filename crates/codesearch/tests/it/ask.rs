//! Questions in words.

use serde_json::Value;

use crate::harness::{Fixture, Server, raw};

/// Repositories in which a question has a best answer.
fn repositories() -> Fixture {
    let fixture = Fixture::new();
    fixture.write(
        "one/src/retry.rs",
        "/// Waits longer after each attempt.\npub fn retry_backoff(attempts: u32) -> u64 {\n    1 << attempts\n}\n",
    );
    fixture.write(
        "one/src/client.rs",
        "pub struct Client;\n\nimpl Client {\n    pub fn send(&self) {\n        // retries with a backoff\n        \
         retryBackoff(3);\n    }\n}\n",
    );
    fixture
        .write("one/tests/retry_test.rs", "fn retry_backoff_test() {\n    retry_backoff(1);\n}\n");
    fixture.write("two/README.md", "# Two\n\nValidators are plugged in by name.\n");
    fixture.write(
        "two/validate.go",
        "package two\n\n// Validator checks a struct.\ntype Validator interface {\n\tValidate() error\n}\n\nfunc \
         RegisterValidator(v Validator) {}\n",
    );
    fixture.write("two/docs/zh.md", "# 说明\n\n如何配置重试次数\n");
    for n in 0..30 {
        fixture.write(
            &format!("two/noise/n{n:02}.go"),
            format!("package noise\n\n// file {n}\nvar N{n} = {n}\n"),
        );
    }
    // The same contents elsewhere.
    fixture.write(
        "three/vendor/one/retry.rs",
        std::fs::read(fixture.path().join("one/src/retry.rs")).unwrap(),
    );
    fixture.ingest();
    fixture.run(&["symbols"]);
    fixture
}

fn json(fixture: &Fixture, args: &[&str]) -> Value {
    let ran = fixture.run(&[&["ask", "--json"], args].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}{}", ran.out, ran.err))
}

/// Returns the files of an answer: `repo/path`.
fn files(answer: &Value) -> Vec<String> {
    let name = |file: &Value| {
        format!("{}/{}", file["repo"].as_str().unwrap(), file["path"].as_str().unwrap())
    };
    answer["files"].as_array().unwrap().iter().map(name).collect()
}

/// Removes what differs between two equal answers.
fn settled(mut answer: Value) -> Value {
    answer["stats"]["duration_ms"] = Value::Null;
    answer["stats"]["oldest"] = Value::Null;
    answer
}

#[test]
fn a_question_finds_the_file_that_answers_it() {
    let fixture = repositories();
    for (question, first) in [
        ("where is the retry backoff", "one/src/retry.rs"),
        ("how are validators registered", "two/validate.go"),
        ("RegisterValidator", "two/validate.go"),
        ("register_validator", "two/validate.go"),
        ("配置", "two/docs/zh.md"),
        ("why not validator:x or (struct?", "two/validate.go"),
    ] {
        let answer = json(&fixture, &[question]);
        assert_eq!(files(&answer)[0], first, "{question}: {answer:#}");
    }
    let answer = json(&fixture, &["where is the retry backoff", "--explain"]);
    let best = &answer["files"][0];
    let lines: Vec<u64> =
        best["matches"].as_array().unwrap().iter().map(|of| of["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [2], "{best:#}");
    assert_eq!(best["matches"][0]["symbols"][0]["name"], "retry_backoff", "{best:#}");
    assert!(best["score"]["points"].as_f64().unwrap() > 0.0);
    assert_eq!(best["copies"][0]["repo"], "three", "{best:#}");
    // Tests come after what they test.
    let all = files(&answer);
    let at = |name: &str| all.iter().position(|file| file == name);
    assert!(at("one/src/client.rs") < at("one/tests/retry_test.rs"), "{all:?}");
    // What has none of the words is neither shown nor counted.
    assert_eq!((all.len(), &answer["stats"]["matched"]), (3, &4.into()), "{answer:#}");
    assert_eq!(answer["stats"]["complete"], true);
    let shown = fixture.run(&["ask", "--color", "never", "where is the retry backoff"]).code(0);
    assert!(shown.out.contains("in Client.send (method, line 4)\n"), "{}", shown.out);
    assert!(shown.out.contains("2:pub fn retry_backoff(attempts: u32) -> u64 {"), "{}", shown.out);
}

#[test]
fn the_index_of_words_answers_as_the_texts_do() {
    let fixture = repositories();
    let server = fixture.serve();
    let uncached = fixture.serve_with(&["--cache", "0"]);
    let check = || {
        for question in [
            "retry",
            "where is the retry backoff",
            "the of how",
            "package noise file 7",
            "Validate error struct interface",
            "retries in vendor",
            "noise n07",
            "如何配置重试次数",
            "nowhere_at_all",
        ] {
            for narrowed in [
                &[][..],
                &["--repo", "one|three"],
                &["--lang", "go"],
                &["--file", "^src/|README"],
                &["--repo", "two", "--lang", "markdown"],
            ] {
                let args = |last: &[&'static str]| {
                    [&[question, "--explain", "--limit", "100"], narrowed, last].concat()
                };
                let indexed = settled(json(&fixture, &args(&[])));
                let brute = settled(json(&fixture, &args(&["--brute"])));
                assert_eq!(indexed, brute, "{question} {narrowed:?}");
                let field = |name: &str| {
                    let at = narrowed.iter().position(|given| *given == format!("--{name}"));
                    at.map_or_else(String::new, |at| {
                        let value = percent(narrowed[at + 1]);
                        format!("&{name}={value}")
                    })
                };
                let address = format!(
                    "/ask?q={}&limit=100&explain=1{}{}{}",
                    percent(question),
                    field("repo"),
                    field("lang"),
                    field("file")
                );
                for server in [&server, &uncached] {
                    assert_eq!(settled(server.json(&address).1), indexed, "{address}");
                }
            }
        }
    };
    check();
    // Changed, deleted and new texts.
    fixture.write("one/src/retry.rs", "pub fn wait() {}\n");
    fixture.write("one/src/new.rs", "fn retry_again() {} // backoff\n");
    std::fs::remove_file(fixture.path().join("two/README.md")).unwrap();
    fixture.ingest();
    fixture.run(&["symbols"]);
    check();
}

#[test]
fn a_file_is_found_by_its_path_alone() {
    let fixture = Fixture::new();
    fixture.write("one/plugins/rate_limiter.toml", "x = 1\n");
    fixture.write("one/plugins/empty_quota.py", "");
    fixture.write("two/limits/README.md", "The rate limiter is a plugin.\n");
    fixture.write("two/plugins/rate_limiter.toml", "y = 2\n");
    fixture.ingest();
    let question = "how do I use the RateLimiter plugin";
    let found = ["one/plugins/rate_limiter.toml", "two/plugins/rate_limiter.toml"];
    let answer = json(&fixture, &[question, "--explain"]);
    assert_eq!(files(&answer)[..2], found, "{answer}");
    assert_eq!(files(&answer)[2..], ["two/limits/README.md"]);
    let stats = &answer["stats"];
    assert_eq!((&stats["matched"], &stats["matched_all"]), (&3.into(), &2.into()), "{stats}");
    assert_eq!(stats["notes"], serde_json::json!(["no text has: ratelimiter"]));
    assert_eq!(files(&json(&fixture, &["empty quotas"])), ["one/plugins/empty_quota.py"]);
    assert_eq!(files(&json(&fixture, &[question, "--repo", "two"]))[0], found[1]);
    assert_eq!(files(&json(&fixture, &[question, "--lang", "markdown"])), ["two/limits/README.md"]);
    // Whoever sees one repository learns nothing of the paths of others.
    let seen = fixture
        .command(&["ask", "--json", "empty quotas"])
        .env("CODESEARCH_REPOS", "two")
        .output()
        .unwrap();
    assert_eq!(seen.status.code(), Some(1), "{seen:?}");
    let shown = fixture.run(&["ask", "empty quotas"]).code(0).out;
    assert!(shown.contains("one/plugins/empty_quota.py"), "{shown}");
    let server = fixture.serve_with(&["--cache", "0"]);
    assert_eq!(files(&server.json(&format!("/ask?q={}", percent(question))).1)[..2], found);
    let (code, _, page) = server.get("/ask?q=empty+quotas", "text/html");
    assert!(code == 200 && page.contains("empty_quota.py"), "{page}");
}

fn percent(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

#[test]
fn fields_limits_and_trees_apply() {
    let fixture = Fixture::new();
    fixture.write("one/a.rs", "fn retry_main() {}\n");
    fixture.commit("one", "One");
    fixture.git("one", &["branch", "release"]);
    fixture.write("one/a.rs", "fn other() {}\n");
    fixture.write("one/b.go", "package b // retry here\n");
    fixture.commit("one", "Two");
    fixture.run(&["ingest", "--branches", "release", "."]).code(0);
    assert_eq!(files(&json(&fixture, &["retry"])), ["one/b.go"]);
    assert_eq!(files(&json(&fixture, &["retry", "--rev", "release"])), ["one/a.rs"]);
    assert_eq!(json(&fixture, &["retry", "--rev", "release"])["files"][0]["trees"][0], "release");
    assert_eq!(files(&json(&fixture, &["retry", "--lang", "rust"])), [""; 0]);
    let refused = fixture.run(&["ask", "retry", "--rev", "HEAD~1"]).code(2).err;
    assert!(
        refused.contains(
            "questions are answered from indexed trees, and the revision HEAD~1 is not one"
        ),
        "{refused}"
    );
    for n in 0..20 {
        fixture.write(&format!("two/f{n}.rs"), format!("fn retry_{n}() {{}}\n"));
    }
    fixture.ingest();
    let some = json(&fixture, &["retry", "--limit", "3"]);
    assert_eq!(files(&some).len(), 3);
    let told = (&some["stats"]["stopped_because"], &some["stats"]["matched"]);
    assert_eq!(told, (&"limit".into(), &21.into()));
    // The order of files with equal scores is that of their paths.
    assert_eq!(files(&some), ["two/f0.rs", "two/f1.rs", "two/f10.rs"]);
    let none = fixture.run(&["ask", "nowhere_at_all"]).code(1);
    assert!(none.err.contains("nothing found: no file has any of these words"), "{}", none.err);
}

#[test]
fn bad_questions_get_a_sentence() {
    let fixture = repositories();
    let server = fixture.serve();
    for question in ["word+".repeat(10_000), "x".repeat(2 << 20)] {
        let request = format!("GET /ask?q={question} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
        let answer = raw(server.address, request.as_bytes());
        let is_refused = [" 400 ", " 414 ", " 431 "].iter().any(|status| answer.contains(status));
        assert!(is_refused, "{answer}");
    }
    let (status, answer) = server.json(&format!("/ask?q={}", "word+".repeat(1600)));
    assert_eq!(status, 200, "{answer}");
    for (question, says) in [
        ("🦀 🦀", "the question has no word"),
        ("", "q is missing"),
        ("?!", "the question has no word"),
    ] {
        let (status, answer) = server.json(&format!("/ask?q={}", percent(question)));
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(
            (status, message.contains(says) || question.is_empty()),
            (400, true),
            "{question}: {answer}"
        );
    }
    for question in ["the how of", "zażółć gęślą jaźń", "a", "\u{0}retry\u{202e}"] {
        let (status, answer) = server.json(&format!("/ask?q={}", percent(question)));
        assert!([200, 400].contains(&status), "{question}: {answer}");
    }
    for wrong in [
        "limit=0",
        "limit=101",
        "lines=51",
        "lang=klingon",
        "repo=(",
        "file=(",
        "timeout=soon",
        "sort=path",
    ] {
        assert_eq!(server.json(&format!("/ask?q=retry&{wrong}")).0, 400, "{wrong}");
    }
}

#[test]
fn one_letter_is_answered_by_what_is_called_so() {
    let fixture = repositories();
    fixture.write("two/state.go", "package two\n\nvar g = 1\n\nvar other = g + g\n");
    fixture.write("two/uses.go", "package two\n\nvar more = g\n");
    fixture.ingest();
    fixture.run(&["symbols"]);
    let answer = json(&fixture, &["g"]);
    assert_eq!(files(&answer), ["two/state.go"], "{answer:#}");
    assert_eq!(answer["files"][0]["matches"][0]["line"], 3, "{answer:#}");
    for nothing in [&["G"][..], &["x"], &["?"], &["g", "--repo", "one"]] {
        let told = fixture.run(&[&["ask"], nothing].concat()).code(2).err;
        assert!(told.contains("the question has no word to look up"), "{nothing:?}: {told}");
    }
}

#[test]
fn the_repository_of_the_current_folder_comes_first() {
    let fixture = repositories();
    let text = std::fs::read_to_string(fixture.path().join("one/src/retry.rs")).unwrap();
    fixture.write("four/src/retry.rs", text + "// Another one.\n");
    fixture.ingest();
    fixture.run(&["symbols"]);
    let first = |folder: &str| {
        let mut command = fixture.command(&["ask", "--json", "--explain", "retry backoff"]);
        let ran = command.current_dir(fixture.path().join(folder)).output().unwrap();
        let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
        (files(&answer)[0].clone(), answer["files"][0]["score"]["parts"]["here"].clone())
    };
    for repo in ["one", "four"] {
        assert_eq!(first(repo), (format!("{repo}/src/retry.rs"), 2.0.into()));
    }
    assert_eq!(first(".").1, Value::Null);
}

fn by_words(server: &Server, address: &str) -> Value {
    server.json(address).1["by_words"].clone()
}

#[test]
fn a_search_of_words_that_finds_little_is_followed_by_an_answer_in_words() {
    let fixture = repositories();
    let server = fixture.serve();
    let sorted = |q: &str| format!("/search?q={}&sort=relevance&limit=10", percent(q));
    let followed = by_words(&server, &sorted("registered validators nowhere"));
    assert_eq!(followed["why"], "no file has all of these words; ranked by words");
    assert_eq!(files(&followed)[0], "two/validate.go");
    // The search itself found nothing.
    assert_eq!(server.json(&sorted("registered validators nowhere")).1["stats"]["files"], 0);
    let few = by_words(&server, &sorted("Validator checks"));
    assert_eq!(few["why"], "only 1 file has all of these words; others, ranked by words");
    assert!(!files(&few).contains(&"two/validate.go".to_owned()), "{few}");
    // The words are there, but not as the query spells them.
    let other = by_words(&server, &sorted("RETRY_BACKOFF"));
    assert_eq!(other["why"], "no file has these words exactly as typed; ranked by words");
    assert_eq!(files(&other)[0], "one/src/retry.rs");
    for q in [
        "package",
        "registered or nowhere",
        "registered -validators",
        "lang:go registered",
        "\"two words\"",
        "nowhere_at_all",
    ] {
        assert_eq!(by_words(&server, &sorted(q)), Value::Null, "{q}");
    }
    // Programs that want matches alone get these.
    assert_eq!(by_words(&server, "/search?q=registered+validators+nowhere"), Value::Null);
    let page = server.get("/search?q=registered+validators+nowhere&wait=1", "text/html").2;
    assert!(page.contains("no file has all of these words; ranked by words"), "{page}");
    assert!(page.contains("href=\"/ask?q=registered%20validators%20nowhere\""), "{page}");
    let page = server.get("/ask?q=where+is+the+retry+backoff", "text/html").2;
    for text in [
        "<mark>retry</mark>",
        "aria-current=\"page\">Ask",
        "Client.send",
        "complete",
        "identical copy",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let tried =
        fixture.run(&["search", "--hints", "always", "registered validators nowhere"]).code(1);
    assert!(tried.err.contains("codesearch ask 'registered validators nowhere'"), "{}", tried.err);
}

#[test]
fn what_cannot_be_asked_is_told() {
    let fixture = repositories();
    let held = fixture.hold("lock table words_00 in access exclusive mode");
    let late = fixture.run(&["ask", "--timeout", "300ms", "retry"]).code(2);
    assert!(late.err.contains("timed out after 300ms"), "{}", late.err);
    drop(held);
    fixture.run(&["ask", "retry"]).code(0);
    fixture.exec("alter table words_00 rename to moved");
    let failed = fixture.run(&["ask", "retry"]).code(2);
    assert!(failed.err.contains("some shards could not be searched"), "{}", failed.err);
    fixture.exec("alter table moved rename to words_00");
    fixture.exec("create table kept as table words_00; update words_00 set entries = '\\xffffff'");
    let damaged = fixture.run(&["ask", "retry"]).code(2);
    assert!(damaged.err.contains("some shards could not be searched"), "{}", damaged.err);
    // An index of before questions were answered.
    fixture.exec("delete from words_00; delete from word_segments_00; update shards set worded = 0; drop table kept");
    let lacks = "the words of 37 files are not indexed yet; run: codesearch ingest";
    let before = fixture.run(&["ask", "backoff"]).code(1);
    assert!(before.err.contains(lacks), "{}", before.err);
    // Paths have words all the same.
    let before = fixture.run(&["ask", "retry"]).code(0);
    assert!(before.err.contains(lacks) && before.out.contains("retry.rs"), "{}", before.err);
    let answer = json(&fixture, &["retry"]);
    assert_eq!(answer["stats"]["stopped_because"], "unindexed", "{answer:#}");
    fixture.ingest();
    assert_eq!(files(&json(&fixture, &["retry"])).len(), 3);
}
