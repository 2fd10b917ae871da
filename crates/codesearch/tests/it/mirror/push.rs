//! From a push to a host to a search that finds it and a delivery that tells of it: by a webhook, a fetch, an ingest and a
//! monitor, each of which is killed.

use serde_json::{Value, json};

use super::Mirrored;
use super::host::{Fault, Kind};
use crate::fresh::post;
use crate::harness::{Server, eventually};
use crate::hooks::github;
use crate::monitors::{Delivered, HELD, Target};

const SECRET: &str = "correct horse";

/// A mirrored host that tells a server of pushes.
struct Told {
    mirrored: Mirrored,
    /// The repository that is pushed to.
    id: u64,
}

impl Told {
    fn of(kind: Kind) -> Self {
        let mirrored = Mirrored::of(kind);
        let id = mirrored.host.add("org", "one", "a.txt", "needle\n");
        mirrored.fixture.write("secret", SECRET);
        // The host is listed when a server starts, and not again.
        let more = "every = \"24h\"\n[hook.push]\nsecret = \"file:secret\"\nhost = \"work\"\n\
                    [monitor]\nallow = [\"127.0.0.0/8\"]";
        mirrored.configure_all("take = [\"org\"]", more);
        Self { mirrored, id }
    }

    fn serve(&self) -> Server {
        self.mirrored.fixture.serve_with(&["--settings", "codesearch.toml"])
    }

    /// Starts a server, and waits until it has mirrored and finds a word.
    fn serve_with(&self, word: &str) -> Server {
        let server = self.serve();
        eventually("it is indexed", || found(&server, word) == 1);
        server
    }

    /// Pushes a file with a word, and has the host tell of it.
    fn push(&self, server: &Server, word: &str) {
        let host = &self.mirrored.host;
        host.push(self.id, "main", &format!("{word}.txt"), &format!("{word}\n"));
        let (status, answer) = self.tell(server);
        assert_eq!((status, &answer["queued"]), (202, &json!(1)), "{answer}");
    }

    /// Sends the webhook that the host sends for a push.
    fn tell(&self, server: &Server) -> (u16, Value) {
        self.tell_of(server, "push", "push", "Push Hook")
    }

    /// Sends a webhook about the repository: an event as each kind of host calls it.
    fn tell_of(
        &self,
        server: &Server,
        github_event: &str,
        system: &str,
        gitlab: &str,
    ) -> (u16, Value) {
        let Mirrored { host, .. } = &self.mirrored;
        let address = format!("{}/org/one.git", host.url);
        let repository = json!({ "id": self.id, "clone_url": &address, "git_http_url": &address });
        let body = match host.kind {
            Kind::GitLab => {
                json!({ "event_name": system, "project_id": self.id, "project": &repository })
            }
            _ => json!({ "ref": "refs/heads/main", "repository": &repository }),
        };
        let body = body.to_string().into_bytes();
        let headers = match host.kind {
            Kind::GitHub => github(github_event, SECRET, &body),
            Kind::Gitea => {
                let own = format!("X-Gitea-Event: {github_event}\r\n");
                format!("{own}{}", github(github_event, SECRET, &body))
            }
            Kind::GitLab => {
                format!("X-Gitlab-Event: {gitlab}\r\nX-Gitlab-Token: {SECRET}\r\n")
            }
        };
        post(server, "/hooks/push", &headers, &body)
    }

    /// Waits until a statement of the index waits for a lock.
    fn await_lock(&self, statement: &str) {
        let waits = format!(
            "select count(*) from pg_stat_activity
             where datname = current_database() and wait_event_type = 'Lock' and query ilike '%{statement}%'"
        );
        let fixture = &self.mirrored.fixture;
        eventually(&format!("{statement} waits"), || fixture.sql::<i64>(&waits) > 0);
    }
}

/// Returns the number of files with a word, once nothing that concerns the search waits.
fn found(server: &Server, word: &str) -> usize {
    let word = word.replace(' ', "+");
    let (status, answer) = server.json(&format!("/search?q={word}&limit=0&fresh=1"));
    // Before the first ingest, there is nothing to search.
    if status == 200 { answer["files"].as_array().unwrap().len() } else { 0 }
}

#[test]
fn a_push_that_a_host_tells_of_is_found_by_the_next_search_that_waits() {
    for kind in Kind::ALL {
        let told = Told::of(kind);
        let server = told.serve_with("needle");
        told.mirrored.host.requests();
        for word in ["first", "second"] {
            told.push(&server, word);
            assert_eq!(found(&server, word), 1, "{kind:?}");
        }
        // The host was not asked what it has; it is when it tells that something is called otherwise.
        assert!(told.mirrored.host.requests().is_empty());
        told.mirrored.host.change(told.id, |repo| "renamed".clone_into(&mut repo.name));
        let (status, answer) = told.tell_of(&server, "repository", "project_rename", "System Hook");
        assert_eq!((status, &answer["queued"]), (202, &json!(0)), "{answer}");
        eventually("it has its new name", || found(&server, "needle repo:org/renamed") == 1);
        server.stop();
        told.mirrored.fixture.check_invariants();
    }
}

