//! The file of tokens: the people and programs that may use the server, and their limits if these
//! differ from everybody's. The file holds only hashes, so its contents give no access.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use super::quota::Quota;

/// Bytes of a generated token: too many to guess.
const TOKEN_BYTES: usize = 16;

/// Prefix of the hash of a token, which follows in hexadecimal digits.
const SCHEME: &str = "sha256:";

/// A token of the file: its owner, its SHA-256, and its owner's limits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(super) name: String,
    pub(super) hash: [u8; 32],
    pub(super) quota: Quota,
    /// Whether its owner may see what others search for.
    pub(super) is_admin: bool,
}

/// A file of tokens, and the state in which it was last read.
#[derive(Debug)]
pub(crate) struct TokenFile {
    path: PathBuf,
    /// The limits for whatever a line leaves out.
    each: Quota,
    read: Option<(SystemTime, u64)>,
}

impl TokenFile {
    pub(crate) fn new(path: &Path, each: Quota) -> Self {
        Self { path: path.to_owned(), each, read: None }
    }

    /// Reads the file. Each line has a name, the hash of its token, and the limits that differ from
    /// everybody's.
    ///
    /// # Errors
    /// The file cannot be read, or a line of it is wrong.
    pub(crate) fn read(&mut self) -> Result<Vec<Token>> {
        let path = self.path.display();
        self.read = state(&self.path);
        let text = std::fs::read_to_string(&self.path)
            .with_context(|| format!("cannot read the tokens in {path}"))?;
        tokens(&text, self.each).with_context(|| format!("the tokens in {path} cannot be used"))
    }

    /// Returns whether the file has changed since it was last read.
    pub(crate) fn has_changed(&self) -> bool {
        state(&self.path) != self.read
    }
}

/// Returns a file's time of change and bytes; `None` if there is no such file.
fn state(path: &Path) -> Option<(SystemTime, u64)> {
    let told = std::fs::metadata(path).ok()?;
    Some((told.modified().ok()?, told.len()))
}

/// Returns a new token, and the line of the file for its owner.
///
/// # Errors
/// The name is not usable, or the system gives no random bytes.
pub(crate) fn new_token(name: &str, is_admin: bool) -> Result<(String, String)> {
    ensure!(
        !name.is_empty() && !name.starts_with('#') && !name.contains(char::is_whitespace),
        "the name of a token must be one word that does not begin with #"
    );
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).context("cannot get random bytes from the system")?;
    let token = hex(&bytes);
    let admin = if is_admin { " admin" } else { "" };
    let line = format!("{name} {SCHEME}{}{admin}", hex(&Sha256::digest(&token)));
    Ok((token, line))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let is_hash = text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let byte = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap_or_default();
    is_hash.then(|| std::array::from_fn(byte))
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
        "the file has no tokens; add one with: codesearch token NAME >> FILE"
    );
    Ok(tokens)
}

fn token(line: &str, each: Quota) -> Result<Token> {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default().to_owned();
    // Any word of a line without a hash may be a token, so the error quotes none.
    let hash = words.next().and_then(|word| unhex(word.strip_prefix(SCHEME)?));
    let hash = hash.with_context(|| {
        format!(
            "after the name, the hash of a token is missing ({SCHEME} and 64 digits); add a new token with: codesearch \
             token NAME >> FILE"
        )
    })?;
    let (mut quota, mut is_admin) = (each, false);
    for word in words {
        if word == "admin" {
            is_admin = true;
            continue;
        }
        let wrong = || {
            format!(
                "\"{word}\" is not a limit; use at-once=N, per-minute=N or mib-per-minute=N, with N a number \
                 from 1 or none, or admin"
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
    Ok(Token { name, hash, quota, is_admin })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_lines() {
        let each = Quota { per_minute: Some(60), ..Quota::default() };
        let hash = |token: &str| format!("{SCHEME}{}", hex(&Sha256::digest(token)));
        let (one, other) = (hash("one"), hash("other"));
        let text = format!(
            "# ours\n\nci {one} at-once=8 per-minute=600\nann {other} admin per-minute=none\n"
        );
        let read = tokens(&text, each).unwrap();
        let quota = |at: usize| (read[at].quota.at_once, read[at].quota.per_minute);
        assert_eq!((quota(0), quota(1)), ((Some(8), Some(600)), (None, None)));
        assert_eq!((read[0].is_admin, read[1].is_admin), (false, true));
        assert_eq!(read[0].hash, <[u8; 32]>::from(Sha256::digest("one")));
        for (wrong, why) in [
            ("", "the file has no tokens"),
            ("ci", "line 1: after the name, the hash"),
            ("ci 0123456789abcdef", "line 1: after the name, the hash"),
            (&one[7..], "the hash of a token is missing"),
            (&format!("ci {one} many=3"), "is not a limit"),
            (&format!("ci {one} at-once=0"), "is not a limit"),
            (&format!("ci {one} at-once"), "is not a limit"),
            (&format!("a {one}\nb {one}"), "line 2: a and b have the same token"),
        ] {
            let error = format!("{:#}", tokens(wrong, each).unwrap_err());
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_new_token_is_that_of_its_line() {
        let (token, line) = new_token("ann", true).unwrap();
        let read = tokens(&line, Quota::default()).unwrap();
        assert_eq!(read[0].hash, <[u8; 32]>::from(Sha256::digest(&token)));
        assert!(read[0].is_admin && token.len() == 32 && !line.contains(&token));
        assert_ne!(new_token("ann", true).unwrap().0, token);
        for name in ["", "#a", "a b"] {
            assert!(new_token(name, false).is_err(), "{name}");
        }
    }
}
