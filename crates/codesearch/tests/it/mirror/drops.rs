//! What leaves the host leaves the index, but never by mistake.

use super::Mirrored;
use super::host::{Fault, Kind};

/// A host with repositories `r0`, `r1`, and so on, that are mirrored.
fn with(kind: Kind, number: usize) -> (Mirrored, Vec<u64>) {
    let mirrored = Mirrored::of(kind);
    let add = |n| mirrored.host.add("org", &format!("r{n}"), "a.txt", "needle\n");
    let ids = (0..number).map(add).collect();
    mirrored.mirror(&[]).code(0);
    assert_eq!(mirrored.found("needle").len(), number);
    (mirrored, ids)
}

#[test]
fn what_is_deleted_on_the_host_is_hidden_and_later_deleted() {
    for kind in Kind::ALL {
        let (mirrored, ids) = with(kind, 3);
        mirrored.host.delete(ids[1]);
        let ran = mirrored.mirror(&[]).code(0);
        assert!(ran.err.contains("hidden: org/r1 (the host has it no more)"), "{}", ran.err);
        assert_eq!(mirrored.found("needle"), ["org/r0/a.txt", "org/r2/a.txt"]);
        let hidden = mirrored.fixture.path().join(format!("clones/work/.hidden/{}.git", ids[1]));
        assert!(hidden.exists() && !mirrored.clone(ids[1]).exists());
        // An ingest of the folder of all clones does not find it.
        mirrored.fixture.run(&["ingest", "clones"]).code(0);
        assert_eq!(mirrored.found("needle").len(), 2);
        mirrored.mirror(&[]).code(0);
        assert!(hidden.exists(), "it has seven days");
        mirrored.fixture.exec("update mirrors set hidden_at = hidden_at - interval '8 days'");
        let ran = mirrored.mirror(&[]).code(0);
        assert!(ran.out.contains("1 deleted") && !hidden.exists(), "{}", ran.out);
        assert_eq!(mirrored.fixture.sql::<i64>("select count(*) from mirrors"), 2);
        mirrored.fixture.check_invariants();
    }
}

#[test]
fn a_repository_that_is_only_unlisted_stays_until_the_second_listing() {
    let (mirrored, ids) = with(Kind::GitHub, 3);
    // It has another owner now, so it is there, but not listed.
    mirrored.host.change(ids[0], |repo| "other".clone_into(&mut repo.owner));
    let ran = mirrored.mirror(&[]).code(0);
    assert!(ran.out.contains("0 hidden"), "{}", ran.out);
    assert_eq!(mirrored.found("needle").len(), 3);
    // A listing that fails does not count.
    mirrored.host.world().once.insert("/orgs/".to_owned(), Fault::Status(500, Vec::new()));
    mirrored.mirror(&[]).code(2);
    assert_eq!(mirrored.found("needle").len(), 3);
    let ran = mirrored.mirror(&[]).code(0);
    assert!(
        ran.err.contains("hidden: org/r0 (it is other/r0 now, which take does not name)"),
        "{}",
        ran.err
    );
    assert_eq!(mirrored.found("needle").len(), 2);
    // When it is back, so it is in the index, without another clone.
    mirrored.host.change(ids[0], |repo| "org".clone_into(&mut repo.owner));
    let ran = mirrored.mirror(&[]).code(0);
    assert!(ran.out.contains("0 cloned"), "{}", ran.out);
    assert_eq!(mirrored.found("needle").len(), 3);
}

#[test]
fn one_that_is_listed_again_starts_from_the_beginning() {
    let (mirrored, ids) = with(Kind::GitHub, 3);
    let owner = |name: &str| mirrored.host.change(ids[0], |repo| name.clone_into(&mut repo.owner));
    for _ in 0..2 {
        owner("other");
        mirrored.mirror(&[]).code(0);
        owner("org");
        mirrored.mirror(&[]).code(0);
    }
    assert_eq!(mirrored.found("needle").len(), 3);
    assert_eq!(mirrored.fixture.sql::<i64>("select sum(missing) from mirrors"), 0);
}

#[test]
fn a_listing_that_shrinks_by_more_than_half_drops_nothing() {
    let (mirrored, ids) = with(Kind::GitLab, 5);
    for id in &ids[..3] {
        mirrored.host.delete(*id);
    }
    for _ in 0..3 {
        let ran = mirrored.mirror(&[]).code(2);
        assert!(
            ran.err.contains("lists 2 repositories, and 3 of our 5 are not among them"),
            "{}",
            ran.err
        );
        assert_eq!(mirrored.found("needle").len(), 5);
    }
    // What is new is mirrored nevertheless.
    mirrored.host.add("org", "new", "a.txt", "needle\n");
    mirrored.mirror(&[]).code(2);
    assert_eq!(mirrored.found("needle").len(), 6);
    let ran = mirrored.mirror(&["--accept-shrunk"]).code(0);
    assert!(ran.out.contains("3 hidden"), "{}", ran.out);
    assert_eq!(mirrored.found("needle").len(), 3);
    mirrored.mirror(&[]).code(0);
}

#[test]
fn a_token_that_sees_nothing_more_of_its_kind_drops_nothing() {
    let (mirrored, ids) = with(Kind::GitHub, 4);
    mirrored.host.change(ids[0], |repo| repo.private = true);
    mirrored.mirror(&[]).code(0);
    // The token lost its right to see private ones, so this one seems to be gone.
    mirrored.host.delete(ids[0]);
    let ran = mirrored.mirror(&[]).code(0);
    assert!(ran.out.contains("0 hidden"), "{}", ran.out);
    assert_eq!(mirrored.found("needle").len(), 4);
    let ran = mirrored.mirror(&[]).code(0);
    assert!(
        ran.err.contains("hidden: org/r0 (it is missing in two complete listings)"),
        "{}",
        ran.err
    );
}
