//! `codesearch token`: makes a token.

use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};

use crate::cli::TokenArgs;

/// Prints the line for the token file, which contains no secret, to stdout, and the token to stderr. The token is not
/// stored.
pub(crate) fn run(args: &TokenArgs) -> Result<u8> {
    let mut words = Vec::new();
    words.extend(args.user.iter().map(|user| format!("user={user}")));
    for (name, list) in [("groups", &args.groups), ("repos", &args.repos)] {
        if !list.is_empty() {
            words.push(format!("{name}={}", list.join(",")));
        }
    }
    if let Some(end) = &args.expires {
        words.push(format!("expires={}", time(end)?));
    }
    let rights = [(args.admin, "admin"), (args.ingest, "ingest")];
    words.extend(rights.iter().filter(|(has, _)| *has).map(|(_, word)| (*word).to_owned()));
    let (token, line) = server::new_token(&args.name, &words)?;
    say!("{line}");
    note!("the token of {}, shown only now: {token}", args.name);
    Ok(crate::FOUND)
}

/// Returns a time as the file has it: `90d` is so long from now.
fn time(text: &str) -> Result<String> {
    let Ok(length) = settings::interval(text) else { return Ok(text.to_owned()) };
    let end = SignedDuration::try_from(length).ok();
    let end = end.and_then(|length| Timestamp::now().checked_add(length).ok());
    let end =
        end.with_context(|| format!("--expires {text} is too far away; leave it out for never"))?;
    Ok(Timestamp::from_second(end.as_second())?.to_string())
}
