//! Tests of the thread on real folders, with what it tells instead of a queue.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use store::Change;
use tempfile::TempDir;
use watch::{Checkout, Options, Root, Watching};

/// Longest time to wait for what must come.
const LONGEST: Duration = Duration::from_mins(1);

struct Watched {
    _temporary: TempDir,
    at: PathBuf,
    watching: Watching,
    told: Receiver<Vec<Change>>,
}

impl Watched {
    fn with(options: Options) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let at = temporary.path().canonicalize().unwrap();
        let (tell, told) = channel();
        let watching = Watching::start(options, move |changes| drop(tell.send(changes))).unwrap();
        Self { _temporary: temporary, at, watching, told }
    }

    fn new() -> Self {
        Self::with(Options::default())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.at.join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, folder: &str, args: &[&str]) {
        git(&self.path(folder), args);
    }

    /// Makes a clone with some files, all committed.
    fn clone_with(&self, folder: &str, files: &[&str]) {
        for file in files {
            self.write(&format!("{folder}/{file}"), file);
        }
        self.git(folder, &["init", "-q"]);
        self.git(folder, &["add", "--all"]);
        self.git(folder, &["commit", "-q", "-m", "first"]);
    }

    /// Watches checkouts below a root, and waits until all of them are to be looked at.
    fn watch(&self, folders: &[&str]) {
        let all: Vec<PathBuf> = folders.iter().map(|folder| self.path(folder)).collect();
        let spec = |folder: &PathBuf| Checkout {
            folder: folder.clone(),
            is_main: true,
            no_ignore: false,
            from_commit: false,
            git_folders: Vec::new(),
            inside: all
                .iter()
                .filter(|other| *other != folder && other.starts_with(folder))
                .cloned()
                .collect(),
        };
        let roots = vec![Root { folder: self.at.clone(), depth: None }];
        self.watching.watch(all.iter().map(spec).collect(), roots);
    }

    fn start(&self, folders: &[&str]) {
        self.start_more(folders, folders);
    }

    /// Watches checkouts, and waits until those that were not watched before are to be looked at.
    fn start_more(&self, folders: &[&str], new: &[&str]) {
        self.watch(folders);
        let mut left: Vec<&str> = new.to_vec();
        self.until("all are looked at", |change, of| {
            left.retain(|folder| *folder != of || change.paths.is_some());
            left.is_empty()
        });
    }

    /// Waits until `is_it` holds for a change of the checkout in a folder. Returns all that were told until then.
    #[track_caller]
    fn until(&self, what: &str, mut is_it: impl FnMut(&Change, &str) -> bool) -> Vec<Change> {
        let mut all = Vec::new();
        loop {
            let Ok(changes) = self.told.recv_timeout(LONGEST) else {
                panic!("it was not told that {what}, but: {all:?}");
            };
            let mut is_done = false;
            for change in &changes {
                let of = Path::new(&change.source).strip_prefix(&self.at).unwrap().to_owned();
                is_done |= is_it(change, of.to_str().unwrap());
            }
            all.extend(changes);
            if is_done {
                return all;
            }
        }
    }

    /// Waits until a path of a checkout, a folder around it, or all of the checkout is to be looked at.
    #[track_caller]
    fn until_path(&self, folder: &str, path: &str) -> Vec<Change> {
        self.until(&format!("{folder}/{path} has changed"), |change, of| {
            of == folder && covers(change, path)
        })
    }

    /// Waits until so many folders are watched. What is told last may be that everything is to be looked at.
    #[track_caller]
    fn until_folders(&self, count: usize) {
        let begun = std::time::Instant::now();
        while self.folders().len() != count {
            assert!(begun.elapsed() < LONGEST, "{} folders are watched", self.folders().len());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the watched folders below the root, without git's.
    fn folders(&self) -> Vec<String> {
        let folders = self.watching.folders();
        let below = folders.iter().filter_map(|folder| folder.strip_prefix(&self.at).ok());
        let below = below.map(|folder| folder.to_str().unwrap().to_owned());
        below.filter(|folder| !format!("/{folder}/").contains("/.git/")).collect()
    }
}

fn git(folder: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]);
    let done = git.args(args).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

