-- How much the operator thinks of a repository: it decides between results that are equal otherwise.
alter table repos add column rank integer not null default 0 check (rank between 0 and 65535);
comment on column repos.rank is 'What git config codesearch.rank says in its clone, or else zoekt.priority; 0 for nothing.';
