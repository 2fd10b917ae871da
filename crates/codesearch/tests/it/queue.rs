//! The queue of changes: what its rows name is looked at, and then the index is as a new one would be.

mod growth;
mod kills;
mod random;
mod trees;

use std::fs;
use std::time::Duration;

use ingest::{Options, Report, queue};
use serde_json::Value;
use store::{Change, Reason, Store, Target, Waited};

use crate::harness::{Fixture, eventually, socket_folder};

/// Time within which everything of these tests is done.
const LONG: Duration = Duration::from_mins(1);

pub(super) async fn connect(index: &str) -> Store {
    let target = Target::Socket {
        folder: socket_folder(),
        role: "codesearch".to_owned(),
        database: index.to_owned(),
    };
    Store::connect(&target, 2, store::Missing::Make).await.unwrap()
}

fn change(source: &str, paths: &[&str]) -> Change {
    let paths = (!paths.is_empty()).then(|| paths.iter().map(|path| (*path).to_owned()).collect());
    Change { source: source.to_owned(), paths, reason: Reason::Watched }
}

pub(super) fn on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

/// Puts changes of folders of the fixture into its queue, and has them taken.
fn take(fixture: &Fixture, changes: &[(&str, &[&str])]) -> Report {
    let root = fixture.path().canonicalize().unwrap();
    on(async {
        let store = connect(&fixture.index).await;
        let changes: Vec<Change> = changes
            .iter()
            .map(|(folder, paths)| change(root.join(folder).to_str().unwrap(), paths))
            .collect();
        store.enqueue(&changes).await.unwrap();
        let report = queue::drain(&store, &Options::default(), &|_| ()).await.unwrap();
        store.close().await;
        report
    })
}

/// Returns what the index has, apart from when it was read: files, left-out files and repositories.
pub(super) fn contents(fixture: &Fixture) -> Vec<String> {
    fixture.sql(
        "select coalesce(array_agg(row order by row collate \"C\"), '{}') from (
             select concat_ws(' ', repository, tree, path, language, bytes, hash) from codesearch_sql.tree_files
             union all select concat_ws(' ', 'left out:', repository, path, bytes, reason, rule) from codesearch_sql.left_out
             union all select concat_ws(' ', 'repository:', name, source, files, bytes, skipped, no_ignore, secrets,
                                        from_commit, branches, git_folders) from repos where indexed_at is not null
         ) rows (row)",
    )
}

