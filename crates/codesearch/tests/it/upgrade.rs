//! The first program that opens an index of an earlier version upgrades it.

use std::path::Path;

use ngram::{BLOCK_CHUNKS, BloomFilter, FilterKind};
use sqlx::{AssertSqlSafe, Executor, PgConnection};

use crate::harness::{Fixture, citus};

/// The oldest version whose rows are written here. Migrations produce the rows of later versions.
const OLDEST_ROWS: i64 = 5;

/// Turns an index into one of an earlier version for the same files: it replaces the schema with that of the first
/// migrations, and writes rows in the old form, without docs. `role` owns the index.
pub(crate) fn make_old(fixture: &Fixture, version: i64, role: Option<&str>) {
    fixture.with_connection(async |mut conn| {
        conn.execute("drop schema codesearch_visible, codesearch_sql cascade").await.unwrap();
        if let Some(role) = role {
            conn.execute(AssertSqlSafe(format!("set role {role}"))).await.unwrap();
        }
        conn.execute("alter schema codesearch rename to fresh; create schema codesearch")
            .await
            .unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
        let mut migrations = sqlx::migrate::Migrator::new(folder.clone()).await.unwrap();
        migrations.migrations.to_mut().retain(|migration| migration.version <= version.min(OLDEST_ROWS));
        migrations.run(&mut conn).await.unwrap();
        let rank = if version < 4 { "" } else { ", rank" };
        let rows = format!(
            "do $$
             declare
                 made smallint;
                 name text;
                 parent text;
             begin
                 for made in select shard from fresh.shards order by shard loop
                     name := to_char(made, 'FM000');
                     foreach parent in array '{{chunks, stretches, prose, files}}'::text[] loop
                         if to_regclass(parent) is not null then
                             execute format('create table %s_%s partition of %s for values in (%s)',
                                            parent, name, parent, made);
                         end if;
                     end loop;
                     execute format('create index files_%s_path on files_%s using gin (path gin_trgm_ops)',
                                    name, name);
                 end loop;
             end $$;
             insert into shards (shard, chunks, bytes, live_from, changed, summarised)
                 select shard, chunks, bytes, live_from, changed, filtered from fresh.shards;
             update state set epoch = f.epoch, identity = f.identity from fresh.state f;
             insert into repos (id, name, source, web, files, bytes, skipped, shards, indexed_at{rank})
                 overriding system value
                 select id, name, source, web, files, bytes, skipped, shards, indexed_at{rank} from fresh.repos;
             select setval(pg_get_serial_sequence('repos', 'id'), max(id)) from repos;
             insert into blobs select oid, shard, id, bytes, lines, chunks from fresh.blobs;
             insert into files (shard, blob, repo, born, died, bytes, stamp, language, path)
                 select shard, blob, repo, valid_from, valid_to, bytes, fingerprint, language, path
                 from fresh.files;
             insert into skipped (repo, born, died, bytes, stamp, reason, path)
                 select repo, valid_from, valid_to, bytes, fingerprint, reason, path from fresh.skipped"
        );
        conn.execute(AssertSqlSafe(rows)).await.unwrap();
        let (texts, table, column) = if version < 5 {
            (
                "insert into chunks (shard, n, blob, line, start, contents)
                     select shard, n, blob, line, start, contents from fresh.chunks",
                "chunks",
                "contents",
            )
        } else {
            (
                "insert into chunks (shard, n, blob, line, start, contents)
                     select shard, n, blob, line, start, contents from fresh.chunks;
                 insert into stretches (shard, first, upto, odd, words)
                     select shard, first, upto, false, lexemes from fresh.documents",
                "stretches",
                "words",
            )
        };
        conn.execute(texts).await.unwrap();
        let live: Vec<i16> =
            sqlx::query_scalar("select shard from shards where live_from is not null")
                .fetch_all(&mut conn)
                .await
                .unwrap();
        for shard in live {
            let index = format!(
                "create index {table}_{shard:03}_trgm on {table}_{shard:03} using gin ({column} gin_trgm_ops)"
            );
            conn.execute(AssertSqlSafe(index)).await.unwrap();
            summarise(&mut conn, shard).await;
        }
        conn.execute("drop schema fresh cascade").await.unwrap();
        // The state that a later version leaves if it is stopped before it has rebuilt the filters.
        let mut migrations = sqlx::migrate::Migrator::new(folder).await.unwrap();
        migrations.migrations.to_mut().retain(|migration| migration.version <= version);
        migrations.run(&mut conn).await.unwrap();
        if (12..14).contains(&version) {
            // Symbols in the form of that version, for all texts: each defines its first byte.
            let symbols = r"insert into symbols
                     select shard, id, 'x', '\x08', '{0}', '{1}', '{1}', '{-1}' from blobs;
                 update shards set symbols_upto = chunks;
                 update state set symbols_format = 1, symbols_languages = '{rust}'";
            conn.execute(symbols).await.unwrap();
        }
    });
}

