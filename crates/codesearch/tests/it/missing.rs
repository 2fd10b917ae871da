//! What is asked while a node of the index does not answer: nothing that is told differs from the whole answer without saying
//! so. On plain Postgres, reading the tables of a shard fails as reading those of a lost node does.

use serde_json::{Value, json};

use crate::agents::Agent;
use crate::harness::{Fixture, Ran, Server, citus, eventually};
use crate::view::{
    addresses, answer_of, calls, commands, compared, import, lines, plain, write_repo,
};

/// The tables of a shard alone.
const TABLES: [&str; 5] = ["chunks", "documents", "files", "docs", "symbols"];

/// How answers and errors tell it.
const TELLS: [&str; 4] =
    ["does not answer", "shard_error", "could not be searched", "\"missing\":{"];

/// How that of livegrep does, which has no other word.
const LIVEGREP: &str = "\"why\":\"TIMEOUT\"";

/// An index of four repositories, each in a shard of its own but for what they have in common.
fn ingested() -> Fixture {
    let fixture = Fixture::new();
    for name in ["seen-one", "seen-two"] {
        write_repo(&fixture, name, "only_seen");
    }
    for name in ["hidden-one", "hidden-two"] {
        write_repo(&fixture, name, "only_hidden");
    }
    fixture.ingest_over(4);
    fixture.run(&["symbols"]).code(0);
    import(&fixture, "seen-one");
    import(&fixture, "hidden-one");
    fixture.run(&["monitor", "add", "needles", "needle"]).code(0);
    fixture
}

/// The lost part of an index, which is there again when this is dropped.
struct Lost<'f>(&'f Fixture, String);

impl<'f> Lost<'f> {
    /// Loses the shard with the files of a repository. Reads of it are counted.
    fn shard(fixture: &'f Fixture) -> Self {
        let (mut lose, mut find) = (String::new(), String::new());
        let shard: i16 = fixture.sql(
            "select shard from files f join repos r on r.id = f.repo where r.name = 'hidden-one' and f.path = 'a.rs'",
        );
        lose += "create sequence reads;
        create function lost_node() returns boolean language plpgsql as $$ begin
            if current_setting('transaction_read_only') = 'off' then perform nextval('codesearch.reads'); end if;
            raise exception 'connection to the remote node codesearch@ten:5432 failed with the following error: gone'
                using errcode = '08006';
        end $$;";
        for table in TABLES.map(|table| format!("{table}_{shard:03}")) {
            lose += &format!(
                "alter table {table} rename to kept_{table};
                 create view {table} as select k.* from kept_{table} k where (select lost_node());"
            );
            find += &format!("drop view {table}; alter table kept_{table} rename to {table};");
        }
        fixture.exec(&lose);
        Self(fixture, find + "drop function lost_node(); drop sequence reads")
    }

    /// Loses a node of Citus.
    fn node(fixture: &'f Fixture) -> Self {
        citus::refuse(5434, &fixture.index);
        Self(fixture, String::new())
    }
}

impl Drop for Lost<'_> {
    fn drop(&mut self) {
        match citus::programs() {
            Some(_) => citus::admit(5434, &self.0.index),
            None => self.0.exec(&self.1),
        }
    }
}

fn tells(text: &str) -> bool {
    TELLS.iter().any(|words| text.contains(words))
}

/// Returns whether an answer calls itself whole, although it is not. A search that is whole may be followed by an answer in words
/// that is not.
fn is_called_whole(now: &str, before: &str) -> bool {
    let parts = |body: &str| {
        let mut search: Value = serde_json::from_str(body).unwrap_or_default();
        let words = search.as_object_mut().and_then(|search| search.remove("by_words"));
        (search, words)
    };
    let (search, words) = parts(now);
    let follows = words.is_some_and(|words| words["stats"]["complete"] == false);
    now.contains("\"complete\":true") && !(follows && search == parts(before).0)
}

