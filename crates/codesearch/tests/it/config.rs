//! The configuration file: `codesearch config`, and what ingests and servers take from it.

use super::harness::{Fixture, eventually};

/// Returns what `config check` prints for a file.
fn checked(fixture: &Fixture, text: &str, code: i32) -> (String, String) {
    fixture.write("codesearch.toml", text);
    let ran = fixture.run(&["config", "check", "codesearch.toml"]).code(code);
    let folder = fixture.path().display().to_string();
    (ran.out.replace(&folder, "HERE"), ran.err.replace(&folder, "HERE"))
}

#[test]
fn check_prints_what_the_file_means_without_secrets() {
    let fixture = Fixture::new();
    fixture.write("token", "ghp_secret\n");
    fixture.write("repos/.keep", "");
    let (out, err) = checked(
        &fixture,
        "[[folder]]\npath = \"repos\"\nbranches = [\"release/*\", \"newest:3\"]\nhistory = true\n\
         [[folder]]\npath = \"gone\"\ndepth = 1\nwatch = false\n\
         [host.work]\nkind = \"gitlab\"\nurl = \"https://git.example.com\"\ntoken = \"file:token\"\n\
         take = [\"group/**\"]\nleave = [\"**/old-*\"]\nmax_size = \"2 GB\"\nevery = \"90s\"\n\
         [git.others]\nurls = [\"https://example.com/x.git\"]\n\
         [hook.push]\nsecret = \"env:CODESEARCH_NO_SUCH\"\nhost = \"work\"\n\
         [monitor]\nallow = [\"10.0.0.0/8\"]\n",
        0,
    );
    assert_eq!(
        out,
        "HERE/codesearch.toml\n\
         folder HERE/repos: clones below it; branches release/*, newest:3; with history\n\
         folder HERE/gone: the folders 1 level below it; not watched\n\
         host work: gitlab at https://git.example.com; with the token in file:HERE/token; takes group/**; leaves **/old-*; \
         without forks; up to 2 GB; every 90s\n\
         git others: 1 git address\n\
         hook push: POST /hooks/push for repositories of host work; its secret is in env:CODESEARCH_NO_SUCH\n\
         mirror: every 5m, 4 at once, each up to 1h; what is gone from its host is kept for 1w\n\
         watch: 150ms after the last change; up to half of the folders that the system allows; others are polled every 30s\n\
         monitor: webhooks inside the network to 10.0.0.0/8\n"
    );
    assert_eq!(
        err,
        "codesearch: HERE/codesearch.toml: the folder HERE/gone does not exist\n\
         codesearch: HERE/codesearch.toml: hook push: the variable CODESEARCH_NO_SUCH, which should have a secret, is not set\n"
    );
}

#[test]
fn check_tells_all_mistakes_with_their_places() {
    let fixture = Fixture::new();
    let (out, err) = checked(
        &fixture,
        "[[folder]]\npath = \"repos\"\n\n[host.work]\nkind = \"gitlab\"\ntaek = [\"x\"]\ntoken = \"ghp_secret\"\n",
        2,
    );
    assert_eq!(out, "");
    assert_eq!(
        err,
        "codesearch: HERE/codesearch.toml:4:7: take says what to mirror; write take = [\"OWNER\"], or [\"**\"] for all that \
         the token sees\n\
         HERE/codesearch.toml:6:1: unknown key taek in [host.work]; did you mean take?\n\
         HERE/codesearch.toml:7:9: token: a secret must not stand in this file; write file:PATH, env:NAME or cmd:COMMAND\n"
    );
    let ran = fixture.run(&["config", "check", "missing.toml"]).code(2);
    assert!(
        ran.err.starts_with(
            "codesearch: cannot read the configuration file missing.toml: No such file"
        )
    );
    // Nothing starts with a wrong file.
    for args in [&["ingest", "."][..], &["serve", "--listen", "127.0.0.1:0"], &["up", "."]] {
        let ran = fixture.run(&[args, &["--settings", "codesearch.toml"]].concat()).code(2);
        assert!(ran.err.contains("did you mean take?"), "{}", ran.err);
    }
}