/// Writes the filters of a shard as version 5 did: a row for each block, whose chunk is -1, and one for each large or
/// dense chunk.
async fn summarise(conn: &mut PgConnection, shard: i16) {
    let chunks: Vec<(i32, String)> =
        sqlx::query_as("select n, contents from chunks where shard = $1 order by n")
            .bind(shard)
            .fetch_all(&mut *conn)
            .await
            .unwrap();
    let mut hashes = Vec::new();
    for block in chunks.chunk_by(|(a, _), (b, _)| a / BLOCK_CHUNKS == b / BLOCK_CHUNKS) {
        let mut filters = vec![(-1, BloomFilter::new(FilterKind::Block))];
        for (n, text) in block {
            if text.len() > 8192 {
                let mut own = BloomFilter::for_text(text.len());
                own.add(text);
                filters.push((*n, own));
            } else if let Some(own) = filters[0].1.add_chunk(text, &mut hashes) {
                filters.push((*n, own));
            }
        }
        for (chunk, filter) in filters {
            sqlx::query("insert into grams (shard, block, chunk, bits) values ($1, $2, $3, $4)")
                .bind(shard)
                .bind(block[0].0 / BLOCK_CHUNKS)
                .bind(chunk)
                .bind(filter.to_bytes())
                .execute(&mut *conn)
                .await
                .unwrap();
        }
    }
}

/// Turns the filters of an index into those of version 8, whose table had no filters of single chunks.
fn make_filters_old(fixture: &Fixture) {
    fixture.with_connection(async |mut conn| {
        conn.execute(
            "delete from filters where kind > 3 or kind = 2 and number > 0;
             delete from chunk_filters;
             update state set filters_format = 0",
        )
        .await
        .unwrap();
    });
}

/// Moves the filters and SCIP data to where version 15 had them: in a table for each shard, the filters of chunks with
/// a row for each bit. Version 15 had no encodings, no groups and no rules.
fn make_filters_of_15(fixture: &Fixture) {
    fixture.exec(
        "drop table audit, audit_writers, audit_repos;
         drop sequence audit_ids;
         drop function take_allowance;
         drop table servers, allowances, allowances_running;
         alter table state drop column oldest_program;
         drop table grants, host_visibility, access_state;
         drop schema codesearch_visible cascade;
         drop view codesearch_sql.owners, codesearch_sql.newest_files;
         drop function codesearch_sql.owners_of, codesearch_sql.grep_statement(smallint, text, text, text, boolean, integer[]);
         drop view owner_files;
         drop function codesearch_sql.owners_in, codesearch_sql.owners_by, codesearch_sql.owner_rules, restrict_view;
         drop table sql_sessions;
         drop table words, word_segments;
         alter table shards drop column worded, drop column defined, drop column words_dead, drop column docs_indexed;
         alter table docs add column heading_lexemes tsvector;
         alter table state drop column words_format;
         drop table deliveries, monitor_hits, monitor_news, monitors, monitor_epoch;
         alter table repos drop column first_epoch;
         drop table mirrors, mirror_pages, mirror_hosts;
         drop view codesearch_sql.pending;
         drop trigger tell_freshness on repos;
         drop function tell_freshness();
         drop table pending, roots;
         alter table repos drop column polled;
         alter table state drop column kept_from;
         alter table shards drop column purged;
         drop table histories, history_batches, history_commits, history_lines cascade;
         drop sequence history_numbers;
         drop view codesearch_sql.files, codesearch_sql.repositories, codesearch_sql.left_out, codesearch_sql.trees,
             codesearch_sql.tree_files, codesearch_sql.file_texts, codesearch_sql.symbols;
         drop table metadata;
         alter table repos drop column looked_at, drop column failed_at, drop column failure, drop column failures;
         drop function codesearch_sql.tree_names(integer, integer);
         drop table trees, tree_sets, odd_blobs;
         drop sequence tree_set_ids;
         alter table files drop column trees;
         alter table skipped drop column trees;
         alter table repos drop column from_commit, drop column tree_shards, drop column branches, drop column languages;
         alter table blobs drop column encoding;
          alter table repos drop column git_folders, drop column no_ignore, drop column secrets, drop column listed_at;
          alter table skipped drop column rule;
          create view codesearch_sql.left_out as select r.name as repository, k.path, k.bytes, k.reason
              from skipped k cross join state s join repos r on r.id = k.repo
              where k.valid_from <= s.epoch and s.epoch < k.valid_to;
         alter table state drop column group_shards, drop column groups, drop column lost, drop column set_up;
         alter table repos drop column lost;
         alter table scip rename to fresh;
         create table scip (like fresh) partition by list (shard);
         drop table fresh;
         alter table filters rename to fresh;
         alter index filters_pkey rename to fresh_pkey;
         create table filters (shard smallint not null, kind smallint not null, number integer not null, bits bytea not null,
             primary key (shard, kind, number)) partition by list (shard);
         do $$
         declare made smallint;
         begin
             for made in select shard from shards loop
                 execute format('create table filters_%s partition of filters for values in (%s)', to_char(made, 'FM000'), made);
                 execute format('create table scip_%s partition of scip for values in (%s)', to_char(made, 'FM000'), made);
             end loop;
         end $$;
         insert into filters select shard, kind, number, bits from fresh;
         insert into filters (shard, kind, number, bits)
             select shard, 4, case when bit < 0 then bit else piece * 4096 + bit end, decode(bytes, 'hex')
             from chunk_filters cross join lateral (
                 select string_agg(lpad(to_hex(substring(bits from 1 + 8 * i for 8)::bit(8)::integer), 2, '0'), '' order by i)
                 from generate_series(0, length(bits) / 8 - 1) i) t (bytes);
         drop table fresh, chunk_filters;
         update state set filters_format = 3;
         delete from _sqlx_migrations where version > 15",
    );
}

