//! Text for a shell.

/// Quotes a text as one argument.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Quotes a word if a shell would not take it literally.
pub fn word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { quoted(text) }
}
