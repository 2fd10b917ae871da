//! SCIP indexes, each with a text that it describes.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ingest::fuzz::scip(bytes));
