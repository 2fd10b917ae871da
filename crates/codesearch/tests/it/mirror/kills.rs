//! A mirror that is killed at any step goes on where it was.

use std::process::{Child, Stdio};

use super::Mirrored;
use super::host::{Fault, Kind};
use crate::harness::eventually;

/// Starts a pass.
fn start(mirrored: &Mirrored) -> Child {
    let mut command =
        mirrored.fixture.command(&["mirror", "--settings", "codesearch.toml", "--patience", "5m"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Kills a pass when it waits for an answer to a request whose address has a text.
fn kill_at(mirrored: &Mirrored, part: &str, fault: Fault) {
    mirrored.host.world().faults.insert(part.to_owned(), fault);
    mirrored.host.world().made.clear();
    let child = start(mirrored);
    eventually(&format!("a request with {part}"), || {
        mirrored.host.world().made.iter().any(|made| made.path.contains(part) && made.status == 0)
    });
    kill(child);
    mirrored.host.world().faults.clear();
}

#[test]
fn a_killed_pass_loses_nothing() {
    let mirrored = Mirrored::of(Kind::GitHub);
    let host = &mirrored.host;
    host.world().page = 2;
    let ids: Vec<u64> =
        (0..3).map(|n| host.add("org", &format!("r{n}"), "a.txt", "needle\n")).collect();
    let upload = "r1.git/git-upload-pack";
    // While it lists, asks for branches, and clones.
    for part in ["/orgs/org/repos", "page=2", "r1.git/info/refs", upload] {
        kill_at(&mirrored, part, Fault::Hang);
    }
    kill_at(&mirrored, upload, Fault::HalfPack);
    mirrored.mirror(&[]).code(0);
    assert_eq!(mirrored.found("needle").len(), 3);
    assert!(
        !mirrored
            .fixture
            .path()
            .join("clones/work/.new")
            .read_dir()
            .is_ok_and(|mut all| all.next().is_some())
    );
    // While it fetches.
    host.push(ids[1], "main", "b.txt", "needle\n");
    for (part, fault) in
        [("r1.git/info/refs", Fault::Hang), (upload, Fault::Hang), (upload, Fault::HalfPack)]
    {
        kill_at(&mirrored, part, fault);
    }
    mirrored.mirror(&[]).code(0);
    assert_eq!(mirrored.found("needle").len(), 4);
    // After a fetch whose state was not written, as if it was killed in between.
    let before: String = mirrored.fixture.sql("select refs from mirrors where path = 'org/r1'");
    host.push(ids[1], "main", "c.txt", "needle\n");
    let hold = mirrored.fixture.hold("lock table mirrors in share mode");
    let child = start(&mirrored);
    let fetched = mirrored.clone(ids[1]);
    let refs = || std::fs::read_to_string(fetched.join("refs/heads/main")).unwrap_or_default();
    let old = refs();
    eventually("it was fetched", || refs() != old);
    kill(child);
    drop(hold);
    assert_eq!(
        mirrored.fixture.sql::<String>("select refs from mirrors where path = 'org/r1'"),
        before
    );
    mirrored.mirror(&[]).code(0);
    assert_eq!(mirrored.found("needle").len(), 5);
    // While it waits to ingest.
    host.push(ids[2], "main", "d.txt", "needle\n");
    let hold = mirrored.fixture.hold("select pg_advisory_xact_lock(109345572388864)");
    let child = start(&mirrored);
    eventually("it is in the queue", || {
        mirrored.fixture.sql::<i64>("select count(*) from pending") == 1
    });
    kill(child);
    drop(hold);
    mirrored.mirror(&[]).code(0);
    assert_eq!(mirrored.found("needle").len(), 6);
    // While it hides: the database knows of it, the disk not yet.
    mirrored
        .fixture
        .exec("update mirrors set hidden_at = now(), hidden = 'gone' where path = 'org/r0'");
    host.delete(ids[0]);
    mirrored.mirror(&[]).code(0);
    assert_eq!(mirrored.found("needle").len(), 5);
    assert!(!mirrored.clone(ids[0]).exists());
    // The database was lost, the clones were not.
    mirrored.fixture.exec("delete from mirrors");
    mirrored.git_requests();
    mirrored.mirror(&[]).code(0);
    assert_eq!(mirrored.found("needle").len(), 5);
    mirrored.fixture.check_invariants();
}

#[test]
fn an_interrupted_pass_leaves_no_git() {
    let mirrored = Mirrored::of(Kind::GitHub);
    mirrored.host.add("org", "one", "a.txt", "needle\n");
    mirrored.host.world().faults.insert("git-upload-pack".to_owned(), Fault::Hang);
    let mut child = start(&mirrored);
    eventually("it clones", || {
        mirrored
            .host
            .world()
            .made
            .iter()
            .any(|made| made.path.contains("git-upload-pack") && made.status == 0)
    });
    let folder = mirrored.fixture.path().join("clones").display().to_string();
    let running = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = all.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        lines.filter(|line| String::from_utf8_lossy(line).contains(&folder)).count()
    };
    assert!(running() > 0);
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    eventually("git has ended", || running() == 0);
}

#[test]
fn one_program_mirrors_at_a_time() {
    let mirrored = Mirrored::of(Kind::GitHub);
    mirrored.host.add("org", "one", "a.txt", "needle\n");
    mirrored.host.world().faults.insert("/orgs/".to_owned(), Fault::Hang);
    let child = start(&mirrored);
    eventually("it lists", || !mirrored.host.world().made.is_empty());
    let ran = mirrored.mirror(&[]).code(2);
    assert!(ran.err.contains("another codesearch mirrors hosts into this index"), "{}", ran.err);
    kill(child);
    mirrored.host.world().faults.clear();
    eventually("the lock is free", || mirrored.mirror(&[]).status.success());
}
