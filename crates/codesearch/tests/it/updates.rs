//! Repeated ingests: changes, interruptions, and concurrent searches.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::equality::copy;
use crate::harness::{Fixture, citus, eventually};
use crate::private_postgres::Home;

/// Stopped processes, which continue when dropped.
struct Halted(Vec<String>);

impl Halted {
    fn new<T: ToString>(pids: &[T]) -> Self {
        let pids: Vec<String> = pids.iter().map(T::to_string).collect();
        assert!(Command::new("kill").arg("-STOP").args(&pids).status().unwrap().success());
        Self(pids)
    }
}

impl Drop for Halted {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg("-CONT").args(&self.0).status();
    }
}

/// Checks the case that a commit is lost in a crash because it was not flushed, and its epoch's number is reused.
#[test]
fn an_epoch_is_on_disk_before_anyone_is_told() {
    let home = Home::new();
    home.ingest();
    let mut hold =
        home.command(&["db", "hold"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    eventually("the server runs", || home.pid().is_some());
    let sql = |sql: &str| home.sql_texts(sql).into_iter().next();
    let text = |statement: &str| sql(statement).unwrap().into_os_string().into_string().unwrap();
    sql("create table told (lsn pg_lsn)");
    sql("create function note() returns trigger language plpgsql as
         $$ begin insert into told values (pg_current_wal_insert_lsn()); return null; end $$");
    sql("create trigger note after insert on switches for each row execute function note()");
    sql("checkpoint");
    {
        // No other process flushes the log. One that is flushing when it stops would block all others.
        let of_writer = |what: &str| {
            text(&format!("select {what} from pg_stat_activity where backend_type = 'walwriter'"))
        };
        let _halted = loop {
            let halted = Halted::new(&[of_writer("pid::text")]);
            if of_writer("coalesce(wait_event, '')") == "WalWriterMain" {
                break halted;
            }
        };
        fs::write(home.folder().join("r/b.txt"), "new\n").unwrap();
        home.ingest();
        let flushed =
            "select bool_and(lsn < pg_current_wal_flush_lsn())::text || count(*) from told";
        assert_eq!(text(flushed), "true1");
    }
    hold.kill().unwrap();
    hold.wait().unwrap();
}

#[test]
fn changes_are_reflected_and_nothing_else_is_read() {
    let fixture = Fixture::new();
    for n in 0..20 {
        fixture.write(&format!("r/{n}.txt"), format!("number {n}\n"));
    }
    fixture.ingest();
    // A file that changed a moment ago could change again without a new modification time, so it is read again until it
    // is old enough.
    fixture.ingest_until_known();
    let epoch = |fixture: &Fixture| fixture.sql::<i32>("select epoch from state");
    let before = epoch(&fixture);
    let out = fixture.ingest().out;
    assert!(
        out.contains("20 files seen in 1 repository: 0 read, 0 new or changed, 0 gone"),
        "{out}"
    );
    assert_eq!(epoch(&fixture), before);

    fixture.write("r/3.txt", "number three\n");
    fixture.write("r/new.txt", "number new\n");
    fs::remove_file(fixture.path().join("r/4.txt")).unwrap();
    fs::rename(fixture.path().join("r/5.txt"), fixture.path().join("r/five.txt")).unwrap();
    // Touched, but with the same contents.
    fixture.write("r/6.txt", "number 6\n");
    // A text file that becomes binary.
    fixture.write("r/7.txt", b"number\x007\n");
    let out = fixture.ingest().out;
    assert!(
        out.contains("20 files seen in 1 repository: 5 read, 3 new or changed, 4 gone or changed"),
        "{out}"
    );
    assert_eq!(
        fixture.search(&["\"number (three|new|[3-7]$)\""]),
        [
            "r/3.txt:1:number three",
            "r/6.txt:1:number 6",
            "r/five.txt:1:number 5",
            "r/new.txt:1:number new"
        ]
    );
    fixture.check_invariants();
    // And back.
    fixture.write("r/7.txt", "number 7\n");
    fixture.ingest();
    assert_eq!(fixture.search(&["-e", "number 7"]), ["r/7.txt:1:number 7"]);
    assert!(!fixture.ingest().out.contains("left out"));
    assert!(
        fixture
            .run(&["ingest", "--again", "--depth", "1", "."])
            .code(0)
            .out
            .contains("20 read, 0 new")
    );
    fixture.check_invariants();
}

#[test]
fn a_repository_is_seen_before_or_after_never_mixed() {
    let fixture = Fixture::new();
    let files = 200;
    let write = |version: &str| {
        for n in 0..files {
            let text = format!("file {n}\n{}version-{version}\n", "filler\n".repeat(n % 50));
            fixture.write(&format!("r/{n}.txt"), text);
        }
    };
    write("a");
    fixture.ingest();
    let server = fixture.serve();
    let done = AtomicBool::new(false);
    let seen = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        let searching = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let (status, answer) = server.json("/search?q=version-.&limit=0");
                assert_eq!(status, 200, "{answer}");
                let files_ = answer["files"].as_array().unwrap();
                assert_eq!(files_.len(), files, "a file is missing or there twice");
                let mut versions: Vec<&str> =
                    files_.iter().map(|f| f["matches"][0]["text"].as_str().unwrap()).collect();
                versions.sort_unstable();
                versions.dedup();
                assert_eq!(versions.len(), 1, "two versions in one answer");
                seen.lock().unwrap().insert(versions[0].to_owned());
            }
        });
        for version in ["b", "c", "d", "e"] {
            write(version);
            fixture.ingest();
        }
        eventually("the last version is seen", || {
            searching.is_finished() || seen.lock().unwrap().contains("version-e")
        });
        done.store(true, Ordering::Relaxed);
    });
    let seen = seen.into_inner().unwrap();
    assert!(seen.len() > 1, "the searches saw only {seen:?}");
    drop(server);
    fixture.ingest();
    fixture.check_invariants();
}

