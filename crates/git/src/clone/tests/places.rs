//! Clones of all kinds, and clones that change or are damaged.

use super::*;

fn filled(options: &[&str]) -> Repo {
    let repo = Repo::new(options);
    for number in 0..5 {
        repo.write(&format!("folder/{number}"), format!("{number}\n").repeat(100));
        repo.write("same", format!("changes {number}\n").repeat(300));
        repo.commit(&format!("number {number}"));
    }
    repo
}

fn is_listed(repo: &Repo) {
    assert_eq!(repo.list("HEAD"), repo.bytes(&["ls-tree", "-r", "-z", "HEAD"]));
    let reader = repo.open().reader();
    let listed = repo.git(&["ls-tree", "-r", "--format=%(objectname)", "HEAD"]);
    for hash in listed.lines() {
        assert_eq!(
            reader.read(oid(hash), 1 << 20).unwrap().unwrap(),
            repo.bytes(&["cat-file", "blob", hash])
        );
    }
}

#[test]
fn packs_of_all_kinds() {
    for options in [&[][..], &["--object-format=sha256"]] {
        let repo = filled(options);
        repo.git(&["repack", "-q", "-d"]);
        repo.write("new", "new\n");
        repo.commit("new");
        repo.git(&["repack", "-q", "-d"]);
        is_listed(&repo);
        repo.git(&["multi-pack-index", "write"]);
        is_listed(&repo);
        repo.git(&["repack", "-q", "-a", "-d", "--write-bitmap-index"]);
        is_listed(&repo);
        repo.git(&["-c", "pack.indexVersion=1", "repack", "-q", "-a", "-d", "-f"]);
        is_listed(&repo);
        repo.write("loose", "loose\n");
        repo.commit("loose");
        is_listed(&repo);
    }
}

#[test]
fn bare_clones_and_worktrees() {
    let repo = filled(&[]);
    let bare = repo.path.join("../bare.git");
    repo.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    is_listed(&repo.at(bare.canonicalize().unwrap()));
    let tree = repo.path.join("../tree");
    repo.git(&["worktree", "add", "-q", "-b", "topic", tree.to_str().unwrap(), "HEAD~2"]);
    let tree = tree.canonicalize().unwrap();
    let git = repo.path.join(".git");
    let clone = super::super::Clone::open(&tree, std::slice::from_ref(&git)).unwrap();
    assert_eq!(clone.head_branch().as_deref(), Some("topic"));
    assert_eq!(clone.head().unwrap().unwrap().to_string(), repo.git(&["rev-parse", "HEAD~2"]));
    assert_eq!(clone.refs().unwrap(), repo.open().refs().unwrap());
    // Without the right to read the main clone.
    assert!(matches!(super::super::Clone::open(&tree, &[]), Err(Error::Outside)));
    let plain = repo.path.join("folder");
    assert!(matches!(super::super::Clone::open(&plain, &[]), Err(Error::NoClone)));
    assert!(matches!(super::super::Clone::open(&plain.join("gone"), &[]), Err(Error::NoFolder)));
}

#[test]
fn borrowed_objects_are_read_if_they_are_trusted() {
    let repo = filled(&[]);
    let shared = repo.path.join("../shared");
    repo.git(&["clone", "-q", "--shared", ".", shared.to_str().unwrap()]);
    let shared = repo.at(shared.canonicalize().unwrap());
    shared.write("more", "more\n");
    shared.commit("more");
    // A clone that borrows from one that borrows, by a path from its own folder.
    let third = repo.path.join("../third");
    repo.git(&["clone", "-q", "--shared", shared.path.to_str().unwrap(), third.to_str().unwrap()]);
    let third = repo.at(third.canonicalize().unwrap());
    fs::write(third.path.join(".git/objects/info/alternates"), "../../../shared/.git/objects\n")
        .unwrap();
    fs::write(shared.path.join(".git/objects/info/alternates"), "../../../clone/.git/objects\n")
        .unwrap();
    third.write("most", "most\n");
    third.commit("most");
    let parts = [repo.path.join(".git/objects"), shared.path.join(".git/objects")];
    let clone = super::super::Clone::open(&third.path, &parts).unwrap();
    let mut paths = Vec::new();
    let head = clone.head().unwrap().unwrap();
    let mut each = |file: TreeFile<'_>| {
        paths.push((file.path.to_owned(), file.oid));
        ControlFlow::Continue(())
    };
    clone.list(head, &mut each).unwrap();
    assert_eq!(paths.len(), 8);
    let reader = clone.reader();
    for (path, blob) in paths {
        assert!(reader.read(blob, 1 << 20).unwrap().is_some(), "{path:?}");
    }
    assert_eq!(clone.commits(&[head], &[]).count(), 7);
    for some in [&parts[..1], &parts[1..], &[]] {
        assert!(matches!(super::super::Clone::open(&third.path, some), Err(Error::Outside)));
    }
    // Clones that borrow from each other.
    fs::write(repo.path.join(".git/objects/info/alternates"), "../../../third/.git/objects\n")
        .unwrap();
    let parts = [&parts[..], &[third.path.join(".git/objects")]].concat();
    let clone = super::super::Clone::open(&third.path, &parts).unwrap();
    assert_eq!(clone.commits(&[head], &[]).count(), 7);
}

