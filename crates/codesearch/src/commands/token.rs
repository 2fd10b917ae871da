//! `codesearch token`: makes a token.

use anyhow::Result;
use server::Rights;

use crate::cli::TokenArgs;

/// Prints the line for the token file, which contains no secret, to stdout, and the token to stderr. The token is not
/// stored.
pub(crate) fn run(args: &TokenArgs) -> Result<u8> {
    let rights = Rights { is_admin: args.admin, may_ingest: args.ingest };
    let (token, line) = server::new_token(&args.name, rights)?;
    say!("{line}");
    note!("the token of {}, shown only now: {token}", args.name);
    Ok(crate::FOUND)
}
