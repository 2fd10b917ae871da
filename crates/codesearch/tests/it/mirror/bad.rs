//! Hosts that fail: one sentence that says what to do, and the last good state stays.

use super::Mirrored;
use super::host::{Fault, Kind};

#[test]
fn a_listing_that_fails_changes_nothing() {
    let mirrored = Mirrored::of(Kind::GitHub);
    let host = &mirrored.host;
    for n in 0..4 {
        host.add("org", &format!("r{n}"), "a.txt", "needle\n");
    }
    host.world().page = 2;
    mirrored.mirror(&[]).code(0);
    host.delete(2);
    let first = "/orgs/org/repos";
    for (part, fault, expected) in [
        (first, Fault::Status(500, Vec::new()), "answers with status 500; it is asked again later"),
        (first, Fault::Status(401, Vec::new()), "wants a token (status 401); name one with token"),
        (first, Fault::Status(403, Vec::new()), "wants a token (status 403); name one with token"),
        (first, Fault::Odd, "a page of the listing has another shape"),
        (first, Fault::Hang, "does not answer; it is asked again later"),
        ("page=2", Fault::Cut, "ended its answer early"),
        ("page=2", Fault::Status(404, Vec::new()), "a page of the listing is missing"),
        ("page=2", Fault::Status(502, Vec::new()), "answers with status 502"),
        (first, Fault::Elsewhere, "which is another host"),
        (
            first,
            Fault::Status(404, Vec::new()),
            "has no user, group or organisation org, or the token may not see it",
        ),
        ("/repositories/2", Fault::Status(500, Vec::new()), "answers with status 500"),
        (
            first,
            Fault::Status(429, vec![("retry-after", "3600".to_owned())]),
            "has had enough requests; it is asked again in 60 minutes",
        ),
        (
            first,
            Fault::Status(
                403,
                vec![("x-ratelimit-remaining", "0".to_owned()), ("retry-after", "7200".to_owned())],
            ),
            "has had enough requests; it is asked again in 120 minutes",
        ),
    ] {
        // Pages are sent again, not only named.
        mirrored.fixture.exec("delete from mirror_pages");
        host.world().faults.insert(part.to_owned(), fault.clone());
        let ran = mirrored.mirror(&["--patience", "1s"]).code(2);
        let told: Vec<&str> = ran.err.lines().filter(|line| line.contains("host work")).collect();
        assert!(told.len() == 1 && told[0].contains(expected), "{fault:?}: {}", ran.err);
        assert_eq!(mirrored.found("needle").len(), 4, "{fault:?}");
        assert!(mirrored.fixture.sql::<bool>("select failure is not null from mirror_hosts"));
        host.world().faults.clear();
    }
    let ran = mirrored.mirror(&[]).code(0);
    assert!(ran.out.contains("1 hidden"), "{}", ran.out);
    assert!(
        mirrored
            .fixture
            .sql::<bool>("select failure is null and paused_until is null from mirror_hosts")
    );
}

#[test]
fn a_host_that_wants_a_moment_gets_it() {
    let mirrored = Mirrored::of(Kind::GitLab);
    let host = &mirrored.host;
    host.add("org", "one", "a.txt", "needle\n");
    let soon = Fault::Status(429, vec![("retry-after", "1".to_owned())]);
    host.world().once.insert("/groups/".to_owned(), soon);
    mirrored.mirror(&[]).code(0);
    let statuses: Vec<u16> = host.requests().iter().map(|made| made.status).collect();
    assert_eq!(statuses, [429, 200]);
    assert_eq!(mirrored.found("needle").len(), 1);
}

#[test]
fn tokens_that_cannot_be_read_or_are_refused() {
    let mirrored = Mirrored::of(Kind::Gitea);
    mirrored.host.add("org", "one", "a.txt", "needle\n");
    for (token, expected) in [
        ("file:nosuch", "cannot read the secret in "),
        (
            "env:CODESEARCH_NO_SUCH_TOKEN",
            "the variable CODESEARCH_NO_SUCH_TOKEN, which should have a secret, is not set",
        ),
        ("cmd:false", "the command that should print a secret"),
    ] {
        mirrored.configure(&format!("take = [\"org\"]\ntoken = \"{token}\""));
        let ran = mirrored.mirror(&[]).code(2);
        assert!(ran.err.contains(&format!("codesearch: host work: {expected}")), "{}", ran.err);
    }
    mirrored.host.world().token = Some("right".to_owned());
    mirrored.configure("take = [\"org\"]\ntoken = \"cmd:echo wrong\"");
    let ran = mirrored.mirror(&[]).code(2);
    let expected =
        "refuses the token (status 401); check that it has not expired and may read repositories";
    assert!(ran.err.contains(expected), "{}", ran.err);
    mirrored.configure("take = [\"org\"]\ntoken = \"cmd:echo right\"");
    mirrored.mirror(&[]).code(0);
    assert_eq!(mirrored.found("needle").len(), 1);
}

