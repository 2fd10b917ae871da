-- On Citus, the tables of shards lie on nodes, in groups that each lie on one, and the parents are only their patterns.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

alter table state add column groups smallint check (groups > 0);
comment on column state.groups is 'On Citus, how many groups of shards there are: a shard is in that of its number modulo them. Null on plain Postgres, where group_shards neighbours are a group. It does not change once there are shards.';
