-- The filters of chunks lie bit by bit, too: one row tells of thousands of chunks whether they may hold an n-gram, so that
-- a search without memory asks for a few rows, not for the filter of each chunk that the trigram index names. They are
-- the filters that a server keeps in memory, with two bits for each n-gram.
--
-- The program that runs this makes them of the texts: see state.filters_format.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

alter table chunks drop column filter;
drop table if exists filters_by_block;

alter table state add column filters_format integer not null default 0;
comment on column state.filters_format is 'The form that the rows of filters have; a program that knows a newer one makes them anew.';

comment on column filters.kind is '0: a slice of the filters of blocks of 512 chunks; 1: a slice of those of dense chunks; 2: the numbers of the dense chunks (number 0) and of the large ones (1), 4 bytes each, the highest first; 3: the filter of a large chunk; 4: a row of the filters of chunks; 5: a slice of the filters of large chunks, in as many bits as those of blocks.';
comment on column filters.number is 'Of a slice, its first bit divided by 128; of a row of the filters of chunks, its bit, and 4096 more for each 8192 chunks before, or -1 for the chunks with which a blob begins; of a large chunk, its number; else 0.';
comment on column filters.bits is 'A slice holds 128 consecutive bits of all filters of its kind: for each of these bits some bytes, in which bit n, from the lowest of the first byte, is that of filter n. A row holds one bit of 8192 of them; where all are 0 it is not there.';

-- Nothing reads the rows of chunks but for their texts now, so these lie in them, compressed: a look at one less.
alter table chunks alter column contents set storage main;