/// Unusual texts: several chunks, long lines, dense chunks, characters that fold to ASCII.
fn written() -> Fixture {
    let fixture = Fixture::new();
    for n in 0..40 {
        let unit = if n % 7 == 0 { "\u{212a}elvin" } else { "celsius" };
        let lines: Vec<String> =
            (0..400).map(|i| format!("fn word{n}_{i}() {{ {unit} }}\n")).collect();
        fixture.write(&format!("r/{n}.rs"), lines.concat());
    }
    fixture.write("r/long.txt", format!("long_line {}\n", "of a text ".repeat(3000)));
    let mut seed = fastrand::Rng::with_seed(7);
    let encoded: String =
        (0..3000).map(|n| if n % 80 == 79 { '\n' } else { seed.alphanumeric() }).collect();
    fixture.write("r/dense.txt", format!("dense_chunk\n{encoded}\n"));
    fixture.write("r/left.bin", "left\0out");
    fixture.run(&["ingest", "--shards", "3", "r"]).code(0);
    fixture
}

fn answers(fixture: &Fixture) -> Vec<Vec<String>> {
    let patterns = [
        "word7_39",
        "KELVIN",
        "(?i)KELVIN",
        "word39_399",
        "nowhere",
        "long_line",
        "dense_chunk",
        "file:[37].rs word7",
        ". -file:rs",
    ];
    patterns.map(|pattern| fixture.search(&[pattern])).into()
}

/// Why such tests have nothing to do on nodes.
const NONE: &str = "no index of that version lay on nodes";

