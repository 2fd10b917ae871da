//! Statements that write, wait, read files, change roles or run programs.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::visible::SEARCH_PATH as VISIBLE_PATH;
use super::{READER, SqlReader, VISIBLE, named, reader_settings, settings};
use crate::RepoId;
use crate::error::{Error, Result};
use crate::store::Store;
use crate::target::{Target, connect, options};
use crate::testing::{ingest, on_index, value};

/// Timeout of each statement.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Part of the error for a statement that is no query.
const NO_QUERY: &str = "only queries are allowed";

/// Part of the error for a function or a table that the role has no right to.
const DENIED: &str = "permission denied";

/// Each statement, and part of its error; empty if it may run.
const ATTACKS: &[(&str, &str)] = &[
    // Writing.
    ("insert into codesearch.repos (name, source) values ('x', '/x')", DENIED),
    ("update codesearch.state set epoch = 0", DENIED),
    ("delete from codesearch.files", DENIED),
    ("truncate codesearch.skipped", NO_QUERY),
    (
        "merge into codesearch.state s using (select 1) o on true when matched then update set epoch = 0",
        DENIED,
    ),
    ("with gone as (delete from codesearch.files returning 1) select * from gone", DENIED),
    (
        "with x as (update codesearch_sql.slow_searches set kind = 'x' returning 1) table x",
        NO_QUERY,
    ),
    ("insert into codesearch_sql.refusals values (now(), 'x', 1)", NO_QUERY),
    ("update codesearch_sql.slow_searches set kind = 'x'", NO_QUERY),
    ("delete from codesearch_sql.slow_searches", NO_QUERY),
    (
        "update pg_settings set setting = 'off' where name = 'default_transaction_read_only'",
        NO_QUERY,
    ),
    ("create table x ()", NO_QUERY),
    ("create temp table x ()", NO_QUERY),
    ("create table public.x as select 1", NO_QUERY),
    ("select 1 as n into x", NO_QUERY),
    ("select 1 as n into temp x", NO_QUERY),
    ("explain analyze create table public.x as select 1", DENIED),
    ("explain analyze delete from codesearch_sql.slow_searches", DENIED),
    ("explain (analyze) insert into codesearch_sql.refusals values (now(), 'x', 1)", DENIED),
    ("/* a comment */ explain analyze update codesearch_sql.slow_searches set kind = 'x'", DENIED),
    ("/* /* */ explain */ delete from codesearch.files", DENIED),
    ("-- explain\ndelete from codesearch.files", DENIED),
    ("create view public.x as select 1", NO_QUERY),
    ("create schema x", NO_QUERY),
    ("create sequence public.x", NO_QUERY),
    ("create extension hstore", NO_QUERY),
    ("drop view codesearch_sql.files", NO_QUERY),
    ("alter table codesearch.files set (fillfactor = 10)", NO_QUERY),
    ("comment on view codesearch_sql.files is 'x'", NO_QUERY),
    ("grant select on codesearch_sql.files to public", NO_QUERY),
    ("reindex table codesearch_sql.files", NO_QUERY),
    ("vacuum", NO_QUERY),
    ("analyze", NO_QUERY),
    ("checkpoint", NO_QUERY),
    ("drop database postgres", NO_QUERY),
    ("select nextval('codesearch.repos_id_seq')", DENIED),
    ("select setval('codesearch.repos_id_seq', 1)", DENIED),
    ("select lo_create(4711)", DENIED),
    ("select lo_creat(-1)", DENIED),
    ("select lo_from_bytea(4712, 'x')", DENIED),
    ("select txid_current()", DENIED),
    ("select pg_current_xact_id()", DENIED),
    ("select pg_logical_emit_message(false, 'x', repeat('x', 1000000))", DENIED),
    ("select pg_export_snapshot()", DENIED),
    ("select pg_create_physical_replication_slot('x')", DENIED),
    ("select pg_switch_wal()", DENIED),
    ("select pg_create_restore_point('x')", DENIED),
    ("select pg_reload_conf()", DENIED),
    ("select pg_stat_reset()", DENIED),
    ("select gin_clean_pending_list('codesearch_sql.files')", DENIED),
    ("select pg_import_system_collations('public')", DENIED),
    // Changing roles and settings.
    ("set role codesearch", NO_QUERY),
    ("reset role", NO_QUERY),
    ("set session authorization codesearch", NO_QUERY),
    ("reset session authorization", NO_QUERY),
    ("set default_transaction_read_only = off", NO_QUERY),
    ("set transaction read write", NO_QUERY),
    ("set statement_timeout = 0", NO_QUERY),
    ("select set_config('role', 'codesearch', false)", DENIED),
    ("select set_config('transaction_read_only', 'off', false)", DENIED),
    ("alter role codesearch_reader superuser", NO_QUERY),
    ("alter role codesearch_reader reset all", NO_QUERY),
    ("alter system set fsync = off", NO_QUERY),
    ("create role intruder superuser", NO_QUERY),
    ("grant codesearch to codesearch_reader", NO_QUERY),
    ("discard all", NO_QUERY),
    // Waiting, locking, waking and ending others.
    ("select pg_sleep(100000)", DENIED),
    ("select pg_sleep_for('1 day')", DENIED),
    ("select pg_sleep_until('infinity')", DENIED),
    ("select (100000::float8).pg_sleep", DENIED),
    ("select u&\"pg\\005fsleep\"(100000)", DENIED),
    ("select pg_catalog . pg_sleep /**/ (100000)", DENIED),
    ("select * from files where pg_sleep(100000) is null", DENIED),
    ("select pg_advisory_lock(109307756445696)", DENIED),
    ("select pg_try_advisory_lock(109307756445696)", DENIED),
    ("select pg_advisory_xact_lock_shared(1)", DENIED),
    ("select pg_advisory_unlock_all()", DENIED),
    ("select pg_notify('codesearch', '')", DENIED),
    ("notify codesearch", NO_QUERY),
    ("listen codesearch", NO_QUERY),
    ("lock table codesearch_sql.files in access exclusive mode", NO_QUERY),
    ("select * from repositories for update", DENIED),
    ("select pg_terminate_backend(pid) from pg_stat_activity", DENIED),
    ("select pg_cancel_backend(pid) from pg_stat_activity", DENIED),
    ("select count(*) from generate_series(1, 1000000000000)", "statement timeout"),
    (
        "with recursive r (n) as (select 1 union all select n + 1 from r) select count(n) from r",
        "statement timeout",
    ),
    ("select repeat('x', 2147483647)", "too large"),
    // Reading files and running programs.
    ("select pg_read_file('/etc/passwd')", DENIED),
    ("select pg_read_binary_file('/etc/passwd')", DENIED),
    ("select pg_ls_dir('/')", DENIED),
    ("select pg_stat_file('/etc/passwd')", DENIED),
    ("select lo_import('/etc/passwd')", DENIED),
    ("select lo_export(1, '/tmp/codesearch-attack')", DENIED),
    ("select * from pg_hba_file_rules", DENIED),
    ("copy codesearch_sql.files to '/tmp/codesearch-attack'", NO_QUERY),
    ("copy (select 1) to program 'touch /tmp/codesearch-attack'", NO_QUERY),
    ("copy codesearch_sql.refusals from program 'id'", NO_QUERY),
    ("load '/tmp/codesearch-attack.so'", NO_QUERY),
    ("do $$ begin execute 'set role codesearch'; end $$", NO_QUERY),
    ("create function public.f() returns int language c as '/tmp/f.so', 'f'", NO_QUERY),
    ("create function pg_temp.f() returns int language sql as 'select 1'", NO_QUERY),
    ("call x()", "does not exist"),
    // Several statements, and those whose effects outlast them.
    ("select 1; select 2", "cannot insert multiple commands"),
    ("commit; create table x ()", "cannot insert multiple commands"),
    ("explain select 1; delete from codesearch.files", "cannot insert multiple commands"),
    ("select 1) to stdout; --", "syntax error"),
    ("begin", NO_QUERY),
    ("commit", NO_QUERY),
    ("prepare p as select 1", NO_QUERY),
    ("execute p", NO_QUERY),
    ("explain analyze execute p", "does not exist"),
    ("declare c cursor with hold for select 1", NO_QUERY),
    ("fetch all from c", NO_QUERY),
    // Data that the role must not see.
    ("select * from codesearch.files", DENIED),
    ("select * from codesearch.files_000", DENIED),
    ("select * from codesearch._sqlx_migrations", DENIED),
    ("select * from pg_authid", DENIED),
    ("select * from pg_shadow", DENIED),
    ("select * from pg_statistic", DENIED),
    ("select query_to_xml('select pg_sleep(100000)', true, true, '')", DENIED),
    ("select table_to_xml('codesearch.state', true, true, '')", DENIED),
    ("select ts_stat('select pg_sleep(100000)')", DENIED),
    ("select ts_rewrite('a'::tsquery, 'select pg_sleep(100000)')", DENIED),
    // These reveal no secret.
    ("select pg_get_functiondef('codesearch_sql.grep'::regproc)", ""),
    ("select 'pg_sleep'::regproc", ""),
    ("select current_setting('data_directory', true)", "must be superuser"),
];

