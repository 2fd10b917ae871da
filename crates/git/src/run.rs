//! Runs git on an untrusted clone.

use std::ffi::OsStr;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::skeleton::Skeleton;
use super::{Error, LIMIT, TrackedFile};
use files::decode_lossy;

/// Starts git with limits: no core dumps, no written files, CPU time in seconds, memory in KiB (its own, and with
/// mapped files). If memory is short, the system kills git first. Limits that a system does not support are skipped.
const BOUNDED: &str = "{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null || :; \
    ulimit -c 0 || :; ulimit -f 0 || :; ulimit -t 20 || :; ulimit -d 524288 || :; ulimit -v 2097152 || :; \
    exec git \"$@\"";

/// The exit status of a shell that does not find a program.
const NOT_FOUND: i32 = 127;

/// The environment besides PATH, the only variable that git inherits: no configuration of the system or the user, no
/// prompts, no network or program for it, no fetching of missing objects, no replacements. A clone may set its work
/// tree to any folder; here it has none.
const ENVIRONMENT: [(&str, &str); 15] = [
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_ASKPASS", "false"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_WORK_TREE", "/dev/null"),
    ("HOME", "/dev/null"),
    ("LC_ALL", "C"),
];

/// Settings that override the clone's: they prevent running a program, reading a file elsewhere, mapping gigabytes, and
/// converting commit messages.
const SETTINGS: [&str; 16] = [
    "blame.ignoreRevsFile=",
    "core.alternateRefsCommand=false",
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.packedGitLimit=256m",
    "core.packedGitWindowSize=32m",
    "core.pager=cat",
    "core.sshCommand=false",
    "gpg.program=false",
    "i18n.logOutputEncoding=UTF-8",
    "log.showSignature=false",
    "mailmap.blob=",
    "mailmap.file=/dev/null",
    "protocol.allow=never",
    "safe.directory=*",
];

/// Options after a command that compares texts: no program of the clone compares them.
const COMPARING: [&str; 2] = ["--no-ext-diff", "--no-textconv"];

/// Runs git on a clone, and returns its output.
///
/// # Errors
/// Git cannot be started, fails, takes longer than [`LIMIT`], or prints more than `most` bytes; or the clone changed
/// meanwhile, so that git may have read something else.
pub(super) async fn bytes(
    clone: &Arc<Skeleton>,
    args: &[&str],
    most: usize,
) -> Result<Vec<u8>, Error> {
    let command = command(clone, args);
    let clone = Arc::clone(clone);
    let (tell, events) = channel();
    // If nobody waits for the output any more, git is killed.
    let _leaves = Leaves(tell.clone());
    let run = tokio::task::spawn_blocking(move || {
        let answer = run(command, most, tell, &events);
        if clone.is_unchanged() { answer } else { Err(Error::Changed) }
    });
    run.await.map_err(|_| Error::Failed)?
}

/// Like [`bytes()`], but returns text.
pub(super) async fn text(
    clone: &Arc<Skeleton>,
    args: &[&str],
    most: usize,
) -> Result<String, Error> {
    bytes(clone, args, most).await.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Runs a command that compares texts on the history of a file. `args` end with the commit.
pub(super) async fn bytes_of(
    file: &TrackedFile,
    args: &[&str],
    most: usize,
) -> Result<Vec<u8>, Error> {
    let (name, options) = args.split_first().expect("a command has a name");
    let mut all = vec![*name];
    all.extend(COMPARING);
    all.extend(options);
    all.extend(["--", &file.path]);
    bytes(&file.clone, &all, most).await
}

/// Like [`bytes_of`], but returns text with NULs between fields.
pub(super) async fn text_of(
    file: &TrackedFile,
    args: &[&str],
    most: usize,
) -> Result<String, Error> {
    let bytes = bytes_of(file, args, most).await?;
    // A commit may have an encoding that it does not declare.
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| {
        let fields: Vec<String> =
            error.as_bytes().split(|byte| *byte == 0).map(decode_lossy).collect();
        fields.join("\0")
    }))
}

