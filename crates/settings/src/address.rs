//! Addresses of git repositories.

use std::fmt;

/// An address that `git clone` takes: `https://`, `http://`, `ssh://` or `git://`, `file://`, `user@host:path`, or the
/// path of a folder. It has no password, runs no program (`ext::`) and cannot be taken for an option.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GitAddress(String);

impl GitAddress {
    /// Reads an address.
    ///
    /// # Errors
    /// A sentence that says what to write, without a full stop and without the address if this may have a secret.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = |why: &str| Err(format!("\"{text}\" {why}"));
        if text.is_empty() {
            return Err("an empty address names nothing".to_owned());
        }
        if text.contains(|c: char| c.is_control() || c == ' ') {
            return Err("an address has no spaces; write them as %20".to_owned());
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            if text.contains("::") {
                return wrong("would run a program; write an https:// or ssh:// address");
            }
            if text.starts_with('/') {
                return Ok(Self(text.to_owned()));
            }
            return match text.split_once(':') {
                Some((host, path))
                    if !host.starts_with('-') && !path.is_empty() && !host.contains('/') =>
                {
                    Ok(Self(text.to_owned()))
                }
                _ => wrong(
                    "is not a git address; write https://HOST/PATH, ssh://HOST/PATH or USER@HOST:PATH",
                ),
            };
        };
        match scheme {
            "https" | "http" | "ssh" | "git" | "file" => {}
            _ => return wrong("is not a git address; write https://, ssh:// or git://"),
        }
        let authority = rest.split('/').next().unwrap_or_default();
        if let Some((user, _)) = authority.rsplit_once('@')
            && (user.contains(':') || scheme.starts_with("http"))
        {
            return Err(
                "an address must have no user name or password; write them as user and token = \"file:PATH\""
                    .to_owned(),
            );
        }
        if authority.starts_with('-') || (authority.is_empty() && scheme != "file") {
            return wrong("names no host");
        }
        if rest[authority.len()..].trim_matches('/').is_empty() {
            return wrong("names no repository");
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the address as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GitAddress {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_git() {
        for text in [
            "https://github.com/golang/go",
            "http://localhost:3000/a/b.git",
            "ssh://git@host:2222/a/b",
            "git@github.com:golang/go.git",
            "host:path",
            "file:///srv/git/x",
            "/srv/git/x",
            "git://host/x",
        ] {
            assert_eq!(GitAddress::parse(text).map(|a| a.to_string()), Ok(text.to_owned()));
        }
        for (text, expected) in [
            ("ext::sh -c x", "an address has no spaces; write them as %20"),
            ("ext::id", "\"ext::id\" would run a program; write an https:// or ssh:// address"),
            (
                "-u:x",
                "\"-u:x\" is not a git address; write https://HOST/PATH, ssh://HOST/PATH or USER@HOST:PATH",
            ),
            ("ssh://-oProxyCommand=x/y", "\"ssh://-oProxyCommand=x/y\" names no host"),
            (
                "golang/go",
                "\"golang/go\" is not a git address; write https://HOST/PATH, ssh://HOST/PATH or USER@HOST:PATH",
            ),
            ("ftp://x/y", "\"ftp://x/y\" is not a git address; write https://, ssh:// or git://"),
            (
                "https://me:secret@host/x",
                "an address must have no user name or password; write them as user and token = \"file:PATH\"",
            ),
            (
                "https://token@host/x",
                "an address must have no user name or password; write them as user and token = \"file:PATH\"",
            ),
            ("https://host/", "\"https://host/\" names no repository"),
        ] {
            assert_eq!(GitAddress::parse(text), Err(expected.to_owned()), "{text}");
        }
    }
}
