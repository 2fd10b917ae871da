//! `codesearch db`: inspects, starts or stops the private Postgres.

use std::io::{IsTerminal, Read, Write, stdout};
use std::time::Duration;

use anyhow::{Context, Result};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use postgres::Postgres;
use request::human::{since, size};
use serde_json::json;
use store::Target;
use tokio::runtime::Runtime;

use crate::cli::{DatabaseArgs, DbArgs, DbCommand};
use crate::database::{Database, check_made, close_postgres, external, postgres_options, target};

pub(crate) fn run(database: &DatabaseArgs, args: &DbArgs) -> Result<u8> {
    match &args.what {
        DbCommand::Nodes { json } => return nodes(database, *json),
        DbCommand::Rebalance { drain } => return rebalance(database, drain.as_ref()),
        DbCommand::Rebuild { nodes } => return super::rebuild::run(database, nodes),
        _ => {}
    }
    if let Some(url) = external(database) {
        return match args.what {
            DbCommand::Url => said(url),
            DbCommand::PsqlHint => said("psql \"$DATABASE_URL\""),
            DbCommand::Status => said("DATABASE_URL is set: no private Postgres is used"),
            DbCommand::List { json } => list(&Target::Url(url.to_owned()), json),
            DbCommand::Servers { json } => servers(&Target::Url(url.to_owned()), json),
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
        DbCommand::List { json } => {
            check_made(database)?;
            let postgres = Postgres::open(&options)?;
            let listed = list(&target(database, Some(&postgres)), json);
            close_postgres(postgres, false);
            listed
        }
        DbCommand::Servers { json } => {
            check_made(database)?;
            let postgres = Postgres::open(&options)?;
            let listed = servers(&target(database, Some(&postgres)), json);
            close_postgres(postgres, false);
            listed
        }
        DbCommand::Url => with_postgres(database, |postgres| {
            let socket = utf8_percent_encode(&socket(postgres), NON_ALPHANUMERIC).to_string();
            let index = utf8_percent_encode(&database.index, NON_ALPHANUMERIC);
            format!("postgresql://{}@localhost/{index}?host={socket}", postgres.name())
        }),
        DbCommand::PsqlHint => with_postgres(database, |postgres| {
            let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
            format!(
                "psql -h {} -U {} {}",
                quoted(&socket(postgres)),
                postgres.name(),
                quoted(&database.index)
            )
        }),
        DbCommand::Nodes { .. } | DbCommand::Rebalance { .. } | DbCommand::Rebuild { .. } => {
            unreachable!("they are about an index, wherever it is")
        }
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

/// Prints the nodes of an index on Citus.
fn nodes(database: &DatabaseArgs, as_json: bool) -> Result<u8> {
    Database::open_index(database, 1)?.run(async |store| {
        let nodes = store.nodes().await?;
        let width = nodes.iter().map(|node| node.name.len()).max().unwrap_or(0).max(4);
        if !as_json {
            say!(
                "{:<width$} {:>7} {:>7} {:>10} {:>10}  STATE",
                "NODE",
                "GROUPS",
                "FILLED",
                "TEXT",
                "ON DISK"
            );
        }
        for node in &nodes {
            if as_json {
                let line = json!({
                    "node": node.name, "answers": node.answers, "takes_groups": node.takes_groups, "groups": node.groups,
                    "shards": node.shards, "bytes": node.bytes, "disk_bytes": node.disk_bytes,
                });
                say!("{line}");
                continue;
            }
            let disk = if node.answers { size(node.disk_bytes.cast_unsigned()) } else { "?".to_owned() };
            let state = match (node.answers, node.takes_groups, node.groups.is_empty()) {
                (false, ..) => "does not answer",
                (true, true, _) => "ready",
                (true, false, false) => "draining",
                (true, false, true) => "drained",
            };
            let text = size(node.bytes.cast_unsigned());
            let (groups, filled) = (node.groups.len(), node.shards);
            say!("{:<width$} {groups:>7} {filled:>7} {text:>10} {disk:>10}  {state}", node.name);
        }
        Ok(if nodes.iter().all(|node| node.answers) { crate::FOUND } else { crate::NOTHING })
    })
}

/// Moves groups of shards between nodes, tells each move, and prints where they are then.
fn rebalance(database: &DatabaseArgs, drain: Option<&(String, u16)>) -> Result<u8> {
    let told = |step: &store::Move| {
        let store::Move { group, from, to, done, of } = step;
        note!("moving group {group}, {} of {of}: {from} -> {to}", done + 1);
    };
    Database::open_index(database, 1)?.run(async |store| {
        store.rebalance(drain.map(|(host, port)| (host.as_str(), *port)), &told).await?;
        Ok(crate::FOUND)
    })?;
    nodes(database, false)
}

fn said(text: &str) -> Result<u8> {
    say!("{text}");
    Ok(crate::FOUND)
}

/// Prints the indexes of a server.
fn list(target: &Target, as_json: bool) -> Result<u8> {
    let indexes = runtime()?.block_on(store::indexes(target))?;
    let width = indexes.iter().map(|index| index.name.chars().count()).max().unwrap_or(0).max(5);
    if !as_json && !indexes.is_empty() {
        say!(
            "{:<width$} {:>12} {:>12} {:>9}  INDEXED",
            "INDEX",
            "ON DISK",
            "REPOSITORIES",
            "FILES"
        );
    }
    for index in &indexes {
        if as_json {
            let line = json!({
                "name": index.name, "disk_bytes": index.disk_bytes, "repositories": index.repos,
                "files": index.files, "bytes": index.bytes, "indexed_at": index.indexed_at,
            });
            say!("{line}");
            continue;
        }
        let time = match &index.indexed_at {
            Some(at) if stdout().is_terminal() => since(at),
            Some(at) => at.clone(),
            None => "never".to_owned(),
        };
        say!(
            "{:<width$} {:>12} {:>12} {:>9}  {time}",
            index.name,
            size(index.disk_bytes as u64),
            index.repos,
            index.files
        );
    }
    if indexes.is_empty() {
        note!("codesearch: the server has no index; run: codesearch ingest FOLDER");
        return Ok(crate::NOTHING);
    }
    Ok(crate::FOUND)
}

/// Prints the codesearch servers of an index.
fn servers(target: &Target, as_json: bool) -> Result<u8> {
    let servers = runtime()?.block_on(store::servers(target))?;
    if servers.is_empty() {
        note!("codesearch: no server of this index runs; run: codesearch serve");
        return Ok(crate::NOTHING);
    }
    let wide = |width: usize, text: &str| width.max(text.chars().count());
    let address = servers.iter().fold(7, |width, of| wide(width, &of.address));
    let machine = servers.iter().fold(7, |width, of| wide(width, &of.machine));
    if !as_json {
        say!(
            "{:<address$} {:<machine$} {:>8} {:<9} {:<20}  STATE",
            "ADDRESS",
            "MACHINE",
            "PROCESS",
            "VERSION",
            "SINCE"
        );
    }
    for of in &servers {
        if as_json {
            let line = json!({
                "address": of.address, "machine": of.machine, "process": of.process, "version": of.version,
                "since": of.started, "ingests": of.ingests, "draining": of.draining,
            });
            say!("{line}");
            continue;
        }
        let state = match (of.draining, of.ingests) {
            (true, _) => "draining",
            (false, true) => "ingests",
            (false, false) => "serves",
        };
        let time = if stdout().is_terminal() { since(&of.started) } else { of.started.clone() };
        say!(
            "{:<address$} {:<machine$} {:>8} {:<9} {time:<20}  {state}",
            of.address,
            of.machine,
            of.process,
            of.version
        );
    }
    Ok(crate::FOUND)
}

fn runtime() -> Result<Runtime> {
    Runtime::new().context("cannot start threads")
}

/// Prints a text about the index of the private Postgres, which must exist.
fn with_postgres(args: &DatabaseArgs, text: impl Fn(&Postgres) -> String) -> Result<u8> {
    check_made(args)?;
    let options = postgres_options(args)?;
    let postgres = Postgres::open(&options)?;
    let checked = runtime()?.block_on(store::check_index(&target(args, Some(&postgres))));
    let text = text(&postgres);
    close_postgres(postgres, false);
    checked?;
    if !postgres::is_running(&options) {
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
