//! Whom mirrored repositories are shown to: as their host listed them, until it refuses, or is silent for a day.

use super::Mirrored;
use super::host::{Fault, Kind};
use crate::harness::eventually;

const HOURS: &str = "update host_visibility set seen_at = seen_at - interval '1 hour' *";

/// Returns a host with a public, an internal and a private repository, which are mirrored. Something is granted.
fn restricted(kind: Kind) -> Mirrored {
    let mirrored = Mirrored::of(kind);
    let host = &mirrored.host;
    host.add("org", "open", "a.txt", "needle\n");
    let inner = host.add("org", "inner", "a.txt", "needle\n");
    let closed = host.add("org", "closed", "a.txt", "needle\n");
    host.change(inner, |repo| repo.internal = true);
    host.change(closed, |repo| repo.private = true);
    mirrored.mirror(&[]).code(0);
    // Until something is granted, nothing is hidden.
    assert_eq!(mirrored.seen_by("*"), ["closed", "inner", "open"]);
    mirrored.fixture.run(&["grant", "user:bob", "127.0.0.1/org/closed"]).code(0);
    mirrored
}

impl Mirrored {
    /// Returns the names of the repositories of `org` that somebody sees.
    fn seen_by(&self, who: &str) -> Vec<String> {
        let ran = self.fixture.run(&["search", "-l", "needle", "--as", who]);
        let name = |line: &str| line.split('/').nth(2).unwrap().to_owned();
        let mut names: Vec<String> = ran.out.lines().map(name).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Checks what anybody, Ann and Bob see; Bob was granted the private one.
    #[track_caller]
    fn are_seen(&self, by_anybody: &[&str], by_ann: &[&str], by_bob: &[&str]) {
        let seen = ["*", "ann", "bob"].map(|who| self.seen_by(who));
        assert_eq!(seen, [by_anybody, by_ann, by_bob]);
    }
}

#[test]
fn what_a_host_lists_as_public_or_internal_needs_no_grant() {
    for kind in Kind::ALL {
        let mirrored = restricted(kind);
        mirrored.are_seen(&["open"], &["inner", "open"], &["closed", "inner", "open"]);
        let access = |who: &str, repo: &str, code: i32| {
            let name = format!("127.0.0.1/org/{repo}");
            mirrored.fixture.run(&["access", who, &name]).code(code).out
        };
        for (who, repo, code, why) in [
            ("*", "open", 0, "its host shows it to everybody\n"),
            ("*", "inner", 1, "its host shows it to those who have an account"),
            ("ann", "inner", 0, "its host shows it to everybody who has an account"),
            ("ann", "closed", 1, "its host shows it to members only"),
            ("bob", "closed", 0, "127.0.0.1/org/closed is granted to user:bob"),
        ] {
            let told = access(who, repo, code);
            assert!(told.contains(why), "{kind:?} {who} {repo}: {told}");
        }
        // What changes on the host changes here with the next listing.
        let of = |name: &str| {
            let world = mirrored.host.world();
            world.repos.iter().find(|repo| repo.name == name).unwrap().id
        };
        mirrored.host.change(of("open"), |repo| repo.private = true);
        mirrored.host.change(of("closed"), |repo| repo.private = false);
        mirrored.mirror(&[]).code(0);
        mirrored.are_seen(&["closed"], &["closed", "inner"], &["closed", "inner"]);
        mirrored.fixture.check_invariants();
    }
}

#[test]
fn a_host_that_fails_keeps_what_it_said_and_one_that_refuses_ends_it() {
    let mirrored = restricted(Kind::GitLab);
    let host = &mirrored.host;
    let (anybody, ann, bob) =
        (&["open"][..], &["inner", "open"][..], &["closed", "inner", "open"][..]);
    let with = |fault: Fault| {
        host.world().faults.insert("/api/".to_owned(), fault);
        mirrored.mirror(&["--patience", "1s"]).code(2);
        host.world().faults.clear();
    };
    let soon = || vec![("retry-after", "3600".to_owned())];
    let limited = [soon(), vec![("x-ratelimit-remaining", "0".to_owned())]].concat();
    for fault in [
        Fault::Status(500, Vec::new()),
        Fault::Status(429, soon()),
        Fault::Status(403, limited),
        Fault::Odd,
        Fault::Hang,
    ] {
        with(fault);
        mirrored.are_seen(anybody, ann, bob);
    }
    for status in [401, 403, 404] {
        with(Fault::Status(status, Vec::new()));
        // What was granted here does not depend on the host.
        mirrored.are_seen(&[], &[], &["closed"]);
        mirrored.mirror(&[]).code(0);
        mirrored.are_seen(anybody, ann, bob);
    }
    // A listing that lacks too much is doubted, and what it lacks is as it was; one that is believed ends it.
    host.world().repos.retain(|repo| repo.name == "inner");
    mirrored.mirror(&[]);
    mirrored.are_seen(anybody, ann, bob);
    mirrored.mirror(&["--accept-shrunk"]).code(0);
    assert_eq!(mirrored.seen_by("*"), [""; 0]);
    assert_eq!(mirrored.seen_by("ann"), ["inner"]);
}

#[test]
fn what_a_host_said_counts_for_a_day() {
    let mirrored = restricted(Kind::Gitea);
    let (anybody, ann, bob) =
        (&["open"][..], &["inner", "open"][..], &["closed", "inner", "open"][..]);
    mirrored.fixture.exec(&format!("{HOURS} 23"));
    mirrored.are_seen(anybody, ann, bob);
    mirrored.fixture.exec(&format!("{HOURS} 2"));
    mirrored.are_seen(&[], &[], &["closed"]);
    // The host says it again.
    mirrored.mirror(&[]).code(0);
    mirrored.are_seen(anybody, ann, bob);
    // A server hides it when the time is over, also if nothing else changes.
    let server = mirrored.fixture.serve();
    let seen = || server.search("needle")["stats"]["files"].as_u64().unwrap();
    assert_eq!(seen(), 1);
    let end =
        "update host_visibility set seen_at = now() - interval '24 hours' + interval '2 seconds'";
    mirrored.fixture.exec(&format!("{end}; update access_state set version = version + 1"));
    eventually("it is hidden", || seen() == 0);
}
