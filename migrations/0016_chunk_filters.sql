-- The filters of up to 32 shards share a table, with the shard last in its key, so that one statement reads a bit of all
-- of these shards from neighbouring places of the index. Those of chunks are bit strings, for which Postgres has an AND.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

alter table filters rename to filters_by_shard;
alter index filters_pkey rename to filters_by_shard_pkey;

create table filters (
    shard   smallint not null,
    kind    smallint not null,
    number  integer not null,
    bits    bytea not null,
    primary key (kind, number, shard)
) partition by range (shard);
comment on table filters is 'Bloom filters of the n-grams of blocks, and of dense and large chunks. They rule out what cannot match.';
comment on column filters.kind is '0: a slice of the filters of blocks of 512 chunks; 1: a slice of those of dense chunks; 2: the numbers of the dense chunks (number 0) and of the large ones (1), 4 bytes each, the highest first; 3: the filter of a large chunk; 5: a slice of the filters of large chunks, in as many bits as those of blocks.';
comment on column filters.number is 'Of a slice, its first bit divided by 128; of a large chunk, its number; else 0 or 1.';
comment on column filters.bits is 'A slice holds 128 consecutive bits of all filters of its kind: for each of these bits some bytes, in which bit n, from the lowest of the first byte, is that of filter n.';

create table chunk_filters (
    bit      smallint not null,
    shard    smallint not null,
    piece    smallint not null,
    bits     bit varying not null,
    primary key (bit, shard, piece)
) partition by range (shard);
comment on table chunk_filters is 'Bloom filters of the n-grams of chunks, bit by bit. They rule out what cannot match.';
comment on column chunk_filters.bit is 'The bit of the filters; -1: the chunks with which a blob begins; -2: in how many of the chunks of the first piece each bit is set.';
comment on column chunk_filters.piece is 'Which 8192 chunks of the shard, from 0.';
comment on column chunk_filters.bits is 'This bit of the filters of the chunks of the piece: of each eight of them, the last one first. Where all are 0 there is no row.';

-- They do not compress.
alter table filters alter column bits set storage external;
alter table chunk_filters alter column bits set storage external;

do $$
declare
    first smallint;
    name text;
    rows text;
begin
    for first in select shard from shards where shard % 32 = 0 order by shard loop
        name := to_char(first / 32, 'FM00');
        execute format('create table filters_%s partition of filters for values from (%s) to (%s)
                        with (toast_tuple_target = 8160)', name, first, first + 32);
        execute format('create table chunk_filters_%s partition of chunk_filters for values from (%s) to (%s)
                        with (toast_tuple_target = 8160)', name, first, first + 32);
        -- Filters of an earlier form are remade from the texts (state.filters_format).
        select string_agg(format('select * from filters_%s', to_char(shard, 'FM000')), ' union all ')
        into rows from shards
        where filtered > 0 and shard between first and first + 31 and (select filters_format from state) = 3;
        continue when rows is null;
        execute format('insert into filters_%s (shard, kind, number, bits)
                        select shard, kind, number, bits from (%s) f where kind <> 4 order by kind, number, shard', name, rows);
        execute format('insert into chunk_filters_%s (bit, shard, piece, bits)
                        select case when number < 0 then number else number %% 4096 end as bit, shard,
                               case when number < 0 then 0 else number / 4096 end as piece, (''x'' || encode(bits, ''hex''))::varbit
                        from (%s) f where kind = 4 order by bit, shard, piece', name, rows);
    end loop;
end $$;

drop table filters_by_shard;
