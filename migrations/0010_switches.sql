-- An epoch may be lost, with a crash or by a restore, and its number is then that of another one. A random number tells the
-- two apart.

-- No ingest of before may go on. (The lock on writing.)
select pg_advisory_xact_lock(109345572388864);

create table switches (
    epoch  integer primary key,
    number bigint not null
);
comment on table switches is 'The last switches to another epoch, each with a random number of its own: what a program knows of an epoch holds as long as its number is here.';
comment on column switches.epoch is 'The epoch that was made the current one.';
comment on column switches.number is 'Random; the same epoch made again has another one.';

insert into switches select epoch, (random() * 9e18)::bigint from state where epoch > 0;
