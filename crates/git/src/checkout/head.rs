//! Finds the checked-out commit.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::{GitData, MAX_SMALL, Trust, Unread};
use files::SkipReason;
use files::beneath;

/// Maximum size of `packed-refs`, which is read line by line: a line of about 70 bytes for each branch and tag.
const MAX_PACKED: u64 = 1 << 30;

/// Maximum number of bytes of the name of a branch.
const MAX_NAME: usize = 1000;

impl GitData {
    /// Returns the checked-out commit; `None` if there is none, or `HEAD` does not name one.
    ///
    /// # Errors
    /// The file whose reading is not allowed, or fails.
    pub fn commit(&self, trust: &mut Trust) -> Result<Option<String>, Unread> {
        let Some(head) = self.read(&self.own, "HEAD", MAX_SMALL, trust)? else { return Ok(None) };
        let Some(name) = head.trim_ascii().strip_prefix(b"ref: ") else { return Ok(hash(&head)) };
        let Some(name) = branch(name) else { return Ok(None) };
        if let Some(commit) = self.read(&self.common, name, MAX_SMALL, trust)? {
            return Ok(hash(&commit));
        }
        let Some(path) = self.resolve(&self.common, "packed-refs", trust)? else { return Ok(None) };
        match packed(&path, name) {
            Ok(commit) => Ok(commit),
            Err(reason) => Err(Unread { path: self.shown(&self.common, "packed-refs"), reason }),
        }
    }
}

impl GitData {
    /// Returns the name of the checked-out branch, without `refs/heads/`; `None` if a commit is checked out, or the
    /// name is not one that git allows.
    ///
    /// # Errors
    /// The file whose reading is not allowed, or fails.
    pub fn branch(&self, trust: &mut Trust) -> Result<Option<String>, Unread> {
        let head = self.read(&self.own, "HEAD", MAX_SMALL, trust)?.unwrap_or_default();
        let name = head.trim_ascii().strip_prefix(b"ref: ").and_then(branch);
        Ok(name.and_then(|name| name.strip_prefix("refs/heads/")).map(str::to_owned))
    }
}

/// Returns the name of a branch, if git allows it.
fn branch(name: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(name.trim_ascii()).ok().filter(|name| name.len() <= MAX_NAME)?;
    let is_plain =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(char::is_control);
    (name.starts_with("refs/") && name.split('/').all(is_plain)).then_some(name)
}

/// Returns a hash in hexadecimal, if the text is just that.
fn hash(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text.trim_ascii()).ok()?;
    let is_hash =
        matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| text.to_owned())
}

/// Finds a branch in `packed-refs`.
fn packed(path: &Path, name: &str) -> Result<Option<String>, SkipReason> {
    let mut file = BufReader::new(beneath::file(path)?.take(MAX_PACKED));
    let mut line = Vec::new();
    loop {
        line.clear();
        // If the line is longer, the rest is not one of git's lines either.
        let read = (&mut file).take(MAX_SMALL).read_until(b'\n', &mut line);
        if read.map_err(|error| beneath::reason(&error))? == 0 {
            return Ok(None);
        }
        let mut words = line.trim_ascii().splitn(2, |byte| *byte == b' ');
        if let (Some(commit), Some(found)) = (words.next(), words.next())
            && found == name.as_bytes()
        {
            return Ok(hash(commit));
        }
    }
}
