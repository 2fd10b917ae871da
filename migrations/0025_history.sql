-- The history of lines: which commits of chosen repositories added or removed which lines.
--
-- A batch is a run of commits with numbers of its own for its distinct lines and its paths. Its rows do not change: later
-- commits make further batches, and several small ones are merged into one. So a build needs memory for one batch only,
-- and a search finds the commits of a line in the row that has the line.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

create table histories (
    repo         integer primary key,
    tips         bytea[] not null default '{}',
    is_complete  boolean not null default false,
    shallow      bytea[] not null default '{}',
    missing      bigint not null default 0,
    indexed_at   timestamptz
);
comment on table histories is 'The repositories whose history of lines is indexed: ingest --history.';
comment on column histories.tips is 'The commits from which the indexed ones are reached: HEAD, and those of indexed branches and tags.';
comment on column histories.is_complete is 'Whether all commits are stored. Searches read no other history.';
comment on column histories.shallow is 'The commits at which the clone ended if it was shallow. They seem to have added all their lines.';
comment on column histories.missing is 'Number of changed files whose contents a partial clone lacked: they have no lines.';
comment on column histories.indexed_at is 'When commits were last added or removed.';

create sequence history_numbers as integer;

create table history_batches (
    first         integer primary key,
    upto          integer not null,
    repo          integer not null,
    commits       integer not null,
    lines         integer not null,
    bytes         bigint not null,
    paths         text[] not null,
    path_commits  bytea not null
);
create index history_batches_repo on history_batches (repo);
comment on table history_batches is 'Runs of commits of a repository.';
comment on column history_batches.first is 'The number of its first commit, of history_numbers.';
comment on column history_batches.upto is 'The number after that of its last commit. No other batch has numbers between.';
comment on column history_batches.commits is 'Number of its commits when it was stored.';
comment on column history_batches.lines is 'Number of its distinct lines.';
comment on column history_batches.bytes is 'Bytes of them, with a line feed after each.';
comment on column history_batches.paths is 'The paths of its changed files, each once.';
comment on column history_batches.path_commits is 'For each path, the commits that changed it, as history_lines.commits.';

create table history_commits (
    number   integer primary key,
    repo     integer not null,
    oid      bytea not null check (length(oid) in (20, 32)),
    author   text not null,
    time     bigint not null,
    summary  text not null,
    changes  bytea not null
);
comment on table history_commits is 'The commits. Newer ones have higher numbers than their parents.';
comment on column history_commits.time is 'When it was made, in seconds since 1970.';
comment on column history_commits.summary is 'The first line of its message.';
comment on column history_commits.changes is 'Its changed files with their lines, as codesearch_sql.history_changes reads them.';
-- They are short, and do not compress.
alter table history_commits alter column changes set storage external;

create table history_lines (
    batch    integer not null,
    first    integer not null,
    repo     integer not null,
    lines    text not null,
    lexemes  text not null,
    commits  bytea not null,
    primary key (batch, first)
) with (toast_tuple_target = 128);
comment on table history_lines is 'Distinct lines of a batch in the order in which they were met, about 32 KB of them in each row.';
comment on column history_lines.batch is 'history_batches.first.';
comment on column history_lines.first is 'The number of its first line in the batch, from 0.';
comment on column history_lines.lines is 'The lines, with a line feed after each.';
comment on column history_lines.lexemes is 'Their distinct words, as documents.lexemes.';
comment on column history_lines.commits is 'For each line, the commits that added or removed it, as codesearch_sql.history_numbers reads them.';
-- With statistics, planning a LIKE would run the pattern against sampled texts.
alter table history_lines alter column lines set statistics 0;
alter table history_lines alter column lexemes set statistics 0;
alter table history_lines alter column commits set storage external;

-- Reads lists of numbers. Each number is written in groups of seven bits, the lowest first; the eighth bit of a byte says
-- that another one follows.
create or replace function codesearch_sql.history_varints(packed bytea) returns bigint[]
    language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    found bigint[] := '{}';
    value bigint := 0;
    shift integer := 0;
    byte integer;
begin
    for i in 0 .. length(packed) - 1 loop
        byte := get_byte(packed, i);
        value := value | ((byte & 127)::bigint << shift);
        if byte < 128 then
            found := found || value;
            value := 0;
            shift := 0;
        else
            shift := shift + 7;
        end if;
    end loop;
    return found;
