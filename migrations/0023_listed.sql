-- A file that changed before its folder was listed is as the index has it. So whether files have changed since then can be
-- told by stat alone, for nearly all of them.

alter table repos add column listed_at timestamptz;
comment on column repos.listed_at is 'When the last ingest began to list its files, by the clock of the machine with its folder; null if an older version did.';
