-- What is known to have changed since the last ingest waits in one queue, from which one ingester takes it. Each
-- repository knows when it was last looked at, and why that failed.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

create table pending (
    id          bigint generated always as identity primary key,
    source      text not null,
    paths       text[],
    reason      text not null check (reason in ('asked', 'watched', 'hook', 'fetched', 'polled')),
    since       timestamptz not null default clock_timestamp(),
    due         timestamptz not null default clock_timestamp(),
    failures    integer not null default 0,
    failure     text
);
create index pending_due on pending (due);
comment on table pending is 'The queue: folders that an ingest is to look at. A row is deleted in the transaction that publishes what was found.';
comment on column pending.source is 'The folder of a repository, of a worktree, or one in which there may be new repositories; absolute.';
comment on column pending.paths is 'Files and folders below source that have changed; null if that is unknown, so that all of it is looked at.';
comment on column pending.since is 'When the change was noticed.';
comment on column pending.due is 'Not before: later than since after a failure.';
comment on column pending.failures is 'How often an ingest of it has failed.';
comment on column pending.failure is 'Why it failed last, in one sentence; null if it did not.';

create table roots (
    path        text primary key,
    depth       integer,
    follow_git  boolean not null,
    max_bytes   bigint not null
);
comment on table roots is 'The folders that were ingested, none inside another unless it was ingested later: new repositories are looked for and named below them.';
comment on column roots.path is 'The folder, absolute and without links.';
comment on column roots.depth is 'Levels below it at which every folder is a repository (ingest --depth); null if every folder with a .git is one.';
comment on column roots.max_bytes is 'Larger files are left out (ingest --max-size).';
comment on column roots.follow_git is 'Whether git data elsewhere are read if their user owns them (ingest --follow-git).';

alter table repos add column looked_at timestamptz;
comment on column repos.looked_at is 'When the last ingest that brought it up to date began to look at it; what changed before that is indexed.';
alter table repos add column failed_at timestamptz;
comment on column repos.failed_at is 'When an ingest, or a fetch of its clone, last failed since; null if it did not.';
alter table repos add column failure text;
comment on column repos.failure is 'Why, in one sentence.';
alter table repos add column failures integer not null default 0;
comment on column repos.failures is 'How often in a row.';
update repos set looked_at = coalesce(listed_at, indexed_at);

alter table state add column kept_from integer not null default 0;
comment on column state.kept_from is 'The first epoch of which no row is deleted.';
alter table shards add column purged integer not null default 0;
comment on column shards.purged is 'Rows of files that ended with this epoch, or before, are deleted.';

-- Each epoch updates rows of these small tables: there is room for the new versions in the same pages.
alter table repos set (fillfactor = 60);
alter table shards set (fillfactor = 60);
