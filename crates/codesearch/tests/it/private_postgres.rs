//! The private Postgres: attaching to it, recovering it, stopping it, and never harming its data.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::harness::{Fixture, Ran, citus, clean_command, eventually, is_root};

/// A separate private server.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Root runs Postgres as another user, who must be able to enter the folder.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(folder.path().join("r")).unwrap();
        fs::write(folder.path().join("r/a.txt"), "hello\n").unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = clean_command();
        command.arg("--home").arg(self.path()).args(args).current_dir(self.folder.path());
        command
    }

    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Runs a statement in its index, and returns its column of paths.
    pub(crate) fn sql_texts(&self, sql: &str) -> Vec<PathBuf> {
        crate::harness::texts(&self.path().join("run"), sql)
            .into_iter()
            .map(PathBuf::from)
            .collect()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    pub(crate) fn ingest(&self) {
        self.run(&["ingest", "--shards", "2", "r"]).code(0);
    }

    /// Returns the process id of the server, if it runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        let ran = self.run(&["db", "status"]);
        let running = ran.out.lines().find_map(|line| line.strip_prefix("running: yes, process "));
        assert_eq!(ran.status.code() == Some(0), running.is_some());
        running.map(|rest| rest.split(',').next().unwrap().parse().unwrap())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.run(&["db", "stop", "--force"]);
    }
}

