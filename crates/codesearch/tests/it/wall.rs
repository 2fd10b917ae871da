//! SQL of somebody who sees half of the repositories: the answers of an index with only that half, and statements that try
//! to see more, to write, or to take more than their share.

use serde_json::{Map, Value, json};

use crate::harness::{Fixture, Server};
use crate::view::{Both, encoded};

/// Views about searches of others, which only the owner reads.
const OWNERS: [&str; 4] = ["searches", "search_times", "slow_searches", "refusals"];

/// Columns that differ between two indexes of the same repositories.
const VARY: [&str; 10] = [
    "folder",
    "commit",
    "indexed_at",
    "looked_at",
    "listed_at",
    "imported_at",
    "time",
    "since",
    "due",
    "place",
];

const CODEOWNERS: &str = "\
# Who is asked
*            @org/all
*.rs         @ann bob@example.com # and others
/json/       @org/json
src/*        @ts
docs/**/x.md @docs
/min.js
!/min.js     @nobody
my\\ file.txt @spaces
";

#[track_caller]
fn rows(fixture: &Fixture, statement: &str, mut command: std::process::Command) -> Vec<Value> {
    let ran = crate::harness::Ran::of(command.output().unwrap());
    assert!(ran.status.code() < Some(2), "{statement}: {}", ran.err);
    let plain = |value: Value| match value {
        Value::String(text) => {
            Value::String(text.replace(&*fixture.path().to_string_lossy(), "FOLDER"))
        }
        other => other,
    };
    let mut rows: Vec<Value> = ran
        .out
        .lines()
        .map(|line| {
            let row: Map<String, Value> = serde_json::from_str(line).unwrap();
            let kept = row.into_iter().filter(|(name, _)| !VARY.contains(&&**name));
            Value::Object(kept.map(|(name, value)| (name, plain(value))).collect())
        })
        .collect();
    rows.sort_by_cached_key(Value::to_string);
    rows
}

/// Both indexes with rows for each view: owners, a history, a tree, changes since, a queue.
fn both() -> Both {
    let both = Both::new();
    for (fixture, names) in [
        (&both.all, &["seen-one", "seen-two", "hidden-one", "hidden-two"][..]),
        (&both.half, &["seen-one", "seen-two"][..]),
    ] {
        for name in names {
            fixture.write(
                &format!("{name}/.github/CODEOWNERS"),
                CODEOWNERS.replace("@org", &format!("@{name}")),
            );
            fixture.write(
                &format!("{name}/go.mod"),
                format!("module {name}\nrequire example.com/log v1.2.3\n"),
            );
            fixture.commit(name, "Owners");
        }
        fixture.run(&["ingest", "--history", fixture.path().to_str().unwrap()]).code(0);
        fixture.run(&["symbols"]).code(0);
        for name in names {
            fixture.exec(&format!(
                "insert into pending (source, reason, due)
                     select source, 'asked', now() + interval '1 day' from repos where name = '{name}'"
            ));
        }
    }
    both
}

