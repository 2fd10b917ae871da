//! Mirrors of hosts: listed, cloned, fetched, indexed, hidden, deleted. The hosts are fakes ([`host`]), and a real Gitea if
//! there is one ([`gitea`]).

mod backend;
mod bad;
mod drops;
mod gitea;
mod host;
mod kills;
mod left;
mod network;
mod push;
mod serve;
mod shown;
mod tls;

use std::path::PathBuf;

use crate::harness::{Fixture, Ran};
use host::{FakeHost, Kind};

/// An index, and a host to mirror into it.
struct Mirrored {
    fixture: Fixture,
    host: FakeHost,
}

impl Mirrored {
    fn of(kind: Kind) -> Self {
        let fixture = Fixture::new();
        fixture.run(&["init", "--shards", "4"]).code(0);
        let host = FakeHost::start(kind, &fixture.path().join("host"));
        let mirrored = Self { fixture, host };
        mirrored.configure("take = [\"org\"]");
        mirrored
    }

    /// Writes the configuration file, with lines for the host.
    fn configure(&self, lines: &str) {
        self.configure_all(lines, "");
    }

    /// Like [`configure`](Self::configure), with lines for `[mirror]`.
    fn configure_all(&self, lines: &str, mirror: &str) {
        let (kind, url) = (self.host.kind.word(), &self.host.url);
        self.fixture.write(
            "codesearch.toml",
            format!(
                "[host.work]\nkind = \"{kind}\"\nurl = \"{url}\"\n{lines}\n[mirror]\ninto = \"clones\"\n{mirror}\n"
            ),
        );
    }

    fn mirror(&self, args: &[&str]) -> Ran {
        let all = [&["mirror", "--settings", "codesearch.toml"], args].concat();
        self.fixture.run(&all)
    }

    /// Returns the folder of a clone.
    fn clone(&self, id: u64) -> PathBuf {
        self.fixture.path().join(format!("clones/work/{id}.git"))
    }

    /// Returns the paths of the files with a word, below their repositories' paths on the host.
    fn found(&self, word: &str) -> Vec<String> {
        let lines = self.fixture.search(&["-l", word]);
        lines.into_iter().map(|line| line.replacen("127.0.0.1/", "", 1)).collect()
    }

    /// Returns the requests that git made since the last call, by repository.
    fn git_requests(&self) -> Vec<String> {
        let made = std::mem::take(&mut self.host.world().made);
        let mut paths: Vec<String> = made
            .into_iter()
            .filter_map(|made| {
                Some(made.path.split_once(".git/")?.0.trim_start_matches('/').to_owned())
            })
            .collect();
        paths.dedup();
        paths
    }
}

#[test]
fn hosts_are_kept_in_step() {
    for kind in Kind::ALL {
        let mirrored = Mirrored::of(kind);
        let host = &mirrored.host;
        let one = host.add("org", "one", "a.txt", "needle one\n");
        let two = host.add("org", "two", "a.txt", "needle two\n");
        host.add("org", "three", "a.txt", "needle three\n");
        host.world().page = 2;
        let ran = mirrored.mirror(&[]).code(0);
        assert!(ran.out.contains("in step: 3 repositories (3 cloned"), "{}{}", ran.out, ran.err);
        assert_eq!(
            mirrored.found("needle"),
            ["org/one/a.txt", "org/three/a.txt", "org/two/a.txt"],
            "{kind:?}"
        );
        assert_eq!(host.world().most, 1, "one request at a time");

        // Nothing has changed: one request for each page, and none of git.
        host.requests();
        let ran = mirrored.mirror(&[]).code(0);
        assert!(ran.out.contains("(0 cloned, 0 fetched with changes, 0 without"), "{}", ran.out);
        let requests = std::mem::take(&mut host.world().made);
        let statuses: Vec<u16> = requests.iter().map(|made| made.status).collect();
        let unchanged = if kind == Kind::Gitea { 200 } else { 304 };
        assert_eq!(statuses, [unchanged; 2], "{kind:?}: {requests:?}");

        // Only what was pushed to is fetched; all branches are.
        host.push(one, "main", "b.txt", "needle pushed\n");
        host.push(one, "topic", "c.txt", "needle branch\n");
        mirrored.mirror(&[]).code(0);
        assert_eq!(mirrored.git_requests(), ["org/one"]);
        assert_eq!(mirrored.found("pushed"), ["org/one/b.txt"]);
        assert_eq!(mirrored.found("rev:topic branch"), ["org/one/c.txt"]);

        // A new name is a new name: the repository, its texts and its clone stay.
        let id = |name: &str| {
            mirrored.fixture.sql::<Option<i32>>(&format!(
                "select min(id) from repos where name = '127.0.0.1/org/{name}'"
            ))
        };
        let before = id("two");
        assert!(before.is_some());
        host.change(two, |repo| "renamed".clone_into(&mut repo.name));
        let ran = mirrored.mirror(&[]).code(0);
        assert!(ran.err.contains("renamed: org/two is now org/renamed"), "{}", ran.err);
        assert_eq!((id("two"), id("renamed")), (None, before));
        assert_eq!(mirrored.found("two"), ["org/renamed/a.txt"]);

        // HEAD follows the host.
        host.change(one, |repo| "topic".clone_into(&mut repo.default_branch));
        mirrored.mirror(&[]).code(0);
        assert_eq!(
            mirrored.found("needle repo:one"),
            ["org/one/a.txt", "org/one/b.txt", "org/one/c.txt"]
        );

        // What the host says of it is asked for in queries, without a fetch.
        mirrored.git_requests();
        host.change(two, |repo| {
            repo.archived = true;
            repo.stars = 5000;
            repo.topics.push("db".to_owned());
        });
        mirrored.mirror(&[]).code(0);
        assert!(mirrored.git_requests().is_empty());
        assert_eq!(mirrored.found("archived:yes topic:db needle"), ["org/renamed/a.txt"]);
        assert_eq!(
            mirrored.found("archived:no needle file:a.txt"),
            ["org/one/a.txt", "org/three/a.txt"]
        );
        assert_eq!(mirrored.found("needle file:a.txt meta.visibility:public").len(), 3);
        mirrored.fixture.check_invariants();
    }
}

