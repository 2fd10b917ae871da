//! Monitors deliver what their owners may see when news are sent, and not what they saw when these were found.

use serde_json::{Value, json};

use super::indexed;
use crate::access::new_token;
use crate::harness::{Fixture, Server, eventually};
use crate::monitors::{JSON, Target, post, settings};

/// Has all deliveries that wait be made now.
const AGAIN: &str = "update deliveries set due = now() where state = 'waiting'; select pg_notify('codesearch_monitors', '')";

/// An index of two repositories with a server that knows Ann (of the group `shop`) and Root (an admin), and a receiver.
struct Watched {
    fixture: Fixture,
    server: Server,
    receiver: Target,
    ann: String,
    root: String,
}

impl Watched {
    fn new() -> Self {
        let fixture = indexed(&["shop/web", "lab/x"]);
        let receiver = Target::start();
        let settings = settings(&fixture, "[monitor]\nallow = [\"127.0.0.0/8\"]\n");
        let (ann, one) = new_token(&fixture, &["ann", "--groups", "shop"]);
        let (root, other) = new_token(&fixture, &["root", "--admin"]);
        fixture.write("tokens", format!("{one}\n{other}\n"));
        let server = fixture.serve_with(&["--tokens", "tokens", "--settings", &settings]);
        let [ann, root] = [ann, root].map(|token| format!("Bearer {token}"));
        Self { fixture, server, receiver, ann, root }
    }

    /// Makes a monitor that delivers; returns the status.
    fn monitor(&self, who: &str, name: &str) -> u16 {
        let body = json!({ "name": name, "query": "needle", "address": self.receiver.url() });
        let headers = [("authorization", who), JSON];
        post(&self.server, "/monitors", &headers, &body.to_string()).0
    }

    /// Adds a file to both repositories.
    fn change(&self, file: &str) {
        for repo in ["shop/web", "lab/x"] {
            let text = format!("fn needle_{}() {{}}\n", &repo[..3]);
            self.fixture.write(&format!("{repo}/{file}"), text);
        }
        self.fixture.run(&["ingest", "--depth", "2", "."]).code(0);
    }

    /// Returns the number of deliveries of a monitor in a state, of those that were tried.
    fn count(&self, state: &str, name: &str) -> i64 {
        let sql = "select count(*) from deliveries d join monitors m on m.id = d.monitor";
        let of =
            format!("{sql} where d.state = '{state}' and m.name = '{name}' and d.attempts > 0");
        self.fixture.sql(&of)
    }

    /// Returns the next delivery: the name of its monitor, and the repositories that it names.
    fn next(&self) -> (String, Vec<String>) {
        let told = self.receiver.next().json();
        let data = &told["data"];
        let hits = data["hits"].as_array().unwrap();
        assert_eq!(data["appeared"].as_u64().unwrap(), hits.len() as u64, "{told}");
        let name = |hit: &Value| hit["repository"].as_str().unwrap().to_owned();
        let mut repos: Vec<String> = hits.iter().map(name).collect();
        repos.sort();
        (data["monitor"].as_str().unwrap().to_owned(), repos)
    }
}

