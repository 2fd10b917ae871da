-- Prose is called docs: READMEs, manual pages and comments, to be found by their words and ranked. Only names change,
-- in the system catalogs; no row is touched.

alter table prose rename to docs;
alter table docs rename column heads to heading_lexemes;
alter table docs rename column words to lexemes;

-- The partitions, and the indexes of each: prose_012_words becomes docs_012_lexemes.
do $$
declare
    kind text;
    name text;
begin
    for kind, name in
        select case when relkind in ('i', 'I') then 'index' else 'table' end, relname
        from pg_class
        where relnamespace = (select relnamespace from pg_class where oid = 'docs'::regclass)
          and relname ~ '^prose_' and relkind in ('r', 'i', 'I')
    loop
        execute format('alter %s %I rename to %I', kind, name,
                       regexp_replace(regexp_replace(name, '^prose', 'docs'), '_words$', '_lexemes'));
    end loop;
end $$;

alter text search configuration prose_english rename to docs_english;
alter text search configuration prose_plain rename to docs_plain;
alter text search configuration prose_asked rename to docs_plain_query;
alter text search dictionary prose_words rename to docs_stopwords;

comment on table docs is 'What people wrote to be read in a blob: all of a README, manual page or the like, or the comment at the head of a source file.';
comment on column docs.comment is 'It is the comment at the head of a source file.';
comment on column docs.plain is 'It is not in English: its lexemes are its words as they are, by docs_plain, not their stems, by docs_english.';
comment on column docs.heading_lexemes is 'The lexemes of its title, with the weight A, and of its headings, with B. Small, and kept in the row: cheap to rank by.';
comment on column docs.lexemes is 'Those, and the lexemes of all of it with the weight D; of a large file, of its first 128 KB.';
