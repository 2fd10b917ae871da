use super::*;

fn text(reader: &Reader<'_>, path: &str) -> Result<Vec<u8>, SkipReason> {
    reader(path, None).map(|read| read.bytes).map_err(|skipped| skipped.reason)
}

#[test]
fn what_cannot_be_read_is_left_out_with_a_reason() {
    let temporary = tempfile::tempdir().unwrap();
    let at = temporary.path().canonicalize().unwrap();
    std::fs::write(at.join("big"), "12345").unwrap();
    std::os::unix::fs::symlink("big", at.join("link")).unwrap();
    let source = FolderSource::new(&at, &[], Choice::default());
    let reason = |path: &str, max| text(&source.open(max).unwrap(), path).unwrap_err();
    assert_eq!(reason("big", 4), SkipReason::TooLarge);
    assert_eq!(reason("gone", 4), SkipReason::Vanished);
    assert_eq!(reason("link", 9), SkipReason::Symlink);
    assert_eq!(reason(".", 9), SkipReason::Special);
    assert_eq!(text(&source.open(5).unwrap(), "big").unwrap(), b"12345");
}

#[test]
fn a_folder_that_became_a_link_is_not_entered() {
    let temporary = tempfile::tempdir().unwrap();
    let at = temporary.path().canonicalize().unwrap();
    for path in ["repo/sub", "private"] {
        std::fs::create_dir_all(at.join(path)).unwrap();
        std::fs::write(at.join(path).join("a.txt"), path).unwrap();
    }
    let source = FolderSource::new(&at.join("repo"), &[], Choice::default());
    let reader = source.open(99).unwrap();
    assert_eq!(text(&reader, "sub/a.txt").unwrap(), b"repo/sub");
    std::fs::rename(at.join("repo/sub"), at.join("kept")).unwrap();
    std::os::unix::fs::symlink("../private", at.join("repo/sub")).unwrap();
    assert_eq!(text(&reader, "sub/a.txt"), Err(SkipReason::Symlink));
    // Replace the repository itself.
    std::fs::rename(at.join("repo"), at.join("before")).unwrap();
    std::os::unix::fs::symlink("private", at.join("repo")).unwrap();
    assert_eq!(source.open(99).err(), Some(SkipReason::Symlink));
    assert_eq!(text(&reader, "a.txt"), Err(SkipReason::Vanished));
}
