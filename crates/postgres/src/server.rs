//! The server's life cycle: data directory, settings, start, stop.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::builds::{self, Build, Source};
use crate::error::{Error, Result, io};
use crate::home::Home;
use crate::memory::Memory;
use crate::user::Owner;

/// Seconds that a start may take: recovery after a crash reads at most `max_wal_size` of log.
const START_SECONDS: u64 = 300;

/// Time to keep trying while a dying server still holds its lock file or its memory.
const RETRY: Duration = Duration::from_secs(30);

/// The system's message for a full disk.
const FULL_DISK: &str = "No space left on device";

/// The library that counts statements.
const STATEMENTS: &str = "pg_stat_statements";

const MIB: u64 = 1 << 20;

/// Makes the data directory unless it exists, and returns the build it belongs to. Never deletes
/// existing data.
pub(crate) fn ensure_data(
    home: &Home,
    owner: &Owner,
    name: &str,
    source: &Source,
) -> Result<Build> {
    let data = home.data();
    // `init` moves a complete data directory into place. So a folder without a readable
    // `PG_VERSION` is damaged, or this user may not read it; it is never treated as empty.
    let exists = match fs::symlink_metadata(&data) {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(io("cannot read the status of", &data)(error)),
    };
    match builds::recorded(home)? {
        Some(recorded) if exists => {
            let version = data.join("PG_VERSION");
            fs::read(&version).map_err(|cause| Error::Damaged { file: version, cause })?;
            return builds::same(home, source, recorded);
        }
        None if exists => {
            return Err(Error::Build(format!(
                "{} is there, but nothing says which Postgres made it; move it away, or choose another place with \
                 --home",
                data.display()
            )));
        }
        _ => {}
    }
    let build = builds::choose(home, source)?;
    tracing::info!("creating a private Postgres {} in {}", build.version, home.base().display());
    builds::record(home, &build)?;
    init(home, owner, &build, name)?;
    Ok(build)
}

/// Runs `initdb` in a folder beside the data directory, and renames that folder when complete.
fn init(home: &Home, owner: &Owner, build: &Build, name: &str) -> Result<()> {
    let fresh = home.base().join("data.new");
    if fresh.exists() {
        fs::remove_dir_all(&fresh).map_err(io("cannot remove", &fresh))?;
    }
    fs::create_dir(&fresh).map_err(io("cannot create", &fresh))?;
    owner.give(&fresh)?;
    // With LC_CTYPE=C, pg_trgm would drop every non-ASCII letter. Only C.UTF-8 sorts by bytes and
    // knows all letters, but not every system has it.
    let mut done = Ok(String::new());
    for locale in ["C.UTF-8", "en_US.UTF-8"] {
        let mut initdb = owner.command(&build.program("initdb"), home.base());
        initdb.arg("-D").arg(&fresh).args(["-U", name, "-E", "UTF8", "-k", "-A", "peer"]);
        initdb.arg("--no-instructions").arg(format!("--locale={locale}"));
        done = run("initdb", home, &mut initdb);
        if done.is_ok() {
            break;
        }
    }
    done?;
    write(&fresh.join("pg_ident.conf"), &identities(owner, name))?;
    write(
        &fresh.join("pg_hba.conf"),
        "# Only through the socket, only as its owner.\nlocal all all peer map=owner\n",
    )?;
    let main = fresh.join("postgresql.conf");
    let mut text = fs::read_to_string(&main).map_err(io("cannot read", &main))?;
    text.push_str("\ninclude 'managed.conf'\ninclude_if_exists 'local.conf'\n");
    write(&main, &text)?;
    // initdb has flushed its own files.
    for name in ["pg_ident.conf", "pg_hba.conf", "postgresql.conf"] {
        let path = fresh.join(name);
        fs::File::open(&path)
            .and_then(|file| file.sync_all())
            .map_err(io("cannot flush", &path))?;
    }
    let data = home.data();
    fs::rename(&fresh, &data).map_err(io("cannot create", &data))?;
    home.flush_names()
}

/// As which roles the owner may connect.
fn identities(owner: &Owner, name: &str) -> String {
    let line = |user: &str| format!("owner {user:?} {name:?}\n");
    format!(
        "# MAP    SYSTEM USER    ROLE\n{}{}{}",
        line(&owner.client),
        line(&owner.name),
        reader(owner, name)
    )
}

