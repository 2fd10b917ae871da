//! The names of monitors, which are parts of addresses.

/// Longest name, in bytes.
const MAX_NAME: usize = 64;

/// Checks the name of a monitor.
///
/// # Errors
/// A sentence that says which names there may be.
pub fn check_name(name: &str) -> Result<(), String> {
    let may = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(may)
        && name.len() <= MAX_NAME
        && name.strip_suffix(".atom").is_none();
    if is_name {
        return Ok(());
    }
    Err(format!(
        "\"{}\" is not a name for a monitor; use up to {MAX_NAME} letters, digits, dots, minus signs and underscores, a \
         letter or digit first",
        query::shortened(name, MAX_NAME)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parts_of_addresses() {
        for name in ["a", "todo", "log4j-2.17", "A_b.c", &"x".repeat(64)] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let long = "x".repeat(65);
        for name in ["", ".", "..", "-a", "a/b", "a b", "ä", "a.atom", "a?b", "a%2f", &long] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
