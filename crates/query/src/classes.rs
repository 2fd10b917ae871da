//! Finds where the character classes of a query end, for all of them in one pass. Otherwise, a query of unclosed
//! brackets would be read to its end for each of them.

/// The end of the character class that is open at each byte of a text, if there is one.
#[derive(Debug)]
pub(crate) struct Classes {
    /// For each byte offset, and for the end of the text, the offset after the next bracket that closes more than was
    /// opened since; 0 if there is none.
    ends: Vec<u32>,
}

impl Classes {
    /// Reads the brackets of a text, except those after a backslash.
    pub(crate) fn of(text: &str) -> Self {
        let steps = steps(text.as_bytes());
        let mut ends = vec![0; steps.len() + 1];
        // The depth at an offset, and for each depth the next offset that has it. All depths are shifted to stay above
        // 0.
        let mut depth = steps.len() + 1;
        let mut next = vec![0; 2 * steps.len() + 3];
        next[depth] = steps.len() as u32;
        for (at, step) in steps.iter().enumerate().rev() {
            depth = depth.wrapping_add_signed(-step);
            next[depth] = at as u32;
            ends[at] = next[depth - 1];
        }
        Self { ends }
    }

    /// Returns the offset after the bracket that closes a class whose members begin at `at`.
    pub(crate) fn end(&self, at: usize) -> Option<usize> {
        self.ends.get(at).map(|end| *end as usize).filter(|end| *end > 0)
    }
}

/// Returns by how much each byte changes the depth of brackets.
fn steps(bytes: &[u8]) -> Vec<isize> {
    let mut escaped = false;
    let step = |byte: &u8| {
        if std::mem::take(&mut escaped) {
            return 0;
        }
        match byte {
            b'\\' => escaped = true,
            b'[' => return 1,
            b']' => return -1,
            _ => {}
        }
        0
    };
    bytes.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the class at `at` on its own.
    fn end_of_one(text: &str, at: usize) -> Option<usize> {
        let mut depth = 1;
        for (far, step) in steps(text.as_bytes()).into_iter().enumerate().skip(at) {
            depth += step;
            if depth == 0 {
                return Some(far + 1);
            }
        }
        None
    }

    #[test]
    fn all_classes_end_where_each_ends_by_itself() {
        for text in [
            "", "[", "]", "[a]", "[a[b]c]]", "[[[", "]]]", "[][]]", "[^]a]]", r"[\]a]", "é[é]é",
            "[a[b",
        ] {
            for len in 0..4 {
                let text = format!("{text}{}", "[x]".repeat(len));
                let classes = Classes::of(&text);
                for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
                    assert_eq!(classes.end(at), end_of_one(&text, at), "{text} at {at}");
                }
                assert_eq!(classes.end(text.len()), None);
            }
        }
    }
}
