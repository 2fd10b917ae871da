//! `codesearch db`: inspects, starts or stops the private Postgres.

use std::io::{Read, Write};
use std::time::Duration;

use anyhow::Result;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use postgres::Postgres;

use crate::cli::{DatabaseArgs, DbArgs, DbCommand};
use crate::database::{close_postgres, external, postgres_options};
use request::human::size;

pub(crate) fn run(database: &DatabaseArgs, args: &DbArgs) -> Result<u8> {
    if let Some(url) = external(database) {
        return match args.what {
            DbCommand::Url => said(url),
            DbCommand::PsqlHint => said("psql \"$DATABASE_URL\""),
            DbCommand::Status => said("DATABASE_URL is set: no private Postgres is used"),
            _ => anyhow::bail!(
                "DATABASE_URL is set, so there is no private Postgres to start or stop"
            ),
        };
    }
    let options = postgres_options(database)?;
    let socket = |postgres: &Postgres| postgres.socket_dir().display().to_string();
    match args.what {
        DbCommand::Status => {
            let status = postgres::status(&options)?;
            say!("home:    {}", status.home.display());
            match status.build {
                Some(build) => {
                    say!("build:   PostgreSQL {} in {}", build.version, build.programs.display());
                }
                None => say!(
                    "build:   none yet; the first command that needs Postgres finds or downloads it"
                ),
            }
            match status.pid {
                Some(pid) => say!(
                    "running: yes, process {pid}{}",
                    match status.stops_in {
                        _ if status.kept => ", until: codesearch db stop".to_owned(),
                        Some(left) => format!(", for another {} unless it is used", span(left)),
                        None => String::new(),
                    }
                ),
                None => say!("running: no"),
            }
            say!("data:    {}", size(status.bytes));
            let postgres::Memory { bytes, bound } = status.memory;
            say!("memory:  {}, the limit of {bound}", size(bytes));
            if !status.given.is_empty() {
                say!(
                    "         assigned to Postgres at its last start: {}",
                    status.given.join(", ")
                );
            }
            Ok(if status.pid.is_some() { crate::FOUND } else { crate::NOTHING })
        }
        DbCommand::Start => {
            let postgres = Postgres::open(&options)?;
            postgres.keep()?;
            say!("running, until: codesearch db stop");
            close_postgres(postgres, false);
            Ok(crate::FOUND)
        }
        DbCommand::Stop { force } => {
            said(if postgres::stop(&options, force)? { "stopped" } else { "it was not running" })
        }
        DbCommand::Url => with_postgres(&options, |postgres| {
            let socket = utf8_percent_encode(&socket(postgres), NON_ALPHANUMERIC).to_string();
            let index = utf8_percent_encode(&database.index, NON_ALPHANUMERIC);
            format!("postgresql://{}@localhost/{index}?host={socket}", postgres.name())
        }),
        DbCommand::PsqlHint => with_postgres(&options, |postgres| {
            let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
            format!(
                "psql -h {} -U {} {}",
                quoted(&socket(postgres)),
                postgres.name(),
                quoted(&database.index)
            )
        }),
        DbCommand::Keeper => {
            postgres::wait(&options)?;
            Ok(crate::FOUND)
        }
        DbCommand::Hold => {
            let postgres = Postgres::open(&options)?;
            say!("{}", socket(&postgres));
            std::io::stdout().flush()?;
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            close_postgres(postgres, false);
            Ok(crate::FOUND)
        }
    }
}

fn said(text: &str) -> Result<u8> {
    say!("{text}");
    Ok(crate::FOUND)
}

fn with_postgres(options: &postgres::Options, text: impl Fn(&Postgres) -> String) -> Result<u8> {
    let postgres = Postgres::open(options)?;
    let text = text(&postgres);
    close_postgres(postgres, false);
    if !postgres::is_running(options) {
        note!("codesearch: the private Postgres is not running; run: codesearch db start");
    }
    said(&text)
}

/// Returns a time in words: `10 min` or `30 s`.
fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=99 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}
