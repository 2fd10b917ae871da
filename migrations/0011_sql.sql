-- What people may ask by SQL: views and functions whose names and columns stay while the tables change.
--
-- They are the only statements that name parents of partitions. A migration that changes what one of them reads makes it
-- anew (create or replace view, which keeps what was granted on it), with the same columns in the same order; new columns
-- come last. docs/sql.md tells of each.

-- For them, and for clients that ask for it.
alter table repos add column commit text;
comment on column repos.commit is 'The commit that was checked out when it was read, if it is a clone; what lay on disk may differ from it.';

create schema if not exists codesearch_sql;
comment on schema codesearch_sql is 'Views of a codesearch index for people and their programs: docs/sql.md.';

create or replace view codesearch_sql.repositories as
    select name as repository, source as folder, web, commit, rank, files, bytes, skipped as left_out, indexed_at
    from repos
    where indexed_at is not null;
comment on view codesearch_sql.repositories is 'The repositories.';
comment on column codesearch_sql.repositories.repository is 'Its name: the origin''s host and path, or the path below the folder that was ingested.';
comment on column codesearch_sql.repositories.folder is 'The folder it was read from.';
comment on column codesearch_sql.repositories.web is 'The address before the paths of its files on the web; null if none is known.';
comment on column codesearch_sql.repositories.commit is 'The commit that was checked out when it was read; null if it is no clone.';
comment on column codesearch_sql.repositories.rank is 'What git config codesearch.rank says in its clone; 0 for nothing.';
comment on column codesearch_sql.repositories.files is 'Its files in the index.';
comment on column codesearch_sql.repositories.bytes is 'Bytes of their texts.';
comment on column codesearch_sql.repositories.left_out is 'Its files that are not in the index: see left_out.';
comment on column codesearch_sql.repositories.indexed_at is 'When it was last read.';

create or replace view codesearch_sql.files as
    select r.name as repository, f.path, f.language, f.bytes, b.lines, encode(b.oid, 'hex') as hash
    from files f
    cross join state s
    join repos r on r.id = f.repo
    left join blobs b on b.shard = f.shard and b.id = f.blob
    where f.valid_from <= s.epoch and s.epoch < f.valid_to;
comment on view codesearch_sql.files is 'The files in the index, as the newest ingest left them.';
comment on column codesearch_sql.files.repository is 'repositories.repository.';
comment on column codesearch_sql.files.path is 'Its path in the repository, with slashes.';
comment on column codesearch_sql.files.language is 'Its language; null if none was recognised.';
comment on column codesearch_sql.files.bytes is 'Bytes of its text, as UTF-8.';
comment on column codesearch_sql.files.lines is 'Lines of its text.';
comment on column codesearch_sql.files.hash is 'Git''s hash of the file as it lay on disk, in hex. Equal contents have equal hashes.';

create or replace view codesearch_sql.file_texts as
    select r.name as repository, f.path, f.language, f.bytes,
           (select case when count(*) = b.chunks then coalesce(string_agg(c.contents, '' order by c.n), '') end
            from chunks c
            where c.shard = f.shard and c.n >= f.blob and c.n < f.blob + b.chunks) as text
    from files f
    cross join state s
    join repos r on r.id = f.repo
    join blobs b on b.shard = f.shard and b.id = f.blob
    where f.valid_from <= s.epoch and s.epoch < f.valid_to;
comment on view codesearch_sql.file_texts is 'Files with their texts. Name the path: without a condition on it, every text is read.';
comment on column codesearch_sql.file_texts.repository is 'repositories.repository.';
comment on column codesearch_sql.file_texts.path is 'Its path in the repository, with slashes.';
comment on column codesearch_sql.file_texts.language is 'Its language; null if none was recognised.';
comment on column codesearch_sql.file_texts.bytes is 'Bytes of its text, as UTF-8.';
comment on column codesearch_sql.file_texts.text is 'Its text; null if pieces of it are missing, of which codesearch check tells.';

create or replace view codesearch_sql.left_out as
    select r.name as repository, k.path, k.bytes, k.reason
    from skipped k
    cross join state s
    join repos r on r.id = k.repo
    where k.valid_from <= s.epoch and s.epoch < k.valid_to;
comment on view codesearch_sql.left_out is 'The files that are not in the index, and why.';
comment on column codesearch_sql.left_out.repository is 'repositories.repository.';
comment on column codesearch_sql.left_out.path is 'Its path in the repository, with slashes.';
comment on column codesearch_sql.left_out.bytes is 'Its size on disk.';
comment on column codesearch_sql.left_out.reason is 'A word: binary, too-large, symlink, special, unreadable, vanished, name.';

create or replace view codesearch_sql.searches as
    select s.hour, s.kind, s.outcome, n.searches, s.micros / 1e6::float8 as seconds,
           s.micros / 1e3::float8 / nullif(n.searches, 0) as mean_ms
    from searches s
    cross join lateral (select coalesce(sum(c), 0)::bigint as searches from unnest(s.counts) c) n;
