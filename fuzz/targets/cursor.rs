//! Parsing of cursors.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| server::fuzz::cursor(bytes));
