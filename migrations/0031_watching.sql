-- A server that watches folders tells which it polls instead.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

alter table repos add column polled text;
comment on column repos.polled is 'How often, and why, the server that watches looks at it although no event told of a change; null if events tell of all changes, or no server watches.';
