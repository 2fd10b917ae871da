//! `codesearch token`: make a token for who may ask a server.

use anyhow::Result;

use crate::cli::TokenArgs;
use crate::http;

/// Prints the line for the file, which holds no secret, apart from the token, which is nowhere else.
pub(crate) fn run(args: &TokenArgs) -> Result<u8> {
    let (token, line) = http::new_token(&args.name, args.admin)?;
    say!("{line}");
    eprintln!("the token of {}, which is not shown again: {token}", args.name);
    Ok(crate::FOUND)
}
