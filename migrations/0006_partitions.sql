-- Every statement names the partition it reads or writes, never its parent; filters are partitioned, too, and those of
-- blocks are stored bit by bit. A new epoch is published in two steps: see state.prepared.
--
-- Filters of before lie in filters_by_block until the program that runs this has turned them round.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

-- Whoever publishes an epoch says so.
drop trigger epoch_changed on state;
drop function epoch_changed();
alter table state add column prepared integer;
comment on column state.prepared is 'The next epoch, while rows of it are written and it is not current yet; the next ingest takes back what a killed one has prepared.';

alter table files rename column born to valid_from;
alter table files rename column died to valid_to;
alter table files rename column stamp to fingerprint;
alter table files rename column odd to non_ascii_fold;
alter index files_odd rename to files_non_ascii_fold;
comment on table files is 'A path in a repository, and the blob it has in the epochs valid_from <= epoch < valid_to.';
comment on column files.valid_from is 'The first epoch that has this row.';
comment on column files.valid_to is 'The first epoch that no longer has it; 2147483647 while none is known.';
comment on column files.fingerprint is 'A hash of what stat says of the file (size, times, inode); 0 has it read again next time.';
comment on column files.non_ascii_fold is 'Its path holds a long s or a Kelvin sign: see documents.non_ascii_fold.';

alter table skipped rename column born to valid_from;
alter table skipped rename column died to valid_to;
alter table skipped rename column stamp to fingerprint;
comment on table skipped is 'Files that ingest left out, and why, in the epochs valid_from <= epoch < valid_to.';

alter table stretches rename to documents;
alter table documents rename column words to lexemes;
alter table documents rename column odd to non_ascii_fold;
alter index stretches_pkey rename to documents_pkey;
alter index stretches_odd rename to documents_non_ascii_fold;
comment on table documents is 'Neighbouring chunks as one document of the trigram index.';
comment on column documents.first is 'The number of its first chunk.';
comment on column documents.upto is 'The number after that of its last chunk.';
comment on column documents.lexemes is 'The words of its chunks, each once: ASCII letters in lower case, and blanks before, between and after them.';
comment on column documents.non_ascii_fold is 'One of its chunks holds a long s or a Kelvin sign, which fold to ASCII letters: a candidate of every pattern with an s or a k that ignores case.';

alter table chunks rename column grams to filter;
comment on column chunks.filter is 'A Bloom filter of the n-grams of its text, with one hash.';

alter table shards rename column summarised to filtered;
comment on table shards is 'The shards. Each has a partition of chunks, documents, filters and files.';
comment on column shards.filtered is 'Documents and filters contain every chunk with a smaller number.';
comment on column shards.live_from is 'The first epoch with files in it; null while an ingest fills it and its index is not built.';

create table filters (
    shard   smallint not null,
    kind    smallint not null,
    number  integer not null,
    bits    bytea not null,
    primary key (shard, kind, number)
) partition by list (shard);
comment on table filters is 'Bloom filters of the n-grams of the chunks of a shard. They rule out what cannot match.';
comment on column filters.kind is '0: a slice of the filters of blocks of 512 chunks; 1: a slice of the filters of dense chunks; 2: the numbers of the dense chunks, 4 bytes each, the highest first; 3: the filter of a large chunk.';
comment on column filters.number is 'Of a slice, its first bit divided by 128; of a large chunk, its number; else 0.';
comment on column filters.bits is 'A slice holds 128 consecutive bits of all filters of its kind: for each of these bits some bytes, in which bit n, from the lowest of the first byte, is that of filter n.';
-- They do not compress.
alter table filters alter column bits set storage external;

do $$
declare
    made smallint;
    name text;
begin
    for made in select shard from shards order by shard loop
        name := to_char(made, 'FM000');
        execute format('alter table stretches_%s rename to documents_%s', name, name);
        execute format('alter index if exists stretches_%s_pkey rename to documents_%s_pkey', name, name);
        execute format('alter index if exists stretches_%s_trgm rename to documents_%s_trgm', name, name);
        -- A slice lies in its row as long as a page has room for it.
        execute format('create table filters_%s partition of filters for values in (%s) with (toast_tuple_target = 8160)',
                       name, made);
    end loop;
end $$;

alter table grams rename to filters_by_block;
