-- Monitors: queries whose matches are told as they appear and disappear. An epoch is looked at once for all monitors;
-- what they found, and that the epoch was looked at, is written in one transaction.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

-- What earlier epochs changed cannot be told.
update state set kept_from = greatest(kept_from, epoch);

alter table repos add column first_epoch integer;
comment on column repos.first_epoch is 'The first epoch that has it; null before its first ingest is complete.';
update repos set first_epoch = 0 where indexed_at is not null;

create table monitors (
    id          integer generated always as identity primary key,
    name        text not null unique,
    owner       text,
    query       text not null,
    repos       text[] not null default '{}',
    address     text,
    secret      text,
    paused      boolean not null default false,
    why         text,
    since_epoch integer not null,
    created_at  timestamptz not null default now(),
    check ((address is null) = (secret is null))
);
comment on table monitors is 'Standing queries.';
comment on column monitors.owner is 'The name of the token of whoever made it; null for the operator.';
comment on column monitors.repos is 'The patterns of the repositories that its owner may see, of which one must match a name; none for all.';
comment on column monitors.address is 'Where its news are delivered; null if they are only in its feed.';
comment on column monitors.secret is 'The key of the signatures of deliveries: whsec_ and base64.';
comment on column monitors.paused is 'Whether epochs pass it by.';
comment on column monitors.why is 'Why the program paused it; null if a person did.';
comment on column monitors.since_epoch is 'The epoch in which it was made or resumed; later ones are news.';

create table monitor_epoch (
    one         boolean primary key default true check (one),
    epoch       integer not null,
    looked_at   timestamptz not null default now()
);
comment on table monitor_epoch is 'One row: the last epoch that all monitors have looked at. While a monitor waits for later ones, their rows are kept.';
comment on column monitor_epoch.looked_at is 'When they did. After a day without a look, rows are no longer kept for them.';
insert into monitor_epoch (epoch) select epoch from state;

create table monitor_news (
    id          bigint generated always as identity primary key,
    monitor     integer not null references monitors on delete cascade,
    epoch       integer not null,
    at          timestamptz not null default now(),
    appeared    integer not null,
    disappeared integer not null,
    note        text,
    unique (monitor, epoch)
);
comment on table monitor_news is 'What a monitor found in an epoch.';
comment on column monitor_news.appeared is 'Number of matches that appeared; monitor_hits has the first of them.';
comment on column monitor_news.disappeared is 'Number of matches that disappeared.';
comment on column monitor_news.note is 'What else it noticed, such as a new repository, in one sentence.';

create table monitor_hits (
    news        bigint not null references monitor_news on delete cascade,
    n           integer not null,
    appeared    boolean not null,
    repo        integer not null,
    name        text not null,
    path        text not null,
    line        integer,
    text        text,
    primary key (news, n)
);
create index monitor_hits_repo on monitor_hits (repo);
comment on table monitor_hits is 'Matches that appeared or disappeared.';
comment on column monitor_hits.appeared is 'Whether it appeared; else it disappeared.';
comment on column monitor_hits.name is 'The name of the repository.';
comment on column monitor_hits.line is 'The number of the line, in the new text if it appeared, in the old one if it disappeared; null if the file itself matches.';
comment on column monitor_hits.text is 'The line, shortened if it is long.';

create table deliveries (
    id          text primary key,
    monitor     integer not null references monitors on delete cascade,
    news        bigint not null unique references monitor_news on delete cascade,
    state       text not null default 'waiting' check (state in ('waiting', 'delivered', 'given-up')),
    attempts    integer not null default 0,
    due         timestamptz not null default now(),
    tried_at    timestamptz,
    said        text,
    created_at  timestamptz not null default now()
);
create index deliveries_waiting on deliveries (monitor, news) where state = 'waiting';
comment on table deliveries is 'News to send to the addresses of monitors, each until it is acknowledged.';
comment on column deliveries.id is 'The header webhook-id, the same for each attempt.';
comment on column deliveries.due is 'Not before: the next attempt.';
comment on column deliveries.said is 'What became of the last attempt, in one sentence.';
