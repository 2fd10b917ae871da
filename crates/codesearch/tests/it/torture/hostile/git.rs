//! Hostile contents of `.git`: every part invalid, endless, or of another user.

use std::fs;

use super::NEEDLE;
use super::disk::Disk;

const HASH: &str = "0123456789abcdef0123456789abcdef01234567";

/// Builds the repositories whose `.git` is hostile. Each has a file that must be indexed anyway.
pub(super) fn build(disk: &mut Disk) {
    clone_at(disk, "../private/.git");
    disk.put("../private/.git/worktrees/w/gitdir", "/nowhere/.git\n");
    disk.put("../private/.git/worktrees/w/commondir", "../..\n");
    entries(disk);
    parts(disk);
    configurations(disk);
    heads(disk);
    objects(disk);
    ignore_files(disk);
}

/// Makes a repository with an ordinary file.
fn repo(disk: &mut Disk, name: &str) {
    disk.text(&format!("{name}/a.txt"), &format!("{NEEDLE} {name}\n"));
}

/// Makes the git data of a clone.
fn clone_at(disk: &Disk, path: &str) {
    disk.put(&format!("{path}/HEAD"), "ref: refs/heads/main\n");
    disk.put(&format!("{path}/refs/heads/main"), HASH);
    disk.put(&format!("{path}/config"), "[core]\n\tbare = false\n");
    disk.put(&format!("{path}/objects/pack/x.pack"), "PACK");
}

/// Makes a clone with an ordinary file.
fn clone(disk: &mut Disk, name: &str) {
    repo(disk, name);
    clone_at(disk, &format!("{name}/.git"));
}

/// Makes variants of `.git` itself.
fn entries(disk: &mut Disk) {
    let private = disk.private(".git");
    for (name, to, reason) in [
        ("link-outside", private.clone(), "outside"),
        ("link-loop", ".git".into(), "symlink"),
        ("link-gone", "nowhere".into(), "vanished"),
        ("link-zero", "/dev/zero".into(), "special"),
        ("link-root", "/".into(), "outside"),
    ] {
        repo(disk, name);
        disk.link(&format!("{name}/.git"), to);
        disk.expect(name, ".git", reason);
    }
    let long = format!("gitdir: {}", disk.letters(1 << 20));
    for (name, text, reason) in [
        ("file-outside", format!("gitdir: {}\n", private.display()), "outside"),
        ("file-worktree", format!("gitdir: {}/worktrees/w\n", private.display()), "outside"),
        ("file-relative", "gitdir: ../../private/.git".to_owned(), "outside"),
        ("file-root", "gitdir: /\n".to_owned(), "outside"),
        ("file-device", "gitdir: /dev/zero".to_owned(), "special"),
        ("file-empty", String::new(), "special"),
        ("file-nul", "gitdir: a\0b".to_owned(), "unreadable"),
        ("file-gone", "gitdir: nowhere".to_owned(), "vanished"),
        ("file-long", long, "too-large"),
    ] {
        repo(disk, name);
        disk.put(&format!("{name}/.git"), text);
        disk.expect(name, ".git", reason);
    }
    repo(disk, "pipe");
    disk.pipe("pipe/.git");
    disk.expect("pipe", ".git", "special");
    for (name, common) in [
        ("common-outside", private.to_str().unwrap().to_owned()),
        ("common-relative", "../../../private/.git\n".to_owned()),
        ("common-root", "/".to_owned()),
    ] {
        clone(disk, name);
        disk.put(&format!("{name}/.git/commondir"), common);
        disk.expect(name, ".git", "outside");
    }
}

/// Makes every git file a pipe, a link to a device, a link to the other user's file, and too large.
fn parts(disk: &mut Disk) {
    for part in ["HEAD", "config", "refs/heads/main", "packed-refs", "objects/info/alternates"] {
        for kind in ["pipe", "zero", "private", "large"] {
            let name = format!("{}-{kind}", part.replace('/', "-"));
            clone(disk, &name);
            let path = format!("{name}/.git/{part}");
            let _ = fs::remove_file(disk.at(&path));
            if part == "packed-refs" {
                fs::remove_file(disk.at(&format!("{name}/.git/refs/heads/main"))).unwrap();
            }
            let reason = match kind {
                "pipe" => {
                    disk.pipe(&path);
                    "special"
                }
                "zero" => {
                    disk.link(&path, "/dev/zero");
                    "outside"
                }
                "private" => {
                    disk.link(&path, disk.private("a.txt"));
                    "outside"
                }
                _ => {
                    let size = disk.many(5 << 20, 60 << 20);
                    disk.put(&path, "x=1\n".repeat(size / 4));
                    "too-large"
                }
            };
            // All lines of packed references are read, one after the other.
            if (part, kind) != ("packed-refs", "large") {
                disk.expect(&name, &format!(".git/{part}"), reason);
            }
        }
    }
}

