-- The trigram index is over the words of a few neighbouring chunks, each word once, instead of over the texts of
-- the chunks: it names nearly as well what may match, is less than half as large, and is built in a third of the time.
create table words (
    shard  smallint not null,
    first  integer not null,
    upto   integer not null,
    odd    boolean not null,
    words  text not null,
    primary key (shard, first)
) partition by list (shard);
create index words_odd on words (shard) where odd;
comment on table words is 'The words of stretches of neighbouring chunks. The rows that the trigram indexes index.';
comment on column words.first is 'The number of the first chunk of the stretch.';
comment on column words.upto is 'The number after that of its last chunk.';
comment on column words.odd is 'One of its chunks holds a long s or a Kelvin sign, which fold to ASCII letters: a candidate of every pattern with an s or a k in any case.';
comment on column words.words is 'Its words, and perhaps more, with ASCII letters folded, and blanks before, between and behind them.';
-- Words hardly compress, and nothing is planned by what they are.
alter table words alter column words set storage external, alter column words set statistics 0;

-- The shards that are there already. Of those with texts, all of a stretch is taken for its words: the trigrams are
-- the same, and it takes more room until the shard is filled anew.
do $$
declare
    made smallint;
    name text;
begin
    for made in select shard from shards order by shard loop
        name := to_char(made, 'FM000');
        execute format('create table words_%s partition of words for values in (%s) with (toast_tuple_target = 128)',
                       name, made);
        execute format(
            'insert into words select %s, min(n), max(n) + 1, bool_or(odd), '' '' || string_agg(contents, '' '' order by n) || '' ''
             from chunks_%s where n < (select summarised from shards where shard = %s) group by n / 8 order by n / 8',
            made, name, made);
        if to_regclass(format('chunks_%s_trgm', name)) is not null then
            execute format('create index words_%s_trgm on words_%s using gin (words gin_trgm_ops)', name, name);
            execute format('drop index chunks_%s_trgm', name);
            execute format('analyze words_%s', name);
        end if;
    end loop;
end $$;
alter table chunks drop column odd;

-- Of those that a stretch names, which may hold what is asked for.
alter table chunks add column grams bytea not null default decode(repeat('ff', 256), 'hex');
alter table chunks alter column grams set storage plain, alter column grams set statistics 0;
comment on column chunks.grams is 'Which n-grams it holds, and perhaps others: a Bloom filter with one hash.';
comment on table chunks is 'Pieces of contents, each a run of whole lines of a few KB.';
