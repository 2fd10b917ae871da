-- Has the views and functions for people read the tables of shards on nodes: by functions, of all shards that are searched.
-- They run as their owner, since a role that only reads has no rights on nodes. They return rows of the current epoch.

create or replace function codesearch.all_files() returns setof codesearch.files
    language plpgsql stable security definer rows 100000 set search_path = codesearch, pg_catalog, pg_temp as $$
declare
    one smallint;
    now integer := (select epoch from state);
    -- In the order of the pattern, whose rows it returns.
    columns text := (select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
        where attrelid = 'files'::regclass and attnum > 0 and not attisdropped);
begin
    for one in select shard from shards where live_from is not null order by shard loop
        return query execute format('select %s from files_%s where valid_from <= $1 and $1 < valid_to',
                                    columns, to_char(one, 'FM000')) using now;
    end loop;
end $$;
comment on function codesearch.all_files is 'The files of all shards, on whichever node they lie.';

create or replace function codesearch.all_symbols() returns setof codesearch.symbols
    language plpgsql stable security definer rows 10000 set search_path = codesearch, pg_catalog, pg_temp as $$
declare
    one smallint;
    columns text := (select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
        where attrelid = 'symbols'::regclass and attnum > 0 and not attisdropped);
begin
    for one in select shard from shards where live_from is not null order by shard loop
        return query execute format('select %s from symbols_%s', columns, to_char(one, 'FM000'));
    end loop;
end $$;
comment on function codesearch.all_symbols is 'The symbols of all shards, on whichever node they lie.';

create or replace function codesearch.chunks_of(of_shard smallint, of_blob integer, chunks integer)
    returns setof codesearch.chunks
    language plpgsql stable security definer rows 4 set search_path = codesearch, pg_catalog, pg_temp as $$
declare
    columns text := (select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
        where attrelid = 'chunks'::regclass and attnum > 0 and not attisdropped);
begin
    return query execute format('select %s from chunks_%s where shard = $1 and n >= $2 and n < $2 + $3',
                                columns, to_char(of_shard, 'FM000')) using of_shard, of_blob, chunks;
end $$;
comment on function codesearch.chunks_of is 'The chunks of a text, on whichever node it lies.';

do $$
declare
    found record;
    sql text;
begin
    for found in
        select distinct c.oid, c.oid::regclass::text as name, c.reloptions
        from pg_depend d
        join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass
        join pg_class c on c.oid = r.ev_class and c.relkind = 'v'
        where d.refclassid = 'pg_class'::regclass
          and d.refobjid in ('codesearch.files'::regclass, 'codesearch.symbols'::regclass, 'codesearch.chunks'::regclass)
        order by 1
    loop
        sql := pg_get_viewdef(found.oid);
        sql := regexp_replace(sql, '\y(codesearch\.)?files f\y', 'codesearch.all_files() f', 'g');
        sql := regexp_replace(sql, '\y(codesearch\.)?symbols s\y', 'codesearch.all_symbols() s', 'g');
        sql := regexp_replace(sql, '\y(codesearch\.)?chunks c\y', 'codesearch.chunks_of(f.shard, f.blob, b.chunks) c', 'g');
        execute format('create or replace view %s as %s', found.name, sql);
    end loop;
    for found in
        select p.oid from pg_proc p
        where p.pronamespace in ('codesearch'::regnamespace, 'codesearch_sql'::regnamespace, 'codesearch_visible'::regnamespace)
          and p.prokind = 'f' and p.prosrc ~ '\yfrom files f\y'
    loop
        execute regexp_replace(pg_get_functiondef(found.oid), '\yfrom files f\y', 'from codesearch.all_files() f', 'g');
    end loop;
end $$;
