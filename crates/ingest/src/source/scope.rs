//! The paths in a folder to which a list of its files is limited.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::Part;

/// Some paths in a folder, none below another.
#[derive(Debug)]
pub(super) struct Scope {
    paths: Vec<PathBuf>,
    /// Folders around them of which all is listed.
    pub(super) widened: Mutex<Vec<PathBuf>>,
}

/// What is wanted of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// It, and all below it.
    All,
    /// Something below it.
    Inside,
    Nothing,
}

impl Scope {
    /// Makes one of paths below `root`. What lies in no folder now is a part of what has become of that folder.
    pub(super) fn of(root: &Path, paths: &[PathBuf]) -> Self {
        let is_folder =
            |path: &Path| root.join(path).symlink_metadata().is_ok_and(|found| found.is_dir());
        let found = paths.iter().map(|path| {
            let mut at = PathBuf::new();
            for part in path {
                at.push(part);
                if !is_folder(&at) {
                    break;
                }
            }
            at
        });
        Self { paths: outermost(found.collect()), widened: Mutex::default() }
    }

    pub(super) fn wanted(&self, path: &Path) -> Wanted {
        // Those that begin with `path` follow it.
        let next = self.paths.partition_point(|of| of.as_path() < path);
        let is_around = next > 0 && path.starts_with(&self.paths[next - 1]);
        match self.paths.get(next) {
            _ if is_around => Wanted::All,
            Some(of) if of == path => Wanted::All,
            Some(of) if of.starts_with(path) => Wanted::Inside,
            _ => Wanted::Nothing,
        }
    }

    /// Returns the part of the index that the list replaces.
    pub(super) fn into_part(self) -> Part {
        let mut paths = self.paths;
        paths.extend(self.widened.into_inner().unwrap_or_else(PoisonError::into_inner));
        let paths = outermost(paths);
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let above = |path: &PathBuf| {
            let folders = path.ancestors().skip(1);
            folders.filter(|folder| !folder.as_os_str().is_empty()).map(text).collect::<Vec<_>>()
        };
        let mut around: Vec<String> = paths.iter().flat_map(above).collect();
        around.sort();
        around.dedup();
        Part { below: paths.iter().map(|path| text(path)).collect(), around }
    }
}

/// Returns paths without those below others, in order.
fn outermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    let mut all: Vec<PathBuf> = Vec::new();
    for path in paths {
        if all.last().is_none_or(|last| !path.starts_with(last)) {
            all.push(path);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_has_no_path_below_another_nor_in_a_missing_folder() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/b.c"), "").unwrap();
        std::os::unix::fs::symlink("a", root.join("link")).unwrap();
        let paths = ["a/b/x", "a/b.c", "gone/far/away", "gone/near", "link/b", "a/b/x/y", "a-b"];
        let scope = Scope::of(root, &paths.map(PathBuf::from));
        let named: Vec<&str> = scope.paths.iter().filter_map(|path| path.to_str()).collect();
        assert_eq!(named, ["a/b/x", "a/b.c", "a-b", "gone", "link"]);
        for (path, wanted) in [
            ("a", Wanted::Inside),
            ("a/b", Wanted::Inside),
            ("a/b/x", Wanted::All),
            ("a/b/x/y/z", Wanted::All),
            ("a/b.c", Wanted::All),
            ("a/b.d", Wanted::Nothing),
            ("a-b/c", Wanted::All),
            ("a-", Wanted::Nothing),
            ("gone/far", Wanted::All),
            ("z", Wanted::Nothing),
        ] {
            assert_eq!(scope.wanted(Path::new(path)), wanted, "{path}");
        }
        scope.widened.lock().unwrap().push("a/b".into());
        let part = scope.into_part();
        assert_eq!(part.below, ["a/b", "a/b.c", "a-b", "gone", "link"]);
        assert_eq!(part.around, ["a"]);
    }
}
