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
    due         timestamptz not null default clock_timestamp()
);
create index pending_due on pending (due);
comment on table pending is 'The queue: folders that an ingest is to look at. A row is deleted in the transaction that publishes what was found.';
comment on column pending.source is 'The folder of a repository, of a worktree, or one in which there may be new repositories; absolute.';
comment on column pending.paths is 'Files and folders below source that have changed; null if that is unknown, so that all of it is looked at.';
comment on column pending.since is 'When the change was noticed.';
comment on column pending.due is 'Not before: later than since after a failure.';

alter table repos add column looked_at timestamptz;
comment on column repos.looked_at is 'When the last ingest that brought it up to date began to look at it; what changed before that is indexed.';
alter table repos add column failed_at timestamptz;
comment on column repos.failed_at is 'When an ingest, or a fetch of its clone, last failed since; null if it did not.';
alter table repos add column failure text;
comment on column repos.failure is 'Why, in one sentence.';
alter table repos add column failures integer not null default 0;
comment on column repos.failures is 'How often in a row.';
update repos set looked_at = coalesce(listed_at, indexed_at);
