//! The token file, which is read again when it has changed.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::quota::Quota;
use super::token::{Rights, Token, hash_of};

/// Largest file of tokens, in bytes: some ten thousand lines.
const MAX_FILE: u64 = 4 << 20;

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
        let token = Token::of_line(line, each)?;
        if let Some(twice) = self.tokens.iter().find(|known| known.hash == token.hash) {
            bail!("{} and {} have the same token", twice.name, token.name);
        }
        self.tokens.push(token);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    /// Returns the word of a line with the hash of a token.
    fn hash(token: &str) -> String {
        Sha256::digest(token)
            .iter()
            .fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
    }

    #[test]
    fn what_is_wrong_in_one_line_leaves_the_others() {
        let (one, two, three) = (hash("one"), hash("two"), hash("three"));
        let text =
            format!("\u{feff}a {one}\r\n#{three}\nb {two} at-onec=3 admin\nc {}\n", &three[..47]);
        let lines = Lines::of(&text, Quota::default());
        assert_eq!(lines.tokens.iter().map(|token| &*token.name).collect::<Vec<_>>(), ["a"]);
        // The second token is kept, still as admin; the line of the third is gone.
        let admin = Rights { is_admin: true, ..Rights::default() };
        assert_eq!(lines.held, [(Sha256::digest("two").into(), admin)]);
        assert_eq!(lines.wrong.len(), 2);
    }

    #[test]
    fn a_file_has_tokens_and_each_once() {
        let one = hash("one");
        for (wrong, why) in [
            ("", "the file has no tokens"),
            ("# ours\n", "the file has no tokens"),
            ("\nci\n", "line 2: after the name, the hash"),
            (&format!("a {one}\nb {one}"), "line 2: a and b have the same token"),
            (&format!("a {one} expires=soon"), "line 1: \"soon\" is not a time"),
        ] {
            let lines = Lines::of(wrong, Quota::default());
            assert!(lines.wrong[0].contains(why), "{wrong}: {:?}", lines.wrong);
        }
    }

    #[test]
    fn a_changed_file_counts_when_two_looks_find_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        let line = |token: &str| format!("x {}\n", hash(token));
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
}
