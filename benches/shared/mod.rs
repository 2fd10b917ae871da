//! Parts shared by the benchmarks: queries, servers, timing, and reports.

#![allow(dead_code, reason = "each benchmark uses its part")]

pub mod classes;
pub mod queries;
pub mod server;
pub mod summary;
pub mod watch;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns the folder of the project.
pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two folders down").to_owned()
}

/// Resolves a path from the command line against the folder where cargo was called; cargo runs
/// benchmarks in the folder of their package.
pub fn path(typed: &str) -> PathBuf {
    let called = std::env::var_os("PWD").map_or_else(project, PathBuf::from);
    called.join(typed)
}

/// Indexes the sample in a new home, which is deleted when dropped.
pub fn sample(index: Option<&str>) -> std::io::Result<tempfile::TempDir> {
    let home = tempfile::Builder::new().prefix("codesearch-bench").tempdir()?;
    // If root runs this, the private Postgres runs as another user, who must be able to enter the
    // folder.
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755))?;
    let mut ingest = server::codesearch(Some(home.path()), index);
    ingest.args(["ingest", "--depth", "1"]).arg(project().join("corpus/sample"));
    print!("{}", server::run(ingest)?);
    Ok(home)
}

/// Ends a benchmark: prints the error in a sentence, and exits with status 1.
pub fn end(name: &str, done: std::io::Result<()>) {
    if let Err(error) = done {
        eprintln!("{name}: {error}");
        std::process::exit(1);
    }
}

/// Writes a record to `benches/runs/`, and prints its path.
pub fn record(name: &str, contents: &str) -> std::io::Result<()> {
    let folder = project().join("benches/runs");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join(name);
    std::fs::write(&file, contents)?;
    println!("written: {}", file.display());
    Ok(())
}

/// Describes this machine: cores, memory and system.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = meminfo("MemTotal:").unwrap_or(0) >> 20;
    format!("{cores} cores, {memory} GB, {} {}", std::env::consts::OS, std::env::consts::ARCH)
}

/// Returns the value of a line of `/proc/meminfo`, in kB.
fn meminfo(key: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    text.lines().find(|line| line.starts_with(key))?.split_whitespace().nth(1)?.parse().ok()
}

/// Returns today's date, as `2026-01-31`.
pub fn today() -> String {
    let out = std::process::Command::new("date").args(["-u", "+%F"]).output();
    out.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default()
}