#[test]
fn deliveries_have_what_their_owners_see_when_they_are_sent() {
    let of = Watched::new();
    // All are made before anything is granted. One has no owner: whoever owns the index's folder made it.
    assert_eq!(of.monitor(&of.ann, "anns"), 201);
    assert_eq!(of.monitor(&of.root, "roots"), 201);
    let url = of.receiver.url();
    let mut command = of.fixture.command(&["monitor", "add", "own", "needle", "--webhook", &url]);
    command.env("CODESEARCH_SETTINGS", of.fixture.path().join("settings.toml"));
    assert!(command.status().unwrap().success());
    of.change("b.rs");
    let mut all: Vec<_> = (0..3).map(|_| of.next()).collect();
    all.sort();
    let both = ["lab/x", "shop/web"].map(str::to_owned).to_vec();
    assert_eq!(all, ["anns", "own", "roots"].map(|name| (name.to_owned(), both.clone())));

    // From the first grant on, the right of an admin shows nothing.
    of.fixture.run(&["grant", "user:ann", "lab/x"]).code(0);
    of.fixture.run(&["grant", "group:shop", "shop/**"]).code(0);
    of.receiver.says("503 Service Unavailable");
    of.change("c.rs");
    let tried = || of.count("waiting", "anns") + of.count("waiting", "own");
    eventually("both were tried", || tried() == 2);
    of.receiver.got.try_iter().count();
    // A grant that is taken back between match and delivery takes its matches from the delivery.
    of.fixture.run(&["revoke", "user:ann", "lab/x"]).code(0);
    of.receiver.says("200 OK");
    of.fixture.exec(AGAIN);
    let mut all = [of.next(), of.next()];
    all.sort();
    let shop = vec!["shop/web".to_owned()];
    assert_eq!(all, [("anns".to_owned(), shop), ("own".to_owned(), both.clone())]);
    let news = "select count(*) from monitor_news n join monitors m on m.id = n.monitor where m.name = 'roots'";
    assert_eq!(of.fixture.sql::<i64>(news), 1, "what was found before the first grant");
    eventually("they are acknowledged", || {
        of.count("delivered", "anns") + of.count("delivered", "own") == 4
    });

    // If nothing is left, nothing is sent, and the page says why without telling of what.
    of.receiver.says("503 Service Unavailable");
    of.change("d.rs");
    eventually("both were tried", || tried() == 2);
    of.receiver.got.try_iter().count();
    of.fixture.run(&["revoke", "group:shop", "--all"]).code(0);
    of.receiver.says("200 OK");
    of.fixture.exec(AGAIN);
    assert_eq!(of.next(), ("own".to_owned(), both));
    eventually("it is given up", || of.count("given-up", "anns") == 1);
    let auth = ("authorization", &*of.ann);
    let (status, _, told) = of.server.ask("/monitors/anns", &[auth]);
    assert_eq!(status, 200);
    assert!(told.contains("its owner may not see the repositories any more"), "{told}");
    let (_, _, page) = of.server.ask("/monitors/anns", &[auth, ("accept", "text/html")]);
    let (_, _, feed) = of.server.ask("/monitors/anns.atom", &[auth]);
    for hidden in ["shop/", "lab/", "needle_"] {
        for text in [&told, &page, &feed] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
    }
    of.fixture.check_invariants();
}

#[test]
fn whoever_leaves_a_group_gets_no_deliveries_of_it() {
    let of = Watched::new();
    of.fixture.run(&["grant", "group:shop", "shop/**"]).code(0);
    assert_eq!(of.monitor(&of.ann, "anns"), 201);
    of.change("b.rs");
    assert_eq!(of.next(), ("anns".to_owned(), vec!["shop/web".to_owned()]));
    eventually("it is acknowledged", || of.count("delivered", "anns") == 1);
    let file = of.fixture.path().join("tokens");
    let tokens = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, tokens.replace(" groups=shop", "")).unwrap();
    let groups = || -> Value {
        let (_, _, who) = of.server.ask("/whoami", &[("authorization", &of.ann)]);
        serde_json::from_str::<Value>(&who).unwrap()["groups"].clone()
    };
    eventually("the file is read again", || groups() == json!([]));
    // Ann does not look at the monitor meanwhile.
    of.fixture.run(&["grant", "user:ann", "lab/x"]).code(0);
    of.change("c.rs");
    assert_eq!(of.next(), ("anns".to_owned(), vec!["lab/x".to_owned()]));
}

#[test]
fn a_monitor_stays_as_narrow_as_the_token_that_made_it() {
    let of = Watched::new();
    let (ci, line) = new_token(&of.fixture, &["anns-ci", "--user", "ann", "--repos", "lab/x"]);
    let file = of.fixture.path().join("tokens");
    let tokens = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{tokens}{line}\n")).unwrap();
    let ci = format!("Bearer {ci}");
    eventually("the token counts", || of.server.ask("/repos", &[("authorization", &ci)]).0 == 200);
    of.fixture.run(&["grant", "user:ann", "**"]).code(0);
    assert_eq!(of.monitor(&ci, "narrow"), 201);
    // The same user, with a token for all.
    assert_eq!(of.server.ask("/monitors", &[("authorization", &of.ann)]).0, 200);
    of.change("b.rs");
    assert_eq!(of.next(), ("narrow".to_owned(), vec!["lab/x".to_owned()]));
}
