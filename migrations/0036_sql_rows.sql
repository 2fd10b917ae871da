-- SQL for those who see only some repositories: the views of codesearch_sql again, each with the rows of the repositories
-- that a statement may see. The role codesearch_visible may use these and nothing else.
--
-- Which repositories these are, stands in a table that only the owner of the index may write, by the process that runs
-- the statement. No statement can change the number of its process, and so no setting, search path, role or name that it
-- chooses changes what it sees. A process without a row sees nothing.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

-- Rows are for the moment: they need not survive a crash.
create unlogged table sql_sessions (
    backend  integer primary key,
    started  timestamptz not null,
    repos    integer[]
);
comment on table sql_sessions is 'The processes that run statements for those who see only some repositories.';
comment on column sql_sessions.backend is 'The number of the process: pg_backend_pid().';
comment on column sql_sessions.started is 'When it started. A later process may get the same number.';
comment on column sql_sessions.repos is 'The repositories that its statement sees; null for all.';

create schema codesearch_visible;
comment on schema codesearch_visible is 'The views of codesearch_sql with the repositories that a statement may see: docs/sql.md.';

create function codesearch_visible.names() returns setof text
    language sql stable rows 500 security definer set search_path = codesearch, pg_catalog, pg_temp as $$
    select r.name
    from sql_sessions s
    join repos r on s.repos is null or r.id = any (s.repos)
    where s.backend = pg_backend_pid()
      and s.started = (select a.backend_start from pg_stat_get_activity(pg_backend_pid()) a)
$$;
comment on function codesearch_visible.names is 'The names of the repositories that this statement may see.';

-- Owners: CODEOWNERS files, as GitHub and GitLab read them.

create function codesearch_sql.owner_rules(rules text, file text)
    returns table (line integer, section text, rule text, owners text[], prefix text, suffix text, regex text)
    language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    -- GitHub knows no sections and no exclusions.
    of_gitlab boolean := file = '.gitlab/CODEOWNERS'
        or file <> '.github/CODEOWNERS' and rules ~ '(^|\n)\^?\[[^\]\n]+\]';
    defaults text[] := '{}';
    written text;
    words text[];
    pattern text;
    is_anchored boolean;
    below text;
begin
    for line, written in select n, btrim(l, E' \t\r') from string_to_table(rules, E'\n') with ordinality t (l, n) loop
        if written = '' or written like '#%' then
            continue;
        end if;
        if of_gitlab and written ~ '^\^?\[[^\]]+\]' then
            section := substring(written from '^\^?\[([^\]]+)\]');
            defaults := array_remove(regexp_split_to_array(
                regexp_replace(written, '^\^?\[[^\]]+\](\[[0-9]+\])?', ''), '\s+'), '');
            continue;
        end if;
        -- A space with a backslash before it is part of the pattern; a word that begins with # begins a comment.
        words := regexp_split_to_array(replace(written, '\ ', chr(1)), '\s+');
        rule := replace(words[1], chr(1), ' ');
        owners := array(
            select replace(w, chr(1), ' ') from unnest(words[2:]) with ordinality o (w, n)
            where n < coalesce((select min(c.n) from unnest(words[2:]) with ordinality c (w, n) where c.w like '#%'), 2147483647));
        if rule like '!%' then
            if not of_gitlab then
                continue;
            end if;
            rule := substr(rule, 2);
            owners := '{}';
        elsif owners = '{}' then
            owners := defaults;
        end if;
        -- Brackets have no meaning. A backslash takes the meaning of the character after it.
        pattern := regexp_replace(rule, '\\(.)', '\1', 'g');
        is_anchored := pattern like '/%' or not of_gitlab and rtrim(pattern, '/') like '%/%';
        pattern := ltrim(pattern, '/');
        prefix := null;
        suffix := null;
        regex := null;
        if pattern in ('*', '**', '') and not (pattern = '*' and is_anchored) then
            prefix := '';
        elsif is_anchored and pattern !~ '[*?]' then
            prefix := pattern;
        elsif not is_anchored and pattern ~ '^\*[^*?/]+$' then
            suffix := substr(pattern, 2);
        else
            -- What follows: all below a folder; the files in it; or a file, or all below a folder of that name.
            below := case
                when pattern like '%/' then '.+'
                when pattern ~ '(^|/)\*$' then ''
                else '(/.*)?'
            end;
            pattern := regexp_replace(pattern, '([].+^$(){}|\\[])', '\\\1', 'g');
            pattern := replace(pattern, '**/', chr(1));
            pattern := replace(pattern, '**', chr(2));
            pattern := replace(replace(pattern, '*', '[^/]*'), '?', '[^/]');
            pattern := replace(replace(pattern, chr(1), '(.*/)?'), chr(2), '.*');
            regex := '^' || case when is_anchored then '' else '(.*/)?' end || pattern || below || '$';
        end if;
        return next;
    end loop;
