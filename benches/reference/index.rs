//! The index under measurement: its database, opened by the library and by SQL of the experiments, and its servers.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result};
use postgres::{Postgres, Source};
use search::{Searcher, View, Visible};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use store::{Store, Target};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::shared;
use crate::shared::server::Server;

/// The role of the private Postgres.
const ROLE: &str = "codesearch";

/// The place of the index.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Place {
    /// The home of the private Postgres; without it, `DATABASE_URL`, or else the sample in a new home
    #[arg(long, value_name = "FOLDER")]
    home: Option<String>,
    /// The index in it
    #[arg(long, value_name = "NAME", default_value = "default")]
    index: String,
}

/// An open index.
pub(crate) struct Index {
    pub(crate) store: Store,
    /// Searches the index, with nothing kept in memory.
    pub(crate) view: View,
    home: Option<PathBuf>,
    name: String,
    target: Target,
    postgres: Option<Postgres>,
    /// The home of the sample, deleted at the end.
    _sample: Option<TempDir>,
}

impl Index {
    /// Opens the index named on the command line; indexes the sample first if that is used.
    pub(crate) fn open(place: &Place, runtime: &Runtime) -> Result<Self> {
        let url = std::env::var("DATABASE_URL").ok().filter(|url| !url.is_empty());
        let sample = match (&place.home, &url) {
            (None, None) => Some(shared::sample(Some(&place.index))?),
            _ => None,
        };
        let home = match (&place.home, &sample) {
            (Some(home), _) => Some(shared::path(home)),
            (None, sample) => sample.as_ref().map(|folder| folder.path().to_owned()),
        };
        let postgres = match &home {
            Some(home) => {
                let options = postgres::Options {
                    home: home.clone(),
                    name: ROLE.to_owned(),
                    source: Source::Auto,
                    idle: None,
                };
                Some(Postgres::open(&options)?)
            }
            None => None,
        };
        let target = match &postgres {
            Some(postgres) => socket(postgres, &place.index),
            None => Target::Url(url.context("there is no database")?),
        };
        let store =
            runtime.block_on(Store::connect(&target, connections(), store::Missing::Make))?;
        let searcher = Arc::new(Searcher::new(store.clone(), cores()));
        let view = View::new(searcher, Visible::ALL);
        let name = place.index.clone();
        Ok(Self { store, view, home, name, target, postgres, _sample: sample })
    }

    /// Returns a name of the index's state; outcomes of other states are ignored.
    pub(crate) async fn state(&self) -> Result<String> {
        let catalog = self.view.catalog().await?;
        Ok(format!("{}-{}", catalog.identity, catalog.epoch.0))
    }

    /// Opens the index again with up to `connections` separate connections for searching.
    pub(crate) async fn connect(&self, connections: u32) -> Result<Store> {
        Ok(Store::connect(&self.target, connections, store::Missing::Refuse).await?)
    }

    /// Opens a connection for SQL.
    pub(crate) async fn sql(&self) -> Result<PgConnection> {
        sql(&self.target).await
    }

    /// Starts a server of this index with more arguments.
    pub(crate) fn server(&self, more: &[&str]) -> Result<Server> {
        Ok(Server::start(self.home.as_deref(), self.named(), more)?)
    }

    /// Starts a server without statistics, and waits until it has filled its memory.
    pub(crate) fn warm_server(&self) -> Result<Server> {
        let server = self.server(&["--no-statistics"])?;
        server.settle();
        Ok(server)
    }

    /// Runs the program on this index, and returns its standard output.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String> {
        let mut command = shared::server::codesearch(self.home.as_deref(), self.named());
        command.args(arguments);
        Ok(shared::server::run(command)?)
    }

    /// Returns the log of the private Postgres, if there is one.
    pub(crate) fn log(&self) -> Option<PathBuf> {
        Some(self.postgres.as_ref()?.socket_dir().join("server.log"))
    }

    /// Stops using the private Postgres.
    pub(crate) fn close(self) -> Result<()> {
        if let Some(postgres) = self.postgres {
            postgres.close()?;
        }
        Ok(())
    }

    /// Returns the name as the program expects it; with `DATABASE_URL`, no index can be chosen.
    fn named(&self) -> Option<&str> {
        self.home.as_ref().map(|_| self.name.as_str())
    }
}

/// Returns the address of a database on a private Postgres.
pub(crate) fn socket(postgres: &Postgres, database: &str) -> Target {
    Target::Socket {
        folder: postgres.socket_dir().to_owned(),
        role: postgres.name().to_owned(),
        database: database.to_owned(),
    }
}

/// Connects to an existing database, with codesearch's schema on the search path.
pub(crate) async fn sql(target: &Target) -> Result<PgConnection> {
    Ok(PgConnection::connect_with(&options(target)?).await?)
}

/// Returns the options for [`sql`].
pub(crate) fn options(target: &Target) -> Result<PgConnectOptions> {
    let options = match target {
        Target::Url(url) => PgConnectOptions::from_str(url)?,
        Target::Socket { folder, role, database } => {
            PgConnectOptions::new_without_pgpass().socket(folder).username(role).database(database)
        }
    };
    Ok(options.options([("search_path", "codesearch,public"), ("client_min_messages", "warning")]))
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// Returns the number of connections for searching, as many as a server has.
fn connections() -> u32 {
    (cores() * 4).clamp(8, 64) as u32
}
