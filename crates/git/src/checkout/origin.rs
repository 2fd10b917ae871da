//! Names a repository after the URL of its origin.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Maximum number of bytes of a name.
const MAX_NAME: usize = 500;

/// Kinds of URLs that have a host.
const SCHEMES: [&str; 8] = ["https", "http", "ssh", "git", "git+ssh", "ssh+git", "ftp", "ftps"];

/// Characters of a path that are not escaped in a URL.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'+')
    .remove(b'@');

/// The origin in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// None, or a path on this machine.
    None,
    /// Its host and path.
    At(String),
    /// A URL that cannot be turned into a name.
    Odd,
}

/// Returns host and path of a URL as git parses it, such as `github.com/golang/go`: without user, password and port.
pub fn of_url(url: &str) -> Origin {
    let url = url.trim();
    match parts(url) {
        None => Origin::None,
        Some((host, path)) => name(host, &path).map_or(Origin::Odd, Origin::At),
    }
}

/// Returns the host, perhaps with user and port, and the path of a URL; `None` for a path on this machine, and for the
/// address of a git remote helper.
fn parts(url: &str) -> Option<(&str, String)> {
    if let Some((scheme, rest)) = url.split_once("://") {
        let scheme = scheme.to_ascii_lowercase();
        if !SCHEMES.contains(&&*scheme) {
            return None;
        }
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        // The text after these may contain a token.
        let path = if scheme.starts_with("http") { path.split(['?', '#']).next()? } else { path };
        // A name cannot have a host or path that is not text.
        let path =
            percent_decode_str(path).decode_utf8().map_or_else(|_| "\0".to_owned(), Into::into);
        return Some((host, path));
    }
    // The form of scp: USER@HOST:PATH, with no slash before the colon.
    let end = url.find('/').unwrap_or(url.len());
    let user = url[..end].rfind('@').map_or(0, |at| at + 1);
    let (from, is_drive) = match url[user..].strip_prefix('[') {
        Some(rest) => (user + 1 + rest.find(']')?, false),
        None => (user, user == 0 && url.as_bytes().get(1) == Some(&b':')),
    };
    let colon = from + url[from..].find(':')?;
    let is_helper = url[colon..].starts_with("::");
    if colon > end || is_drive || is_helper || url.starts_with(['.', '\\']) {
        return None;
    }
    Some((&url[..colon], url[colon + 1..].to_owned()))
}

/// Makes a name of host and path, if possible.
fn name(host: &str, path: &str) -> Option<String> {
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let (host, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((inner, port)) => (format!("[{inner}]"), port),
        None => {
            let at = host.find(':').unwrap_or(host.len());
            (host[..at].to_owned(), &host[at..])
        }
    };
    let is_port = port.strip_prefix(':').unwrap_or(port).bytes().all(|byte| byte.is_ascii_digit());
    let is_host = |c: char| {
        c.is_alphanumeric() || "-._".contains(c) || (host.starts_with('[') && "[]:".contains(c))
    };
    if host.is_empty() || !is_port || !host.chars().all(is_host) || host.starts_with(['-', '.']) {
        return None;
    }
    let mut segments: Vec<&str> =
        path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if let Some(last) = segments.last_mut() {
        *last = last.strip_suffix(".git").unwrap_or(last);
    }
    segments.retain(|part| !part.is_empty());
    // A password with a slash leaves its end in the path.
    let is_odd = segments.first()?.find('@').is_some_and(|at| at > 0)
        || segments.contains(&"..")
        || path.contains(|c: char| c.is_control() || c == '\\');
    let name = format!("{}/{}", host.to_lowercase(), segments.join("/"));
    (!is_odd && name.len() <= MAX_NAME).then_some(name)
}

