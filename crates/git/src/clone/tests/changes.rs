//! Changes between commits.

use super::*;

/// Returns the changes in the format of `git diff-tree -r -z --raw --no-abbrev`, with `R` for renames.
fn raw(repo: &Repo, old: &str, new: &str) -> Vec<u8> {
    let clone = repo.open();
    let (old, new) = (clone.resolve(old).unwrap(), clone.resolve(new).unwrap());
    let zeros = Oid::null(old.kind()).to_string();
    let mut all = Vec::new();
    for TreeChange { old, new } in clone.changes(Some(old), Some(new)).unwrap() {
        let side = |file: &Option<ChangedFile>| match file {
            Some(file) => (octal(file.mode), file.oid.to_string()),
            None => ("000000", zeros.clone()),
        };
        let (a, b) = (side(&old), side(&new));
        let status = match (&old, &new) {
            (None, _) => "A",
            (_, None) => "D",
            (Some(old), Some(new)) if old.path != new.path => "R",
            _ if a.0.starts_with("10") != b.0.starts_with("10") || a.0[..2] != b.0[..2] => "T",
            _ => "M",
        };
        all.extend(format!(":{} {} {} {} {status}\0", a.0, b.0, a.1, b.1).bytes());
        let mut paths: Vec<Vec<u8>> =
            [old, new].into_iter().flatten().map(|file| file.path).collect();
        paths.dedup();
        for path in paths {
            all.extend(path);
            all.push(0);
        }
    }
    all
}

fn is_as_git(repo: &Repo, old: &str, new: &str) {
    let found = String::from_utf8_lossy(&raw(repo, old, new)).into_owned();
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "-M", "-l1000", old, new];
    let git = String::from_utf8_lossy(&repo.bytes(&args)).into_owned();
    // How similar the files are is another number.
    let git: Vec<String> = git
        .split('\0')
        .map(|field| match field.rsplit_once(" R") {
            Some((before, _)) if field.starts_with(':') => format!("{before} R"),
            _ => field.to_owned(),
        })
        .collect();
    let found: Vec<&str> = found.split('\0').collect();
    assert_eq!(found, git, "{old} {new}");
}

fn lines(from: usize, to: usize) -> String {
    let all: Vec<String> =
        (from..to).map(|line| format!("this is the line {line} of it\n")).collect();
    all.concat()
}

#[test]
fn changes_are_those_of_git() {
    for options in [&[][..], &["--object-format=sha256"]] {
        let repo = Repo::new(options);
        for name in
            ["same", "changed", "removed", "moved/away", "alike", "mode", "kind", "to-folder", "e"]
        {
            repo.write(name, format!("{name}\n{}", lines(name.len(), name.len() + 40)));
        }
        repo.write("from-folder/a", "in a folder\n");
        repo.write("empty", "");
        repo.write("name/with space\n", "odd\n");
        repo.write("far.bin", [0, 1, 2, 3].repeat(100));
        repo.commit("old");
        repo.git(&["tag", "old"]);
        fs::remove_file(repo.path.join("removed")).unwrap();
        fs::create_dir(repo.path.join("new")).unwrap();
        fs::rename(repo.path.join("moved/away"), repo.path.join("new/away2")).unwrap();
        fs::rename(repo.path.join("far.bin"), repo.path.join("farther.bin")).unwrap();
        fs::remove_file(repo.path.join("alike")).unwrap();
        repo.write("similar", format!("alike\n{}", lines(5, 35)));
        fs::remove_file(repo.path.join("e")).unwrap();
        repo.write("different", lines(100, 140));
        repo.write("changed", "changed\n");
        repo.write("new/empty", "");
        fs::remove_file(repo.path.join("empty")).unwrap();
        repo.git(&["update-index", "--chmod=+x", "mode"]);
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(repo.path.join("mode"), executable).unwrap();
        fs::remove_file(repo.path.join("kind")).unwrap();
        std::os::unix::fs::symlink("same", repo.path.join("kind")).unwrap();
        fs::remove_file(repo.path.join("to-folder")).unwrap();
        repo.write("to-folder/file", "now in a folder\n");
        fs::remove_dir_all(repo.path.join("from-folder")).unwrap();
        repo.write("from-folder", "now a file\n");
        repo.write("name/with space\n", "odd one\n");
        repo.git(&["add", "-A"]);
        let module = format!("160000,{},module", repo.git(&["rev-parse", "old"]));
        repo.git(&["update-index", "--add", "--cacheinfo", &module]);
        repo.git(&["commit", "-q", "-m", "new"]);
        let found = raw(&repo, "old", "HEAD");
        let found = String::from_utf8_lossy(&found);
        assert_eq!(found.matches(" R\0").count(), 4, "{found}");
        assert_eq!(found.matches(" T\0").count(), 1, "{found}");
        is_as_git(&repo, "old", "HEAD");
        is_as_git(&repo, "HEAD", "old");
        is_as_git(&repo, "HEAD", "HEAD");
        let clone = repo.open();
        let commit = clone.resolve("HEAD").unwrap();
        let added = clone.changes(None, Some(commit)).unwrap();
        assert!(added.iter().all(|change| change.old.is_none()));
        let paths: Vec<Vec<u8>> = added.iter().map(|change| change.path().to_owned()).collect();
        let git = repo.bytes(&["ls-tree", "-r", "-z", "--name-only", "HEAD"]);
        assert_eq!(
            paths,
            git.split(|byte| *byte == 0).filter(|path| !path.is_empty()).collect::<Vec<_>>()
        );
        assert!(clone.changes(None, None).unwrap().is_empty());
    }
}