#[test]
fn a_dry_run_says_what_and_why_and_does_nothing() {
    let mirrored = Mirrored::of(Kind::GitHub);
    let host = &mirrored.host;
    host.add("org", "plain", "a.txt", "needle\n");
    let fork = host.add("org", "fork", "a.txt", "needle\n");
    let old = host.add("org", "old-one", "a.txt", "needle\n");
    let archived = host.add("org", "archived", "a.txt", "needle\n");
    let private = host.add("org", "private", "a.txt", "needle\n");
    let large = host.add("org", "large", "a.txt", "needle\n");
    let topical = host.add("org", "topical", "a.txt", "needle\n");
    host.change(fork, |repo| repo.fork = true);
    host.change(archived, |repo| repo.archived = true);
    host.change(private, |repo| repo.private = true);
    host.change(large, |repo| repo.kilobytes = 10 << 20);
    host.change(topical, |repo| repo.topics.push("secret".to_owned()));
    let _ = old;
    mirrored.configure(
        "take = [\"org\"]\nleave = [\"**/old-*\"]\narchived = false\nvisibility = [\"public\"]\nmax_size = \"1 GB\"\n\
         leave_topics = [\"secret\"]",
    );
    let ran = mirrored.mirror(&["--dry-run"]).code(0);
    for expected in [
        "take   work  org/plain     to clone",
        "leave  work  org/fork      it is a fork (forks = true takes it)",
        "leave  work  org/old-one   leave has **/old-*",
        "leave  work  org/archived  it is archived (archived = false)",
        "leave  work  org/private   it is private, which visibility does not name",
        "leave  work  org/large     it has ",
        "leave  work  org/topical   leave_topics has secret",
        "in all: 1 to take, 6 to leave, 0 to drop",
    ] {
        assert!(ran.out.contains(expected), "{expected}: {}", ran.out);
    }
    assert!(!mirrored.fixture.path().join("clones").exists());
    assert_eq!(mirrored.fixture.sql::<i64>("select count(*) from mirrors"), 0);

    // The reasons hold in a pass; what is no longer taken is hidden.
    host.change(large, |repo| repo.kilobytes = 10);
    mirrored.configure("take = [\"org\"]\nforks = true");
    mirrored.mirror(&[]).code(0);
    assert_eq!(mirrored.found("needle").len(), 7);
    mirrored.configure("take = [\"org/plain\", \"org/fork\"]");
    let ran = mirrored.mirror(&["--dry-run"]).code(0);
    assert!(ran.out.contains("drop   work  org/large     no glob of take matches"), "{}", ran.out);
    assert!(ran.out.contains("drop   work  org/fork      it is a fork"), "{}", ran.out);
    mirrored.mirror(&[]).code(0);
    assert_eq!(mirrored.found("needle"), ["org/plain/a.txt"]);
    // What is taken again comes back without a clone.
    mirrored.git_requests();
    mirrored.configure("take = [\"org/plain\", \"org/fork\"]\nforks = true");
    let ran = mirrored.mirror(&[]).code(0);
    assert!(ran.out.contains("0 cloned"), "{}", ran.out);
    assert_eq!(mirrored.found("needle"), ["org/fork/a.txt", "org/plain/a.txt"]);
    mirrored.fixture.check_invariants();
}