#[test]
fn what_a_search_still_reads_is_not_deleted() {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "old text\n");
    fixture.ingest();
    let server = fixture.serve();
    assert_eq!(server.json("/search?q=text").1["stats"]["matches"], 1);
    // The server holds the epoch of its last search until it looks for a newer one.
    fixture.write("r/a.txt", "new text\n");
    fixture.ingest();
    assert_eq!(server.json("/search?q=text").1["files"][0]["matches"][0]["text"], "new text");
    drop(server);
    fixture.ingest();
    assert_eq!(fixture.sql::<i64>("select count(*) from files"), 1);
    assert_eq!(fixture.sql::<i64>("select count(*) from blobs"), 1);
    fixture.check_invariants();
}

#[test]
fn an_epoch_that_was_lost_is_not_taken_for_the_next_with_its_number() {
    if citus::leaves_out("a copy of the coordinator is not one of its nodes") {
        return;
    }
    let (fixture, beside) = (Fixture::new(), Fixture::new());
    beside.run(&["init", "--shards", "1"]).code(0);
    fixture.write("r/a.txt", "alpha\n");
    fixture.ingest();
    let index = &fixture.index;
    eventually("nobody else is connected", || {
        let others = "select count(*) from pg_stat_activity
                      where datname = current_database() and pid <> pg_backend_pid()";
        fixture.sql::<i64>(others) == 0
    });
    beside.exec(&format!("create database {index}_before template {index}"));
    let server = fixture.serve();
    fixture.write("r/a.txt", "gamma\n");
    fixture.ingest();
    server.settle();
    eventually("it is found", || server.search("gamma")["stats"]["files"] == 1);
    server.settle();
    // The state after a crash that lost the last commits, or after restoring a backup.
    beside.exec(&format!("drop database {index} with (force)"));
    beside.exec(&format!("alter database {index}_before rename to {index}"));
    fixture.write("r/a.txt", "delta\n");
    fixture.ingest();
    assert_eq!(fixture.sql::<i32>("select epoch from state"), 2);
    eventually("the other text is found", || {
        let (status, answer) = server.json("/search?q=delta");
        assert!(status == 503 || status == 200, "{answer}");
        status == 200 && answer["stats"]["files"] == 1
    });
    assert_eq!(server.search("gamma")["stats"]["files"], 0);
    server.settle();
    assert_eq!(server.search("gamma")["stats"]["files"], 0);
    assert_eq!(server.search("delta")["stats"]["files"], 1);
    fixture.check_invariants();
}

