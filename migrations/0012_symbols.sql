-- Symbols: what the contents define (functions, types, headings, ...), to be found by name and shown as an outline.
--
-- A row belongs to a blob, and is seen wherever the blob is: it has no epoch of its own. All its arrays have one element
-- for each symbol, in the order in which their names begin.
--
-- What was indexed before this was there has no symbols until they are taken of the stored texts: codesearch symbols, or
-- the next ingest.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

create table symbols (
    shard    smallint not null,
    blob     integer not null,
    names    text not null,
    kinds    bytea not null,
    starts   integer[] not null,
    ends     integer[] not null,
    lines    integer[] not null,
    parents  smallint[] not null,
    primary key (shard, blob)
) partition by list (shard);
comment on table symbols is 'What each of the contents defines: one row for a blob, one element of its arrays for a symbol, in the order of starts. Contents in a language with symbols have a row even if they define nothing.';
comment on column symbols.blob is 'blobs.id in the same shard.';
comment on column symbols.names is 'The names, with a line feed between two.';
comment on column symbols.kinds is 'A byte for each: 0 class, 1 struct, 2 enum, 3 interface, 4 trait, 5 union, 6 type, 7 macro, 8 function, 9 method, 10 constructor, 11 field, 12 constant, 13 variable, 14 enum-member, 15 module, 16 namespace, 17 package, 18 heading, 19 property, 20 implementation (where members of a type are defined outside of it; its name is not defined here).';
comment on column symbols.starts is 'Where the name begins in the blob''s text, in bytes.';
comment on column symbols.ends is 'Where the definition ends, in bytes.';
comment on column symbols.lines is 'The line of the name, from 1.';
comment on column symbols.parents is 'The symbol that contains it, by its index from 0; -1 for none.';
-- Rows are short: what compresses is compressed within them.
alter table symbols alter column names set storage main, alter column starts set storage main,
    alter column ends set storage main, alter column lines set storage main, alter column parents set storage main;
-- Nothing is planned by what the names are.
alter table symbols alter column names set statistics 0, alter column kinds set statistics 0,
    alter column starts set statistics 0, alter column ends set statistics 0,
    alter column lines set statistics 0, alter column parents set statistics 0;

create table symbols_skipped (
    shard   smallint not null,
    blob    integer not null,
    reason  text not null,
    primary key (shard, blob)
);
comment on table symbols_skipped is 'Contents in a language with symbols of which not all were taken, and why.';
comment on column symbols_skipped.blob is 'blobs.id in the same shard.';
comment on column symbols_skipped.reason is 'A word: too-large, minified, too-nested, too-slow, too-many, parser-failed, long-name.';

alter table shards add column symbols_upto integer not null default 0;
comment on table shards is 'The shards. Each has a partition of chunks, documents, filters, files, docs and symbols.';
comment on column shards.symbols_upto is 'Of contents whose chunks have smaller numbers, symbols were taken.';

alter table state
    add column symbols_format    integer not null default 0,
    add column symbols_languages text[] not null default '{}';
comment on column state.symbols_format is 'The form of symbols; a program that knows a newer one takes them anew.';
comment on column state.symbols_languages is 'The languages of which symbols are taken, in small letters; a program that knows more takes those, too.';

-- The shards that are there already; those of a new index are made with it.
do $$
declare
    made smallint;
begin
    for made in select shard from shards loop
        execute format('create table symbols_%s partition of symbols for values in (%s) with (toast_tuple_target = 128)',
                       to_char(made, 'FM000'), made);
    end loop;
end $$;

create or replace view codesearch_sql.symbols as
    select r.name as repository, f.path, f.language, n.name as symbol,
           ('{class,struct,enum,interface,trait,union,type,macro,function,method,constructor,field,constant,variable,'
            'enum-member,module,namespace,package,heading,property,implementation}'::text[])[1 + get_byte(s.kinds, n.at::integer - 1)] as kind,
           (string_to_array(s.names, E'\n'))[1 + nullif(s.parents[n.at], -1)] as container,
           s.lines[n.at] as line
    from files f
    cross join state t
    join repos r on r.id = f.repo
    join symbols s on s.shard = f.shard and s.blob = f.blob
    cross join lateral string_to_table(nullif(s.names, ''), E'\n') with ordinality n (name, at)
    where f.valid_from <= t.epoch and t.epoch < f.valid_to;
comment on view codesearch_sql.symbols is 'What the files define, as far as symbols were taken.';
comment on column codesearch_sql.symbols.repository is 'repositories.repository.';
comment on column codesearch_sql.symbols.path is 'Its path in the repository, with slashes.';
comment on column codesearch_sql.symbols.language is 'Its language.';
comment on column codesearch_sql.symbols.symbol is 'The name that is defined.';
comment on column codesearch_sql.symbols.kind is 'A word: function, class, ...';
comment on column codesearch_sql.symbols.container is 'The name of the symbol around it; null if there is none.';
comment on column codesearch_sql.symbols.line is 'The line of the name, from 1.';
