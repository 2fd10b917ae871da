//! The server's life cycle: data directory, settings, start, stop.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::builds::{self, Build, Source};
use crate::error::{Error, Result, io};
use crate::home::{Home, RESERVE, read_small, size_of};
use crate::memory::Memory;
use crate::process;
use crate::user::Owner;

/// Seconds that a start may take: recovery after a crash reads at most `max_wal_size` of log.
const START_SECONDS: u64 = 300;

/// Time to keep trying while a dying server still holds its lock file or its memory.
const RETRY: Duration = Duration::from_secs(30);

/// Time after which this program says what it waits for.
const SILENT: Duration = Duration::from_secs(3);

/// The system's message for a full disk.
const FULL_DISK: &str = "No space left on device";

/// The extension library that counts statements.
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
    // `init` moves a complete data directory into place. So a folder without a readable `PG_VERSION` is damaged, or
    // this user may not read it; it never counts as empty.
    let exists = match fs::symlink_metadata(&data) {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(io("cannot read the status of", &data)(error)),
    };
    match builds::recorded(home)? {
        Some(recorded) if exists => {
            let version = data.join("PG_VERSION");
            read_small(&version).map_err(|cause| Error::Damaged { file: version, cause })?;
            return builds::same(home, source, recorded);
        }
        None if exists => {
            return Err(Error::Build(format!(
                "{} exists, but does not say which Postgres created it; move it away, or choose another folder with \
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

/// Runs `initdb` in a folder beside the data directory, and renames the folder when it is complete.
fn init(home: &Home, owner: &Owner, build: &Build, name: &str) -> Result<()> {
    let fresh = home.base().join("data.new");
    if fresh.exists() {
        fs::remove_dir_all(&fresh).map_err(io("cannot remove", &fresh))?;
    }
    fs::create_dir(&fresh).map_err(io("cannot create", &fresh))?;
    let folder = fs::File::open(&fresh).map_err(io("cannot open", &fresh))?;
    owner.give(&folder, &fresh)?;
    // With LC_CTYPE=C, pg_trgm would drop every non-ASCII letter. Only C.UTF-8 both sorts by bytes and knows all
    // letters, but not every system has it.
    let mut done = Ok(String::new());
    for locale in ["C.UTF-8", "en_US.UTF-8"] {
        let mut initdb = owner.command(&build.program("initdb"), home.base());
        initdb.arg("-D").arg(&fresh).args(["-U", name, "-E", "UTF8", "-k", "-A", "peer"]);
        initdb.args(["--no-sync", "--no-instructions"]).arg(format!("--locale={locale}"));
        done = run("initdb", home, &mut initdb);
        if done.is_ok() {
            break;
        }
    }
    done?;
    owner.write(&fresh.join("pg_ident.conf"), &identities(owner, name))?;
    owner.write(
        &fresh.join("pg_hba.conf"),
        "# Only through the socket, only as its owner.\nlocal all all peer map=owner\n",
    )?;
    owner.append(
        &fresh.join("postgresql.conf"),
        "\ninclude 'managed.conf'\ninclude_if_exists 'local.conf'\n",
    )?;
    let mut flush = owner.command(&build.program("initdb"), home.base());
    run("initdb", home, flush.arg("--sync-only").arg("-D").arg(&fresh))?;
    let data = home.data();
    fs::rename(&fresh, &data).map_err(io("cannot create", &data))?;
    home.flush_names()
}

/// Returns the roles as which the owner may connect.
fn identities(owner: &Owner, name: &str) -> String {
    let line = |user: &str| format!("owner {user:?} {name:?}\n");
    let readers = READERS.map(|role| reader(owner, name, role)).concat();
    let (client, own) = (line(&owner.client), line(&owner.name));
    format!("# MAP    SYSTEM USER    ROLE\n{client}{own}{readers}")
}

/// The ends of the names of roles that only read, which may not exist yet: `NAME_reader`, and `NAME_visible` for statements
/// of those who see only some repositories.
const READERS: [&str; 2] = ["reader", "visible"];

/// Returns the same as [`identities`] for the role `NAME_ROLE`.
fn reader(owner: &Owner, name: &str, role: &str) -> String {
    let line = |user: &str| format!("owner {user:?} \"{name}_{role}\"\n");
    line(&owner.client) + &line(&owner.name)
}

/// Lets the owner of an older data directory connect as the roles that only read.
fn admit_readers(home: &Home, owner: &Owner, name: &str) -> Result<()> {
    let path = home.data().join("pg_ident.conf");
    // Somebody removed the file or replaced it by a link on purpose.
    let Ok(text) = read_small(&path) else { return Ok(()) };
    for role in READERS {
        if !text.contains(&format!("\"{name}_{role}\"")) {
            owner.append(&path, &reader(owner, name, role))?;
        }
    }
    Ok(())
}

/// Writes the settings that this program needs. `local.conf` beside them belongs to the operator.
fn configure(home: &Home, owner: &Owner, build: &Build) -> Result<()> {
    let Memory { bytes, bound } = Memory::available();
    let memory = bytes / MIB;
    let log = log_mib(home.free_bytes(), size_of(&home.data().join("pg_wal")));
    let compression =
        if offers_lz4(home, owner, build) { "default_toast_compression = 'lz4'\n" } else { "" };
    // pg_stat_statements counts statements, their time and the blocks they read.
    let statements = if loads(home, owner, build, STATEMENTS) {
        format!("shared_preload_libraries = '{STATEMENTS}'\n")
    } else {
        String::new()
    };
    let text = format!(
        "# Rewritten at each start. Put your own settings into local.conf, which is read after this file.\n\
         listen_addresses = ''\n\
         unix_socket_directories = '\"{socket}\"'\n\
         unix_socket_permissions = 0700\n\
         port = 5432\n\
         max_connections = 100\n\
         # Of {memory} MB, the limit of {bound}.\n\
         shared_buffers = '{shared}MB'\n\
         effective_cache_size = '{cache}MB'\n\
         maintenance_work_mem = '{maintenance}MB'\n\
         # A committed ingest may be lost by a crash of the machine, never be damaged: it is repeated.\n\
         synchronous_commit = off\n\
         # One server, no replicas: a new index need not be logged as well as written.\n\
         wal_level = minimal\n\
         max_wal_senders = 0\n\
         # Of the room on its disk, so that it does not fill that.\n\
         max_wal_size = '{log}MB'\n\
         # Of the log nothing is kept that a recovery does not need: a checkpoint deletes the rest.\n\
         min_wal_size = '{LEAST_LOG_MIB}MB'\n\
         wal_recycle = off\n\
         wal_init_zero = off\n\
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
    owner.write(&home.data().join("managed.conf"), &text)
}

/// Returns the megabytes of log that the server may keep. More makes no ingest faster; on a small disk it is little,
/// since an ingest needs space, too.
fn log_mib(free: Option<u64>, kept: u64) -> u64 {
    free.map_or(MOST_LOG_MIB, |free| ((free + kept) / 8 / MIB).clamp(LEAST_LOG_MIB, MOST_LOG_MIB))
}

/// Most megabytes of log.
const MOST_LOG_MIB: u64 = 4096;

/// Fewest megabytes of log: Postgres requires two of its segments of 16 MB.
const LEAST_LOG_MIB: u64 = 32;

/// Returns the memory settings of the server's last start, with their values.
pub(crate) fn given(home: &Home) -> Vec<String> {
    let text = read_small(&home.data().join("managed.conf")).unwrap_or_default();
    let of_memory = |line: &&str| OF_MEMORY.iter().any(|name| line.starts_with(name));
    text.lines().filter(of_memory).map(|line| line.replace('\'', "")).collect()
}

/// The settings that depend on the available memory.
const OF_MEMORY: [&str; 3] = ["shared_buffers", "effective_cache_size", "maintenance_work_mem"];

/// Returns whether this build can compress with lz4; not every build can.
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
    clear_way(home, owner, build)?;
    // Recovery needs space for its log.
    if home.free_bytes().is_some_and(|free| free < RESERVE / 2) {
        give_reserve(home);
    }
    let empty = home.data().join("managed.conf");
    if empty.symlink_metadata().is_err() {
        owner.write(&empty, "")?;
    }
    configure(home, owner, build)?;
    admit_readers(home, owner, name)?;
    let log = home.log();
    // Keep the log of the previous run.
    owner.rename(&log, &log.with_extension("log.1"));
    let begun = Instant::now();
    let mut told = false;
    loop {
        owner.remove(&log);
        let mut start = owner.command(&build.program("pg_ctl"), home.base());
        start.args(["start", "-w", "-s", "-t", &START_SECONDS.to_string(), "-D"]);
        start.arg(home.data()).arg("-l").arg(&log);
        let Err(error) = run("pg_ctl start", home, &mut start) else {
            home.fill_reserve();
            return Ok(());
        };
        // A server that was just killed may still be exiting; another program may have started one
        // meanwhile.
        if is_ready(home) {
            return Ok(());
        }
        let log = read_small(&log).unwrap_or_default();
        if log.contains(FULL_DISK) && give_reserve(home) {
            continue;
        }
        let dying = log.contains("lock file") && log.contains("already exists")
            || log.contains("pre-existing shared memory block");
        if !dying || begun.elapsed() > RETRY {
            return Err(explain(home, error, &log));
        }
        if !told && begun.elapsed() > SILENT {
            told = true;
            tracing::warn!("waiting for the Postgres of {} to end", home.base().display());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Gives the reserved space to a server whose disk is full. Returns whether there was some.
fn give_reserve(home: &Home) -> bool {
    let given = home.use_reserve();
    if given {
        tracing::warn!(
            "the disk that holds {} is full; Postgres starts with the reserved space; free some space",
            home.base().display()
        );
    }
    given
}

/// Checks the process that `postmaster.pid` names before a start. After a crash of the machine it may be any process,
/// for which Postgres would wait. If it is a server on these data whose socket is missing, because the home was moved,
/// stops it if nobody uses it.
fn clear_way(home: &Home, owner: &Owner, build: &Build) -> Result<()> {
    let Some(pid) = pid(home) else { return Ok(()) };
    match process::works_in(pid, &home.data()) {
        Some(false) => {
            tracing::info!(
                "process {pid} is not the Postgres that wrote its process ID to {}",
                home.data().display()
            );
            owner.remove(&home.data().join("postmaster.pid"));
            Ok(())
        }
        Some(true) if says_ready(home) => {
            if !home.is_unused()? {
                return Err(Error::Elsewhere { path: home.base().to_owned(), pid });
            }
            stop(home, owner, build)
        }
        _ => Ok(()),
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
    says_ready(home) && UnixStream::connect(home.socket()).is_ok()
}

/// Returns whether the last server wrote to its file that it accepts connections.
fn says_ready(home: &Home) -> bool {
    // The eighth line of the file is the state that the server itself wrote.
    let pid_file = read_small(&home.data().join("postmaster.pid")).unwrap_or_default();
    pid_file.lines().nth(7).is_some_and(|state| state.trim() == "ready")
}

/// Returns whether a server runs on the data, reachable or not.
pub(crate) fn runs(home: &Home) -> bool {
    is_ready(home)
        || pid(home).is_some_and(|pid| process::works_in(pid, &home.data()) == Some(true))
}

/// Returns the process ID that the server wrote to its file.
pub(crate) fn pid(home: &Home) -> Option<u32> {
    read_small(&home.data().join("postmaster.pid")).ok()?.lines().next()?.trim().parse().ok()
}

/// Returns whether the server has met a full disk since its start.
pub(crate) fn log_tells_full_disk(home: &Home) -> bool {
    read_small(&home.log()).is_ok_and(|log| log.contains(FULL_DISK))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_small_on_a_small_disk() {
        assert_eq!(log_mib(None, 0), 4096);
        assert_eq!(log_mib(Some(100 << 30), 0), 4096);
        assert_eq!(log_mib(Some(2 << 30), 0), 256);
        assert_eq!(log_mib(Some(200 << 20), 16 << 20), 32);
        assert_eq!(log_mib(Some(0), 64 << 20), 32);
        // Space that the log takes already does not lower the result.
        assert_eq!(log_mib(Some(1 << 30), 1 << 30), 256);
    }
}