/// Checks all endpoints, tools and commands before, while and after a part of the index is lost.
fn check<'f>(fixture: &'f Fixture, begin: fn(&'f Fixture) -> Lost<'f>) {
    // Completions claim nothing; the others are about no shards.
    let claims = |address: &String| !address.starts_with("/suggest");
    let addresses: Vec<String> = addresses().into_iter().filter(claims).collect();
    let ask_all = |server: &Server| -> Vec<(u16, String, String)> {
        let ask = |accept| {
            // Pages with all results.
            let rest = if accept == "text/html" { "&wait=1" } else { "" };
            let ask = move |address: &String| {
                let rest = if address.starts_with("/search?") { rest } else { "" };
                compared(server, fixture, &format!("{address}{rest}"), &[("accept", accept)])
            };
            addresses.iter().map(ask).collect::<Vec<_>>()
        };
        [ask("application/json"), ask("text/html")].concat()
    };
    let call_all = |agent: &mut Agent| -> Vec<(Value, String, String)> {
        let call = |(tool, arguments): (&str, Value)| {
            let meta = json!({ "codesearch/structured": true });
            let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
            answer_of(&agent.ask("tools/call", &params), fixture)
        };
        calls().into_iter().map(call).collect()
    };
    let commands: Vec<Vec<String>> = commands()
        .into_iter()
        .filter(|args| !["-l", "-c", "--sort"].contains(&args.get(1).map_or("", String::as_str)))
        .collect();
    let run_all = || -> Vec<(Option<i32>, String, String)> {
        let run = |args: &Vec<String>| {
            let ran = fixture.run(args);
            let told = [ran.out, ran.err].map(|text| lines(&plain(&text, fixture)).join("\n"));
            let [out, err] = told;
            (ran.status.code(), out, err)
        };
        commands.iter().map(run).collect()
    };
    let whole = {
        let server = fixture.serve();
        (ask_all(&server), call_all(&mut Agent::of(fixture)), run_all())
    };
    let (server, mut wrong) = (fixture.serve_with(&["--cache", "0"]), Vec::new());
    let mut agent = Agent::of(fixture);
    let lost = begin(fixture);
    let mut told = 0;
    let all = ask_all(&server);
    for (at, (before, now)) in whole.0.iter().zip(&all).enumerate() {
        if now == before {
            continue;
        }
        told += 1;
        // An answer that is not whole says so, and nothing is said to be absent or to be an error of the program.
        let (address, (status, _, body)) = (&addresses[at % addresses.len()], now);
        let is_told = tells(body) || body.contains(LIVEGREP);
        // A page with nothing but other hints, which need searches of their own.
        let of_json = at % addresses.len();
        let is_hint = address.starts_with("/search?") && whole.0[of_json] == all[of_json];
        if !is_told && !is_hint || ![200, 503].contains(status) || is_called_whole(body, &before.2)
        {
            wrong.push(format!("{address}\n{before:?}\n{now:?}"));
        }
    }
    for path in ["/", "/stats", "/repos", "/metrics", "/healthz", "/readyz", "/monitors"] {
        for accept in ["application/json", "text/html"] {
            let (status, _, body) = server.get(path, accept);
            assert!([200, 503].contains(&status), "{path}: {status} {body}");
        }
    }
    for ((call, before), now) in calls().iter().zip(&whole.1).zip(call_all(&mut agent)) {
        if now != *before {
            told += 1;
            // An answer with nothing but other hints.
            let hints = |line: &&str| {
                line.is_empty() || line.starts_with("- ") || *line == "Other queries:"
            };
            let before_hints: Vec<&str> = before.1.lines().filter(|line| !hints(line)).collect();
            let is_hint = now.0 == before.0 && before_hints.join("\n") == now.1;
            if !is_hint && (!tells(&now.1) || now.1.contains("That is all")) {
                wrong.push(format!("{call:?}\n{before:?}\n{now:?}"));
            }
        }
    }
    for ((command, before), now) in commands.iter().zip(&whole.2).zip(run_all()) {
        if now != *before {
            told += 1;
            if !tells(&now.2) || now.0 != Some(2) {
                wrong.push(format!("{command:?}\n{before:?}\n{now:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {told}: {}", wrong.len(), wrong.join("\n\n"));
    assert!(told > 100, "only {told} answers need the lost part");
    // Whoever does not see all repositories is told of no node.
    let mut restricted = fixture.command(&["search", "--limit", "0", "needle"]);
    restricted.env("CODESEARCH_REPOS", "hidden");
    let ran = Ran::of(restricted.output().unwrap()).code(2);
    let said: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("codesearch:")).collect();
    assert_eq!(said.len(), 1, "{}", ran.err);
    assert!(said[0].ends_with("was not searched: a node of it does not answer"), "{}", ran.err);
    drop(lost);
    // Nothing of the lost part is remembered as empty.
    eventually("all files are known again", || {
        let search = server.json("/search?q=needle").1;
        server.json("/files?q=a.rs&limit=100").1["complete"] == true
            && search["stats"]["complete"] == true
    });
    for (address, before) in addresses.iter().zip(&whole.0) {
        let now = compared(&server, fixture, address, &[("accept", "application/json")]);
        if now != *before {
            wrong.push(format!("afterwards: {address}\n{before:?}\n{now:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn no_answer_hides_a_lost_shard() {
    if citus::programs().is_some() {
        println!("left out: on Citus, a node is lost");
        return;
    }
    check(&ingested(), Lost::shard);
}

#[test]
fn no_answer_hides_a_lost_node() {
    if citus::is_absent() {
        return;
    }
    check(&ingested(), Lost::node);
}

#[test]
fn a_lost_shard_whose_symbols_are_pending_is_missing() {
    let fixture = Fixture::new();
    for name in ["seen-one", "hidden-one"] {
        fixture.write(&format!("{name}/a.rs"), format!("fn needle_{}() {{}}\n", &name[..4]));
    }
    fixture.ingest_over(2);
    let server = fixture.serve_with(&["--cache", "0"]);
    let lost = match citus::programs() {
        Some(_) => Lost::node(&fixture),
        None => Lost::shard(&fixture),
    };
    let (status, answer) = server.json("/search?q=sym:needle&limit=0");
    assert_eq!((status, &answer["stats"]["complete"]), (200, &json!(false)), "{answer}");
    assert_eq!(answer["stats"]["missing"]["shards"], 1, "{answer}");
    drop(lost);
}

#[test]
fn monitors_wait_for_a_lost_shard() {
    if citus::programs().is_some() {
        println!("left out: on Citus, a node is lost");
        return;
    }
    let fixture = Fixture::new();
    fixture.write("hidden-one/a.rs", "nothing\n");
    fixture.write("other/a.rs", "nothing\n");
    fixture.ingest();
    fixture.run(&["monitor", "add", "needles", "needle"]).code(0);
    fixture.write("hidden-one/a.rs", "a needle\n");
    fixture.write("other/a.rs", "another needle\n");
    fixture.ingest();
    // As if the ingest had ended before it looked.
    fixture.exec("delete from deliveries; delete from monitor_news; update monitor_epoch set epoch = epoch - 1");
    let lost = Lost::shard(&fixture);
    let server = fixture.serve_with(&["--cache", "0"]);
    // Nothing else reads it, and whoever looks tries again.
    eventually("the monitor was looked at twice", || {
        fixture.sql::<i64>("select last_value from reads") >= 2
    });
    let news = || server.json("/monitors/needles").1["news"].clone();
    assert_eq!(news(), json!([]));
    drop(lost);
    eventually("the news are there", || news() != json!([]));
    let news = news();
    assert_eq!((&news[0]["appeared"], &news[0]["disappeared"]), (&json!(2), &json!(0)), "{news}");
    assert_eq!(news.as_array().unwrap().len(), 1, "{news}");
}

/// After a rebuild of a lost node, all shards answer; the repositories that had files there lack them.
#[test]
fn no_answer_hides_files_of_a_lost_node() {
    let fixture = Fixture::new();
    for name in ["lacking-one", "whole"] {
        fixture.write(&format!("{name}/a.rs"), "// a needle\n");
        fixture.write(&format!("{name}/README.md"), "# A needle\n");
    }
    fixture.ingest();
    fixture.exec(
        "update repos set lost = 'ten:5432', failure = 'a node of the index is lost', failures = 1,
             failed_at = clock_timestamp() where name = 'lacking-one'",
    );
    let server = fixture.serve();
    let mut agent = Agent::of(&fixture);
    let why = "lacks files of a lost node";
    for asked in ["", "&repo=lacking", "&repo=LACK"] {
        let (status, answer) = server.json(&format!("/files?q=a.rs{asked}"));
        assert_eq!((status, &answer["complete"]), (200, &json!(false)), "{asked}: {answer}");
        let (_, _, page) = server.get(&format!("/files?q=a.rs{asked}"), "text/html");
        assert!(page.contains(why), "{asked}: {page}");
    }
    assert_eq!(server.json("/files?q=a.rs&repo=whole").1["complete"], true);
    let ran = fixture.run(&["files", "a.rs"]).code(2);
    assert!(ran.err.contains(why) && ran.out.contains("whole/a.rs"), "{}{}", ran.out, ran.err);
    let (_, told) = agent.call("find_file", &json!({ "typed": "a.rs" }));
    assert!(told.contains(why), "{told}");
    for address in ["/docs?q=needle", "/ask?q=needle"] {
        let (_, answer) = server.json(address);
        assert!(answer.to_string().contains("\"complete\":false"), "{address}: {answer}");
        let (_, _, page) = server.get(address, "text/html");
        assert!(page.contains(why) && !page.contains("server's log"), "{address}: {page}");
    }
    let checked = fixture.run(&["check"]).code(1).out;
    let problem =
        "lacking-one lacks files of a lost node; run: codesearch ingest --now lacking-one";
    assert!(checked.contains(problem), "{checked}");
    // What is there is shown; of nothing else is it said that it is not there.
    let there = server.get("/file?repo=lacking-one&path=a.rs", "text/html");
    assert!(there.0 == 200 && there.2.contains(why), "{there:?}");
    for address in ["/file?repo=lacking-one&path=b.rs", "/repos?repo=lacking-one&path=src"] {
        for accept in ["application/json", "text/html"] {
            let (status, _, body) = server.get(address, accept);
            assert_eq!(status, 503, "{address}: {body}");
            assert!(body.contains(why) && body.contains("ingest --now lacking-one"), "{body}");
        }
        assert_eq!(server.get(&address.replace("lacking-one", "whole"), "text/html").0, 404);
    }
    let (is_error, told) =
        agent.call("read_file", &json!({ "repo": "lacking-one", "path": "b.rs" }));
    assert!(is_error && told.contains(why), "{told}");
    fixture.ingest();
    assert_eq!(server.json("/file?repo=lacking-one&path=b.rs").0, 404);
    assert!(fixture.sql::<bool>("select bool_and(lost is null) from repos"));
    assert_eq!(fixture.run(&["files", "a.rs"]).code(0).err, "");
}
