//! Hosts that are reached by SSH, with a certificate authority of their own, or through a proxy.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::Mirrored;
use super::host::Kind;
use super::tls::{NAME, Proxy, Tls};
use crate::harness::Ran;

/// The way to a host.
struct Way {
    mirrored: Mirrored,
    environment: Vec<(&'static str, String)>,
}

impl Way {
    fn of(kind: Kind) -> Self {
        Self { mirrored: Mirrored::of(kind), environment: Vec::new() }
    }

    /// Writes the configuration file, with a host of this address.
    fn configure(&self, url: &str, lines: &str) {
        let kind = self.mirrored.host.kind.word();
        self.mirrored.fixture.write(
            "codesearch.toml",
            format!(
                "[host.work]\nkind = \"{kind}\"\nurl = \"{url}\"\ntake = [\"org\"]\n{lines}\n[mirror]\ninto = \"clones\"\n"
            ),
        );
    }

    fn mirror(&self) -> Ran {
        let mut command =
            self.mirrored.fixture.command(&["mirror", "--settings", "codesearch.toml"]);
        for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"]
        {
            command.env_remove(name);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ran::of(command.output().unwrap())
    }

    fn tls(&self) -> Tls {
        let address = self.mirrored.host.url.trim_start_matches("http://").parse().unwrap();
        Tls::before(address, &self.mirrored.fixture.path().join("tls"))
    }

    fn found(&self, word: &str) -> Vec<String> {
        self.mirrored.fixture.search(&["-l", word])
    }
}

/// Makes a program that git takes for SSH: it runs what the other side would, or fails with the words in a file. Returns it,
/// and the file of its arguments.
fn ssh(way: &Way, paths: &[(&str, u64)]) -> (PathBuf, PathBuf) {
    let Mirrored { fixture, host } = &way.mirrored;
    let root = fixture.path().join("ssh");
    for (path, id) in paths {
        let at = root.join(path);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(host.folder(*id), at).unwrap();
    }
    let (program, asked) = (root.join("bin/ssh"), root.join("asked"));
    let at = root.display();
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> '{at}/asked'\n\
         if [ -e '{at}/fails' ]; then cat '{at}/fails' >&2; exit 255; fi\n\
         for last; do :; done\npath=${{last#*\\'}}\npath=${{path%\\'}}\n\
         exec git upload-pack '{at}/'\"$path\"\n"
    );
    fixture.write("ssh/bin/ssh", script);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    (program, asked)
}

#[test]
fn clones_are_fetched_by_ssh() {
    let mut way = Way::of(Kind::GitHub);
    let one = way.mirrored.host.add("org", "one", "a.txt", "needle\n");
    let two = way.mirrored.host.add("org", "two", "a.txt", "needle\n");
    let paths = [("org/one.git", one), ("org/two.git", two), ("srv/three.git", two)];
    let (program, asked) = ssh(&way, &paths);
    way.environment.push(("GIT_SSH_COMMAND", program.display().to_string()));
    let url = way.mirrored.host.url.clone();
    way.configure(&url, "clone = \"ssh\"");
    let ran = way.mirror();
    assert_eq!(ran.status.code(), Some(0), "{}", ran.err);
    assert_eq!(way.found("needle"), ["host/org/one/a.txt", "host/org/two/a.txt"]);
    let arguments = || std::fs::read_to_string(&asked).unwrap();
    for expected in ["BatchMode=yes", "ConnectTimeout=", "git@host", "git-upload-pack"] {
        assert!(arguments().contains(expected), "{expected}: {}", arguments());
    }
    // The API is asked by HTTP, and nothing else of the host.
    assert!(way.mirrored.git_requests().is_empty());
    way.mirrored.host.push(one, "main", "b.txt", "needle pushed\n");
    assert_eq!(way.mirror().status.code(), Some(0));
    assert_eq!(way.found("pushed"), ["host/org/one/b.txt"]);

    for (said, expected) in [
        (
            "Host key verification failed.\n",
            "SSH does not know the host's key; add it to known_hosts",
        ),
        ("git@host: Permission denied (publickey).\n", "the host refuses the SSH keys of the user"),
        (
            "ssh: connect to host host port 22: Connection timed out\n",
            "SSH fails: connect to host host port 22: Connection timed out; check the address and the network",
        ),
    ] {
        way.mirrored.fixture.write("ssh/fails", said);
        way.mirrored.host.push(one, "main", "c.txt", said);
        let ran = way.mirror();
        assert_eq!(ran.status.code(), Some(2), "{}", ran.err);
        assert!(ran.err.contains(&format!("codesearch: org/one: {expected}")), "{}", ran.err);
        assert_eq!(way.found("needle").len(), 3, "the last good state stays");
    }
    std::fs::remove_file(way.mirrored.fixture.path().join("ssh/fails")).unwrap();

    // An address with a port.
    way.mirrored.fixture.write(
        "codesearch.toml",
        "[git.some]\nurls = [\"ssh://git@host.example:2222/srv/three.git\"]\n[mirror]\ninto = \"clones\"\n",
    );
    let ran = way.mirror();
    assert_eq!(ran.status.code(), Some(0), "{}", ran.err);
    assert!(arguments().contains("-p 2222 git@host.example"), "{}", arguments());
    assert_eq!(way.found("needle repo:three").len(), 1);
}

#[test]
fn a_host_may_have_a_certificate_authority_of_its_own() {
    let way = Way::of(Kind::Gitea);
    way.mirrored.host.add("org", "one", "a.txt", "needle\n");
    let tls = way.tls();
    let url = format!("https://{}", tls.address);
    for (lines, expected) in [
        ("", "if it has a certificate authority of its own, name its file with ca_file"),
        ("ca_file = \"nosuch.pem\"", "cannot read certificates in "),
        ("ca_file = \"codesearch.toml\"", "it has no certificate in PEM"),
    ] {
        way.configure(&url, lines);
        let ran = way.mirror();
        assert_eq!(ran.status.code(), Some(2), "{lines}: {}", ran.err);
        assert!(
            ran.err.contains("host work: ") && ran.err.contains(expected),
            "{lines}: {}",
            ran.err
        );
    }
    way.configure(&url, &format!("ca_file = \"{}\"", tls.ca_file.display()));
    let ran = way.mirror();
    assert_eq!(ran.status.code(), Some(0), "{}", ran.err);
    assert_eq!(way.found("needle").len(), 1);
    // Git, too, tells what to do.
    let list = format!("[git.some]\nurls = [\"{url}/org/one.git\"]\n[mirror]\ninto = \"clones\"\n");
    way.mirrored.fixture.write("codesearch.toml", list);
    let ran = way.mirror();
    assert_eq!(ran.status.code(), Some(2), "{}", ran.err);
    assert!(ran.err.contains("name its file with ca_file"), "{}", ran.err);
}

#[test]
fn a_host_may_be_behind_a_proxy() {
    let mut way = Way::of(Kind::GitLab);
    way.mirrored.host.add("org", "one", "a.txt", "needle\n");
    way.mirrored.host.world().token = Some("t0k-secret".to_owned());
    way.mirrored.fixture.write("token", "t0k-secret\n");
    let tls = way.tls();
    let lines = format!("ca_file = \"{}\"\ntoken = \"file:token\"", tls.ca_file.display());
    way.configure(&format!("https://{NAME}"), &lines);
    let ran = way.mirror();
    assert!(ran.err.contains(&format!("cannot reach {NAME}: ")), "{}", ran.err);
    let proxy = Proxy::to(tls.address);
    way.environment.push(("HTTPS_PROXY", proxy.url.clone()));
    let ran = way.mirror();
    assert_eq!(ran.status.code(), Some(0), "{}", ran.err);
    assert_eq!(way.found("needle"), [format!("{NAME}/org/one/a.txt")]);
    let asked = proxy.asked.lock().unwrap();
    let by = |agent: &str| asked.iter().filter(|head| head.contains(agent)).count();
    assert!(by("User-Agent: git/") > 0 && by("User-Agent: git/") < asked.len(), "{asked:?}");
    assert!(!asked.iter().any(|head| head.contains("t0k")), "{asked:?}");
}
