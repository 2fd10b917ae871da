//! Branches, tags and revisions.

use super::*;

#[test]
fn revisions_are_those_of_git() {
    let repo = Repo::new(&[]);
    for number in 0..3 {
        repo.write("a", format!("{number}\n"));
        repo.commit(&format!("number {number}"));
    }
    repo.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    repo.write("b", "b\n");
    repo.commit("side");
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    repo.git(&["tag", "light"]);
    repo.git(&["tag", "-a", "-m", "heavy", "heavy", "HEAD~1"]);
    repo.git(&["tag", "-a", "-m", "heavier", "heavier", "heavy"]);
    let short = repo.git(&["rev-parse", "--short=4", "HEAD"]);
    let clone = repo.open();
    for revision in [
        "HEAD",
        "@",
        "main",
        "side",
        "light",
        "heavy",
        "heavier",
        "heavy^{}",
        "heavier~1",
        "main^2",
        "main^2~1",
        "main~2",
        "refs/heads/side",
        "heads/side",
        "tags/heavy",
        "HEAD^0",
        "@~",
        "@^^",
        &short,
        "heavy^{commit}",
        "HEAD~0",
        "heavy-0-g0000000^0",
    ] {
        let revision = revision.replace("0000000", &short);
        let expected = repo.git(&["rev-parse", &format!("{revision}^{{commit}}")]);
        assert_eq!(clone.resolve(&revision).unwrap().to_string(), expected, "{revision}");
    }
    assert_eq!(clone.head_branch().as_deref(), Some("main"));
}