#[test]
fn the_last_user_stops_it_and_a_killed_one_leaves_it_to_the_next() {
    let home = Home::new();
    home.ingest();
    assert_eq!(home.pid(), None, "the last user stops the server");

    let mut first =
        home.command(&["db", "hold"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    eventually("the server runs", || home.pid().is_some());
    let pid = home.pid();
    home.run(&["search", "hello"]).code(0);
    assert_eq!(home.pid(), pid, "it is not stopped while somebody uses it");
    assert!(home.run(&["db", "stop"]).code(2).err.contains("another program uses the server"));
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(home.pid(), pid, "a killed program leaves it behind");
    assert_eq!(home.run(&["search", "hello"]).code(0).out, "r/a.txt:1:hello\n");
    assert_eq!(home.pid(), None, "and the next one attaches to it and stops it");

    home.run(&["db", "start"]).code(0);
    home.run(&["search", "hello"]).code(0);
    assert!(home.pid().is_some(), "kept until told to stop");
    home.run(&["db", "stop"]).code(0);
    assert_eq!(home.pid(), None);
    assert_eq!(home.run(&["db", "stop"]).code(0).out, "it was not running\n");
}

#[test]
fn a_command_that_reads_makes_no_database() {
    let home = Home::new();
    for command in [&["search", "x"][..], &["repos"], &["docs", "x"], &["stats"], &["check"]] {
        let ran = home.run(command).code(2);
        assert!(ran.err.contains("nothing is indexed yet in /"), "{command:?}: {}", ran.err);
    }
    assert!(home.run(&["db", "status"]).code(1).out.contains("none yet"));
    // Nor does it create an index.
    home.ingest();
    home.run(&["db", "start"]).code(0);
    for command in [
        &["search", "x"][..],
        &["files", "x"],
        &["docs", "x"],
        &["def", "x"],
        &["refs", "x"],
        &["outline", "r/a.txt"],
        &["repos"],
        &["stats"],
        &["sql", "select 1"],
        &["sql", "--psql"],
        &["check"],
        &["symbols"],
        &["scip", "r", "--remove"],
        &["remove", "r"],
        &["mcp"],
        &["serve", "--listen", "127.0.0.1:0"],
    ] {
        let ran = home.run(&[&["--index", "nosuch"], command].concat());
        let told = "there is no index named 'nosuch'; there is: codesearch";
        assert!(ran.status.code() == Some(2) && ran.err.contains(told), "{command:?}: {}", ran.err);
    }
    let names = home.sql_texts("select datname::text from pg_database where datname = 'nosuch'");
    assert!(names.is_empty());
}

#[test]
fn many_programs_start_it_at_once() {
    let home = Home::new();
    // Nothing exists yet: one process creates the data directory and prepares the database, the others wait.
    let spawn = |_| {
        let mut agent = home.command(&["mcp"]);
        agent.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..8).map(spawn).collect();
    for child in children {
        Ran::of(child.wait_with_output().unwrap()).code(0);
    }
    let ran = home.run(&["repos"]).code(1);
    assert!(ran.err.contains("nothing is indexed yet; run"), "{}", ran.err);
    home.ingest();
    for _ in 0..3 {
        let children: Vec<_> = (0..8)
            .map(|_| {
                home.command(&["search", "hello"])
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for child in children {
            Ran::of(child.wait_with_output().unwrap()).code(0);
        }
        eventually("the last one has stopped it", || home.pid().is_none());
    }
}

#[test]
fn a_server_that_dies_comes_back() {
    let home = Home::new();
    home.ingest();
    home.run(&["db", "start"]).code(0);
    let mut server = home
        .command(&["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(server.stdout.take().unwrap()),
        &mut line,
    )
    .unwrap();
    let url = format!("{}search?q=hello", line.trim().trim_start_matches("serving on "));
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let ask = || agent.get(&url).call().unwrap().status().as_u16();
    assert_eq!(ask(), 200);
    let pid = home.pid().unwrap().to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    eventually("searches are answered again", || {
        let status = ask();
        assert!(matches!(status, 200 | 503), "{status}");
        status == 200 && home.pid().is_some_and(|new| new.to_string() != pid)
    });
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_damaged_data_directory_is_refused_and_left_alone() {
    let home = Home::new();
    home.ingest();
    let version = home.path().join("data/PG_VERSION");
    let kept = home.path().join("kept");
    fs::rename(&version, &kept).unwrap();
    // A folder in place of the file, and a missing file.
    for broken in [|path: &PathBuf| fs::create_dir(path).unwrap(), |_: &PathBuf| {}] {
        broken(&version);
        for args in [&["repos"][..], &["search", "hello"], &["ingest", "r"], &["db", "start"]] {
            let ran = home.run(args).code(2);
            let told = "PG_VERSION, which every Postgres data directory has";
            assert!(
                ran.err.contains(told) && ran.err.contains("nothing was changed"),
                "{}",
                ran.err
            );
        }
        if version.exists() {
            fs::remove_dir(&version).unwrap();
        }
    }
    fs::rename(&kept, &version).unwrap();
    home.run(&["search", "hello"]).code(0);
}

#[test]
fn what_it_takes_of_memory_fits_a_limit() {
    let home = Home::new();
    home.ingest();
    home.run(&["db", "start"]).code(0);
    home.run(&["db", "stop", "--force"]).code(0);
    // Limits as a shell sets them on its programs.
    let limited = |args: &[&str], kib: u32| {
        let run = home.command(args);
        let words = std::iter::once(run.get_program()).chain(run.get_args());
        let words: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
        let line = format!("ulimit -v {kib}; exec {}", words.join(" "));
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).current_dir(home.folder());
        Ran::of(shell.output().unwrap())
    };
    limited(&["db", "start"], 3_000_000).code(0);
    let settings = fs::read_to_string(home.path().join("data/managed.conf")).unwrap();
    let shared = settings.lines().find_map(|line| line.strip_prefix("shared_buffers = '")).unwrap();
    let mib: u64 = shared.trim_end_matches("MB'").parse().unwrap();
    assert!((16..=375).contains(&mib), "{settings}");
    assert!(settings.contains("the limit of"), "{settings}");
    home.run(&["db", "stop", "--force"]).code(0);
    // The log of the previous run is kept.
    assert!(home.path().join("run/server.log.1").exists());
}

#[test]
fn it_is_closed_to_others_and_keeps_what_it_is_given() {
    if citus::leaves_out("the shared server has settings of its own") {
        return;
    }
    let fixture = Fixture::new();
    fixture.run(&["init", "--shards", "1"]).code(0);
    let setting = |name: &str| fixture.sql::<String>(&format!("select current_setting('{name}')"));
    assert_eq!(setting("listen_addresses"), "");
    assert_eq!(setting("fsync"), "on");
    assert_eq!(setting("full_page_writes"), "on");
    assert_eq!(setting("data_checksums"), "on");
    let ctype = "select datctype from pg_database where datname = current_database()";
    assert_eq!(fixture.sql::<String>(ctype), "C.UTF-8");
    let hba =
        "select string_agg(distinct concat_ws(' ', type, auth_method), ',') from pg_hba_file_rules";
    assert_eq!(fixture.sql::<String>(hba), "local peer");
    let socket = setting("unix_socket_directories");
    assert_eq!(fs::metadata(socket.trim_matches('"')).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(fixture.sql::<bool>("select show_trgm('日本語') <> '{}'"));
}

#[test]
fn a_home_is_found_again_and_its_locks_are_private() {
    let home = Home::new();
    home.ingest();
    for name in ["start.lock", "users.lock", "reserve"] {
        let mode = fs::metadata(home.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    // The program reports who holds the lock, and then waits.
    let lock = fs::File::open(home.path().join("start.lock")).unwrap();
    lock.lock().unwrap();
    let mut waiting = home.command(&["search", "hello"]);
    let mut waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut err = std::io::BufReader::new(waiting.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut err, &mut line).unwrap();
    assert!(line.contains("waiting for") && line.contains("start.lock"), "{line}");
    assert!(!cfg!(target_os = "linux") || line.contains(&std::process::id().to_string()), "{line}");
    drop(lock);
    Ran::of(waiting.wait_with_output().unwrap()).code(0);

    // The process id of a dead server now belongs to another process of the same user.
    let data = home.path().join("data");
    let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(&data).unwrap());
    let mut other = Command::new("cat");
    let mut other = other.uid(owner).current_dir("/").stdin(Stdio::piped()).spawn().unwrap();
    let left = format!(
        "{}\n{}\n1\n5432\n{}\n\n  1 1\nready   \n",
        other.id(),
        data.display(),
        home.path().join("run").display()
    );
    fs::write(data.join("postmaster.pid"), left).unwrap();
    std::os::unix::fs::chown(data.join("postmaster.pid"), Some(owner), None).unwrap();
    home.run(&["search", "hello"]).code(0);
    other.kill().unwrap();
    other.wait().unwrap();

    // A home is moved while its server runs: the processes that used it stop it, and so can users of the new name.
    let moved = home.folder().join("moved");
    let start = |args: &[&str]| {
        let mut hold = home.command(args);
        let mut hold = hold.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(
            &mut std::io::BufReader::new(hold.stdout.take().unwrap()),
            &mut line,
        )
        .unwrap();
        hold
    };
    let mut holder = start(&["db", "hold"]);
    fs::rename(home.path(), &moved).unwrap();
    drop(holder.stdin.take());
    holder.wait().unwrap();
    let runs = || moved.join("data/postmaster.pid").exists();
    assert!(!runs(), "it is stopped where it is now");
    fs::rename(&moved, home.path()).unwrap();
    home.run(&["db", "start"]).code(0);
    fs::rename(home.path(), &moved).unwrap();
    assert!(runs());
    let mut stop = clean_command();
    let stopped = Ran::of(stop.arg("--home").arg(&moved).args(["db", "stop"]).output().unwrap());
    assert_eq!((stopped.code(0).out.as_str(), runs()), ("stopped\n", false));
    fs::rename(&moved, home.path()).unwrap();
    home.run(&["search", "hello"]).code(0);
}

#[test]
fn links_in_the_folders_of_postgres_lead_root_nowhere() {
    if !is_root() {
        return;
    }
    let home = Home::new();
    home.ingest();
    let at = |name: &str| home.path().join(name);
    let victim = home.folder().join("victim");
    fs::write(&victim, "of root\n").unwrap();
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o600)).unwrap();
    // The owner of a folder can do this at any moment.
    let link = |name: &str| {
        let _ = fs::remove_file(at(name));
        std::os::unix::fs::symlink(&victim, at(name)).unwrap();
    };
    for name in ["data/managed.conf", "data/managed.new", "run/server.log", "run/server.log.1"] {
        link(name);
        let _ = home.run(&["search", "hello"]);
        let _ = fs::remove_file(at(name));
    }
    home.run(&["search", "hello"]).code(0);
    let identities = fs::read_to_string(at("data/pg_ident.conf")).unwrap();
    link("data/pg_ident.conf");
    let _ = home.run(&["search", "hello"]);
    fs::remove_file(at("data/pg_ident.conf")).unwrap();
    fs::write(at("data/pg_ident.conf"), identities).unwrap();
    // A pipe replaces a file that is read.
    for name in ["data/managed.conf", "data/postmaster.pid"] {
        let _ = fs::remove_file(at(name));
        assert!(Command::new("mkfifo").arg(at(name)).status().unwrap().success());
        let _ = home.run(&["db", "status"]);
        fs::remove_file(at(name)).unwrap();
    }
    home.run(&["search", "hello"]).code(0);
    let found = fs::metadata(&victim).unwrap();
    assert_eq!(
        (std::os::unix::fs::MetadataExt::uid(&found), found.permissions().mode() & 0o777),
        (0, 0o600)
    );
    assert_eq!(fs::read_to_string(&victim).unwrap(), "of root\n");
    // A home in a folder of another user could be any other folder.
    let theirs = home.folder().join("theirs");
    fs::create_dir(&theirs).unwrap();
    std::os::unix::fs::chown(&theirs, Some(NOBODY), Some(NOBODY)).unwrap();
    let mut command = clean_command();
    command.arg("--home").arg(theirs.join("home")).args(["init"]);
    let refused = Ran::of(command.output().unwrap()).code(2).err;
    assert!(
        refused.contains("theirs belongs to the user 'nobody', who could redirect"),
        "{refused}"
    );
    assert!(!theirs.join("home").exists());
}

#[test]
fn builds_that_cannot_be_used() {
    if citus::leaves_out("the environment names a build") {
        return;
    }
    let home = Home::new();
    let complaint = |home: &Home, args: &[&str]| home.run(args).code(2).err;
    assert!(complaint(&home, &["--postgres-bin", "r", "init"]).contains("r has no initdb"));
    fs::write(home.folder.path().join("archive"), "not an archive").unwrap();
    let corrupt = complaint(&home, &["--postgres-archive", "archive", "init"]);
    assert!(corrupt.contains("the Postgres archive is corrupt: its SHA-256 is"), "{corrupt}");
    let missing = complaint(&home, &["--postgres-archive", "nowhere", "init"]);
    assert!(missing.contains("cannot read nowhere"), "{missing}");

    // Another major version refuses to open the data.
    home.ingest();
    let other = home.folder.path().join("other");
    fs::create_dir_all(other.join("bin")).unwrap();
    fs::create_dir_all(other.join("share/extension")).unwrap();
    fs::write(other.join("share/extension/pg_trgm.control"), "").unwrap();
    for name in ["initdb", "pg_ctl", "postgres"] {
        let program = other.join("bin").join(name);
        fs::write(&program, "#!/bin/sh\necho 'postgres (PostgreSQL) 99.1'\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let refused = complaint(&home, &["--postgres-bin", "other/bin", "search", "hello"]);
    assert!(refused.contains("another major version cannot open it"), "{refused}");
    home.run(&["search", "hello"]).code(0);

    fs::write(home.path().join("build.json"), "{").unwrap();
    let unreadable = complaint(&home, &["search", "hello"]);
    assert!(
        unreadable.contains("cannot read") && unreadable.contains("build.json"),
        "{unreadable}"
    );
}

#[test]
fn a_deep_home_has_its_socket_elsewhere() {
    let home = Home::new();
    let deep = home.folder.path().join("it's a long, long way/".repeat(6));
    fs::create_dir_all(&deep).unwrap();
    home.ingest();
    let moved = deep.join("home");
    fs::rename(home.path(), &moved).unwrap();
    let run = |args: &[&str]| {
        let mut command = clean_command();
        Ran::of(command.arg("--home").arg(&moved).args(args).output().unwrap())
    };
    assert_eq!(run(&["search", "hello"]).code(0).out, "r/a.txt:1:hello\n");
    run(&["db", "stop"]).code(0);
    fs::rename(&moved, home.folder.path().join("home")).unwrap();
    home.run(&["search", "hello"]).code(0);
}

#[test]
fn root_is_told_when_postgres_could_not_get_there() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = clean_command();
    let ran = Ran::of(
        command.arg("--home").arg(folder.path().join("home")).args(["init"]).output().unwrap(),
    );
    let err = ran.code(2).err;
    assert!(
        err.contains("Postgres does not run as root")
            && err.contains("choose another folder with --home"),
        "{err}"
    );
}

#[test]
fn an_ordinary_user_owns_the_server() {
    if !is_root() {
        // All other tests ran as an ordinary user already.
        return;
    }
    let home = Home::new();
    std::os::unix::fs::chown(home.folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let binary = home.folder.path().join("codesearch");
    fs::copy(env!("CARGO_BIN_EXE_codesearch"), &binary).unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(&binary);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", home.folder.path());
        command.current_dir(home.folder.path()).args(args).uid(NOBODY).gid(NOBODY);
        Ran::of(command.output().unwrap())
    };
    run(&["ingest", "--shards", "2", "r"]).code(0);
    assert_eq!(run(&["search", "hello"]).code(0).out, "r/a.txt:1:hello\n");
    // Root would leave files that the user cannot change, so it is refused.
    let mut root = clean_command();
    let theirs = home.folder.path().join(".local/share/codesearch");
    let ran = Ran::of(root.arg("--home").arg(theirs).args(["search", "hello"]).output().unwrap());
    assert!(ran.code(2).err.contains("belongs to the user 'nobody'"));
    run(&["search", "hello"]).code(0);
    let data = home.folder.path().join(".local/share/codesearch/data");
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&fs::metadata(data).unwrap()), NOBODY);
}

/// The user `nobody`.
const NOBODY: u32 = 65534;

#[test]
fn the_server_stays_for_some_time_after_its_last_user() {
    let home = Home::new();
    let idle = |time: &str, args: &[&str]| {
        let mut command = home.command(args);
        Ran::of(command.env("CODESEARCH_POSTGRES_IDLE", time).output().unwrap()).code(0)
    };
    // After much was written, it is another process, with little memory.
    idle("60m", &["ingest", "--shards", "2", "r"]);
    eventually("the server runs again", || home.pid().is_some());
    let pid = home.pid();
    assert!(home.run(&["db", "status"]).code(0).out.contains("unless it is used"));
    idle("60m", &["search", "hello"]);
    assert_eq!(home.pid(), pid);
    // The last user decides; each is seen while the server waits.
    idle("1s", &["search", "hello"]);
    eventually("the server stops", || home.pid().is_none());
    idle("60m", &["search", "hello"]);
    assert!(home.pid().is_some());
    assert_eq!(home.run(&["db", "stop"]).code(0).out, "stopped\n");
    assert!(home.pid().is_none());
    idle("0", &["search", "hello"]);
    assert!(home.pid().is_none());
}
