//! The rules that the files of a commit have for each other: what `.ignore` and `.codesearchignore` leave out, and the
//! languages of `.gitattributes`. Ingest applies them alike.

use std::collections::HashMap;

use git::attributes::Attributes;
use git::ignore::{Rules, Verdict};
use git::{BlobReader, Oid};

/// Maximum bytes of a file with rules; that of an ingest.
const MAX_FILE: u64 = 256 << 10;

/// Names of the files that leave out others: the first overrides the second.
const KINDS: [&str; 2] = [".codesearchignore", ".ignore"];

/// The name of files that give languages to others.
const ATTRIBUTES: &str = ".gitattributes";

/// The rules of a commit.
#[derive(Debug, Default)]
pub(crate) struct CommitRules {
    /// For each of the [`KINDS`]: the rules, by folder.
    kinds: [HashMap<String, Rules>; 2],
    attributes: HashMap<String, Attributes>,
}

/// Returns the folder of a path, and the rest.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Returns the folders around a path, the deepest first; the last is empty.
fn around(path: &str) -> impl Iterator<Item = &str> {
    let mut at = Some(path);
    std::iter::from_fn(move || {
        let path = at?;
        if path.is_empty() {
            at = None;
            return None;
        }
        let folder = split(path).0;
        at = Some(folder);
        Some(folder)
    })
}

impl CommitRules {
    /// Reads the rules that are among some files.
    ///
    /// # Errors
    /// A file with rules cannot be read, so that it is unknown what it leaves out.
    pub(crate) fn read(files: &[(Box<str>, Oid)], reader: &BlobReader) -> Result<Self, git::Error> {
        let mut all = Self::default();
        for (path, name) in files {
            let (folder, last) = split(path);
            let kind = KINDS.iter().position(|kind| *kind == last);
            if kind.is_none() && last != ATTRIBUTES {
                continue;
            }
            let Some(text) = reader.read(*name, MAX_FILE)? else { continue };
            match kind {
                Some(kind) => {
                    let rules = Rules::parse(&text, path, folder.as_bytes(), false);
                    all.kinds[kind].insert(folder.to_owned(), rules);
                }
                None => {
                    let attributes = Attributes::parse(&text, folder.as_bytes(), false);
                    all.attributes.insert(folder.to_owned(), attributes);
                }
            }
        }
        Ok(all)
    }

    /// Returns whether a file, or a folder around it, is left out.
    pub(crate) fn exclude(&self, path: &str) -> bool {
        if self.kinds.iter().all(HashMap::is_empty) {
            return false;
        }
        let is_out =
            |path: &str, is_folder| matches!(self.said(path, is_folder), Some(Verdict::LeftOut(_)));
        is_out(path, false) || around(path).any(|folder| !folder.is_empty() && is_out(folder, true))
    }

    fn said(&self, path: &str, is_folder: bool) -> Option<Verdict> {
        self.kinds.iter().find_map(|of_folders| {
            let mut rules = around(path).filter_map(|folder| of_folders.get(folder));
            rules.find_map(|rules| rules.verdict(path.as_bytes(), is_folder))
        })
    }

    /// Returns the language that a file is given, if it is given one.
    pub(crate) fn language(&self, path: &str) -> Option<String> {
        if self.attributes.is_empty() {
            return None;
        }
        let mut all = around(path).filter_map(|folder| self.attributes.get(folder));
        files::language_named(all.find_map(|of| of.language(path.as_bytes()))??)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_around_a_path_end_with_the_root() {
        assert_eq!(around("a/b/c").collect::<Vec<_>>(), ["a/b", "a", ""]);
        assert_eq!(around("c").collect::<Vec<_>>(), [""]);
    }

    #[test]
    fn the_first_kind_and_the_deepest_file_count() {
        let rules = |text: &str, folder: &str| {
            (folder.to_owned(), Rules::parse(text.as_bytes(), "x", folder.as_bytes(), false))
        };
        let all = CommitRules {
            kinds: [
                [rules("!kept.log\n", "")].into(),
                [rules("*.log\n/out/\n", ""), rules("!*.log\n", "sub")].into(),
            ],
            attributes: HashMap::new(),
        };
        for (path, is_out) in [
            ("a.log", true),
            ("kept.log", false),
            ("sub/a.log", false),
            ("out/deep/a.txt", true),
            ("sub/out/a.txt", false),
        ] {
            assert_eq!(all.exclude(path), is_out, "{path}");
        }
    }
}