#[test]
fn a_shallow_clone_ends_where_it_says() {
    let repo = filled(&[]);
    let shallow = repo.path.join("../shallow");
    let url = format!("file://{}", repo.path.display());
    repo.git(&["clone", "-q", "--depth=2", &url, shallow.to_str().unwrap()]);
    let shallow = repo.at(shallow.canonicalize().unwrap());
    is_listed(&shallow);
    let clone = shallow.open();
    let head = clone.head().unwrap().unwrap();
    let commits: Vec<CommitInfo> = clone.commits(&[head], &[]).map(Result::unwrap).collect();
    assert_eq!(commits.len(), 2);
    assert!(commits[1].parents.is_empty());
    assert_eq!(clone.merge_base(head, commits[1].id).unwrap(), Some(commits[1].id));
    assert_eq!(clone.resolve("HEAD~1").unwrap(), commits[1].id);
    let said = clone.resolve("HEAD~2").unwrap_err();
    assert!(matches!(said, RevisionError::Missing { .. }));
    assert!(
        said.to_string().contains("a shallow clone; fetch all of it with: git fetch --unshallow"),
        "{said}"
    );
    shallow.git(&["fetch", "-q", "--unshallow"]);
    assert_eq!(shallow.open().commits(&[head], &[]).count(), 5);
}

#[test]
fn a_partial_clone_lacks_objects() {
    let repo = filled(&[]);
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    let partial = repo.path.join("../partial");
    let url = format!("file://{}", repo.path.display());
    let target = partial.to_str().unwrap();
    repo.git(&["clone", "-q", "--no-checkout", "--filter=blob:none", &url, target]);
    let partial = repo.at(partial.canonicalize().unwrap());
    let before = files_of(&partial.path);
    assert_eq!(partial.list("HEAD"), repo.bytes(&["ls-tree", "-r", "-z", "HEAD"]));
    let blob = oid(&repo.git(&["rev-parse", "HEAD:same"]));
    let clone = partial.open();
    for said in [clone.reader().read(blob, 10).unwrap_err(), clone.reader().size(blob).unwrap_err()]
    {
        let fetch =
            "as it is a partial clone; fetch all of it with: git fetch --refetch --no-filter";
        assert!(said.to_string().contains(fetch), "{said}");
    }
    // Renames are found without the contents.
    let (old, new) = (clone.resolve("HEAD~4").unwrap(), clone.resolve("HEAD").unwrap());
    assert_eq!(clone.changes(Some(old), Some(new)).unwrap().len(), 5);
    assert_eq!(files_of(&partial.path), before, "nothing was fetched");
    partial.git(&["fetch", "-q", "--refetch", "--no-filter"]);
    assert!(partial.open().reader().read(blob, 1 << 20).unwrap().is_some(), "the advice helps");
}