#[test]
fn a_text_that_is_not_whole_is_no_answer() {
    let fixture = Fixture::new();
    let lines = "a line of the text\n".repeat(2000);
    fixture.write("r/a.txt", lines);
    fixture.write("r/b.txt", "another text\n");
    fixture.ingest();
    let server = fixture.serve_with(&["--cache", "0"]);
    assert_eq!(server.get("/file?repo=r&path=a.txt", "text/plain").0, 200);
    fixture.exec_each(
        "chunks",
        "delete from {} c using blobs b
         where c.shard = b.shard and b.chunks > 2 and c.n = b.id + 1",
    );
    let (status, _, body) = server.get("/file?repo=r&path=a.txt", "text/html");
    assert!(status == 500 && body.contains("the index is damaged"), "{status} {body}");
    assert_eq!(server.get("/file?repo=r&path=b.txt", "text/html").0, 200);
    let ran = fixture.run(&["search", "--brute", "nowhere_at_all"]).code(2);
    assert!(ran.err.contains("the index is damaged"), "{}", ran.err);
    let ran = fixture.run(&["search", "text.*\\n.*text"]).code(2);
    assert!(ran.err.contains("incomplete"), "{}", ran.err);
}

#[test]
fn a_stuck_connection_that_holds_the_epoch_is_given_up() {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "alpha\n");
    fixture.ingest();
    let server = fixture.serve();
    server.settle();
    let holder = "select pid from pg_locks where locktype = 'advisory' and classid::bigint = 1668481025
         and objsubid = 2 and database = (select oid from pg_database where datname = current_database())";
    let pid = fixture.sql::<i32>(holder);
    let halted = Halted::new(&[pid]);
    // The server looks for a newer epoch every two seconds, over that connection first.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(8) {
        for path in ["/readyz", "/search?q=alpha", "/metrics"] {
            let asked = Instant::now();
            assert_eq!(server.get(path, "*/*").0, 200, "{path}");
            assert!(asked.elapsed() < Duration::from_secs(6), "{path}: {:?}", asked.elapsed());
        }
    }
    let now = format!("{holder} and pid <> {pid}");
    assert_ne!(fixture.sql::<i32>(&now), pid);
    drop(halted);
    assert_eq!(server.search("alpha")["stats"]["files"], 1);
}

#[test]
fn a_database_that_falls_silent_holds_no_request() {
    let fixture = Fixture::new();
    fixture.write("r/a.md", "# Alpha\n\nAll about alpha.\n");
    fixture.ingest();
    let server = fixture.serve_with(&["--cache", "0"]);
    let paths =
        ["/docs?q=alpha&timeout=1s", "/file?repo=r&path=a.md", "/search?q=alpha&timeout=1s"];
    for path in paths {
        assert_eq!(server.json(path).0, 200, "{path}");
    }
    // All Postgres processes that serve this server are stopped.
    let stopped = fixture.sql::<Vec<i32>>(
        "select array_agg(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()",
    );
    let halted = Halted::new(&stopped);
    std::thread::scope(|scope| {
        let server = &server;
        let asked = paths.map(|path| scope.spawn(move || server.json(path)));
        for (path, asked) in paths.into_iter().zip(asked) {
            let (status, answer) = asked.join().unwrap();
            let text = answer.to_string();
            // "did not answer", or, if every connection waits already, "does not respond".
            let silent = text.contains("answer") || text.contains("does not respond");
            let said = status == 503 && silent || text.contains("timeout");
            assert!(said || text.contains("a.md"), "{path}: {status} {text}");
        }
    });
    drop(halted);
    eventually("it answers again", || server.json(paths[0]).0 == 200);
}

