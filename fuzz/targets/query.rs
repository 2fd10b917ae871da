//! Queries: compiling, planning, and matching.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| query::fuzz::query(bytes));
