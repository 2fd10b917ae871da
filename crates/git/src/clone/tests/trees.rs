//! Files of commits.

use super::*;

#[test]
fn files_are_those_of_git() {
    for options in [&[][..], &["--object-format=sha256"]] {
        let repo = Repo::new(options);
        repo.write("a/b/c.txt", "one\n");
        repo.write("a.txt", "two\n");
        repo.write("a-b", "");
        std::os::unix::fs::symlink("a.txt", repo.path.join("link")).unwrap();
        repo.commit("first");
        assert_eq!(repo.list("HEAD"), repo.bytes(&["ls-tree", "-r", "-z", "HEAD"]));
        repo.git(&["gc", "-q"]);
        assert_eq!(repo.list("HEAD"), repo.bytes(&["ls-tree", "-r", "-z", "HEAD"]));
        let clone = repo.open();
        let reader = clone.reader();
        for (path, text) in [("a/b/c.txt", "one\n"), ("a-b", ""), ("link", "a.txt")] {
            let blob = oid(&repo.git(&["rev-parse", &format!("HEAD:{path}")]));
            assert_eq!(reader.read(blob, 5).unwrap().unwrap(), text.as_bytes());
            assert_eq!(reader.size(blob).unwrap(), text.len() as u64);
            assert_eq!(reader.read(blob, 3).unwrap().is_some(), text.is_empty());
        }
        // A commit is no file.
        assert_eq!(reader.read(clone.head().unwrap().unwrap(), 1000).unwrap(), None);
    }
}

/// Commits entries with any names, which need no file on the disk.
fn index(repo: &Repo, entries: &[(&str, &str, Vec<u8>)]) -> String {
    let mut lines = Vec::new();
    for (mode, hash, path) in entries {
        lines.extend(format!("{mode} {hash}\t").bytes());
        lines.extend(path);
        lines.push(0);
    }
    repo.feed(&["update-index", "-z", "--index-info"], &lines);
    let tree = repo.git(&["write-tree"]);
    let commit = repo.git(&["commit-tree", "-m", "any", &tree]);
    repo.git(&["update-ref", "HEAD", &commit]);
    commit
}

#[test]
fn names_have_any_bytes() {
    let repo = Repo::new(&[]);
    let blob = repo.feed(&["hash-object", "-w", "--stdin"], b"text");
    let is_allowed = |byte: &u8| !matches!(byte, 0 | b'/' | b'.' | b'\\' | b':');
    let mut entries: Vec<(&str, &str, Vec<u8>)> = (0..=255u8)
        .filter(is_allowed)
        .flat_map(|byte| [vec![byte], vec![b'd', byte, b'/', b'x', byte], vec![b'a', byte]])
        .map(|path| ("100644", &*blob, path))
        .collect();
    entries.push(("100755", &blob, b"...".to_vec()));
    entries.push(("160000", "1111111111111111111111111111111111111111", b"module".to_vec()));
    entries.push(("120000", &blob, vec![b'n'; 5000]));
    index(&repo, &entries);
    let listed = repo.list("HEAD");
    assert!(listed == repo.bytes(&["ls-tree", "-r", "-z", "HEAD"]));
    assert_eq!(listed.split(|byte| *byte == 0).count(), entries.len() + 1);
}

#[test]
fn a_commit_may_have_no_files() {
    let repo = Repo::new(&[]);
    let clone = repo.open();
    assert_eq!(clone.head().unwrap(), None);
    assert!(clone.refs().unwrap().is_empty());
    repo.commit("empty");
    assert!(repo.list("HEAD").is_empty());
    // The object of the empty tree need not be there.
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let _ = fs::remove_file(repo.path.join(".git/objects").join(&tree[..2]).join(&tree[2..]));
    assert!(repo.list("HEAD").is_empty());
}

