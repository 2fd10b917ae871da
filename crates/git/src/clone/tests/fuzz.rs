//! Files with any bytes.

use super::*;

/// Reads all that can be read; nothing panics.
fn read_all(repo: &Repo) -> usize {
    let Ok(clone) = super::super::Clone::open(&repo.path, &[]) else { return 0 };
    let mut seen = 0;
    let mut tips: Vec<Oid> = clone.refs().into_iter().flatten().map(|found| found.commit).collect();
    tips.extend(clone.head().ok().flatten());
    for revision in ["main", "HEAD~2", "0123", "v1", "main^2", "abcd"] {
        tips.extend(clone.resolve(revision).ok());
    }
    tips.sort_unstable();
    tips.dedup();
    let reader = clone.reader();
    for tip in &tips {
        let mut each = |file: TreeFile<'_>| {
            seen += usize::from(reader.read(file.oid, 1 << 20).is_ok());
            ControlFlow::Continue(())
        };
        let _ = clone.list(*tip, &mut each);
        let _ = clone.changes(tips.first().copied(), Some(*tip));
        let _ = clone.merge_base(tips[0], *tip);
    }
    let hidden = &tips[..tips.len().min(1)];
    seen += clone.commits(&tips, &[]).take(1000).flatten().count();
    seen.max(clone.commits(&tips, hidden).take(1000).count())
}

fn filled(options: &[&str]) -> Repo {
    let repo = Repo::new(options);
    for number in 0..4 {
        repo.write("folder/same", format!("changes {number}\n").repeat(300));
        repo.write(&format!("{number}"), format!("{number}"));
        repo.commit("x");
    }
    repo.git(&["tag", "-a", "-m", "x", "v1", "HEAD~1"]);
    repo
}

/// The number of files that are spoiled; `GIT_ROUNDS` for a long test.
fn rounds() -> usize {
    std::env::var("GIT_ROUNDS").map_or(40, |rounds| rounds.parse().unwrap())
}

/// Changes a file in a few places.
fn spoil(dice: &mut Dice, bytes: &mut Vec<u8>) {
    match dice.below(8) {
        0 => bytes.truncate(dice.below(bytes.len() + 1)),
        1 => {
            let most = dice.below(300);
            bytes.extend((0..most).map(|_| dice.below(256) as u8));
        }
        _ => {
            for _ in 0..=dice.below(6) {
                if !bytes.is_empty() {
                    let at = dice.below(bytes.len());
                    bytes[at] =
                        [0, 255, dice.below(256) as u8, bytes[at] ^ 128, b'\n'][dice.below(5)];
                }
            }
        }
    }
}

#[test]
fn files_of_refs_have_any_bytes() {
    let repo = filled(&[]);
    let git = repo.path.join(".git");
    let mut dice = Dice(99);
    let commit = repo.git(&["rev-parse", "HEAD"]);
    let pieces = [
        commit.as_bytes(),
        &commit.as_bytes()[..39],
        b"ref: ",
        b"refs/heads/",
        b"refs/tags/v1",
        b" ",
        b"\n",
        b"\0",
        b"^",
        b"#",
        b"\xff\xfe",
        b"..",
        b"/",
        b"@{",
        b"main",
        b"refs/heads/main",
        b"\r\n",
        b"HEAD",
        b"//",
        b".lock",
        b"refs/remotes/o/HEAD",
    ];
    for round in 0..3 * rounds() {
        let mut text = Vec::new();
        for _ in 0..dice.below(60) {
            text.extend_from_slice(pieces[dice.below(pieces.len())]);
            if dice.below(20) == 0 {
                text.push(dice.below(256) as u8);
            }
        }
        let file = [
            "packed-refs",
            "HEAD",
            "refs/heads/main",
            "refs/heads/x",
            "shallow",
            "objects/info/alternates",
        ][round % 6];
        let before = fs::read(git.join(file)).ok();
        fs::write(git.join(file), &text).unwrap();
        read_all(&repo);
        if let Ok(clone) = super::super::Clone::open(&repo.path, &[]) {
            for found in clone.refs().unwrap_or_default() {
                assert!(found.name.starts_with("refs/") && !found.name.contains(".."), "{found:?}");
                assert!(!found.name.contains(char::is_control), "{found:?}");
            }
            let _ = clone.resolve(&String::from_utf8_lossy(&text));
        }
        match before {
            Some(before) => fs::write(git.join(file), before).unwrap(),
            None => fs::remove_file(git.join(file)).unwrap(),
        }
    }
    assert!(read_all(&repo) > 0);
}

#[test]
fn objects_and_packs_have_any_bytes() {
    for (seed, options) in [(5, &[][..]), (6, &["--object-format=sha256"])] {
        let seed = seed + 2 * rounds() as u64;
        let repo = filled(options);
        let mut dice = Dice(seed);
        for stage in ["loose", "packed", "many"] {
            if stage == "packed" {
                repo.git(&["repack", "-q", "-a", "-d", "-f"]);
            } else if stage == "many" {
                repo.write("more", "more");
                repo.commit("more");
                repo.git(&["repack", "-q", "-d"]);
                repo.git(&["multi-pack-index", "write"]);
            }
            let whole = read_all(&repo);
            assert!(whole > 10);
            let files: Vec<PathBuf> = files_of(&repo.path.join(".git/objects"))
                .into_iter()
                .filter(|path| path.is_file())
                .collect();
            for _ in 0..rounds() {
                let path = &files[dice.below(files.len())];
                let before = fs::read(path).unwrap();
                let mut bytes = before.clone();
                spoil(&mut dice, &mut bytes);
                fs::remove_file(path).unwrap();
                fs::write(path, bytes).unwrap();
                read_all(&repo);
                fs::remove_file(path).unwrap();
                fs::write(path, before).unwrap();
            }
            assert_eq!(read_all(&repo), whole);
        }
    }
}
