use super::*;

fn make(root: &Path, git: &[(&str, &str)], plain: &[&str]) {
    for (folder, origin) in git {
        let git = root.join(folder).join(".git");
        fs::create_dir_all(&git).unwrap();
        let config = match *origin {
            "" => String::new(),
            url => format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {url}\n"),
        };
        fs::write(git.join("config"), config).unwrap();
    }
    for folder in plain {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
}

fn names(root: &Path, depth: Option<usize>) -> Vec<String> {
    let below = repositories(root, depth, false).unwrap();
    below.repos.into_iter().map(|repo| repo.origin.unwrap_or(repo.below)).collect()
}

#[test]
fn names_come_from_the_origin_or_the_place() {
    let root = tempfile::tempdir().unwrap();
    make(
        root.path(),
        &[
            ("a", "https://github.com/golang/go.git"),
            ("b", "git@github.com:rust-lang/rust"),
            ("c", "ssh://git@example.org:2222/x/y.git/"),
            ("d/e", ""),
            ("f", "https://github.com/golang/go/"),
            ("g", "../elsewhere"),
        ],
        &["h"],
    );
    let expected = [
        "github.com/golang/go",
        "github.com/rust-lang/rust",
        "example.org/x/y",
        "d/e",
        "github.com/golang/go",
        "g",
    ];
    assert_eq!(names(root.path(), None), expected);
    let below = repositories(root.path(), None, false).unwrap();
    let root = root.path().canonicalize().unwrap();
    assert_eq!(below.without_repos.first, [root.join("h")]);
}

#[test]
fn a_folder_without_repositories_is_one_itself() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("mine");
    make(&folder, &[], &["src/deep"]);
    assert_eq!(names(&folder, None), ["mine"]);
}

#[test]
fn a_checkout_inside_of_another_is_a_repository_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    make(root.path(), &[("a", ""), ("a/.worktrees/w", ""), ("a/sub/deep/er", "")], &["a/src"]);
    let all = ["a", "a/.worktrees/w", "a/sub/deep/er"];
    assert_eq!(names(root.path(), None), all);
    assert_eq!(names(root.path(), Some(1)), all);
    // A folder of a clone means the clone.
    let inside = repositories(&root.path().join("a/src"), None, false).unwrap();
    assert_eq!(inside.root, root.path().join("a").canonicalize().unwrap());
    assert_eq!(names(&root.path().join("a/src"), None), names(&root.path().join("a"), None));
    assert_eq!(names(&root.path().join("a/src"), Some(0)), ["src"]);
}

#[test]
fn what_lies_beside_repositories_is_told() {
    let root = tempfile::tempdir().unwrap();
    make(root.path(), &[("a", ""), ("x/b", "")], &["plain"]);
    fs::write(root.path().join("x/note.txt"), "note").unwrap();
    let link = |to: &str, from: &str| {
        std::os::unix::fs::symlink(root.path().join(to), root.path().join(from)).unwrap();
    };
    link("a", "link");
    link("nowhere", "broken");
    for depth in [None, Some(1)] {
        let below = repositories(root.path(), depth, false).unwrap();
        let root = root.path().canonicalize().unwrap();
        assert_eq!(below.links.first, [root.join("link")]);
        let loose = if depth.is_none() { vec![root.join("x"), root] } else { vec![root] };
        assert_eq!(below.loose.first, loose);
    }
}

#[test]
fn depth_takes_every_folder() {
    let root = tempfile::tempdir().unwrap();
    make(root.path(), &[("x/one", "https://example.org/o/ne")], &["x/two", "y/three/deep"]);
    assert_eq!(names(root.path(), Some(2)), ["example.org/o/ne", "x/two", "y/three"]);
    assert!(matches!(repositories(root.path(), Some(7), false), Err(Error::NoFolders { .. })));
}

