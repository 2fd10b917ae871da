-- Several servers of one index: which ones run, and what they may give to a token together.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

alter table state add column oldest_program integer not null default 40;
comment on column state.oldest_program is 'The newest migration that a program must know to use this schema. Later ones do not disturb it.';

-- Rows are for the moment: they need not survive a crash.
create unlogged table servers (
    id          integer generated always as identity primary key,
    address     text not null,
    machine     text not null,
    process     integer not null,
    backend     integer not null,
    version     text not null,
    started     timestamptz not null default clock_timestamp(),
    draining    boolean not null default false
);
comment on table servers is 'The servers that run. Each holds an advisory lock on its number as long as it does.';
comment on column servers.address is 'Where it listens.';
comment on column servers.machine is 'The name of its machine.';
comment on column servers.process is 'The number of its process.';
comment on column servers.backend is 'The process of Postgres at the other end of the connection that holds its lock.';
comment on column servers.version is 'Its version of codesearch.';
comment on column servers.draining is 'Whether it is about to stop.';

create unlogged table allowances (
    client      text primary key,
    searches    double precision,
    bytes       double precision,
    filled      timestamptz not null default clock_timestamp()
);
comment on table allowances is 'What clients may still use of their limits, besides what servers have taken for them.';
comment on column allowances.client is 'The hash of a token, or the name of a user.';
comment on column allowances.searches is 'Searches; null for no limit.';
comment on column allowances.bytes is 'Bytes of answers, less than 0 if overdrawn; null for no limit.';
comment on column allowances.filled is 'When they were filled up.';

create unlogged table allowances_running (
    client      text not null,
    server      integer not null,
    searches    integer not null,
    primary key (client, server)
);
comment on table allowances_running is 'Concurrent searches of clients that servers have taken.';
comment on column allowances_running.client is 'As in allowances.';
comment on column allowances_running.searches is 'How many may run at this server.';

-- Gives back what a server has left of a client's limits, and takes some again: one round trip, in which no other server
-- gets the same. A rate is what a client may use in a minute, and so the most that it has; null for no limit. Without
-- any other server, `ends` takes all.
create function take_allowance(
    of_client text, of_server integer, ends boolean,
    most_running integer, running integer, wanted_running integer,
    search_rate double precision, searches_back double precision, searches_wanted double precision,
    byte_rate double precision, bytes_back double precision, bytes_wanted double precision,
    out running_taken integer, out others_running integer,
    out searches_taken double precision, out searches_left double precision,
    out bytes_taken double precision, out bytes_left double precision, out ended boolean)
    language plpgsql as $$
declare
    minutes double precision;
begin
    insert into allowances (client, searches, bytes) values (of_client, search_rate, byte_rate) on conflict do nothing;
    select a.searches, a.bytes, extract(epoch from clock_timestamp() - a.filled) / 60
        into searches_left, bytes_left, minutes
        from allowances a where a.client = of_client for update;
    minutes := greatest(minutes, 0);
    ended := ends and not exists (select from servers s where s.id <> of_server);
    searches_left := least(coalesce(searches_left, search_rate) + minutes * search_rate + searches_back, search_rate);
    bytes_left := least(coalesce(bytes_left, byte_rate) + minutes * byte_rate + bytes_back, byte_rate);
    -- Less than one is nothing.
    searches_taken := case when search_rate is null then null when ended then searches_left when searches_left < 1 then 0
        else least(searches_left, searches_wanted) end;
    bytes_taken := case when byte_rate is null then null when ended then bytes_left when bytes_left < 1 then 0
        else least(bytes_left, bytes_wanted) end;
    searches_left := searches_left - searches_taken;
    bytes_left := bytes_left - bytes_taken;
    if ended then
        delete from allowances a where a.client = of_client;
        delete from allowances_running r where r.client = of_client;
        running_taken := most_running;
        return;
    end if;
    update allowances a set searches = searches_left, bytes = bytes_left, filled = clock_timestamp()
        where a.client = of_client;
    if most_running is null then
        return;
    end if;
    select coalesce(sum(r.searches), 0) into others_running
        from allowances_running r where r.client = of_client and r.server <> of_server;
    running_taken := greatest(running, least(wanted_running, most_running - others_running));
    if running_taken > 0 then
        insert into allowances_running as r values (of_client, of_server, running_taken)
            on conflict (client, server) do update set searches = excluded.searches;
    else
        delete from allowances_running r where r.client = of_client and r.server = of_server;
    end if;
end $$;
comment on function take_allowance is 'Takes a part of a client''s limits for a server.';
revoke all on function take_allowance from public;
