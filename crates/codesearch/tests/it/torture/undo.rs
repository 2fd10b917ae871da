//! Simulates a loss of power from the layer's journal.
//!
//! Data: each sector of a file returns to any of its versions since the last flush of that file. Directory entries (files
//! created, renamed, removed) are undone from the latest on, as in a file system with a metadata journal: a flush of a file
//! or its folder makes all earlier entries durable.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use fastrand::Rng;

use super::layer::Layer;

const MAGIC: u64 = 0x6c61_7965_7231_3233;

/// Size of a record's header in bytes: the magic, four lengths, five numbers.
const HEAD: usize = 8 + 4 * 4 + 5 * 8;

/// The unflushed changes that are undone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Loss {
    /// None: the programs died, the machine did not.
    Nothing,
    /// All of them.
    All,
    /// Those after a random moment.
    Latest,
    /// Random sectors of this many bytes.
    Sectors(u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Write,
    Create,
    Rename,
    Unlink,
    Link,
    MakeFolder,
    RemoveFolder,
    Flush,
}

#[derive(Debug)]
struct Record {
    what: What,
    file: u64,
    other: u64,
    at: u64,
    len: u64,
    size: u64,
    path: PathBuf,
    path2: PathBuf,
    /// The bytes before the change, up to the end of the file.
    data: Vec<u8>,
    /// Offset in the journal.
    place: u64,
}

/// Parses the journal. Skips partial records, left by processes that were killed while writing one.
fn read(bytes: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    let mut at = 0;
    while at + HEAD <= bytes.len() {
        let short = |n: usize| {
            u32::from_ne_bytes(bytes[at + 8 + 4 * n..at + 12 + 4 * n].try_into().unwrap()) as usize
        };
        let long = |n: usize| {
            u64::from_ne_bytes(bytes[at + 24 + 8 * n..at + 32 + 8 * n].try_into().unwrap())
        };
        let (path, path2, data) = (short(1), short(2), short(3));
        let end = at + HEAD + path + path2 + data;
        let is_whole = bytes[at..at + 8] == MAGIC.to_ne_bytes()
            && end <= bytes.len()
            && (end == bytes.len() || bytes[end..].starts_with(&MAGIC.to_ne_bytes()));
        if !is_whole {
            at += 1;
            continue;
        }
        let what = match short(0) {
            1 | 2 => What::Write,
            3 => What::Create,
            4 => What::Rename,
            5 => What::Unlink,
            6 => What::Link,
            7 => What::MakeFolder,
            8 => What::RemoveFolder,
            9 => What::Flush,
            other => panic!("{other} in the journal"),
        };
        let text = |from: usize, len: usize| {
            PathBuf::from(str::from_utf8(&bytes[from..from + len]).unwrap())
        };
        records.push(Record {
            what,
            file: long(0),
            other: long(1),
            at: long(2),
            len: long(3),
            size: long(4),
            path: text(at + HEAD, path),
            path2: text(at + HEAD + path, path2),
            data: bytes[end - data..end].to_vec(),
            place: at as u64,
        });
        at = end;
    }
    records
}

/// Undoes unflushed changes after all programs have died. Returns how many writes and directory entries were unflushed.
pub(super) fn lose(layer: &Layer, loss: Loss, rng: &mut Rng) -> (usize, usize) {
    let records = read(&fs::read(layer.state().join("journal")).unwrap());
    let names = loose_names(&records);
    let writes = loose_writes(&records);
    let count = (writes.values().map(Vec::len).sum(), names.len());
    // Offset in the journal from which changes are undone.
    let since = match loss {
        Loss::Nothing => return count,
        Loss::All => 0,
        Loss::Latest | Loss::Sectors(_) => {
            let places: Vec<u64> = records.iter().map(|record| record.place).collect();
            rng.choice(&places).copied().unwrap_or(0)
        }
    };
    for record in names.iter().rev().filter(|record| record.place >= since) {
        forget_name(record, layer);
    }
    for (path, file) in files(layer.root()) {
        if let Some(writes) = writes.get(&file) {
            forget_writes(&path, writes, loss, since, rng);
        }
    }
    count
}

/// Selects the changes of directory entries that are not durable.
fn loose_names(records: &[Record]) -> Vec<&Record> {
    let is_name = |record: &&Record| !matches!(record.what, What::Write | What::Flush);
    let names: Vec<&Record> = records.iter().filter(is_name).collect();
    let mut kept = 0;
    for flush in records.iter().filter(|record| record.what == What::Flush) {
        let is_of = |name: &&Record| {
            name.place < flush.other
                && (name.file == flush.file && name.file != 0
                    || [&name.path, &name.path2]
                        .into_iter()
                        .any(|path| path.parent() == Some(&*flush.path)))
        };
        if let Some(last) = names.iter().rposition(is_of) {
            kept = kept.max(last + 1);
        }
    }
    names[kept..].to_vec()
}

