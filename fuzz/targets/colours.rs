//! Syntax highlighting of files.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| server::fuzz::colours(bytes));