#[test]
fn a_moved_folder_is_as_many_renames() {
    let repo = Repo::new(&[]);
    for number in 0..200 {
        repo.write(
            &format!("a/{number}/mod.rs"),
            format!("{number}\n{}", lines(number, number + 9)),
        );
        repo.write(&format!("a/{number}/licence"), "the same in all folders\n");
    }
    repo.commit("old");
    repo.git(&["mv", "a", "b"]);
    repo.commit("new");
    let clone = repo.open();
    let changes = clone
        .changes(Some(clone.resolve("HEAD~1").unwrap()), Some(clone.resolve("HEAD").unwrap()))
        .unwrap();
    assert_eq!(changes.len(), 400);
    for TreeChange { old, new } in changes {
        let path = |file: Option<ChangedFile>| String::from_utf8(file.unwrap().path).unwrap();
        assert_eq!(path(old)[1..], path(new)[1..]);
    }
}

#[test]
fn a_file_is_renamed_once() {
    let repo = Repo::new(&[]);
    repo.write("a", lines(0, 20));
    repo.write("b", lines(100, 120));
    repo.commit("old");
    repo.git(&["mv", "a", "c"]);
    repo.write("d", lines(0, 20));
    repo.git(&["rm", "-q", "b"]);
    repo.write("e", lines(100, 118));
    repo.write("f", lines(100, 111));
    repo.commit("new");
    let found = String::from_utf8(raw(&repo, "HEAD~1", "HEAD")).unwrap();
    assert_eq!(found.matches(" R\0").count(), 2, "{found}");
    assert!(found.contains(" R\0b\0e\0"), "{found}");
    is_as_git(&repo, "HEAD~1", "HEAD");
}

#[test]
fn line_changes_are_those_of_git() {
    let mut dice = Dice(7);
    let folder = tempfile::tempdir().unwrap();
    let repo = Repo::new(&[]).at(folder.path().to_owned());
    for round in 0..40 {
        let mut text = |most: usize| -> String {
            let lines = dice.below(most);
            let all: Vec<String> = (0..lines).map(|_| format!("{}\n", dice.below(30))).collect();
            let mut text = all.concat();
            if dice.below(4) == 0 {
                text.push_str("no line feed");
            }
            text
        };
        let (old, new) = (text(30), text(30));
        let hunks = line_changes(&old, &new);
        // The new text is the old one with all changes.
        let (olds, news): (Vec<&str>, Vec<&str>) =
            (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
        let (mut made, mut at): (Vec<&str>, usize) = (Vec::new(), 0);
        for hunk in &hunks {
            made.extend(&olds[at..hunk.old.start as usize]);
            made.extend(&news[hunk.new.start as usize..hunk.new.end as usize]);
            at = hunk.old.end as usize;
        }
        made.extend(&olds[at..]);
        assert_eq!(made, news);
        // Git's changes are not fewer by much.
        repo.write("old", &old);
        repo.write("new", &new);
        let args = ["diff", "--no-index", "--histogram", "--numstat", "old", "new"];
        let output = Command::new("git").args(args).current_dir(&repo.path).output().unwrap();
        let numbers = String::from_utf8(output.stdout).unwrap();
        let git: Vec<u32> =
            numbers.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        let ours = |lines: &dyn Fn(&Hunk) -> u32| hunks.iter().map(lines).sum::<u32>();
        let ours = [ours(&|hunk| hunk.new.len() as u32), ours(&|hunk| hunk.old.len() as u32)];
        assert_eq!(
            ours.as_slice(),
            if git.is_empty() { &[0, 0] } else { &git[..2] },
            "{round}: {old:?} {new:?}"
        );
    }
    assert!(line_changes("", "").is_empty());
    let change = line_changes("a\nb", "a\nb\n");
    assert_eq!(change, [Hunk { old: 1..2, new: 1..2 }]);
    assert_eq!(line_changes("a\nb\nc\n", "a\nc\n"), [Hunk { old: 1..2, new: 1..1 }]);
    assert_eq!(line_changes("a\r\nb\n", "a\nb\n"), [Hunk { old: 0..1, new: 0..1 }]);
}
