//! Mirrors without end: what hosts tell by webhooks is fetched at once.

use std::process::Stdio;

use super::Mirrored;
use super::host::Kind;
use crate::harness::eventually;

#[test]
fn a_push_that_a_host_tells_of_is_fetched_at_once() {
    let mirrored = Mirrored::of(Kind::GitHub);
    let host = &mirrored.host;
    let one = host.add("org", "one", "a.txt", "needle\n");
    let mut command =
        mirrored.fixture.command(&["mirror", "--settings", "codesearch.toml", "--every", "24h"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("it is indexed", || mirrored.fixture.run(&["search", "needle"]).status.success());
    // The listing is not asked again for a day.
    host.requests();
    host.push(one, "main", "b.txt", "needle pushed\n");
    let folder = std::fs::canonicalize(mirrored.clone(one)).unwrap();
    mirrored.fixture.exec(&format!(
        "insert into pending (source, reason) values ('{}', 'hook'); select pg_notify('codesearch_pending', '')",
        folder.display()
    ));
    eventually("the push is found", || mirrored.found("pushed").len() == 1);
    assert!(host.requests().is_empty());
    assert_eq!(mirrored.fixture.sql::<i64>("select count(*) from pending"), 0);
    // A host that tells of an unknown repository is listed at once.
    host.add("org", "new", "a.txt", "needle new\n");
    mirrored.fixture.exec("update mirror_hosts set wanted = true");
    eventually("the new one is found", || mirrored.found("new").len() == 1);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_ingest_leaves_to_a_mirror_what_a_host_tells() {
    let mirrored = Mirrored::of(Kind::GitHub);
    let one = mirrored.host.add("org", "one", "a.txt", "needle\n");
    mirrored.mirror(&[]).code(0);
    mirrored.host.push(one, "main", "b.txt", "needle pushed\n");
    let folder = std::fs::canonicalize(mirrored.clone(one)).unwrap();
    mirrored.fixture.exec(&format!(
        "insert into pending (source, reason) values ('{}', 'hook')",
        folder.display()
    ));
    // Another ingest takes what is due, but not that.
    mirrored.fixture.write("plain/x/a.txt", "needle\n");
    mirrored.fixture.run(&["ingest", "--now", "plain"]);
    assert_eq!(
        mirrored.fixture.sql::<i64>("select count(*) from pending where reason = 'hook'"),
        1
    );
    mirrored.mirror(&[]).code(0);
    assert_eq!(mirrored.found("pushed"), ["org/one/b.txt"]);
    assert_eq!(mirrored.fixture.sql::<i64>("select count(*) from pending"), 0);
}

#[test]
fn a_server_mirrors_by_itself() {
    let mirrored = Mirrored::of(Kind::Gitea);
    let one = mirrored.host.add("org", "one", "a.txt", "needle\n");
    let server = mirrored.fixture.serve_with(&["--settings", "codesearch.toml"]);
    // Before the first ingest, it has nothing to search.
    let files = |word: &str| {
        let (status, answer) = server.json(&format!("/search?q={word}&limit=0"));
        if status == 200 { answer["files"].as_array().unwrap().len() } else { 0 }
    };
    eventually("it is indexed", || files("needle") == 1);
    mirrored.host.push(one, "main", "b.txt", "needle pushed\n");
    let folder = std::fs::canonicalize(mirrored.clone(one)).unwrap();
    mirrored.fixture.exec(&format!(
        "insert into pending (source, reason) values ('{}', 'hook'); select pg_notify('codesearch_pending', '')",
        folder.display()
    ));
    eventually("the push is found", || files("pushed") == 1);
    // A host that is added to the file is mirrored, too.
    let two = mirrored.host.add("user-ann", "two", "a.txt", "needle two\n");
    mirrored.configure("take = [\"org\", \"user-ann\"]");
    mirrored.fixture.exec("update mirror_hosts set wanted = true");
    eventually("the other one is indexed", || files("two") == 1);
    assert!(mirrored.clone(two).exists());
    server.stop();
}
