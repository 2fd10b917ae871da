-- SCIP indexes: what compilers know of the names in the texts, made by other tools and imported by: codesearch scip
--
-- A row belongs to a blob and to the path that the blob has in the import's repository. It is seen where a file has both,
-- and has no epoch of its own. It goes with the blob, with its repository, or with the next import of the same index.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

create table scip_imports (
    id           integer primary key generated always as identity,
    repo         integer not null,
    root         text not null,
    tool         text not null,
    version      text not null,
    documents    integer not null default 0,
    fitting      integer not null default 0,
    refused      integer not null default 0,
    occurrences  bigint not null default 0,
    shards       smallint[] not null default '{}',
    imported_at  timestamptz not null default now(),
    unique (repo, root, tool)
);
comment on table scip_imports is 'The SCIP indexes that were imported; the next one of the same repository, folder and tool replaces the one before.';
comment on column scip_imports.repo is 'repos.id.';
comment on column scip_imports.root is 'The folder of the repository for which it was made, without a slash at its end; empty for the whole repository.';
comment on column scip_imports.tool is 'The name of the tool that made it.';
comment on column scip_imports.version is 'The version of that tool, as it names it.';
comment on column scip_imports.documents is 'Its documents that were stored.';
comment on column scip_imports.fitting is 'Of these, the documents whose path still has the contents of which they tell.';
comment on column scip_imports.refused is 'Its documents that were not stored.';
comment on column scip_imports.occurrences is 'The places in the stored documents.';
comment on column scip_imports.shards is 'The shards with rows of it.';

create table scip (
    shard        smallint not null,
    blob         integer not null,
    import       integer not null,
    path         text not null,
    names        text not null,
    hashes       bigint[] not null,
    occurrences  bytea not null
) partition by list (shard);
comment on table scip is 'What the SCIP indexes tell: one row for a document, that is, for a path and the contents it had.';
comment on column scip.blob is 'blobs.id in the same shard.';
comment on column scip.import is 'scip_imports.id.';
comment on column scip.path is 'The path in the repository.';
comment on column scip.names is 'The SCIP symbols that the document mentions, each once, with a line feed between two.';
comment on column scip.hashes is 'SipHash-1-3, with a key of zeros, of those of its symbols that other documents may mention.';
comment on column scip.occurrences is 'Their kinds, what they have to do with each other, and where they stand: see the module store::scip::pack.';
-- Both come to the partitions with them.
create index scip_blob on scip (shard, blob);
create index scip_hashes on scip using gin (hashes);
-- Nothing is planned by what is in them.
alter table scip alter column path set statistics 0, alter column names set statistics 0,
    alter column hashes set statistics 0, alter column occurrences set statistics 0;

comment on table shards is 'The shards. Each has a partition of chunks, documents, filters, files, docs, symbols and scip.';

-- The shards that are there already; those of a new index are made with it.
do $$
declare
    made smallint;
begin
    for made in select shard from shards loop
        execute format('create table scip_%s partition of scip for values in (%s) with (toast_tuple_target = 128)',
                       to_char(made, 'FM000'), made);
    end loop;
end $$;

create or replace view codesearch_sql.scip_indexes as
    select r.name as repository, i.root as folder, i.tool, i.version, i.documents, i.fitting, i.refused, i.occurrences,
           i.imported_at
    from scip_imports i
    join repos r on r.id = i.repo;
comment on view codesearch_sql.scip_indexes is 'The SCIP indexes that were imported.';
comment on column codesearch_sql.scip_indexes.repository is 'repositories.repository.';
comment on column codesearch_sql.scip_indexes.folder is 'The folder of the repository for which it was made; empty for the whole repository.';
comment on column codesearch_sql.scip_indexes.tool is 'The tool that made it.';
comment on column codesearch_sql.scip_indexes.version is 'The version of the tool.';
comment on column codesearch_sql.scip_indexes.documents is 'Its documents that were stored.';
comment on column codesearch_sql.scip_indexes.fitting is 'Of these, the documents whose files are as they were.';
comment on column codesearch_sql.scip_indexes.refused is 'Its documents that were not stored, since they do not fit the files.';
comment on column codesearch_sql.scip_indexes.occurrences is 'The places in the stored documents.';
comment on column codesearch_sql.scip_indexes.imported_at is 'When it was imported.';
