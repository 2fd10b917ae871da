-- The trigram index is over the words of a few neighbouring chunks, each word once, instead of over the texts of
-- the chunks: it names nearly as well what may match, is less than half as large, and is built in a third of the time.

-- No ingest of before may go on: it would store chunks without words. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

create table stretches (
    shard  smallint not null,
    first  integer not null,
    upto   integer not null,
    odd    boolean not null,
    words  text not null,
    primary key (shard, first)
) partition by list (shard);
create index stretches_odd on stretches (shard) where odd;
comment on table stretches is 'The words of neighbouring chunks. The rows that the trigram indexes index.';
comment on column stretches.first is 'The number of its first chunk.';
comment on column stretches.upto is 'The number after that of its last chunk.';
comment on column stretches.odd is 'One of its chunks holds a long s or a Kelvin sign, which fold to ASCII letters: a candidate of every pattern with an s or a k in any case.';
comment on column stretches.words is 'Their words, and perhaps more, in small letters as far as they are ASCII, with a blank before, between and behind them.';
-- Words hardly compress.
alter table stretches alter column words set storage external;

-- The shards that are there already. Texts of about 32 KB are taken for the words of a stretch: the trigrams are the
-- same, and it takes more room until the shard is filled anew. What stands between words becomes blanks.
do $$
declare
    made smallint;
    name text;
    between text := (select string_agg(chr(i), '') from generate_series(1, 127) i
        where i not between 48 and 57 and i not between 65 and 90 and i not between 97 and 122);
begin
    for made in select shard from shards order by shard loop
        name := to_char(made, 'FM000');
        execute format(
            'create table stretches_%s partition of stretches for values in (%s) with (toast_tuple_target = 128)',
            name, made);
        execute format(
            'insert into stretches
             select %s, min(n), max(n) + 1, bool_or(odd),
                    translate('' '' || string_agg(contents, '' '' order by n) || '' '', $1, repeat('' '', length($1)))
             from (select *, sum(octet_length(contents)) over (order by n) / 32768 as part from chunks_%s
                   where n < (select summarised from shards where shard = %s)) c
             group by part order by part',
            made, name, made) using between;
        if to_regclass(format('chunks_%s_trgm', name)) is not null then
            execute format('create index stretches_%s_trgm on stretches_%s using gin (words gin_trgm_ops)', name, name);
            execute format('analyze stretches_%s (shard, first, upto, odd)', name);
        end if;
    end loop;
    -- At the end, since whoever searches has to wait from here on.
    for made in select shard from shards order by shard loop
        execute format('drop index if exists chunks_%s_trgm', to_char(made, 'FM000'));
    end loop;
end $$;
alter table chunks drop column odd;
comment on table chunks is 'Pieces of contents, each a run of whole lines of a few KB.';
comment on column files.odd is 'Its path holds a long s or a Kelvin sign: see stretches.odd.';
comment on table shards is 'The shards, each a partition of chunks, of stretches and of files.';
comment on column shards.summarised is 'All chunks with smaller numbers are in stretches and in grams.';

-- Of the chunks that a stretch names, which may hold what is asked for. Nothing is known of those that are there already.
alter table chunks add column grams bytea not null default decode(repeat('ff', 256), 'hex');
alter table chunks alter column grams set storage plain;
comment on column chunks.grams is 'Which n-grams it holds, and perhaps others: a Bloom filter with one hash.';
