//! Tests of whole files: what they say, and what is said of wrong ones.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;

const FILE: &str = "/etc/codesearch/codesearch.toml";

fn parse(text: &str) -> Settings {
    Settings::parse(Path::new(FILE), text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn an_empty_file_is_the_default() {
    let settings = parse("# nothing yet\n");
    assert!(settings.folders.is_empty() && settings.hosts.is_empty() && settings.git.is_empty());
    assert_eq!(settings.mirror, Mirror::default());
    assert_eq!(settings.watch, Watch::default());
    assert_eq!(settings.file, Some(PathBuf::from(FILE)));
}

#[test]
fn a_file_says_what_is_mirrored_and_indexed() {
    let settings = parse(
        r#"
        [[folder]]
        path = "/srv/code"
        depth = 2
        watch = false
        branches = ["release/*", "newest:3"]
        history = true
        secrets = "skip"

        [[folder]]
        path = "below"

        [host.work]
        kind = "gitlab"
        url = "https://git.example.com/"
        token = "file:token"
        take = ["group/**"]
        leave = ["**/old-*"]
        topics = ["Search"]
        forks = true
        archived = false
        max_size = "2 GB"
        visibility = ["public", "internal"]
        into = "/srv/mirrors"
        clone = "ssh"
        every = "10m"
        no_ignore = true

        [host.github]
        kind = "github"
        take = ["golang"]

        [git.others]
        urls = ["https://example.com/x.git", "git@example.com:y", "https://example.com/x.git"]

        [hook.push]
        secret = "env:HOOK"
        host = "work"

        [mirror]
        every = "1m"
        at_once = 8
        grace = "14d"

        [watch]
        poll = "1m"

        [monitor]
        allow = ["10.0.0.0/8", "Hooks.example.com", "::1"]
        "#,
    );
    let [first, second] = &settings.folders[..] else { panic!("two folders") };
    assert_eq!(
        (first.path.as_path(), first.depth, first.watch),
        (Path::new("/srv/code"), Some(2), false)
    );
    assert_eq!(
        first.indexing.branches.as_deref(),
        Some(&["release/*".to_owned(), "newest:3".to_owned()][..])
    );
    assert_eq!((first.indexing.history, first.indexing.skip_secrets), (Some(true), Some(true)));
    assert_eq!(second.path, Path::new("/etc/codesearch/below"));
    assert_eq!(second.indexing, Indexing::default());
    let [work, github] = &settings.hosts[..] else { panic!("two hosts") };
    assert_eq!(
        (work.kind, &*work.url, &*work.api),
        (HostKind::GitLab, "https://git.example.com", "https://git.example.com/api/v4")
    );
    assert_eq!(work.token, Some(Secret::File(PathBuf::from("/etc/codesearch/token"))));
    assert_eq!(work.take.matching("Group/sub/x"), Some("group/**"));
    assert_eq!(work.leave.matching("group/sub/old-x"), Some("**/old-*"));
    assert_eq!(work.topics, ["search"]);
    assert_eq!((work.forks, work.archived, work.max_size), (true, false, Some(2_000_000_000)));
    assert_eq!(work.visibility, [Visibility::Public, Visibility::Internal]);
    assert_eq!((work.clone, work.every), (Transport::Ssh, Some(Duration::from_mins(10))));
    assert_eq!(work.indexing.no_ignore, Some(true));
    assert_eq!((&*github.url, &*github.api), ("https://github.com", "https://api.github.com"));
    assert_eq!((github.forks, github.archived, github.clone), (false, true, Transport::Https));
    assert_eq!(settings.git[0].urls.len(), 2);
    assert_eq!(settings.hooks[0].host.as_deref(), Some("work"));
    assert_eq!((settings.mirror.every, settings.mirror.at_once), (Duration::from_mins(1), 8));
    assert_eq!(settings.mirror.grace, Duration::from_hours(14 * 24));
    assert_eq!(settings.watch.poll, Duration::from_mins(1));
    let allows = |address: &str| {
        settings.monitor.allow.iter().any(|allowed| allowed.has_address(address.parse().unwrap()))
    };
    assert!(allows("10.255.0.1") && allows("::1") && allows("::ffff:10.0.0.1"));
    assert!(!allows("11.0.0.1") && !allows("::2"));
    assert!(settings.monitor.allow.iter().any(|allowed| allowed.is_host("hooks.EXAMPLE.com")));
}

/// Checks what is said of a wrong file: each mistake without the file's name.
fn check(text: &str, expected: &[&str]) {
    let error = Settings::parse(Path::new(FILE), text).unwrap_err().to_string();
    let told: Vec<&str> = error
        .lines()
        .map(|line| line.strip_prefix(&format!("{FILE}:")).expect("the file"))
        .collect();
    assert_eq!(told, expected, "{text}");
}

#[test]
fn mistakes_are_told_with_their_place_and_what_to_write() {
    const HOST: &str = "[host.x]\nkind = \"github\"\ntake = [\"a\"]\n";
    let host = |line: &str, expected: &str| check(&format!("{HOST}{line}\n"), &[expected]);
    check("[folders]\n", &["1:2: unknown section folders; did you mean folder?"]);
    check(
        "[server]\n",
        &[
            "1:2: unknown section server; the file has [[folder]], [host.NAME], [git.NAME], [hook.NAME], [mirror], [watch], [monitor], [identity], [access]",
        ],
    );
    check("[folder]\npath = \"x\"\n", &["1:1: a folder has two brackets; write [[folder]]"]);
    check("[[folder]]\n", &["1:1: path is missing; write path = \"FOLDER\""]);
    check(
        "[[folder]]\npath = \"/x\"\ndpeth = 1\n",
        &["3:1: unknown key dpeth in [[folder]]; did you mean depth?"],
    );
    check(
        "[watch]\ncolour = 1\n",
        &["2:1: unknown key colour in [watch]; it has after, poll, max_folders"],
    );
    check("[[folder]]\npath = 3\n", &["2:8: path must be text; write path = \"...\""]);
    check(
        "[[folder]]\npath = \"/x\"\n\n[[folder]]\npath = \"/x/\"\n",
        &["5:8: /x/ stands twice; keep one of the two"],
    );
    check(
        "[[folder]]\npath = \"~root/x\"\n",
        &["2:8: path: \"~root/x\" is another user's home; write the path that begins with /"],
    );
    check(
        "[[folder]]\npath = \"/x\"\nhistory = \"yes\"\ndepth = -1\nsecrets = \"no\"\n",
        &[
            "3:11: history must be true or false, without quotes",
            "4:9: depth must be a whole number from 0 to 99",
            "5:11: secrets: unknown value \"no\", use keep or skip",
        ],
    );
    check(
        "[[folder]]\npath = \"/x\"\nbranches = \"main\"\n",
        &["3:12: branches must be a list of texts; write branches = [\"main\"]"],
    );
    check(
        "[[folder]]\npath = \"/x\"\nbranches = [\"a,b\", 3]\n",
        &[
            "3:13: branches: \"a,b\" has a comma; write each glob for itself, in quotes",
            "3:20: branches is a list of texts; write \"...\"",
        ],
    );
    check(
        "[host]\nkind = \"github\"\n",
        &["2:1: host needs a name; write [host.NAME], and kind below it"],
    );
    check(
        "[host.x]\n",
        &[
            "1:7: kind is missing; write kind = \"github\", \"gitlab\", \"gitea\" or \"forgejo\"",
            "1:7: take says what to mirror; write take = [\"OWNER\"], or [\"**\"] for all that the token sees",
        ],
    );
    check(
        "[host.x]\nkind = \"bitbucket\"\ntake = []\n",
        &[
            "2:8: kind: unknown value \"bitbucket\", use github, gitlab, gitea or forgejo",
            "3:8: take says what to mirror; write take = [\"OWNER\"], or [\"**\"] for all that the token sees",
        ],
    );
    check(
        "[host.x]\nkind = \"gitea\"\ntake = [\"a\"]\n",
        &["1:7: a gitea host needs its address; write url = \"https://...\""],
    );
    check(
        "[host.\"a b\"]\nkind = \"github\"\ntake = [\"a\"]\n",
        &["1:7: \"a b\" cannot be a name; use letters, digits, hyphens, underscores and dots"],
    );
    host("url = \"github.com\"", "4:7: url: \"github.com\" is not an address; write https://HOST");
    host(
        "url = \"https://me:pw@github.com\"",
        "4:7: url: an address must have no user name or password; write token = \"file:PATH\"",
    );
    host(
        "token = \"ghp_0123\"",
        "4:9: token: a secret must not stand in this file; write file:PATH, env:NAME or cmd:COMMAND",
    );
    host(
        "leave = [\"a[\"]",
        "4:10: leave: \"a[\" is invalid: unclosed character class; missing ']'",
    );
    host(
        "leave = [\"https://github.com/a/b\"]",
        "4:10: leave: \"https://github.com/a/b\" is an address; write the path on the host, as in golang/go",
    );
    host("max_size = \"2\"", "4:12: max_size: \"2\" is not a size; write 500 KB, 20 MB or 2 GB");
    host("max_size = 2000", "4:12: max_size must be text; write max_size = \"...\"");
    host("every = \"often\"", "4:9: every: \"often\" is not a duration; write 30s, 5m, 2h or 7d");
    host("clone = \"git\"", "4:9: clone: unknown value \"git\", use https or ssh");
    host(
        "visibility = [\"secret\"]",
        "4:15: visibility: unknown value \"secret\", use public, internal or private",
    );
    check("[git.x]\n", &["1:6: urls has the git addresses; write urls = [\"https://HOST/PATH\"]"]);
    check(
        "[git.x]\nurls = [\"ext::sh\"]\n",
        &["2:9: urls: \"ext::sh\" would run a program; write an https:// or ssh:// address"],
    );
    check(
        &format!("{HOST}[git.x]\nurls = [\"/srv/x\"]\n"),
        &["4:6: [host.x] has the same name; use another one"],
    );
    check(
        "[hook.push]\n",
        &["1:7: secret is missing; write secret = \"file:PATH\", \"env:NAME\" or \"cmd:COMMAND\""],
    );
    check(
        &format!("{HOST}[hook.push]\nsecret = \"env:X\"\nhost = \"y\"\n"),
        &["6:8: unknown host y; add [host.y], or take host away"],
    );
    check(
        "[monitor]\nallow = [\"10.0.0.0/33\", \"a b\"]\n",
        &[
            "2:10: allow: \"10.0.0.0/33\" is not a network or host; write 10.0.0.0/8 or host.name",
            "2:25: allow: \"a b\" is not a network or host; write 10.0.0.0/8 or host.name",
        ],
    );
    check("[mirror]\nat_once = 0\n", &["2:11: at_once must be a whole number from 1 to 64"]);
}

#[test]
fn what_is_no_toml_is_told_with_its_place() {
    let error = Settings::parse(Path::new(FILE), "[host.x]\nkind = github\n").unwrap_err();
    let Error::Wrong { problems, .. } = error else { panic!("{error}") };
    assert_eq!((problems[0].line, problems[0].column), (2, 8), "{problems:?}");
}

#[test]
fn no_message_has_a_secret() {
    for text in [
        "[host.x]\nkind = \"github\"\ntake = [\"a\"]\ntoken = \"SECRET\"\n",
        "[host.x]\nkind = \"github\"\ntake = [\"a\"]\nurl = \"https://SECRET@github.com\"\n",
        "[git.x]\nurls = [\"https://u:SECRET@h/x\"]\n",
        "[hook.x]\nsecret = \"SECRET\"\n",
    ] {
        let error = Settings::parse(Path::new(FILE), text).unwrap_err();
        assert!(!error.to_string().contains("SECRET"), "{error}");
    }
}

#[test]
fn a_changed_file_is_read_again_and_a_wrong_one_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("codesearch.toml");
    std::fs::write(&file, "[mirror]\nat_once = 2\n").unwrap();
    let watched = Watched::open(Some(&file)).unwrap();
    assert_eq!(watched.get().mirror.at_once, 2);
    std::fs::write(&file, "[mirror]\nat_once = 33\n").unwrap();
    assert_eq!(watched.get().mirror.at_once, 33);
    std::fs::write(&file, "[mirror]\nat_once = 0\n# wrong\n").unwrap();
    assert_eq!(watched.get().mirror.at_once, 33);
    let error = watched.error().unwrap().to_string();
    assert!(error.ends_with(":2:11: at_once must be a whole number from 1 to 64"), "{error}");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(watched.get().mirror.at_once, 33);
    assert!(watched.error().unwrap().to_string().starts_with("cannot read the configuration file"));
    std::fs::write(&file, "").unwrap();
    assert_eq!(watched.get().mirror.at_once, 4);
    assert_eq!(watched.error(), None);
    std::fs::write(&file, "[x]\n").unwrap();
    assert!(Watched::open(Some(&file)).is_err());
}

#[test]
fn an_empty_path_means_no_file() {
    assert!(Settings::find(Some(Path::new(""))).unwrap().file.is_none());
    let missing = Settings::find(Some(Path::new("/no/such.toml"))).unwrap_err().to_string();
    assert_eq!(
        missing,
        "cannot read the configuration file /no/such.toml: No such file or directory (os error 2)"
    );
}

#[test]
fn a_section_says_whose_jwts_count() {
    let identity = parse(
        r#"
        [identity]
        issuer = "https://id.example.com/"
        audience = ["codesearch"]
        keys = "file:keys.json"
        admin_groups = ["ops"]
        url = "https://search.example/"
        "#,
    );
    let Identity { jwt, admin_groups, ingest_groups, url } = identity.identity;
    let jwt = jwt.unwrap();
    // The claim is compared as it is.
    assert_eq!(jwt.issuer, "https://id.example.com/");
    assert_eq!(jwt.keys, KeySource::File(PathBuf::from("/etc/codesearch/keys.json")));
    assert_eq!((&*jwt.user, &*jwt.groups), ("sub", "groups"));
    assert_eq!((admin_groups, ingest_groups), (vec!["ops".to_owned()], Vec::new()));
    assert_eq!(url.as_deref(), Some("https://search.example"));
    // Rights of groups alone are for those of a proxy.
    assert_eq!(parse("[identity]\nadmin_groups = [\"ops\"]\n").identity.jwt, None);
    check(
        "[identity]\nissuer = \"x\"\nkeys = \"http://id.example.com/keys\"\nadmin_groups = [\"\"]\n",
        &[
            "1:1: audience says for whom JWTs are; write audience = [\"codesearch\"], as their claim aud has it",
            "3:8: keys: whoever is between id.example.com and this server could replace keys that come by HTTP; write \
             https://",
            "4:17: admin_groups: an empty name is nobody's",
        ],
    );
    check(
        "[identity]\nuser = \"email\"\nusr = 1\n",
        &[
            "1:1: audience says for whom JWTs are; write audience = [\"codesearch\"], as their claim aud has it",
            "1:1: issuer is missing; write issuer = \"https://...\", as the claim iss of its JWTs has it",
            "1:1: keys is missing; write keys = \"https://...\", the jwks_uri in \
             ISSUER/.well-known/openid-configuration, or \"file:PATH\"",
            "3:1: unknown key usr in [identity]; did you mean user?",
        ],
    );
}