comment on view codesearch_sql.searches is 'How many searches servers have answered, and how long they took, by hour.';
comment on column codesearch_sql.searches.hour is 'When the hour began. After 32 days, all hours of a day (UTC) are one row.';
comment on column codesearch_sql.searches.kind is 'How it was planned: indexed, scan, multi_line, names, docs, files.';
comment on column codesearch_sql.searches.outcome is 'How they ended: complete, limit, timeout, ...';
comment on column codesearch_sql.searches.searches is 'How many there were.';
comment on column codesearch_sql.searches.seconds is 'How long they took together.';
comment on column codesearch_sql.searches.mean_ms is 'How long one took on average, in milliseconds.';

create or replace view codesearch_sql.search_times as
    select s.hour, s.kind, s.outcome,
           case when t.n < 194 then 0.03125 * 2 ^ ((t.n - 1) / 8.0::float8) end as up_to_ms,
           t.searches
    from searches s
    cross join lateral unnest(s.counts) with ordinality t (searches, n)
    where t.searches > 0;
comment on view codesearch_sql.search_times is 'The same searches by how long they took: a histogram with eight steps to each doubling.';
comment on column codesearch_sql.search_times.hour is 'As in searches.';
comment on column codesearch_sql.search_times.kind is 'As in searches.';
comment on column codesearch_sql.search_times.outcome is 'As in searches.';
comment on column codesearch_sql.search_times.up_to_ms is 'They took up to so many milliseconds, and more than the step before; null for those beyond the last step.';
comment on column codesearch_sql.search_times.searches is 'How many there were.';

create or replace view codesearch_sql.slow_searches as
    select at, kind, outcome, micros / 1e3::float8 as ms, query, plan
    from slow_searches;
comment on view codesearch_sql.slow_searches is 'The newest searches that took longer than serve --slow says.';
comment on column codesearch_sql.slow_searches.at is 'When it ended.';
comment on column codesearch_sql.slow_searches.kind is 'As in searches.';
comment on column codesearch_sql.slow_searches.outcome is 'As in searches.';
comment on column codesearch_sql.slow_searches.ms is 'How long it took, in milliseconds.';
comment on column codesearch_sql.slow_searches.query is 'The query as it was understood.';
comment on column codesearch_sql.slow_searches.plan is 'What codesearch search --explain says of it.';

create or replace view codesearch_sql.refusals as
    select hour, reason, count as requests
    from refusals;
comment on view codesearch_sql.refusals is 'Requests that servers refused for their limits.';
comment on column codesearch_sql.refusals.hour is 'As in searches.';
comment on column codesearch_sql.refusals.reason is 'The limit that was met.';
comment on column codesearch_sql.refusals.requests is 'How many there were.';

-- From a regular expression to what the trigram index is asked: each part of the pattern that stands in every match, and is
-- a word of ASCII letters and digits, stands among the lexemes of a document. It may ask for too little, never for too much:
-- what is in a group or a bracket is left aside, and where the meaning of the rest is not certain, every document is named.
create or replace function codesearch_sql.lexeme_condition(pattern text) returns text
    language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    branches text[] := '{}';
    parts text[] := '{}';
    word text := '';        -- letters and digits that stand before
    before boolean := false; -- a border is known to stand before the word
    border boolean;
    branch boolean;         -- an alternative ends here
    depth integer;
    c text;
    i integer := 1;
    at_end boolean;
begin
    -- A director or embedded options change the meaning of what follows.
    if pattern ~ '^([*]{3}|[(][?][a-z])' then
        return 'true';
    end if;
    loop
        c := substr(pattern, i, 1);
        i := i + 1;
        at_end := c = '';
        if c ~ '^[0-9A-Za-z]$' then
            word := word || c;
            continue;
        end if;
        border := false;
        branch := at_end or c = '|';
        if c = '\' then
            c := substr(pattern, i, 1);
            i := i + 1;
            if c ~ '^[0-9A-Za-z]$' then
                -- Classes and constraints. Others are characters by their numbers, or what was matched before.
                if c !~ '^[dswDSWmMyYAZ]$' then
                    return 'true';
                end if;
            else
                border := true;
            end if;
        elsif c = '[' then
            if substr(pattern, i, 1) = '^' then
                i := i + 1;
            end if;
            if substr(pattern, i, 1) = ']' then
                i := i + 1;
            end if;
            while i <= length(pattern) and substr(pattern, i, 1) <> ']' loop
                i := case
                    when substr(pattern, i, 1) = '\' then i + 2
                    when substr(pattern, i, 2) ~ '^\[[:.=]'
                        then i + 2 + greatest(strpos(substr(pattern, i + 2), substr(pattern, i + 1, 1) || ']'), 1) + 1
                    else i + 1
                end;
            end loop;
            i := i + 1;
        elsif c = '(' then
            depth := 1;
            while depth > 0 and i <= length(pattern) loop
                c := substr(pattern, i, 1);
                -- A bracket in a group may hold a parenthesis.
                if c = '[' then
                    return 'true';
                end if;
                depth := depth + case c when '(' then 1 when ')' then -1 else 0 end;
                i := i + case when c = '\' then 2 else 1 end;
            end loop;
        elsif c in ('*', '?', '{') then
            -- What stands before need not be there. A brace that begins no bound is a character.
            if c <> '{' or substr(pattern, i, 1) ~ '^[0-9]$' then
                word := left(word, -1);
                if c = '{' then
                    i := i + coalesce(nullif(strpos(substr(pattern, i), '}'), 0), length(pattern));
                end if;
            end if;
        elsif c = ')' then
            return 'true';
        elsif not branch and c !~ '^[.^$+]$' then
            border := true;
        end if;
        -- A border is an ASCII character that is there for certain.
        border := border and ascii(c) between 1 and 127 and substr(pattern, i, 1) !~ '^[*?{]$';
        if word <> '' and (before or length(word) + border::integer >= 3) then
            parts := parts || format('lexemes ilike %L',
                '%' || case when before then ' ' else '' end || word || case when border then ' ' else '' end || '%');
        end if;
        word := '';
        before := border;
        if branch then
            if parts = '{}' then
                return 'true';
            end if;
            branches := branches || ('(' || array_to_string(parts, ' and ') || ')');
            parts := '{}';
        end if;
        exit when at_end;
    end loop;
    return '(' || array_to_string(branches, ' or ') || ')';
