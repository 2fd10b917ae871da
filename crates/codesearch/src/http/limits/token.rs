//! The file of tokens: who may have more, or less, than everybody else.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use super::quota::Quota;

/// Characters of a token, at least: shorter ones can be guessed.
const MIN_TOKEN: usize = 16;

/// A token of the file: its owner, its SHA-256, and what its owner may have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(super) name: String,
    pub(super) hash: [u8; 32],
    pub(super) quota: Quota,
}

/// Reads a file of tokens: on each line a name, the token, and what differs from `each`.
///
/// # Errors
/// The file cannot be read, or a line of it is wrong.
pub(crate) fn read_tokens(file: &Path, each: Quota) -> Result<Vec<Token>> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the tokens in {}", file.display()))?;
    tokens(&text, each).with_context(|| format!("the tokens in {} cannot be used", file.display()))
}

fn tokens(text: &str, each: Quota) -> Result<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let token = token(line, each).with_context(|| format!("line {}", at + 1))?;
        if let Some(twice) = tokens.iter().find(|known| known.hash == token.hash) {
            bail!("line {}: {} and {} have the same token", at + 1, twice.name, token.name);
        }
        tokens.push(token);
    }
    ensure!(
        !tokens.is_empty(),
        "there are none; write lines such as: ci 5f1e0c9a7b3d4e28 per-minute=600"
    );
    Ok(tokens)
}

fn token(line: &str, each: Quota) -> Result<Token> {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default().to_owned();
    let token = words.next().with_context(|| format!("{name} has no token; write: NAME TOKEN"))?;
    ensure!(
        token.len() >= MIN_TOKEN,
        "the token of {name} is shorter than {MIN_TOKEN} characters and could be guessed; make one with: \
         openssl rand -hex 16"
    );
    let mut quota = each;
    for word in words {
        let wrong = || {
            format!(
                "\"{word}\" is not a limit; use at-once=N, per-minute=N or mib-per-minute=N, with N a number \
                 from 1 or none"
            )
        };
        let (what, most) = word.split_once('=').with_context(wrong)?;
        let most = match most {
            "none" => None,
            most => Some(most.parse::<u32>().ok().filter(|most| *most > 0).with_context(wrong)?),
        };
        match what {
            "at-once" => quota.at_once = most,
            "per-minute" => quota.per_minute = most,
            "mib-per-minute" => quota.mib_per_minute = most,
            _ => bail!(wrong()),
        }
    }
    Ok(Token { name, hash: Sha256::digest(token).into(), quota })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_lines() {
        let each = Quota { per_minute: Some(60), ..Quota::default() };
        let text = "# ours\n\nci 0123456789abcdef at-once=8 per-minute=600\nann 0123456789abcdeg per-minute=none\n";
        let read = tokens(text, each).unwrap();
        let quota = |at: usize| (read[at].quota.at_once, read[at].quota.per_minute);
        assert_eq!((quota(0), quota(1)), ((Some(8), Some(600)), (None, None)));
        for (wrong, why) in [
            ("", "there are none"),
            ("ci", "line 1: ci has no token"),
            ("ci short", "could be guessed"),
            ("ci 0123456789abcdef many=3", "is not a limit"),
            ("ci 0123456789abcdef at-once=0", "is not a limit"),
            ("ci 0123456789abcdef at-once", "is not a limit"),
            ("a 0123456789abcdef\nb 0123456789abcdef", "line 2: a and b have the same token"),
        ] {
            let error = format!("{:#}", tokens(wrong, each).unwrap_err());
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}
