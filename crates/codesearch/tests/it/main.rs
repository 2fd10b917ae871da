//! Tests of the product from the outside: they run the binary as a user does, on a real Postgres.
//!
//! All tests share one private server (see `harness`), and each has its own index.

mod access;
mod agents;
mod api;
mod bad_input;
mod browser;
mod check;
mod clients;
mod cursor;
mod editors;
mod encodings;
mod equality;
mod experiments;
mod files;
mod harness;
mod help;
mod hints;
mod history;
mod http;
mod ingest;
mod language;
mod limits;
mod livegrep;
mod loading;
mod memory;
mod private_postgres;
mod property;
mod prose;
mod ranking;
mod ripgrep;
mod scip;
mod search;
mod sql;
mod stats;
mod symbol_search;
mod symbols;
mod terminal;
mod torture;
mod trigrams;
mod typed;
mod updates;
mod upgrade;
mod view;
mod words;
mod zoekt;
