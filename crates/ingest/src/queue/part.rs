//! Which part of a repository has to be listed when some paths have changed.

use std::path::{Component, Path};

use files::MAX_PATH_BYTES;

use crate::source::{ATTRIBUTES, IGNORE_FILES};

/// Number of paths above which all of a repository is listed: that is sooner done.
const MAX_PATHS: usize = 500;

/// Returns the files and folders to list when these have changed; `None` for all. Ignore files decide about their folders,
/// and git's data and attributes about everything.
pub(super) fn of(paths: &[String]) -> Option<Vec<String>> {
    if paths.len() > MAX_PATHS {
        return None;
    }
    let mut all = paths.iter().map(|path| around(path)).collect::<Option<Vec<String>>>()?;
    all.sort();
    all.dedup();
    Some(all)
}

fn around(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(part) if part != ".git" => parts.push(part.to_str()?),
            Component::CurDir => {}
            _ => return None,
        }
    }
    let name = *parts.last()?;
    if name == ATTRIBUTES || path.len() >= MAX_PATH_BYTES {
        return None;
    }
    // A name that is not UTF-8 is shown with this character.
    let odd = parts.iter().position(|part| part.contains('\u{fffd}'));
    if let Some(odd) = odd {
        parts.truncate(odd);
    } else if IGNORE_FILES.contains(&name) {
        parts.pop();
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_rules_widen_a_part() {
        let part = |paths: &[&str]| {
            of(&paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>())
                .map(|paths| paths.join(" "))
        };
        assert_eq!(part(&["b.c", "a/b.c", "./b.c", "a//d/"]).unwrap(), "a/b.c a/d b.c");
        assert_eq!(part(&["a/.gitignore", "b/.codesearchignore", "c/.ignore"]).unwrap(), "a b c");
        assert_eq!(part(&["a/b/.gitattributes.txt"]).unwrap(), "a/b/.gitattributes.txt");
        assert_eq!(part(&["a/\u{fffd}/c"]).unwrap(), "a");
        for all in [".gitignore", "", "/a", "../a", "a/../b", ".git/index", "sub/.git", "\u{fffd}"]
        {
            assert_eq!(part(&["x", all]), None, "{all}");
        }
        assert_eq!(part(&["a/.gitattributes"]), None);
        assert_eq!(of(&vec!["x".to_owned(); MAX_PATHS + 1]), None);
        assert_eq!(part(&[]).unwrap(), "");
    }
}
