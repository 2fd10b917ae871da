//! `codesearch ingest --print-hook`: lines for a hook of git that has codesearch look at the repository.

use std::path::Path;

use anyhow::{Context, Result, bail};
use request::shell::word;

use crate::cli::{DEFAULT_INDEX, DatabaseArgs, GitHook};

/// Prints the lines for a hook.
pub(crate) fn print(database: &DatabaseArgs, hook: GitHook) -> Result<u8> {
    if database.server.is_some() {
        bail!(
            "a hook runs codesearch on this machine; leave out --server, or have the hook send POST /ingest to the server \
             (docs/http.md)"
        );
    }
    let program = std::env::current_exe().context("cannot find this program")?;
    let told = lines(&program.to_string_lossy(), database, hook);
    say!("{}", told.trim_end());
    let name = hook.name();
    let place = if hook == GitHook::PostReceive { "hooks" } else { ".git/hooks" };
    note!(
        "codesearch: write this to {place}/{name} of the repository, then run: chmod +x {place}/{name}"
    );
    Ok(crate::FOUND)
}

/// Returns the lines: a whole hook, which can also be appended to one of the shell.
fn lines(program: &str, database: &DatabaseArgs, hook: GitHook) -> String {
    let mut command = word(program);
    if let Some(home) = &database.home {
        let home = std::path::absolute(home).unwrap_or_else(|_| home.clone());
        command += &format!(" --home {}", word(&home.to_string_lossy()));
    }
    if database.index != DEFAULT_INDEX {
        command += &format!(" --index {}", word(&database.index));
    }
    let when = match hook {
        GitHook::PostCommit => "each commit",
        GitHook::PostCheckout => "each checkout",
        GitHook::PostReceive => "each push",
    };
    // A password must not stand in a hook.
    let url = if database.database_url.is_some() {
        "# DATABASE_URL must be set where git runs this.\n"
    } else {
        ""
    };
    // Git sets variables for its hooks that would make every git command use this repository. The hook does not wait.
    format!(
        "#!/bin/sh\n\
         # Has codesearch look at this repository after {when}. Made by: {} ingest --print-hook {}\n\
         {url}\
         (\n\
         \x20 folder=$(git rev-parse --show-toplevel 2>/dev/null) || folder=$(git rev-parse --absolute-git-dir) || exit\n\
         \x20 unset $(git rev-parse --local-env-vars)\n\
         \x20 {command} ingest --now \"$folder\"\n\
         ) </dev/null >/dev/null 2>&1 &\n",
        Path::new(program).file_name().map_or("codesearch".into(), |name| name.to_string_lossy()),
        hook.name(),
    )
}
