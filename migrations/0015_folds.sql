-- Documents hold folded words: no letter outside ASCII needs a mark any more. The program that runs this rebuilds documents,
-- their trigram indexes and filters of the stored texts (state.filters_format).

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

alter table documents drop column non_ascii_fold;
comment on column files.non_ascii_fold is 'Its path holds a long s or a Kelvin sign, which fold to ASCII letters: a candidate of every literal with an s or a k.';
