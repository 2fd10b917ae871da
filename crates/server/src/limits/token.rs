//! The token file: the people and programs that may use the server, and their limits if these differ from the defaults.
//! The file holds only hashes, so its contents give no access.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use super::quota::Quota;

/// Bytes of a generated token: too many to guess.
const TOKEN_BYTES: usize = 16;

/// Prefix of the hash of a token, which follows in hexadecimal digits.
const SCHEME: &str = "sha256:";

/// Largest file of tokens, in bytes: some ten thousand lines.
const MAX_FILE: u64 = 1 << 20;

/// A token of the file: its owner, its SHA-256, and its owner's limits.
#[derive(Debug, PartialEq, Eq)]
pub struct Token {
    pub name: String,
    pub hash: [u8; 32],
    pub quota: Quota,
    pub rights: Rights,
}

/// The rights of a token besides searching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Whether its owner may see what others search for, and has the other rights.
    pub is_admin: bool,
    /// Whether its owner may have repositories ingested.
    pub may_ingest: bool,
}

impl Rights {
    /// Returns the rights that words of a line grant.
    fn of<'w>(words: impl Iterator<Item = &'w str>) -> Self {
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

/// A token file, and its contents when last read.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    /// The limits that apply where a line gives none.
    each: Quota,
    /// The contents at the last look.
    seen: Option<Found>,
    /// The contents from which the tokens in use were read.
    used: Option<Found>,
}

/// The result of looking at the file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    Text(String),
    /// There is no such file, so there are no tokens.
    Nothing(String),
    /// The file cannot be read, so its tokens are unknown.
    Unreadable(String),
}

/// A changed token file.
#[derive(Debug, Default)]
pub struct TokenChange {
    /// Its tokens; `None` if it cannot be read.
    pub tokens: Option<Vec<Token>>,
    /// The hashes on invalid lines, each with the rights that the line names: their tokens are neither granted nor
    /// revoked.
    pub held: Vec<([u8; 32], Rights)>,
    /// The errors in the file, without any text that may be a token.
    pub wrong: Option<String>,
}

impl TokenFile {
    /// Makes a token file with `each` as the default limits. Does not read the file.
    pub fn new(path: &Path, each: Quota) -> Self {
        Self { path: path.to_owned(), each, seen: None, used: None }
    }

    /// Reads the file. Each line has a name, the hash of its token, and the limits that differ from the defaults.
    ///
    /// # Errors
    /// The file cannot be read, or a line of it is invalid.
    pub fn read(&mut self) -> Result<Vec<Token>> {
        let path = self.path.display();
        let found = found(&self.path);
        self.used = Some(found.clone());
        let text = match found {
            Found::Text(text) => text,
            Found::Nothing(why) | Found::Unreadable(why) => {
                bail!("cannot read the tokens in {path}: {why}")
            }
        };
        let lines = Lines::of(&text, self.each);
        match lines.wrong.into_iter().next() {
            Some(wrong) => bail!("cannot use the tokens in {path}: {wrong}"),
            None => Ok(lines.tokens),
        }
    }

    /// Looks at the file again; returns the change if the file differs from the one in use. A change counts when two
    /// looks see the same contents, since an editor may empty a file before it writes it.
    ///
    /// The contents are compared, not the times: a change within a tick of the clock would be missed.
    pub fn look(&mut self) -> Option<TokenChange> {
        let found = found(&self.path);
        let is_settled = self.seen.as_ref() == Some(&found);
        self.seen = Some(found.clone());
        if !is_settled || self.used.as_ref() == Some(&found) {
            return None;
        }
        self.used = Some(found.clone());
        Some(match found {
            Found::Text(text) => {
                let Lines { tokens, held, wrong } = Lines::of(&text, self.each);
                let wrong = (!wrong.is_empty()).then(|| wrong.join("; "));
                TokenChange { tokens: Some(tokens), held, wrong }
            }
            Found::Nothing(why) => {
                TokenChange { tokens: Some(Vec::new()), held: Vec::new(), wrong: Some(why) }
            }
            Found::Unreadable(why) => TokenChange { wrong: Some(why), ..TokenChange::default() },
        })
    }
}

