-- The index: what is searched, cut into shards, and which state of it is the current one.
--
-- Every change of the index is one step of a counter, the *epoch*. A row of `files` or `skipped` is
-- part of all epochs e with born <= e < died. A search reads one epoch from beginning to end, over
-- however many statements and connections; an ingest prepares everything the next epoch needs and
-- then makes it the current one in a single transaction.
--
-- `chunks` and `blobs` have no epoch: they are contents, found only by way of `files`, and what no
-- file refers to is never shown.

create table state (
    one         boolean primary key default true check (one),
    epoch       integer not null default 0,
    unfinished  boolean not null default false,
    identity    bigint not null default (random() * 9e18)::bigint
);
comment on table state is 'One row: where the index stands.';
comment on column state.epoch is 'The current epoch.';
comment on column state.identity is 'Tells this index from one that was here before, whose epochs had the same numbers.';
comment on column state.unfinished is 'An ingest has begun and not ended; contents without files may lie about.';
insert into state default values;

create function epoch_changed() returns trigger language plpgsql as $$
begin
    perform pg_notify('codesearch_epoch', new.epoch::text);
    return null;
end $$;
create trigger epoch_changed after update of epoch on state
    for each row execute function epoch_changed();

create table shards (
    shard      smallint primary key,
    chunks     integer not null default 0,
    bytes      bigint not null default 0,
    live_from  integer,
    changed    integer not null default 0,
    summarised integer not null default 0
);
comment on table shards is 'The shards, each a partition of chunks and of files.';
comment on column shards.chunks is 'The next free chunk number.';
comment on column shards.bytes is 'Bytes of text in it.';
comment on column shards.changed is 'The last epoch whose files in it are not those of the epoch before.';
comment on column shards.summarised is 'All chunks with smaller numbers are in grams.';
comment on column shards.live_from is 'The first epoch with files in it; null while it is filled and has no index yet.';

create table grams (
    shard  smallint not null,
    block  integer not null,
    chunk  integer not null,
    bits   bytea not null,
    primary key (shard, block, chunk)
);
-- They do not compress.
alter table grams alter column bits set storage external;
comment on table grams is 'Which n-grams each block of chunks holds, and perhaps more: what cannot hold a pattern is not looked at.';
comment on column grams.block is 'The number of its chunks divided by how many are in a block.';
comment on column grams.chunk is 'A chunk so large or so dense that it has a row of its own; -1 for all the others of the block.';
comment on column grams.bits is 'A Bloom filter with one hash.';

create table repos (
    id          integer generated always as identity primary key,
    name        text not null unique,
    source      text not null,
    web         text,
    files       bigint not null default 0,
    bytes       bigint not null default 0,
    skipped     bigint not null default 0,
    shards      smallint[] not null default '{}',
    indexed_at  timestamptz
);
comment on table repos is 'The repositories.';
comment on column repos.name is 'The origin''s host and path, or else the path below the folder given to ingest.';
comment on column repos.source is 'The folder it was read from, absolute.';
comment on column repos.web is 'Where its files can be read on the web, as of the commit that was read: the address before their paths.';
comment on column repos.bytes is 'Bytes of text in its files, each file counted.';
comment on column repos.skipped is 'Files left out; the rows are in skipped.';
comment on column repos.shards is 'The shards that hold its files.';
comment on column repos.indexed_at is 'When it was last read; null before its first ingest is complete.';

create table blobs (
    oid     bytea primary key check (length(oid) = 20),
    shard   smallint not null,
    id      integer not null,
    bytes   integer not null,
    lines   integer not null,
    chunks  integer not null
);
create unique index blobs_place on blobs (shard, id);
comment on table blobs is 'Contents, each stored once however many files have it.';
comment on column blobs.oid is 'Git''s blob hash (SHA-1) of the file as it lay on disk.';
comment on column blobs.id is 'The number of its first chunk.';
comment on column blobs.bytes is 'Bytes of its text, as UTF-8.';
comment on column blobs.chunks is 'How many chunks it has, numbered from id without a gap.';

create table chunks (
    shard     smallint not null,
    n         integer not null,
    blob      integer not null,
    line      integer not null,
    start     integer not null,
    contents  text not null,
    odd       boolean not null generated always as
                  (strpos(contents, U&'\017F') > 0 or strpos(contents, U&'\212A') > 0) stored,
    primary key (shard, n)
) partition by list (shard);
create index chunks_odd on chunks (shard, n) where odd;
comment on table chunks is 'Pieces of contents, each a run of whole lines of a few KB. The rows that the trigram indexes index.';
comment on column chunks.n is 'Its number in the shard.';
comment on column chunks.blob is 'blobs.id in the same shard.';
comment on column chunks.line is 'The number of its first line in the blob, from 1.';
comment on column chunks.start is 'Where it begins in the blob''s text, in bytes.';
comment on column chunks.odd is 'It holds a long s or a Kelvin sign, which fold to ASCII letters: a candidate of every pattern with an s or a k in any case.';
-- With statistics, planning a LIKE would run the pattern against sampled texts.
alter table chunks alter column contents set statistics 0;

create table files (
    shard     smallint not null,
    blob      integer not null,
    repo      integer not null,
    born      integer not null,
    died      integer not null default 2147483647,
    bytes     integer not null,
    stamp     bigint not null,
    language  text,
    path      text not null,
    odd       boolean not null generated always as
                  (strpos(path, U&'\017F') > 0 or strpos(path, U&'\212A') > 0) stored
) partition by list (shard);
create index files_blob on files (shard, blob);
create index files_odd on files (shard, blob) where odd;
comment on table files is 'Where a blob appears: a path in a repository.';
comment on column files.born is 'The first epoch it is part of.';
comment on column files.died is 'The first epoch it is no longer part of.';
comment on column files.bytes is 'Bytes of its text.';
comment on column files.stamp is 'A hash of what stat says of the file (size, times, inode); 0 means: read it again next time.';
comment on column files.path is 'The path in the repository, with slashes.';
comment on column files.odd is 'As chunks.odd, of the path.';

create table skipped (
    repo    integer not null,
    born    integer not null,
    died    integer not null default 2147483647,
    bytes   bigint not null,
    stamp   bigint not null,
    reason  text not null,
    path    text not null
);
create index skipped_repo on skipped (repo);
comment on table skipped is 'Files that were left out, and why.';
comment on column skipped.reason is 'A word: binary, too-large, symlink, special, unreadable, vanished, name.';
