//! Several servers of one index: limits and cursors hold across them, one of them does what only one may do, and each may
//! go and come back.

mod cluster;
mod replicas;

use std::io::Read;
use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use crate::access::new_token;
use crate::harness::{Fixture, Server, eventually};
use crate::monitors::{HELD, Target};

fn indexed() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/a.rs", "fn needle() {}\n");
    fixture.write("one/b.rs", "fn needle_too() {}\n");
    fixture.ingest();
    fixture
}

/// Returns the servers of an index, as `db servers` prints them.
fn servers(fixture: &Fixture) -> Vec<Value> {
    let out = fixture.run(&["db", "servers", "--json"]).out;
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the address of the server that ingests.
fn leader(fixture: &Fixture) -> Option<String> {
    let mut leaders = servers(fixture).into_iter().filter(|of| of["ingests"] == true);
    let leader = leaders.next().map(|of| of["address"].as_str().unwrap().to_owned());
    assert!(leaders.next().is_none(), "one leads");
    leader
}

fn terminate(server: &Server) {
    let pid = server.child.id().to_string();
    let kill = std::process::Command::new("kill").args(["-TERM", &pid]).status();
    assert!(kill.unwrap().success());
}

#[test]
fn the_limits_of_a_token_hold_across_servers() {
    let fixture = indexed();
    let (token, line) = new_token(&fixture, &["ann"]);
    fixture.write("tokens", format!("{line} per-minute=60 at-once=2\n"));
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", &*bearer)];
    let options = ["--tokens", "tokens", "--cache", "0"];
    let first = fixture.serve_with(&options);
    assert_eq!(first.ask("/search?q=needle", &headers).0, 200);
    let rows = "select count(*) from allowances";
    assert_eq!(fixture.sql::<i64>(rows), 0, "a server alone counts by itself");

    let others = [fixture.serve_with(&options), fixture.serve_with(&options)];
    let all = [&first, &others[0], &others[1]];
    let begun = Instant::now();
    let (mut admitted, mut refused) = (1, 0);
    for n in 0.. {
        let (status, answer, body) = all[n % 3].ask("/search?q=needle", &headers);
        if status == 200 {
            (admitted, refused) = (admitted + 1, 0);
        } else {
            assert_eq!(status, 429, "{body}");
            assert!(answer["retry-after"].to_str().unwrap().parse::<u64>().unwrap() >= 1);
            refused += 1;
        }
        // What is left of a part may be at another one.
        if refused == 6 {
            break;
        }
    }
    let passed = begun.elapsed().as_secs_f64();
    let most = 60.0 + passed + 1.0;
    assert!(
        f64::from(admitted) >= 0.9 * 60.0 && f64::from(admitted) <= most,
        "{admitted} in {passed} s"
    );
    assert_eq!(fixture.sql::<i64>(rows), 1);
    assert_eq!(servers(&fixture).len(), 3);

    // Alone again, it has the limits for itself.
    drop(others);
    eventually("it counts by itself again", || {
        assert!(matches!(first.ask("/search?q=needle", &headers).0, 200 | 429));
        fixture.sql::<i64>(rows) == 0
    });
}

#[test]
fn concurrent_searches_of_a_token_are_counted_across_servers() {
    let fixture = indexed();
    let (token, line) = new_token(&fixture, &["ann", "--admin"]);
    fixture.write("tokens", format!("{line} at-once=2\n"));
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", &*bearer)];
    let options = ["--tokens", "tokens", "--cache", "0", "--server-at-once", "8"];
    let all = [fixture.serve_with(&options), fixture.serve_with(&options)];
    let running = |server: &Server| -> u32 {
        let metrics = server.ask("/metrics", &headers).2;
        let line =
            metrics.lines().find_map(|line| line.strip_prefix("codesearch_searches_running "));
        line.unwrap().parse().unwrap()
    };
    // Both at one of them, after each had one: what it does not use, it gives back.
    for split in [[0, 1], [0, 0], [1, 1], [0, 1]] {
        let held = fixture.hold("lock table chunks, documents, files in access exclusive mode");
        std::thread::scope(|scope| {
            let mut searches = Vec::new();
            for at in split {
                let server = &all[at];
                let before = running(server);
                searches.push(scope.spawn(move || {
                    loop {
                        let answer = server.ask("/search?q=needle&timeout=2m", &headers);
                        // For a moment, it believes that the other one has all.
                        if answer.0 != 429 {
                            return answer;
                        }
                    }
                }));
                eventually("it runs", || running(server) > before);
            }
            for server in &all {
                let (status, _, body) = server.ask("/search?q=needle", &headers);
                assert_eq!(status, 429, "{split:?}: {body}");
                assert!(body.contains("your limit of concurrent searches"), "{body}");
            }
            drop(held);
            for search in searches {
                let (status, _, body) = search.join().unwrap();
                assert_eq!(status, 200, "{split:?}: {body}");
            }
        });
    }
    // What a killed one had is free again.
    let [first, second] = all;
    assert_eq!(first.ask("/search?q=needle", &headers).0, 200);
    drop(first);
    eventually("its searches do not count any more", || {
        fixture.sql::<i64>("select count(*) from servers") == 1
    });
    assert_eq!(second.ask("/search?q=needle", &headers).0, 200);
}

#[test]
fn a_cursor_of_one_server_works_on_another_while_the_index_changes() {
    let fixture = indexed();
    let all = [fixture.serve(), fixture.serve()];
    eventually("they know of each other", || servers(&fixture).len() == 2);
    let begin = all[0].json("/search?q=needle&limit=1").1;
    let next = begin["next"].as_str().unwrap();
    for n in 0..6 {
        // The other one hears of each epoch, and no search reads it there.
        assert_eq!(all[1].get("/readyz", "*/*").0, 200);
        fixture.write("one/c.rs", format!("fn needle_{n}() {{}}\n"));
        fixture.ingest();
    }
    let pages: Vec<Value> = all
        .iter()
        .map(|server| {
            let (status, page) = server.json(&format!("/search?q=needle&limit=5&cursor={next}"));
            assert_eq!(status, 200, "{page}");
            page["files"].clone()
        })
        .collect();
    assert_eq!(pages[0], pages[1]);
    assert_eq!(pages[0][0]["path"], "b.rs");
    assert_eq!(pages[0].as_array().unwrap().len(), 1, "{}", pages[0]);
    // What one has just heard of, the other reads, too.
    for n in 0..2 {
        fixture.write("one/d.rs", format!("fn needle_{n}() {{}}\n"));
        fixture.ingest();
        let next = all[n % 2].json("/search?q=needle&limit=1").1["next"].clone();
        let next = next.as_str().unwrap().to_owned();
        let (status, page) =
            all[1 - n % 2].json(&format!("/search?q=needle&limit=5&cursor={next}"));
        assert_eq!(status, 200, "{page}");
    }
}

fn watching(fixture: &Fixture, settings: &Path, options: &[&str]) -> Server {
    let args = ["serve", "--watch", "--listen", "127.0.0.1:0"];
    let mut command = fixture.command(&[&args, options].concat());
    command.env("CODESEARCH_SETTINGS", settings);
    Server::start(command)
}

#[test]
fn one_server_ingests_and_delivers_and_another_goes_on() {
    let fixture = indexed();
    let receiver = Target::start();
    let settings = fixture.path().join("settings.toml");
    std::fs::write(&settings, "[monitor]\nallow = [\"127.0.0.1\"]\n").unwrap();
    let mut add = fixture.command(&["monitor", "add", "m", "needle", "--webhook", &receiver.url()]);
    assert!(add.env("CODESEARCH_SETTINGS", &settings).status().unwrap().success());
    let mut server = watching(&fixture, &settings, &[]);
    let is_leader = |server: &Server| leader(&fixture) == Some(server.address.to_string());
    eventually("it leads", || is_leader(&server));
    // Killed, or told to stop: the next one takes what is queued, and delivers what the one before may not have.
    for n in 0..3 {
        let next = watching(&fixture, &settings, &["--drain", "1m"]);
        receiver.says(HELD);
        fixture.write("one/b.rs", format!("fn needle_{n}() {{}}\n"));
        let first = receiver.next();
        assert!(is_leader(&server));
        if n == 1 {
            terminate(&server);
        } else {
            server.child.kill().unwrap();
        }
        receiver.says("200 OK");
        eventually("the other one leads", || is_leader(&next));
        let again = receiver.next();
        assert_eq!(again.header("webhook-id"), first.header("webhook-id"), "{n}");
        assert_eq!(again.body, first.body);
        fixture.write("one/c.rs", format!("fn after_{n}() {{}}\n"));
        eventually("changes are ingested", || {
            next.search(&format!("lit:after_{n}"))["stats"]["files"] == 1
        });
        if n == 1 {
            // It still answers, and says that it goes.
            let (status, headers, body) = server.ask("/readyz", &[]);
            assert!(status == 503 && body.contains("about to stop"), "{body}");
            assert_eq!(headers["connection"], "close");
            assert_eq!(server.search("needle")["stats"]["complete"], true);
            assert!(servers(&fixture).iter().any(|of| of["draining"] == true));
            terminate(&server);
            eventually("it ends", || server.child.try_wait().unwrap().is_some());
        }
        server = next;
    }
    let ended = "select count(*) from deliveries where state <> 'delivered'";
    eventually("all are acknowledged", || fixture.sql::<i64>(ended) == 0);
    let told = fixture.run(&["db", "servers"]).code(0).out;
    assert!(told.contains("ADDRESS") && told.contains(" ingests"), "{told}");
    drop(server);
    fixture.run(&["db", "servers"]).code(1);
}

#[test]
fn who_names_nothing_to_ingest_any_more_leaves_the_lead_to_others() {
    let fixture = indexed();
    let named = "[git.other]\nurls = [\"file:///nosuch\"]\n[mirror]\ninto = \"clones\"\n";
    fixture.write("c.toml", named);
    let first = fixture.serve_with(&["--settings", "c.toml"]);
    let is_leader = |server: &Server| leader(&fixture) == Some(server.address.to_string());
    eventually("it leads", || is_leader(&first));
    let other = fixture.serve_with(&["--watch"]);
    fixture.write("c.toml", "");
    eventually("the other one leads", || is_leader(&other));
    fixture.write("one/b.rs", "fn needle_after() {}\n");
    eventually("changes are ingested", || first.search("lit:needle_after")["stats"]["files"] == 1);
}

#[test]
fn monitors_go_on_with_the_groups_that_any_server_heard_of_last() {
    let fixture = indexed();
    fixture.run(&["monitor", "add", "m", "needle"]).code(0);
    fixture.exec("update monitors set owner = 'ann'");
    let options = ["--trust-user-header", "X-User", "--trust-groups-header", "X-Groups"];
    let options = [&options[..], &["--proxy-network", "127.0.0.0/8"]].concat();
    let all = [fixture.serve_with(&options), fixture.serve_with(&options)];
    // Each has heard of its groups before, and cannot know that the other one has heard of others since.
    for (at, groups) in [(0, "old"), (1, "new"), (0, "old"), (1, "new")] {
        eventually(&format!("{groups} is noted"), || {
            let headers = [("x-user", "ann"), ("x-groups", groups)];
            assert_eq!(all[at].ask("/search?q=needle", &headers).0, 200);
            fixture.sql::<String>("select owner_groups::text from monitors")
                == format!("{{{groups}}}")
        });
    }
}

#[test]
fn a_rolling_restart_loses_no_request() {
    let fixture = indexed();
    let start = || fixture.serve_with(&["--drain", "500ms"]);
    let mut all = [start(), start()];
    // A load balancer: it looks who is ready, keeps connections, and sends each request to the next one.
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let answered = |all: &[Server; 2], n: usize| {
        let is_ready = |server: &&Server| {
            let asked = agent.get(format!("http://{}/readyz", server.address)).call();
            asked.is_ok_and(|answer| answer.status() == 200)
        };
        let ready: Vec<&Server> = all.iter().filter(is_ready).collect();
        let server = ready[n % ready.len()];
        let url = format!("http://{}/search?q=needle", server.address);
        let mut answer = agent.get(&url).call().unwrap();
        assert_eq!(answer.status(), 200);
        let mut body = String::new();
        answer.body_mut().as_reader().read_to_string(&mut body).unwrap();
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(answer["stats"]["files"], 2, "{body}");
    };
    for round in 0..4 {
        let at = round % 2;
        terminate(&all[at]);
        let mut n = 0;
        while all[at].child.try_wait().unwrap().is_none() {
            answered(&all, n);
            n += 1;
        }
        assert!(n > 0);
        all[at] = start();
        for n in 0..4 {
            answered(&all, n);
        }
    }
}

#[test]
fn a_server_says_that_a_newer_version_has_upgraded_the_index() {
    let fixture = indexed();
    let server = fixture.serve();
    // A later migration that disturbs nobody.
    fixture.exec(
        "insert into _sqlx_migrations (version, description, success, checksum, execution_time)
         values (99999, 'later', true, '', 0)",
    );
    let rejoin = "select bool_or(pg_terminate_backend(backend, 10000)) from servers";
    assert!(fixture.sql::<bool>(rejoin));
    eventually("it joins again", || servers(&fixture).len() == 1);
    assert_eq!(server.get("/readyz", "*/*").0, 200);
    assert_eq!(fixture.search(&["needle"]).len(), 2);
    fixture.ingest();
    fixture.serve().stop();
    // One that does.
    fixture.exec("update state set oldest_program = 99999");
    let ran = fixture.run(&["repos"]);
    let told =
        "the index was upgraded by a newer version of codesearch (migration 99999; this one knows ";
    assert!(ran.status.code() == Some(2) && ran.err.contains(told), "{}", ran.err);
    assert!(fixture.sql::<bool>(rejoin));
    eventually("it says so", || {
        let (status, _, body) = server.get("/readyz", "*/*");
        status == 503 && body.contains(told)
    });
}
