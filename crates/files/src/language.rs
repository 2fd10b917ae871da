//! The languages of files.

/// Bytes of a file that are examined to distinguish languages with the same extension.
const LANGUAGE_BYTES: usize = 4096;

pub use query::language_named;

/// Returns the language of a text, by its path and its beginning.
pub fn language_of(path: &str, text: &str) -> Option<String> {
    let mut end = text.len().min(LANGUAGE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    query::language_of(path, &text.as_bytes()[..end]).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::language_of;

    #[test]
    fn languages_by_name_and_by_contents() {
        assert_eq!(language_of("src/main.rs", "").as_deref(), Some("Rust"));
        assert_eq!(language_of("Makefile", "").as_deref(), Some("Makefile"));
        assert_eq!(language_of("run", "#!/bin/bash\necho é\n").as_deref(), Some("Shell"));
        assert_eq!(
            language_of("run", "#! /usr/bin/env -S python3.11 -u\r\n").as_deref(),
            Some("Python")
        );
        assert_eq!(
            language_of("fit.m", "function y = fit(x)\n% fits\n").as_deref(),
            Some("MATLAB")
        );
        assert_eq!(language_of("no.such-ending", "text"), None);
    }
}