/// The same for the role that only reads, if somebody makes one: `NAME_reader`.
fn reader(owner: &Owner, name: &str) -> String {
    let line = |user: &str| format!("owner {user:?} \"{name}_reader\"\n");
    line(&owner.client) + &line(&owner.name)
}

/// Adds the reader to the roles as which the owner of an older data directory may connect.
fn admit_reader(home: &Home, owner: &Owner, name: &str) -> Result<()> {
    let path = home.data().join("pg_ident.conf");
    // Without the file, whoever took it away knows what to do.
    let Ok(mut text) = fs::read_to_string(&path) else { return Ok(()) };
    if !text.contains(&format!("\"{name}_reader\"")) {
        text.push_str(&reader(owner, name));
        write(&path, &text)?;
        owner.give(&path)?;
    }
    Ok(())
}

/// Writes the settings that this program needs. `local.conf` beside them belongs to the operator.
fn configure(home: &Home, owner: &Owner, build: &Build) -> Result<()> {
    let Memory { bytes, bound } = Memory::available();
    let memory = bytes / MIB;
    let compression =
        if offers_lz4(home, owner, build) { "default_toast_compression = 'lz4'\n" } else { "" };
    // pg_stat_statements counts statements, their time and the blocks they read.
    let statements = if loads(home, owner, build, STATEMENTS) {
        format!("shared_preload_libraries = '{STATEMENTS}'\n")
    } else {
        String::new()
    };
    let text = format!(
        "# Written at each start. Your own settings belong into local.conf, which is read after this.\n\
         listen_addresses = ''\n\
         unix_socket_directories = '\"{socket}\"'\n\
         unix_socket_permissions = 0700\n\
         port = 5432\n\
         max_connections = 100\n\
         # Of {memory} MB, the bound of {bound}.\n\
         shared_buffers = '{shared}MB'\n\
         effective_cache_size = '{cache}MB'\n\
         maintenance_work_mem = '{maintenance}MB'\n\
         # A committed ingest may be lost by a crash of the machine, never be damaged: it is repeated.\n\
         synchronous_commit = off\n\
         # One server, no replicas: a new index need not be logged as well as written.\n\
         wal_level = minimal\n\
         max_wal_senders = 0\n\
         max_wal_size = '4GB'\n\
         checkpoint_completion_target = 0.9\n\
         # Hundreds of partitions and their indexes in one transaction.\n\
         max_locks_per_transaction = 512\n\
         random_page_cost = 1.1\n\
         jit = off\n\
         {compression}{statements}",
        socket = home.run().display().to_string().replace('\'', "''"),
        // Less than the usual quarter: codesearch keeps texts in its own memory, and the system
        // caches files.
        shared = (memory / 24).clamp(16, 8192),
        cache = (memory * 6 / 10).max(64),
        maintenance = (memory / 16).clamp(16, 1024),
    );
    let data = home.data();
    let managed = data.join("managed.conf");
    write(&managed, &text)?;
    owner.give(&managed)
}

/// Returns the memory settings of the server's last start, with their values.
pub(crate) fn given(home: &Home) -> Vec<String> {
    let text = fs::read_to_string(home.data().join("managed.conf")).unwrap_or_default();
    let of_memory = |line: &&str| OF_MEMORY.iter().any(|name| line.starts_with(name));
    text.lines().filter(of_memory).map(|line| line.replace('\'', "")).collect()
}

/// The settings that are shares of the available memory.
const OF_MEMORY: [&str; 3] = ["shared_buffers", "effective_cache_size", "maintenance_work_mem"];

/// Returns whether this build can compress with lz4; some are built without.
fn offers_lz4(home: &Home, owner: &Owner, build: &Build) -> bool {
    // `postgres -C` prints one setting and exits; it rejects a value that the build does not know.
    owner
        .command(&build.program("postgres"), home.base())
        .arg("-D")
        .arg(home.data())
        .args(["-c", "default_toast_compression=lz4", "-C", "default_toast_compression"])
        .output()
        .is_ok_and(|out| out.status.success())
}

