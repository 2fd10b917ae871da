//! Hostile contents of a file system.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use fastrand::Rng;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, SFlag, makedev, mkdirat, mknod};
use nix::unistd::mkfifo;

use super::{NEEDLE, SECRET};
use crate::harness::is_root;

/// A folder of repositories, and one of another user next to it.
pub(super) struct Disk {
    root: PathBuf,
    pub(super) rng: Rng,
    pub(super) is_long: bool,
    ordinary: Vec<String>,
    left_out: Vec<(String, String, &'static str)>,
}

impl Disk {
    pub(super) fn new(root: &Path, rng: Rng, is_long: bool) -> Self {
        let disk = Self {
            root: root.canonicalize().unwrap(),
            rng,
            is_long,
            ordinary: Vec::new(),
            left_out: Vec::new(),
        };
        for path in ["a.txt", "sub/a.txt", ".gitignore"] {
            disk.put(&format!("../private/{path}"), SECRET);
        }
        disk
    }

    /// Returns a path among the repositories.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.root.join("in").join(path)
    }

    /// Returns a path of the other user.
    pub(super) fn private(&self, path: &str) -> PathBuf {
        self.root.join("private").join(path)
    }

    /// Writes a file about which nothing is expected, and makes the folders above it.
    pub(super) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Writes a file that must be indexed, unless it is a git file.
    pub(super) fn text(&mut self, path: &str, text: &str) {
        self.put(path, text);
        if !path.contains("/.git") {
            self.ordinary.push(path.to_owned());
        }
    }

    /// Expects a part of a repository to be reported as left out.
    pub(super) fn expect(&mut self, repo: &str, path: &str, reason: &'static str) {
        self.left_out.push((repo.to_owned(), path.to_owned(), reason));
    }

    pub(super) fn ordinary(&self) -> &[String] {
        &self.ordinary
    }

    pub(super) fn left_out(&self) -> &[(String, String, &'static str)] {
        &self.left_out
    }

    pub(super) fn pipe(&self, path: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        mkfifo(&path, Mode::S_IRWXU).unwrap();
    }

    pub(super) fn link(&self, path: &str, to: impl AsRef<Path>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, path).unwrap();
    }

    /// Returns incompressible letters.
    pub(super) fn letters(&mut self, count: usize) -> String {
        (0..count).map(|_| self.rng.alphanumeric()).collect()
    }

    pub(super) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.rng.u8(..)).collect()
    }

    /// Returns the larger number in the long form.
    pub(super) fn many(&self, short: usize, long: usize) -> usize {
        if self.is_long { long } else { short }
    }

    /// Replaces a folder by a link to the other user's folder and back, repeatedly, until the guard ends that.
    pub(super) fn swap_a_folder(&mut self) -> Swaps {
        self.put("swapped/.git/config", "");
        self.put("swapped/sub/a.txt", "ours\n");
        let (folder, kept) = (self.at("swapped/sub"), self.at("swapped/kept"));
        let private = self.private("sub");
        let ends = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                fs::rename(&folder, &kept).unwrap();
                symlink(&private, &folder).unwrap();
                fs::remove_file(&folder).unwrap();
                fs::rename(&kept, &folder).unwrap();
            }
        });
        Swaps { ends, thread }
    }

    /// Makes everything deletable.
    pub(super) fn open_all(&self) {
        let _ = fs::set_permissions(self.at("nodes/closed"), fs::Permissions::from_mode(0o755));
    }
}