#[test]
fn a_forge_has_an_address_for_each_file() {
    let hash = "0123456789abcdef0123456789abcdef01234567";
    let root = tempfile::tempdir().unwrap();
    let origins = ["https://github.com/a/b", "https://gitlab.example.org/a/b", "https://x.org/a"];
    let folders = ["one", "two", "three"];
    let all: Vec<(&str, &str)> = folders.into_iter().zip(origins).collect();
    make(root.path(), &all, &["one/.git/refs/heads"]);
    let write = |path: &str, text: &str| fs::write(root.path().join(path), text).unwrap();
    write("one/.git/HEAD", "ref: refs/heads/main\n");
    write("one/.git/refs/heads/main", &format!("{hash}\n"));
    write("two/.git/HEAD", "ref: refs/heads/x\n");
    write("two/.git/packed-refs", &format!("# pack-refs\n{hash} refs/heads/x\n"));
    write("three/.git/HEAD", hash);
    let below = repositories(root.path(), None, false).unwrap();
    let webs: Vec<Option<String>> = below.repos.into_iter().map(|repo| repo.web).collect();
    let github = format!("https://github.com/a/b/blob/{hash}/");
    let gitlab = format!("https://gitlab.example.org/a/b/-/blob/{hash}/");
    assert_eq!(webs, [Some(github), None, Some(gitlab)]);
}

#[test]
fn what_is_not_read_of_git_is_told_and_the_files_are_still_there() {
    let root = tempfile::tempdir().unwrap();
    let link = |to: &str, from: &str| {
        fs::create_dir_all(root.path().join(from).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, root.path().join(from)).unwrap();
    };
    make(root.path(), &[("one", "https://github.com/a/b"), ("two", "https://x/%00")], &[]);
    // Reading it would never end.
    link("/dev/zero", "one/.git/HEAD");
    link(".git", "three/.git");
    let below = repositories(root.path(), None, false).unwrap();
    let told: Vec<_> = below
        .repos
        .iter()
        .map(|repo| {
            let unread: Vec<_> = repo.unread.iter().map(|part| &*part.path).collect();
            (repo.origin.as_deref(), &*repo.below, unread.join(" "), repo.is_origin_odd)
        })
        .collect();
    assert_eq!(
        told,
        [
            (Some("github.com/a/b"), "one", ".git/HEAD".to_owned(), false),
            (None, "three", ".git".to_owned(), false),
            (None, "two", String::new(), true),
        ]
    );
}

#[test]
fn many_folders_are_counted() {
    let root = tempfile::tempdir().unwrap();
    let plain: Vec<String> = (0..50).map(|n| format!("x/{n:02}")).collect();
    let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
    make(root.path(), &[("x/repo", "")], &plain);
    let Listed { first, more } = repositories(root.path(), None, false).unwrap().without_repos;
    assert_eq!((first.len(), more), (MAX_LISTED, 50 - MAX_LISTED));
    let long = vec!["y".repeat(200); 4].join("/");
    make(root.path(), &[(&long, "")], &[]);
    let below = repositories(root.path(), None, false).unwrap();
    assert!(below.repos.iter().all(|repo| repo.below.len() <= MAX_NAME_BYTES));
}

#[test]
fn a_rank_is_what_the_configuration_says() {
    let root = tempfile::tempdir().unwrap();
    for (folder, config) in [
        ("a", "[codesearch]\n\trank = 7\n[zoekt]\n\tpriority = 900\n"),
        ("b", "[zoekt]\n\tpriority = 12.5\n"),
        ("c", "[zoekt]\n\tpriority = 1e9\n"),
        ("d", "[core]\n\tbare = false\n"),
        ("e", "[codesearch]\n\trank = high\n"),
        ("f", "[codesearch]\n\trank = 65536\n"),
        ("g", "[zoekt]\n\tpriority = -3\n"),
    ] {
        make(root.path(), &[(folder, "")], &[]);
        fs::write(root.path().join(folder).join(".git/config"), config).unwrap();
    }
    let below = repositories(root.path(), None, false).unwrap();
    let ranks: Vec<u16> = below.repos.iter().map(|repo| repo.rank).collect();
    assert_eq!(ranks, [7, 12, u16::MAX, 0, 0, 0, 0]);
    let unranked: Vec<_> = below.unranked.iter().map(|path| path.file_name().unwrap()).collect();
    assert_eq!(unranked, ["e", "f"]);
}

#[test]
fn a_submodule_names_its_configuration() {
    let root = tempfile::tempdir().unwrap();
    make(root.path(), &[("outer", "")], &["outer/.git/modules/sub", "sub"]);
    let config = "[remote \"origin\"]\nurl = https://example.org/s/ub\n";
    fs::write(root.path().join("outer/.git/modules/sub/config"), config).unwrap();
    fs::write(root.path().join("sub/.git"), "gitdir: ../outer/.git/modules/sub\n").unwrap();
    assert_eq!(names(root.path(), None), ["outer", "example.org/s/ub"]);
}
