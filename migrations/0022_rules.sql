-- An ingest takes what git tracks, and what no ignore file names. What a rule left out, the ledger names with the rule.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

alter table repos add column no_ignore boolean not null default false;
comment on column repos.no_ignore is 'Whether it is read as a whole, without the rules of ignore files: ingest --no-ignore.';
alter table repos add column secrets text not null default 'keep' check (secrets in ('keep', 'skip'));
comment on column repos.secrets is 'Whether files that look like secrets are left out: ingest --secrets skip.';

alter table skipped add column rule text;
comment on column skipped.rule is 'The rule that left it out, with the file and the line that it stands in; null if none did.';
comment on column skipped.reason is 'A word: binary, too-large, symlink, special, unreadable, vanished, name, path, collision, outside, ignored, excluded, secret.';
comment on column skipped.path is 'The path in the repository, with slashes; that of a folder that was left out ends with one. One of more than 2,500 bytes is cut and ends in a hash of the whole.';

create or replace view codesearch_sql.repositories as
    select name as repository, source as folder, web, commit, rank, files, bytes, skipped as left_out, indexed_at,
           no_ignore, secrets
    from repos
    where indexed_at is not null;
comment on column codesearch_sql.repositories.no_ignore is 'Whether it is read without the rules of ignore files: ingest --no-ignore.';
comment on column codesearch_sql.repositories.secrets is 'keep, or skip if files that look like secrets are left out.';

create or replace view codesearch_sql.left_out as
    select r.name as repository, k.path, k.bytes, k.reason, k.rule
    from skipped k
    cross join state s
    join repos r on r.id = k.repo
    where k.valid_from <= s.epoch and s.epoch < k.valid_to;
comment on view codesearch_sql.left_out is 'The files that are not in the index, and why. A path that ends with a slash stands for all of a folder.';
comment on column codesearch_sql.left_out.bytes is 'Its size on disk; 0 of what a rule left out.';
comment on column codesearch_sql.left_out.reason is 'A word: binary, too-large, symlink, special, unreadable, vanished, name, path, collision, outside, ignored, excluded, secret.';
comment on column codesearch_sql.left_out.rule is 'The rule that left it out, with its file and line; null if none did.';
