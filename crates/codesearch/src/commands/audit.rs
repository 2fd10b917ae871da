//! `codesearch audit`: prints what servers were asked, and notes that somebody has read it.

use anyhow::{Context, Error, Result};
use store::{AuditEvent, AuditFilter, Store};

use crate::cli::{AuditArgs, AuditFormat, DatabaseArgs};
use crate::database::Database;

/// Events that the table shows, unless the user asks for others.
const SHOWN: usize = 100;

/// Events that are read at once.
const PAGE: usize = 1000;

pub(crate) fn run(database: &DatabaseArgs, args: &AuditArgs) -> Result<u8> {
    let time = |text: &Option<String>, name: &str| {
        let time = |text| audit::micros(statistics::time(text)?).map_err(Error::msg);
        text.as_deref().map(time).transpose().with_context(|| format!("--{name}"))
    };
    let filter = AuditFilter {
        who: args.of.clone(),
        repo: args.repo.clone(),
        since: time(&args.since, "since")?,
        until: time(&args.until, "until")?,
        interface: args.interface.map(|interface| interface.word().to_owned()),
        refused: args.refused,
    };
    Database::open_index(database, 1)?.run(async |store| {
        // Before anything is shown: the reader may be killed.
        store.audit(&reading(args)).await?;
        match args.format {
            AuditFormat::Jsonl => export(store, &filter, args.limit.unwrap_or(0)).await,
            AuditFormat::Table => table(store, &filter, args.limit.unwrap_or(SHOWN)).await,
        }
    })
}

/// Returns the event of this command. Of its options, only those count that say what is read: others have passwords.
fn reading(args: &AuditArgs) -> AuditEvent {
    let interface = args.interface.map(|interface| interface.word().to_owned());
    let options = [
        ("of", &args.of),
        ("repo", &args.repo),
        ("since", &args.since),
        ("until", &args.until),
        ("interface", &interface),
    ];
    let given = options.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let mut command: Vec<String> = given.map(|(name, value)| format!("--{name} {value}")).collect();
    command.extend(args.refused.then(|| "--refused".to_owned()));
    let command = command.join(" ");
    AuditEvent {
        at: audit::now(),
        is_owner: true,
        outcome: "answered".into(),
        interface: "command".into(),
        endpoint: "codesearch audit".into(),
        query: (!command.is_empty()).then(|| audit::shortened(command, audit::MAX_QUERY)),
        ..AuditEvent::default()
    }
}

/// Prints events as JSON lines, the oldest first; at most `most`, or all for 0.
async fn export(store: &Store, filter: &AuditFilter, most: usize) -> Result<u8> {
    let (mut last, mut printed) = (None, 0);
    loop {
        let page = if most == 0 { PAGE } else { PAGE.min(most - printed) };
        let events = store.audit_after(filter, last, page).await?;
        for event in &events {
            say!("{}", audit::json(event));
        }
        printed += events.len();
        last = events.last().map(|event| (event.at, event.id));
        if events.len() < page || printed == most {
            return Ok(if printed == 0 { crate::NOTHING } else { crate::FOUND });
        }
    }
}

/// Prints a table, the newest event first; at most `most` events, or all for 0.
async fn table(store: &Store, filter: &AuditFilter, most: usize) -> Result<u8> {
    let (mut last, mut printed) = (None, 0);
    loop {
        let page = if most == 0 { PAGE } else { PAGE.min(most - printed) };
        let events = store.audit_before(filter, last, page).await?;
        for event in &events {
            let query = event.query.as_deref().filter(|_| event.interface != "server");
            let asked = [Some(&*event.endpoint), query, event.parameters.as_deref()];
            let asked = asked.into_iter().flatten().filter(|part| !part.is_empty());
            let asked: Vec<&str> = asked.collect();
            let told = [audit::outcome(event), audit::contents(event)];
            let told: Vec<String> = told.into_iter().filter(|part| !part.is_empty()).collect();
            let line = format!(
                "{}  {:<16}  {:<15}  {:<7}  {}: {}",
                audit::time(event.at),
                audit::who(event),
                event.sender.as_deref().unwrap_or("-"),
                event.interface,
                asked.join("  "),
                told.join(", "),
            );
            // Queries hold whatever was typed.
            say!("{}", line.replace(char::is_control, " "));
        }
        printed += events.len();
        last = events.last().map(|event| (event.at, event.id));
        if events.len() < page || printed == most {
            break;
        }
    }
    if printed == 0 {
        note!(
            "codesearch: no event of the audit matches; leave out options, or start the server with --audit"
        );
        return Ok(crate::NOTHING);
    }
    Ok(crate::FOUND)
}
