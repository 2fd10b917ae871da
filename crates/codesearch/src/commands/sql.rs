//! `codesearch sql`: runs one statement on the views of the index, or opens psql.

use std::ffi::OsString;
use std::io::{BufWriter, IsTerminal, Read};
use std::process::Command;

use anyhow::{Context, Result, bail};
use percent_encoding::percent_decode_str;
use store::Store;

use crate::cli::{DatabaseArgs, SqlArgs};
use crate::database::{Database, external};
use crate::print::rows;

pub(crate) fn run(database: &DatabaseArgs, args: &SqlArgs) -> Result<u8> {
    let mut statement = args.statement.join(" ");
    if args.psql || statement.is_empty() && std::io::stdin().is_terminal() {
        return psql(database);
    }
    if statement.is_empty() {
        let read = std::io::stdin().read_to_string(&mut statement);
        read.context("cannot read the statement from standard input")?;
    }
    if statement.trim().is_empty() {
        bail!("there is no statement: codesearch sql 'select repository, files from repositories'");
    }
    Database::open_index(database, 1)?.run(async |store| answer(store, &statement, args).await)
}

/// Runs one statement, and prints its rows.
async fn answer(store: &Store, statement: &str, args: &SqlArgs) -> Result<u8> {
    let mut query = store.sql(statement).await?;
    let columns = query.columns.clone();
    let stdout = std::io::stdout();
    let terminal = stdout.is_terminal();
    let mut printer =
        rows(args.format, &columns, Box::new(BufWriter::new(stdout.lock())), terminal)?;
    let mut count = 0_u64;
    query
        .run(|values| {
            count += 1;
            printer.row(values)
        })
        .await?;
    printer.end()?;
    Ok(if count > 0 { crate::FOUND } else { crate::NOTHING })
}

/// Opens psql with the views in its search path, read-only.
fn psql(args: &DatabaseArgs) -> Result<u8> {
    let database = Database::open_index(args, 1)?;
    let opened = database.runtime.block_on(async {
        let settings = database.store.sql_settings().await?;
        let mut command = Command::new("psql");
        match database.postgres() {
            Some(postgres) => {
                command
                    .env("PGHOST", postgres.socket_dir())
                    .env("PGPORT", "5432")
                    .env("PGUSER", postgres.name())
                    .env("PGDATABASE", &args.index);
            }
            None => {
                let (url, password) = split_password(external(args).unwrap_or_default());
                command.args(["--dbname", &url]).envs(password.map(|it| ("PGPASSWORD", it)));
            }
        }
        let given = std::env::var_os("PGOPTIONS").unwrap_or_default();
        command.env("PGOPTIONS", options(given, &settings));
        // psql handles Ctrl-C itself, to cancel a statement.
        let _ignored = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
        anyhow::Ok(tokio::task::block_in_place(|| command.status()))
    });
    database.close();
    match opened? {
        Ok(status) if status.success() => Ok(crate::FOUND),
        Ok(_) => Ok(crate::FAILED),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "psql is not installed (it comes with PostgreSQL's client programs); give a statement instead: codesearch \
             sql 'select repository, files from repositories'"
        ),
        Err(error) => Err(error).context("psql cannot be started"),
    }
}

/// Appends settings to `PGOPTIONS`.
fn options(mut given: OsString, settings: &[(&str, &str)]) -> OsString {
    for (name, value) in settings {
        given.push(format!(" -c {name}={value}"));
    }
    given
}

/// Splits the password off a URL, since everybody on the machine can read a command line.
fn split_password(url: &str) -> (String, Option<String>) {
    let parts = url.split_once("://").and_then(|(scheme, rest)| {
        let (user, host) = rest[..rest.find(['/', '?']).unwrap_or(rest.len())].rsplit_once('@')?;
        let (name, password) = user.split_once(':')?;
        let rest = &rest[user.len()..];
        debug_assert!(rest[1..].starts_with(host));
        let password = percent_decode_str(password).decode_utf8().ok()?.into_owned();
        Some((format!("{scheme}://{name}{rest}"), password))
    });
    match parts {
        Some((url, password)) => (url, Some(password)),
        None => (url.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_stands_on_no_command_line() {
        let check = |url: &str, without: &str, password: Option<&str>| {
            assert_eq!(split_password(url), (without.to_owned(), password.map(str::to_owned)));
        };
        check("postgresql://me:p%40ss@h:5/d?x=1", "postgresql://me@h:5/d?x=1", Some("p@ss"));
        check("postgresql://me@h/d", "postgresql://me@h/d", None);
        check("postgresql://h/d@x:y", "postgresql://h/d@x:y", None);
        check("postgresql:///d?host=/a:b@c", "postgresql:///d?host=/a:b@c", None);
        assert_eq!(
            options("-c work_mem=1MB".into(), &[("a", "b"), ("c", "d,e")]),
            "-c work_mem=1MB -c a=b -c c=d,e"
        );
    }
}
