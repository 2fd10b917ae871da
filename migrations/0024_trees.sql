-- A repository may have several trees: its main checkout, other worktrees, and the commits of branches and tags. Files
-- that several trees have are one row. The trees of a row are interned as a set.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

create table trees (
    id          integer generated always as identity primary key,
    repo        integer not null,
    bit         integer not null check (bit >= 0),
    kind        text not null check (kind in ('worktree', 'branch', 'tag')),
    name        text not null,
    source      text,
    commit      text,
    files       bigint not null default 0,
    listed_at   timestamptz,
    valid_from  integer not null,
    valid_to    integer not null default 2147483647
);
create index trees_repo on trees (repo);
comment on table trees is 'The trees of repositories besides the main one, in the epochs valid_from <= epoch < valid_to.';
comment on column trees.bit is 'Its bit in tree_sets.members. Trees of one repository and epoch have different bits.';
comment on column trees.name is 'The name of the worktree, or of the branch or tag without refs/heads/ or refs/tags/.';
comment on column trees.source is 'The folder of a worktree, absolute; null for a branch or tag.';
comment on column trees.commit is 'The commit that is checked out, or that the branch or tag names.';
comment on column trees.files is 'Number of its indexed files.';
comment on column trees.listed_at is 'When the last ingest began to list its files.';

create sequence tree_set_ids as integer;
create table tree_sets (
    id          integer not null check (id > 0),
    repo        integer not null,
    members     bytea not null,
    valid_from  integer not null,
    valid_to    integer not null default 2147483647
);
create index tree_sets_repo on tree_sets (repo);
comment on table tree_sets is 'Sets of trees, besides the main one, of a repository. A set may have other members in another epoch.';
comment on column tree_sets.id is 'Of tree_set_ids. Each epoch has at most one row with this id.';
comment on column tree_sets.members is 'Bit n, from the lowest of the first byte, is set if the tree with trees.bit n is a member: get_bit(members, n).';

alter table files add column trees integer not null default 0;
comment on column files.trees is 'The trees that have it. 0: only the main one. n > 0: the main one, and those of tree_sets n. n < 0: only those of tree_sets -n.';
comment on column files.fingerprint is 'A hash of what stat says of the file in the main tree (size, times, inode), or of its name in git if the tree is a commit; 0 has it read again next time, or is the value of a file that the main tree lacks.';
alter table skipped add column trees integer not null default 0;
comment on column skipped.trees is 'The trees that left it out, as files.trees.';

alter table repos add column from_commit boolean not null default false;
comment on column repos.from_commit is 'Whether its main tree is the commit of HEAD, and not a folder: a bare clone, or ingest --commit.';
alter table repos add column languages bigint;
comment on column repos.languages is 'A hash of what decides the languages of its files besides their names and texts: the version, and linguist-language in .gitattributes. Null if that is unknown.';
alter table repos add column tree_shards smallint[] not null default '{}';
comment on column repos.tree_shards is 'The shards that hold its files of other trees than the main one.';
alter table repos add column branches text[] not null default '{}';
comment on column repos.branches is 'The branches and tags that are indexed, as ingest --branches was given.';

create table odd_blobs (
    oid     bytea primary key check (length(oid) in (20, 32)),
    reason  text not null
);
comment on table odd_blobs is 'Contents that are not indexed, by their names in git, so that they need not be read again.';
comment on column odd_blobs.reason is 'A word, as skipped.reason: binary, collision.';

-- For people, the files of a repository are those of its main tree; tree_files has those of all trees.

create function codesearch_sql.tree_names(of_repo integer, of_trees integer) returns text[]
    language sql stable security definer set search_path = codesearch, pg_catalog, pg_temp as $$
    select array(
        select 'main' where of_trees >= 0
        union all
        (select t.name
         from state s
         join tree_sets m on m.repo = of_repo and m.id = abs(of_trees) and m.valid_from <= s.epoch and s.epoch < m.valid_to
         join trees t on t.repo = of_repo and t.valid_from <= s.epoch and s.epoch < t.valid_to
         where case when t.bit < 8 * length(m.members) then get_bit(m.members, t.bit) = 1 else false end
         order by t.kind, t.name))
$$;
comment on function codesearch_sql.tree_names is 'The names of the trees that have a file, by files.repo and files.trees.';

create or replace view codesearch_sql.files as
    select r.name as repository, f.path, f.language, f.bytes, b.lines, encode(b.oid, 'hex') as hash,
           coalesce(b.encoding, 'UTF-8') as encoding, codesearch_sql.tree_names(f.repo, f.trees) as trees
    from files f
    cross join state s
    join repos r on r.id = f.repo
    left join blobs b on b.shard = f.shard and b.id = f.blob
    where f.valid_from <= s.epoch and s.epoch < f.valid_to and f.trees >= 0;
