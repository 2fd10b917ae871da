//! Runs git: its environment, its end, and what it says when it fails.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::http::OWN_AUTHORITY;

/// Pauses between two looks at a running git: at first, and at most.
const LOOK: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));

/// Time between two looks at how much a clone has grown.
const MEASURE_EVERY: Duration = Duration::from_millis(200);

/// Most bytes kept of what git prints, and of what it says.
const MAX_OUT: u64 = 64 << 20;
const MAX_SAID: u64 = 64 << 10;

/// Most characters of git's words that a message repeats.
const MAX_WORDS: usize = 300;

/// What git inherits: where programs and keys are, and how the network is reached.
const INHERITED: [&str; 16] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Settings of each run. Without the configuration of the user and of the machine, nothing else decides: no prompt, no
/// program that knows passwords, no hook, no collection of garbage at a time of git's choice. A host that sends less than a
/// kilobyte a second for a minute has gone.
const SETTINGS: [(&str, &str); 13] = [
    ("core.askPass", ""),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("credential.helper", ""),
    ("fetch.fsckObjects", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("gc.auto", "0"),
    ("http.lowSpeedLimit", "1000"),
    ("http.lowSpeedTime", "60"),
    ("init.defaultBranch", "main"),
    ("maintenance.auto", "false"),
    ("safe.directory", "*"),
];

/// Why git did not do it, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// It grew beyond this many bytes.
    TooLarge(u64),
    /// Nobody waits for it any more.
    Left,
    /// Anything else.
    Said(String),
}

/// How git is run for one host.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    /// Further settings, by key. They go through the environment, which only this user and root can read.
    settings: Vec<(String, String)>,
    environment: Vec<(&'static str, OsString)>,
    timeout: Duration,
    /// Set when nobody waits for git any more.
    left: Arc<AtomicBool>,
}

impl Git {
    /// Makes a git that speaks the protocols `allowed`, such as `https`, and takes up to `timeout` for anything.
    pub(crate) fn new(allowed: &str, ca_file: Option<&Path>, timeout: Duration) -> Self {
        let mut environment: Vec<(&'static str, OsString)> =
            INHERITED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))).collect();
        // No question to anybody, and an end if nobody answers.
        let ssh = std::env::var("GIT_SSH_COMMAND").unwrap_or_else(|_| "ssh".to_owned());
        let ssh = format!("{ssh} -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=30");
        environment.extend([
            ("GIT_ALLOW_PROTOCOL", allowed.into()),
            ("GIT_ATTR_NOSYSTEM", "1".into()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_NO_LAZY_FETCH", "1".into()),
            ("GIT_PROTOCOL_FROM_USER", "0".into()),
            ("GIT_SSH_COMMAND", ssh.into()),
            ("GIT_TERMINAL_PROMPT", "0".into()),
            ("LC_ALL", "C".into()),
        ]);
        if let Some(file) = ca_file {
            environment.push(("GIT_SSL_CAINFO", file.into()));
        }
        let settings = SETTINGS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Self { settings: settings.collect(), environment, timeout, left: Arc::default() }
    }

    /// Has requests to an origin, such as `https://host:3000`, carry a user and a token.
    pub(crate) fn with_token(mut self, origin: &str, user: &str, token: &str) -> Self {
        use base64::Engine as _;
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{token}"));
        self.settings
            .push((format!("http.{origin}/.extraHeader"), format!("Authorization: Basic {basic}")));
        // A redirect could lead the token elsewhere.
        self.settings.push(("http.followRedirects".to_owned(), "false".to_owned()));
        self
    }

    /// Returns the flag that ends what runs: it is shared with clones of this value.
    pub(crate) fn leaving(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.left)
    }

    /// Returns this with a flag of its own.
    pub(crate) fn alone(&self) -> Self {
        Self { left: Arc::default(), ..self.clone() }
    }

    /// Runs git in a folder, and returns what it prints. If the folder `grows` gets larger than so many bytes, git is ended.
    ///
    /// # Errors
    /// Git fails, takes too long, is left, or the folder grows too large.
    pub(crate) fn run<S: AsRef<OsStr>>(
        &self,
        folder: &Path,
        args: &[S],
        grows: Option<(&Path, u64)>,
    ) -> Result<String, Failed> {
        let mut command = Command::new("git");
        command.args(args).current_dir(folder).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        for (n, (key, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{n}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{n}"), value);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Its helpers end with it.
        command.process_group(0);
        let child = command.spawn().map_err(|error| {
            Failed::Said(format!("cannot run git ({error}); install it, version 2.31 or newer"))
        })?;
        self.await_end(child, grows)
    }

    fn await_end(&self, child: Child, grows: Option<(&Path, u64)>) -> Result<String, Failed> {
        let mut group = Group { child, ended: false };
        let out = reader(group.child.stdout.take(), MAX_OUT);
        let said = reader(group.child.stderr.take(), MAX_SAID);
        let (begun, mut measured) = (Instant::now(), Instant::now());
        let mut pause = LOOK.0;
        let status = loop {
            match group.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => {}
                Err(error) => return Err(Failed::Said(format!("cannot wait for git: {error}"))),
            }
            if self.left.load(Ordering::Relaxed) {
                return Err(Failed::Left);
            }
            if begun.elapsed() > self.timeout {
                return Err(Failed::Said(format!(
                    "git did not end within {}; it is tried again later",
                    settings::written_duration(self.timeout)
                )));
            }
            if let Some((folder, most)) = grows.filter(|_| measured.elapsed() > MEASURE_EVERY) {
                measured = Instant::now();
                if size_of(folder) > most {
                    return Err(Failed::TooLarge(most));
                }
            }
            std::thread::sleep(pause);
            pause = (pause * 3 / 2).min(LOOK.1);
        };
        group.ended = true;
        let (out, said) = (out.join().unwrap_or_default(), said.join().unwrap_or_default());
        if status.success() {
            return Ok(String::from_utf8_lossy(&out).into_owned());
        }
        let said = String::from_utf8_lossy(&said);
        Err(Failed::Said(match status.signal() {
            Some(signal) => format!("git was ended by signal {signal}; it is tried again later"),
            None => told(&said),
        }))
    }
}

