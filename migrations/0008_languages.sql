-- How much of a shard is in which language: a search with a limit begins with the shards that have the most of what it
-- wants, and that is known without reading their files.

alter table shards
    add column languages       text[] not null default '{}',
    add column language_chunks integer[] not null default '{}';
comment on column shards.languages is 'The languages of its files, in small letters.';
comment on column shards.language_chunks is 'For each of them, about how many chunks its files have.';

do $$
declare
    made smallint;
begin
    for made in select shard from shards loop
        execute format(
            'update shards set (languages, language_chunks) = (
                 select coalesce(array_agg(language), ''{}''), coalesce(array_agg(chunks), ''{}'')
                 from (select lower(language) language, sum(bytes / 4096 + 1)::integer chunks from files_%s
                       where valid_to = 2147483647 and language is not null group by 1 order by 1) l)
             where shard = %s',
            to_char(made, 'FM000'), made);
    end loop;
end $$;
