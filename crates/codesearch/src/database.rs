//! The database in use: that of `DATABASE_URL`, or a private Postgres that this program starts.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use postgres::{Idle, Postgres, Source};
use search::{Request, Searcher, View, Visible};
use server::{CommandOutput, TimedSearch};
use store::{Missing, Store, Target};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::as_user;
use crate::cli::{DEFAULT_INDEX, DatabaseArgs};

/// The role in the private Postgres, and the preferred user to run it as if root starts it.
const ROLE: &str = "codesearch";

/// An open database, to be closed with [`Database::close`].
pub(crate) struct Database {
    pub(crate) runtime: Runtime,
    pub(crate) store: Store,
    target: Target,
    postgres: Option<Postgres>,
    /// Whether the command writes much.
    writes: bool,
    visible: Visible,
}

impl Database {
    /// Opens the database to ingest into it, with up to `connections` for searching. Creates a missing private Postgres
    /// or index.
    pub(crate) fn open(args: &DatabaseArgs, connections: u32) -> Result<Self> {
        Self::with(args, connections, Missing::Make, true)
    }

    /// Opens the database to read its index. Creates nothing: a mistyped folder must not become a private Postgres, nor
    /// a mistyped name an index.
    pub(crate) fn open_index(args: &DatabaseArgs, connections: u32) -> Result<Self> {
        check_made(args)?;
        Self::with(args, connections, Missing::Refuse, false)
    }

    /// Opens the database to serve its index. Creates what is missing, so that a server can be started before the first
    /// ingest; but not an index named by the user, since the name may be mistyped.
    pub(crate) fn open_to_serve(args: &DatabaseArgs, connections: u32) -> Result<Self> {
        let is_named = external(args).is_none() && args.index != DEFAULT_INDEX;
        Self::with(args, connections, if is_named { Missing::Refuse } else { Missing::Make }, false)
    }

    /// Opens the existing index to add to it.
    pub(crate) fn open_to_add(args: &DatabaseArgs, connections: u32) -> Result<Self> {
        check_made(args)?;
        Self::with(args, connections, Missing::Refuse, true)
    }

    fn with(args: &DatabaseArgs, connections: u32, missing: Missing, writes: bool) -> Result<Self> {
        let visible = Visible::of(&args.only_repos).context("CODESEARCH_REPOS")?;
        let postgres = match external(args) {
            Some(_) => None,
            None => Some(Postgres::open(&postgres_options(args)?)?),
        };
        let runtime = Runtime::new().context("cannot start threads")?;
        let target = target(args, postgres.as_ref());
        let room = match &postgres {
            Some(postgres) if writes => postgres.ensure_room().map_err(anyhow::Error::from),
            _ => Ok(()),
        };
        let opened = room
            .and_then(|()| Ok(runtime.block_on(Store::connect(&target, connections, missing))?));
        let seen = opened.and_then(|store| {
            let visible = match &args.as_user {
                None => visible,
                Some(user) => {
                    let principal = as_user::principal(user, &args.as_groups)?;
                    runtime.block_on(as_user::seen_by(&store, &visible, &principal))?
                }
            };
            Ok((store, visible))
        });
        match seen {
            Ok((store, visible)) => Ok(Self { runtime, store, target, postgres, writes, visible }),
            Err(error) => {
                if let Some(postgres) = postgres {
                    let _ = postgres.close();
                }
                Err(error)
            }
        }
    }

    /// Runs a command that reads the index, `parallel` shards at a time, until it ends or is interrupted. Closes the
    /// database.
    pub(crate) fn read(
        self,
        parallel: usize,
        work: impl AsyncFnOnce(&View) -> Result<u8>,
    ) -> Result<u8> {
        let visible = self.visible();
        self.run(async |store| {
            let searcher = Arc::new(Searcher::new(store.clone(), parallel));
            work(&View::new(searcher, visible)).await
        })
    }

    /// Runs a command on the database until it ends or is interrupted, and closes the database.
    pub(crate) fn run(self, work: impl AsyncFnOnce(&Store) -> Result<u8>) -> Result<u8> {
        let done = self.runtime.block_on(async {
            tokio::select! {
                done = work(&self.store) => done,
                _ = tokio::signal::ctrl_c() => Ok(crate::INTERRUPTED),
            }
        });
        let done = done.map_err(|error| self.explain(error));
        if let Some(postgres) = self.postgres {
            close_postgres(postgres, self.writes);
        }
        // The process ends now, and with it its connections. If they were closed earlier, their servers' processes
        // would compete with this one.
        self.runtime.shutdown_background();
        std::mem::forget(self.store);
        done
    }

    /// Replaces an error by its cause, if the private Postgres knows it.
    pub(crate) fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        let broken = error.downcast_ref::<store::Error>().is_some()
            || error.downcast_ref::<ingest::Error>().is_some();
        match self.postgres.as_ref().filter(|_| broken).and_then(Postgres::trouble) {
            Some(trouble) => trouble.into(),
            None => error,
        }
    }

    /// Returns a folder on each disk on which the index grows, if the disks are this machine's.
    pub(crate) fn disks(&self) -> Vec<PathBuf> {
        self.postgres.as_ref().map_or_else(Vec::new, |postgres| postgres.disks().to_vec())
    }

    /// Returns the repositories that commands and servers read.
    pub(crate) fn visible(&self) -> Visible {
        self.visible.clone()
    }

    /// Returns the address of the database.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Takes the private Postgres, if there is one.
    pub(crate) fn take_postgres(&mut self) -> Option<Postgres> {
        self.postgres.take()
    }

    pub(crate) fn close(self) {
        self.runtime.block_on(self.store.close());
        self.runtime.shutdown_background();
        if let Some(postgres) = self.postgres {
            close_postgres(postgres, self.writes);
        }
    }
}