/// A git and its helpers, which are ended if they have not ended when this is dropped.
struct Group {
    child: Child,
    ended: bool,
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.ended {
            let _ = killpg(Pid::from_raw(self.child.id() as i32), Signal::SIGKILL);
            let _ = self.child.wait();
        }
    }
}

/// Reads a pipe in a thread of its own, so that git never waits for us.
fn reader(pipe: Option<impl Read + Send + 'static>, most: u64) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let Some(mut pipe) = pipe else { return bytes };
        // After an error of the pipe, there is no more to read.
        let _ = pipe.by_ref().take(most).read_to_end(&mut bytes);
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        bytes
    })
}

/// Makes one sentence of what git says when it fails.
fn told(said: &str) -> String {
    let has = |words: &str| said.contains(words);
    if has("could not read Username")
        || has("could not read Password")
        || has("Authentication failed")
        || has("HTTP Basic: Access denied")
        || has("returned error: 403")
        || has("returned error: 401")
    {
        return "the host refuses git, or wants a token; check that the token may read the code"
            .to_owned();
    }
    if has("certificate verify failed")
        || has("certificate verification failed")
        || has("SSL certificate problem")
    {
        return format!("git does not trust the host's certificate; {OWN_AUTHORITY}");
    }
    if has("Host key verification failed") {
        return "SSH does not know the host's key; add it to known_hosts (ssh-keyscan HOST)"
            .to_owned();
    }
    if has("Permission denied (") {
        return "the host refuses the SSH keys of the user who runs codesearch".to_owned();
    }
    if has("No space left on device") {
        return "the disk is full; free some space".to_owned();
    }
    let line = |start: &str| {
        let line = said.lines().rev().map(str::trim).find_map(|line| line.strip_prefix(start));
        line.filter(|line| !line.is_empty())
    };
    if let Some(why) = line("ssh: ") {
        let why: String = why.chars().filter(|c| !c.is_control()).take(MAX_WORDS).collect();
        return format!("SSH fails: {why}; check the address and the network");
    }
    let words = line("fatal: remote error: ")
        .or_else(|| line("ERROR: "))
        .or_else(|| line("remote: "))
        .filter(|_| !has("fatal: bad") && !has("fatal: early EOF"))
        .or_else(|| line("fatal: "))
        .or_else(|| line("error: "))
        .or_else(|| said.lines().rev().map(str::trim).find(|line| !line.is_empty()))
        .unwrap_or("it does not say why");
    let plain: String = words.chars().filter(|c| !c.is_control()).take(MAX_WORDS).collect();
    format!("git failed: {plain}")
}