/// Returns whether this build has a library. Some lack it, and a server that cannot load a
/// configured library does not start.
fn loads(home: &Home, owner: &Owner, build: &Build, library: &str) -> bool {
    // Postgres loads the libraries before it can compute this setting.
    owner
        .command(&build.program("postgres"), home.base())
        .arg("-D")
        .arg(home.data())
        .arg("-c")
        .arg(format!("shared_preload_libraries={library}"))
        .args(["-C", "shared_memory_size"])
        .output()
        .is_ok_and(|out| out.status.success())
}

/// Starts the server unless it runs, and waits until it accepts connections.
pub(crate) fn ensure_running(home: &Home, owner: &Owner, build: &Build, name: &str) -> Result<()> {
    if is_ready(home) {
        return Ok(());
    }
    let empty = home.data().join("managed.conf");
    if !empty.exists() {
        write(&empty, "")?;
        owner.give(&empty)?;
    }
    configure(home, owner, build)?;
    admit_reader(home, owner, name)?;
    let log = home.log();
    // The log of the previous run is kept once more.
    let _ = fs::rename(&log, log.with_extension("log.1"));
    let begun = Instant::now();
    loop {
        let _ = fs::remove_file(&log);
        let mut start = owner.command(&build.program("pg_ctl"), home.base());
        start.args(["start", "-w", "-s", "-t", &START_SECONDS.to_string(), "-D"]);
        start.arg(home.data()).arg("-l").arg(&log);
        let Err(error) = run("pg_ctl start", home, &mut start) else { return Ok(()) };
        // A server that was just killed may still be exiting; another program may have started one
        // meanwhile.
        if is_ready(home) {
            return Ok(());
        }
        let log = fs::read_to_string(&log).unwrap_or_default();
        let dying = log.contains("lock file") && log.contains("already exists")
            || log.contains("pre-existing shared memory block");
        if !dying || begun.elapsed() > RETRY {
            return Err(explain(home, error, &log));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Stops the server: it cancels running statements and flushes all data.
pub(crate) fn stop(home: &Home, owner: &Owner, build: &Build) -> Result<()> {
    let mut stop = owner.command(&build.program("pg_ctl"), home.base());
    stop.args(["stop", "-w", "-s", "-m", "fast", "-t", &START_SECONDS.to_string(), "-D"]);
    stop.arg(home.data());
    run("pg_ctl stop", home, &mut stop).map(drop)
}

/// Returns whether the server runs and accepts connections.
pub(crate) fn is_ready(home: &Home) -> bool {
    // The eighth line of the file is the state that the server itself wrote.
    let pid_file = fs::read_to_string(home.data().join("postmaster.pid")).unwrap_or_default();
    pid_file.lines().nth(7).is_some_and(|state| state.trim() == "ready")
        && UnixStream::connect(home.socket()).is_ok()
}

/// Returns the process id that the server wrote down.
pub(crate) fn pid(home: &Home) -> Option<u32> {
    fs::read_to_string(home.data().join("postmaster.pid")).ok()?.lines().next()?.trim().parse().ok()
}

/// Returns whether the server has met a full disk since its start.
pub(crate) fn log_tells_full_disk(home: &Home) -> bool {
    fs::read(home.log()).is_ok_and(|log| String::from_utf8_lossy(&log).contains(FULL_DISK))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(io("cannot write", path))
}

/// Runs a program of Postgres, and returns its standard output.
fn run(program: &'static str, home: &Home, command: &mut Command) -> Result<String> {
    let out = command.output().map_err(|e| Error::Program { program, reason: e.to_string() })?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&out.stderr).into_owned();
    Err(explain(home, Error::Program { program, reason: error_line(&words) }, &words))
}

/// Replaces an error by a more specific one if the output allows it.
fn explain(home: &Home, error: Error, words: &str) -> Error {
    if words.contains(FULL_DISK) {
        return Error::DiskFull(home.base().to_owned());
    }
    match error {
        Error::Program { program, reason } => {
            let fatal =
                words.lines().find(|line| line.contains("FATAL:") || line.contains("PANIC:"));
            let reason = fatal
                .map_or(reason, |line| format!("{} (see {})", line.trim(), home.log().display()));
            Error::Program { program, reason }
        }
        other => other,
    }
}

/// Returns the line of a program's output that names the error.
fn error_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let telling = lines.clone().find(|line| line.contains("error:") || line.contains("FATAL:"));
    telling.or_else(|| lines.next()).unwrap_or("it printed nothing").to_owned()
}
