//! How near a file is to the request's place.

use futures_util::future::BoxFuture;
use std::collections::HashSet;
use std::ops::Range;

use store::{BlobId, RepoId, ShardId};

use super::place::{Error, Place};
use browse::{file_text, why_left_out};
use rank::is_import;
use search::View;

/// Lines at the beginning of a file that are searched for imports.
const IMPORT_LINES: usize = 400;

/// How near a file is, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Near {
    /// It is the same file.
    File,
    /// It is in the same folder.
    Folder,
    /// It is in the same repository, and an import in the place's file names it.
    ImportedHere,
    /// It is in the same repository.
    Repository,
    /// It is in another repository, and an import in the place's file names it.
    Imported,
    /// It is somewhere else, or the request has no place.
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

/// The request's place, with the contents of its file.
pub(super) struct Origin {
    pub(super) place: Place,
    pub(super) language: Option<String>,
    pub(super) text: String,
    pub(super) repo: RepoId,
    pub(super) blob: (ShardId, BlobId),
    /// The words of the file's imports, in lowercase.
    imports: HashSet<String>,
}

/// Reads a place: `repository/path:line:column`, where column and line may be left out.
///
/// # Errors
/// There is no such file, or the database cannot be asked.
pub fn place<'a>(view: &'a View, text: &'a str) -> BoxFuture<'a, Result<Place, Error>> {
    Box::pin(async move {
        let text = text.trim();
        let (file, line, column) = Place::split(text);
        let tree = view.tree().await?;
        // Names of repositories contain slashes, too.
        let places = file.match_indices('/').map(|(at, _)| (&file[..at], &file[at + 1..]));
        let mut found = None;
        for (repo, path) in places.clone().rev() {
            if tree.file(repo, path)?.is_some() {
                found = Some((repo, path));
                break;
            }
        }
        let Some((repo, path)) = found else {
            let is_known = |(repo, _): &(&str, &str)| tree.repo(repo).is_some();
            return Err(match places.rev().find(is_known) {
                Some((repo, path)) => no_file(view, repo, path).await,
                None => Error::NoFile(file.to_owned()),
            });
        };
        Ok(Place { line, column, ..Place::file(repo, path) })
    })
}

/// Returns the error for a file that is not in the index, with the reason if it was left out.
pub(super) async fn no_file(view: &View, repo: &str, path: &str) -> Error {
    let file = format!("{repo}/{path}");
    match why_left_out(view, repo, path).await {
        Ok(Some(why)) => Error::LeftOut(file, why),
        Ok(None) => Error::NoFile(file),
        Err(error) => error.into(),
    }
}

/// Reads the file of a place.
pub(super) async fn origin(view: &View, place: &Place) -> Result<Origin, Error> {
    let tree = view.tree().await?;
    let found = file_text(view, &place.repo, &place.path).await?;
    let (Some(file), Some((shard, entry))) = (found, tree.locate(&place.repo, &place.path)?) else {
        return Err(no_file(view, &place.repo, &place.path).await);
    };
    let (imports, blob) = (imports(&file.text), (shard.id, entry.blob));
    let (repo, place, language) = (entry.repo, place.clone(), file.language);
    Ok(Origin { place, language, text: file.text, repo, blob, imports })
}

/// Returns the words of the imports in a text.
fn imports(text: &str) -> HashSet<String> {
    let mut words = HashSet::new();
    // Each line of a list in parentheses, as in Go, is an import.
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
    /// Returns the line of the request's place, as a range of the text; `None` if it has no line, or the text is
    /// shorter.
    pub(super) fn line(&self) -> Option<Range<usize>> {
        let wanted = usize::try_from(self.place.line?).ok()?.checked_sub(1)?;
        let mut ends = memchr::memchr_iter(b'\n', self.text.as_bytes()).map(|at| at + 1);
        let start = if wanted == 0 { 0 } else { ends.nth(wanted - 1)? };
        Some(start..ends.next().unwrap_or(self.text.len()))
    }

    /// Returns the byte offset of the request's place; `None` if it has no column, or the line is shorter.
    pub(super) fn byte(&self) -> Option<usize> {
        let (line, column) = (self.line()?, usize::try_from(self.place.column?).ok()?);
        let byte = line.start + column.checked_sub(1)?;
        (byte <= line.end).then(|| self.text.floor_char_boundary(byte))
    }

    /// Returns the name at the request's place.
    pub(super) fn name(&self) -> Option<&str> {
        let byte = self.byte()?;
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let (before, after) = self.text.split_at(byte);
        let start = before.trim_end_matches(is_of_name).len();
        let end = byte + after.find(|c| !is_of_name(c)).unwrap_or(after.len());
        Some(&self.text[start..end]).filter(|name| !name.is_empty())
    }

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

    /// Returns whether the imports name a file: by its own name, its folder's, or its repository's if it is in the root
    /// or in `src`.
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
        let origin = origin(text, None, None);
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

    fn origin(text: &str, line: Option<u64>, column: Option<u64>) -> Origin {
        Origin {
            place: Place { line, column, ..Place::file("h/one", "cmd/main.go") },
            language: None,
            text: text.to_owned(),
            repo: RepoId(1),
            blob: (ShardId(0), BlobId(0)),
            imports: imports(text),
        }
    }

    #[test]
    fn a_name_stands_at_a_line_and_column() {
        let text = "one two\n\nné.drei\n";
        for (line, column, name) in [
            (1, 1, Some("one")),
            (1, 4, Some("one")),
            (1, 5, Some("two")),
            (1, 8, Some("two")),
            (1, 20, None),
            (2, 1, None),
            (3, 3, Some("né")),
            (3, 5, Some("drei")),
            (3, 6, Some("drei")),
            (5, 1, None),
            (0, 1, None),
            (1, 0, None),
        ] {
            assert_eq!(origin(text, Some(line), Some(column)).name(), name, "{line}:{column}");
        }
        assert_eq!(
            (origin(text, Some(1), None).name(), origin(text, None, None).line()),
            (None, None)
        );
        assert_eq!(origin(text, Some(3), None).line(), Some(9..18));
    }
}
