-- The words of texts, and of the names that they define, with the chunks that have them: what a question in words asks.
--
-- An index of before gets them at the next ingest.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

create table word_segments (
    shard    smallint not null,
    segment  integer not null,
    field    smallint not null,
    first    integer not null,
    bits     smallint not null,
    postings bigint not null,
    lengths  bytea not null,
    primary key (shard, segment)
) partition by range (shard);
comment on table word_segments is 'Parts of the word index, each of what one ingest stored in a shard, or of several merged.';
comment on column word_segments.segment is 'Its number in the shard.';
comment on column word_segments.field is '0: the words of the texts of chunks; 1: those of the names that chunks define.';
comment on column word_segments.first is 'The number of its first chunk. Its postings count from it.';
comment on column word_segments.bits is 'Its words are spread over 2 ^ bits buckets.';
comment on column word_segments.postings is 'How many pairs of a word and a chunk it has.';
comment on column word_segments.lengths is 'Of texts, a byte for each chunk from the first one on: a code of the number of its words, and the highest bit if it begins a blob (the crate words).';

create table words (
    shard    smallint not null,
    segment  integer not null,
    bucket   integer not null,
    entries  bytea not null,
    primary key (shard, segment, bucket)
) partition by range (shard);
comment on table words is 'The words of segments, with the chunks that have them.';
comment on column words.segment is 'word_segments.segment in the same shard.';
comment on column words.bucket is 'The first bits of the hashes of its words; as many as the segment says.';
comment on column words.entries is 'The hashes, ascending, each with its chunks and how often they have it: see words::list.';

-- They do not compress.
alter table word_segments alter column lengths set storage external;
alter table words alter column entries set storage external;
alter table word_segments alter column lengths set statistics 0;
alter table words alter column entries set statistics 0;

do $$
declare
    size smallint := (select group_shards from state);
    first smallint;
    name text;
begin
    for first in select shard from shards where shard % size = 0 order by shard loop
        name := to_char(first / size, 'FM00');
        execute format('create table word_segments_%s partition of word_segments for values from (%s) to (%s)
                        with (toast_tuple_target = 8160)', name, first, first + size);
        execute format('create table words_%s partition of words for values from (%s) to (%s)
                        with (toast_tuple_target = 8160)', name, first, first + size);
    end loop;
end $$;

alter table shards
    add column worded integer not null default 0,
    add column defined boolean not null default true,
    add column words_dead integer not null default 0;
comment on column shards.worded is 'All chunks with smaller numbers are in words.';
comment on column shards.defined is 'Whether the names of all its symbols are in words.';
comment on column shards.words_dead is 'Number of chunks whose texts were deleted since their words last were.';
update shards set defined = symbols_upto = 0;

alter table state add column words_format integer not null default 0;
comment on column state.words_format is 'How texts are cut into words: words::FORMAT of the program that wrote them.';
comment on column state.group_shards is 'How many shards share a partition of filters, chunk_filters, scip, word_segments and words. It does not change once there are shards.';
