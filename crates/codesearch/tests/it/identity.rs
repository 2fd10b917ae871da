//! Who asks: tokens with owners, a proxy's headers, JWTs.

pub(crate) mod provider;
mod proxied;

use serde_json::{Value, json};

use crate::access::new_token;
use crate::harness::{Fixture, Server, eventually, raw};
use provider::{Key, Provider, encoded, now, unsigned, with};

const SEARCH: &str = "/search?q=needle";

fn indexed() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/a.rs", "fn needle() {}\n");
    fixture.ingest();
    fixture
}

/// Sends a bearer; returns the status and the answer.
fn ask(server: &Server, path: &str, bearer: &str) -> (u16, Value) {
    let (status, _, body) = server.ask(path, &[("authorization", &format!("Bearer {bearer}"))]);
    (status, serde_json::from_str(&body).unwrap_or(Value::Null))
}

/// Checks that a bearer is refused, with this code and a part of this sentence.
#[track_caller]
fn refused(server: &Server, bearer: &str, code: &str, why: &str) {
    let (status, answer) = ask(server, SEARCH, bearer);
    let error = &answer["error"];
    assert_eq!((status, &error["code"]), (401, &json!(code)), "{answer}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(why), "{message}");
    assert!(!message.contains('\n') && !message.ends_with('.'), "{message}");
}

fn count(server: &Server, bearer: &str, word: &str) -> u64 {
    let head = format!("Bearer {bearer}");
    let metrics = server.ask("/metrics", &[("authorization", &head)]).2;
    let name = format!("codesearch_refused_total{{reason=\"{word}\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&name)).unwrap().parse().unwrap()
}

#[test]
fn a_token_has_an_owner_rights_and_an_end() {
    let fixture = indexed();
    let ann = ["ann-laptop", "--user", "ann", "--groups", "team-b,team-a", "--repos", "one,x/**"];
    let ann = [&ann[..], &["--expires", "2999-01-31", "--ingest"]].concat();
    let (ann, line) = new_token(&fixture, &ann);
    assert!(
        line.ends_with(" user=ann groups=team-b,team-a repos=one,x/** expires=2999-01-31 ingest"),
        "{line}"
    );
    let (root, admin) = new_token(&fixture, &["root", "--admin", "--expires", "90d"]);
    let (old, expired) = new_token(&fixture, &["old", "--admin", "--expires", "2020-02-29"]);
    fixture.write("tokens", [line, admin, expired].join("\n"));
    let server = fixture.serve_with(&["--tokens", "tokens"]);
    let (status, who) = ask(&server, "/whoami", &ann);
    let expected = json!({
        "name": "ann", "groups": ["team-a", "team-b"], "repos": ["one", "x/**"],
        "rights": ["search", "ingest"], "until": "2999-02-01T00:00:00Z", "how": "token",
    });
    assert_eq!((status, who), (200, expected));
    let (_, who) = ask(&server, "/whoami", &root);
    assert_eq!(
        (&who["name"], &who["rights"]),
        (&json!("root"), &json!(["search", "ingest", "admin"]))
    );
    assert!(who["until"].as_str().unwrap() > "2026", "{who}");
    let page = server
        .ask("/whoami", &[("accept", "text/html"), ("authorization", &format!("Bearer {ann}"))]);
    assert!(page.0 == 200 && page.2.contains("<strong>ann</strong>") && page.2.contains("team-a"));
    let why = "this token expired at 2020-03-01T00:00:00Z; ask the operator";
    refused(&server, &old, "expired_token", why);
    assert_eq!(count(&server, &root, "expired_token"), 1);
    // A right that is not the user's.
    assert_eq!(ask(&server, "/stats", &ann).1["error"]["code"], "admin_only");
    assert_eq!(count(&server, &root, "right"), 1);
    for (args, why) in [
        (&["x", "--expires", "soon"][..], "is not a time"),
        (&["x", "--user", "ann smith"], "has a space"),
        (&["x", "--groups", "a b"], "has a space"),
        (&["x", "--repos", "a["], "invalid"),
    ] {
        let ran = fixture.run(&[&["token"], args].concat()).code(2);
        assert!(ran.err.contains(why), "{args:?}: {}", ran.err);
    }
}

#[test]
fn nobody_tries_many_tokens() {
    let fixture = indexed();
    let (ann, line) = new_token(&fixture, &["ann"]);
    let (bob, other) = new_token(&fixture, &["bob", "--admin"]);
    fixture.write("tokens", format!("{line}\n{other}\n"));
    let server = fixture.serve_with(&["--tokens", "tokens"]);
    assert_eq!(ask(&server, SEARCH, &bob).0, 200);
    let last = (0..200).map(|n| ask(&server, SEARCH, &format!("wrong-{n}")));
    let (n, (_, answer)) = last.enumerate().find(|(_, (status, _))| *status == 429).unwrap();
    assert!(n >= 60, "{n}");
    assert_eq!(answer["error"]["code"], "too_many_requests");
    let (status, headers, _) = server.ask(SEARCH, &[("authorization", &format!("Bearer {ann}x"))]);
    // A few attempts come back each second.
    if status == 429 {
        assert!(headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() >= 1);
    }
    // What has counted still does, so that nobody locks out others of the same address.
    assert_eq!(ask(&server, SEARCH, &bob).0, 200);
    assert!(count(&server, &bob, "attempts") >= 1);
    // Signing in is bounded by the same number.
    let answers = (0..200).map(|n| sign_in(&server, &format!("guess-{n}")));
    assert!(answers.into_iter().any(|answer| answer.starts_with("HTTP/1.1 429")));
}

/// Sends the form to sign in; returns the whole response.
fn sign_in(server: &Server, token: &str) -> String {
    let form = format!("token={token}&back=%2Fwhoami");
    let text = format!(
        "POST /sign-in HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: \
         application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    );
    raw(server.address, text.as_bytes())
}

#[test]
fn a_jwt_of_the_issuer_for_this_server_counts() {
    let fixture = indexed();
    let (ec, ed) = (Key::ec(), Key::ed());
    let provider = Provider::start(&[ec.public("ec-1"), ed.public("ed-1")]);
    fixture.write("codesearch.toml", provider.section());
    let ran = fixture.run(&["config", "check", "codesearch.toml"]).code(0);
    assert!(
        ran.out.contains("for codesearch or https://search.example/mcp, by the keys in http://"),
        "{}",
        ran.out
    );
    let server = fixture.serve_with(&["--settings", "codesearch.toml"]);
    assert_eq!(server.ask(SEARCH, &[]).0, 401);
    let ann = provider.ann();
    let admin =
        ed.sign("ed-1", &with(&ann, json!({ "groups": ["ops"], "email": "root@example.com" })));
    for key in [(&ec, "ec-1"), (&ed, "ed-1")] {
        let jwt = key.0.sign(key.1, &ann);
        let (status, who) = ask(&server, "/whoami", &jwt);
        assert_eq!(status, 200, "{who}");
        assert_eq!(
            (&who["name"], &who["groups"], &who["rights"], &who["how"]),
            (
                &json!("ann@example.com"),
                &json!(["team-a", "team-b"]),
                &json!(["search"]),
                &json!("jwt")
            )
        );
        assert_eq!(ask(&server, SEARCH, &jwt).0, 200);
        assert_eq!(ask(&server, "/stats", &jwt).0, 403);
    }
    assert_eq!(ask(&server, "/stats", &admin).0, 200);
    let sign = |others: Value| ec.sign("ec-1", &with(&ann, others));
    // One of several audiences, and a JWT that names no key.
    assert_eq!(
        ask(&server, SEARCH, &sign(json!({ "aud": ["x", "https://search.example/mcp"] }))).0,
        200
    );
    let head = json!({ "alg": "ES256", "typ": "at+jwt" });
    assert_eq!(ask(&server, SEARCH, &ec.sign_as(&head, &ann)).0, 200);
    for (others, why) in [
        (json!({ "exp": now() - 3600 }), "the JWT has expired; get a new one from http://"),
        (json!({ "exp": null }), "the JWT has no valid claim exp"),
        (json!({ "exp": "soon" }), "the JWT has no valid claim exp"),
        (json!({ "nbf": now() + 3600 }), "the JWT does not count yet"),
        (
            json!({ "aud": "wiki" }),
            "the JWT is for another audience; get one for codesearch or https",
        ),
        (json!({ "aud": null }), "the JWT has no valid claim aud"),
        (json!({ "aud": 7 }), "the JWT has no valid claim aud"),
        (json!({ "iss": "https://evil.example" }), "the JWT is of another issuer than http://"),
        (json!({ "iss": null }), "the JWT has no valid claim iss"),
        (json!({ "email": null }), "no text in the claim email"),
        (json!({ "email": ["ann"] }), "no text in the claim email"),
        (json!({ "email": "" }), "the name of a user is empty"),
        (json!({ "email_verified": false }), "the email of the JWT is not verified"),
        (json!({ "groups": { "a": 1 } }), "the claim groups of the JWT is not a list of names"),
        (json!({ "groups": ["a", 1] }), "the claim groups of the JWT is not a list of names"),
    ] {
        refused(&server, &sign(others), "invalid_jwt", why);
    }
    let signed = ec.sign("ec-1", &ann);
    let (message, signature) = signed.rsplit_once('.').unwrap();
    let none = unsigned(&json!({ "alg": "none", "kid": "ec-1" }), &ann);
    // The published key as a secret, as a confused library would take it.
    let hmac = |secret: &[u8]| {
        use hmac::{Hmac, KeyInit, Mac};
        let message = unsigned(&json!({ "alg": "HS256", "kid": "ec-1" }), &ann);
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret).unwrap();
        mac.update(message.as_bytes());
        format!("{message}.{}", encoded(&mac.finalize().into_bytes()))
    };
    let public = ec.public("ec-1");
    let other = with(&ann, json!({ "email": "root@example.com" }));
    let forged = unsigned(&json!({ "alg": "ES256", "kid": "ec-1" }), &other);
    for (jwt, why) in [
        (format!("{none}."), "the algorithm none of the JWT is not accepted; sign JWTs with RS256"),
        (format!("{none}.{signature}"), "the algorithm none"),
        (hmac(public["x"].as_str().unwrap().as_bytes()), "the algorithm HS256"),
        (hmac(public.to_string().as_bytes()), "the algorithm HS256"),
        (format!("{forged}.{signature}"), "the signature of the JWT is not of http://"),
        (format!("{message}."), "the signature of the JWT is not of http://"),
        (Key::ec().sign("ec-1", &ann), "the signature of the JWT is not of http://"),
        (Key::ec().sign("ed-1", &ann), "signed with a key that http://"),
        (
            ec.sign_as(&json!({ "alg": "ES256", "typ": "logout+jwt" }), &ann),
            "of a kind that does not say",
        ),
        ("eyJ.x.y".to_owned(), "the JWT has no head that can be read"),
    ] {
        refused(&server, &jwt, "invalid_jwt", why);
    }
    refused(&server, "ey.only-two", "unknown_token", "unknown token");
    assert!(count(&server, &admin, "jwt") >= 25);
}

#[test]
fn keys_change_while_a_server_runs() {
    let fixture = indexed();
    let (old, new) = (Key::ec(), Key::ec());
    let provider = Provider::start(&[old.public("old")]);
    fixture.write("codesearch.toml", provider.section());
    let server = fixture.serve_with(&["--settings", "codesearch.toml"]);
    let ann = provider.ann();
    let (of_old, of_new) = (old.sign("old", &ann), new.sign("new", &ann));
    assert_eq!(ask(&server, SEARCH, &of_old).0, 200);
    refused(&server, &of_new, "invalid_jwt", "a key that");
    // A new key counts with the next JWT, beside the old one.
    provider.publish(&[new.public("new"), old.public("old")]);
    assert_eq!((ask(&server, SEARCH, &of_new).0, ask(&server, SEARCH, &of_old).0), (200, 200));
    // While the provider fails, the keys of before stay.
    provider.fail();
    refused(&server, &Key::ec().sign("newer", &ann), "invalid_jwt", "a key that");
    assert_eq!((ask(&server, SEARCH, &of_new).0, ask(&server, SEARCH, &of_old).0), (200, 200));
    // A key that is published no more does not count, even for a JWT that was seen.
    provider.publish(&[new.public("new")]);
    refused(&server, &Key::ec().sign("newer", &ann), "invalid_jwt", "a key that");
    refused(&server, &of_old, "invalid_jwt", "a key that");
    assert_eq!(ask(&server, SEARCH, &of_new).0, 200);
    // Whoever names unknown keys does not have them fetched again and again.
    for n in 0..20 {
        refused(&server, &Key::ec().sign(&format!("no-{n}"), &ann), "invalid_jwt", "a key that");
    }
    assert!(provider.asked() <= 12, "{}", provider.asked());
}

#[test]
fn keys_are_a_file_or_cannot_be_had() {
    let fixture = indexed();
    let key = Key::ed();
    let provider = Provider::start(&[]);
    let section =
        provider.section().replace(&format!("{}/keys", provider.issuer()), "file:keys.json");
    fixture.write("codesearch.toml", section);
    let ran = fixture.run(&["config", "check", "codesearch.toml"]).code(0);
    assert!(ran.err.contains("keys.json does not exist"), "{}", ran.err);
    let server = fixture.serve_with(&["--settings", "codesearch.toml"]);
    let jwt = key.sign("k", &provider.ann());
    let (status, answer) = ask(&server, SEARCH, &jwt);
    assert_eq!(
        (status, &answer["error"]["code"]),
        (503, &json!("identity_unavailable")),
        "{answer}"
    );
    fixture.write("keys.json", json!({ "keys": [key.public("k")] }).to_string());
    assert_eq!(ask(&server, SEARCH, &jwt).0, 200);
    // What the file says of them changes while the server runs.
    let section = fixture.path().join("codesearch.toml");
    let text = std::fs::read_to_string(&section).unwrap();
    std::fs::write(&section, text.replace("\"codesearch\", ", "\"another\", ")).unwrap();
    eventually("another audience", || ask(&server, SEARCH, &jwt).0 == 401);
    std::fs::write(&section, "# nothing\n").unwrap();
    eventually("no JWT counts", || {
        ask(&server, SEARCH, &jwt).1["error"]["code"] == "unknown_token"
    });
}

#[test]
fn agents_learn_where_to_get_a_jwt() {
    let fixture = indexed();
    let key = Key::ec();
    let provider = Provider::start(&[key.public("k")]);
    fixture.write("codesearch.toml", provider.section());
    let server = fixture.serve_with(&["--settings", "codesearch.toml"]);
    let origin = format!("http://{}", server.address);
    for (path, of) in [("/mcp", "/mcp"), (SEARCH, "")] {
        let (status, headers, _) = server.ask(path, &[]);
        let challenge = headers["www-authenticate"].to_str().unwrap();
        let expected = format!(
            "Bearer realm=\"codesearch\", resource_metadata=\"{origin}/.well-known/oauth-protected-resource{of}\""
        );
        assert_eq!((status, challenge), (401, &*expected), "{path}");
        let address = challenge.split('"').nth(3).unwrap();
        let (status, told) = server.json(address.strip_prefix(&origin).unwrap());
        assert_eq!(status, 200);
        assert_eq!(told["resource"], format!("{origin}{of}"));
        assert_eq!(told["authorization_servers"], json!([provider.issuer()]));
        assert_eq!(told["bearer_methods_supported"], json!(["header"]));
    }
    let call = |bearer: &str| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        ureq::post(format!("{origin}/mcp"))
            .config()
            .http_status_as_error(false)
            .build()
            .header("authorization", format!("Bearer {bearer}"))
            .send(body.to_string())
            .unwrap()
    };
    let mut answer = call(&key.sign("k", &provider.ann()));
    assert_eq!(answer.status(), 200);
    assert!(answer.body_mut().read_to_string().unwrap().contains("\"tools\""));
    let answer =
        call(&key.sign("k", &with(&provider.ann(), json!({ "aud": "https://other.example/mcp" }))));
    assert_eq!(answer.status(), 401);
    let challenge = answer.headers()["www-authenticate"].to_str().unwrap();
    assert!(challenge.contains("error=\"invalid_token\", resource_metadata="), "{challenge}");
    // A server that takes no JWTs has no such address.
    let (_, line) = new_token(&fixture, &["ann"]);
    fixture.write("tokens", line);
    let server = fixture.serve_with(&["--tokens", "tokens"]);
    assert_eq!(server.ask("/.well-known/oauth-protected-resource", &[]).0, 404);
    assert!(!server.ask("/mcp", &[]).1["www-authenticate"].to_str().unwrap().contains("metadata"));
}

#[test]
fn a_person_signs_in_with_a_jwt() {
    let fixture = indexed();
    let key = Key::ed();
    let provider = Provider::start(&[key.public("k")]);
    fixture.write("codesearch.toml", provider.section());
    let server = fixture.serve_with(&["--settings", "codesearch.toml"]);
    let page = server.ask("/repos", &[("accept", "text/html")]);
    assert!(page.0 == 401 && page.2.contains("action=\"/sign-in\""), "{}", page.2);
    let answer = sign_in(&server, &key.sign("k", &provider.ann()));
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let age = cookie.split("Max-Age=").nth(1).unwrap().split(';').next().unwrap();
    let age: i64 = age.parse().unwrap();
    // Not longer than the JWT.
    assert!((3000..=3630).contains(&age), "{cookie}");
    let kept = cookie.split(';').next().unwrap();
    let (status, _, who) = server.ask("/whoami", &[("cookie", kept)]);
    assert!(status == 200 && who.contains("ann@example.com"), "{who}");
    let old = with(&provider.ann(), json!({ "exp": now() - 3600 }));
    let answer = sign_in(&server, &key.sign("k", &old));
    assert!(
        answer.starts_with("HTTP/1.1 401") && answer.contains("The JWT has expired"),
        "{answer}"
    );
    let groups: Vec<String> = (0..300).map(|n| format!("team-{n:05}")).collect();
    let long = key.sign("k", &with(&provider.ann(), json!({ "groups": groups })));
    let answer = sign_in(&server, &long);
    assert!(
        answer.starts_with("HTTP/1.1 401") && answer.contains("too long for a cookie"),
        "{answer}"
    );
    // A program has no such bound: the user is in thousands of groups.
    let groups: Vec<String> = (0..5000).map(|n| format!("team-{n:05}")).collect();
    let jwt = key.sign("k", &with(&provider.ann(), json!({ "groups": groups })));
    let (status, who) = ask(&server, "/whoami", &jwt);
    assert_eq!((status, who["groups"].as_array().unwrap().len()), (200, 5000));
    // Headers have: 128 KiB together.
    let groups: Vec<String> = (0..20_000).map(|n| format!("team-{n:05}")).collect();
    let jwt = key.sign("k", &with(&provider.ann(), json!({ "groups": groups })));
    let head =
        format!("GET {SEARCH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {jwt}\r\n\r\n");
    assert!(raw(server.address, head.as_bytes()).starts_with("HTTP/1.1 431"));
}
