//! Finds renamed files among added and removed ones.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use gix::objs::Kind;

use super::entry::{ChangedFile, FileMode, TreeChange};
use super::finder::{Finder, Found};
use crate::{Error, Oid};

/// Maximum number of removed and of added files whose contents are compared.
const MAX_FILES: usize = 1000;

/// Maximum size in bytes of a file that is compared.
const MAX_BYTES: u64 = 1 << 20;

/// Maximum number of lines of all removed files.
const MAX_LINES: usize = 4_000_000;

/// Maximum number of comparisons of lines, some seconds of work. Then the rest is not compared.
const MAX_WORK: usize = 200_000_000;

/// A removed and an added file that are alike: how much, whether their names are equal, and their places.
type Pair = (u64, bool, Reverse<usize>, Reverse<usize>);

/// Makes one change of a removed and an added file with equal contents, then of those with similar ones: at least half
/// of the larger file's bytes are lines of both. Returns the changes by path.
pub(super) fn join(finder: &Finder, changes: Vec<TreeChange>) -> Result<Vec<TreeChange>, Error> {
    let (mut removed, mut added, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for change in changes {
        match change {
            TreeChange { old: Some(old), new: None } => removed.push(Some(old)),
            TreeChange { old: None, new: Some(new) } => added.push(Some(new)),
            change => kept.push(change),
        }
    }
    for (old, new) in equal(&removed, &added) {
        kept.push(TreeChange { old: removed[old].take(), new: added[new].take() });
    }
    for (old, new) in similar(finder, &removed, &added)? {
        kept.push(TreeChange { old: removed[old].take(), new: added[new].take() });
    }
    kept.extend(removed.into_iter().flatten().map(|old| TreeChange { old: Some(old), new: None }));
    kept.extend(added.into_iter().flatten().map(|new| TreeChange { old: None, new: Some(new) }));
    kept.sort_by(|a, b| a.path().cmp(b.path()).then(a.new.is_some().cmp(&b.new.is_some())));
    Ok(kept)
}

/// Pairs files with equal contents: those with the same name first, then by path.
fn equal(removed: &[Option<ChangedFile>], added: &[Option<ChangedFile>]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut is_paired = (vec![false; removed.len()], vec![false; added.len()]);
    for by_name in [true, false] {
        let key = |file: &ChangedFile| {
            let name = if by_name { name(&file.path).to_owned() } else { Vec::new() };
            (file.oid, class(file.mode), name)
        };
        let mut sources: HashMap<_, VecDeque<usize>> = HashMap::new();
        for (old, file) in removed.iter().enumerate().filter(|(old, _)| !is_paired.0[*old]) {
            if let Some(key) = file.as_ref().map(key) {
                sources.entry(key).or_default().push_back(old);
            }
        }
        for (new, file) in added.iter().enumerate() {
            if !is_paired.1[new]
                && let Some(key) = file.as_ref().map(key)
                && let Some(old) = sources.get_mut(&key).and_then(VecDeque::pop_front)
            {
                pairs.push((old, new));
                (is_paired.0[old], is_paired.1[new]) = (true, true);
            }
        }
    }
    pairs
}

/// Files of different classes are never the same file.
fn class(mode: FileMode) -> u8 {
    match mode {
        FileMode::File | FileMode::Executable => 0,
        FileMode::Link => 1,
        FileMode::Submodule => 2,
    }
}

fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Pairs the files that have the most bytes in common.
fn similar(
    finder: &Finder,
    removed: &[Option<ChangedFile>],
    added: &[Option<ChangedFile>],
) -> Result<Vec<(usize, usize)>, Error> {
    let files = |all: &[Option<ChangedFile>]| -> Vec<usize> {
        let is_file = |file: &ChangedFile| class(file.mode) == 0 && !file.oid.is_empty_blob();
        let all = all.iter().enumerate();
        all.filter_map(|(at, file)| file.as_ref().filter(|file| is_file(file)).map(|_| at))
            .collect()
    };
    let (olds, news) = (files(removed), files(added));
    if olds.is_empty() || news.is_empty() || olds.len() > MAX_FILES || news.len() > MAX_FILES {
        return Ok(Vec::new());
    }
    let hasher = RandomState::new();
    // The removed files that have a line, and the number of bytes that it has in each.
    let mut index: HashMap<u64, Vec<(u32, u64)>> = HashMap::new();
    let mut sizes = vec![0; removed.len()];
    let mut lines = 0;
    for old in olds {
        let Some(file) = &removed[old] else { continue };
        let Some(text) = read(finder, file.oid)? else { continue };
        sizes[old] = text.len() as u64;
        for (line, bytes) in counted(&text, &hasher) {
            index.entry(line).or_default().push((old as u32, bytes));
            lines += 1;
        }
        if lines > MAX_LINES {
            break;
        }
    }
    let mut pairs: Vec<Pair> = Vec::new();
    let mut work = 0;
    let mut common = vec![0; removed.len()];
    for new in news {
        let Some(file) = &added[new] else { continue };
        let Some(text) = read(finder, file.oid)? else { continue };
        common.fill(0);
        for (line, bytes) in counted(&text, &hasher) {
            let found = index.get(&line).map_or(&[][..], Vec::as_slice);
            work += found.len() + 1;
            for (old, has) in found {
                common[*old as usize] += bytes.min(*has);
            }
        }
        if work > MAX_WORK {
            break;
        }
        for (old, common) in common.iter().enumerate() {
            let Some(file_before) = removed[old].as_ref().filter(|_| *common > 0) else { continue };
            let score = common * 1000 / sizes[old].max(text.len() as u64);
            if score >= 500 {
                let is_namesake = name(&file_before.path) == name(&file.path);
                pairs.push((score, is_namesake, Reverse(new), Reverse(old)));
            }
        }
    }
    pairs.sort_unstable_by_key(|pair| Reverse(*pair));
    let (mut is_old, mut is_new) = (vec![false; removed.len()], vec![false; added.len()]);
    let mut found = Vec::new();
    for (_, _, Reverse(new), Reverse(old)) in pairs {
        if !is_old[old] && !is_new[new] {
            (is_old[old], is_new[new]) = (true, true);
            found.push((old, new));
        }
    }
    Ok(found)
}

/// Reads a text that may be compared; `None` if it is too large or missing, as in a partial clone.
fn read(finder: &Finder, object: Oid) -> Result<Option<Vec<u8>>, Error> {
    match finder.read(&object, MAX_BYTES)? {
        Found::Object(Kind::Blob, bytes) if !bytes.contains(&0) => Ok(Some(bytes)),
        _ => Ok(None),
    }
}

/// Returns the hashes of all different lines, each with the number of its bytes in the text.
fn counted(text: &[u8], hasher: &RandomState) -> HashMap<u64, u64> {
    let mut lines = HashMap::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        *lines.entry(hasher.hash_one(line)).or_default() += line.len() as u64;
    }
    lines
}
