//! To whom something is granted.

use std::fmt;
use std::str::FromStr;

use crate::Principal;

/// Longest name of a user or group, in bytes.
const MAX_NAME: usize = 500;

/// To whom something is granted. Users and groups are written apart (`user:ann`, `group:ann`), so that nobody gets what is a
/// group's by a name alone.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Who {
    /// `*`: everybody.
    Everybody,
    /// `user:*`: everybody who has a name.
    Users,
    /// `user:NAME`: a person or program.
    User(String),
    /// `group:NAME`: the members of a group.
    Group(String),
}

impl Who {
    /// Returns all that a principal is granted something as.
    pub fn all_of(principal: &Principal) -> Vec<Self> {
        let mut all = vec![Self::Everybody];
        if let Principal::Named(named) = principal {
            all.extend([Self::Users, Self::User(named.name.clone())]);
            all.extend(named.groups.iter().cloned().map(Self::Group));
        }
        all
    }
}

impl FromStr for Who {
    type Err = String;

    /// Reads it as it is written.
    ///
    /// # Errors
    /// A sentence that says what to write, without a full stop.
    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, name) = match text.split_once(':') {
            None if text == "*" => return Ok(Self::Everybody),
            Some((kind @ ("user" | "group"), name)) => (kind, name),
            _ => {
                let shown: String = text.chars().take(100).collect();
                return Err(format!(
                    "\"{shown}\" is neither a user nor a group; write user:{shown} or group:{shown}, or * for everybody"
                ));
            }
        };
        if name.is_empty() || name != name.trim() || name.chars().any(char::is_control) {
            return Err(format!("a {kind} has a name; write {kind}:NAME"));
        }
        if name.len() > MAX_NAME {
            return Err(format!("the name of a {kind} has more than {MAX_NAME} bytes; shorten it"));
        }
        match (kind, name) {
            ("user", "*") => Ok(Self::Users),
            ("user", name) => Ok(Self::User(name.to_owned())),
            (_, "*") => {
                Err("group:* is no group; write user:* for everybody who has a name".to_owned())
            }
            (_, name) => Ok(Self::Group(name.to_owned())),
        }
    }
}

/// As it is written.
impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everybody => f.write_str("*"),
            Self::Users => f.write_str("user:*"),
            Self::User(name) => write!(f, "user:{name}"),
            Self::Group(name) => write!(f, "group:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_groups_cannot_be_mixed_up() {
        for text in ["*", "user:*", "user:ann", "group:ann", "user:a:b", "group:team a"] {
            assert_eq!(text.parse::<Who>().unwrap().to_string(), text);
        }
        for text in
            ["", "ann", "team:x", "user:", "group:", "group:*", "user: ann", "user:a\nb", "**"]
        {
            assert!(text.parse::<Who>().is_err(), "{text:?}");
        }
        let ann = Principal::named("group:x", vec!["user:*".to_owned(), "t".to_owned()]);
        let all: Vec<String> = Who::all_of(&ann).iter().map(Who::to_string).collect();
        assert_eq!(all, ["*", "user:*", "user:group:x", "group:t", "group:user:*"]);
        assert_eq!(Who::all_of(&Principal::Anonymous), [Who::Everybody]);
    }
}