#[test]
fn an_open_clone_may_be_repacked() {
    let repo = filled(&[]);
    repo.git(&["repack", "-q", "-a", "-d"]);
    let clone = repo.open();
    let reader = clone.reader();
    let head = clone.head().unwrap().unwrap();
    let mut commits = clone.commits(&[head], &[]);
    commits.next().unwrap().unwrap();
    let old = oid(&repo.git(&["rev-parse", "HEAD:same"]));
    assert!(reader.read(old, 1 << 20).unwrap().is_some());
    repo.write("later", "later\n");
    let later = repo.commit("later");
    repo.git(&["repack", "-q", "-a", "-d", "-f"]);
    repo.git(&["prune-packed"]);
    let new = oid(&repo.git(&["rev-parse", "HEAD:later"]));
    assert_eq!(reader.read(new, 100).unwrap().unwrap(), b"later\n");
    assert!(reader.read(old, 1 << 20).unwrap().is_some());
    assert_eq!(commits.filter(|commit| commit.as_ref().is_ok()).count(), 4);
    // Objects that became loose, from a pack.
    assert_eq!(clone.resolve("HEAD").unwrap().to_string(), later, "refs are read again, too");
    fs::remove_dir_all(repo.path.join(".git/objects")).unwrap();
    let gone = reader.read(new, 100).unwrap_err();
    assert!(matches!(gone, Error::NoClone | Error::Changed), "{gone}");
}

#[test]
fn a_damaged_clone_says_so() {
    let repo = filled(&[]);
    let first = repo.git(&["rev-parse", "HEAD~4"]);
    let loose = repo.path.join(".git/objects").join(&first[..2]).join(&first[2..]);
    let kept = fs::read(&loose).unwrap();
    fs::remove_file(&loose).unwrap();
    let clone = repo.open();
    let head = clone.head().unwrap().unwrap();
    let commits: Vec<_> = clone.commits(&[head], &[]).collect();
    assert_eq!(commits.len(), 5, "four commits and an error");
    let said = commits[4].as_ref().unwrap_err().to_string();
    assert_eq!(said, format!("the clone does not have {first}; check the clone with: git fsck"));
    let said = clone.resolve("HEAD~4").unwrap_err();
    assert!(matches!(said, RevisionError::Missing { .. }), "{said}");
    assert!(matches!(clone.merge_base(head, oid(&first)), Err(Error::Missing { .. })));
    let mut permissions =
        repo.path.join(".git/objects").join(&first[..2]).metadata().unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    fs::write(&loose, &kept[..kept.len() / 2]).unwrap();
    let said = repo.open().resolve("HEAD~4").unwrap_err();
    assert!(said.to_string().contains(&format!("{first} of the clone is damaged")), "{said}");
    fs::write(&loose, kept).unwrap();
    repo.git(&["repack", "-q", "-a", "-d"]);
    let packs = files_of(&repo.path.join(".git/objects/pack"));
    let pack = packs.iter().find(|path| path.extension() == Some("pack".as_ref())).unwrap();
    let bytes = fs::read(pack).unwrap();
    for length in [bytes.len() / 2, 40, 12, 3, 0] {
        fs::remove_file(pack).unwrap();
        fs::write(pack, &bytes[..length]).unwrap();
        let clone = repo.open();
        let mut failures = 0;
        for revision in ["HEAD", "HEAD~4"] {
            if let Err(told) = clone.resolve(revision) {
                let is_told =
                    matches!(told, RevisionError::Broken { .. } | RevisionError::Missing { .. });
                assert!(is_told, "{told}");
                failures += 1;
            }
        }
        let listed = clone.list(head, &mut |_| ControlFlow::Continue(()));
        assert!(failures > 0 || listed.is_err(), "{length}");
    }
}