fn covers(change: &Change, path: &str) -> bool {
    change.paths.as_ref().is_none_or(|paths| {
        paths.iter().any(|changed| {
            let rules =
                changed.strip_suffix(".gitignore").map(|folder| folder.trim_end_matches('/'));
            Path::new(path).starts_with(rules.unwrap_or(changed))
        })
    })
}

#[test]
fn a_saved_file_is_told_alone() {
    let it = Watched::new();
    it.clone_with("a", &["src/one.rs", "two.rs"]);
    it.start(&["a"]);
    it.write("a/src/one.rs", "new");
    let told = it.until_path("a", "src/one.rs");
    assert_eq!(told.last().unwrap().paths.as_deref(), Some(&["src/one.rs".to_owned()][..]));
    // As editors do it.
    it.write("a/.two.rs.swp", "new");
    fs::rename(it.path("a/.two.rs.swp"), it.path("a/two.rs")).unwrap();
    let told = it.until_path("a", "two.rs");
    assert!(told.iter().all(|change| change.paths.is_some()), "{told:?}");
    fs::remove_file(it.path("a/src/one.rs")).unwrap();
    it.until_path("a", "src/one.rs");
}

#[test]
fn new_folders_are_watched_to_their_depth() {
    let it = Watched::new();
    it.clone_with("a", &["one"]);
    it.start(&["a"]);
    it.write("a/x/y/z/deep/two", "text");
    it.until_path("a", "x/y/z/deep/two");
    it.write("a/x/y/z/deep/three", "text");
    it.until_path("a", "x/y/z/deep/three");
    // Renamed: what happens in it is told of its new path.
    fs::rename(it.path("a/x/y"), it.path("a/x/w")).unwrap();
    let mut left = vec!["x/y/z/deep/two", "x/w/z/deep/two"];
    it.until("a folder was renamed", |change, _| {
        left.retain(|path| !covers(change, path));
        left.is_empty()
    });
    it.write("a/x/w/z/deep/four", "text");
    it.until_path("a", "x/w/z/deep/four");
    // Another folder comes to the old path.
    it.write("a/x/y/z/deep/five", "text");
    it.until_path("a", "x/y/z/deep/five");
    it.write("a/x/y/z/deep/six", "text");
    it.until_path("a", "x/y/z/deep/six");
    fs::remove_dir_all(it.path("a/x")).unwrap();
    it.until_path("a", "x/w/z/deep/four");
    it.write("a/x/again", "text");
    it.until_path("a", "x/again");
    assert_eq!(it.folders(), ["", "a", "a/x"]);
}

#[test]
fn ignored_folders_are_not_watched_unless_git_tracks_files_in_them() {
    let it = Watched::new();
    it.clone_with("a", &["src/one", "kept/deep/tracked"]);
    it.write("a/.gitignore", "node_modules\nkept\n");
    it.write("a/node_modules/x/y/index.js", "text");
    it.write("a/kept/other/file", "text");
    it.start(&["a"]);
    assert_eq!(it.folders(), ["", "a", "a/kept", "a/kept/deep", "a/src"]);
    it.write("a/src/node_modules/z/index.js", "text");
    it.until_path("a", "src/node_modules/z/index.js");
    assert_eq!(it.folders(), ["", "a", "a/kept", "a/kept/deep", "a/src"]);
    // The rule is gone.
    it.write("a/.gitignore", "kept\n");
    it.until_path("a", "node_modules/x/y/index.js");
    assert!(it.folders().contains(&"a/node_modules/x/y".to_owned()), "{:?}", it.folders());
    it.write("a/.gitignore", "kept\nnode_modules\n");
    it.until_path("a", "node_modules/x/y/index.js");
    assert_eq!(it.folders(), ["", "a", "a/kept", "a/kept/deep", "a/src"]);
    // Git tracks another one.
    it.git("a", &["add", "--force", "node_modules/x/y/index.js"]);
    it.until_path("a", "node_modules/x/y/index.js");
    it.write("a/node_modules/x/y/index.js", "other");
    it.until_path("a", "node_modules/x/y/index.js");
}

