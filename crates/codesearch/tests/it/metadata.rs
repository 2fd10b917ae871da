//! What is known of repositories besides their files: queries, facets, ranks, and where it is shown.

use serde_json::{Value, json};

use super::harness::{Fixture, Server, eventually};

/// Writes a repository whose configuration says something.
fn repo(fixture: &Fixture, name: &str, config: &str) {
    // Equal files would be shown as one.
    fixture.write(&format!("{name}/one.txt"), format!("needle {}\n", &name[..1]));
    fixture.write(&format!("{name}/.git/HEAD"), "ref: refs/heads/main\n");
    fixture.write(&format!("{name}/.git/config"), config);
}

/// Three repositories of which much is known, and one of which nothing is.
fn known() -> Fixture {
    let fixture = Fixture::new();
    repo(
        &fixture,
        "old",
        "[codesearch]\n\tarchived = true\n\tfork = no\n\ttopics = Search, grep\n\tstars = 1000\n\tdescription = An old one\n\
         [codesearch \"meta\"]\n\tteam = Search\n",
    );
    repo(
        &fixture,
        "fork",
        "[codesearch]\n\tfork\n\tpublic = false\n\ttopics = grep\n\ttopics = tools\n[codesearch \"meta\"]\n\tTeam = tools\n",
    );
    repo(
        &fixture,
        "zoekt",
        "[zoekt]\n\tarchived = 0\n\tfork = 0\n\tpublic = 1\n\tgithub-stars = 10\n",
    );
    fixture.write("plain/one.txt", "needle\n");
    fixture.ingest();
    fixture
}

