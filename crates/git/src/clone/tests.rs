//! Compares what is read with what the program git says.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::*;
use crate::{Error, Oid};

mod changes;
mod fuzz;
mod history;
mod places;
mod refs;
mod revisions;
mod trees;

/// A clone in a folder of its own.
pub(super) struct Repo {
    _folder: Option<tempfile::TempDir>,
    pub(super) path: PathBuf,
    /// The time of the next commit.
    time: std::cell::Cell<i64>,
}

impl Repo {
    pub(super) fn new(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("clone");
        fs::create_dir(&path).unwrap();
        let repo = Self { _folder: Some(folder), path, time: 1_600_000_000.into() };
        let all: Vec<&str> = ["init", "-q", "-b", "main"].iter().chain(options).copied().collect();
        repo.git(&all);
        repo
    }

    /// Another clone, in a folder next to this one or below.
    pub(super) fn at(&self, path: PathBuf) -> Self {
        Self { _folder: None, path, time: self.time.clone() }
    }

    fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=A U Thor", "-c", "user.email=a@example.org"]);
        command.args([
            "-c",
            "gc.auto=0",
            "-c",
            "protocol.file.allow=always",
            "-c",
            "core.autocrlf=false",
        ]);
        command.args(args).current_dir(&self.path);
        let time = self.time.get();
        self.time.set(time + 60);
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            command.env(name, format!("{time} +0000"));
        }
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        command
    }

    /// Runs git, and returns its output without the line feed at the end.
    pub(super) fn git<S: AsRef<OsStr> + std::fmt::Debug>(&self, args: &[S]) -> String {
        let mut text = String::from_utf8(self.bytes(args)).unwrap();
        text.truncate(text.trim_end().len());
        text
    }

    pub(super) fn bytes<S: AsRef<OsStr> + std::fmt::Debug>(&self, args: &[S]) -> Vec<u8> {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Whether git can do it.
    pub(super) fn tries<S: AsRef<OsStr>>(&self, args: &[S]) -> bool {
        self.command(args).output().unwrap().status.success()
    }

    pub(super) fn feed<S: AsRef<OsStr> + std::fmt::Debug>(
        &self,
        args: &[S],
        input: &[u8],
    ) -> String {
        let mut command = self.command(args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(super) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Commits all files, and returns the commit.
    pub(super) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(super) fn open(&self) -> super::Clone {
        super::Clone::open(&self.path, &[]).unwrap()
    }

    /// Returns what is listed of a commit, in the format of `git ls-tree -r -z`.
    pub(super) fn list(&self, revision: &str) -> Vec<u8> {
        let clone = self.open();
        let mut listed = Vec::new();
        let commit = clone.resolve(revision).unwrap();
        let mut each = |file: TreeFile<'_>| {
            let kind = if file.mode == FileMode::Submodule { "commit" } else { "blob" };
            listed.extend(format!("{} {kind} {}\t", octal(file.mode), file.oid).bytes());
            listed.extend(file.path);
            listed.push(0);
            ControlFlow::Continue(())
        };
        clone.list(commit, &mut each).unwrap();
        listed
    }
}

pub(super) fn octal(mode: FileMode) -> &'static str {
    match mode {
        FileMode::File => "100644",
        FileMode::Executable => "100755",
        FileMode::Link => "120000",
        FileMode::Submodule => "160000",
    }
}

/// Numbers that look random, and are the same each time.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most
    }
}

pub(super) fn oid(hash: &str) -> Oid {
    Oid::from_hex(hash.as_bytes()).unwrap()
}

/// The files below a folder, which must not change.
pub(super) fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files_of(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

#[test]
fn threads_may_share_a_clone() {
    fn is_shared<T: Send + Sync>() {}
    fn is_sent<T: Send>() {}
    is_shared::<super::Clone>();
    is_sent::<BlobReader>();
    is_sent::<Commits>();
}
