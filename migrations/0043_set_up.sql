-- On nodes of Citus, views read the tables of shards by functions, which are made anew after migrations. A program that is killed
-- in between leaves views that find nothing: this tells the next one.

alter table state add column set_up bigint not null default 0;
comment on column state.set_up is 'On nodes of Citus, the newest migration after which views and settings of nodes were made; 0 elsewhere.';
