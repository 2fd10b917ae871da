-- Who may see which repository: what was granted, and what hosts say of mirrored repositories.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

create table access_state (
    version     bigint not null default 0,
    restricted  boolean not null default false,
    one         boolean primary key default true check (one)
);
comment on table access_state is 'The state of the grants; one row.';
comment on column access_state.version is 'Number of changes of grants and of what hosts say. Servers read it with each request.';
comment on column access_state.restricted is 'Whether anything was ever granted. From then on, nobody sees what is not granted.';
comment on column access_state.one is 'True: there is one row.';
insert into access_state default values;

create table grants (
    who         text not null check (who ~ '^(\*|user:.+|group:.+)$'),
    pattern     text not null check (pattern <> ''),
    granted_at  timestamptz not null default now(),
    primary key (who, pattern)
);
comment on table grants is 'What was granted by commands. The configuration file may grant more.';
comment on column grants.who is 'To whom: * for everybody, user:* for everybody with a name, user:NAME or group:NAME.';
comment on column grants.pattern is 'A glob of the names of repositories.';
comment on column grants.granted_at is 'When it was granted.';

create table host_visibility (
    folder      text primary key,
    host        text not null references mirror_hosts on delete cascade,
    seen_by     text not null check (seen_by in ('public', 'internal', 'private')),
    seen_at     timestamptz not null
);
comment on table host_visibility is 'Whom hosts show mirrored repositories, as they said in their last listings.';
comment on column host_visibility.folder is 'The folder of the clone.';
comment on column host_visibility.host is 'The name of the host.';
comment on column host_visibility.seen_by is 'Whom it shows the repository: public to everybody, internal to everybody with an account, private to its members.';
comment on column host_visibility.seen_at is 'When it said so. A day later, it counts no more.';

alter table monitors add column owner_groups text[] not null default '{}', add column owner_repos text[] not null default '{}';
comment on column monitors.owner_groups is 'The groups of the owner, when it last made, resumed or looked at a monitor.';
comment on column monitors.owner_repos is 'Globs to which the token of the owner was narrowed then; none for no narrowing.';
