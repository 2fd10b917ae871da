-- Prose: the documents and comments among the contents, to be found by their words and ranked.
--
-- A row belongs to a blob, and is seen wherever the blob is: it has no epoch of its own. Its text is not
-- stored again; what is shown is taken out of the chunks.
--
-- What was indexed before this was there has no prose until it is read again: codesearch ingest --again.

-- Texts in English are found by the stems of their words, without those that are in every text; all
-- others by their words as they are.
create text search configuration prose_english (copy = pg_catalog.english);
create text search configuration prose_plain (copy = pg_catalog.simple);

-- As prose_plain, for queries in plain English: without the words that are in every text.
create text search dictionary prose_words (template = pg_catalog.simple, stopwords = english);
create text search configuration prose_asked (copy = pg_catalog.simple);
alter text search configuration prose_asked alter mapping replace pg_catalog.simple with prose_words;

create table prose (
    shard    smallint not null,
    blob     integer not null,
    comment  boolean not null,
    plain    boolean not null,
    heads    tsvector not null,
    words    tsvector not null,
    primary key (shard, blob)
) partition by list (shard);
comment on table prose is 'The contents that are prose, or have prose at their head, as words.';
comment on column prose.blob is 'blobs.id in the same shard.';
comment on column prose.comment is 'The comment at the head of a source file, not a document.';
comment on column prose.plain is 'Not in English: the words are as they are, by prose_plain.';
comment on column prose.heads is 'The words of its title, with the weight A, and of its headings, with B. Small, and kept in the row: cheap to rank by.';
comment on column prose.words is 'Those, and the words of all of it with the weight D; of a large document, of its first 128 KB.';
alter table prose alter column heads set storage main;
-- Nothing is planned by what the words are.
alter table prose alter column heads set statistics 0, alter column words set statistics 0;

-- The shards that are there already; those of a new index are made with it.
do $$
declare
    made smallint;
begin
    for made in select shard from shards loop
        execute format('create table prose_%s partition of prose for values in (%s) with (toast_tuple_target = 128)',
                       to_char(made, 'FM000'), made);
    end loop;
end $$;