/// Ingests the fixture's folder into an index of its own, and compares what both have.
#[track_caller]
pub(super) fn check(fixture: &Fixture, options: &[&str], what: &str) {
    let new = Fixture::new();
    let mut command =
        new.command(&[&["ingest", "--shards", "4", "--no-symbols"], options].concat());
    let done = command.arg(fixture.path()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let (found, expected) = (contents(fixture), contents(&new));
    let missing: Vec<&String> = expected.iter().filter(|row| !found.contains(row)).collect();
    let more: Vec<&String> = found.iter().filter(|row| !expected.contains(row)).collect();
    assert!(
        missing.is_empty() && more.is_empty(),
        "{what}: missing: {missing:#?}, more: {more:#?}"
    );
}

/// A folder with clones, of which one lies in another, and a folder without git data.
fn clones() -> Fixture {
    let fixture = Fixture::new();
    for (path, text) in [
        ("a/.gitignore", "*.log\nbuild/\n"),
        ("a/src/main.rs", "fn main() {}\n"),
        ("a/src/deep/lib.rs", "pub fn deep() {}\n"),
        ("a/README.md", "# A\n"),
        ("b/lib.py", "def b(): pass\n"),
        ("a/vendor/inner/x.c", "int x;\n"),
    ] {
        fixture.write(path, text);
    }
    fixture.commit("a/vendor/inner", "inner");
    fixture.commit("a", "a");
    fixture.commit("b", "b");
    fixture.write("a/build/out.o", "made\n");
    fixture.write("a/x.log", "logged\n");
    fixture.run(&["ingest", "--shards", "4", "."]).code(0);
    fixture
}

#[test]
fn only_what_a_row_names_is_looked_at() {
    let fixture = clones();
    fixture.write("a/src/main.rs", "fn main() { changed() }\n");
    fixture.write("a/src/deep/lib.rs", "pub fn deeper() {}\n");
    fixture.write("a/src/new.rs", "fn new() {}\n");
    let report = take(&fixture, &[("a", &["src/main.rs", "src/new.rs"])]);
    assert_eq!((report.seen.files, report.new_files, report.retired_files), (2, 2, 1));
    assert_eq!(fixture.search(&["deeper"]), [] as [&str; 0], "nobody has told of it");
    assert_eq!(fixture.search(&["changed"]).len(), 1);
    // A folder, with what is in it.
    let report = take(&fixture, &[("a", &["src"])]);
    assert_eq!((report.seen.files, report.new_files, report.retired_files), (3, 1, 1));
    check(&fixture, &[], "a folder");
    // What is left out.
    fs::remove_dir_all(fixture.path().join("a/build")).unwrap();
    fs::remove_file(fixture.path().join("a/x.log")).unwrap();
    fixture.write("a/src/y.log", "logged\n");
    fixture.write("a/src/build/z.o", "made\n");
    let paths: &[&str] = &["build/out.o", "x.log", "src/y.log", "src/build/z.o"];
    let report = take(&fixture, &[("a", paths)]);
    assert_eq!((report.new_files, report.retired_files), (0, 0));
    check(&fixture, &[], "files that are left out");
    // Rules decide about their folder, git's index about all.
    fixture.write("a/src/.gitignore", "deep/\n");
    fixture.git("a", &["rm", "--quiet", "--cached", "src/deep/lib.rs"]);
    take(&fixture, &[("a", &["src/.gitignore", ".git/index"])]);
    check(&fixture, &[], "rules");
    // A file in place of a folder, and the other way round, although only one of both is named.
    fs::remove_dir_all(fixture.path().join("a/src/deep")).unwrap();
    fixture.write("a/src/deep", "a file\n");
    fs::remove_file(fixture.path().join("a/README.md")).unwrap();
    fixture.write("a/README.md/inside.md", "# Inside\n");
    take(&fixture, &[("a", &["src/deep/lib.rs", "README.md/inside.md"])]);
    check(&fixture, &[], "files in place of folders");
    assert!(fixture.sql::<bool>("select not exists (select from pending)"));
    fixture.check_invariants();
}

#[test]
fn new_moved_and_deleted_clones_are_found() {
    let fixture = clones();
    // A new one beside others, inside another, and in a new folder.
    fixture.write("c/c.go", "package c\n");
    fixture.commit("c", "c");
    fixture.write("a/src/own/o.rs", "fn own() {}\n");
    fixture.commit("a/src/own", "own");
    fixture.write("group/d/d.go", "package d\n");
    fixture.commit("group/d", "d");
    take(&fixture, &[("c", &[]), ("a", &["src/own"]), ("group", &[])]);
    check(&fixture, &[], "new clones");
    let names: Vec<String> = fixture.sql("select array_agg(name order by name) from repos");
    assert_eq!(names, ["a", "a/src/own", "a/vendor/inner", "b", "c", "group/d"]);
    // A moved one keeps its rows if its name stays.
    fs::rename(fixture.path().join("b"), fixture.path().join("group/b")).unwrap();
    fs::remove_dir_all(fixture.path().join("c")).unwrap();
    fs::remove_dir_all(fixture.path().join("a/vendor/inner")).unwrap();
    let mut report = take(
        &fixture,
        &[("b", &[]), ("group", &[]), ("c", &["c.go"]), ("a", &["vendor/inner/x.c"])],
    );
    report.removed.sort();
    assert_eq!(report.removed, ["a/vendor/inner", "b", "c"]);
    check(&fixture, &[], "moved and deleted clones");
    // No longer a clone, it is a part of the one around it.
    fs::remove_dir_all(fixture.path().join("a/src/own/.git")).unwrap();
    take(&fixture, &[("a/src/own", &[".git"])]);
    check(&fixture, &[], "a former clone");
    fixture.check_invariants();
}

#[test]
fn repositories_are_looked_at_as_they_were_ingested() {
    let fixture = Fixture::new();
    for path in ["one/x/a.txt", "one/x/b.log", "one/y/big.txt", "two/z/c.txt"] {
        fixture.write(path, "text of it\n");
    }
    fixture.write("one/y/big.txt", "long\n".repeat(300_000));
    fixture.write("one/x/.codesearchignore", "*.log\n");
    let options = ["--depth", "2", "--max-size", "2000000", "--no-ignore", "--secrets", "skip"];
    fixture.run(&[&["ingest", "--shards", "4", "."], &options[..]].concat()).code(0);
    fixture.write("one/x/b.log", "more of it\n");
    fixture.write("one/y/.env", "PASSWORD=x\n");
    fixture.write("one/y/large.txt", "longer\n".repeat(200_000));
    take(&fixture, &[("one/x", &["b.log"]), ("one/y", &[])]);
    check(&fixture, &options, "options of the last ingest");
    assert_eq!(fixture.search(&["-l", "longer"]).len(), 1);
    fixture.write("one/new/d.txt", "a new one\n");
    fixture.write("one/x/b.log", "nobody has told of it\n");
    assert_eq!(take(&fixture, &[("one/new", &["d.txt"])]).repos, ["one/new"]);
    // A worktree is a part of its clone, and a commit that of a bare one.
    let fixture = clones();
    fixture.git("a", &["worktree", "add", "--quiet", "../tree", "-b", "topic"]);
    fixture.git(".", &["clone", "--quiet", "--bare", "b", "mirror"]);
    fixture.run(&["ingest", "."]).code(0);
    fixture.write("tree/src/main.rs", "fn main() { in_the_tree() }\n");
    fixture.write("a/src/deep/lib.rs", "pub fn in_main() {}\n");
    fixture.write("b/lib.py", "def pushed(): pass\n");
    fixture.commit("b", "pushed");
    fixture.git("b", &["push", "--quiet", "../mirror", "HEAD"]);
    take(
        &fixture,
        &[("tree", &["src/main.rs"]), ("a", &["src/deep/lib.rs"]), ("mirror", &["HEAD"])],
    );
    take(&fixture, &[("b", &["lib.py", ".git/HEAD"])]);
    check(&fixture, &[], "a worktree and a mirror");
    fixture.git("a", &["worktree", "remove", "--force", "../tree"]);
    take(&fixture, &[("tree", &["src/main.rs"])]);
    check(&fixture, &[], "without the worktree");
}

/// One repository fails, and waits longer each time. The others go on.
#[test]
fn a_repository_that_fails_delays_no_other() {
    let fixture = clones();
    fixture.git(".", &["clone", "--quiet", "--bare", "b", "mirror"]);
    fixture.run(&["ingest", "."]).code(0);
    let head = fixture.path().join("mirror/HEAD");
    let kept = fs::read(&head).unwrap();
    fs::write(&head, "ref: refs/heads/nowhere\n").unwrap();
    fixture.write("a/src/main.rs", "fn main() { goes_on() }\n");
    let report = take(&fixture, &[("mirror", &[]), ("a", &["src/main.rs"])]);
    assert_eq!(report.repos, ["a"]);
    assert_eq!(fixture.search(&["goes_on"]).len(), 1);
    let state = "select json_build_object('rows', (select count(*) from pending), 'failures',
                     (select min(failures) from pending), 'waits', (select bool_and(due > now()) from pending),
                     'of', (select json_agg(name) from repos where failed_at is not null and failures > 0),
                     'why', (select min(failure) from repos))::text";
    let told = || serde_json::from_str::<Value>(&fixture.sql::<String>(state)).unwrap();
    let first = told();
    assert_eq!(
        (&first["rows"], &first["failures"], &first["waits"]),
        (&1.into(), &1.into(), &true.into())
    );
    assert_eq!(first["of"], serde_json::json!(["mirror"]));
    assert!(first["why"].as_str().unwrap().contains("which does not exist"), "{first}");
    // Whoever asks for it is told why.
    let ran = fixture.run(&["ingest", "--now", "mirror"]).code(2);
    assert!(
        ran.err.contains("not updated:") && ran.err.contains("which does not exist"),
        "{}",
        ran.err
    );
    assert_eq!((told()["rows"].clone(), told()["failures"].clone()), (2.into(), 1.into()));
    let delay = "select extract(epoch from max(due) - now())::float8 from pending";
    let before: f64 = fixture.sql(delay);
    take(&fixture, &[("mirror", &[])]);
    assert!(fixture.sql::<f64>(delay) > before, "it waits longer");
    fs::write(&head, kept).unwrap();
    let out = fixture.run(&["ingest", "--now"]).code(0).out;
    assert!(out.starts_with("up to date: all that waited"), "{out}");
    assert_eq!((told()["rows"].clone(), told()["of"].clone()), (0.into(), Value::Null));
    check(&fixture, &[], "all is repaired");
}