#[test]
fn a_push_survives_kills_until_it_is_delivered() {
    let told = Told::of(Kind::GitHub);
    let Told { mirrored: Mirrored { fixture, host, .. }, .. } = &told;
    let receiver = Target::start();
    let server = told.serve_with("needle");
    let body = json!({ "name": "m", "query": "pushed\\d", "address": receiver.url() });
    let headers = "Content-Type: application/json\r\n";
    let made = post(&server, "/monitors", headers, body.to_string().as_bytes());
    assert_eq!(made.0, 201, "{}", made.1);
    let word = |n: usize| format!("pushed{n}");

    // The webhook is answered, and git waits for the host.
    host.world().faults.insert("org/one.git".to_owned(), Fault::Hang);
    host.world().made.clear();
    told.push(&server, &word(0));
    eventually("git waits", || host.world().made.iter().any(|made| made.status == 0));
    drop(server);
    host.world().faults.clear();
    let mut server = told.serve_with(&word(0));

    for (n, (lock, statement)) in [
        // It is fetched, which is not recorded.
        ("lock table mirrors in share row exclusive mode", "insert into mirrors "),
        // It is in the queue, and no ingest may begin.
        ("select pg_advisory_xact_lock(109345572388864)", "pg_try_advisory_lock"),
        // It is ingested, which is not published.
        ("lock table switches in exclusive mode", "switches"),
        // It is published, and no monitor has looked.
        ("lock table monitor_epoch in exclusive mode", "from monitor_epoch for update"),
        // What monitors found is written in part.
        ("lock table deliveries in share row exclusive mode", "insert into deliveries "),
    ]
    .into_iter()
    .enumerate()
    {
        let n = n + 1;
        let held = fixture.hold(lock);
        told.push(&server, &word(n));
        if statement == "pg_try_advisory_lock" {
            let queued = "select count(*) from pending where reason = 'fetched'";
            eventually("it is in the queue", || fixture.sql::<i64>(queued) > 0);
        } else {
            told.await_lock(statement);
        }
        drop((server, held));
        server = told.serve_with(&word(n));
    }

    // What monitors found is written, but the receiver does not take it.
    let delivered = "select count(*) from deliveries where state = 'delivered'";
    eventually("the others are acknowledged", || fixture.sql::<i64>(delivered) == 6);
    let mut got: Vec<Delivered> = receiver.got.try_iter().collect();
    let waiting = "select count(*) from deliveries where state = 'waiting' and attempts = 1";
    receiver.says("503 Service Unavailable");
    told.push(&server, &word(6));
    got.push(receiver.next());
    eventually("the failure is noted", || fixture.sql::<i64>(waiting) == 1);
    drop(server);
    fixture.exec("update deliveries set due = now()");
    receiver.says(HELD);
    // The receiver takes it, which is not noted.
    server = told.serve();
    got.push(receiver.next());
    drop(server);
    receiver.says("200 OK");
    server = told.serve();
    got.push(receiver.next());
    let unfinished = "select count(*) from deliveries where state <> 'delivered'";
    eventually("all are acknowledged", || fixture.sql::<i64>(unfinished) == 0);

    // Each match is in the feed once, and was delivered under one id.
    let feed = server.get("/monitors/m.atom", "*/*").2;
    for n in 0..7 {
        let in_feed = feed.matches(&format!("{}&lt;", word(n))).count();
        assert_eq!(in_feed, 1, "{n}: {feed}");
        let with = |one: &&Delivered| one.json()["data"]["hits"].to_string().contains(&word(n));
        let mut ids: Vec<&str> =
            got.iter().filter(with).map(|of| of.header("webhook-id")).collect();
        // Once, unless the server was killed before that was noted.
        assert!(ids.len() >= if n == 6 { 3 } else { 1 }, "{n}: {ids:?}");
        ids.dedup();
        assert_eq!(ids.len(), 1, "{n}: {ids:?}");
    }
    assert_eq!(found(&server, "pushed"), 7);
    server.stop();
    fixture.check_invariants();
}

#[test]
fn a_push_that_cannot_be_fetched_comes_with_the_next_one() {
    let told = Told::of(Kind::GitHub);
    let Told { mirrored: Mirrored { fixture, host, .. }, .. } = &told;
    let server = told.serve_with("needle");
    host.world().faults.insert("org/one.git".to_owned(), Fault::Status(500, Vec::new()));
    told.push(&server, "first");
    let failed = "select count(*) from pending where failure like 'git failed: %' and due > now()";
    eventually("whoever waits is told why", || fixture.sql::<i64>(failed) == 1);
    host.world().faults.clear();
    told.push(&server, "second");
    eventually("both are found", || (found(&server, "second"), found(&server, "first")) == (1, 1));
    eventually("nothing waits", || fixture.sql::<i64>("select count(*) from pending") == 0);
    server.stop();
    fixture.check_invariants();
}
