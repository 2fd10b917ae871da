-- Symbols of neighbouring contents share a row, which takes a quarter of the room; and a filter of its names stands in the
-- place of a trigram index.
--
-- They are taken anew of the stored texts (codesearch symbols, or the next ingest): to cut what is stored into groups, and
-- to hash their names for the filters, SQL would take longer.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

-- The view stays, with what was granted on it; it reads the parent only.
alter table symbols rename to symbols_of_before;

do $$
declare
    made smallint;
begin
    for made in select shard from shards loop
        execute format('drop table symbols_%s', to_char(made, 'FM000'));
    end loop;
end $$;

create table symbols (
    shard    smallint not null,
    first    integer not null,
    blobs    integer[] not null,
    counts   smallint[] not null,
    names    text not null,
    numbers  bytea not null,
    filter   bytea not null,
    constraint symbols_groups primary key (shard, first)
) partition by list (shard);
comment on table symbols is 'What the contents define: one row for a group of neighbouring contents with about 4 KB of names. Contents in a language with symbols are in a group even if they define nothing.';
comment on column symbols.first is 'The first of its contents. Those between it and the last are in no other group.';
comment on column symbols.blobs is 'Its contents, ascending: blobs.id in the same shard.';
comment on column symbols.counts is 'How many symbols each of them has.';
comment on column symbols.names is 'The names of all its symbols, by content and place, with a line feed between two.';
comment on column symbols.numbers is 'Their kinds, containers and places, byte by byte: see the module store::symbols::group. The first bytes are kinds: 0 class, 1 struct, 2 enum, 3 interface, 4 trait, 5 union, 6 type, 7 macro, 8 function, 9 method, 10 constructor, 11 field, 12 constant, 13 variable, 14 enum-member, 15 module, 16 namespace, 17 package, 18 heading, 19 property, 20 implementation (where members of a type are defined outside of it; its name is not defined here).';
comment on column symbols.filter is 'A Bloom filter of the n-grams of the names, as of a chunk (the crate ngram).';
-- Names and numbers lie in TOAST, so that a search reads short rows; and take less there by this method than by lz4.
alter table symbols alter column blobs set storage main, alter column counts set storage main,
    alter column filter set storage plain,
    alter column names set compression pglz, alter column numbers set compression pglz;
-- Nothing is planned by what the names are.
alter table symbols alter column blobs set statistics 0, alter column counts set statistics 0,
    alter column names set statistics 0, alter column numbers set statistics 0,
    alter column filter set statistics 0;

do $$
declare
    made smallint;
begin
    for made in select shard from shards loop
        execute format('create table symbols_%s partition of symbols for values in (%s) with (toast_tuple_target = 128)',
                       to_char(made, 'FM000'), made);
    end loop;
end $$;

truncate symbols_skipped;
update shards set symbols_upto = 0;
update state set symbols_format = 0;

create or replace function codesearch_sql.symbols_of(blobs integer[], counts smallint[], names text, numbers bytea, blob integer)
    returns table (symbol text, kind text, container text, line integer)
    language sql immutable parallel safe rows 40 as $$
    -- Each value is read once from TOAST, and is not sorted with the rows.
    with read as materialized (
        select string_to_array(names, E'\n') as names, numbers || '' as numbers, octet_length(numbers) / 15 as plane,
               coalesce((select sum(count) from unnest(counts[:place - 1]) count), 0)::integer as first,
               counts[place] as symbols
        from array_position(blobs, blob) place)
    select symbol, kind, container, 1 + sum(lines) over (order by at)::integer
    from (
        select at, names[at + 1] as symbol,
               ('{class,struct,enum,interface,trait,union,type,macro,function,method,constructor,field,constant,variable,'
                'enum-member,module,namespace,package,heading,property,implementation}'::text[])[1 + get_byte(numbers, at)] as kind,
               names[at + 1 - case when above = 0 then null when above >= 32768 then above - 65536 else above end] as container,
               get_byte(numbers, 3 * plane + at) + (get_byte(numbers, 4 * plane + at) << 8)
                   + (get_byte(numbers, 5 * plane + at) << 16) + (get_byte(numbers, 6 * plane + at) << 24) as lines
        from read
        cross join generate_series(first, first + symbols - 1) at
        cross join lateral (
            select get_byte(numbers, plane + at) + (get_byte(numbers, 2 * plane + at) << 8) as above) p
        offset 0) s
$$;
comment on function codesearch_sql.symbols_of is 'The symbols of one of the contents in a row of symbols.';

create or replace view codesearch_sql.symbols as
    select r.name as repository, f.path, f.language, n.symbol, n.kind, n.container, n.line
    from files f
    cross join state t
    join repos r on r.id = f.repo
    join (symbols s cross join unnest(s.blobs) b (blob)) on s.shard = f.shard and b.blob = f.blob
    -- It takes the file's blob, so that only what is asked for is unpacked.
    cross join lateral codesearch_sql.symbols_of(s.blobs, s.counts, s.names, s.numbers, f.blob) n
    where f.valid_from <= t.epoch and t.epoch < f.valid_to;

drop table symbols_of_before;
