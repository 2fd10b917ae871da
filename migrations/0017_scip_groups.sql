-- What SCIP indexes tell of up to 32 shards shares a partition, as filters do. Most indexes have no SCIP index at all, and
-- a partition for each shard made a fifth of the tables and indexes of a new one.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

alter table scip rename to scip_of_before;

create table scip (
    shard        smallint not null,
    blob         integer not null,
    import       integer not null,
    path         text not null,
    names        text not null,
    hashes       bigint[] not null,
    occurrences  bytea not null
) partition by range (shard);
comment on table scip is 'What the SCIP indexes tell: one row for a document, that is, for a path and the contents it had.';
comment on column scip.blob is 'blobs.id in the same shard.';
comment on column scip.import is 'scip_imports.id.';
comment on column scip.path is 'The path in the repository.';
comment on column scip.names is 'The SCIP symbols that the document mentions, each once, with a line feed between two.';
comment on column scip.hashes is 'SipHash-1-3, with a key of zeros, of those of its symbols that other documents may mention.';
comment on column scip.occurrences is 'Their kinds, what they have to do with each other, and where they stand: see the module store::scip::pack.';
-- Nothing is planned by what is in them.
alter table scip alter column path set statistics 0, alter column names set statistics 0,
    alter column hashes set statistics 0, alter column occurrences set statistics 0;

-- The groups of the shards that are there already; those of a new index are made with it.
do $$
declare
    made smallint;
begin
    for made in select distinct shard / 32 * 32 from shards loop
        execute format('create table scip_%s partition of scip for values from (%s) to (%s) with (toast_tuple_target = 128)',
                       to_char(made / 32, 'FM00'), made, made + 32);
    end loop;
end $$;

insert into scip select shard, blob, import, path, names, hashes, occurrences from scip_of_before order by shard, blob;
drop table scip_of_before;

-- Both come to the partitions with them.
create index scip_blob on scip (shard, blob);
create index scip_hashes on scip using gin (hashes);

comment on table shards is 'The shards. Each has a partition of chunks, documents, files, docs and symbols, and shares those of filters, chunk_filters and scip.';