pub(super) struct Swaps {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Swaps {
    pub(super) fn end(self) {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
    }
}

/// Builds the repositories whose files are hostile.
pub(super) fn build(disk: &mut Disk) {
    for repo in ["names", "deep", "nodes", "contents", "many"] {
        disk.put(&format!("{repo}/.git/config"), "");
    }
    names(disk);
    deep(disk);
    nodes(disk);
    contents(disk);
    many(disk);
}

fn names(disk: &mut Disk) {
    let long = disk.letters(251);
    let (hash, odd) = ("0123456789abcdef".repeat(15), disk.letters(5));
    for name in [
        "new\nline.txt",
        "\u{1b}[31mred.txt",
        "tab\tand\rreturn.txt",
        " spaces .txt ",
        "-rf",
        "--help",
        "*?[a-z]{b}!.txt",
        "'\"`$(id)\\.txt",
        "<script>alert(1)</script>",
        "%00%2e%2e%2f",
        "e\u{301}.txt",
        "é.txt",
        "\u{202e}txt.exe",
        "A.TXT",
        "a.txt",
        "CON",
        "...",
        "~",
        &format!("{long}.txt"),
        &hash,
        &odd,
    ] {
        disk.text(&format!("names/{name}"), &format!("{NEEDLE} {name:?}\n"));
    }
    let wrong = OsStr::from_bytes(b"latin\xe9\xff");
    fs::create_dir(disk.at("names").join(wrong)).unwrap();
    fs::write(disk.at("names").join(wrong).join("a.txt"), NEEDLE).unwrap();
    disk.expect("names", "latin", "name");
}

/// Adds paths up to, and beyond, the limits of an index of Postgres and of the system.
fn deep(disk: &mut Disk) {
    for levels in [9, 11, 14, 30] {
        let mut folder = OwnedFd::from(File::open(disk.at("deep")).unwrap());
        let mut path = "deep".to_owned();
        let open = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        for _ in 0..levels {
            let name = disk.letters(230);
            mkdirat(&folder, name.as_str(), Mode::S_IRWXU).unwrap();
            folder = openat(&folder, name.as_str(), open, Mode::empty()).unwrap();
            path = format!("{path}/{name}");
        }
        let create = OFlag::O_CREAT | OFlag::O_WRONLY | OFlag::O_CLOEXEC;
        let file = openat(&folder, "a.txt", create, Mode::S_IRWXU).unwrap();
        std::io::Write::write_all(&mut File::from(file), NEEDLE.as_bytes()).unwrap();
        let path = format!("{path}/a.txt");
        let below = &path["deep/".len()..];
        match below.len() {
            0..=2500 => disk.ordinary.push(path),
            2501..=4000 => disk.expect("deep", &below[..2000], "path"),
            _ => disk.expect("deep", &below[..2000], "unreadable"),
        }
    }
}

fn nodes(disk: &mut Disk) {
    disk.text("nodes/plain.txt", NEEDLE);
    disk.pipe("nodes/pipe");
    let _ = UnixListener::bind(disk.at("nodes/socket"));
    disk.expect("nodes", "pipe", "special");
    for (name, to) in [
        ("self", "self".into()),
        ("one", "two".into()),
        ("two", "one".into()),
        ("up", "..".into()),
        ("dangling", "/nowhere".into()),
        ("zero", "/dev/zero".into()),
        ("memory", "/proc/self/mem".into()),
        ("folder", disk.private("sub")),
        ("file", disk.private("a.txt")),
    ] {
        disk.link(&format!("nodes/{name}"), to);
        disk.expect("nodes", name, "symlink");
    }
    // Not all file systems support such a large sparse file.
    let sparse = File::create(disk.at("nodes/sparse")).unwrap();
    if sparse.set_len(1 << 40).is_ok() {
        disk.expect("nodes", "sparse", "too-large");
    }
    let device = disk.at("nodes/device");
    if mknod(&device, SFlag::S_IFCHR, Mode::S_IRWXU, makedev(1, 5)).is_ok() {
        disk.expect("nodes", "device", "special");
    }
    disk.put("nodes/closed/a.txt", NEEDLE);
    fs::set_permissions(disk.at("nodes/closed"), fs::Permissions::from_mode(0o000)).unwrap();
    if !is_root() {
        disk.expect("nodes", "closed", "unreadable");
    }
}

fn contents(disk: &mut Disk) {
    let brackets = format!("{NEEDLE}{}", "([{".repeat(100_000));
    let line = format!("{NEEDLE}{}", disk.letters(1_000_000));
    for (name, text) in [
        ("brackets.js", &*brackets),
        ("line.txt", &line),
        ("escapes.txt", "needle \u{1b}]0;title\u{7}\u{1b}[2J\u{202e}\u{feff}\n"),
        ("returns.txt", "needle\r\r\r\n"),
        ("a.rs", &format!("fn {}() {{}} // {NEEDLE}\n", "x".repeat(500_000))),
        ("empty.c", ""),
        ("bom.txt", "\u{feff}"),
    ] {
        disk.text(&format!("contents/{name}"), text);
    }
    let random = disk.bytes(100_000);
    for (name, bytes, reason) in [
        ("large.txt", vec![b'a'; 10 << 20], "too-large"),
        ("nul.txt", b"needle\0".to_vec(), "binary"),
        ("zip.txt", b"PK\x03\x04\x14\0\0\0".to_vec(), "binary"),
        ("wide.txt", b"\xff\xfea\0\0\0".to_vec(), "binary"),
        ("random.bin", random, "binary"),
    ] {
        disk.put(&format!("contents/{name}"), bytes);
        disk.expect("contents", name, reason);
    }
    disk.put("contents/invalid.txt", b"needle \xff\xc0\x80\xed\xa0\x80\xf8\n");
    disk.ordinary.push("contents/invalid.txt".to_owned());
}

fn many(disk: &mut Disk) {
    for n in 0..disk.many(500, 50_000) {
        fs::create_dir_all(disk.at(&format!("many/empty/{n}"))).unwrap();
        disk.text(&format!("many/full/{n}.txt"), &format!("{NEEDLE} {n}\n"));
    }
    // These folders contain no repository.
    for n in 0..disk.many(100, 10_000) {
        fs::create_dir_all(disk.at(&format!("loose/{n}/deep"))).unwrap();
    }
    disk.put("loose/one/.git/config", "");
    disk.text("loose/one/a.txt", NEEDLE);
}