/// Writes a tree that git itself would not write.
fn tree(repo: &Repo, entries: &[(&str, &[u8], &str)]) -> String {
    let mut bytes = Vec::new();
    for (mode, name, hash) in entries {
        bytes.extend(mode.bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend(oid(hash).as_bytes());
    }
    repo.feed(&["hash-object", "-w", "-t", "tree", "--literally", "--stdin"], &bytes)
}

fn commit_of(repo: &Repo, tree: &str) -> String {
    let text = format!("tree {tree}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n");
    let args = ["hash-object", "-w", "-t", "commit", "--literally", "--stdin"];
    repo.feed(&args, text.as_bytes())
}

#[test]
fn names_that_git_forbids_are_refused() {
    let repo = Repo::new(&[]);
    let blob = repo.feed(&["hash-object", "-w", "--stdin"], b"text");
    for name in ["..", ".", ".git", ".GIT", "a/b", "../../etc/passwd", "/etc"] {
        for inside in [false, true] {
            let mut top = tree(&repo, &[("100644", name.as_bytes(), &blob)]);
            if inside {
                top = tree(&repo, &[("40000", b"folder", &top)]);
            }
            let commit = oid(&commit_of(&repo, &top));
            let clone = repo.open();
            let listed = clone.list(commit, &mut |_| ControlFlow::Continue(()));
            assert!(matches!(listed, Err(Error::Forbidden(_))), "{name}: {listed:?}");
            let changed = clone.changes(None, Some(commit));
            assert!(matches!(changed, Err(Error::Forbidden(_))), "{name}: {changed:?}");
        }
    }
    for name in [".gitignore", "..a", "...", "git", ".git~"] {
        let commit = commit_of(&repo, &tree(&repo, &[("100644", name.as_bytes(), &blob)]));
        assert_eq!(repo.list(&commit), repo.bytes(&["ls-tree", "-r", "-z", &commit]));
    }
}

#[test]
fn paths_are_sorted_and_different() {
    let repo = Repo::new(&[]);
    let blob = repo.feed(&["hash-object", "-w", "--stdin"], b"text");
    let other = repo.feed(&["hash-object", "-w", "--stdin"], b"other");
    let below = tree(&repo, &[("100644", b"z", &blob), ("100644", b"a", &blob)]);
    let top = [
        ("100644", &b"b"[..], &*other),
        ("40000", b"a", &below),
        ("100664", b"a.c", &blob),
        ("100644", b"b", &blob),
        ("100644", b"a-", &blob),
    ];
    let commit = commit_of(&repo, &tree(&repo, &top));
    let listed = String::from_utf8(repo.list(&commit)).unwrap();
    let paths: Vec<&str> =
        listed.split_terminator('\0').map(|line| line.split_once('\t').unwrap().1).collect();
    assert_eq!(paths, ["a-", "a.c", "a/a", "a/z", "b"]);
    assert!(listed.contains(&format!("{other}\tb")), "the first one is kept");
}

#[test]
fn trees_do_not_explode() {
    let repo = Repo::new(&[]);
    let blob = repo.feed(&["hash-object", "-w", "--stdin"], b"text");
    let names: Vec<String> = (0..16).map(|name| format!("{name:02}")).collect();
    let entries = |mode: &'static str, hash: &str| {
        let all: Vec<(&str, &[u8], &str)> =
            names.iter().map(|name| (mode, name.as_bytes(), hash)).collect();
        tree(&repo, &all)
    };
    let too_large = |top: &str| {
        let (clone, commit) = (repo.open(), oid(&commit_of(&repo, top)));
        let listed = clone.list(commit, &mut |_| ControlFlow::Continue(()));
        assert!(matches!(listed, Err(Error::Huge)), "{listed:?}");
        let changed = clone.changes(Some(commit), None);
        assert!(matches!(changed, Err(Error::Huge)), "{changed:?}");
        // Who wants no more gets no error.
        let mut one = 0;
        let mut each = |_: TreeFile<'_>| {
            one += 1;
            ControlFlow::Break(())
        };
        if clone.list(commit, &mut each).is_ok() {
            assert_eq!(one, 1);
        }
    };
    // 16^8 files, then as many folders without any file.
    for leaf in [entries("100644", &blob), tree(&repo, &[])] {
        let bomb = (0..8).fold(leaf, |below, _| entries("40000", &below));
        too_large(&bomb);
    }
    let deep = (0..600).fold(blob.clone(), |below, depth| {
        tree(&repo, &[(if depth == 0 { "100644" } else { "40000" }, b"d", &below)])
    });
    too_large(&deep);
    // A tree that contains itself: its file has another name than its hash.
    let itself = "1111111111111111111111111111111111111111";
    let real = tree(&repo, &[("40000", b"again", itself)]);
    let objects = repo.path.join(".git/objects");
    fs::create_dir_all(objects.join("11")).unwrap();
    fs::copy(objects.join(&real[..2]).join(&real[2..]), objects.join("11").join(&itself[2..]))
        .unwrap();
    too_large(itself);
}
