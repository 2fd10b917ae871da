-- The filters of a shard's last chunks may stand in a few rows of their own, so that an ingest of a few files does not
-- write the filters of thousands of chunks again.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

comment on column filters.kind is '0: a slice of the filters of blocks of 512 chunks; 1: a slice of those of dense chunks; 2: the numbers of the dense chunks (number 0) and of the large ones (1), 4 bytes each, the highest first; 3: the filter of a large chunk; 5: a slice of the filters of large chunks, in as many bits as those of blocks; 6: the filter of the tail, which is the last chunks if these have no other filters, all in one block; 7: a slice of the filters of each chunk of the tail.';
comment on column filters.number is 'Of a slice, its first bit divided by 128; of a large chunk, its number; of the tail, its first chunk; of a slice of the tail, 4194304 times the former number, and the number of its block; else 0 or 1.';
comment on column filters.bits is 'A slice holds 128 consecutive bits of all filters of its kind: for each of these bits some bytes, in which bit n, from the lowest of the first byte, is that of filter n; of the tail, that of chunk n of the block.';
