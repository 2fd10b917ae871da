use super::*;
use std::path::Path;
use std::process::Command;

fn git(folder: &Path, args: &[&str]) -> Vec<u8> {
    let ran = Command::new("git")
        .args(["-C", folder.to_str().unwrap()])
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"])
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    ran.stdout
}

/// A clone with files whose names are hard to abbreviate, to sort and to measure.
fn clone(format: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, &["init", "-q", "--object-format", format]);
    let long = format!("{}/{}", "x".repeat(200), "y".repeat(200));
    for path in [
        "a",
        "a.b/c",
        "a/b/c",
        "a0",
        "b/é",
        "b/\u{1}",
        &long,
        &format!("deep/{}/f", "d/".repeat(2100)),
    ] {
        let at = root.join(path);
        // Paths longer than the system allows are made by git alone.
        if path.len() < 4000 && path != "a" {
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::fs::write(at, path).unwrap();
        }
    }
    git(&root, &["add", "."]);
    (folder, root)
}

fn tracked(root: &Path) -> Result<Tracked, Unread> {
    let mut trust = Trust::known(Vec::new());
    let data = GitData::of(root, &mut trust).unwrap().unwrap();
    let config = data.config(&mut trust).unwrap();
    data.tracked(config.as_ref(), &mut trust)
}

fn paths(tracked: &Tracked) -> Vec<Vec<u8>> {
    tracked.entries.iter().map(|entry| tracked.path(entry).to_vec()).collect()
}

/// Compares the list with git's own.
fn check(root: &Path) {
    let listed = git(root, &["ls-files", "-cz"]);
    let mut listed: Vec<Vec<u8>> = listed
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    listed.dedup();
    assert!(!listed.is_empty());
    assert_eq!(paths(&tracked(root).unwrap()), listed);
}

#[test]
fn every_version_is_read() {
    for format in ["sha1", "sha256"] {
        let (_folder, root) = clone(format);
        for version in ["2", "4"] {
            git(&root, &["update-index", "--index-version", version]);
            check(&root);
        }
        // Flags that version 2 does not have.
        std::fs::write(root.join("new"), "new").unwrap();
        git(&root, &["add", "-N", "new"]);
        git(&root, &["update-index", "--skip-worktree", "a0"]);
        git(&root, &["update-index", "--assume-unchanged", "b/é"]);
        for version in ["3", "4"] {
            git(&root, &["update-index", "--index-version", version]);
            let index = std::fs::read(root.join(".git/index")).unwrap();
            assert_eq!(index[7], version.as_bytes()[0] - b'0');
            check(&root);
        }
    }
}

#[test]
fn a_split_index_is_read_with_what_it_shares() {
    let (_folder, root) = clone("sha1");
    git(&root, &["config", "splitIndex.maxPercentChange", "100"]);
    git(&root, &["update-index", "--split-index"]);
    check(&root);
    git(&root, &["rm", "-q", "--cached", "a0"]);
    std::fs::write(root.join("b/é"), "changed").unwrap();
    std::fs::write(root.join("0first"), "first").unwrap();
    git(&root, &["add", "b", "0first"]);
    assert!(std::fs::read(root.join(".git/index")).unwrap().windows(4).any(|four| four == b"link"));
    check(&root);
    let name = std::fs::read_dir(root.join(".git")).unwrap().flatten().find_map(|entry| {
        entry
            .file_name()
            .to_str()
            .filter(|name| name.starts_with("sharedindex."))
            .map(str::to_owned)
    });
    std::fs::remove_file(root.join(".git").join(name.unwrap())).unwrap();
    assert!(tracked(&root).unwrap_err().path.starts_with(".git/sharedindex."));
}