#[test]
fn git_tells_of_commits_and_branches() {
    let it = Watched::new();
    it.clone_with("a", &["one"]);
    it.start(&["a"]);
    it.write("a/one", "new");
    it.until_path("a", "one");
    it.git("a", &["commit", "-q", "--all", "-m", "second"]);
    let told = it.until("there is a commit", |change, _| change.paths.is_some());
    assert_eq!(told.last().unwrap().paths.as_deref(), Some(&[][..]), "no file has changed");
    it.git("a", &["branch", "deep/er/branch"]);
    it.until("there is a branch", |change, _| change.paths.as_deref() == Some(&[]));
    it.git("a", &["commit", "-q", "--allow-empty", "-m", "third"]);
    it.until("there is a commit", |change, _| change.paths.as_deref() == Some(&[]));
    it.git("a", &["branch", "--force", "deep/er/branch", "HEAD"]);
    it.until("the branch has moved", |change, _| change.paths.as_deref() == Some(&[]));
    // A configuration may change anything.
    it.git("a", &["config", "codesearch.rank", "7"]);
    it.until("there is a configuration", |change, _| change.paths.is_none());
}

#[test]
fn what_git_is_changing_is_left_alone() {
    let it = Watched::new();
    it.clone_with("a", &["one"]);
    it.clone_with("b", &["one"]);
    it.start(&["a", "b"]);
    it.write("a/.git/index.lock", "");
    it.write("a/one", "half");
    it.write("b/one", "new");
    let told = it.until_path("b", "one");
    assert!(told.iter().all(|change| change.source.ends_with("/b")), "{told:?}");
    fs::remove_file(it.path("a/.git/index.lock")).unwrap();
    it.until_path("a", "one");
}

#[test]
fn lost_events_have_everything_looked_at_and_watched_again() {
    let it = Watched::new();
    it.clone_with("a", &["one", "sub/two"]);
    it.start(&["a"]);
    it.watching.lose_events();
    it.until("events were lost", |change, of| of == "a" && change.paths.is_none());
    it.write("a/sub/two", "new");
    it.until_path("a", "sub/two");
}

#[test]
fn what_does_not_fit_is_polled() {
    let files = |count: usize| (0..count).map(|n| format!("{n}/file")).collect::<Vec<_>>();
    let poll_every = Duration::from_millis(50);
    let options = Options { watches: Some(50), poll_every, ..Options::default() };
    let it = Watched::with(options);
    for (folder, count) in [("large", 40), ("small", 5)] {
        let files = files(count);
        it.clone_with(folder, &files.iter().map(String::as_str).collect::<Vec<_>>());
    }
    it.start(&["large", "small"]);
    let status = it.watching.status();
    assert!(status.watches <= 50 && status.limit == 50, "{status:?}");
    let polled: Vec<_> =
        status.checkouts.iter().filter(|checkout| checkout.polled.is_some()).collect();
    assert_eq!(polled.len(), 1);
    assert_eq!(polled[0].folder, it.path("large"));
    let why = polled[0].polled.as_ref().unwrap();
    assert!(why.contains("its folders do not fit into the 50"), "{why}");
    it.write("large/39/file", "new");
    it.until_path("large", "39/file");
    it.write("small/3/file", "new");
    let told = it.until("a file has changed", |change, of| of == "small" && change.paths.is_some());
    assert!(told.iter().any(|change| change.paths.as_deref() == Some(&["3/file".to_owned()][..])));
    // Then there is room.
    fs::remove_dir_all(it.path("small")).unwrap();
    it.until("all of it is gone", |change, of| of == "small" && change.paths.is_none());
    it.watch(&["large"]);
    fs::remove_dir_all(it.path("large/39")).unwrap();
    it.until_path("large", "39/file");
}