/// Returns the number of bytes of the files in a folder, as far as they can be read.
pub(crate) fn size_of(folder: &Path) -> u64 {
    let mut rest: Vec<PathBuf> = vec![folder.to_owned()];
    let mut bytes = 0;
    while let Some(folder) = rest.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            match entry.metadata() {
                Ok(about) if about.is_dir() => rest.push(entry.path()),
                Ok(about) => bytes += about.len(),
                // It may just have gone.
                Err(_) => {}
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_one_sentence() {
        for (said, expected) in [
            (
                "fatal: could not read Username for 'https://h': terminal prompts disabled\n",
                "the host refuses git, or wants a token; check that the token may read the code",
            ),
            (
                "Cloning into bare repository 'x'...\nremote: Not Found\nfatal: repository 'https://h/x/' not found\n",
                "git failed: Not Found",
            ),
            (
                "fatal: repository 'https://h/x/' not found\n",
                "git failed: repository 'https://h/x/' not found",
            ),
            ("\u{1b}[31mfatal\u{1b}[0m\n", "git failed: [31mfatal[0m"),
            (
                "ssh: Could not resolve hostname h: Name or service not known\r\nfatal: Could not read from remote \
                 repository.\n\nPlease make sure you have the correct access rights\nand the repository exists.\n",
                "SSH fails: Could not resolve hostname h: Name or service not known; check the address and the network",
            ),
            (
                "fatal: unable to access 'https://h/': SSL certificate problem: unable to get local issuer certificate\n",
                "git does not trust the host's certificate; if it has a certificate authority of its own, name its file \
                 with ca_file",
            ),
            ("", "git failed: it does not say why"),
        ] {
            assert_eq!(told(said), expected);
        }
        assert!(told(&format!("fatal: {}", "x".repeat(9999))).len() < 400);
    }

    #[test]
    fn git_ends_when_its_time_is_over_or_nobody_waits() {
        let folder = tempfile::tempdir().unwrap();
        let git = Git::new("", None, Duration::from_millis(1));
        // An alias of the shell that starts another process of its own group.
        let mut slow = git.clone();
        slow.settings.push(("alias.slow".to_owned(), "!sleep 600 & wait".to_owned()));
        let begun = Instant::now();
        let failed = slow.run(folder.path(), &["slow"], None).unwrap_err();
        assert!(
            matches!(&failed, Failed::Said(why) if why.contains("did not end within")),
            "{failed:?}"
        );
        slow.timeout = Duration::from_mins(5);
        slow.leaving().store(true, Ordering::Relaxed);
        assert_eq!(slow.run(folder.path(), &["slow"], None), Err(Failed::Left));
        assert!(begun.elapsed() < Duration::from_mins(1), "the pipes of its helpers are closed");
    }

    #[test]
    fn a_token_is_in_no_argument_and_goes_to_its_host_alone() {
        let git =
            Git::new("https", None, Duration::from_secs(9)).with_token("https://h", "me", "tok");
        let shown: Vec<&str> = git.settings.iter().map(|(key, _)| &**key).collect();
        assert!(shown.contains(&"http.https://h/.extraHeader"), "{shown:?}");
        let folder = tempfile::tempdir().unwrap();
        let ask = |url: &str| {
            git.run(folder.path(), &["config", "--get-urlmatch", "http.extraHeader", url], None)
        };
        assert_eq!(ask("https://h/a/b.git").unwrap().trim(), "Authorization: Basic bWU6dG9r");
        for other in ["https://h.example/a", "http://h/a", "https://x/h/a"] {
            assert!(ask(other).is_err(), "{other}");
        }
    }
}
