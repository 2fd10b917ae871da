-- Whoever may read the views, and nothing else, may ask grep, too: it reads the tables with the rights of their owner, as
-- a view does. Both look names up in pg_catalog only, and quote what they are given. A migration that makes one of them
-- anew says "security definer" again.
alter function codesearch_sql.grep(text, text, text, boolean, bigint) security definer;
alter function codesearch_sql.explain_grep(text, text, text, boolean, integer) security definer;