#[test]
fn the_path_is_that_of_the_variable_or_the_usual_one() {
    let fixture = Fixture::new();
    let path = |variable: Option<&str>, code| {
        let mut command = fixture.command(&["config", "path"]);
        command.env("XDG_CONFIG_HOME", fixture.path()).env_remove("CODESEARCH_SETTINGS");
        command.envs(variable.map(|file| ("CODESEARCH_SETTINGS", file)));
        super::harness::Ran::of(command.output().unwrap()).code(code).out
    };
    let usual = format!("{}/codesearch/codesearch.toml\n", fixture.path().display());
    assert_eq!(path(None, 1), usual);
    fixture.write("codesearch/codesearch.toml", "");
    assert_eq!(path(None, 0), usual);
    assert_eq!(path(Some("other.toml"), 1), "other.toml\n");
}

#[test]
fn folders_of_the_file_are_indexed_as_it_says() {
    let fixture = Fixture::new();
    fixture.write("clones/a/one.txt", "needle\n");
    fixture.commit("clones/a", "first");
    fixture.git("clones/a", &["branch", "release/1"]);
    fixture.git("clones/a", &["branch", "topic"]);
    fixture.write("plain/b/.env", "needle\n");
    fixture.write("plain/b/two.txt", "needle\n");
    fixture.write("plain/b/.ignore", "ignored\n");
    fixture.write("plain/b/ignored", "needle\n");
    fixture.write(
        "codesearch.toml",
        "[[folder]]\npath = \"clones\"\nbranches = [\"release/*\"]\n\
         [[folder]]\npath = \"plain\"\ndepth = 1\nsecrets = \"skip\"\nno_ignore = true\n",
    );
    let ingest = |more: &[&str]| {
        let args = ["ingest", "--shards", "2", "--settings", "codesearch.toml"];
        fixture.run(&[&args, more].concat()).code(0)
    };
    let trees = || {
        fixture.sql::<Vec<String>>(
            "select array(select name from trees where valid_to = 2147483647 order by name)",
        )
    };
    ingest(&[]);
    assert_eq!(fixture.search(&["-l", "needle"]), ["a/one.txt", "b/ignored", "b/two.txt"]);
    assert_eq!(trees(), ["release/1"]);
    // The file overrides what an earlier ingest chose, a clone's configuration the file, and an option all of them.
    fixture.git("clones/a", &["config", "codesearch.branches", "topic"]);
    ingest(&[]);
    assert_eq!(trees(), ["topic"]);
    ingest(&["--branches", "none", "--secrets", "keep", "--ignore"]);
    assert_eq!(trees(), Vec::<String>::new());
    assert_eq!(fixture.search(&["-l", "needle"]), ["a/one.txt", "b/.env", "b/two.txt"]);
    ingest(&["plain"]);
    assert_eq!(fixture.search(&["-l", "needle"]), ["a/one.txt", "b/ignored", "b/two.txt"]);
    let ran = fixture.run(&["ingest"]).code(2);
    assert!(ran.err.contains("add [[folder]] to the configuration file"), "{}", ran.err);
    fixture.check_invariants();
}

#[test]
fn a_server_says_that_its_file_is_wrong_and_goes_on() {
    let fixture = Fixture::new();
    fixture.write("a/one.txt", "needle\n");
    fixture.ingest();
    fixture.write("codesearch.toml", "[mirror]\n");
    let server = fixture.serve_with(&["--settings", "codesearch.toml"]);
    let is_used = |value: u8| {
        eventually("the server looks at its file", || {
            let metrics = server.get("/metrics", "*/*").2;
            metrics.contains(&format!("\ncodesearch_configuration_ok {value}\n"))
        });
    };
    is_used(1);
    fixture.write("codesearch.toml", "[miror]\n");
    is_used(0);
    assert_eq!(server.search("needle")["stats"]["complete"], true);
    fixture.write("codesearch.toml", "[mirror]\n# right\n");
    is_used(1);
    server.stop();
}