#[test]
fn every_view_of_half_is_that_of_an_index_of_half() {
    let both = both();
    let list = |schema: &str| -> Vec<String> {
        let names: String = both.all.sql(&format!(
            "select string_agg(relname, ' ' order by relname) from pg_class where relnamespace = '{schema}'::regnamespace
             and relkind = 'v'"
        ));
        names.split(' ').map(str::to_owned).collect()
    };
    let views = list("codesearch_visible");
    for view in list("codesearch_sql") {
        assert_ne!(views.contains(&view), OWNERS.contains(&&*view), "{view}");
    }
    let mut statements: Vec<String> =
        views.iter().map(|view| format!("select * from {view}")).collect();
    statements.extend(
        [
            "select * from grep('needle')",
            "select * from grep('needle', repositories => 'one')",
            "select * from grep('n[a-z]+dle|only', paths => 'rs$', ignore_case => true)",
            "select * from grep('only_hidden')",
            "select * from owners_of('seen-one', array['a.rs', 'json/b.rs', 'src/run.ts', 'min.js', 'my file.txt', 'x'])",
            "select * from owners_of('hidden-one', array['a.rs'])",
            "select path from files where path @~~ '%run%' and path like '%run%'",
            "select line from history_lines where words @~~ '%renewed%' and line like '%renewed%'",
        ]
        .map(str::to_owned),
    );
    for statement in &statements {
        let args = ["sql", "--format", "json", statement];
        let seen = rows(&both.all, statement, both.seeing(&args));
        let half = rows(&both.half, statement, both.half.command(&args));
        assert_eq!(seen, half, "{statement}");
        let is_empty = statement.contains("hidden") || statement.ends_with("slow_searches");
        assert_eq!(half.is_empty(), is_empty, "{statement}");
    }
    // Places in the queue are counted among what is seen.
    let places = |command: &mut std::process::Command| {
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let place = ["sql", "--format", "csv", "select place from pending order by 1"];
    assert_eq!(places(&mut both.seeing(&place)), "place\n1\n2\n");
}

#[test]
fn owners_are_those_of_the_last_rule() {
    let fixture = Fixture::new();
    fixture.write("r/.github/CODEOWNERS", CODEOWNERS);
    fixture.write("r/CODEOWNERS", "* @never\n");
    for path in [
        "a.txt",
        "a.rs",
        "json/a.rs",
        "x/json/a.txt",
        "src/run.ts",
        "src/deep/run.ts",
        "docs/x.md",
        "docs/a/b/x.md",
        "min.js",
        "x/min.js",
        "my file.txt",
    ] {
        fixture.write(&format!("r/{path}"), path);
    }
    fixture.write(
        "lab/.gitlab/CODEOWNERS",
        "* @all\n[Docs][2] @docs\nREADME.md\n/guide/ @guides\n!/guide/secret.md\n^[Optional]\n*.rb @ruby\n",
    );
    for path in ["README.md", "x/README.md", "guide/a.md", "guide/secret.md", "a.rb"] {
        fixture.write(&format!("lab/{path}"), path);
    }
    fixture.ingest();
    let ask = |statement: &str| fixture.run(&["sql", "--format", "csv", statement]).code(0).out;
    let of = |repository: &str| {
        ask(&format!(
            "select path || ': ' || string_agg(owner, ' ' order by section nulls first, line, owner)
             from owners where repository = '{repository}' and path !~ 'CODEOWNERS' group by path order by path collate \"C\""
        ))
    };
    assert_eq!(
        of("r").lines().skip(1).collect::<Vec<_>>(),
        [
            "a.rs: @ann bob@example.com",
            "a.txt: @org/all",
            "docs/a/b/x.md: @docs",
            "docs/x.md: @docs",
            "json/a.rs: @org/json",
            "my file.txt: @spaces",
            "src/deep/run.ts: @org/all",
            "src/run.ts: @ts",
            "x/json/a.txt: @org/all",
            "x/min.js: @org/all",
        ]
    );
    assert_eq!(
        of("lab").lines().skip(1).collect::<Vec<_>>(),
        [
            "README.md: @all @docs",
            "a.rb: @all @ruby",
            "guide/a.md: @all @guides",
            "guide/secret.md: @all",
            "x/README.md: @all @docs",
        ]
    );
    assert_eq!(
        ask(
            "select owner, rule, line, section from owners_of('lab', array['guide/a.md']) order by line"
        ),
        "owner,rule,line,section\n@all,*,1,\n@guides,/guide/,4,Docs\n"
    );
}

/// Parts of errors.
const NO_QUERY: &str = "only queries are allowed";
const DENIED: &str = "permission denied";
const UNKNOWN: &str = "does not exist";

/// Each statement of a hostile analyst, and part of its error; empty for an answer without anything hidden.
const ATTACKS: &[(&str, &str)] = &[
    // What the views read cannot be set.
    (
        "with x as (select set_config('codesearch.repos', '{1,2,3,4}', true)) select * from files, x",
        DENIED,
    ),
    ("with x as (select set_config('role', 'codesearch', true)) select * from files, x", DENIED),
    ("select set_config('session_authorization', 'codesearch', false)", DENIED),
    ("select set_config('search_path', 'codesearch_sql', false)", DENIED),
    ("select set_config('row_security', 'off', false)", DENIED),
    ("set role codesearch", NO_QUERY),
    ("set local role codesearch_reader", NO_QUERY),
    ("reset role", NO_QUERY),
    ("set session authorization codesearch_reader", NO_QUERY),
    ("reset session authorization", NO_QUERY),
    ("set search_path = codesearch_sql", NO_QUERY),
    ("set transaction read write", NO_QUERY),
    ("discard all", NO_QUERY),
    ("insert into codesearch.sql_sessions values (pg_backend_pid(), now(), null)", DENIED),
    ("update codesearch.sql_sessions set repos = null", DENIED),
    (
        "with x as (update codesearch.sql_sessions set repos = null returning 1) select * from files",
        DENIED,
    ),
    ("with x as (delete from files returning 1) select 1", "cannot delete"),
    ("update pg_settings set setting = 'codesearch' where name = 'role'", NO_QUERY),
    // Nor can anything be made that stands before it.
    ("create temp table files as select 1", NO_QUERY),
    ("create temp view names as select 'hidden-one'", NO_QUERY),
    ("select 1 as n into temp repositories", NO_QUERY),
    ("create function pg_temp.names() returns setof text language sql as 'select 1'", NO_QUERY),
    ("create operator public.= (leftarg = text, rightarg = text, function = textne)", NO_QUERY),
    ("alter view codesearch_visible.files owner to codesearch_visible", NO_QUERY),
    ("create rule x as on select to files do instead select 1", NO_QUERY),
    ("prepare p as select * from files", NO_QUERY),
    ("execute p", NO_QUERY),
    ("do $$ begin perform 1; end $$", NO_QUERY),
    ("call pg_sleep(1)", "not a procedure"),
    ("declare c cursor for select 1", NO_QUERY),
    ("fetch all from codesearch", NO_QUERY),
    // Tables, and the views of all.
    ("select * from codesearch.repos", DENIED),
    ("select * from codesearch.chunks", DENIED),
    ("select * from codesearch.documents_000", DENIED),
    ("select * from codesearch.blobs", DENIED),
    ("select * from codesearch.sql_sessions", DENIED),
    ("select * from codesearch_sql.files", DENIED),
    ("select * from codesearch_sql.grep('hidden')", DENIED),
    ("select codesearch_sql.owners_in(1, 0::smallint, 0, 'CODEOWNERS', null)", DENIED),
    ("select codesearch_sql.tree_names(1, 1)", DENIED),
    ("select codesearch.restrict_view('files')", DENIED),
    ("select * from slow_searches", UNKNOWN),
    ("select * from searches", UNKNOWN),
    ("select * from repos", UNKNOWN),
    ("select * from codesearch_visible.names()", ""),
    // Rows of others by failing, by plans, by statistics, by sizes.
    (
        "select * from repositories where (case when repository ~ 'hidden' then 1 / (length(repository) * 0) else 1 end) = 1",
        "",
    ),
    (
        "select * from files where (case when repository ~ '^hidden' then 1 / (length(repository) * 0) else 1 end) = 1",
        "",
    ),
    (
        "select * from file_texts where (case when text ~ 'only_hidden' then 1 / (length(repository) * 0) else 1 end) = 1",
        "",
    ),
    (
        "select * from symbols where (case when symbol ~ 'only_hidden' then 1 / (length(repository) * 0) else 1 end) = 1",
        "",
    ),
    (
        "select * from left_out where (case when repository ~ '^hidden' then 1 / (length(repository) * 0) else 1 end) = 1",
        "",
    ),
    (
        "select * from history_lines where (case when line ~ 'only_hidden' then 1 / (length(repository) * 0) else 1 end) = 1",
        "",
    ),
    (
        "select * from owners where (case when owner ~ 'hidden' then 1 / (length(repository) * 0) else 1 end) = 1",
        "",
    ),
    (
        "select * from newest_files where (case when repository ~ '^hidden' then 1 / (length(repository) * 0) else 1 end) = 1",
        "",
    ),
    (
        "select * from pending where (case when repository ~ '^hidden' then 1 / (length(repository) * 0) else 1 end) = 1",
        "",
    ),
    (
        "select * from trees where (case when repository ~ '^hidden' then 1 / (length(repository) * 0) else 1 end) = 1",
        "",
    ),
    (
        "select * from tree_files where (case when repository ~ '^hidden' then 1 / (length(repository) * 0) else 1 end) = 1",
        "",
    ),
    ("select * from grep('needle', repositories => 'hidden')", ""),
    (
        "select * from grep('only_hidden') union all select * from grep('hidden', '', '', true, 1000)",
        "",
    ),
    ("select * from files for update", DENIED),
    ("select * from grep('(')", "invalid regular expression"),
    ("select * from grep('x'') or (1=1')", "invalid regular expression"),
    ("select * from grep('x', 'y'') or true --')", "invalid regular expression"),
    ("select * from grep('needle', 'z'' or true or ''x')", ""),
    ("select * from grep('%1$s%2$s%L')", ""),
    ("select * from owners_of('hidden-one', array['a.rs'])", ""),
    ("select * from owners_of('seen-one', null)", ""),
    ("select * from files where repository = 'hidden-one'", ""),
    ("select * from files where path @~~ '%a%'", ""),
    ("select * from files where operator(public.@~~)(path, 'a')", "operator does not exist"),
    ("explain select * from files", NO_QUERY),
    ("explain analyze select * from files", NO_QUERY),
    ("/**/ explain (verbose) select * from grep('x')", NO_QUERY),
    ("show work_mem", NO_QUERY),
    ("select relname, reltuples from pg_class", DENIED),
    ("select * from pg_stats", DENIED),
    ("select * from pg_statistic", DENIED),
    ("select * from pg_stat_user_tables", DENIED),
    ("select * from pg_stat_activity", DENIED),
    ("select * from pg_stat_statements", "pg_stat_statements"),
    ("select * from pg_locks", DENIED),
    ("select * from pg_roles", DENIED),
    ("select * from pg_settings", DENIED),
    ("select * from pg_description", DENIED),
    ("select * from pg_proc", "not supported; cast it"),
    ("select proname from pg_proc", DENIED),
    ("select * from information_schema.tables", DENIED),
    ("select pg_total_relation_size('codesearch_visible.files')", DENIED),
    ("select pg_relation_size(16400)", DENIED),
    ("select pg_database_size(current_database())", DENIED),
    ("select pg_stat_get_live_tuples(16400)", DENIED),
    ("select pg_stat_get_numscans(16400)", DENIED),
    ("select pg_stat_get_activity(null)", DENIED),
    ("select pg_get_viewdef('codesearch_visible.files')", DENIED),
    ("select pg_get_functiondef('codesearch_visible.names'::regproc)", DENIED),
    ("select pg_current_wal_lsn()", DENIED),
    ("select obj_description(1, 'pg_class')", DENIED),
    ("select query_to_xml('select * from codesearch.repos', true, true, '')", DENIED),
    ("select table_to_xml('codesearch.repos', true, true, '')", DENIED),
    ("select schema_to_xml('codesearch', true, true, '')", DENIED),
    ("select cursor_to_xml('codesearch', 1, true, true, '')", DENIED),
    ("select ts_stat('select names from codesearch.symbols')", DENIED),
    ("select currval('codesearch.repos_id_seq')", DENIED),
    ("select nextval('codesearch.repos_id_seq')", DENIED),
    ("select lo_get(1)", DENIED),
    ("select lo_import('/etc/passwd')", DENIED),
    ("select pg_read_file('/etc/passwd')", DENIED),
    ("select pg_ls_dir('/')", DENIED),
    ("copy (select 1) to program 'id'", NO_QUERY),
    ("copy files to stdout", NO_QUERY),
    ("load 'x'", NO_QUERY),
    ("select dblink('dbname=codesearch', 'select 1')", UNKNOWN),
    ("create extension dblink", NO_QUERY),
    ("select current_setting('data_directory')", "must be superuser"),
    // Waiting, locking, waking, ending.
    ("select pg_sleep(1000)", DENIED),
    ("select pg_advisory_lock(1)", DENIED),
    ("select pg_try_advisory_xact_lock_shared(109307756445696)", DENIED),
    ("select pg_notify('codesearch_epoch', '1')", DENIED),
    ("select pg_cancel_backend(1)", DENIED),
    ("select pg_terminate_backend(1)", DENIED),
    ("select pg_export_snapshot()", DENIED),
    ("lock table codesearch_visible.files", NO_QUERY),
    ("notify codesearch_epoch", NO_QUERY),
    ("listen codesearch_epoch", NO_QUERY),
    ("vacuum", NO_QUERY),
    ("begin", NO_QUERY),
    ("commit", NO_QUERY),
    ("select 1; select 2", "cannot insert multiple commands"),
    ("select 1) q(c1); delete from files; --", "syntax error"),
    ("select 1) q(c1) limit 1 --", "syntax error"),
    // Too much. These bounds hold, too, for what is counted.
    ("select count(*) from generate_series(1, 1000000000000)", "too expensive"),
    ("select n from generate_series(1, 1000000000) n order by n desc", "too expensive"),
    (
        "select count(*) from files a, files b, files c, files d, files e, files f, files g, files h, symbols i",
        "too expensive",
    ),
    ("select repeat('x', 2000000000)", "too large"),
    ("", "no statement"),
];

#[test]
fn a_hostile_statement_sees_and_does_nothing() {
    let both = both();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--slow", "0.001ms"];
    let server = Server::start(both.seeing(&serve));
    // Others search for what is hidden.
    both.all.run(&["search", "only_hidden"]).code(0);
    let state = "select md5(concat_ws(' ',
        (select string_agg(r::text, ' ' order by rolname) from pg_authid r),
        (select string_agg(concat_ws(':', oid, relname, relacl), ' ' order by oid) from pg_class where relname !~ '^pg_'),
        (select string_agg(oid::text, ' ' order by oid) from pg_proc),
        (select string_agg(r::text, ' ' order by id) from repos r),
        (select epoch::text from state)))";
    let ask =
        |statement: &str| server.get(&format!("/sql?q={}", encoded(statement)), "application/json");
    let (status, _, text) = ask("select count(distinct repository) from files");
    assert_eq!(status, 200, "{text}");
    let before: String = both.all.sql(state);
    let mut wrong = Vec::new();
    for (statement, told) in ATTACKS {
        let (status, _, text) = ask(statement);
        let is_right =
            if told.is_empty() { status == 200 } else { status == 400 && text.contains(told) };
        // The error of a statement that was refused may repeat a name in it.
        if !is_right || told.is_empty() && text.contains("hidden") || text.contains("hidden-two") {
            wrong.push(format!("{statement}: {status} {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(both.all.sql::<String>(state), before);
    // A role that learned of a process's number sees nothing by it: the row is that of another process.
    both.all.with_connection(async |mut conn| {
        use sqlx::Executor as _;
        conn.execute("delete from sql_sessions; set role codesearch_visible").await.unwrap();
        let files: i64 = sqlx::query_scalar("select count(*) from codesearch_visible.files")
            .fetch_one(&mut conn)
            .await
            .unwrap();
        assert_eq!(files, 0);
        conn.execute(
            "reset role; insert into sql_sessions values (pg_backend_pid(), '2020-01-01', null);
                      set role codesearch_visible",
        )
        .await
        .unwrap();
        let files: i64 = sqlx::query_scalar("select count(*) from codesearch_visible.files")
            .fetch_one(&mut conn)
            .await
            .unwrap();
        assert_eq!(files, 0);
    });
}

#[test]
fn rows_and_bytes_have_bounds_and_are_counted() {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "hello\n");
    fixture.ingest();
    let server = fixture.serve();
    let ask = |query: &str| server.json(&format!("/sql?{query}"));
    let series = |n: u32| encoded(&format!("select n from generate_series(1, {n}) n"));
    let (_, answer) = ask(&format!("q={}&limit=3", series(5)));
    let expected = json!({
        "columns": [{ "name": "n", "kind": "number" }],
        "rows": [[1], [2], [3]],
        "more": { "why": "limit", "rows": 2, "counted": true },
        "cut_values": 0,
    });
    assert_eq!(answer, expected);
    let (_, answer) = ask(&format!("q={}&limit=3", series(5000)));
    assert_eq!(answer["more"], json!({ "why": "limit", "rows": 1000, "counted": false }));
    let wide = encoded("select repeat('x', 4000) as x from generate_series(1, 1500)");
    let (_, answer) = ask(&format!("q={wide}&limit=10000"));
    let rows = answer["rows"].as_array().unwrap().len();
    assert_eq!(answer["more"], json!({ "why": "bytes", "rows": 1500 - rows, "counted": true }));
    let (_, answer) =
        ask(&format!("q={}", encoded("select repeat('x', 4001) as x, 1.5 as y, null as z")));
    assert_eq!((&answer["cut_values"], &answer["rows"][0][1]), (&json!(1), &json!(1.5)));
    // By POST, and as CSV.
    let sent = |body: &str| -> (u16, String) {
        let request = ureq::post(format!("http://{}/sql?format=csv&limit=1", server.address))
            .config()
            .http_status_as_error(false)
            .build();
        let mut response = request.send(body).unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        (response.status().as_u16(), text)
    };
    assert_eq!(
        sent("select path, 'a,b' as t from files"),
        (200, "path,t\r\na.txt,\"a,b\"\r\n".to_owned())
    );
    let (status, text) = sent("create table x ()");
    assert!(status == 400 && text.contains("only queries are allowed"), "{text}");
    for (query, told) in [
        ("", "no statement"),
        ("q=select+1&limit=0", "limit="),
        ("q=select+1&limit=10001", "limit="),
        ("q=select+1&format=xml", "format="),
        ("q=select+1&x=1", "unknown parameter"),
        ("q=select+x", "column"),
    ] {
        let (status, answer) = ask(query);
        let why = answer["error"]["message"].as_str().unwrap().to_owned();
        assert!(status == 400 && why.contains(told) && why.lines().count() == 1, "{query}: {why}");
    }
}

#[test]
fn without_the_role_statements_are_refused_with_what_to_do() {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "hello\n");
    fixture.ingest();
    let url = format!(
        "postgresql://codesearch@localhost/{}?host={}",
        fixture.index,
        crate::harness::socket_folder().display()
    );
    let mut command = fixture.command_on(&url, &["sql", "select path from files"]);
    command
        .env("CODESEARCH_REPOS", "r")
        .env("CODESEARCH_VISIBLE_URL", url.replace("codesearch@", "codesearch_reader@"));
    let ran = crate::harness::Ran::of(command.output().unwrap()).code(2);
    for told in [
        "it may use what shows all repositories",
        "create role codesearch_visible login",
        "create operator",
    ] {
        assert!(ran.err.contains(told), "{}", ran.err);
    }
    assert_eq!(ran.err.trim_end().lines().count(), 1, "{}", ran.err);
}