/// Returns the URL before the paths of files at a commit, if the origin is a known kind of forge.
pub fn web(origin: &str, commit: &str) -> Option<String> {
    let (host, path) = origin.split_once('/')?;
    let is = |kinds: &[&str]| kinds.iter().any(|kind| host.contains(kind));
    let path = utf8_percent_encode(path, PATH);
    if is(&["github"]) {
        Some(format!("https://{host}/{path}/blob/{commit}/"))
    } else if is(&["gitlab"]) {
        Some(format!("https://{host}/{path}/-/blob/{commit}/"))
    } else if is(&["gitea", "forgejo", "codeberg"]) {
        Some(format!("https://{host}/{path}/src/commit/{commit}/"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_repositories() {
        for (url, expected) in [
            ("https://github.com/golang/go.git", "github.com/golang/go"),
            ("https://github.com/golang/go/", "github.com/golang/go"),
            ("https://GitHub.com/Golang/Go.git/", "github.com/Golang/Go"),
            ("HTTPS://example.org//a///b/./c", "example.org/a/b/c"),
            ("git@github.com:rust-lang/rust", "github.com/rust-lang/rust"),
            ("github.com:rust-lang/rust.git", "github.com/rust-lang/rust"),
            ("ssh://git@example.org:2222/x/y.git/", "example.org/x/y"),
            ("ssh://example.org:/x/y", "example.org/x/y"),
            ("git+ssh://example.org/~ann/y", "example.org/~ann/y"),
            ("git@example.org:/srv/git/y.git", "example.org/srv/git/y"),
            ("ssh://git@[::1]:22/x/y", "[::1]/x/y"),
            ("git@[2001:db8::1]:x/y", "[2001:db8::1]/x/y"),
            ("https://straße.example/x", "straße.example/x"),
            ("https://dev.azure.com/o/My%20Project/_git/r", "dev.azure.com/o/My Project/_git/r"),
            ("https://example.org/@ann/x", "example.org/@ann/x"),
            // Names must not reveal users, passwords and tokens.
            ("https://ann:secret@example.org/x/y", "example.org/x/y"),
            ("https://ann:sec@ret@example.org/x/y", "example.org/x/y"),
            ("https://token@example.org/x/y?token=secret#secret", "example.org/x/y"),
            ("ann:secret@example.org:x/y", "example.org/x/y"),
            (" https://example.org/x \n", "example.org/x"),
        ] {
            assert_eq!(of_url(url), Origin::At(expected.to_owned()), "{url}");
        }
    }

    #[test]
    fn paths_of_this_machine_are_no_origins() {
        for url in [
            "",
            "../elsewhere",
            "./a:b",
            "/srv/git/x.git",
            "dir/a:b",
            "file:///srv/git/x",
            "file://host/share/x",
            "C:\\repos\\g",
            "C:/repos/g",
            "c:repos",
            "\\\\server\\share\\g",
            "//server/share/g",
            "ext::sh -c id",
            "codecommit::eu-central-1://x",
            "s3://bucket/x",
            "x.bundle",
        ] {
            assert_eq!(of_url(url), Origin::None, "{url}");
        }
    }

    #[test]
    fn what_cannot_be_a_name_is_odd() {
        let long = format!("https://example.org/{}", "x".repeat(12_000));
        for url in [
            "https://example.org/a%00b",
            "https://example.org/%1b[31m",
            "https://example.org/a%ff",
            "https://example.org/../../etc",
            "https://example.org/a/%2e%2e/b",
            "https://ann:sec/ret@example.org/x",
            "https://ann:1/ret@example.org/x",
            "https://example.org",
            "https://example.org/.git",
            "https:///x/y",
            "https://exa mple.org/x",
            "https://-oProxyCommand/x",
            "-oProxyCommand=id:x",
            "https://example.org:port/x",
            "git@example.org:a\\b",
            &long,
        ] {
            assert_eq!(of_url(url), Origin::Odd, "{url}");
        }
    }

    #[test]
    fn addresses_on_the_web_are_quoted() {
        let address = |origin| web(origin, "c0ffee");
        assert_eq!(
            address("github.com/a/b c\"?#").unwrap(),
            "https://github.com/a/b%20c%22%3F%23/blob/c0ffee/"
        );
        assert_eq!(
            address("gitlab.example.org/a/b").unwrap(),
            "https://gitlab.example.org/a/b/-/blob/c0ffee/"
        );
        assert_eq!(address("example.org/a/b"), None);
    }
}
