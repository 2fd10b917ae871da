//! A line of the token file: a person or a program that may use the server, and its limits if these differ from the
//! defaults. The file holds only hashes, so its contents give no access.

use std::sync::Arc;

use access::{Named, check_glob};
use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};

use super::named::named;
use super::quota::Quota;

/// Bytes of a generated token: too many to guess.
const TOKEN_BYTES: usize = 16;

/// Prefix of the hash of a token, which follows in hexadecimal digits.
const SCHEME: &str = "sha256:";

/// A token of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The name that begins its line.
    pub name: String,
    /// Its SHA-256.
    pub hash: [u8; 32],
    pub quota: Quota,
    pub rights: Rights,
    /// Whoever sends it.
    pub owner: Arc<Named>,
    /// When it ends; `None` for never.
    pub expires: Option<Timestamp>,
}

impl Token {
    /// Returns whether it has ended.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|end| end <= now)
    }
}

/// The rights of a client besides searching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Whether its owner may see what others search for, and has the other rights.
    pub is_admin: bool,
    /// Whether its owner may have repositories ingested.
    pub may_ingest: bool,
}

impl Rights {
    /// Returns the rights that words of a line grant.
    pub(super) fn of<'w>(words: impl Iterator<Item = &'w str>) -> Self {
        let mut rights = Self::default();
        for word in words {
            rights.grant(word);
        }
        rights
    }

    /// Grants the right of a word; returns whether the word is one.
    fn grant(&mut self, word: &str) -> bool {
        match word {
            "admin" => self.is_admin = true,
            "ingest" => self.may_ingest = true,
            // Every token has it.
            "search" => {}
            _ => return false,
        }
        true
    }

    /// Returns the rights that both have.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            is_admin: self.is_admin && other.is_admin,
            may_ingest: self.may_ingest && other.may_ingest,
        }
    }
}

/// Returns a new token, and the line of the token file for its owner: the name, the hash and `words`, such as
/// `user=ann` and `admin`.
///
/// # Errors
/// The name or a word is invalid, or the system provides no random bytes.
pub fn new_token(name: &str, words: &[String]) -> Result<(String, String)> {
    ensure!(
        !name.is_empty() && !name.starts_with('#') && !name.contains(char::is_whitespace),
        "the name of a token must be one word that does not begin with #"
    );
    if let Some(wrong) = words.iter().find(|word| word.contains(char::is_whitespace)) {
        bail!(
            "\"{wrong}\" has a space, which separates the words of a line; use names without spaces"
        );
    }
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).context("cannot get random bytes from the system")?;
    let token = hex(&bytes);
    let mut line = format!("{name} {SCHEME}{}", hex(&Sha256::digest(&token)));
    for word in words {
        line.push(' ');
        line.push_str(word);
    }
    Token::of_line(&line, Quota::default())?;
    Ok((token, line))
}

