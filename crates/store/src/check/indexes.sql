-- Checks the indexes of this server with amcheck. It ends with an error in any case, whose message says what was found: so
-- the extension, which it adds if need be, is gone again.
do $$
declare
    one record;
    found text[] := '{}';
begin
    -- Each node of Citus has this done by itself.
    perform set_config('citus.enable_ddl_propagation', 'off', true);
    begin
        create extension if not exists amcheck;
    exception when others then
        raise exception using message = 'unavailable: ' || sqlerrm;
    end;
    for one in
        select c.relname as name, format('select %s(%s::regclass%s)', p.oid::regproc, c.oid,
                                         case a.amname when 'btree' then ', true' else '' end) as sql
        from pg_class c join pg_index i on i.indexrelid = c.oid join pg_am a on a.oid = c.relam
        join pg_proc p on p.proname = case a.amname when 'btree' then 'bt_index_check' else 'gin_index_check' end
                      and p.pronargs = case a.amname when 'btree' then 2 else 1 end
        where c.relnamespace = 'codesearch'::regnamespace and c.relkind = 'i' and i.indisvalid
          and a.amname in ('btree', 'gin')
        order by 1
    loop
        begin
            execute one.sql;
            -- Undone, it holds no lock any more.
            raise sqlstate 'CS000';
        exception
            when sqlstate 'CS000' then
                null;
            when others then
                found := found || format('the index %s: %s', one.name, sqlerrm);
        end;
    end loop;
    raise exception using message = 'checked: ' || translate(array_to_string(found, chr(31)), chr(10), ' ');
end $$
