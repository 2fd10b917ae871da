//! Bad input: refused in one sentence, counted, and in the audit.

use serde_json::{Value, json};

use super::{ask, call};
use crate::access::new_token;
use crate::harness::{Fixture, Server, eventually};
use crate::identity::provider::{Key, Provider, unsigned, with};
use crate::view::encoded;

/// Returns how many requests a server has refused for a reason.
fn count(server: &Server, token: &str, reason: &str) -> u64 {
    let metrics = ask(server, token, "/metrics", "*/*").1;
    let name = format!("codesearch_refused_total{{reason=\"{reason}\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&name)).unwrap().parse().unwrap()
}

/// Checks that an error is one sentence.
#[track_caller]
fn is_sentence(text: &str) {
    assert!(!text.is_empty() && !text.contains('\n') && !text.ends_with('.'), "{text}");
}

#[test]
fn bad_input_is_refused_counted_and_audited() {
    let fixture = Fixture::new();
    fixture.write("one/a.rs", "fn needle() {}\n");
    fixture.ingest();
    let key = Key::ec();
    let provider = Provider::start(&[key.public("k")]);
    fixture.write("codesearch.toml", provider.section());
    fixture.write("secret", "0123456789abcdef0123456789abcdef\n");
    let (ann, line) = new_token(&fixture, &["ann"]);
    let (root, admin) = new_token(&fixture, &["root", "--admin"]);
    let (old, expired) = new_token(&fixture, &["old", "--expires", "2020-02-29"]);
    fixture.write("tokens", [line, admin, expired].join("\n"));
    let options = ["--tokens", "tokens", "--settings", "codesearch.toml"];
    let proxy = ["--trust-user-header", "X-Forwarded-User", "--proxy-secret-file", "secret"];
    let server = fixture.serve_with(&[options, proxy].concat());
    let claims = provider.ann();
    let bearer = |token: &str| ("authorization", format!("Bearer {token}"));
    let none = unsigned(&json!({ "alg": "none", "kid": "k" }), &claims);
    let other = key.sign("k", &with(&claims, json!({ "aud": "wiki" })));
    // What is sent; the code in the answer; the reason for which it is counted; and who that is, as far as it is known.
    let cases = [
        (vec![bearer(&old)], "expired_token", "expired_token", json!("old")),
        (vec![bearer("0123456789abcdef0123456789abcdef")], "unknown_token", "token", Value::Null),
        (vec![bearer(&format!("{none}."))], "invalid_jwt", "jwt", Value::Null),
        (vec![bearer(&other)], "invalid_jwt", "jwt", Value::Null),
        (vec![bearer(&Key::ec().sign("old", &claims))], "invalid_jwt", "jwt", Value::Null),
        (
            vec![("x-forwarded-user", "root".to_owned())],
            "untrusted_header",
            "untrusted_header",
            Value::Null,
        ),
        (vec![], "no_token", "token", Value::Null),
    ];
    for (n, (headers, code, reason, _)) in cases.iter().enumerate() {
        let before = count(&server, &root, reason);
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let (status, _, body) = server.ask(&format!("/search?q=case-{n}"), &headers);
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &answer["error"]["code"]), (401, &json!(code)), "{answer}");
        is_sentence(answer["error"]["message"].as_str().unwrap());
        assert_eq!(count(&server, &root, reason), before + 1, "{code}");
    }
    let statements = [
        "delete from files",
        "select pg_sleep(1000)",
        "select pg_read_file('/etc/passwd')",
        "set role postgres",
        "lock table codesearch_visible.files",
        "select n from generate_series(1, 1000000000) n order by n desc",
        "select * from codesearch.audit",
        "select set_config('role', 'postgres', false)",
    ];
    for statement in statements {
        let before = count(&server, &root, "statement");
        let (status, body) =
            ask(&server, &ann, &format!("/sql?q={}", encoded(statement)), "application/json");
        let answer: Value = serde_json::from_str(&body).unwrap();
        let error = &answer["error"];
        assert_eq!(
            (status, &error["code"]),
            (400, &json!("statement_refused")),
            "{statement} {answer}"
        );
        is_sentence(error["message"].as_str().unwrap());
        let params = json!({ "name": "sql", "arguments": { "query": statement } });
        let message =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let answer = call(&server, &ann, &message);
        assert!(answer.contains("\"isError\":true"), "{statement}: {answer}");
        eventually("both are counted", || count(&server, &root, "statement") == before + 2);
    }
    // A statement that is only wrong is not refused.
    assert_eq!(ask(&server, &ann, "/sql?q=select+x", "application/json").0, 400);
    server.stop();
    let ran = fixture.run(&["audit", "--format", "jsonl"]);
    let events: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (n, (_, code, _, who)) in cases.iter().enumerate() {
        let event = events.iter().find(|event| event["query"] == format!("case-{n}")).unwrap();
        let found = (&event["outcome"], &event["reason"], &event["who"], &event["status"]);
        assert_eq!(found, (&json!("refused"), &json!(code), who, &json!(401)), "{event}");
        assert_eq!((&event["sender"], &event["interface"]), (&json!("127.0.0.1"), &json!("api")));
    }
    for statement in statements {
        let found: Vec<&Value> =
            events.iter().filter(|event| event["query"] == statement).collect();
        let endpoints: Vec<&Value> = found.iter().map(|event| &event["endpoint"]).collect();
        assert_eq!(endpoints, ["/sql", "/mcp sql"], "{statement}");
        for event in found {
            let told = (&event["outcome"], &event["reason"], &event["who"], &event["interface"]);
            let expected =
                (&json!("refused"), &json!("statement_refused"), &json!("ann"), &json!("sql"));
            assert_eq!(told, expected, "{event}");
        }
    }
    let wrong = events.iter().find(|event| event["query"] == "select x").unwrap();
    assert_eq!((&wrong["outcome"], &wrong["reason"]), (&json!("failed"), &json!("bad_query")));
}
