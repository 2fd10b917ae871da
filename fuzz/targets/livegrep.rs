//! Forms from livegrep's clients.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| server::fuzz::livegrep(bytes));
