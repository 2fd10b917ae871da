//! Files of git's.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ingest::fuzz::git(bytes));
