//! A preloaded library (`layer.c`) between programs and their files. It makes chosen system calls fail, or journals changes
//! so that `undo` can simulate a loss of power.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::eventually;

/// Offsets of fields in the library's `struct control`, in bytes.
const JOURNALS: u64 = 0;
const FAILS: u64 = 4;
const FIRST: u64 = 16;
const CONTROL_BYTES: usize = 40;

/// A kind of system call that can be made to fail.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Writing and resizing files.
    Writes = 1,
    /// `fsync` and `fdatasync`.
    Flushes = 2,
    /// Creating, renaming and removing files.
    Names = 3,
}

/// The library, compiled, and the folder whose files it handles.
pub(super) struct Layer {
    library: PathBuf,
    root: PathBuf,
    state: PathBuf,
}

impl Layer {
    /// Compiles the library for the files in `root`. Its own files go to `state`, on the same file system. Returns `None`
    /// without a C compiler.
    pub(super) fn new(root: &Path, state: &Path) -> Option<Self> {
        fs::create_dir_all(root).unwrap();
        fs::create_dir_all(state.join("kept")).unwrap();
        let library = state.join("layer.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/torture/layer.c");
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
        match cc.output() {
            Ok(done) => {
                assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            }
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "cc: {error}");
                println!("left out: there is no C compiler");
                return None;
            }
        }
        fs::write(state.join("control"), [0; CONTROL_BYTES]).unwrap();
        fs::write(state.join("journal"), "").unwrap();
        // Postgres may run as another user.
        for (name, mode) in [("kept", 0o777), ("control", 0o666), ("journal", 0o666)] {
            fs::set_permissions(state.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        Some(Self { library, root: root.canonicalize().unwrap(), state: state.to_owned() })
    }

    /// Preloads the library into the program of a command and everything that it starts.
    pub(super) fn below(&self, mut command: Command) -> Command {
        command.env("LD_PRELOAD", &self.library);
        command.env("LAYER_ROOT", &self.root).env("LAYER_STATE", &self.state);
        command
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn state(&self) -> &Path {
        &self.state
    }

    /// Empties the journal, and switches it on or off.
    pub(super) fn journal(&self, keeps: bool) {
        self.control(JOURNALS, &i32::from(keeps).to_ne_bytes());
        fs::OpenOptions::new()
            .write(true)
            .open(self.state.join("journal"))
            .unwrap()
            .set_len(0)
            .unwrap();
        for kept in fs::read_dir(self.state.join("kept")).unwrap() {
            fs::remove_file(kept.unwrap().path()).unwrap();
        }
    }

    /// Makes calls of a kind fail with an `errno`, from the `first` to the `last` that follow, counted from 1.
    pub(super) fn fail(&self, kind: Kind, error: i32, first: i64, last: i64) {
        let mut control = Vec::new();
        for number in [kind as i32, error, 0] {
            control.extend(number.to_ne_bytes());
        }
        for number in [first, last, 0] {
            control.extend(number.to_ne_bytes());
        }
        self.control(FIRST, &control[12..]);
        self.control(FAILS, &control[..12]);
    }

    /// Lets all calls succeed again. Returns how many failed.
    pub(super) fn heal(&self) -> i32 {
        let mut struck = [0; 4];
        let file = fs::File::open(self.state.join("control")).unwrap();
        file.read_exact_at(&mut struck, FAILS + 8).unwrap();
        self.control(FAILS, &[0; 12]);
        i32::from_ne_bytes(struck)
    }

    /// Stops, then kills all processes that have loaded the library.
    pub(super) fn cut_power(&self) {
        eventually("all programs on the layer have ended", || {
            let users = self.users();
            for name in ["-STOP", "-KILL"] {
                let mut kill = Command::new("kill");
                let _ = kill.arg(name).args(&users).stderr(Stdio::null()).status();
            }
            users.is_empty()
        });
    }

    /// Lists the ids of processes that have loaded the library.
    fn users(&self) -> Vec<String> {
        let library = self.library.to_str().unwrap();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let maps = fs::read_to_string(entry.path().join("maps")).unwrap_or_default();
            if maps.contains(library) {
                found.push(entry.file_name().into_string().unwrap());
            }
        }
        found
    }

    fn control(&self, at: u64, bytes: &[u8]) {
        // Processes that map the file see this at once.
        let file = fs::OpenOptions::new().write(true).open(self.state.join("control")).unwrap();
        file.write_all_at(bytes, at).unwrap();
    }
}