end $$;
comment on function codesearch_sql.history_varints is 'The numbers in the packed columns of the history of lines.';

create or replace function codesearch_sql.history_numbers(packed bytea, upto integer)
    returns table (item integer, number integer)
    language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    v bigint[] := codesearch_sql.history_varints(packed);
    at integer := 1;
    count bigint;
begin
    item := 0;
    while at <= cardinality(v) loop
        count := v[at];
        at := at + 1;
        number := upto;
        for i in 1 .. count loop
            number := number - 1 - v[at];
            at := at + 1;
            return next;
        end loop;
        item := item + 1;
    end loop;
end $$;
comment on function codesearch_sql.history_numbers is 'For each line of a row, or each path of a batch that ends before upto: the numbers of the commits that changed it, descending.';

create or replace function codesearch_sql.history_changes(packed bytea)
    returns table (file integer, old_path integer, new_path integer, line integer, is_removed boolean)
    language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    v bigint[] := codesearch_sql.history_varints(packed);
    at integer := 1;
    next_line bigint := 0;
    count bigint;
    delta bigint;
begin
    file := 0;
    while at <= cardinality(v) loop
        old_path := nullif(v[at], 0) - 1;
        new_path := case v[at + 1] when 0 then null when 1 then old_path else v[at + 1] - 2 end;
        count := v[at + 2];
        at := at + 3;
        for i in 1 .. count loop
            is_removed := v[at] & 1 = 1;
            delta := v[at] >> 1;
            line := next_line + (case when delta & 1 = 1 then -((delta + 1) >> 1) else delta >> 1 end);
            next_line := line + 1;
            at := at + 1;
            return next;
        end loop;
        file := file + 1;
    end loop;
end $$;
comment on function codesearch_sql.history_changes is 'The lines that a commit added and removed, file by file, in the order of the difference; paths and lines are numbers in its batch.';

create or replace view codesearch_sql.history_commits as
    select r.name as repository, encode(c.oid, 'hex') as commit, c.author, to_timestamp(c.time) as time, c.summary
    from history_commits c
    join histories h on h.repo = c.repo and h.is_complete
    join repos r on r.id = c.repo;
comment on view codesearch_sql.history_commits is 'The commits whose lines are indexed: ingest --history.';
comment on column codesearch_sql.history_commits.repository is 'repositories.repository.';
comment on column codesearch_sql.history_commits.commit is 'Its name in git, in hex.';
comment on column codesearch_sql.history_commits.author is 'The name of its author.';
comment on column codesearch_sql.history_commits.time is 'When it was made.';
comment on column codesearch_sql.history_commits.summary is 'The first line of its message.';

create or replace view codesearch_sql.history_lines as
    select r.name as repository, encode(c.oid, 'hex') as commit, to_timestamp(c.time) as time,
           b.paths[coalesce(d.new_path, d.old_path) + 1] as path,
           case when d.is_removed then 'removed' else 'added' end as kind, t.line, l.words
    from (select batch, first, lines, commits, lexemes as words from history_lines) l
    join history_batches b on b.first = l.batch
    join histories h on h.repo = b.repo and h.is_complete
    join repos r on r.id = b.repo
    cross join lateral string_to_table(left(l.lines, -1), E'\n') with ordinality t (line, place)
    join lateral codesearch_sql.history_numbers(l.commits, b.upto) n on n.item = t.place - 1
    join history_commits c on c.number = n.number
    join lateral codesearch_sql.history_changes(c.changes) d on d.line = l.first + t.place - 1;
comment on view codesearch_sql.history_lines is 'The lines that commits added and removed. With a condition on words, the trigram index is asked.';
comment on column codesearch_sql.history_lines.repository is 'repositories.repository.';
comment on column codesearch_sql.history_lines.commit is 'history_commits.commit.';
comment on column codesearch_sql.history_lines.time is 'history_commits.time.';
comment on column codesearch_sql.history_lines.path is 'The path of the file after the commit, or before it if the commit removed the file.';
comment on column codesearch_sql.history_lines.kind is 'added or removed.';
comment on column codesearch_sql.history_lines.line is 'The line, without its line feed.';
comment on column codesearch_sql.history_lines.words is 'Words of this line and of others, in lowercase: words ilike ''%name%'' reads only lines near to one with that word.';
