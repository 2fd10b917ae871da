-- What a host, or the git configuration of a clone, says of a repository besides its files: queries ask for it, and stars
-- stand for a rank where the operator gave none.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

create table metadata (
    source          text primary key,
    host            text,
    host_id         text,
    description     text,
    fork            boolean,
    archived        boolean,
    public          boolean,
    topics          text[],
    stars           integer check (stars >= 0),
    pushed_at       timestamptz,
    default_branch  text,
    meta            jsonb check (jsonb_typeof(meta) = 'object'),
    published       boolean not null default false
);
comment on table metadata is 'What hosts and git configurations say of repositories. A row may be there before its repository is indexed.';
comment on column metadata.source is 'The folder of the repository: repos.source.';
comment on column metadata.host is 'The host that said so; null if the git configuration of the clone did.';
comment on column metadata.host_id is 'Its number or name on the host, which stays when it is renamed.';
comment on column metadata.description is 'What it is about, in one line.';
comment on column metadata.fork is 'Whether it began as a copy of another one; null if that is unknown.';
comment on column metadata.archived is 'Whether nobody may change it any more; null if that is unknown.';
comment on column metadata.public is 'Whether everybody may see it on its host; null if that is unknown.';
comment on column metadata.topics is 'The topics that it has there, in lowercase; null if they are unknown.';
comment on column metadata.stars is 'How many people starred it; null if that is unknown.';
comment on column metadata.pushed_at is 'When it last changed on the host; null if that is unknown.';
comment on column metadata.default_branch is 'The branch that its host shows; null if that is unknown.';
comment on column metadata.meta is 'Further texts by name, for meta.FIELD: in queries: those of codesearch.meta in the git configuration.';
comment on column metadata.published is 'Whether an epoch began since it changed, so that all servers know it.';

-- The view gets further columns at its end, whatever columns it has.
do $$
declare before text := rtrim(pg_get_viewdef('codesearch_sql.repositories'::regclass), E'; \n');
begin
    execute format(
        'create or replace view codesearch_sql.repositories as
         select r.*, m.host, m.description, m.fork, m.archived, m.public, m.topics, m.stars, m.pushed_at,
                m.default_branch, m.meta
         from (%s) r left join metadata m on m.source = r.folder', before);
end $$;
comment on column codesearch_sql.repositories.host is 'The host that told the columns after this one; null if the git configuration of its clone did, or nobody.';
comment on column codesearch_sql.repositories.description is 'What it is about, in one line; null if that is unknown.';
comment on column codesearch_sql.repositories.fork is 'Whether it began as a copy of another one; null if that is unknown.';
comment on column codesearch_sql.repositories.archived is 'Whether nobody may change it any more; null if that is unknown.';
comment on column codesearch_sql.repositories.public is 'Whether everybody may see it on its host; null if that is unknown.';
comment on column codesearch_sql.repositories.topics is 'The topics that it has on its host, in lowercase; null if they are unknown.';
comment on column codesearch_sql.repositories.stars is 'How many people starred it; null if that is unknown.';
comment on column codesearch_sql.repositories.pushed_at is 'When it last changed on its host; null if that is unknown.';
comment on column codesearch_sql.repositories.default_branch is 'The branch that its host shows; null if that is unknown.';
comment on column codesearch_sql.repositories.meta is 'Further texts by name: those of codesearch.meta in the git configuration; null if there are none.';
