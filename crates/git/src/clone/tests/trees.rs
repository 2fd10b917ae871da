//! Files of commits, and their changes.

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
        let clone = repo.open();
        let reader = clone.reader();
        for (path, text) in [("a/b/c.txt", "one\n"), ("a-b", ""), ("link", "a.txt")] {
            let blob = oid(&repo.git(&["rev-parse", &format!("HEAD:{path}")]));
            assert_eq!(reader.read(blob, 100).unwrap().unwrap(), text.as_bytes());
            assert_eq!(reader.size(blob).unwrap(), text.len() as u64);
        }
    }
}