#[test]
fn a_token_is_needed_and_stays_where_it_is_read() {
    for kind in Kind::ALL {
        let mirrored = Mirrored::of(kind);
        let id = mirrored.host.add("user-ann", "one", "a.txt", "needle\n");
        mirrored.host.world().token = Some("t0k-secret".to_owned());
        mirrored.fixture.write("token", "t0k-secret\n");
        mirrored.configure("take = [\"user-ann\"]\ntoken = \"file:token\"");
        let ran = mirrored.mirror(&[]).code(0);
        assert_eq!(mirrored.found("needle"), ["user-ann/one/a.txt"]);
        assert!(!format!("{}{}", ran.out, ran.err).contains("t0k-secret"));
        let config = std::fs::read_to_string(mirrored.clone(id).join("config")).unwrap();
        assert!(config.contains("/user-ann/one.git") && !config.contains("t0k"), "{config}");
        let row = "select string_agg(m::text, ' ') || (select string_agg(h::text, ' ') from mirror_hosts h) from mirrors m";
        assert!(!mirrored.fixture.sql::<String>(row).contains("t0k"));
        let base64 = "eC1hY2Nlc3MtdG9rZW46";
        assert!(!config.contains(base64));
    }
}

#[test]
fn lists_of_addresses_are_mirrored() {
    let mirrored = Mirrored::of(Kind::Gitea);
    let host = &mirrored.host;
    let one = host.add("org", "one", "a.txt", "needle\n");
    let two = host.add("org", "two", "a.txt", "needle\n");
    let write = |urls: &[String]| {
        mirrored.fixture.write(
            "codesearch.toml",
            format!("[git.some]\nurls = {urls:?}\n[mirror]\ninto = \"clones\"\n"),
        );
    };
    let by_http = format!("{}/org/one.git", host.url);
    let by_file = format!("file://{}", host.folder(two).display());
    write(&[by_http.clone(), by_file]);
    mirrored.mirror(&[]).code(0);
    assert_eq!(mirrored.fixture.search(&["-l", "needle"]).len(), 2);
    // Git asks each time, and fetches only if something is new.
    let ran = mirrored.mirror(&[]).code(0);
    assert!(ran.out.contains("(0 cloned, 0 fetched with changes, 2 without"), "{}", ran.out);
    host.push(one, "main", "b.txt", "needle pushed\n");
    host.push(two, "trunk", "b.txt", "needle trunk\n");
    host::git(&host.folder(two), &["symbolic-ref", "HEAD", "refs/heads/trunk"]);
    mirrored.mirror(&[]).code(0);
    assert_eq!(mirrored.found("pushed"), ["org/one/b.txt"]);
    assert_eq!(mirrored.fixture.search(&["-l", "trunk"]).len(), 1, "HEAD follows");
    write(&[by_http]);
    let ran = mirrored.mirror(&[]).code(0);
    assert!(ran.err.contains("urls does not name it"), "{}", ran.err);
    assert_eq!(mirrored.found("needle"), ["org/one/a.txt", "org/one/b.txt"]);
    mirrored.fixture.check_invariants();
}

#[test]
fn branches_of_the_configuration_file_are_indexed() {
    let mirrored = Mirrored::of(Kind::GitLab);
    let host = &mirrored.host;
    let one = host.add("org/sub", "one", "a.txt", "needle\n");
    host.push(one, "release/1", "b.txt", "needle release\n");
    mirrored.configure("take = [\"org/**\"]\nbranches = [\"release/*\"]");
    mirrored.mirror(&[]).code(0);
    let trees = || {
        mirrored.fixture.sql::<Option<String>>(
            "select string_agg(name, ' ') from trees where valid_to = 2147483647",
        )
    };
    assert_eq!(trees().as_deref(), Some("release/1"));
    assert_eq!(mirrored.found("branch:release/1 release"), ["org/sub/one/b.txt"]);
    // The clone needs no fetch for another choice.
    mirrored.git_requests();
    mirrored.configure("take = [\"org/**\"]");
    mirrored.mirror(&[]).code(0);
    mirrored.configure("take = [\"org/**\"]\nbranches = []");
    mirrored.mirror(&[]).code(0);
    assert_eq!(trees(), None);
    mirrored.fixture.check_invariants();
}
