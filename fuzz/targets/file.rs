//! Files: decoding, splitting, and extracting docs.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ingest::fuzz::file(bytes));
