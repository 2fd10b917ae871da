-- On Citus, the tables of shards lie on nodes, in groups that each lie on one, and the parents are only their patterns.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

alter table state add column groups smallint check (groups > 0);
comment on column state.groups is 'On Citus, how many groups of shards there are: a shard is in that of its number modulo them. Null on plain Postgres, where group_shards neighbours are a group. It does not change once there are shards.';

-- What a later migration changes in a parent reaches the tables of its shards only by this function, since on Citus they
-- are no partitions of it.
create or replace function each_table(parent text, statement text) returns void
    language plpgsql set search_path = codesearch, pg_catalog, pg_temp as $$
declare
    one name;
begin
    execute format(statement, parent);
    if (select groups from state) is not null then
        for one in
            select relname from pg_class
            where relnamespace = 'codesearch'::regnamespace and relkind = 'r' and relname ~ ('^' || parent || '_[0-9]+$')
            order by 1
        loop
            execute format(statement, one);
        end loop;
    end if;
end $$;
comment on function each_table is 'Runs a statement, in which %s stands for the name, for a parent of tables of shards, and on Citus for each of them.';
revoke execute on function each_table from public;
