-- lexemes @~~ pattern asks a gin_trgm_ops index as LIKE does, and is true of every row that the index names: the server
-- neither decompresses nor rechecks the text, since codesearch does. crates/store/src/prepare.rs says more.
--
-- The role that has the program's tables need not be a superuser to create this extension, and Citus creates it on all nodes.

create function public.no_recheck(text, bytea) returns boolean
    language internal immutable strict parallel safe leakproof as 'booland_statefunc';

create operator public.@~~ (leftarg = text, rightarg = bytea, function = public.no_recheck, restrict = contsel);

alter operator family gin_trgm_ops using gin add operator 3 public.@~~ (text, bytea);