#[test]
fn a_killed_ingest_is_finished_by_the_next() {
    let fixture = Fixture::new();
    // About 30 MB in many files: copies of this crate's sources, each slightly different.
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for n in 0..120 {
        let folder = fixture.path().join(format!("r{}/copy{n}", n % 7));
        copy(&source, &folder);
        for m in 0..4 {
            let text = format!("{n} {m} {}", include_str!("equality.rs").repeat(4));
            fs::write(folder.join(format!("own{m}.rs")), text).unwrap();
        }
    }
    // Each ingest is killed a little later than the previous one: as soon as this condition holds in the database.
    fixture.run(&["init", "--shards", "4"]).code(0);
    for moment in [
        "true",
        "exists (select from pg_locks where locktype = 'advisory'
             and database = (select oid from pg_database where datname = current_database()))",
        "(select unfinished from state)",
        "exists (select from chunks)",
        "(select count(*) > 1000 from chunks)",
        "(select count(*) > 3000 from chunks)",
        "exists (select from shards where bytes > 0)",
        "exists (select from pg_stat_activity where datname = current_database()
             and query ilike '%create index%' and query not ilike '%pg_stat_activity%')",
        "exists (select from shards where live_from is not null)",
        "(select epoch > 1 from state)",
    ] {
        let mut child = fixture
            .command(&["ingest", "--shards", "4", "--depth", "1", "."])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The ingest may have ended already.
        eventually(moment, || {
            child.try_wait().unwrap().is_some() || fixture.sql::<bool>(&format!("select {moment}"))
        });
        let _ = child.kill();
        child.wait().unwrap();
    }
    let out = fixture.ingest().out;
    assert!(out.contains("in 7 repositories"), "{out}");
    fixture.check_invariants();
    let main = r"^fn main\(\) -> ExitCode";
    let found = fixture.search(&["-c", main]);
    assert_eq!(found, fixture.search(&["-c", "--brute", main]));
    // The files main.rs and lib.rs.
    assert_eq!(found.len(), 120 * 2);
    assert_eq!(fixture.search(&["-l", "fn awkward"]).len(), 120 * 4);
    assert_eq!(fixture.sql::<i64>("select count(*) from repos where indexed_at is not null"), 7);
}

#[test]
fn an_ingest_killed_before_it_publishes_shows_and_loses_nothing() {
    let fixture = Fixture::new();
    fixture.write("a/same.txt", "the same text\n");
    fixture.write("a/other.txt", "old text\n");
    fixture.write("a/gone.txt", "gone text\n");
    fixture.write("a/was.bin", "left\0out");
    fixture.run(&["ingest", "--shards", "3", "a"]).code(0);
    let before = fixture.search(&["text"]);
    let server = fixture.serve();
    fixture.write("a/other.txt", "new text\n");
    fixture.write("a/more.txt", "more text\n");
    fixture.write("a/was.bin", "text now\n");
    fs::remove_file(fixture.path().join("a/gone.txt")).unwrap();
    // The rows of the next epoch are written; now the ingest waits for this table.
    let held = fixture.hold("lock table repos in share row exclusive mode");
    let mut child = fixture.command(&["ingest", "a"]).stdout(Stdio::null()).spawn().unwrap();
    let written = "select count(*) from files, state where valid_from > epoch";
    eventually("the next epoch is written", || fixture.sql::<i64>(written) == 3);
    assert_eq!(fixture.search(&["text"]), before);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(held);
    assert_eq!(fixture.search(&["text"]), before);
    assert_eq!(server.json("/search?q=text").1["stats"]["matches"], before.len());
    assert_eq!(fixture.sql::<i64>(written), 3);
    // The next ingest rolls this one back, and publishes the current files.
    fixture.write("a/more.txt", "even more text\n");
    fixture.run(&["ingest", "a"]).code(0);
    fixture.check_invariants();
    let after = [
        "more.txt:1:even more text",
        "other.txt:1:new text",
        "same.txt:1:the same text",
        "was.bin:1:text now",
    ];
    assert_eq!(fixture.search(&["text"]), after.map(|line| format!("a/{line}")));
    eventually("the server hears of it", || {
        server.json("/search?q=even").1["stats"]["matches"] == 1
    });
}

