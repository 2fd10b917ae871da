-- Clones of hosts' repositories, which a mirror keeps in step: what the hosts listed, and the state of each clone.

create table mirror_hosts (
    name        text primary key,
    kind        text not null,
    url         text not null,
    listed      integer not null default 0 check (listed >= 0),
    scope       text not null default '',
    listed_at   timestamptz,
    wanted      boolean not null default false,
    paused_until timestamptz,
    failed_at   timestamptz,
    failure     text
);
comment on table mirror_hosts is 'The hosts whose repositories are mirrored.';
comment on column mirror_hosts.name is 'Its name in the configuration file.';
comment on column mirror_hosts.kind is 'Which API it has: github, gitlab, gitea, forgejo, or git for a list of addresses.';
comment on column mirror_hosts.url is 'Where its API begins; empty for a list of addresses.';
comment on column mirror_hosts.listed is 'Number of repositories in its last complete listing.';
comment on column mirror_hosts.scope is 'What that was of: the owners and groups that the configuration file names.';
comment on column mirror_hosts.listed_at is 'When that began.';
comment on column mirror_hosts.wanted is 'Whether it is to be listed as soon as possible: it told of a repository that is not known.';
comment on column mirror_hosts.paused_until is 'Not to be asked before: it said so.';
comment on column mirror_hosts.failed_at is 'When a listing last failed since; null if it did not.';
comment on column mirror_hosts.failure is 'Why, in one sentence.';

create table mirror_pages (
    host        text not null references mirror_hosts on delete cascade,
    url         text not null,
    etag        text not null,
    next        text,
    found       jsonb not null,
    primary key (host, url)
);
comment on table mirror_pages is 'Pages of the last listings. A host that says that a page is unchanged sends nothing else.';
comment on column mirror_pages.url is 'Its address.';
comment on column mirror_pages.etag is 'The name of its contents, as the host gives it.';
comment on column mirror_pages.next is 'The address of the page after it; null after the last one.';
comment on column mirror_pages.found is 'The repositories on it.';

create table mirrors (
    host        text not null references mirror_hosts on delete cascade,
    host_id     text not null,
    path        text not null,
    address     text not null,
    folder      text not null unique,
    found       jsonb not null,
    branches    text[],
    history     boolean,
    no_ignore   boolean,
    skip_secrets boolean,
    refs        text,
    cloned_at   timestamptz,
    fetched_at  timestamptz,
    settled     boolean not null default false,
    missing     integer not null default 0 check (missing >= 0),
    hidden_at   timestamptz,
    hidden      text,
    failed_at   timestamptz,
    failure     text,
    failures    integer not null default 0 check (failures >= 0),
    due         timestamptz not null default '-infinity',
    primary key (host, host_id),
    check ((hidden_at is null) = (hidden is null)),
    check ((failed_at is null) = (failures = 0))
);
comment on table mirrors is 'The clones of hosts'' repositories. A repository is known by host and id, so one that is renamed stays the same.';
comment on column mirrors.host_id is 'Its id on the host; for a list of addresses, its address.';
comment on column mirrors.path is 'Its path on the host, such as golang/go.';
comment on column mirrors.address is 'What git clones.';
comment on column mirrors.folder is 'The folder of the clone; absolute.';
comment on column mirrors.found is 'What the host said of it when the clone was last brought in step.';
comment on column mirrors.branches is 'Globs of the branches and tags to index; null if the configuration file does not say.';
comment on column mirrors.history is 'Whether to index the history of lines; null if the configuration file does not say.';
comment on column mirrors.no_ignore is 'Whether to index files that ignore files name; null if the configuration file does not say.';
comment on column mirrors.skip_secrets is 'Whether to leave out files that look like secrets; null if the configuration file does not say.';
comment on column mirrors.refs is 'A hash of the branches and tags of the clone, when it was last put into the queue.';
comment on column mirrors.cloned_at is 'When it was cloned; null before.';
comment on column mirrors.fetched_at is 'When the last fetch began that succeeded.';
comment on column mirrors.settled is 'Whether the host would have told of a push by the time of that fetch; else it is fetched again.';
comment on column mirrors.missing is 'Number of the latest complete listings without it, in a row.';
comment on column mirrors.hidden_at is 'Since when it is in no search, because it is gone from the host or left out; null if it is.';
comment on column mirrors.hidden is 'Why, in one sentence.';
comment on column mirrors.failed_at is 'When cloning or fetching last failed since; null if it did not.';
comment on column mirrors.failure is 'Why, in one sentence.';
comment on column mirrors.failures is 'How often in a row.';
comment on column mirrors.due is 'Not to be tried before: later after a failure.';