/// Reads a file.
fn found(path: &Path) -> Found {
    let told = match std::fs::metadata(path) {
        Ok(told) => told,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Found::Nothing(error.to_string());
        }
        Err(error) => return Found::Unreadable(error.to_string()),
    };
    // Opening a pipe would block.
    if !told.is_file() {
        return Found::Nothing("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) if bytes.len() as u64 > MAX_FILE => {
            Found::Unreadable(format!("it is larger than {MAX_FILE} bytes"))
        }
        Ok(_) => Found::Text(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Found::Unreadable(error.to_string()),
    }
}

/// Returns a new token, and the line of the token file for its owner.
///
/// # Errors
/// The name is invalid, or the system provides no random bytes.
pub fn new_token(name: &str, rights: Rights) -> Result<(String, String)> {
    ensure!(
        !name.is_empty() && !name.starts_with('#') && !name.contains(char::is_whitespace),
        "the name of a token must be one word that does not begin with #"
    );
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).context("cannot get random bytes from the system")?;
    let token = hex(&bytes);
    let words = [(rights.is_admin, " admin"), (rights.may_ingest, " ingest")];
    let words: String = words.iter().filter(|(has, _)| *has).map(|(_, word)| *word).collect();
    let line = format!("{name} {SCHEME}{}{words}", hex(&Sha256::digest(&token)));
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

/// The lines of a token file.
#[derive(Debug, Default)]
struct Lines {
    tokens: Vec<Token>,
    /// As in [`TokenChange`].
    held: Vec<([u8; 32], Rights)>,
    /// The errors, a sentence for each line.
    wrong: Vec<String>,
}

impl Lines {
    fn of(text: &str, each: Quota) -> Self {
        let mut lines = Self::default();
        for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Err(error) = lines.add(line, each) {
                lines.wrong.push(format!("line {}: {error:#}", at + 1));
                let rights = Rights::of(line.split_whitespace().skip(1));
                let hashes = line.split_whitespace().filter_map(hash_of);
                lines.held.extend(hashes.map(|hash| (hash, rights)));
            }
        }
        if lines.tokens.is_empty() && lines.wrong.is_empty() {
            let wrong = "the file has no tokens; to add one, run: codesearch token NAME >> FILE";
            lines.wrong.push(wrong.to_owned());
        }
        lines
    }

    fn add(&mut self, line: &str, each: Quota) -> Result<()> {
        let token = token(line, each)?;
        if let Some(twice) = self.tokens.iter().find(|known| known.hash == token.hash) {
            bail!("{} and {} have the same token", twice.name, token.name);
        }
        self.tokens.push(token);
        Ok(())
    }
}

/// Returns the hash in a word of a line.
fn hash_of(word: &str) -> Option<[u8; 32]> {
    unhex(word.strip_prefix(SCHEME)?)
}

