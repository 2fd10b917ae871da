use super::*;
use std::fs;
use std::os::unix::fs::symlink;

const HASH: &str = "0123456789abcdef0123456789abcdef01234567";

/// An ingested folder next to another user's folder.
struct Disk {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Disk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let disk = Self { _folder: folder, root };
        disk.clone_at("private/.git", "");
        disk.folder("repos/r");
        disk
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn folder(&self, path: &str) {
        fs::create_dir_all(self.at(path)).unwrap();
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn link(&self, from: &str, to: impl AsRef<Path>) {
        fs::create_dir_all(self.at(from).parent().unwrap()).unwrap();
        symlink(to, self.at(from)).unwrap();
    }

    /// Makes the git data of a clone.
    fn clone_at(&self, path: &str, config: &str) {
        self.write(&format!("{path}/HEAD"), format!("{HASH}\n"));
        self.write(&format!("{path}/config"), format!("[core]\n\tbare = false\n{config}"));
        self.folder(&format!("{path}/objects/pack"));
        self.folder(&format!("{path}/refs"));
    }

    fn ingest(&self, follows: bool) -> Trust {
        Trust::of_ingest(&self.at("repos"), follows)
    }

    /// Reads all git data of a checkout. An error is the first part that is not read.
    fn read(&self, checkout: &str, trust: &mut Trust) -> Result<Option<String>, Unread> {
        let Some(data) = GitData::of(&self.at(checkout), trust)? else { return Ok(None) };
        data.config(trust)?;
        data.objects(trust)?;
        data.commit(trust)
    }

    /// Checks that a part is not read, during ingest or later, unless the option is given and this user owns it.
    fn is_outside(&self, part: &str) {
        let unread = self.read("repos/r", &mut self.ingest(false)).unwrap_err();
        assert_eq!((&*unread.path, unread.reason), (part, SkipReason::Outside));
        let unread = self.read("repos/r", &mut Trust::known(Vec::new())).unwrap_err();
        assert_eq!(unread.reason, SkipReason::Outside);
        let mut trust = self.ingest(true);
        assert_eq!(self.read("repos/r", &mut trust).unwrap().as_deref(), Some(HASH), "{part}");
        let mut known = Trust::known(trust.into_folders());
        assert_eq!(self.read("repos/r", &mut known).unwrap().as_deref(), Some(HASH), "{part}");
    }

    /// Checks that the git data are read, during ingest and later, but not later if nothing was allowed.
    fn is_inside(&self, checkout: &str) {
        let mut trust = self.ingest(false);
        assert_eq!(self.read(checkout, &mut trust).unwrap().as_deref(), Some(HASH));
        let folders = trust.into_folders();
        assert!(!folders.is_empty());
        self.read(checkout, &mut Trust::known(folders)).unwrap();
        self.read(checkout, &mut Trust::known(Vec::new())).unwrap_err();
    }
}

#[test]
fn a_clone_of_its_own_is_read() {
    let disk = Disk::new();
    assert_eq!(disk.read("repos/r", &mut disk.ingest(false)), Ok(None));
    disk.clone_at("repos/r/.git", "");
    let mut trust = disk.ingest(false);
    assert_eq!(disk.read("repos/r", &mut trust).unwrap().as_deref(), Some(HASH));
    assert!(trust.into_folders().is_empty());
}

#[test]
fn nothing_of_somebody_else_is_read() {
    let private = "../../private/.git";
    let disk = Disk::new();
    disk.write("repos/r/.git", format!("gitdir: {private}\n"));
    disk.is_outside(".git");
    let disk = Disk::new();
    disk.link("repos/r/.git", private);
    disk.is_outside(".git");
    let disk = Disk::new();
    disk.clone_at("repos/r/.git", "");
    disk.write("repos/r/.git/commondir", disk.at("private/.git").to_str().unwrap());
    disk.is_outside(".git");
    for part in ["HEAD", "config", "objects"] {
        let disk = Disk::new();
        disk.clone_at("repos/r/.git", "");
        let place = disk.at(&format!("repos/r/.git/{part}"));
        let _ = fs::remove_file(&place);
        let _ = fs::remove_dir_all(&place);
        symlink(disk.at(&format!("private/.git/{part}")), place).unwrap();
        disk.is_outside(&format!(".git/{part}"));
    }
    for line in [disk_path("objects"), format!("# it\n\n{}\n", disk_path("objects"))] {
        let disk = Disk::new();
        disk.clone_at("repos/r/.git", "");
        disk.write("repos/r/.git/objects/info/alternates", line);
        disk.is_outside(".git/objects/info/alternates");
    }
    // A quoted path is not unquoted.
    let disk = Disk::new();
    disk.clone_at("repos/r/.git", "");
    disk.write("repos/r/.git/objects/info/alternates", "\"\\057etc\"\n");
    let unread = disk.read("repos/r", &mut disk.ingest(true)).unwrap_err();
    assert_eq!(unread.reason, SkipReason::Outside);
    // An allowed clone borrows from another that is not allowed.
    let disk = Disk::new();
    disk.clone_at("repos/r/.git", "");
    disk.clone_at("repos/s/.git", "");
    disk.write("repos/r/.git/objects/info/alternates", "../../../s/.git/objects\n");
    disk.is_inside("repos/r");
    disk.write("repos/s/.git/objects/info/alternates", "../../../../private/.git/objects\n");
    disk.is_outside(".git/info/alternates");
}

/// Returns the path of the private clone's folder, relative to the objects of a checkout.
fn disk_path(folder: &str) -> String {
    format!("../../../../private/.git/{folder}")
}

#[test]
fn links_among_objects_are_refused() {
    for (from, to, reason) in [
        ("pack/x.pack", "/etc/passwd", SkipReason::Symlink),
        ("ab", "/etc", SkipReason::Symlink),
        ("info", "..", SkipReason::Symlink),
    ] {
        let disk = Disk::new();
        disk.clone_at("repos/r/.git", "");
        disk.link(&format!("repos/r/.git/objects/{from}"), to);
        let unread = disk.read("repos/r", &mut disk.ingest(true)).unwrap_err();
        assert_eq!(unread.reason, reason, "{from}");
    }
    let disk = Disk::new();
    disk.clone_at("repos/r/.git", "");
    nix::unistd::mkfifo(&disk.at("repos/r/.git/objects/pack/x.idx"), nix::sys::stat::Mode::S_IRWXU)
        .unwrap();
    let unread = disk.read("repos/r", &mut disk.ingest(true)).unwrap_err();
    assert_eq!(unread.reason, SkipReason::Special);
}

#[test]
fn what_changes_meanwhile_is_noticed() {
    let disk = Disk::new();
    disk.clone_at("repos/r/.git", "");
    let mut trust = disk.ingest(false);
    let data = GitData::of(&disk.at("repos/r"), &mut trust).unwrap().unwrap();
    let look = || data.objects(&mut disk.ingest(false)).unwrap().unwrap();
    let objects = look();
    assert!(objects.are_unchanged());
    disk.write("repos/r/.git/objects/info/alternates", "/nowhere\n");
    assert!(!objects.are_unchanged());
    let objects = look();
    let pack = disk.at("repos/r/.git/objects/pack");
    fs::rename(&pack, disk.at("kept")).unwrap();
    symlink(disk.at("private/.git/objects/pack"), &pack).unwrap();
    assert!(!objects.are_unchanged());
    fs::remove_file(&pack).unwrap();
    fs::rename(disk.at("kept"), &pack).unwrap();
    assert!(!objects.are_unchanged(), "it was swapped and swapped back");
}

#[test]
fn worktrees_and_submodules_are_known_by_what_points_back() {
    // A worktree of a clone outside the ingest.
    let disk = Disk::new();
    disk.write("private/.git/worktrees/w/HEAD", HASH);
    disk.write("private/.git/worktrees/w/commondir", "../..\n");
    disk.write(
        "private/.git/worktrees/w/gitdir",
        format!("{}\n", disk.at("repos/r/.git").display()),
    );
    disk.write(
        "repos/r/.git",
        format!("gitdir: {}\n", disk.at("private/.git/worktrees/w").display()),
    );
    disk.is_inside("repos/r");
    // Another checkout that names the same worktree.
    disk.folder("repos/evil");
    fs::copy(disk.at("repos/r/.git"), disk.at("repos/evil/.git")).unwrap();
    let unread = disk.read("repos/evil", &mut disk.ingest(false)).unwrap_err();
    assert_eq!(unread.reason, SkipReason::Outside);
    // A folder that claims to be a worktree of a clone that does not list it.
    let disk = Disk::new();
    disk.write("fake/worktrees/w/HEAD", HASH);
    disk.write("fake/worktrees/w/commondir", disk.at("private/.git").to_str().unwrap());
    disk.write("fake/worktrees/w/gitdir", disk.at("repos/r/.git").to_str().unwrap());
    disk.write("repos/r/.git", format!("gitdir: {}\n", disk.at("fake/worktrees/w").display()));
    disk.is_outside(".git");
    // Submodules of ingested clones, and of others.
    let disk = Disk::new();
    disk.clone_at("repos/outer/.git/modules/r", "\tworktree = ../../../../r\n");
    disk.write("repos/r/.git", "gitdir: ../outer/.git/modules/r\n");
    disk.is_inside("repos/r");
    let disk = Disk::new();
    disk.clone_at("private/.git/modules/r", "\tworktree = ../../../../repos/r\n");
    disk.write("repos/r/.git", "gitdir: ../../private/.git/modules/r\n");
    disk.is_inside("repos/r");
}

#[test]
fn a_git_that_leads_nowhere_is_told() {
    let unread = |make: &dyn Fn(&Disk)| {
        let disk = Disk::new();
        make(&disk);
        disk.read("repos/r", &mut disk.ingest(false)).unwrap_err()
    };
    let of_git = |reason| Unread { path: ".git".to_owned(), reason };
    let special = of_git(SkipReason::Special);
    assert_eq!(unread(&|disk| disk.link("repos/r/.git", ".git")), of_git(SkipReason::Symlink));
    assert_eq!(unread(&|disk| disk.link("repos/r/.git", "gone")), of_git(SkipReason::Vanished));
    assert_eq!(unread(&|disk| disk.link("repos/r/.git", "/dev/zero")), special);
    assert_eq!(unread(&|disk| disk.write("repos/r/.git", "nothing of git's")), special);
    assert_eq!(unread(&|disk| disk.write("repos/r/.git", "gitdir: /dev/null")), special);
    assert_eq!(unread(&|disk| disk.write("repos/r/.git", "gitdir: a\0b")).path, ".git");
    assert_eq!(
        unread(&|disk| disk.write("repos/r/.git", format!("gitdir: {}", "x".repeat(9999)))),
        of_git(SkipReason::TooLarge)
    );
    let pipe = |disk: &Disk, path: &str| {
        nix::unistd::mkfifo(&disk.at(path), nix::sys::stat::Mode::S_IRWXU).unwrap();
    };
    assert_eq!(unread(&|disk| pipe(disk, "repos/r/.git")), special);
    for part in ["HEAD", "config", "shallow", "objects/info/alternates"] {
        let told = unread(&|disk| {
            disk.clone_at("repos/r/.git", "");
            let path = format!("repos/r/.git/{part}");
            disk.write(&path, "");
            fs::remove_file(disk.at(&path)).unwrap();
            pipe(disk, &path);
        });
        assert_eq!(told, Unread { path: format!(".git/{part}"), reason: SkipReason::Special });
    }
    for (part, bytes) in [("HEAD", 30 << 20), ("config", 2 << 20)] {
        let told = unread(&|disk| {
            disk.clone_at("repos/r/.git", "");
            disk.write(&format!("repos/r/.git/{part}"), "a".repeat(bytes));
        });
        assert_eq!(told, Unread { path: format!(".git/{part}"), reason: SkipReason::TooLarge });
    }
}

#[test]
fn commits_are_whole_hashes() {
    let disk = Disk::new();
    disk.clone_at("repos/r/.git", "");
    let long = "a".repeat(64);
    let packed = format!(
        "# pack-refs with: peeled\n{}\n{HASH} refs/heads/other\n^{HASH}\n{long} refs/heads/packed\n",
        "x".repeat(100_000)
    );
    disk.write("repos/r/.git/packed-refs", packed);
    disk.write("repos/r/.git/refs/heads/main", format!("{HASH}\n"));
    for (head, expected) in [
        (HASH, Some(HASH)),
        ("ref: refs/heads/main\n", Some(HASH)),
        ("ref: refs/heads/packed\n", Some(&*long)),
        ("ref: refs/heads/gone\n", None),
        ("ref: refs/../refs/heads/main\n", None),
        ("ref: /dev/zero\n", None),
        ("ref: refs/heads/a\0b\n", None),
        ("ref: \n", None),
        ("", None),
        (&HASH[1..], None),
        (&format!("{HASH}a"), None),
        ("\u{1b}[31m", None),
    ] {
        disk.write("repos/r/.git/HEAD", head);
        let commit = disk.read("repos/r", &mut disk.ingest(false)).unwrap();
        assert_eq!(commit.as_deref(), expected, "{head:?}");
    }
}

#[test]
fn an_origin_is_the_first_and_includes_are_not_read() {
    let disk = Disk::new();
    disk.write("repos/r/more", "[remote \"origin\"]\n\turl = https://example.org/included/r\n");
    let more = disk.at("repos/r/more");
    let more = more.to_str().unwrap();
    for (config, expected) in [
        (
            "\turl = https://a.example/x\n\turl = https://b.example/y\n",
            Origin::At("a.example/x".to_owned()),
        ),
        (
            "\turl = https://a.example/x\n\turl =\n\turl = https://b.example/y\n",
            Origin::At("b.example/y".to_owned()),
        ),
        ("\turl =\n", Origin::None),
        ("\turl\n", Origin::None),
        ("\tpushurl = https://a.example/x\n", Origin::None),
        (
            "\turl = gh:x/y\n[url \"https://github.com/\"]\n\tinsteadOf = gh:\n",
            Origin::At("github.com/x/y".to_owned()),
        ),
        ("\turl = C:\\\\repos\\\\g\n", Origin::None),
        ("\turl = https://a.example/%00\n", Origin::Odd),
        (
            &format!("[include]\n\tpath = {more}\n[includeIf \"gitdir:/\"]\n\tpath = {more}\n"),
            Origin::None,
        ),
    ] {
        disk.clone_at("repos/r/.git", &format!("[remote \"origin\"]\n{config}"));
        let mut trust = disk.ingest(false);
        let data = GitData::of(&disk.at("repos/r"), &mut trust).unwrap().unwrap();
        assert_eq!(data.config(&mut trust).unwrap().unwrap().origin(), expected, "{config}");
    }
}