end $$;
comment on function codesearch_sql.lexeme_condition is 'What grep asks the trigram index for a regular expression; true names every document.';

create or replace function codesearch_sql.grep_statement(
    of_shard smallint, pattern text, repositories text, paths text, ignore_case boolean
) returns text
    language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    nnn text := to_char(of_shard, 'FM000');
    files text := format(
        'codesearch.files_%s f join codesearch.repos r on r.id = f.repo cross join codesearch.state s
         where f.valid_from <= s.epoch and s.epoch < f.valid_to', nnn)
        || case when repositories = '' then '' else format(' and r.name ~ %L', repositories) end
        || case when paths = '' then '' else format(' and f.path ~ %L', paths) end;
begin
    return format(
        'with candidates as materialized (
             select first, upto from codesearch.documents_%1$s where %3$s),
         found as materialized (
             select c.blob, c.line + l.n::integer - 1 as line, l.text
             from candidates d
             join codesearch.chunks_%1$s c on c.shard = %2$s and c.n >= d.first and c.n < d.upto
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
        nnn, of_shard, codesearch_sql.lexeme_condition(pattern),
        case when repositories = '' and paths = '' then ''
             else format(' and c.blob in (select f.blob from %s)', files) end,
        case when ignore_case then '~*' else '~' end, pattern, files);
end $$;
comment on function codesearch_sql.grep_statement is 'The statement by which grep asks one shard.';

create or replace function codesearch_sql.grep(
    pattern text, repositories text default '', paths text default '', ignore_case boolean default false,
    most bigint default null
) returns table (repository text, path text, line integer, text text)
    language plpgsql stable set search_path = pg_catalog, pg_temp
    -- Only a bitmap scan can use a trigram index, and it is the way to all else that is asked for, too.
    set enable_seqscan = off set enable_indexscan = off as $$
declare
    of_shard smallint;
    rows bigint;
    remaining bigint := most;
begin
    -- What is wrong with a pattern is told even if no text has to be compared with it.
    perform '' ~ p from unnest(array[pattern, repositories, paths]) p;
    for of_shard in select s.shard from codesearch.shards s where s.live_from is not null order by s.shard loop
        return query execute
            codesearch_sql.grep_statement(of_shard, pattern, repositories, paths, ignore_case)
            || coalesce(' limit ' || remaining, '');
        get diagnostics rows = row_count;
        remaining := remaining - rows;
        exit when remaining <= 0;
    end loop;
end $$;
comment on function codesearch_sql.grep is 'The lines that match a regular expression of Postgres, by the trigram index; only in repositories and paths that match, ignoring case, and at most so many, if that is said.';

create or replace function codesearch_sql.explain_grep(
    pattern text, repositories text default '', paths text default '', ignore_case boolean default false,
    shard integer default null
) returns setof text
    -- EXPLAIN is allowed in volatile functions only.
    language plpgsql volatile set search_path = pg_catalog, pg_temp
    -- Only a bitmap scan can use a trigram index, and it is the way to all else that is asked for, too.
    set enable_seqscan = off set enable_indexscan = off as $$
declare
    of_shard smallint := coalesce(
        shard, (select min(s.shard) from codesearch.shards s where s.live_from is not null));
begin
    if of_shard is null then
        raise exception 'nothing is indexed yet';
    end if;
    return query execute
        'explain ' || codesearch_sql.grep_statement(of_shard, pattern, repositories, paths, ignore_case);
end $$;
comment on function codesearch_sql.explain_grep is 'How Postgres answers grep in one shard (the first one, unless it is said).';
