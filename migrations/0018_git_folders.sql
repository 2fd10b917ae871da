-- Git's data of a repository are read only where an ingest has found that they may be, and later only what it noted here.

alter table repos add column git_folders text[] not null default '{}';
comment on column repos.git_folders is 'Folders outside of source, and files, that git may read for its history: of a worktree, a submodule, or objects that it borrows.';

comment on column skipped.reason is 'A word: binary, too-large, symlink, special, unreadable, vanished, name, path, collision, outside.';
comment on column skipped.path is 'The path in the repository, with slashes; one of more than 2,500 bytes is cut and ends in a hash of the whole.';
comment on column codesearch_sql.left_out.reason is 'A word: binary, too-large, symlink, special, unreadable, vanished, name, path, collision, outside.';