/// Returns the address of an index's reader.
fn reader_of(store: &Store) -> Target {
    Target::Socket {
        folder: store.options.get_socket().unwrap().clone(),
        role: READER.to_owned(),
        database: store.options.get_database().unwrap().to_owned(),
    }
}

/// Returns all that an attack could change.
async fn state(store: &Store) -> String {
    let sql = "
        select concat_ws(E'\\n',
            (select string_agg(r::text, ' ' order by rolname) from pg_authid r),
            (select string_agg(s::text, ' ' order by s::text) from pg_db_role_setting s),
            (select string_agg(m::text, ' ' order by m::text) from pg_auth_members m),
            (select string_agg(concat_ws(':', oid, relname, relacl, relfilenode), ' ' order by oid) from pg_class
             where relname !~ '^pg_'),
            (select string_agg(oid::text, ' ' order by oid) from pg_proc),
            (select string_agg(n::text, ' ' order by oid) from pg_namespace n),
            (select string_agg(e::text, ' ' order by oid) from pg_extension e),
            (select string_agg(l::text, ' ' order by oid) from pg_largeobject_metadata l),
            (select string_agg(l::text, ' ') from pg_locks l where locktype = 'advisory' and database =
                 (select oid from pg_database where datname = current_database())),
            (select string_agg(s::text, ' ') from pg_replication_slots s),
            (select string_agg(name, ' ') from pg_ls_dir('pg_snapshots') name),
            (select string_agg(name, ' ') from pg_ls_dir('/tmp') name where name ~ 'codesearch-attack'),
            (select string_agg(setting, ' ') from pg_settings where name in ('fsync', 'default_transaction_read_only')),
            (select string_agg(s::text, ' ') from state s),
            (select string_agg(r::text, ' ') from repos r),
            (select last_value from repos_id_seq),
            (select string_agg(f::text, ' ') from files_000 f))";
    value(store, sql).await
}

