-- What people and programs see of how fresh the index is: when each repository was last looked at, what failed since, and
-- what waits in the queue.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

-- Servers keep these columns in memory, since each answer tells of them. A change of them makes no epoch.
create function tell_freshness() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform pg_notify('codesearch_freshness', '');
    return null;
end $$;
revoke execute on function tell_freshness() from public;
comment on function tell_freshness is 'Notifies servers that repositories were looked at, or that this failed.';
create trigger tell_freshness after update of looked_at, failed_at, failure on repos
    for each statement execute function tell_freshness();

create or replace view codesearch_sql.repositories as
    select name as repository, source as folder, web, commit, rank, files, bytes, skipped as left_out, indexed_at,
           no_ignore, secrets, coalesce(looked_at, listed_at, indexed_at) as looked_at, failed_at, failure, failures
    from repos
    where indexed_at is not null;
comment on column codesearch_sql.repositories.looked_at is 'When the last ingest that brought it up to date began to look at it; what changed before that is indexed.';
comment on column codesearch_sql.repositories.failed_at is 'When an ingest, or a fetch of its clone, last failed since; null if it did not.';
comment on column codesearch_sql.repositories.failure is 'Why, in one sentence.';
comment on column codesearch_sql.repositories.failures is 'How often in a row.';

create view codesearch_sql.pending as
    select row_number() over (order by p.due, p.id) as place,
           (select r.name from repos r where r.indexed_at is not null
                and (r.source = p.source or exists (
                    select from trees t where t.repo = r.id and t.source = p.source and t.valid_to = 2147483647))
            order by r.name limit 1) as repository,
           p.source as folder, p.paths, p.reason, p.since, p.due
    from pending p;
comment on view codesearch_sql.pending is 'The queue: what an ingest is to look at.';
comment on column codesearch_sql.pending.place is 'Its place in the queue, from 1.';
comment on column codesearch_sql.pending.repository is 'repositories.repository; null for a folder in which there may be new repositories.';
comment on column codesearch_sql.pending.folder is 'The folder of the repository, of a worktree, or one in which there may be new repositories.';
comment on column codesearch_sql.pending.paths is 'Files and folders below it that have changed; null if that is unknown, so that all of it is looked at.';
comment on column codesearch_sql.pending.reason is 'A word: asked, watched, hook, fetched, polled.';
comment on column codesearch_sql.pending.since is 'When the change was noticed.';
comment on column codesearch_sql.pending.due is 'Not before: later than since after a failure.';
