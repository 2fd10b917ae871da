-- What servers have done: how long searches took, who was turned away, and the slowest in full.
--
-- Several servers may share a database, so a row is added to, never overwritten.

create table searches (
    hour     timestamptz not null,
    kind     text not null,
    outcome  text not null,
    counts   bigint[] not null,
    micros   bigint not null,
    primary key (hour, kind, outcome)
);
comment on table searches is 'How long searches took: for each hour, kind and outcome a histogram.';
comment on column searches.hour is 'Its beginning; after some weeks the hours of a day (UTC) become one row.';
comment on column searches.kind is 'What the plan was: indexed, scan, ...';
comment on column searches.outcome is 'How they ended: complete, limit, timeout, ...';
comment on column searches.counts is 'Searches by duration: up to 31.25 us, then eight buckets for each doubling, and at last all beyond.';
comment on column searches.micros is 'The sum of their durations, in microseconds.';

create table refusals (
    hour    timestamptz not null,
    reason  text not null,
    count   bigint not null,
    primary key (hour, reason)
);
comment on table refusals is 'Requests that were turned away, by the limit that they met.';

create table slow_searches (
    id       bigint generated always as identity primary key,
    at       timestamptz not null,
    kind     text not null,
    outcome  text not null,
    micros   bigint not null,
    query    text not null,
    plan     text not null
);
create index slow_searches_at on slow_searches (at);
comment on table slow_searches is 'The newest searches that took longer than a server was told to find long; a bounded number.';
comment on column slow_searches.at is 'When it ended.';
comment on column slow_searches.query is 'As it was understood.';
comment on column slow_searches.plan is 'How it was planned, and what was done.';

create function add_counts(bigint[], bigint[]) returns bigint[]
    language sql immutable parallel safe as $$
    select coalesce(array_agg(coalesce(a, 0) + coalesce(b, 0) order by n), '{}')
    from unnest($1, $2) with ordinality as both_of(a, b, n)
$$;
create aggregate sum_counts(bigint[]) (sfunc = add_counts, stype = bigint[], initcond = '{}');
comment on function add_counts is 'Two histograms as one.';