/// The index that a command reads.
pub(crate) enum Index<'a> {
    /// One that is opened for this command alone.
    Own(&'a DatabaseArgs),
    /// That of a server, which runs the command for a client.
    Served(&'a Served),
}

/// The index of a server, for one command.
pub(crate) struct Served {
    pub(crate) view: View,
    pub(crate) output: CommandOutput,
    /// Notified when the client has gone.
    pub(crate) gone: Arc<Notify>,
}

impl Index<'_> {
    /// Runs a command that reads the index, `parallel` shards at a time over up to `connections`, until it ends or is
    /// interrupted.
    pub(crate) fn read(
        &self,
        connections: u32,
        parallel: usize,
        work: impl AsyncFnOnce(&View) -> Result<u8>,
    ) -> Result<u8> {
        match self {
            Self::Own(args) => Database::open_index(args, connections)?.read(parallel, work),
            Self::Served(Served { view, output, gone }) => output.threads().block_on(async {
                tokio::select! {
                    done = work(view) => done,
                    () = gone.notified() => Ok(crate::INTERRUPTED),
                }
            }),
        }
    }

    /// Begins to count a search, if a server runs the command.
    pub(crate) fn counted(&self, request: &Arc<Request>, loose: bool) -> Option<TimedSearch> {
        match self {
            Self::Own(_) => None,
            Self::Served(served) => Some(served.output.counted(request, loose)),
        }
    }

    /// Returns whether the index can be read without starting anything.
    pub(crate) fn is_running(&self) -> bool {
        match self {
            Self::Own(args) => {
                external(args).is_some()
                    || postgres_options(args).is_ok_and(|options| postgres::is_running(&options))
            }
            Self::Served(_) => true,
        }
    }
}

/// Checks that a private Postgres exists, unless another one is given.
pub(crate) fn check_made(args: &DatabaseArgs) -> Result<()> {
    if external(args).is_some() {
        return Ok(());
    }
    let options = postgres_options(args)?;
    if !postgres::is_made(&options)? {
        bail!(
            "nothing is indexed yet in {}; run: codesearch ingest FOLDER (or: codesearch up FOLDER)",
            options.home.display()
        );
    }
    Ok(())
}

/// Connections for searches. A few per core keep Postgres busy; further ones would only wait for each other.
pub(crate) fn connections() -> u32 {
    (cores() * 4).clamp(8, 64) as u32
}

/// Returns the number of cores, which is also the number of shards that a search keeps busy.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// Stops using the private Postgres, to which the command perhaps wrote much. The command's work is done, so errors are
/// only printed.
pub(crate) fn close_postgres(postgres: Postgres, wrote: bool) {
    let closed = if wrote { postgres.close_afresh() } else { postgres.close() };
    if let Err(error) = closed {
        note!("codesearch: the private Postgres could not be stopped: {error}");
    }
}

/// Returns the URL of an external database, if given.
pub(crate) fn external(args: &DatabaseArgs) -> Option<&str> {
    args.database_url.as_deref().filter(|url| !url.is_empty())
}

/// Returns the address of the database.
pub(crate) fn target(args: &DatabaseArgs, postgres: Option<&Postgres>) -> Target {
    match postgres {
        Some(postgres) => Target::Socket {
            folder: postgres.socket_dir().to_owned(),
            role: postgres.name().to_owned(),
            database: args.index.clone(),
        },
        None => Target::Url(external(args).unwrap_or_default().to_owned()),
    }
}

/// Returns the private Postgres's options from the arguments.
pub(crate) fn postgres_options(args: &DatabaseArgs) -> Result<postgres::Options> {
    let source = match (&args.postgres_bin, &args.postgres_archive) {
        (Some(folder), _) => Source::Programs(folder.clone()),
        (None, Some(file)) => Source::Archive(file.clone()),
        (None, None) if args.postgres_download => Source::Download,
        (None, None) => Source::Auto,
    };
    let home = match &args.home {
        Some(home) => home.clone(),
        None => default_home()?,
    };
    let idle = match std::env::current_exe() {
        Ok(program) => Some(Idle { after: args.postgres_idle, program, args: keeper_args(&home) }),
        // Nobody would stop it later.
        Err(_) => None,
    };
    Ok(postgres::Options { home, name: ROLE.to_owned(), source, idle })
}

/// Returns the folder that has a folder of clones for each host, unless the configuration file names one.
pub(crate) fn clones_folder(args: &DatabaseArgs) -> Result<PathBuf> {
    let home = args.home.clone().map_or_else(default_home, Ok)?;
    let folder = home.join("mirrors").join(&args.index);
    std::path::absolute(&folder)
        .with_context(|| format!("{} has no absolute path", folder.display()))
}

/// Returns the arguments of `codesearch db keeper`, which stops the private Postgres later.
fn keeper_args(home: &Path) -> Vec<OsString> {
    let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
    vec!["--home".into(), home.into(), "db".into(), "keeper".into()]
}

/// Returns the default home. For root it is not below root's home folder, which the user that Postgres runs as cannot
/// enter.
fn default_home() -> Result<PathBuf> {
    if postgres::is_root() {
        return Ok(PathBuf::from("/var/lib/codesearch"));
    }
    let data = std::env::var_os("XDG_DATA_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    let data = data.or_else(|| Some(std::env::home_dir()?.join(".local/share")));
    data.map(|data| data.join("codesearch"))
        .context("HOME is not set; name the folder of the private Postgres with --home")
}
