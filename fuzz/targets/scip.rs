//! SCIP indexes, and a text of which they tell.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ingest::fuzz::scip(bytes));