end $$;
comment on function codesearch_sql.owner_rules is 'The rules of a CODEOWNERS file: its text, and its path, which tells whose rules these are.';

create function codesearch_sql.owners_by(rules text, file text, paths text[])
    returns table (path text, owner text, rule text, line integer, section text)
    language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    r record;
    remaining text[];
    matched text[];
    of_section text;
    is_first boolean := true;
begin
    -- The last rule of each section that matches a path decides. Rules are outside, so that each is compiled once.
    for r in select o.* from codesearch_sql.owner_rules(rules, file) o order by o.section nulls first, o.line desc loop
        if is_first or r.section is distinct from of_section then
            remaining := paths;
            of_section := r.section;
            is_first := false;
        end if;
        continue when remaining = '{}';
        select coalesce(array_agg(p) filter (where m), '{}'), coalesce(array_agg(p) filter (where not m), '{}')
        into matched, remaining
        from (
            select p, case
                when r.prefix = '' then true
                when r.prefix like '%/' then starts_with(p, r.prefix)
                when r.prefix is not null then p = r.prefix or starts_with(p, r.prefix || '/')
                when r.suffix is not null then right(p, length(r.suffix)) = r.suffix or strpos(p, r.suffix || '/') > 0
                else p ~ r.regex
            end as m
            from unnest(remaining) p) t;
        return query
            select p, o, r.rule, r.line, r.section from unnest(matched) p cross join unnest(r.owners) o;
    end loop;
end $$;
comment on function codesearch_sql.owners_by is 'The owners of paths by the rules of a CODEOWNERS file: the last one that matches decides, in each section.';

-- Not for statements: it takes what the view has found.
create function codesearch_sql.owners_in(of_repo integer, of_shard smallint, of_blob integer, file text, paths text[])
    returns table (path text, owner text, rule text, line integer, section text)
    language plpgsql stable security definer rows 1000 set search_path = codesearch, pg_catalog, pg_temp as $$
declare
    rules text;