#[test]
fn clones_that_appear_move_and_go_are_told() {
    let it = Watched::new();
    it.clone_with("a", &["one"]);
    it.start(&["a"]);
    // A clone of it in a new folder.
    fs::create_dir(it.path("group")).unwrap();
    it.git("group", &["clone", "-q", "../a", "b"]);
    it.until("there is a clone", |_, of| of == "group/b");
    it.git(".", &["clone", "-q", "--mirror", "a", "bare.git"]);
    it.until("there is a bare clone", |_, of| of == "bare.git");
    it.start_more(&["a", "group/b"], &["group/b"]);
    // Both sides of a move are told at once.
    fs::rename(it.path("group/b"), it.path("group/c")).unwrap();
    let told = it.until("it has moved", |_, of| of == "group/c");
    assert!(told.iter().any(|change| change.source.ends_with("/group/b")), "{told:?}");
    it.start_more(&["a", "group/c"], &["group/c"]);
    // So are those of a folder around it.
    fs::rename(it.path("group"), it.path("other")).unwrap();
    let told = it.until("it has moved", |_, of| of == "other/c");
    assert!(told.iter().any(|change| change.source.ends_with("/group/c")), "{told:?}");
    it.start_more(&["a", "other/c"], &["other/c"]);
    fs::remove_dir_all(it.path("other")).unwrap();
    it.until("it is gone", |change, of| of == "other/c" && change.paths.is_none());
    it.watch(&["a"]);
    // A new repository without a commit.
    it.write("new/file", "text");
    it.git("new", &["init", "-q"]);
    it.until("there is one without commits", |_, of| of == "new");
    // One inside of another, which has its files no more.
    it.write("a/inner/file", "text");
    it.until_path("a", "inner/file");
    it.git("a/inner", &["init", "-q"]);
    let mut left = vec!["a", "a/inner"];
    it.until("there is one inside of another", |change, of| {
        left.retain(|folder| *folder != of || change.paths.is_some());
        left.is_empty()
    });
}

/// Returns a number of files or folders: a small one, unless `CODESEARCH_TORTURE` is set.
fn many(usual: usize, whole: usize) -> usize {
    if std::env::var_os("CODESEARCH_TORTURE").is_some() { whole } else { usual }
}

#[test]
fn an_editor_that_saves_all_the_time_makes_no_walk() {
    let it = Watched::new();
    let files: Vec<String> = (0..10).map(|n| format!("src/{n}.rs")).collect();
    it.clone_with("a", &files.iter().map(String::as_str).collect::<Vec<_>>());
    it.start(&["a"]);
    for round in 0..20 {
        for file in &files {
            let at = it.path(&format!("a/{file}"));
            // A swap file, a backup, and a new file that is renamed to the old one.
            let (swap, backup, new) =
                (at.with_extension("swp"), at.with_extension("rs~"), at.with_extension("new"));
            fs::write(&swap, "swap").unwrap();
            fs::rename(&at, &backup).unwrap();
            fs::write(&new, format!("round {round}")).unwrap();
            fs::rename(&new, &at).unwrap();
            fs::remove_file(&backup).unwrap();
            fs::remove_file(&swap).unwrap();
        }
        if round % 5 == 4 {
            let mut left = files.clone();
            let told = it.until("all are saved", |change, _| {
                left.retain(|file| !covers(change, file));
                left.is_empty()
            });
            assert!(told.iter().all(|change| change.paths.is_some()), "{told:?}");
        }
    }
    assert_eq!(it.folders(), ["", "a", "a/src"]);
}

