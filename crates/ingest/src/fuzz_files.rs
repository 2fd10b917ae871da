//! Entry points for fuzzers, see [`crate::fuzz`].

use std::fs;
use std::path::{Path, PathBuf};

use super::{find, read};

/// Decodes, cuts and hashes a file, with the name that the first byte chooses. Checks chunks and hash against the text.
pub fn file(bytes: &[u8]) {
    const NAMES: [&str; 16] = [
        "README.md",
        "README",
        "a.rs",
        "a.go",
        "a.c",
        "a.py",
        "a.js",
        "a.html",
        "a.java",
        "a.sh",
        "man.1",
        "a.rst",
        "a.adoc",
        "a.org",
        "a.txt",
        "a.tex",
    ];
    let Some((first, bytes)) = bytes.split_first() else { return };
    let name = NAMES[usize::from(*first) % NAMES.len()];
    let Ok(text) = read::text_of(name, bytes.to_vec(), 0, None) else { return };
    let (mut at, mut line) = (0, 1);
    for chunk in &text.chunks {
        assert_eq!((chunk.start, chunk.line), (at, line));
        line += text.text[chunk.start..chunk.end].matches('\n').count() as i32;
        at = chunk.end;
    }
    assert_eq!(at, text.text.len());
    assert_eq!(text.lines as usize, text.text.lines().count());
    let word = text.encoding.word();
    assert!(files::is_text_of(&text.oid, word.as_deref(), &text.text), "{:?}", text.text);
    if let Some(again) = text.encoding.encode(&text.text) {
        assert_eq!(again, bytes);
    }
    assert!(!text.text.contains('\0'));
    if let Some(doc) = text.doc {
        assert!(!doc.body.contains('\0'));
    }
}

/// Finds repositories, given the files of git, separated by NULs: `.git/HEAD`, `config`, `packed-refs`, `commondir`, a
/// branch, and a `.git` that is a file.
pub fn git(bytes: &[u8]) {
    let folder = scratch();
    let _ = fs::remove_dir_all(&folder);
    let mut parts = bytes.splitn(6, |byte| *byte == 0);
    let put = |path: &Path, part: Option<&[u8]>| {
        if let Some(part) = part.filter(|part| !part.is_empty()) {
            let _ = fs::create_dir_all(path.parent().expect("it is in a folder"));
            let _ = fs::write(path, part);
        }
    };
    let git = folder.join("own/.git");
    fs::create_dir_all(&git).expect("a folder for temporary files");
    for name in ["HEAD", "config", "packed-refs", "commondir", "refs/heads/main"] {
        put(&git.join(name), parts.next());
    }
    put(&folder.join("other/.git"), parts.next());
    for depth in [None, Some(1)] {
        if let Ok(below) = find::repositories(&folder, depth, false) {
            for repo in below.repos {
                assert!(repo.folder.starts_with(&folder), "{repo:?}");
            }
        }
    }
}

/// Returns the path of this process's own folder.
fn scratch() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    base.join(format!("codesearch-fuzz-{}", std::process::id()))
}
