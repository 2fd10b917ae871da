-- Statements of those who see only some repositories: grep plans its statement for a shard only if the shard has its words.
-- Monitors stay narrowed as the tokens were that made them.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

create or replace function codesearch_visible.grep(
    pattern text, repositories text default '', paths text default '', ignore_case boolean default false,
    most bigint default null
) returns table (repository text, path text, line integer, text text)
    language plpgsql stable security definer set search_path = pg_catalog, pg_temp
    -- As in codesearch_sql.grep.
    set enable_seqscan = off set enable_indexscan = off as $$
declare
    documents text := codesearch_sql.lexeme_condition(pattern);
    seen integer[];
    shards smallint[];
    of_shard smallint;
    has_words boolean := true;
    rows bigint;
    remaining bigint := most;
begin
    perform '' ~ p from unnest(array[pattern, repositories, paths]) p;
    -- Only shards that have files of theirs.
    select array_agg(distinct r.id), array_agg(distinct u.shard) into seen, shards
    from codesearch.repos r left join lateral unnest(r.shards) u (shard) on true
    where r.name in (select codesearch_visible.names());
    for of_shard in
        select s.shard from codesearch.shards s
        where s.live_from is not null and s.shard = any (shards)
        order by s.shard
    loop
        -- Planning the statement takes ten times as long as this lookup.
        if documents <> 'true' then
            execute format('select exists (select from codesearch.documents_%s where %s)', to_char(of_shard, 'FM000'), documents)
                into has_words;
        end if;
        continue when not has_words;
        return query execute
            codesearch_sql.grep_statement(of_shard, pattern, repositories, paths, ignore_case, seen)
            || coalesce(' limit ' || remaining, '');
        get diagnostics rows = row_count;
        remaining := remaining - rows;
        exit when remaining <= 0;
    end loop;
end $$;

comment on column monitors.owner_groups is 'The groups of the owner in its last request, where others than the token file name users.';
comment on column monitors.owner_repos is 'Globs to which the token that made it was narrowed; none for no narrowing.';
