-- What a server was asked, by whom, and what it answered. A month is a partition, so that old months are dropped as a
-- whole; servers make the partitions (store::audit).

create table audit_writers (
    id         integer generated always as identity primary key,
    name       text not null,
    started_at timestamptz not null,
    until      timestamptz not null,
    written    bigint not null default 0,
    running    integer not null default 0,
    ended      boolean not null default false
);
comment on table audit_writers is 'The runs of servers that write the audit. A run that has not ended, and whose lock nobody holds, was killed.';
comment on column audit_writers.name is 'The machine and the address of the server.';
comment on column audit_writers.until is 'All events of this run up to this time are written.';
comment on column audit_writers.written is 'The number of its last event: a batch that is sent again adds no event twice.';
comment on column audit_writers.running is 'Requests that were being answered at that time, whose events are written when they end.';
comment on column audit_writers.ended is 'Whether it ended in order, or what it may have lost is in the audit.';

create table audit_repos (
    id   integer generated always as identity primary key,
    name text not null unique
);
comment on table audit_repos is 'The names of the repositories in the audit. They stay when a repository is removed or renamed.';

create sequence audit_ids;
comment on sequence audit_ids is 'Numbers of events.';

create table audit (
    at          timestamptz not null,
    id          bigint not null default nextval('audit_ids'),
    writer      integer not null,
    took        integer not null,
    files       integer not null,
    results     integer not null,
    repos_count integer not null,
    more        integer not null,
    status      smallint not null,
    is_owner    boolean not null,
    outcome     text not null,
    interface   text not null,
    endpoint    text not null,
    sender      text,
    who         text,
    query       text,
    parameters  text,
    reason      text,
    repos       integer[]
) partition by range (at);
create index audit_at on audit (at, id);
comment on table audit is 'What servers were asked, and what they answered.';
comment on column audit.at is 'When the request came; of lost events and gaps, where the time begins.';
comment on column audit.id is 'Its number; ascending among events of the same time.';
comment on column audit.writer is 'audit_writers.id: the run of a server; 0 for a command of the owner.';
comment on column audit.took is 'Milliseconds from the request to the end of the answer; of lost events and gaps, the length of the time.';
comment on column audit.files is 'Number of files in the answer.';
comment on column audit.results is 'Number of lines, names or rows in the answer.';
comment on column audit.repos_count is 'Number of repositories in the answer.';
comment on column audit.more is 'Of a refusal, how many more there were from this sender within a minute; of lost events and gaps, how many.';
comment on column audit.status is 'The status of the answer; 0 if there was none.';
comment on column audit.is_owner is 'Whether the owner of the folder of the index asked.';
comment on column audit.outcome is 'answered, refused, failed or aborted (the client left); lost: events that were not written because the database was away; gap: a server ended before it had written all.';
comment on column audit.interface is 'page, api, mcp, sql or command; server for what servers note themselves.';
comment on column audit.endpoint is 'The address, without parameters.';
comment on column audit.sender is 'The address of the client; null for the socket of the index.';
comment on column audit.who is 'The name of who asked; null if nobody signed in.';
comment on column audit.query is 'The query, shortened if it is long.';
comment on column audit.parameters is 'The other parameters, as in an address.';
comment on column audit.reason is 'The code of the error, if there was one.';
comment on column audit.repos is 'audit_repos.id of the repositories in the answer; the first thousand.';