#[test]
fn two_ingests_wait_for_each_other() {
    let fixture = Fixture::new();
    for n in 0..50 {
        fixture.write(&format!("a/{n}.txt"), format!("a {n}\n"));
        fixture.write(&format!("b/{n}.txt"), format!("b {n}\n"));
    }
    fixture.run(&["init", "--shards", "4"]).code(0);
    let spawn =
        |path: &str| fixture.command(&["ingest", path]).stdout(Stdio::null()).spawn().unwrap();
    let children: Vec<_> = ["a", "b", "a", "b"].into_iter().map(spawn).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(fixture.search(&["-l", "^[ab] "]).len(), 100);
    fixture.check_invariants();
}

#[test]
fn a_file_that_changes_all_the_time_is_there_and_read_again() {
    let fixture = Fixture::new();
    fixture.write("r/steady.txt", "steady\n");
    fixture.write("r/busy.txt", "busy 0\n");
    let path = fixture.path().join("r/busy.txt");
    let gone = fixture.path().join("r/fleeting.txt");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0_u64;
            while !done.load(Ordering::Relaxed) {
                n += 1;
                fs::write(&path, format!("busy {n}\n")).unwrap();
                fs::write(&gone, "fleeting\n").unwrap();
                fs::remove_file(&gone).unwrap();
            }
            fs::write(&path, "busy at last\n").unwrap();
        });
        for _ in 0..5 {
            fixture.ingest();
            assert_eq!(fixture.search(&["-l", "steady"]), ["r/steady.txt"]);
        }
        done.store(true, Ordering::Relaxed);
    });
    fixture.ingest();
    assert_eq!(fixture.search(&["busy"]), ["r/busy.txt:1:busy at last"]);
    fixture.check_invariants();
}

#[test]
fn a_server_knows_a_repository_by_its_new_name() {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "needle\n");
    fixture.commit("r", "one");
    fixture.ingest();
    fixture.ingest_until_known();
    let server = fixture.serve();
    server.settle();
    let names = |server: &crate::harness::Server, query: &str| -> Vec<String> {
        let found = server.search(query);
        let files = found["files"].as_array().unwrap();
        files.iter().map(|file| file["repo"].as_str().unwrap().to_owned()).collect()
    };
    let file = |name: &str, tag: &str| {
        server.ask(&format!("/file?repo={name}&path=a.txt&format=json"), &[("if-none-match", tag)])
    };
    assert_eq!(names(&server, "needle repo:^r$"), ["r"]);
    let tag = file("r", "").1["etag"].to_str().unwrap().to_owned();
    assert_eq!(file("r", &tag).0, 304);
    fixture.git("r", &["remote", "add", "origin", "https://git.example/team/new.git"]);
    let out = fixture.ingest().out;
    assert!(out.contains(": 0 read, 0 new or changed, 0 gone"), "{out}");
    let new = "git.example/team/new";
    crate::harness::eventually("the new name", || names(&server, "needle repo:team/new") == [new]);
    assert_eq!(names(&server, "needle repo:^r$"), [""; 0]);
    assert_eq!((file(new, "").0, file("r", &tag).0), (200, 404));
    assert!(server.get("/suggest?word=repo:team", "*/*").2.contains(new));
}
