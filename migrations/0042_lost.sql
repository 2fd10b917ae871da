-- Nodes of Citus that are lost for good: their groups of shards are made again, empty, and filled from the sources.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

alter table repos add column lost text;
comment on column repos.lost is 'The lost node on which some of its files were, until an ingest has read all of it again; null otherwise. Answers about it are incomplete.';
alter table state add column lost text;
comment on column state.lost is 'The node that was given up as lost and whose groups are not made again yet; null otherwise. Until they are, nobody ingests.';
