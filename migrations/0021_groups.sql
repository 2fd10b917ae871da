-- How many shards share the partitions of filters, chunk_filters and scip is a property of the index. All of before have 32.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

alter table state add column group_shards smallint not null default 32 check (group_shards > 0);
comment on column state.group_shards is 'How many shards share a partition of filters, chunk_filters and scip. It does not change once there are shards.';