#[test]
fn folders_submodules_and_conflicts_have_their_kind() {
    let (_folder, root) = clone("sha1");
    let blob = git(&root, &["hash-object", "-w", "a0"]);
    let blob = String::from_utf8(blob).unwrap();
    let blob = blob.trim();
    let commit = "0123456789abcdef0123456789abcdef01234567";
    git(&root, &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},sub")]);
    let conflict = root.join("conflict");
    std::fs::write(&conflict, format!("100644 {blob} 1\tx\n100644 {blob} 2\tx\n")).unwrap();
    let from = std::fs::File::open(&conflict).unwrap();
    let fed = Command::new("git")
        .args(["-C", root.to_str().unwrap(), "update-index", "--index-info"])
        .stdin(from)
        .status();
    assert!(fed.unwrap().success());
    check(&root);
    let list = tracked(&root).unwrap();
    let all = list.all();
    assert!(list.has_submodule(b"sub", &all) && !list.has(b"sub", &all));
    assert!(list.has(b"x", &all) && list.has(b"a/b/c", &all) && !list.has(b"a/b", &all));
    let below = list.below(b"a", &all);
    assert_eq!(below.len(), 1);
    assert!(list.has(b"a/b/c", &below) && !list.has(b"a.b/c", &below) && !list.has(b"a0", &below));
    assert_eq!(list.below(b"a/b", &below), below);
    assert!(list.below(b"none", &all).is_empty() && list.below(b"a0", &all).is_empty());
    assert_eq!(list.below(b"b", &all).len(), 2);
}

#[test]
fn a_sparse_index_names_folders() {
    let (_folder, root) = clone("sha1");
    git(&root, &["commit", "-qm", "all"]);
    git(&root, &["sparse-checkout", "set", "--cone", "--sparse-index", "b"]);
    let list = tracked(&root).unwrap();
    let all = list.all();
    let below = list.below(b"a", &all);
    assert!(list.is_sparse(&below), "{:?}", paths(&list).len());
    assert!(!list.is_sparse(&list.below(b"b", &all)));
}

#[test]
fn a_damaged_index_is_an_error_and_nothing_worse() {
    let (_folder, root) = clone("sha1");
    let mut random = 7_u64;
    let mut next = |below: usize| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    git(&root, &["config", "splitIndex.maxPercentChange", "100"]);
    for args in [["update-index", "--index-version", "2"], ["update-index", "--index-version", "4"]]
    {
        git(&root, &args);
        let index = std::fs::read(root.join(".git/index")).unwrap();
        let mut refused = 0;
        for _ in 0..3000 {
            let mut broken = index.clone();
            match next(3) {
                0 => broken.truncate(next(index.len())),
                1 => {
                    let at = next(index.len());
                    broken[at] ^= 1 << next(8);
                }
                _ => {
                    let at = next(index.len() - 4);
                    broken[at..at + 4].fill(0xff);
                }
            }
            match parse(&broken, 20) {
                None => refused += 1,
                Some((mut list, _)) => {
                    list.sort();
                    list.below(b"a", &list.all());
                }
            }
        }
        assert!(refused > 500, "{refused}");
    }
    for text in [&b""[..], b"DIRC", b"not an index, but long enough to be one"] {
        std::fs::write(root.join(".git/index"), text).unwrap();
        let unread = tracked(&root).unwrap_err();
        assert_eq!((&*unread.path, unread.reason), (".git/index", SkipReason::Unreadable));
    }
    std::fs::remove_file(root.join(".git/index")).unwrap();
    assert!(paths(&tracked(&root).unwrap()).is_empty());
    // An extension that nests as deeply as the file is long is not read, and one that must be known is refused.
    let nested = b"\0-1 1\n".repeat(1 << 20);
    for (name, is_read) in [(b"TREE", true), (b"what", false)] {
        let mut index = b"DIRC\0\0\0\x02\0\0\0\0".to_vec();
        index.extend_from_slice(name);
        index.extend_from_slice(&(nested.len() as u32).to_be_bytes());
        index.extend_from_slice(&nested);
        index.extend_from_slice(&[0; 20]);
        assert_eq!(parse(&index, 20).is_some(), is_read);
    }
}
