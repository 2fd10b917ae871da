//! Scores paths: how well the words name a file, and a penalty for tests, copies and the like.

use super::name::{Name, Share, folded};
use super::words::Word;

/// Names of files that stand for their folder.
const FOLDER_FILES: [&str; 6] = ["mod", "lib", "main", "index", "init", "doc"];

const TEST_FOLDERS: [&str; 10] = [
    "t",
    "test",
    "tests",
    "testing",
    "testdata",
    "spec",
    "specs",
    "__tests__",
    "fixtures",
    "mocks",
];
pub(super) const COPIED_FOLDERS: [&str; 7] =
    ["vendor", "vendored", "node_modules", "third_party", "thirdparty", "3rdparty", "external"];
pub(super) const GENERATED_FOLDERS: [&str; 5] =
    ["dist", "generated", "gen", "autogen", "__generated__"];
pub(super) const SECONDARY_FOLDERS: [&str; 10] = [
    "internal",
    "migrations",
    "example",
    "examples",
    "bench",
    "benches",
    "benchmarks",
    "demo",
    "samples",
    "scripts",
];
pub(super) const GENERATED_SUFFIXES: [&str; 13] = [
    ".pb.go",
    "_pb2.py",
    ".pb.cc",
    ".pb.h",
    ".min.js",
    ".min.css",
    ".map",
    ".lock",
    "-lock.json",
    ".generated.go",
    ".g.dart",
    "_generated.go",
    ".snap",
];
pub(super) const DOCS_SUFFIXES: [&str; 7] =
    [".md", ".rst", ".txt", ".adoc", ".html", ".po", ".svg"];

/// Penalties of files that are not written for people to read.
const TEST: f32 = -70.0;
const COPIED: f32 = -70.0;
const GENERATED: f32 = -160.0;
const DOCS: f32 = -10.0;
/// Penalty of code for internal use, and of examples.
const SECONDARY: f32 = -8.0;
/// Penalty for each folder above the file: files near the root come first.
const DEPTH: f32 = -1.0;
/// The penalty grows up to this depth.
const MAX_DEPTH: usize = 8;

/// The parts of a path.
#[derive(Debug)]
pub(super) struct PathNames {
    /// The last part of the repository's name, then the folders.
    pub(super) folders: Vec<Name>,
    /// The name of the file up to its first dot.
    pub(super) stem: Name,
    /// The whole name, folded.
    base: String,
}

impl PathNames {
    pub(super) fn of(repo: &str, path: &str) -> Self {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let end = name.find('.').filter(|at| *at > 0).unwrap_or(name.len());
        let folders = folders.split('/').filter(|folder| !folder.is_empty()).map(Name::new);
        let repo = repo.rsplit('/').next().filter(|name| !name.is_empty()).map(Name::new);
        Self {
            folders: repo.into_iter().chain(folders).collect(),
            stem: Name::new(&name[..end]),
            base: folded(name),
        }
    }

    /// Returns how well a word of a query names the file, from 0 to 1. `window-copy.c` names it completely.
    pub(super) fn called_by(&self, word: &Word) -> f32 {
        if self.base == word.text { 1.0 } else { self.called(&word.folded) }
    }

    /// Returns whether the term of a word is the name of the file with its extension.
    pub(super) fn is_whole(&self, word: &Word) -> bool {
        self.base == word.text && self.base != self.stem.folded
    }

    /// Returns the same for a folded word, which may be the name, a part of it, the extension, or a folder.
    pub(super) fn called(&self, word: &str) -> f32 {
        let stem = self.stem.share(word).map_or(0.0, |share| match share {
            Share::Whole => 1.0,
            Share::Parts => 0.5,
            Share::Start => 0.3,
            Share::Inside => 0.15,
        });
        let folder = |name: &Name| {
            name.share(word).map_or(0.0, |share| match share {
                Share::Whole => 0.4,
                Share::Parts => 0.25,
                Share::Start => 0.15,
                Share::Inside => 0.08,
            })
        };
        let extension = self.base.rsplit_once('.').is_some_and(|(_, extension)| extension == word);
        let extension = if extension { 0.3 } else { 0.0 };
        self.folders.iter().map(folder).fold(stem, f32::max).max(extension)
    }

    /// Returns whether callers use this qualifier for the file's definitions: the name of its folder, or its own.
    pub(super) fn is_home(&self, qualifier: &str) -> bool {
        self.homes().any(|home| home == qualifier)
    }

