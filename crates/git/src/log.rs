//! The commits that changed a file.

use super::{Commit, Error, MAX_ANSWER, TrackedFile, bounded, is_hash, run};

/// Maximum number of commits shown of a file's history.
pub const MAX_CHANGES: usize = 1000;

/// A commit that changed a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The commit.
    pub commit: Commit,
    /// The path of the file after it.
    pub path: String,
    /// The path before it, if it was different.
    pub renamed_from: Option<String>,
    /// Git's hash of the contents after it; `None` if the commit deleted the file, and for merges.
    pub blob: Option<String>,
}

/// A part of the history of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The changes, the newest first.
    pub changes: Vec<Change>,
    /// Whether there are older changes.
    pub has_more: bool,
}

/// The output format of a commit, before its changes. No commit contains a NUL, so none can fake the end of a field.
const FORMAT: &str = "--format=%x00%H%x00%an%x00%at%x00%s";

impl TrackedFile {
    /// Returns the commits that changed the file, under any name, newest first: up to `most` after the first `skip`. At
    /// most [`MAX_CHANGES`] are reachable.
    ///
    /// # Errors
    /// Git cannot run, or takes too long.
    pub async fn history(&self, skip: usize, most: usize) -> Result<History, Error> {
        let upto = skip.saturating_add(most).min(MAX_CHANGES);
        // Git's own skipping is wrong for renamed files.
        let count = format!("--max-count={}", upto + 1);
        let options = ["log", "-z", "--raw", "--no-abbrev", "--no-show-signature", "--no-mailmap"];
        let mut args = options.to_vec();
        args.extend(["--follow", &count, FORMAT, &self.commit]);
        let answer = run::text_of(self, &args, MAX_ANSWER).await?;
        let mut changes = parse(&answer, &self.path).ok_or(Error::Failed)?;
        let has_more = changes.len() > upto && upto < MAX_CHANGES;
        changes.truncate(upto);
        changes.drain(..skip.min(changes.len()));
        Ok(History { changes, has_more })
    }
}

/// Parses git's output in [`FORMAT`] with `-z --raw`. `path` is the path at the newest commit.
fn parse(answer: &str, path: &str) -> Option<Vec<Change>> {
    let mut fields = answer.split('\0').peekable();
    let mut path = path.to_owned();
    let mut changes = Vec::new();
    while fields.next_if_eq(&"").is_some() {
        let Some(hash) = fields.next() else { break };
        if !is_hash(hash) {
            return None;
        }
        let (author, time, summary) = (fields.next()?, fields.next()?, fields.next()?);
        let commit = Commit {
            hash: hash.to_owned(),
            author: bounded(author).to_owned(),
            time: time.parse().unwrap_or_default(),
            summary: bounded(summary).to_owned(),
        };
        let mut change = Change { commit, path: path.clone(), renamed_from: None, blob: None };
        // `:100644 100644 OLD NEW M`, and the path; or R100, and two paths.
        while let Some(told) = fields.next_if(|field| field.trim_start().starts_with(':')) {
            let told: Vec<&str> = told.split_whitespace().collect();
            let (new, kind) = (*told.get(3)?, *told.get(4)?);
            let before = fields.next()?;
            let is_renamed = kind.starts_with(['R', 'C']);
            if is_renamed {
                fields.next()?;
            }
            change.blob = (new.bytes().any(|byte| byte != b'0')).then(|| new.to_owned());
            if is_renamed && before != path {
                before.clone_into(&mut path);
                change.renamed_from = Some(path.clone());
            }
        }
        changes.push(change);
    }
    Some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_followed_over_names() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|letter| letter.repeat(40));
        let none = "0".repeat(40);
        let raw = |old: &str, new: &str, kind: &str| format!("\n:100644 100644 {old} {new} {kind}");
        let answer = [
            "",
            &a,
            "Ann",
            "9",
            "Third",
            &raw(&c, &d, "M"),
            "g h",
            "",
            &b,
            "",
            "8",
            "",
            "",
            &c,
            "Bo",
            "7",
            "Moved",
            &raw(&c, &c, "R100"),
            "f",
            "g h",
            "",
            &d,
            "Bo",
            "x",
            "First",
            &raw(&none, &c, "A"),
            "f",
            "",
        ]
        .join("\0");
        let changes = parse(&answer, "g h").unwrap();
        let told: Vec<_> = changes
            .iter()
            .map(|one| {
                let blob = one.blob.as_deref().map(|blob| &blob[..1]);
                (&*one.commit.summary, &*one.path, one.renamed_from.as_deref(), blob)
            })
            .collect();
        assert_eq!(
            told,
            [
                ("Third", "g h", None, Some("d")),
                ("", "g h", None, None),
                ("Moved", "g h", Some("f"), Some("c")),
                ("First", "f", None, Some("c")),
            ]
        );
        assert_eq!(parse("", "f"), Some(Vec::new()));
        assert_eq!(parse("\0fatal", "f"), None);
    }
}
