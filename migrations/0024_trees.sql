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