#[test]
fn a_command_brings_repositories_up_to_date_at_once() {
    let fixture = clones();
    let now = |args: &[&str]| fixture.run(&[&["ingest", "--now"], args].concat());
    assert_eq!(now(&[]).code(0).out, "nothing waits to be ingested\n");
    fixture.write("b/lib.py", "def asked_for(): pass\n");
    fixture.write("a/src/main.rs", "fn main() { by_folder() }\n");
    let out = now(&["b"]).code(0).out;
    assert_eq!(out, "up to date: b (1 file seen, 1 new or changed, 1 gone or changed)\n");
    assert_eq!(
        (fixture.search(&["asked_for"]).len(), fixture.search(&["by_folder"]).len()),
        (1, 0)
    );
    now(&["./a/src/.."]).code(0);
    assert_eq!(fixture.search(&["by_folder"]).len(), 1);
    fs::remove_dir_all(fixture.path().join("b")).unwrap();
    assert!(now(&["b"]).code(0).out.ends_with("; removed: b\n"));
    let wrong = |args: &[&str]| now(args).code(2).err;
    assert!(wrong(&["bb"]).contains("unknown repository bb; codesearch repos lists all"));
    assert!(
        wrong(&["a/src/main.rs"]).contains("is not a folder; name a repository, or its folder")
    );
    fixture.write("searcher/s.go", "package s\n");
    fixture.commit("searcher", "s");
    now(&["searcher"]).code(0);
    assert!(wrong(&["sercher"]).contains("did you mean searcher?"));
    let both = fixture.run(&["ingest", "--now", "--again", "a"]).code(2).err;
    assert!(both.contains("--now") && both.contains("--again"), "{both}");
    check(&fixture, &[], "all that was named");
}

