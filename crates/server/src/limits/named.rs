//! Makes principals of names that others tell, within bounds.

use access::Named;

/// Most groups of a user: more than fit into the headers of a request, whose size has a limit of its own.
pub(crate) const MAX_GROUPS: usize = 10_000;

/// Longest name of a user or a group, in bytes.
const MAX_NAME: usize = 256;

/// Makes a principal of a user, of the user's groups, and of globs that narrow what is seen.
///
/// # Errors
/// A sentence, without a full stop: a name is empty, too long or has control characters, or there are too many groups.
pub(crate) fn named(user: &str, groups: Vec<String>, repos: Vec<String>) -> Result<Named, String> {
    let name = user.trim();
    check("user", name)?;
    if groups.len() > MAX_GROUPS {
        return Err(format!("the user is in more than {MAX_GROUPS} groups; send fewer of them"));
    }
    for group in &groups {
        check("group", group)?;
    }
    Ok(Named { repos, ..Named::new(name, groups) })
}

fn check(of: &str, name: &str) -> Result<(), String> {
    let wrong = if name.is_empty() {
        "is empty"
    } else if name.len() > MAX_NAME {
        "is longer than 256 bytes"
    } else if name.contains(char::is_control) {
        "has control characters"
    } else {
        return Ok(());
    };
    Err(format!("the name of a {of} {wrong}; send another name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_groups_have_bounds() {
        let groups = |n: usize| (0..n).rev().map(|n| format!("team-{n:05}")).collect::<Vec<_>>();
        let ann = named(" ann ", groups(MAX_GROUPS), Vec::new()).unwrap();
        assert_eq!(
            (&*ann.name, ann.groups.len(), &*ann.groups[0]),
            ("ann", MAX_GROUPS, "team-00000")
        );
        assert!(ann.groups.is_sorted());
        for (user, groups, why) in [
            ("ann", groups(MAX_GROUPS + 1), "in more than 10000 groups"),
            (" ", Vec::new(), "the name of a user is empty"),
            ("a\tb", Vec::new(), "control characters"),
            (&"a".repeat(257), Vec::new(), "longer than 256 bytes"),
            ("ann", vec![String::new()], "the name of a group is empty"),
        ] {
            let error = named(user, groups, Vec::new()).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