/// Returns the names of the repositories that a query finds, sorted.
fn found(server: &Server, query: &str) -> Vec<String> {
    let answer = server.search(query);
    let files = answer["files"].as_array().unwrap();
    let mut names: Vec<String> =
        files.iter().map(|file| file["repo"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn queries_ask_for_what_is_known() {
    let fixture = known();
    let server = fixture.serve();
    for (query, expected) in [
        ("archived:yes", &["old"][..]),
        ("archived:only", &["old"]),
        // What is unknown counts as no.
        ("archived:no", &["fork", "plain", "zoekt"]),
        ("-archived:yes", &["fork", "plain", "zoekt"]),
        ("-archived:no", &["old"]),
        ("fork:yes", &["fork"]),
        ("fork:no", &["old", "plain", "zoekt"]),
        ("public:yes", &["zoekt"]),
        ("public:no", &["fork", "old", "plain"]),
        ("topic:grep", &["fork", "old"]),
        ("topic:GREP -fork:yes", &["old"]),
        ("topic:search,tools", &["fork", "old"]),
        ("-topic:grep", &["plain", "zoekt"]),
        ("topic:gre", &[]),
        ("meta.team:search", &["old"]),
        ("meta.Team:^S", &["old"]),
        ("meta.team:.", &["fork", "old"]),
        ("-meta.team:.", &["plain", "zoekt"]),
        ("meta.owner:.", &[]),
        ("(archived:yes or fork:yes) topic:grep", &["fork", "old"]),
        ("archived:no repo:o", &["fork", "zoekt"]),
        ("archived:any", &["fork", "old", "plain", "zoekt"]),
    ] {
        assert_eq!(found(&server, &format!("needle {query}")), expected, "{query}");
        let brute = fixture.run(&["search", "--brute", "-l", "--", "needle", query]);
        let mut lines: Vec<&str> =
            brute.out.lines().map(|at| at.split('/').next().unwrap()).collect();
        lines.sort_unstable();
        assert_eq!(lines, expected, "{query}");
    }
    let repos = server.search("needle archived:no type:repo");
    assert_eq!(repos["repos"].as_array().unwrap().len(), 3, "{repos}");
    // Those who may not see a repository learn nothing of it.
    let restricted = fixture.serve_with(&["--only-repos", "plain,zoekt"]);
    assert_eq!(found(&restricted, "needle archived:yes"), Vec::<String>::new());
    let page = restricted.get("/search?q=needle", "text/html").2;
    assert!(!page.contains("archived:yes") && !page.contains("topic:"), "{page}");
    restricted.stop();
    server.stop();
}

#[test]
fn results_can_be_narrowed_by_what_is_known() {
    let fixture = known();
    let server = fixture.serve();
    let page = server.get("/search?q=needle", "text/html").2;
    for link in ["archived:yes", "archived:no", "fork:yes", "public:no", "topic:grep"] {
        assert!(page.contains(&format!("needle%20{link}\"")), "{link}: {page}");
    }
    // A condition is shown, and can be removed.
    let page = server.get("/search?q=needle+topic:grep", "text/html").2;
    assert!(page.contains("topic:grep") && page.contains("href=\"/search?q=needle\""), "{page}");
    server.stop();
}

#[test]
fn a_condition_that_no_repository_meets_is_told() {
    let fixture = known();
    let told = |query: &str| {
        let ran = fixture.run(&["search", "--hints", "always", "needle", query]).code(1);
        ran.err
    };
    for (query, expected) in [
        ("topic:serch", "no repository has topic:serch; did you mean topic:search?"),
        ("topic:none", "no repository has topic:none"),
        ("meta.taem:x", "no repository has meta.taem:x; did you mean meta.team:x?"),
        ("meta.team:x", "no repository has meta.team:x"),
        ("meta.owner:x", "no repository has a text owner"),
    ] {
        assert!(told(query).contains(expected), "{query}: {}", told(query));
    }
    let ran = fixture.run(&["search", "needle", "archived:maybe"]).code(2);
    assert!(
        ran.err.contains("unknown value \"maybe\"; use archived:yes or archived:no"),
        "{}",
        ran.err
    );
    let plain = Fixture::new();
    plain.write("plain/one.txt", "needle\n");
    plain.ingest();
    let ran = plain.run(&["search", "--hints", "always", "needle", "archived:yes"]).code(1);
    assert!(
        ran.err.contains("of no repository it is known whether it is archived; a mirrored host"),
        "{}",
        ran.err
    );
}

#[test]
fn what_is_known_is_shown() {
    let fixture = known();
    let server = fixture.serve();
    let (_, repos) = server.json("/repos");
    let of = |name: &str| -> Value {
        let repos = repos["repos"].as_array().unwrap();
        repos.iter().find(|repo| repo["name"] == name).unwrap()["about"].clone()
    };
    assert_eq!(
        of("old"),
        json!({
            "host": null, "description": "An old one", "archived": true, "fork": false, "public": null,
            "topics": ["grep", "search"], "stars": 1000, "pushed_at": null, "default_branch": null,
            "meta": {"team": "Search"},
        })
    );
    assert_eq!(of("plain"), Value::Null);
    let listed = fixture.run(&["repos", "--json"]).code(0).out;
    let old = listed.lines().find(|line| line.contains("\"name\":\"old\"")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(old).unwrap()["about"], of("old"));
    assert!(fixture.run(&["repos"]).code(0).out.contains("\n  archived, 1,000 stars\n"));
    assert!(server.get("/repos", "text/html").2.contains("archived · 1,000 stars"));
    let page = server.get("/repos?repo=old", "text/html").2;
    assert!(
        page.contains("<dd>An old one</dd>") && page.contains("<dd>grep, search</dd>"),
        "{page}"
    );
    assert_eq!(
        fixture.sql::<String>(
            "select string_agg(format('%s %s %s %s', repository, archived, topics, stars), '; ' order by repository)
             from codesearch_sql.repositories"
        ),
        "fork  {grep,tools} ; old t {grep,search} 1000; plain   ; zoekt f  10"
    );
    fixture.check_invariants();
    server.stop();
}

#[test]
fn zoekts_clients_get_it_as_zoekts_commands_write_it() {
    let fixture = known();
    let server = fixture.serve();
    let list = |query: &str| {
        let url = format!("http://{}/api/list", server.address);
        let body = json!({ "Q": query }).to_string();
        let mut answer = ureq::post(url).content_type("application/json").send(body).unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["List"]["Repos"].take()
    };
    let old = &list("archived:yes")[0]["Repository"];
    assert_eq!(old["Name"], "old");
    assert_eq!(old["RawConfig"], json!({"archived": "1", "fork": "0", "github-stars": "1000"}));
    assert_eq!(old["Metadata"], json!({"team": "Search"}));
    assert_eq!(old["Rank"], 7108);
    let plain = &list("archived:no fork:no -public:yes")[0]["Repository"];
    assert_eq!(
        (&plain["Name"], &plain["RawConfig"], &plain["Metadata"]),
        (&json!("plain"), &Value::Null, &Value::Null)
    );
    server.stop();
}

#[test]
fn stars_are_the_rank_that_nobody_gave() {
    let fixture = known();
    let server = fixture.serve();
    let order = || -> Vec<String> {
        let files = server.json("/search?q=needle&sort=relevance").1["files"].clone();
        files
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["repo"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(order()[..2], ["old", "zoekt"]);
    // The operator's rank overrides stars.
    repo(&fixture, "zoekt", "[codesearch]\n\trank = 20000\n[zoekt]\n\tgithub-stars = 10\n");
    fixture.ingest();
    eventually("the server hears of it", || order()[..2] == ["zoekt", "old"]);
    server.stop();
}

#[test]
fn a_change_of_metadata_is_an_epoch_and_nothing_else_is() {
    let fixture = known();
    let server = fixture.serve();
    let epoch = || fixture.sql::<i32>("select epoch from state");
    let before = epoch();
    fixture.ingest();
    assert_eq!(epoch(), before);
    repo(&fixture, "old", "[codesearch]\n\tarchived = false\n");
    fixture.ingest();
    assert_eq!(epoch(), before + 1);
    eventually("the server hears of it", || found(&server, "needle archived:yes").is_empty());
    // What is no longer said is unknown again.
    repo(&fixture, "old", "");
    repo(&fixture, "fork", "");
    fixture.ingest();
    assert_eq!(epoch(), before + 2);
    assert_eq!(fixture.sql::<i64>("select count(*) from metadata"), 1);
    // What a host says overrides the configuration.
    let zoekt = fixture.path().join("zoekt").canonicalize().unwrap();
    fixture.exec(&format!(
        "update metadata set host = 'work', archived = true where source = '{}'",
        zoekt.display()
    ));
    fixture.ingest();
    assert!(fixture.sql::<bool>("select archived from metadata"));
    std::fs::remove_dir_all(zoekt).unwrap();
    fixture.ingest();
    assert_eq!(fixture.sql::<i64>("select count(*) from metadata"), 0);
    fixture.check_invariants();
    server.stop();
}
