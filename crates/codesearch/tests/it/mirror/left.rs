//! A host that the configuration file no longer names.

use serde_json::Value;

use super::Mirrored;
use super::host::Kind;
use crate::harness::eventually;

#[test]
fn a_host_that_leaves_the_configuration_file_is_told_until_it_is_forgotten() {
    let mirrored = Mirrored::of(Kind::GitHub);
    let fixture = &mirrored.fixture;
    mirrored.host.add("org", "one", "a.txt", "needle\n");
    let two = mirrored.host.add("org", "two", "a.txt", "needle\n");
    mirrored.mirror(&[]).code(0);
    let here = format!(
        "[host.work]\nkind = \"github\"\nurl = \"{}\"\ntake = [\"org\"]\n",
        mirrored.host.url
    );
    let other = "[git.other]\nurls = [\"file:///nosuch\"]\n[mirror]\ninto = \"clones\"\n";
    let write = |text: &str| fixture.write("codesearch.toml", text);
    let advice = "codesearch mirror --forget work";

    // While it is named, it is not forgotten.
    write(&format!("{here}{other}"));
    let ran = mirrored.mirror(&["--forget", "work"]).code(2);
    assert!(ran.err.contains("codesearch.toml still names the host work"), "{}", ran.err);

    write(other);
    let ran = mirrored.mirror(&["--dry-run"]).code(0);
    assert!(ran.out.contains("stay   work  org/one"), "{}", ran.out);
    assert!(ran.out.contains(advice), "{}", ran.out);
    assert!(ran.out.contains("besides: 2 repositories, whose host"), "{}", ran.out);
    let untold = "select count(*) from repos where failure is null";
    assert_eq!(fixture.sql::<i64>(untold), 2, "a dry run changes nothing");
    let ran = mirrored.mirror(&[]).code(2);
    assert!(ran.err.contains("no longer names the host work"), "{}", ran.err);
    // Searches find what there is, and tell how old it is.
    assert_eq!(mirrored.found("needle").len(), 2);
    let long = fixture.run(&["repos", "--long"]).code(0).out;
    assert_eq!(long.matches(advice).count(), 2, "{long}");
    let server = fixture.serve();
    let page = server.get("/repos", "text/html").2;
    assert_eq!(page.matches(advice).count(), 2, "{page}");
    let notes = |server: &crate::harness::Server| -> Value {
        server.json("/search?q=needle").1["stats"]["notes"].clone()
    };
    assert!(
        notes(&server).to_string().contains("no longer names its host work"),
        "{}",
        notes(&server)
    );

    // It is named again, and in step.
    write(&format!("{here}{other}"));
    mirrored.mirror(&[]).code(2);
    assert_eq!(fixture.sql::<i64>(untold), 2);
    eventually("the server knows that", || notes(&server).is_null());

    // A server that mirrors tells it, too, when it reads the file.
    mirrored.host.requests();
    let own = fixture.serve_with(&["--settings", "codesearch.toml"]);
    eventually("it mirrors", || !mirrored.host.requests().is_empty());
    write("[watch]\npoll = \"1h\"\n");
    eventually("it is told", || notes(&own).to_string().contains(advice));
    own.stop();

    let ran = mirrored.mirror(&[]).code(2);
    assert!(ran.err.contains("nothing to mirror: ") && ran.err.contains(advice), "{}", ran.err);
    let ran = mirrored.mirror(&["--forget", "wrok"]).code(2);
    assert!(ran.err.contains("no host wrok was mirrored; did you mean work?"), "{}", ran.err);
    let ran = mirrored.mirror(&["--forget", "work"]).code(0);
    assert!(ran.out.contains("forgotten: host work, 2 clones"), "{}{}", ran.out, ran.err);
    assert_eq!(mirrored.found("needle"), [""; 0]);
    assert!(!mirrored.clone(two).exists());
    let rows = "select (select count(*) from mirrors where host = 'work') + (select count(*) from mirror_hosts where name = 'work')";
    assert_eq!(fixture.sql::<i64>(rows), 0);
    let ran = mirrored.mirror(&["--forget", "work"]).code(2);
    assert!(ran.err.contains("no host work was mirrored"), "{}", ran.err);
    fixture.check_invariants();
}