/// While a server ingests, others wait for it; and it takes what comes.
#[test]
fn an_ingester_takes_what_arrives() {
    let fixture = clones();
    let root = fixture.path().canonicalize().unwrap();
    let source = root.join("a").to_str().unwrap().to_owned();
    on(async {
        let store = connect(&fixture.index).await;
        let of_ingester = connect(&fixture.index).await;
        let ingester = tokio::spawn(async move {
            let never = queue::serve(&of_ingester, &Options::default, &|_| ()).await;
            match never {}
        });
        assert_eq!(store.await_fresh(None, LONG).await.unwrap(), Waited::Fresh);
        for round in 0..3 {
            fixture.write("a/src/main.rs", format!("fn round_{round}() {{}}\n"));
            let upto = store.enqueue(&[change(&source, &["src/main.rs"])]).await.unwrap();
            let sources = [source.clone()];
            assert_eq!(store.await_taken(upto, Some(&sources), LONG).await.unwrap(), Waited::Fresh);
            let all: Vec<String> =
                store.repos().await.unwrap().into_iter().map(|repo| repo.name).collect();
            assert_eq!(all, ["a", "a/vendor/inner", "b"]);
        }
        let repos = store.repos().await.unwrap();
        let id = repos.iter().find(|repo| repo.name == "a").unwrap().id;
        // It waits for others that write, and then goes on.
        let session = loop {
            if let Some(session) = store.try_session().await.unwrap() {
                break session;
            }
            tokio::task::yield_now().await;
        };
        fixture.write("a/src/main.rs", "fn after_the_lock() {}\n");
        store.enqueue(&[change(&source, &["src/main.rs"])]).await.unwrap();
        let waited = store.await_fresh(Some(&[id]), Duration::from_millis(50)).await.unwrap();
        assert_eq!(waited, Waited::StillPending(1));
        session.close().await.unwrap();
        assert_eq!(store.await_fresh(Some(&[id]), LONG).await.unwrap(), Waited::Fresh);
        ingester.abort();
        let _ = ingester.await;
        store.close().await;
    });
    assert_eq!(fixture.search(&["after_the_lock"]).len(), 1);
    check(&fixture, &[], "all that arrived");
}