    /// Returns the qualifiers that callers use for the file's definitions.
    pub(super) fn homes(&self) -> impl Iterator<Item = &str> {
        let folder = self.folders.last().map(|name| name.folded.as_str());
        let own = !FOLDER_FILES.contains(&self.stem.folded.as_str());
        folder.into_iter().chain(own.then_some(self.stem.folded.as_str()))
    }

    /// Returns the share of a name's parts that the path contains, from 0 to 1: `ServeHTTP` is at home in
    /// `http/server.go`.
    pub(super) fn affinity(&self, word: &Word) -> f32 {
        let name = Name::new(&word.typed);
        let parts: Vec<&str> = name.parts().filter(|part| part.len() > 2).collect();
        if parts.len() < 2 {
            return 0.0;
        }
        let mine = || self.folders.iter().chain([&self.stem]).flat_map(Name::parts);
        let akin = |part: &&&str| {
            mine().any(|own| {
                own == **part
                    || own.len() > 3
                        && part.len() > 3
                        && (own.starts_with(**part) || part.starts_with(own))
            })
        };
        parts.iter().filter(akin).count() as f32 / parts.len() as f32
    }

    /// Returns whether it is the main file of its folder: `bufio/bufio.go`, `fs/mod.rs`.
    pub(super) fn is_main(&self) -> bool {
        let stem = self.stem.folded.as_str();
        self.folders.last().is_some_and(|folder| {
            folder.folded == stem || stem != "doc" && FOLDER_FILES.contains(&stem)
        })
    }
}

/// Returns whether a path lies in a folder for copies of other projects.
pub(super) fn is_copied(path: &str) -> bool {
    let mut folders = path.rsplit_once('/').map_or("", |(folders, _)| folders).split('/');
    folders.any(|folder| COPIED_FOLDERS.iter().any(|name| folder.eq_ignore_ascii_case(name)))
}

/// Returns whether a path is that of a test, or of what tests use.
pub(super) fn is_test(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", lower.as_str()));
    let stem = name.split('.').next().unwrap_or(name);
    // A library of a shell is not run: its name tells for what it is.
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let is_run = !matches!(extension, Some("bash" | "zsh"));
    folders.split('/').any(|folder| TEST_FOLDERS.contains(&folder))
        || is_run && (stem.starts_with("test_") || stem.starts_with("test-"))
        || stem.ends_with("_test")
        || stem.ends_with("-test")
        || path.contains("Test.")
        || path.contains("Tests.")
        || name.contains(".test.")
        || name.contains(".spec.")
}

/// Returns the penalty of a path.
pub fn path_penalty(path: &str) -> f32 {
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", lower.as_str()));
    let within = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let depth = if folders.is_empty() { 0 } else { folders.split('/').count() };
    let mut path_penalty = DEPTH * depth.min(MAX_DEPTH) as f32;
    if is_test(path) {
        path_penalty += TEST;
    }
    if within(&COPIED_FOLDERS) {
        path_penalty += COPIED;
    }
    if within(&GENERATED_FOLDERS) || ends(&GENERATED_SUFFIXES) {
        path_penalty += GENERATED;
    }
    if within(&SECONDARY_FOLDERS) {
        path_penalty += SECONDARY;
    }
    if ends(&DOCS_SUFFIXES) {
        path_penalty += DOCS;
    }
    path_penalty
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_paths() {
        for path in ["a/test/x.sh", "src/test_x.py", "x_test.go", "test-x.sh", "XTest.java"] {
            assert!(is_test(path), "{path}");
        }
        for path in ["lib/test_functions.bash", "src/testing.rs", "latest.go"] {
            assert!(!is_test(path), "{path}");
        }
    }

    #[test]
    fn a_path_is_called_by_its_parts() {
        let path = PathNames::of("code", "net/http/http_server.go");
        let order = ["httpserver", "server", "net", "serv"];
        let called = order.map(|word| path.called(word));
        assert!(called.is_sorted_by(|a, b| a > b), "{called:?}");
        assert!(path.is_home("http") && path.is_home("httpserver") && !path.is_home("net"));
        assert!(PathNames::of("x", "bufio/bufio.go").is_main());
        assert!(
            PathNames::of("x", "fs/mod.rs").is_main() && PathNames::of("a/fs", "fs.rs").is_main()
        );
        assert!(!path.is_main());
    }
}