fn check(make_old: impl FnOnce(&Fixture)) {
    let fixture = written();
    let before = answers(&fixture);
    assert_eq!(before.iter().map(Vec::len).collect::<Vec<_>>()[..7], [11, 0, 2400, 1, 0, 1, 1]);
    let filters = "select (select count(*) from filters where kind <> 3) + (select count(*) from chunk_filters)";
    let stored = fixture.sql::<i64>(filters);
    make_old(&fixture);
    assert_eq!(answers(&fixture), before);
    fixture.check_invariants();
    assert_eq!(fixture.sql::<i64>(filters), stored);
    // SQL has the same results with both forms of lexemes.
    for (pattern, found) in [("word7_39", 11), ("long_line", 1), ("dense_chunk", 1), ("nowhere", 0)]
    {
        let sql = format!("select count(*) from codesearch_sql.grep('{pattern}')");
        assert_eq!(fixture.sql::<i64>(&sql), found, "{pattern}");
    }
    assert_eq!(fixture.sql::<i64>("select count(*) from codesearch_sql.files"), 42);
    // Nothing is read again, and the index can grow and shrink.
    let out = fixture.run(&["ingest", "r"]).code(0).out;
    assert!(out.contains("0 new or changed, 0 gone"), "{out}");
    // The stored texts have words.
    let behind =
        "select count(*) from shards where worded < chunks or not defined or not docs_indexed";
    assert_eq!(fixture.sql::<i64>(behind), 0);
    // Symbols are extracted from the stored texts.
    let symbols = "select count(*) from codesearch_sql.symbols where kind = 'function'";
    assert_eq!(fixture.sql::<i64>(symbols), 40 * 400);
    fixture.write("r/new.rs", "fn word7_39_new() {}\n");
    fixture.run(&["ingest", "r"]).code(0);
    assert_eq!(answers(&fixture)[0].len(), before[0].len() + 1);
    fixture.check_invariants();
    std::fs::remove_file(fixture.path().join("r/new.rs")).unwrap();
    fixture.run(&["ingest", "r"]).code(0);
    assert_eq!(answers(&fixture), before);
    fixture.check_invariants();
    // A server reads the filters into memory.
    let server = fixture.serve();
    let found = |pattern: &str| {
        server.json(&format!("/search?q={pattern}&limit=0")).1["stats"]["matches"].clone()
    };
    assert_eq!(
        (found("word7_39"), found("dense_chunk"), found("long_line")),
        (11.into(), 1.into(), 1.into())
    );
}

#[test]
fn filters_of_an_earlier_form_are_made_anew() {
    if citus::leaves_out(NONE) {
        return;
    }
    check(make_filters_old);
}

#[test]
fn filters_in_a_table_for_each_shard_are_rebuilt() {
    if citus::leaves_out(NONE) {
        return;
    }
    check(make_filters_of_15);
}

#[test]
fn every_schema_that_ever_was_is_upgraded() {
    if citus::leaves_out(NONE) {
        return;
    }
    let from = |version: i64| {
        println!("from version {version}");
        check(|fixture| make_old(fixture, version, None));
    };
    // It is among the last tests to begin, and the longest.
    std::thread::scope(|scope| {
        for first in 1..=4 {
            scope.spawn(move || (first..=17).step_by(4).for_each(from));
        }
    });
}

#[test]
fn a_change_of_a_parent_reaches_the_tables_of_shards() {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "one\n");
    fixture.ingest();
    fixture.exec_each("files", "alter table {} add column probe integer default 7");
    assert_eq!(fixture.sql::<i64>("select sum(probe) from files"), 7);
}

#[test]
fn what_scip_indexes_tell_stays() {
    if citus::leaves_out(NONE) {
        return;
    }
    let fixture = written();
    make_old(&fixture, 16, None);
    fixture.exec(
        "insert into scip_imports (repo, root, tool, version, shards) select id, '', 'tool', '1', shards from repos;
         insert into scip select shard, id, 1, 'path ' || id, 'a name', '{7, 8}', '\\x01' from blobs",
    );
    let rows = "select string_agg(scip::text, ' ' order by shard, blob) from scip";
    let before = fixture.sql::<String>(rows);
    fixture.run(&["repos"]).code(0);
    assert_eq!(fixture.sql::<String>(rows), before);
    let partitions = "select count(distinct tableoid) from scip";
    assert_eq!(fixture.sql::<i64>(partitions), 1);
}

#[test]
fn an_index_is_not_upgraded_under_programs_of_before() {
    if citus::leaves_out(NONE) {
        return;
    }
    let fixture = written();
    make_old(&fixture, 5, None);
    fixture.with_connection(async |mut conn| {
        conn.execute("set application_name = 'codesearch/5'").await.unwrap();
        let ran = fixture.run(&["repos"]).code(2);
        assert!(
            ran.err.contains("a connection of programs of that version is open"),
            "{}",
            ran.err
        );
        let version = "select max(version) from _sqlx_migrations";
        assert_eq!(sqlx::query_scalar::<_, i64>(version).fetch_one(&mut conn).await.unwrap(), 5);
    });
    // One that the changes do not disturb goes on beside it.
    fixture.with_connection(async |mut conn| {
        conn.execute("set application_name = 'codesearch/40'").await.unwrap();
        fixture.run(&["repos"]).code(0);
    });
    fixture.exec("update _sqlx_migrations set version = 1000 where version = 10");
    let ran = fixture.run(&["repos"]).code(2);
    assert!(ran.err.contains("another version of codesearch created the database"), "{}", ran.err);
}