/// A killed ingester loses nothing: what it had not published is still in the queue.
#[test]
fn a_killed_ingester_loses_nothing() {
    let fixture = clones();
    let root = fixture.path().canonicalize().unwrap();
    let mut rng = fastrand::Rng::with_seed(48);
    let mut killed = 0;
    for round in 0..8 {
        for file in 0..6 {
            fixture.write(&format!("a/src/f{file}.rs"), format!("fn f_{round}_{file}() {{}}\n"));
        }
        on(async {
            let store = connect(&fixture.index).await;
            let paths: Vec<String> = (0..6).map(|file| format!("src/f{file}.rs")).collect();
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            store.enqueue(&[change(root.join("a").to_str().unwrap(), &paths)]).await.unwrap();
            store.close().await;
        });
        let mut child = fixture.command(&["ingest", "--now", "--no-symbols"]).spawn().unwrap();
        // It has the lock on writing; then something happens, or it ends.
        eventually("it ingests", || {
            child.try_wait().unwrap().is_some()
                || fixture.sql::<bool>(
                    "select exists (select from pg_locks where locktype = 'advisory' and granted and objid = 0 and objsubid = 1
                         and database = (select oid from pg_database where datname = current_database()))",
                )
        });
        std::thread::sleep(Duration::from_millis(rng.u64(0..60)));
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(killed > 0);
    fixture.run(&["ingest", "--now"]).code(0);
    check(&fixture, &[], "after kills");
    assert!(fixture.sql::<bool>("select not exists (select from pending)"));
    fixture.check_invariants();
}

/// An ingest of a folder takes the rows of what is in it, and no others.
#[test]
fn an_ingest_takes_the_rows_of_its_folders() {
    let fixture = clones();
    fixture.exec(&format!(
        "insert into pending (source, reason, since) values ('{0}/a', 'asked', now() - interval '1 hour'),
             ('{0}/b', 'asked', now() - interval '1 hour')",
        fixture.path().canonicalize().unwrap().display()
    ));
    fixture.run(&["ingest", "a"]).code(0);
    let rest: Vec<String> = fixture.sql("select array_agg(right(source, 2)) from pending");
    assert_eq!(rest, ["/b"]);
}

/// At one epoch a second, five minutes are 300 epochs.
#[test]
fn a_cursor_goes_on_after_hundreds_of_epochs() {
    let fixture = Fixture::new();
    for file in 0..9 {
        fixture.write(&format!("r/f{file}.txt"), format!("needle {file}\n"));
    }
    fixture.ingest();
    let server = fixture.serve();
    let files = |answer: &Value| {
        let files = answer["files"].as_array().unwrap().iter();
        files.map(|file| file["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = files(&server.search("needle"));
    let (_, first) = server.json("/search?q=needle&limit=4");
    let cursor = first["next"].as_str().unwrap().to_owned();
    for file in 0..9 {
        fs::remove_file(fixture.path().join(format!("r/f{file}.txt"))).unwrap();
    }
    fixture.write("r/other.txt", "nothing\n");
    fixture.ingest();
    fixture.with_connection(async |mut conn| {
        for _ in 0..300 {
            sqlx::raw_sql(
                "begin; update state set epoch = epoch + 1;
                 insert into switches (epoch, number) select epoch, (random() * 9e18)::bigint from state;
                 select pg_notify('codesearch_epoch', epoch::text) from state; commit",
            )
            .execute(&mut conn)
            .await
            .unwrap();
            assert_eq!(server.search("needle")["files"].as_array().unwrap().len(), 0);
        }
    });
    // Garbage is collected meanwhile.
    fixture.write("r/other.txt", "nothing else\n");
    fixture.ingest();
    let (status, rest) = server.json(&format!("/search?q=needle&limit=40&cursor={cursor}"));
    assert_eq!(status, 200, "{rest}");
    assert_eq!([files(&first), files(&rest)].concat(), all);
    let pinning: i64 = fixture.sql(
        "select count(distinct pid) from pg_locks where locktype = 'advisory'
           and classid::bigint = 1668481025 and objsubid = 2 and database = (select oid from pg_database where datname = current_database())",
    );
    assert_eq!(pinning, 1, "one connection pins all epochs");
    server.stop();
    fixture.ingest();
    fixture.check_invariants();
}
