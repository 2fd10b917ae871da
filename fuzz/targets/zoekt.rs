//! Request bodies from Zoekt's clients.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| server::fuzz::zoekt(bytes));