async fn check_state(store: &Store, before: &str) {
    let now = state(store).await;
    for (now, before) in now.lines().zip(before.lines()) {
        assert_eq!(now, before);
    }
    assert_eq!(now.len(), before.len());
}

async fn run(store: &Store, reader: &Target, statement: &str) -> Result<u64> {
    run_for(store, reader, statement, TIMEOUT).await
}

async fn run_for(
    store: &Store,
    reader: &Target,
    statement: &str,
    timeout: Duration,
) -> Result<u64> {
    let mut query = store.sql(&SqlReader::owner(reader.clone()), statement, timeout).await?;
    let mut rows = 0;
    query
        .run(|_| {
            rows += 1;
            Ok::<_, Error>(())
        })
        .await?;
    Ok(rows)
}

#[test]
fn statements_read_the_views_and_do_nothing_else() {
    on_index(1, async |store| {
        ingest(store, "r", &[("a.txt", 1, "hello\n")]).await;
        let reader = reader_of(store);
        assert_eq!(run(store, &reader, "select * from files").await.unwrap(), 1);
        let before = state(store).await;
        let mut wrong = Vec::new();
        for (statement, told) in ATTACKS {
            let said = match run(store, &reader, statement).await {
                Ok(_) if told.is_empty() => continue,
                Ok(_) => "it runs".to_owned(),
                Err(error) => error.to_string(),
            };
            if told.is_empty() || !said.contains(told) {
                wrong.push(format!("{statement}: {said}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        check_state(store, &before).await;
        // The rights of the role suffice where statements are not checked: as psql sends them.
        let options = options(&reader).unwrap().options(reader_settings("1000"));
        let mut conn = connect(&options).await.unwrap();
        for (statement, _) in ATTACKS.iter().filter(|(_, told)| *told != "statement timeout") {
            let _ = conn.execute(AssertSqlSafe((*statement).to_owned())).await;
            let _ = conn.execute("rollback; set default_transaction_read_only = off").await;
            let sql = format!("set statement_timeout = 1000; {statement}");
            let _ = conn.execute(AssertSqlSafe(sql)).await;
            let _ = conn.execute("rollback").await;
        }
        // Every role may change its own settings; the next statement resets them.
        run(store, &reader, "select 1").await.unwrap();
        check_state(store, &before).await;
        conn.close().await.unwrap();
        // It cannot go elsewhere, either.
        for database in ["postgres", "template1"] {
            assert!(PgConnection::connect_with(&options.clone().database(database)).await.is_err());
        }
    });
}

/// Those of [`ATTACKS`] that may run: they tell nothing.
const HARMLESS: &str = "select 'pg_sleep'::regproc";

#[test]
fn somebody_who_sees_one_repository_sees_no_more() {
    on_index(1, async |store| {
        ingest(store, "r", &[("a.txt", 1, "hello\n")]).await;
        ingest(store, "hidden", &[("b.txt", 2, "hidden\n")]).await;
        let Target::Socket { folder, role: _, database } = reader_of(store) else { unreachable!() };
        let target = Target::Socket { folder, role: VISIBLE.to_owned(), database };
        let id: i32 = value(store, "select id from repos where name = 'r'").await;
        let reader = SqlReader::of(target.clone(), Some(vec![RepoId(id)]));
        let run = async |statement: &str| -> Result<Vec<String>> {
            let mut rows = Vec::new();
            let mut query = store.sql(&reader, statement, TIMEOUT).await?;
            query
                .run(|values| {
                    rows.extend(values.iter().flatten().map(|value| (*value).to_owned()));
                    Ok::<_, Error>(())
                })
                .await?;
            Ok(rows)
        };
        assert_eq!(run("select repository from repositories").await.unwrap(), ["r"]);
        assert_eq!(run("select text from file_texts").await.unwrap(), ["hello\n"]);
        assert_eq!(run("select path from grep('h')").await.unwrap(), ["a.txt"]);
        let all = SqlReader::of(target.clone(), None);
        let mut query = store.sql(&all, "select repository from files", TIMEOUT).await.unwrap();
        let mut rows = 0;
        query
            .run(|_| {
                rows += 1;
                Ok::<_, Error>(())
            })
            .await
            .unwrap();
        assert_eq!(rows, 2);
        let none = SqlReader::of(target.clone(), Some(Vec::new()));
        let mut query = store.sql(&none, "select * from files", TIMEOUT).await.unwrap();
        query.run(|_| Err::<(), Error>(Error::Busy)).await.unwrap();
        let before = state(store).await;
        let mut wrong = Vec::new();
        for (statement, _) in ATTACKS {
            match run(statement).await {
                Ok(_) if *statement == HARMLESS => {}
                Ok(rows) => wrong.push(format!("{statement}: it runs: {rows:?}")),
                Err(error) if error.to_string().contains("hidden") => {
                    wrong.push(format!("{statement}: {error}"));
                }
                Err(_) => {}
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        check_state(store, &before).await;
        // The rights of the role suffice, too; a connection whose process has no row sees nothing.
        let options = options(&target).unwrap().options(settings(VISIBLE_PATH, "1000"));
        let mut conn = connect(&options).await.unwrap();
        for (statement, _) in ATTACKS.iter().filter(|(_, told)| *told != "statement timeout") {
            let _ = conn.execute(AssertSqlSafe((*statement).to_owned())).await;
            let _ = conn.execute("rollback; set default_transaction_read_only = off").await;
            let sql = format!("set statement_timeout = 1000; {statement}");
            let _ = conn.execute(AssertSqlSafe(sql)).await;
            let _ = conn.execute("rollback; set search_path = codesearch_visible, public").await;
        }
        let seen: i64 =
            sqlx::query_scalar("select count(*) from files").fetch_one(&mut conn).await.unwrap();
        assert_eq!(seen, 0);
        run("select 1").await.unwrap();
        check_state(store, &before).await;
        // Rights that the role has gained are revoked.
        let mut owner = store.connection().await.unwrap();
        owner
            .execute(
                "grant select on pg_class to public; grant execute on function pg_relation_size(regclass) to public;
                 grant select on codesearch.repos to codesearch_visible;
                 grant usage on schema codesearch to codesearch_visible; grant codesearch_reader to codesearch_visible",
            )
            .await
            .unwrap();
        for statement in [
            "select count(*) from pg_class",
            "select pg_relation_size('codesearch_visible.files')",
            "select * from codesearch.repos",
            "select * from codesearch_sql.files",
        ] {
            let denied = run(statement).await.unwrap_err().to_string();
            assert!(denied.contains(DENIED), "{statement}: {denied}");
        }
        // Processes that have ended have no rows for long.
        let rows: i64 = value(store, "select count(*) from sql_sessions").await;
        assert!(rows < 20, "{rows}");
        conn.close().await.unwrap();
    });
}

#[test]
fn queries_of_every_form_are_answered() {
    on_index(1, async |store| {
        ingest(store, "r", &[("a.txt", 1, "hello\n")]).await;
        let reader = reader_of(store);
        let long = Duration::from_mins(1);
        for statement in [
            "select path, path from files;",
            "-- of the sample\nselect path from files -- all",
            "with f as (select * from files) select count(*) from f",
            "values (1), (2)",
            "table repositories",
            "(select 1) union all (select 2)",
            "explain select * from files",
            "/* a plan */ EXPLAIN (analyze, verbose) select * from grep('hello')",
            "show statement_timeout",
            "select * from grep('hello')",
            "select * from explain_grep('hello')",
            "select text from file_texts where similarity(path, 'a.txt') > 0.1",
            "select pg_size_pretty(pg_total_relation_size('codesearch_sql.files')), random(), now()",
            "select * from symbols union all select * from symbols union all select null, null, null, null, null, null, 1",
        ] {
            let rows = run_for(store, &reader, statement, long).await;
            assert!(matches!(rows, Ok(1..)), "{statement}: {rows:?}");
        }
        // It does not see others' statements.
        let others = "select * from pg_stat_activity where usename <> session_user and query <> '<insufficient privilege>'";
        assert_eq!(run(store, &reader, others).await.unwrap(), 0);
    });
}

#[test]
fn a_role_that_may_do_more_is_not_used() {
    on_index(1, async |store| {
        let Target::Socket { folder, role: _, database } = reader_of(store) else { unreachable!() };
        let owner = Target::Socket { folder, role: "codesearch".to_owned(), database };
        let refused =
            store.sql(&SqlReader::owner(owner), "select 1", TIMEOUT).await.unwrap_err().to_string();
        assert!(
            refused.contains("more rights than to connect") && refused.contains("create role"),
            "{refused}"
        );
        // Rights that the role has gained are revoked.
        let reader = reader_of(store);
        run(store, &reader, "select 1").await.unwrap();
        let mut conn = store.connection().await.unwrap();
        conn.execute(
            "grant pg_read_all_data to codesearch_reader; grant execute on function pg_sleep to public;
             grant temp on database template1 to codesearch_reader",
        )
        .await
        .unwrap();
        let denied = run(store, &reader, "select pg_sleep(0)").await.unwrap_err().to_string();
        assert!(denied.contains(DENIED), "{denied}");
        let denied = run(store, &reader, "select * from codesearch.files").await.unwrap_err();
        assert!(denied.to_string().contains(DENIED), "{denied}");
    });
}

#[test]
fn a_name_is_found_wherever_it_stands() {
    let names = ["pg_sleep".to_owned(), "set_config".to_owned()];
    let check = |statement: &str, found: Option<&str>| {
        assert_eq!(named(statement, &names), found, "{statement}");
    };
    check("select PG_Sleep(1)", Some("pg_sleep"));
    check("select \"set_config\"('a', 'b', false)", Some("set_config"));
    check("select/**/pg_sleep/**/(1)", Some("pg_sleep"));
    check("select u&\"pg\\005fsleep\"(1)", Some("pg_sleep"));
    check("select my_pg_sleep, pg_sleeps, 'pg_sleep2' from x", None);
    assert_eq!(named("select U&\"x\"", &[]), None);
}