comment on view codesearch_sql.files is 'The files of the main trees, as the newest ingest left them.';
comment on column codesearch_sql.files.trees is 'The trees that have the same file: main, and names of trees.tree.';

create or replace view codesearch_sql.file_texts as
    select r.name as repository, f.path, f.language, f.bytes,
           (select case when count(*) = b.chunks then coalesce(string_agg(c.contents, '' order by c.n), '') end
            from chunks c
            where c.shard = f.shard and c.n >= f.blob and c.n < f.blob + b.chunks) as text
    from files f
    cross join state s
    join repos r on r.id = f.repo
    join blobs b on b.shard = f.shard and b.id = f.blob
    where f.valid_from <= s.epoch and s.epoch < f.valid_to and f.trees >= 0;

create or replace view codesearch_sql.left_out as
    select r.name as repository, k.path, k.bytes, k.reason, k.rule
    from skipped k
    cross join state s
    join repos r on r.id = k.repo
    where k.valid_from <= s.epoch and s.epoch < k.valid_to and k.trees >= 0;

create or replace view codesearch_sql.symbols as
    select r.name as repository, f.path, f.language, n.symbol, n.kind, n.container, n.line
    from files f
    cross join state t
    join repos r on r.id = f.repo
    join (symbols s cross join unnest(s.blobs) b (blob)) on s.shard = f.shard and b.blob = f.blob
    -- It takes the file's blob, so that only what is asked for is unpacked.
    cross join lateral codesearch_sql.symbols_of(s.blobs, s.counts, s.names, s.numbers, f.blob) n
    where f.valid_from <= t.epoch and t.epoch < f.valid_to and f.trees >= 0;

create or replace function codesearch_sql.grep_statement(
    of_shard smallint, pattern text, repositories text, paths text, ignore_case boolean
) returns text
    language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
    nnn text := to_char(of_shard, 'FM000');
    files text := format(
        'codesearch.files_%s f join codesearch.repos r on r.id = f.repo cross join codesearch.state s
         where f.valid_from <= s.epoch and s.epoch < f.valid_to and f.trees >= 0', nnn)
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

create or replace view codesearch_sql.trees as
    select r.name as repository, 'main' as tree, 'main' as kind, r.source as folder, r.commit, r.files, r.listed_at
    from repos r
    where r.indexed_at is not null
    union all
    select r.name, t.name, t.kind, t.source, t.commit, t.files, t.listed_at
    from trees t
    cross join state s
    join repos r on r.id = t.repo
    where t.valid_from <= s.epoch and s.epoch < t.valid_to;
comment on view codesearch_sql.trees is 'The trees of repositories: the main one, other worktrees, and the commits of branches and tags.';
comment on column codesearch_sql.trees.repository is 'repositories.repository.';
comment on column codesearch_sql.trees.tree is 'Its name: main, or that of the worktree, branch or tag.';
comment on column codesearch_sql.trees.kind is 'A word: main, worktree, branch, tag.';
comment on column codesearch_sql.trees.folder is 'The folder it was read from; null for a branch or tag.';
comment on column codesearch_sql.trees.commit is 'Its commit, or the one that was checked out when it was read.';
comment on column codesearch_sql.trees.files is 'Its files in the index.';
comment on column codesearch_sql.trees.listed_at is 'When the last ingest began to list its files.';

create or replace view codesearch_sql.tree_files as
    select r.name as repository, n.tree, f.path, f.language, f.bytes, encode(b.oid, 'hex') as hash
    from files f
    cross join state s
    join repos r on r.id = f.repo
    cross join lateral unnest(codesearch_sql.tree_names(f.repo, f.trees)) n (tree)
    left join blobs b on b.shard = f.shard and b.id = f.blob
    where f.valid_from <= s.epoch and s.epoch < f.valid_to;
comment on view codesearch_sql.tree_files is 'The files of all trees, one row for each tree that has one.';
comment on column codesearch_sql.tree_files.repository is 'repositories.repository.';
comment on column codesearch_sql.tree_files.tree is 'trees.tree.';
comment on column codesearch_sql.tree_files.path is 'Its path in the repository, with slashes.';
comment on column codesearch_sql.tree_files.language is 'Its language; null if none was recognised.';
comment on column codesearch_sql.tree_files.bytes is 'Bytes of its text, as UTF-8.';
comment on column codesearch_sql.tree_files.hash is 'As in files.';