#[test]
fn one_that_cannot_be_cloned_does_not_stop_the_others() {
    let mirrored = Mirrored::of(Kind::GitHub);
    let host = &mirrored.host;
    let large = host.add("org", "large", "a.txt", "needle\n");
    let lost = host.add("org", "lost", "a.txt", "needle\n");
    host.add("org", "fine", "a.txt", "needle\n");
    let huge = host.add("org", "huge", "a.txt", "needle\n");
    host.change(huge, |repo| repo.kilobytes = 1 << 40);
    let ran = mirrored.mirror(&["--dry-run"]).code(0);
    assert!(ran.out.contains("take   work  org/huge"), "{}", ran.out);
    mirrored.configure("take = [\"org/huge\"]");
    let ran = mirrored.mirror(&[]).code(2);
    let expected = "left; free some space, or leave it out with max_size";
    assert!(
        ran.err.contains("codesearch: org/huge: it has ") && ran.err.contains(expected),
        "{}",
        ran.err
    );
    host.delete(huge);
    mirrored.fixture.exec("delete from mirrors");
    // The host says that it is small.
    let noise = (0..60_000_u64).map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let noise = noise.collect::<Vec<_>>().join("\n");
    host.push(large, "main", "noise.txt", &noise);
    host.world().faults.insert("org/lost.git".to_owned(), Fault::Status(500, Vec::new()));
    mirrored.configure("take = [\"org\"]\nmax_size = \"300 KB\"");
    let ran = mirrored.mirror(&[]).code(2);
    assert!(ran.err.contains("codesearch: org/large: it has more than max_size = "), "{}", ran.err);
    assert!(ran.err.contains("codesearch: org/lost: git failed: "), "{}", ran.err);
    assert_eq!(mirrored.found("needle"), ["org/fine/a.txt"]);
    let left: Vec<_> =
        std::fs::read_dir(mirrored.fixture.path().join("clones/work/.new")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    let failures =
        "select count(*) from mirrors where failure is not null and failures = 1 and due > now()";
    assert_eq!(mirrored.fixture.sql::<i64>(failures), 2);
    // They come when they can.
    host.world().faults.clear();
    mirrored.configure("take = [\"org\"]");
    mirrored.mirror(&[]).code(0);
    assert_eq!(mirrored.found("needle").len(), 3);
    assert_eq!(mirrored.fixture.sql::<i64>("select count(*) from mirrors where failures > 0"), 0);
    // One that fails later is told on its repository, and stays in the index.
    host.push(lost, "main", "b.txt", "needle\n");
    host.world().faults.insert("org/lost.git".to_owned(), Fault::Status(401, Vec::new()));
    let ran = mirrored.mirror(&[]).code(2);
    assert!(ran.err.contains("org/lost: the host refuses git, or wants a token"), "{}", ran.err);
    assert_eq!(mirrored.found("needle").len(), 3);
    let failure = "select coalesce(max(failure), '') from repos";
    assert!(mirrored.fixture.sql::<String>(failure).starts_with("the host refuses git"));
    host.world().faults.clear();
    mirrored.mirror(&[]).code(0);
    assert_eq!(mirrored.found("needle").len(), 4);
    assert_eq!(mirrored.fixture.sql::<String>(failure), "");
    mirrored.fixture.check_invariants();
}

#[test]
fn what_is_in_the_way_stays() {
    let mirrored = Mirrored::of(Kind::GitHub);
    let id = mirrored.host.add("org", "one", "a.txt", "needle\n");
    mirrored.fixture.write(&format!("clones/work/{id}.git/precious.txt"), "x\n");
    let ran = mirrored.mirror(&[]).code(2);
    assert!(
        ran.err.contains("is in the way and is no bare clone; move it elsewhere"),
        "{}",
        ran.err
    );
    assert!(mirrored.clone(id).join("precious.txt").exists());
}

#[test]
fn nothing_to_mirror_is_told() {
    let mirrored = Mirrored::of(Kind::GitHub);
    mirrored.fixture.write("codesearch.toml", "");
    let ran = mirrored.mirror(&[]).code(2);
    assert!(
        ran.err.contains("nothing to mirror: ") && ran.err.contains("names no host"),
        "{}",
        ran.err
    );
    mirrored.configure("take = [\"nobody/*\"]");
    mirrored.mirror(&[]).code(2);
    // A repository that is named and is not there is told, and is no failure.
    mirrored.host.add("org", "one", "a.txt", "needle\n");
    mirrored.configure("take = [\"org/one\", \"org/two\"]");
    let ran = mirrored.mirror(&[]).code(0);
    assert!(
        ran.err.contains("host work has no repository org/two, or the token may not see it"),
        "{}",
        ran.err
    );
    assert_eq!(mirrored.found("needle").len(), 1);
}