#[test]
fn a_checkout_of_many_files_is_told_when_it_is_complete() {
    let (it, count) = (Watched::new(), many(3000, 50_000));
    let write = |text: &str| {
        for n in 0..count {
            it.write(&format!("a/d{}/e{}/{n}.txt", n % 97, n % 7), text);
        }
    };
    it.write("a/kept.txt", "kept");
    it.git("a", &["init", "-q"]);
    it.git("a", &["add", "--all"]);
    it.git("a", &["commit", "-q", "-m", "first"]);
    it.git("a", &["checkout", "-q", "-b", "other"]);
    write("of the other branch");
    it.git("a", &["add", "--all"]);
    it.git("a", &["commit", "-q", "-m", "second"]);
    it.git("a", &["checkout", "-q", "main"]);
    it.start(&["a"]);
    assert_eq!(it.folders(), ["", "a"]);
    for (n, branch) in ["other", "main", "other"].iter().enumerate() {
        let folder = it.path("a");
        std::thread::scope(|scope| {
            scope.spawn(move || git(&folder, &["checkout", "-q", branch]));
            let told = it.until("it is checked out", |change, of| {
                let is_it = of == "a" && covers(change, "d5/e1/5.txt");
                assert!(!(is_it && it.path("a/.git/index.lock").exists()), "it goes on");
                is_it
            });
            assert!(told.len() < 9, "{told:?}");
        });
        // What is left of it is told before.
        it.write(&format!("a/witness{n}"), "text");
        it.until_path("a", &format!("witness{n}"));
    }
    let folders = it.folders();
    assert_eq!(
        folders.len(),
        2 + 97 + (0..count).map(|n| (n % 97, n % 7)).collect::<HashSet<_>>().len()
    );
    it.write("a/d5/e1/5.txt", "by hand");
    it.until_path("a", "d5/e1/5.txt");
}

#[test]
fn a_tree_of_many_folders_is_watched_and_forgotten() {
    let (it, count) = (Watched::new(), many(3000, 30_000));
    it.clone_with("a", &["one"]);
    it.clone_with("b", &["one"]);
    let fill = |top: &str| {
        for n in 0..count {
            fs::create_dir_all(it.path(&format!("a/{top}/{}/{n}", n / 100))).unwrap();
        }
    };
    fill("tree");
    it.start(&["a", "b"]);
    let watched = count + count.div_ceil(100) + 4;
    it.until_folders(watched);
    // Those of a renamed folder have other paths.
    fs::rename(it.path("a/tree"), it.path("a/other")).unwrap();
    it.until_path("a", "other/0/0");
    assert!(it.folders().contains(&"a/other/0/0".to_owned()));
    it.until_folders(watched);
    it.write("a/other/0/7/file", "text");
    it.until_path("a", "other/0/7/file");
    fs::remove_dir_all(it.path("a/other")).unwrap();
    it.until_path("a", "other/0/0");
    it.write("a/witness", "text");
    it.until_path("a", "witness");
    it.until_folders(3);
    // A checkout that is watched no more.
    fill("again");
    it.write("a/other witness", "text");
    it.until_path("a", "other witness");
    it.write("a/again/0/7/file", "text");
    it.until_path("a", "again/0/7/file");
    it.until_folders(watched);
    it.watch(&["b"]);
    it.write("b/witness", "text");
    it.until_path("b", "witness");
    it.until_folders(2);
}

#[test]
fn a_repository_that_is_made_again_is_another_one() {
    let it = Watched::new();
    it.clone_with("a", &["one"]);
    it.clone_with("from", &["other", "sub/two"]);
    it.start(&["a", "from"]);
    fs::remove_dir_all(it.path("a")).unwrap();
    it.git(".", &["clone", "-q", "from", "a"]);
    it.until("it is another one", |change, of| of == "a" && change.paths.is_none());
    it.write("a/sub/three", "new");
    it.until_path("a", "sub/three");
    // At once, by a rename.
    it.git(".", &["clone", "-q", "from", "next"]);
    it.until("there is a new one", |_, of| of == "next");
    fs::rename(it.path("a"), it.path("old")).unwrap();
    fs::rename(it.path("next"), it.path("a")).unwrap();
    it.until("it is another one", |change, of| of == "a" && change.paths.is_none());
    it.write("a/sub/four", "new");
    it.until_path("a", "sub/four");
    it.write("old/sub/five", "new");
    it.write("a/witness", "new");
    let told = it.until_path("a", "witness");
    let of_it = told.iter().filter(|change| change.source.ends_with("/a"));
    let mut paths = of_it.filter_map(|change| change.paths.as_ref()).flatten();
    assert!(paths.all(|path| path != "sub/five"), "{told:?}");
}