begin
    execute format('select string_agg(c.contents, '''' order by c.n) from chunks_%s c where c.blob = $1 and c.n >= $1',
                   to_char(of_shard, 'FM000'))
        into rules using of_blob;
    if paths is null then
        paths := array(
            select f.path from files f cross join state s
            where f.repo = of_repo and f.valid_from <= s.epoch and s.epoch < f.valid_to and f.trees >= 0);
    end if;
    return query select o.* from codesearch_sql.owners_by(coalesce(rules, ''), file, paths) o;
end $$;
comment on function codesearch_sql.owners_in is 'The owners of files of a repository, of all its files if paths is null, by a CODEOWNERS file.';

create view owner_files as
    select distinct on (r.name) r.name as repository, f.path, b.bytes, f.repo, f.shard, f.blob
    from files f
    cross join state s
    join repos r on r.id = f.repo
    join blobs b on b.shard = f.shard and b.id = f.blob
    where f.path in ('.github/CODEOWNERS', 'CODEOWNERS', 'docs/CODEOWNERS', '.gitlab/CODEOWNERS')
      -- Hosts read no larger ones.
      and b.bytes <= 3 * 1024 * 1024
      and f.valid_from <= s.epoch and s.epoch < f.valid_to and f.trees >= 0
    order by r.name, array_position(
        array['.github/CODEOWNERS', 'CODEOWNERS', 'docs/CODEOWNERS', '.gitlab/CODEOWNERS'], f.path);
comment on view owner_files is 'The CODEOWNERS file of each repository that has one, in the first place where hosts look for it.';

create view codesearch_sql.owners as
    select c.repository, o.path, o.owner, o.rule, o.line, o.section
    from codesearch.owner_files c
    cross join lateral codesearch_sql.owners_in(c.repo, c.shard, c.blob, c.path, null) o;
comment on view codesearch_sql.owners is 'The owners of files by the CODEOWNERS file of their repository, one row for each file, section and owner.';
comment on column codesearch_sql.owners.repository is 'repositories.repository.';
comment on column codesearch_sql.owners.path is 'The path of the file.';
comment on column codesearch_sql.owners.owner is 'As CODEOWNERS names it: @user, @group/team, or an address of mail.';
comment on column codesearch_sql.owners.rule is 'The pattern that decides: the last one that matches, in each section.';
comment on column codesearch_sql.owners.line is 'The line of CODEOWNERS that has it.';
comment on column codesearch_sql.owners.section is 'The section of a CODEOWNERS file for GitLab; null before the first one.';

create function codesearch_sql.owners_of(of_repository text, paths text[])
    returns table (path text, owner text, rule text, line integer, section text)
    language sql stable security definer rows 100 set search_path = codesearch, pg_catalog, pg_temp as $$
    select o.*
    from codesearch.owner_files c
    cross join lateral codesearch_sql.owners_in(c.repo, c.shard, c.blob, c.path, coalesce(paths, '{}')) o
    where c.repository = of_repository
$$;
comment on function codesearch_sql.owners_of is 'The owners of some paths of a repository, as owners has them; faster than owners for a few.';

create view codesearch_sql.newest_files as
    select n.repository, n.path, n.language, n.bytes, n.hash, n.indexed_at
    from (
        select r.name as repository, f.path, f.language, f.bytes, encode(b.oid, 'hex') as hash, r.indexed_at,
               f.valid_from, max(f.valid_from) over (partition by r.name) as newest
        from files f
        cross join state s
        join repos r on r.id = f.repo
        left join blobs b on b.shard = f.shard and b.id = f.blob
        where f.valid_from <= s.epoch and s.epoch < f.valid_to and f.trees >= 0) n
    where n.valid_from = n.newest;
comment on view codesearch_sql.newest_files is 'The files that the last ingest of each repository brought which added or changed any: what came with its last epoch.';
comment on column codesearch_sql.newest_files.repository is 'repositories.repository.';
comment on column codesearch_sql.newest_files.path is 'Its path in the repository, with slashes.';
comment on column codesearch_sql.newest_files.language is 'Its language; null if none was recognised.';
comment on column codesearch_sql.newest_files.bytes is 'Bytes of its text, as UTF-8.';
comment on column codesearch_sql.newest_files.hash is 'As in files.';
comment on column codesearch_sql.newest_files.indexed_at is 'As in repositories: the repository may have been ingested since, without a change.';

-- grep, with the repositories that may be seen.

drop function codesearch_sql.grep_statement(smallint, text, text, text, boolean);
create function codesearch_sql.grep_statement(
    of_shard smallint, pattern text, repositories text, paths text, ignore_case boolean, repos integer[] default null
) returns text
    language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    nnn text := to_char(of_shard, 'FM000');
    documents text := codesearch_sql.lexeme_condition(pattern);
    -- A text without these words has no line to compare.
    texts text := regexp_replace(documents, 'lexemes ilike ''% ?([0-9A-Za-z]+) ?%''',
        'c.contents ' || case when ignore_case then 'ilike' else 'like' end || ' ''%\1%''', 'g');
    -- This is hashed when it is needed. Planning "= any" of many repositories takes longer than a lookup.
    seen text := case when repos is null then ''
        else format(' and case when f.repo in (select unnest(%L::integer[])) then true else false end', repos) end;
    files text := format(
        'codesearch.files_%s f join codesearch.repos r on r.id = f.repo cross join codesearch.state s
         where f.valid_from <= s.epoch and s.epoch < f.valid_to and f.trees >= 0', nnn)
        || seen
        || case when repositories = '' then '' else format(' and r.name ~ %L', repositories) end
        || case when paths = '' then '' else format(' and f.path ~ %L', paths) end;
begin
    return format(
        'with candidates as materialized (
             select first, upto from codesearch.documents_%1$s where %3$s),
         found as materialized (
             select c.blob, c.line + l.n::integer - 1 as line, l.text
             from candidates d
             join codesearch.chunks_%1$s c on c.shard = %2$s and c.n >= d.first and c.n < d.upto and %8$s
             cross join lateral (
                 select rtrim(piece, E''\r'') as text, n
                 from string_to_table(c.contents, E''\n'') with ordinality p (piece, n)) l
             where l.text %5$s %6$L%4$s
               -- What follows the last line feed is no line.
               and (l.text <> '''' or l.n <= length(c.contents) - length(replace(c.contents, E''\n'', ''''))))
         select r.name, f.path, m.line, m.text
         from found m join (select f.blob, f.repo, f.path from %7$s) f on f.blob = m.blob
         join codesearch.repos r on r.id = f.repo
         order by 1, 2, 3',
        nnn, of_shard, documents,
        case
            when repositories <> '' or paths <> '' then format(' and c.blob in (select f.blob from %s)', files)
            -- Looked up for each text that is asked about: there are few, and the files of a shard are many.
            when seen <> '' then format(
                ' and (select true from codesearch.files_%s f cross join codesearch.state s
                       where f.blob = c.blob and f.shard = %s and f.valid_from <= s.epoch and s.epoch < f.valid_to
                         and f.trees >= 0%s limit 1)', nnn, of_shard, seen)
            else ''
        end,
        case when ignore_case then '~*' else '~' end, pattern, files, texts);
end $$;
comment on function codesearch_sql.grep_statement is 'The statement by which grep asks one shard, for all repositories or for these.';

create function codesearch_visible.grep(
    pattern text, repositories text default '', paths text default '', ignore_case boolean default false,
    most bigint default null
) returns table (repository text, path text, line integer, text text)
    language plpgsql stable security definer set search_path = pg_catalog, pg_temp
    -- As in codesearch_sql.grep.
    set enable_seqscan = off set enable_indexscan = off as $$
declare
    seen integer[];
    of_shard smallint;
    rows bigint;
    remaining bigint := most;
begin
    perform '' ~ p from unnest(array[pattern, repositories, paths]) p;
    seen := array(select r.id from codesearch.repos r where r.name in (select codesearch_visible.names()));
    -- Only shards that have files of theirs.
    for of_shard in
        select s.shard from codesearch.shards s
        where s.live_from is not null
          and s.shard in (select unnest(r.shards) from codesearch.repos r where r.id = any (seen))
        order by s.shard
    loop
        return query execute
            codesearch_sql.grep_statement(of_shard, pattern, repositories, paths, ignore_case, seen)
            || coalesce(' limit ' || remaining, '');
        get diagnostics rows = row_count;
        remaining := remaining - rows;
        exit when remaining <= 0;
    end loop;
end $$;
comment on function codesearch_visible.grep is 'As codesearch_sql.grep, in the repositories that the statement may see.';

create function codesearch_visible.owners_of(of_repository text, paths text[])
    returns table (path text, owner text, rule text, line integer, section text)
    language sql stable security definer rows 100 set search_path = codesearch, pg_catalog, pg_temp as $$
    select o.* from codesearch_sql.owners_of(of_repository, paths) o
    where of_repository in (select codesearch_visible.names())
$$;
comment on function codesearch_visible.owners_of is 'As codesearch_sql.owners_of, for a repository that the statement may see.';

-- They name a function of codesearch_sql, whose schema the role may not use.
alter function codesearch_sql.history_numbers(bytea, integer) security definer;
alter function codesearch_sql.history_changes(bytea) security definer;

-- Makes the view of the repositories that may be seen from the one of all. A migration that changes a view of
-- codesearch_sql, or adds one with a column "repository", calls it. The barrier keeps a condition of a statement, which
-- could tell of a value by failing, from rows that are not to be seen; only leakproof ones go before it.
create function restrict_view(name text) returns void
    language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    comments record;
    -- Postgres evaluates a comparison with an array below a window, a union or "distinct on" of the view. A join gives it
    -- a better estimate of the rows.
    seen text := case when name in ('trees', 'owners', 'newest_files')
        then '= any (array(select codesearch_visible.names()))' else 'in (select codesearch_visible.names())' end;
begin
    execute format(
        'create or replace view codesearch_visible.%1$I with (security_barrier) as
         select * from codesearch_sql.%1$I where repository %2$s', name, seen);
    for comments in
        select a.attname, coalesce(d.description, '') as said
        from pg_description d
        left join pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid and d.objsubid > 0
        where d.classoid = 'pg_class'::regclass and d.objoid = to_regclass(format('codesearch_sql.%I', name))
    loop
        if comments.attname is null then
            execute format('comment on view codesearch_visible.%I is %L', name, comments.said);
        else
            execute format('comment on column codesearch_visible.%I.%I is %L', name, comments.attname, comments.said);
        end if;
    end loop;
end $$;
revoke execute on function restrict_view(text) from public;
comment on function restrict_view is 'Makes a view of the repositories that a statement may see.';

-- Not the statistics of searches: they are about others.
select restrict_view(name)
from unnest('{repositories, files, file_texts, trees, tree_files, symbols, scip_indexes, left_out, history_commits,
              history_lines, owners, newest_files, pending}'::text[]) name;
-- Its places count what waits for others, too.
create or replace view codesearch_visible.pending with (security_barrier) as
    select row_number() over (order by p.place) as place, p.repository, p.folder, p.paths, p.reason, p.since, p.due
    from codesearch_sql.pending p
    where p.repository = any (array(select codesearch_visible.names()));
