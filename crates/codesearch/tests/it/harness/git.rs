//! Clones made by a test.

use std::process::Command;

use super::Fixture;

impl Fixture {
    /// Runs git in a folder, without the user's own configuration, and returns what it prints.
    #[track_caller]
    pub(crate) fn git(&self, folder: &str, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.args(["-c", "user.name=Ann O'Nym", "-c", "user.email=ann@example.org"]);
        let done = command.args(args).current_dir(self.path().join(folder)).output().unwrap();
        let (out, err) = (String::from_utf8(done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success(), "{args:?}: {err}");
        out.unwrap().trim().to_owned()
    }

    /// Commits everything in a folder, which becomes a clone if it is not one. Returns the hash of the commit.
    #[track_caller]
    pub(crate) fn commit(&self, folder: &str, message: &str) -> String {
        if !self.path().join(folder).join(".git").exists() {
            self.git(folder, &["init", "--quiet"]);
        }
        self.git(folder, &["add", "--all"]);
        self.git(folder, &["commit", "--quiet", "--allow-empty", "--message", message]);
        self.git(folder, &["rev-parse", "HEAD"])
    }
}