#[test]
fn without_events_everything_is_polled() {
    let poll_every = Duration::from_millis(50);
    let options =
        Options { watches: Some(0), poll_every, places_every: poll_every, ..Options::default() };
    let it = Watched::with(options);
    it.clone_with("a", &["one", "sub/two"]);
    it.start(&["a"]);
    let status = it.watching.status();
    assert!(
        status.checkouts[0].polled.as_ref().unwrap().contains("nothing can be watched"),
        "{status:?}"
    );
    assert!(it.folders().is_empty());
    let all = |what: &str| it.until(what, |change, of| of == "a" && change.paths.is_none());
    all("it was looked at for the first time");
    it.write("a/sub/two", "longer than before");
    all("a file was saved");
    it.write("a/new/deep/three", "text");
    all("there is a new file");
    fs::remove_dir_all(it.path("a/new")).unwrap();
    all("a folder is gone");
    it.git("a", &["commit", "-q", "--all", "-m", "second"]);
    all("there is a commit");
    it.git(".", &["clone", "-q", "a", "group/b"]);
    it.until("there is a clone", |_, of| of == "group/b");
    fs::rename(it.path("a"), it.path("moved")).unwrap();
    let mut left = vec!["a", "moved"];
    it.until("it has moved", |_, of| {
        left.retain(|folder| *folder != of);
        left.is_empty()
    });
}

#[test]
fn options_change_while_it_watches() {
    let files: Vec<String> = (0..40).map(|n| format!("{n}/file")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let every = Duration::from_millis(50);
    let options = |watches: usize| Options {
        watches: Some(watches),
        poll_every: every,
        places_every: every,
        ..Options::default()
    };
    let it = Watched::with(options(200));
    it.clone_with("large", &files);
    it.clone_with("small", &files[..5]);
    it.start(&["large", "small"]);
    assert!(it.folders().contains(&"large/39".to_owned()));
    let status = |what: &str, holds: &mut dyn FnMut(&watch::Status) -> bool| {
        let begun = std::time::Instant::now();
        while !holds(&it.watching.status()) {
            assert!(begun.elapsed() < LONGEST, "never: {what}: {:?}", it.watching.status());
            std::thread::yield_now();
        }
    };
    let polled = |status: &watch::Status| {
        let of = |folder: &str| {
            status.checkouts.iter().any(|of| of.folder == it.path(folder) && of.polled.is_some())
        };
        (of("large"), of("small"))
    };
    it.watching.set_options(options(50));
    status("the large one is polled", &mut |status| {
        polled(status) == (true, false) && status.watches <= 50
    });
    it.write("large/39/file", "polled");
    it.until("all of it has changed", |change, of| of == "large" && change.paths.is_none());
    it.watching.set_options(options(0));
    status("both are polled", &mut |status| polled(status) == (true, true));
    it.watching.set_options(options(200));
    status("both are watched", &mut |status| polled(status) == (false, false));
    it.write("large/39/file", "watched again");
    it.until("a file has changed", |change, of| {
        of == "large" && change.paths.as_deref() == Some(&["39/file".to_owned()][..])
    });
    // Quiet ones are as fresh as the watch.
    let now = std::time::SystemTime::now();
    status("nothing has changed since", &mut |status| {
        status.checkouts.iter().all(|of| of.told_until > Some(now))
    });
    it.write("small/.git/index.lock", "");
    it.write("small/0/file", "git is at work");
    let marked = std::time::SystemTime::now();
    let told_until = |status: &watch::Status, folder: &str| {
        status.checkouts.iter().find(|of| of.folder == it.path(folder)).unwrap().told_until
    };
    let mut at_work = None;
    status("the large one is quiet", &mut |status| {
        // It goes on.
        it.write("small/0/file", "git is at work");
        at_work = told_until(status, "small");
        told_until(status, "large") > Some(marked)
    });
    assert!(at_work < Some(marked));
}