fn command(clone: &Skeleton, args: &[&str]) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", BOUNDED, "git", "--no-pager", "--literal-pathspecs"]);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command.args(args).env_clear().envs(ENVIRONMENT);
    // The checked folder, even if its path now leads to another one.
    command.current_dir(clone.objects()).env("GIT_OBJECT_DIRECTORY", ".");
    command.env("GIT_DIR", clone.git_dir());
    command.env("PATH", std::env::var_os("PATH").as_deref().unwrap_or(OsStr::new("/usr/bin:/bin")));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// An event while git runs.
enum Event {
    /// Git has printed everything, or more than the limit.
    Read(Vec<u8>),
    /// Nobody waits any more.
    Left,
}

struct Leaves(Sender<Event>);

impl Drop for Leaves {
    fn drop(&mut self) {
        // The receiver may be gone.
        let _ = self.0.send(Event::Left);
    }
}

fn run(
    mut command: Command,
    most: usize,
    tell: Sender<Event>,
    events: &Receiver<Event>,
) -> Result<Vec<u8>, Error> {
    let deadline = Instant::now() + LIMIT;
    let mut child = command.spawn().map_err(|_| Error::NoGit)?;
    let Some(out) = child.stdout.take() else { return end(child, Error::Failed) };
    let reader = std::thread::Builder::new().name("git".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        // After an error of the pipe, there is no more to read.
        let _ = out.take(most as u64 + 1).read_to_end(&mut bytes);
        let _ = tell.send(Event::Read(bytes));
    });
    if reader.is_err() {
        return end(child, Error::Failed);
    }
    let bytes = match events.recv_timeout(LIMIT) {
        Ok(Event::Read(bytes)) if bytes.len() <= most => bytes,
        Ok(Event::Read(_)) => return end(child, Error::TooLarge),
        Ok(Event::Left) | Err(RecvTimeoutError::Disconnected) => return end(child, Error::Failed),
        Err(RecvTimeoutError::Timeout) => return end(child, Error::TooSlow),
    };
    // A process that closed its output usually ends at once.
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(bytes),
            Ok(Some(status)) if status.code() == Some(NOT_FOUND) => return Err(Error::NoGit),
            Ok(Some(_)) => return Err(Error::Failed),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
            Ok(None) => return end(child, Error::TooSlow),
            Err(_) => return end(child, Error::Failed),
        }
    }
}

/// Kills git, and returns the error.
fn end(mut child: Child, error: Error) -> Result<Vec<u8>, Error> {
    let _ = child.kill();
    let _ = child.wait();
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::{GitData, Trust};

    /// Runs the user's git in a folder, with `input`; returns its output.
    fn git(folder: &std::path::Path, args: &[&str], input: impl Read) -> String {
        let mut child = Command::new("git")
            .args(args)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("git is installed");
        let mut input = input;
        std::io::copy(&mut input, &mut child.stdin.take().unwrap()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {args:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// An object that inflates beyond git's memory limit kills git, not the server. A smaller one is read, so the size
    /// is the reason.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn git_has_half_a_gigabyte() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        git(folder, &["init", "-q"], std::io::empty());
        let write = |mib: u64| {
            // One byte less than the size above which git streams an object.
            let zeros = std::io::repeat(0).take((mib << 20) - 1);
            let fast = ["-c", "core.compression=1", "hash-object", "-w", "--stdin"];
            git(folder, &fast, zeros)
        };
        let (tiny, small, large) = (write(1), write(300), write(512));
        let mut trust = Trust::known(Vec::new());
        let data = GitData::of(folder, &mut trust).unwrap().unwrap();
        let objects = data.objects(&mut trust).unwrap().unwrap();
        let clone = Arc::new(Skeleton::new(objects, &large).unwrap());
        // To compare two objects, git holds both in memory.
        let compare = async |hash: &str| bytes(&clone, &["diff", &tiny, hash], 1000).await;
        let compared = compare(&small).await.unwrap();
        assert!(compared.starts_with(b"diff --git"), "{compared:?}");
        assert!(matches!(compare(&large).await, Err(Error::Failed)));
    }
}