#[test]
fn nothing_of_a_configuration_takes_effect() {
    let repo = filled(&[]);
    let made = repo.path.join("../made");
    let touch = format!("touch {}", made.display());
    let evil = format!(
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {touch}\n\thooksPath = /\n\tsshCommand = {touch}\n\tgitProxy = \
         {touch}\n\tpager = {touch}\n\tworktree = /\n\talternateRefsCommand = {touch}\n\tattributesFile = \
         /dev/zero\n\texcludesFile = /dev/zero\n[include]\n\tpath = /dev/zero\n[filter \"x\"]\n\tclean = {touch}\n\tsmudge = \
         {touch}\n\tprocess = {touch}\n\trequired\n[diff \"x\"]\n\tcommand = {touch}\n\ttextconv = {touch}\n[diff]\n\texternal \
         = {touch}\n[uploadpack]\n\tpackObjectsHook = {touch}\n[remote \"origin\"]\n\turl = ext::{touch}\n\tpromisor = \
         true\n\tuploadpack = {touch}\n[gpg]\n\tprogram = {touch}\n[credential]\n\thelper = \
         !{touch}\n[extensions]\n\tworktreeConfig = true\n"
    );
    repo.write(".git/config", &evil);
    repo.write(".git/config.worktree", &evil);
    repo.write(".git/info/attributes", "* filter=x diff=x\n");
    repo.write(".git/info/grafts", "nothing\n");
    repo.write(".git/objects/info/http-alternates", "http://localhost:1/\n");
    let clone = repo.open();
    let head = clone.head().unwrap().unwrap();
    assert_eq!(clone.refs().unwrap().len(), 1);
    assert_eq!(clone.commits(&[head], &[]).count(), 5);
    assert_eq!(clone.changes(None, Some(head)).unwrap().len(), 6);
    let mut blobs = Vec::new();
    let mut each = |file: TreeFile<'_>| {
        blobs.push(file.oid);
        ControlFlow::Continue(())
    };
    clone.list(head, &mut each).unwrap();
    for blob in blobs {
        clone.reader().read(blob, 1 << 20).unwrap().unwrap();
    }
    let missing = Oid::from_hex(b"0123456789abcdef0123456789abcdef01234567").unwrap();
    assert!(clone.reader().read(missing, 1).is_err());
    assert!(!made.exists());
}

#[test]
fn objects_that_are_swapped_are_not_read() {
    let repo = filled(&[]);
    // Another user's clone, whose objects the server could read.
    let other = filled(&[]);
    other.write("secret", "secret\n");
    other.commit("secret");
    let secret = other.git(&["rev-parse", "HEAD:secret"]);
    let clone = repo.open();
    let reader = clone.reader();
    assert!(reader.read(oid(&secret), 100).is_err());
    let objects = repo.path.join(".git/objects");
    let theirs = other.path.join(".git/objects");
    let loose = objects.join(&secret[..2]);
    let kept = objects.join("kept");
    if loose.exists() {
        fs::rename(&loose, &kept).unwrap();
    }
    std::os::unix::fs::symlink(theirs.join(&secret[..2]), &loose).unwrap();
    assert!(matches!(reader.read(oid(&secret), 100), Err(Error::Outside)));
    fs::remove_file(&loose).unwrap();
    // A link in place of one object, and of a pack.
    fs::create_dir(&loose).unwrap();
    let reader = repo.open().reader();
    std::os::unix::fs::symlink(
        theirs.join(&secret[..2]).join(&secret[2..]),
        loose.join(&secret[2..]),
    )
    .unwrap();
    assert!(matches!(reader.read(oid(&secret), 100), Err(Error::Outside)));
    fs::remove_dir_all(&loose).unwrap();
    let reader = repo.open().reader();
    other.git(&["repack", "-q", "-a", "-d"]);
    for pack in files_of(&theirs.join("pack")) {
        std::os::unix::fs::symlink(&pack, objects.join("pack").join(pack.file_name().unwrap()))
            .unwrap();
    }
    assert!(matches!(reader.read(oid(&secret), 100), Err(Error::Outside)));
    for pack in files_of(&objects.join("pack")) {
        fs::remove_file(pack).unwrap();
    }
    // Objects that are borrowed later.
    let reader = repo.open().reader();
    fs::write(objects.join("info/alternates"), format!("{}\n", theirs.display())).unwrap();
    assert!(reader.read(oid(&secret), 100).is_err());
    assert!(matches!(super::super::Clone::open(&repo.path, &[]), Err(Error::Outside)));
    // The whole clone is moved, and a link takes its place.
    fs::remove_file(objects.join("info/alternates")).unwrap();
    let reader = repo.open().reader();
    let git = repo.path.join(".git");
    fs::rename(&git, repo.path.join("moved")).unwrap();
    std::os::unix::fs::symlink(other.path.join(".git"), &git).unwrap();
    assert!(reader.read(oid(&secret), 100).is_err());
}
