//! How near a file is to the place from which is asked.

use std::collections::HashSet;

use super::place::{Error, Place};
use crate::search::Searcher;
use crate::search::rank::is_import;

/// Lines at the beginning of a file in which imports are looked for.
const IMPORT_LINES: usize = 400;

/// How near a file is, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Near {
    /// It is the same file.
    File,
    /// It is in the same folder.
    Folder,
    /// It is in the same repository, and an import of the place names it.
    ImportedHere,
    /// It is in the same repository.
    Repository,
    /// It is in another repository, and an import of the place names it.
    Imported,
    /// It is somewhere else, or nobody says from where is asked.
    Elsewhere,
}

impl Near {
    /// Returns its name: `file`, `folder`, `import`, `repository` or `elsewhere`.
    pub fn word(self) -> &'static str {
        match self {
            Near::File => "file",
            Near::Folder => "folder",
            Near::ImportedHere | Near::Imported => "import",
            Near::Repository => "repository",
            Near::Elsewhere => "elsewhere",
        }
    }
}

/// The place from which is asked, with what its file says.
pub(super) struct Origin {
    pub(super) place: Place,
    pub(super) language: Option<String>,
    /// The words of its imports, in small letters.
    imports: HashSet<String>,
}

impl Searcher {
    /// Reads a place: `repository/path:line`, where the line may be left out.
    ///
    /// # Errors
    /// There is no such file, or the database cannot be asked.
    pub async fn place(&self, text: &str) -> Result<Place, Error> {
        let text = text.trim();
        let (file, line) = match text.rsplit_once(':') {
            Some((file, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) => {
                (file, line.parse().ok())
            }
            _ => (text, None),
        };
        let tree = self.tree().await?;
        // Names of repositories hold slashes, too.
        let places = file.match_indices('/').map(|(at, _)| (&file[..at], &file[at + 1..]));
        let found = places.rev().find(|(repo, path)| tree.file(repo, path).is_some());
        let Some((repo, path)) = found else { return Err(Error::NoFile(file.to_owned())) };
        Ok(Place { repo: repo.to_owned(), path: path.to_owned(), line })
    }

    /// Reads the file of a place.
    pub(super) async fn origin(&self, place: &Place) -> Result<Origin, Error> {
        let found = self.file_text(&place.repo, &place.path).await?;
        let Some(file) = found else {
            return Err(Error::NoFile(format!("{}/{}", place.repo, place.path)));
        };
        let imports = imports(&file.text);
        Ok(Origin { place: place.clone(), language: file.language, imports })
    }
}

/// Returns the words of the imports in a text.
fn imports(text: &str) -> HashSet<String> {
    let mut words = HashSet::new();
    // Of a list in parentheses, as Go has it, each line is one.
    let mut within = false;
    for line in text.lines().take(IMPORT_LINES) {
        let begins = is_import(line);
        if begins || within {
            let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            let some = line.split(|c| !is_word(c)).filter(|word| word.len() > 1);
            words.extend(some.map(str::to_lowercase));
        }
        let opens = line.trim_end().ends_with(['(', '{', ',']);
        let closes = line.contains([')', '}', ';']);
        within = (begins && opens || within) && !closes;
    }
    words
}

impl Origin {
    /// Returns how near a file is.
    pub(super) fn near(&self, repo: &str, path: &str) -> Near {
        let folder = |path: &str| path.rfind('/').map_or(String::new(), |at| path[..at].to_owned());
        let here = repo == self.place.repo;
        if here && path == self.place.path {
            return Near::File;
        }
        if here && folder(path) == folder(&self.place.path) {
            return Near::Folder;
        }
        match (here, self.imports(repo, path)) {
            (true, true) => Near::ImportedHere,
            (true, false) => Near::Repository,
            (false, true) => Near::Imported,
            (false, false) => Near::Elsewhere,
        }
    }

    /// Returns whether its imports name a file: by its own name, or its folder's, or that of the repository it is at the
    /// top of.
    fn imports(&self, repo: &str, path: &str) -> bool {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.split('.').next().unwrap_or(name);
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_lowercase();
        let general = ["mod", "lib", "index", "main", "__init__", "src", "types", "util", "utils"];
        let folder =
            if folders.is_empty() || last(folders) == "src" { last(repo) } else { last(folders) };
        [stem.to_lowercase(), folder]
            .iter()
            .any(|word| !general.contains(&word.as_str()) && self.imports.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_imported_is_near() {
        let text =
            "package main\n\nimport (\n\t\"fmt\"\n\t\"example.com/x/harbor\"\n)\n\nvar other = 1\n";
        let place = Place { repo: "h/one".to_owned(), path: "cmd/main.go".to_owned(), line: None };
        let origin = Origin { place, language: None, imports: imports(text) };
        for (repo, path, expected) in [
            ("h/one", "cmd/main.go", Near::File),
            ("h/one", "cmd/other.go", Near::Folder),
            ("h/one", "harbor/ship.go", Near::ImportedHere),
            ("h/one", "other/ship.go", Near::Repository),
            ("h/harbor", "ship.go", Near::Imported),
            ("h/two", "harbor.go", Near::Imported),
            ("h/two", "other.go", Near::Elsewhere),
        ] {
            assert_eq!(origin.near(repo, path), expected, "{repo} {path}");
        }
    }
}