/// Returns bytes in hexadecimal, with lowercase letters.
pub(super) fn hex(bytes: &[u8]) -> String {
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

/// Returns the hash in a word of a line.
pub(super) fn hash_of(word: &str) -> Option<[u8; 32]> {
    unhex(word.strip_prefix(SCHEME)?)
}

/// Reads the end of a token: the end of a day in UTC, or a time.
///
/// # Errors
/// A sentence that says what to write.
fn end_of(text: &str) -> Result<Timestamp> {
    let day = || text.parse::<Date>().ok().filter(|_| text.len() == 10)?.tomorrow().ok();
    let end = match day() {
        Some(next) => next.to_zoned(TimeZone::UTC).ok().map(|end| end.timestamp()),
        None => text.parse::<Timestamp>().ok(),
    };
    end.with_context(|| {
        format!("\"{text}\" is not a time; use expires=2027-01-31 or expires=2027-01-31T12:00:00Z")
    })
}

impl Token {
    /// Reads a line; `each` are the limits that apply where it gives none.
    ///
    /// # Errors
    /// A sentence about the first mistake, without any text that may be a token.
    pub(super) fn of_line(line: &str, each: Quota) -> Result<Self> {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default().to_owned();
        // Any word of a line without a hash may be a token, so the error quotes none.
        let hash = words.next().and_then(hash_of);
        let hash = hash.with_context(|| {
            format!(
                "after the name, the hash of a token is missing ({SCHEME} and 64 digits); to add a token, run: \
                 codesearch token NAME >> FILE"
            )
        })?;
        let (mut quota, mut rights, mut expires) = (each, Rights::default(), None);
        let (mut user, mut groups, mut repos) = (name.clone(), Vec::new(), Vec::new());
        for word in words {
            if rights.grant(word) {
                continue;
            }
            let wrong = || {
                format!(
                    "\"{word}\" is not a limit; use at-once=N, per-minute=N or mib-per-minute=N, where N is none or a \
                     number from 1, or admin or ingest, or user=NAME, groups=NAME,..., repos=GLOB,... or \
                     expires=YYYY-MM-DD"
                )
            };
            let (what, value) = word.split_once('=').with_context(wrong)?;
            let list = || value.split(',').filter(|one| !one.is_empty()).map(str::to_owned);
            match what {
                "user" => value.clone_into(&mut user),
                "groups" => groups.extend(list()),
                "repos" => {
                    // None would be all.
                    ensure!(
                        list().next().is_some(),
                        "repos= has no glob; write repos=GLOB,... or leave it out"
                    );
                    repos.extend(list());
                }
                "expires" => expires = Some(end_of(value)?),
                "at-once" | "per-minute" | "mib-per-minute" => {
                    let most = match value {
                        "none" => None,
                        most => {
                            let most = most.parse::<u32>().ok().filter(|most| *most > 0);
                            Some(most.with_context(wrong)?)
                        }
                    };
                    match what {
                        "at-once" => quota.at_once = most,
                        "per-minute" => quota.per_minute = most,
                        _ => quota.mib_per_minute = most,
                    }
                }
                _ => bail!(wrong()),
            }
        }
        if let Some(why) = repos.iter().find_map(|glob| check_glob(glob).err()) {
            bail!("repos= has a glob that is invalid: {why}");
        }
        let owner = named(&user, groups, repos).map_err(anyhow::Error::msg)?;
        Ok(Self { name, hash, quota, rights, owner: Arc::new(owner), expires })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(token: &str) -> String {
        format!("{SCHEME}{}", hex(&Sha256::digest(token)))
    }

    fn read(line: &str) -> Result<Token, String> {
        Token::of_line(line, Quota { per_minute: Some(60), ..Quota::default() })
            .map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_token_is_a_line() {
        let (one, other) = (hash("one"), hash("other"));
        let ci = read(&format!("ci {one} at-once=8 ingest per-minute=600")).unwrap();
        let ann = read(&format!("ann {other} admin search per-minute=none")).unwrap();
        assert_eq!((ci.quota.at_once, ci.quota.per_minute), (Some(8), Some(600)));
        assert_eq!((ann.quota.at_once, ann.quota.per_minute), (None, None));
        let rights = |token: &Token| (token.rights.is_admin, token.rights.may_ingest);
        assert_eq!((rights(&ci), rights(&ann)), ((false, true), (true, false)));
        assert_eq!(ci.hash, <[u8; 32]>::from(Sha256::digest("one")));
        assert_eq!((&*ci.owner.name, ci.owner.groups.len(), ci.expires), ("ci", 0, None));
        for (wrong, why) in [
            ("ci", "after the name, the hash"),
            ("ci 0123456789abcdef", "after the name, the hash"),
            (&one[7..], "the hash of a token is missing"),
            (&format!("ci {one} many=3"), "is not a limit"),
            (&format!("ci {one} at-once=0"), "is not a limit"),
            (&format!("ci {one} at-once"), "is not a limit"),
            (&format!("ci {one} repos=,"), "repos= has no glob"),
            (&format!("ci {one} repos=a["), "repos= has a glob that is invalid"),
            (&format!("ci {one} user="), "is empty"),
            (&format!("ci {one} expires=tomorrow"), "is not a time"),
            (&format!("ci {one} expires=2027-02-30"), "is not a time"),
            (&format!("ci {one} expires=2027-01-31T12:00:00"), "is not a time"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_line_says_for_whom_and_until_when() {
        let one = hash("one");
        let token = read(&format!(
            "ci {one} user=ann groups=team-b,team-a,team-b repos=shop/*,x/** expires=2027-01-31"
        ));
        let token = token.unwrap();
        assert_eq!((&*token.name, &*token.owner.name), ("ci", "ann"));
        assert_eq!(token.owner.groups, ["team-a", "team-b"]);
        assert_eq!(token.owner.repos, ["shop/*", "x/**"]);
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        // The day itself counts.
        assert!(!token.is_expired(at("2027-01-31T23:59:59Z")));
        assert!(token.is_expired(at("2027-02-01T00:00:00Z")));
        let token = read(&format!("ci {one} expires=2027-01-31T12:00:00+02:00")).unwrap();
        assert_eq!(token.expires, Some(at("2027-01-31T10:00:00Z")));
    }

    #[test]
    fn a_new_token_is_that_of_its_line() {
        let words = ["user=ann", "admin", "ingest"].map(str::to_owned);
        let (token, line) = new_token("ann-1", &words).unwrap();
        let read = read(&line).unwrap();
        assert_eq!(read.hash, <[u8; 32]>::from(Sha256::digest(&token)));
        assert_eq!(read.rights, Rights { is_admin: true, may_ingest: true });
        assert!(token.len() == 32 && !line.contains(&token));
        assert_ne!(new_token("ann", &words).unwrap().0, token);
        for name in ["", "#a", "a b"] {
            assert!(new_token(name, &[]).is_err(), "{name}");
        }
        for word in ["user=a b", "expires=never", "groups=a\nroot"] {
            assert!(new_token("ann", &[word.to_owned()]).is_err(), "{word}");
        }
    }
}
