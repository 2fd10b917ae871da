//! `codesearch sql`: runs one statement on the views of the index, or opens psql.

use std::ffi::OsString;
use std::io::{BufWriter, IsTerminal, Read};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use percent_encoding::percent_decode_str;
use store::{READER, SqlReader, Store, Target, VISIBLE, reader_settings};

use crate::cli::{DatabaseArgs, SqlArgs};
use crate::database::Database;
use crate::print::rows;

pub(crate) fn run(database: &DatabaseArgs, args: &SqlArgs) -> Result<u8> {
    let mut statement = args.statement.join(" ");
    if args.psql || statement.is_empty() && std::io::stdin().is_terminal() {
        return psql(database, args);
    }
    if statement.is_empty() {
        let read = std::io::stdin().read_to_string(&mut statement);
        read.context("cannot read the statement from standard input")?;
    }
    if statement.trim().is_empty() {
        bail!("no statement; try: codesearch sql 'select repository, files from repositories'");
    }
    // Whoever --as names is not the owner, even if he or she sees all repositories.
    let is_owner = database.as_user.is_none();
    let database = Database::open_index(database, 1)?;
    let (owner, target) = (owner(&database, args), visible(database.target()));
    let store = database.store.clone();
    database.read(1, async |view| {
        let reader = match view.visible_repos().await? {
            None if is_owner => SqlReader::owner(owner),
            some => SqlReader::of(target, some),
        };
        answer(&store, &reader, &statement, args).await
    })
}

/// Returns where the owner's statements run, as the role that only reads the views: in the private Postgres, or at a URL.
fn owner(database: &Database, args: &SqlArgs) -> Target {
    match (&args.reader_url, database.target()) {
        (Some(url), Target::Url(_)) => Target::Url(url.clone()),
        (_, target) => with_role(target, READER),
    }
}

/// Returns where statements run that see only some repositories: in the private Postgres, or at `CODESEARCH_VISIBLE_URL`.
fn visible(target: &Target) -> Target {
    match (std::env::var("CODESEARCH_VISIBLE_URL"), target) {
        (Ok(url), Target::Url(_)) => Target::Url(url),
        (_, target) => with_role(target, VISIBLE),
    }
}

/// Returns the address of the same database for another role, without a password.
fn with_role(target: &Target, role: &str) -> Target {
    match target {
        Target::Url(url) => Target::Url(as_role(url, role)),
        Target::Socket { folder, role: _, database } => Target::Socket {
            folder: folder.clone(),
            role: role.to_owned(),
            database: database.clone(),
        },
    }
}

/// Returns where statements of clients and agents run. Outside the private Postgres, operators read statistics of searches
/// if `CODESEARCH_READER_URL` is set.
pub(crate) fn for_agents(database: &Database) -> Arc<mcp::Sql> {
    let target = database.target();
    let owner = match target {
        Target::Url(_) => std::env::var("CODESEARCH_READER_URL").ok().map(Target::Url),
        Target::Socket { .. } => Some(with_role(target, READER)),
    };
    Arc::new(mcp::Sql::new(database.store.clone(), owner, visible(target)))
}

/// Runs one statement, and prints its rows.
async fn answer(store: &Store, reader: &SqlReader, statement: &str, args: &SqlArgs) -> Result<u8> {
    let mut query = store.sql(reader, statement, args.timeout).await?;
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

/// Opens psql with the views in its search path, as the role that only reads them.
fn psql(args: &DatabaseArgs, how: &SqlArgs) -> Result<u8> {
    let database = Database::open_index(args, 1)?;
    if !database.visible().is_all() || args.as_user.is_some() {
        database.close();
        bail!(
            "psql would show all repositories; give a statement: codesearch sql 'select repository, files from repositories'"
        );
    }
    let reader = owner(&database, how);
    let opened = database.runtime.block_on(async {
        database.store.check_reader(&reader).await?;
        let mut command = Command::new("psql");
        match &reader {
            Target::Socket { folder, role, database } => {
                command
                    .env("PGHOST", folder)
                    .env("PGPORT", "5432")
                    .env("PGUSER", role)
                    .env("PGDATABASE", database);
            }
            Target::Url(url) => {
                let (url, password) = split_password(url);
                command.args(["--dbname", &url]).envs(password.map(|it| ("PGPASSWORD", it)));
            }
        }
        let given = std::env::var_os("PGOPTIONS").unwrap_or_default();
        let timeout = how.timeout.as_millis().to_string();
        command.env("PGOPTIONS", options(given, &reader_settings(&timeout)));
        // psql handles Ctrl-C itself, to cancel a statement.
        let _ignored = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
        anyhow::Ok(tokio::task::block_in_place(|| command.status()))
    });
    database.close();
    match opened? {
        Ok(status) if status.success() => Ok(crate::FOUND),
        Ok(_) => Ok(crate::FAILED),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "psql is not installed (it is one of PostgreSQL's client programs); give a statement instead: codesearch \
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

/// Returns a URL with a role in place of the user and the password.
fn as_role(url: &str, role: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let server = &rest[..rest.find(['/', '?']).unwrap_or(rest.len())];
    let user = server.rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{role}@{}", &rest[user..])
}

/// Splits the password off a URL, since everybody on the machine can see command lines.
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
        for (url, reader) in [
            ("postgresql://me:p%40ss@h:5/d?x=1", "postgresql://codesearch_reader@h:5/d?x=1"),
            ("postgres://h/d@x:y", "postgres://codesearch_reader@h/d@x:y"),
            ("postgresql:///d?host=/a:b@c", "postgresql://codesearch_reader@/d?host=/a:b@c"),
        ] {
            assert_eq!(as_role(url, READER), reader);
        }
        assert_eq!(
            options("-c work_mem=1MB".into(), &[("a", "b"), ("c", "d,e")]),
            "-c work_mem=1MB -c a=b -c c=d,e"
        );
    }
}