fn token(line: &str, each: Quota) -> Result<Token> {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default().to_owned();
    // Any word of a line without a hash may be a token, so the error quotes none.
    let hash = words.next().and_then(hash_of);
    let hash = hash.with_context(|| {
        format!(
            "after the name, the hash of a token is missing ({SCHEME} and 64 digits); to add a token, run: codesearch \
             token NAME >> FILE"
        )
    })?;
    let (mut quota, mut rights) = (each, Rights::default());
    for word in words {
        if rights.grant(word) {
            continue;
        }
        let wrong = || {
            format!(
                "\"{word}\" is not a limit; use at-once=N, per-minute=N or mib-per-minute=N, where N is none or a \
                 number from 1, or admin or ingest"
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
    Ok(Token { name, hash, quota, rights })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tokens of a text, or its first error.
    fn tokens(text: &str, each: Quota) -> Result<Vec<Token>, String> {
        let lines = Lines::of(text, each);
        lines.wrong.into_iter().next().map_or(Ok(lines.tokens), Err)
    }

    #[test]
    fn what_is_wrong_in_one_line_leaves_the_others() {
        let hash = |token: &str| hex(&Sha256::digest(token));
        let (one, two, three) = (hash("one"), hash("two"), hash("three"));
        let text = format!(
            "\u{feff}a sha256:{one}\r\n#sha256:{three}\nb sha256:{two} at-onec=3 admin\nc sha256:{}\n",
            &three[..40]
        );
        let lines = Lines::of(&text, Quota::default());
        assert_eq!(lines.tokens.iter().map(|token| &*token.name).collect::<Vec<_>>(), ["a"]);
        // The second token is kept, still as admin; the line of the third is gone.
        let admin = Rights { is_admin: true, ..Rights::default() };
        assert_eq!(lines.held, [(Sha256::digest("two").into(), admin)]);
        assert_eq!(lines.wrong.len(), 2);
    }

    #[test]
    fn a_changed_file_counts_when_two_looks_find_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        let line = |token: &str| format!("x {SCHEME}{}\n", hex(&Sha256::digest(token)));
        std::fs::write(&path, line("one") + &line("two")).unwrap();
        let mut file = TokenFile::new(&path, Quota::default());
        assert_eq!(file.read().unwrap().len(), 2);
        let looked = |file: &mut TokenFile| {
            assert!(file.look().is_none());
            let change = file.look()?;
            assert!(file.look().is_none());
            Some((change.tokens.map(|tokens| tokens.len()), change.wrong.is_some()))
        };
        assert_eq!(looked(&mut file), None);
        // An editor empties the file before it writes it.
        std::fs::write(&path, "").unwrap();
        assert!(file.look().is_none());
        // The same number of bytes, perhaps at the same time.
        std::fs::write(&path, line("one") + &line("six")).unwrap();
        assert_eq!(looked(&mut file), Some((Some(2), false)));
        std::fs::write(&path, line("one")).unwrap();
        assert_eq!(looked(&mut file), Some((Some(1), false)));
        std::fs::write(&path, "# nobody\n").unwrap();
        assert_eq!(looked(&mut file), Some((Some(0), true)));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(looked(&mut file), Some((Some(0), true)));
        std::fs::create_dir(&path).unwrap();
        assert_eq!(looked(&mut file), Some((Some(0), true)));
        std::fs::remove_dir(&path).unwrap();
        // A link to itself cannot be read, like a file without permissions, which root could read.
        std::os::unix::fs::symlink(&path, &path).unwrap();
        assert_eq!(looked(&mut file), Some((None, true)));
        std::fs::remove_file(&path).unwrap();
        std::fs::write(folder.path().join("other"), line("two")).unwrap();
        std::os::unix::fs::symlink("other", &path).unwrap();
        assert_eq!(looked(&mut file), Some((Some(1), false)));
    }

    #[test]
    fn tokens_are_lines() {
        let each = Quota { per_minute: Some(60), ..Quota::default() };
        let hash = |token: &str| format!("{SCHEME}{}", hex(&Sha256::digest(token)));
        let (one, other) = (hash("one"), hash("other"));
        let text = format!(
            "# ours\n\nci {one} at-once=8 ingest per-minute=600\nann {other} admin per-minute=none\n"
        );
        let read = tokens(&text, each).unwrap();
        let quota = |at: usize| (read[at].quota.at_once, read[at].quota.per_minute);
        assert_eq!((quota(0), quota(1)), ((Some(8), Some(600)), (None, None)));
        let rights = |at: usize| (read[at].rights.is_admin, read[at].rights.may_ingest);
        assert_eq!((rights(0), rights(1)), ((false, true), (true, false)));
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
            let error = tokens(wrong, each).unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_new_token_is_that_of_its_line() {
        let all = Rights { is_admin: true, may_ingest: true };
        let (token, line) = new_token("ann", all).unwrap();
        let read = tokens(&line, Quota::default()).unwrap();
        assert_eq!(read[0].hash, <[u8; 32]>::from(Sha256::digest(&token)));
        assert_eq!(read[0].rights, all);
        assert!(token.len() == 32 && !line.contains(&token));
        assert_ne!(new_token("ann", all).unwrap().0, token);
        for name in ["", "#a", "a b"] {
            assert!(new_token(name, Rights::default()).is_err(), "{name}");
        }
    }
}
