-- The encoding of each file is stored, so that its bytes can be told from its text.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

-- What is there already has a text in UTF-8 or UTF-16, with U+FFFD for every other byte; which of them, its hash tells.
alter table blobs add column encoding text default 'unknown';
alter table blobs alter column encoding drop default;
comment on column blobs.encoding is 'The encoding of the file: the WHATWG''s name, after which "with BOM" and "(inexact)" may stand; null for UTF-8. Of an inexact one, the text does not give the bytes again. "unknown" is UTF-8 or UTF-16, by the hash, or inexact.';
create index blobs_inexact on blobs (shard, id) where right(encoding, 9) = '(inexact)';

-- Files with U+FFFD are read again by the next ingest: they may be in another encoding.
do $$
declare
    made smallint;
begin
    for made in select shard from shards where chunks > 0 loop
        execute format('update files_%1$s set fingerprint = 0 where valid_to = 2147483647 and blob in (
                            select blob from chunks_%1$s where strpos(contents, U&''\FFFD'') > 0)',
                       to_char(made, 'FM000'));
    end loop;
end $$;

create or replace view codesearch_sql.files as
    select r.name as repository, f.path, f.language, f.bytes, b.lines, encode(b.oid, 'hex') as hash,
           coalesce(b.encoding, 'UTF-8') as encoding
    from files f
    cross join state s
    join repos r on r.id = f.repo
    left join blobs b on b.shard = f.shard and b.id = f.blob
    where f.valid_from <= s.epoch and s.epoch < f.valid_to;
comment on column codesearch_sql.files.encoding is 'The encoding it has on disk: UTF-8, or another name of the WHATWG''s. "with BOM" stands after UTF-8 if a byte order mark comes first, "(inexact)" after an encoding if the text does not give the bytes of the file again: some were invalid and are U+FFFD. "unknown" if it was read before encodings were stored.';