/// Selects the writes that are not durable, by inode.
fn loose_writes(records: &[Record]) -> HashMap<u64, Vec<&Record>> {
    let mut loose: HashMap<u64, Vec<&Record>> = HashMap::new();
    for record in records {
        let writes = loose.entry(record.file).or_default();
        match record.what {
            What::Write => writes.push(record),
            What::Flush => writes.retain(|write| write.place >= record.other),
            _ => {}
        }
    }
    loose
}

fn forget_name(record: &Record, layer: &Layer) {
    let kept = |file: u64| layer.state().join("kept").join(file.to_string());
    let done = match record.what {
        What::Create => match fs::symlink_metadata(&record.path) {
            // The name may now belong to another file, made without the library.
            Ok(found) if found.ino() == record.file => fs::remove_file(&record.path),
            _ => Ok(()),
        },
        What::Link => fs::remove_file(&record.path),
        What::Unlink => fs::hard_link(kept(record.file), &record.path),
        What::Rename => fs::rename(&record.path2, &record.path).and_then(|()| match record.other {
            0 => Ok(()),
            file => fs::hard_link(kept(file), &record.path2),
        }),
        What::MakeFolder => fs::remove_dir(&record.path),
        What::RemoveFolder => fs::create_dir(&record.path),
        What::Write | What::Flush => Ok(()),
    };
    match done {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) => {
            panic!("{record:?}: {error}")
        }
        _ => {}
    }
}

/// Lists all files below a folder with their inodes.
fn files(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let meta = entry.metadata().unwrap();
        if meta.is_dir() {
            found.extend(files(&entry.path()));
        } else if meta.is_file() {
            found.push((entry.path(), meta.ino()));
        }
    }
    found.sort();
    found
}

/// Undoes writes to a file: those after `since`, or random ones for each sector.
fn forget_writes(path: &Path, writes: &[&Record], loss: Loss, since: u64, rng: &mut Rng) {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let now = file.metadata().unwrap().len();
    // Number of writes that are kept, for the file size and for each sector.
    let stay = |rng: &mut Rng, all: &[&Record]| match loss {
        Loss::Sectors(_) => rng.usize(..=all.len()),
        _ => all.iter().filter(|write| write.place < since).count(),
    };
    let sized = stay(rng, writes);
    let size = writes.get(sized).map_or(now, |write| write.size);
    let most = writes.iter().map(|write| write.at + write.len).max().unwrap_or(0).max(now);
    let mut text = vec![0; most as usize];
    file.read_exact_at(&mut text[..now as usize], 0).unwrap();
    let sector = if let Loss::Sectors(bytes) = loss { bytes } else { most.max(1) };
    let mut touching: BTreeMap<u64, Vec<&Record>> = BTreeMap::new();
    for write in writes {
        for n in write.at / sector..(write.at + write.len).div_ceil(sector) {
            touching.entry(n).or_default().push(write);
        }
    }
    for (n, writes) in touching {
        let (from, to) = (n * sector, (n * sector + sector).min(most));
        for write in writes[stay(rng, &writes)..].iter().rev() {
            for at in write.at.max(from)..(write.at + write.len).min(to) {
                // The file ended before this byte.
                text[at as usize] = write.data.get((at - write.at) as usize).copied().unwrap_or(0);
            }
        }
    }
    text.resize(size as usize, 0);
    file.write_all_at(&text, 0).unwrap();
    file.set_len(size).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(at: u64, len: u64, size: u64, data: &str, place: u64) -> Record {
        let (path, path2) = Default::default();
        let data = data.as_bytes().to_vec();
        Record { what: What::Write, file: 1, other: 0, at, len, size, path, path2, data, place }
    }

    #[test]
    fn writes_are_taken_back() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut rng = Rng::with_seed(1);
        // "abcdef", then "abXYef", then "abXYefgh", then "abXYZZgh".
        let all = [write(2, 2, 6, "cd", 0), write(6, 2, 6, "", 10), write(4, 2, 8, "ef", 20)];
        let all: Vec<&Record> = all.iter().collect();
        let mut lost = |writes: &[&Record], loss, since| {
            fs::write(file.path(), "abXYZZgh").unwrap();
            forget_writes(file.path(), writes, loss, since, &mut rng);
            fs::read_to_string(file.path()).unwrap()
        };
        assert_eq!(lost(&all, Loss::All, 0), "abcdef");
        assert_eq!(lost(&all, Loss::Latest, 10), "abXYef");
        assert_eq!(lost(&all, Loss::Latest, 20), "abXYefgh");
        assert_eq!(lost(&all, Loss::Latest, 30), "abXYZZgh");
        for _ in 0..50 {
            let text = lost(&all, Loss::Sectors(2), 0);
            assert!(
                text.starts_with("ab")
                    && ["cd", "XY"].contains(&&text[2..4])
                    && ["ef", "ZZ"].contains(&&text[4..6])
                    && ["", "gh", "\0\0"].contains(&&text[6..]),
                "{text:?}"
            );
        }
    }
}