fn configurations(disk: &mut Disk) {
    let origin = |url: &str| format!("[remote \"origin\"]\n\turl = {url}\n");
    let (name, branches) = (disk.letters(12_000), disk.many(1000, 9000));
    let random = String::from_utf8_lossy(&disk.bytes(5000)).into_owned();
    let private = disk.private("a.txt");
    for (at, config) in [
        origin(&format!("https://example.org/{name}")),
        origin("https://example.org/a%00b"),
        origin("https://example.org/%1b%5b31m%0a"),
        origin("https://ann:secret@example.org/x"),
        origin("ann:secret@example.org:x"),
        origin("\"\\\\\\\\server\\\\share\""),
        origin("C:\\\\repos\\\\g"),
        origin("https://example.org/../../../etc/passwd"),
        origin(&"https://".repeat(1000)),
        origin("::::"),
        origin("\u{202e}gro.elpmaxe//:sptth"),
        origin("https://example.org/a").repeat(branches),
        format!("[include]\n\tpath = {}\n\tpath = /dev/zero\n", private.display()),
        "[includeIf \"gitdir:/\"]\n\tpath = /dev/zero\n".to_owned(),
        "[codesearch]\n\trank = 99999999999999999999\n[zoekt]\n\tpriority = nan\n".to_owned(),
        "[".repeat(10_000),
        "[a \"".to_owned() + &name,
        "\\\n".repeat(100_000),
        "\0\0\0".to_owned(),
        random,
    ]
    .into_iter()
    .enumerate()
    {
        clone(disk, &format!("config-{at}"));
        disk.put(&format!("config-{at}/.git/config"), config);
    }
}

fn heads(disk: &mut Disk) {
    let branch = disk.letters(3000);
    let lines = disk.many(2 << 20, 64 << 20);
    for (at, head) in [
        "ref: ref: ref: HEAD".to_owned(),
        "ref: refs/heads/../../../../private/a.txt".to_owned(),
        "ref: /etc/passwd".to_owned(),
        format!("ref: refs/heads/{branch}"),
        "ref: refs/heads/\u{1b}[31m".to_owned(),
        "f".repeat(3000),
        "\0".repeat(40),
        String::new(),
        "ref: refs/heads/packed".to_owned(),
    ]
    .into_iter()
    .enumerate()
    {
        clone(disk, &format!("head-{at}"));
        disk.put(&format!("head-{at}/.git/HEAD"), head);
        disk.put(&format!("head-{at}/.git/packed-refs"), "z".repeat(lines));
    }
}

fn objects(disk: &mut Disk) {
    let private = disk.private(".git/objects");
    let private = private.to_str().unwrap();
    for (name, lines, reason) in [
        ("borrows-outside", format!("{private}\n"), "outside"),
        ("borrows-relative", "../../../../private/.git/objects\n".to_owned(), "outside"),
        ("borrows-quoted", format!("\"{private}\"\n"), "outside"),
        ("borrows-root", "/\n".to_owned(), "outside"),
    ] {
        clone(disk, name);
        disk.put(&format!("{name}/.git/objects/info/alternates"), lines);
        disk.expect(name, ".git/objects/info/alternates", reason);
    }
    // Cycles, and missing folders.
    for (name, lines) in
        [("borrows-itself", "../objects\n"), ("borrows-nothing", "\0\n/nowhere\n#\n\n")]
    {
        clone(disk, name);
        disk.put(&format!("{name}/.git/objects/info/alternates"), lines);
    }
    clone(disk, "objects-outside");
    fs::remove_dir_all(disk.at("objects-outside/.git/objects")).unwrap();
    disk.link("objects-outside/.git/objects", private);
    disk.expect("objects-outside", ".git/objects", "outside");
    for part in ["index", "objects/pack/x.idx", "shallow", "info/grafts", "logs/HEAD", "MERGE_HEAD"]
    {
        let name = format!("garbage-{}", part.replace('/', "-"));
        clone(disk, &name);
        let garbage = disk.bytes(10_000);
        disk.put(&format!("{name}/.git/{part}"), garbage);
    }
}

/// Makes the files that say what git tracks and what ignore files name.
fn ignore_files(disk: &mut Disk) {
    // If these rules are unreadable, untracked files may be left out.
    for kind in ["pipe", "zero", "private"] {
        let name = format!("ignore-{kind}");
        clone_at(disk, &format!("{name}/.git"));
        disk.put(&format!("{name}/a.txt"), NEEDLE);
        let name = format!("exclude-{kind}");
        clone_at(disk, &format!("{name}/.git"));
        disk.put(&format!("{name}/a.txt"), NEEDLE);
        // If nobody knows what is tracked, everything is indexed.
        let name = format!("index-{kind}");
        clone(disk, &name);
        for path in
            [format!("exclude-{kind}/.git/info/exclude"), format!("index-{kind}/.git/index")]
        {
            disk.put(&path, "");
            fs::remove_file(disk.at(&path)).unwrap();
            match kind {
                "pipe" => disk.pipe(&path),
                "zero" => disk.link(&path, "/dev/zero"),
                _ => disk.link(&path, disk.private(".gitignore")),
            }
        }
        let name = format!("ignore-{kind}");
        match kind {
            "pipe" => disk.pipe(&format!("{name}/.gitignore")),
            "zero" => disk.link(&format!("{name}/.gitignore"), "/dev/zero"),
            _ => disk.link(&format!("{name}/.gitignore"), disk.private(".gitignore")),
        }
        disk.expect(&name, ".gitignore", if kind == "pipe" { "special" } else { "symlink" });
    }
    clone(disk, "ignore-broken");
    let garbage = disk.bytes(1000);
    disk.put(
        "ignore-broken/.gitignore",
        [b"[\n\\\n!\n/\n**\0**\n{a,{b,\n".to_vec(), garbage].concat(),
    );
    let name = "ignore-many";
    clone_at(disk, &format!("{name}/.git"));
    let mut rules = String::new();
    while rules.len() < 200 << 10 {
        rules += &format!("*{}*[a-z]?{}\n", disk.letters(3), disk.letters(3));
    }
    disk.put(&format!("{name}/.gitignore"), rules);
}
