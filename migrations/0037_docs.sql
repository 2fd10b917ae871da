-- Which docs have a lexeme is told by the word index, not by a GIN index of their own. The lexemes of headings are in those
-- of the whole doc, by their weights.
--
-- Docs that are stored get into the word index at the next ingest; until then, a search reads those of all texts.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

do $$
declare
    name text;
begin
    for name in
        select relname from pg_class
        where relnamespace = (select relnamespace from pg_class where oid = 'docs'::regclass)
          and relname ~ '^docs_[0-9]+_lexemes$' and relkind = 'i'
    loop
        execute format('drop index %I', name);
    end loop;
end $$;

alter table docs drop column heading_lexemes;
comment on column docs.lexemes is 'The lexemes of its title, with the weight A, of its headings, with B, and of all of it, with D; of a large file, of its first 128 KB.';
comment on column word_segments.field is '0: the words of the texts of chunks; 1: those of the names that chunks define; 2: the lexemes of docs, by blob.';

alter table shards add column docs_indexed boolean not null default true;
comment on column shards.docs_indexed is 'Whether the lexemes of all docs of chunks before worded are in words.';
update shards set docs_indexed = not exists (select from docs where docs.shard = shards.shard);
