//! Files that are decoded, cut, and read for docs.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ingest::fuzz::file(bytes));
