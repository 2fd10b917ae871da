//! A server, and how to reach it.

use std::hash::Hasher;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, ClientBuilder, Response, StatusCode};
use serde::Deserialize;
use siphasher::sip::SipHasher13;

/// Longest time to connect to a server.
const CONNECT: Duration = Duration::from_secs(10);

/// Longest error of a server that is repeated, in bytes.
const MAX_ERROR: usize = 64 << 10;

/// The result of asking a server.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a server did not answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing listens there, or this user may not connect.
    #[error("cannot reach the server at {at}: {why}")]
    Absent {
        /// Its address.
        at: String,
        /// The system's reason.
        why: String,
    },
    /// It has another version or serves other repositories.
    #[error("{0}")]
    Other(String),
    /// It refused the request, with its sentence.
    #[error("{message}")]
    Refused {
        /// The status of its answer.
        status: u16,
        /// Its sentence.
        message: String,
    },
    /// Its answer ended early.
    #[error("the server at {0} stopped while it answered; run the command again")]
    Died(String),
    /// It is no codesearch server.
    #[error("{0} is not a codesearch server of this version")]
    Foreign(String),
    /// The address or the token is invalid.
    #[error("{0}")]
    Invalid(String),
    /// What it sent cannot be printed.
    #[error("cannot write: {0}")]
    Write(#[source] io::Error),
}

/// A server.
#[derive(Clone, Debug)]
pub struct Remote {
    http: Client,
    /// The beginning of its addresses, without a slash at the end.
    base: String,
    /// Its name in messages.
    name: String,
    token: Option<HeaderValue>,
    socket: Option<PathBuf>,
}

impl Remote {
    /// Returns the server of this machine that listens on a socket.
    ///
    /// # Errors
    /// [`Error::Absent`] if there is no such socket, or it is another user's.
    pub fn on_socket(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let absent = |why: String| Error::Absent { at: name.clone(), why };
        let found = path.symlink_metadata().map_err(|error| absent(error.to_string()))?;
        if found.uid() != nix::unistd::geteuid().as_raw() {
            return Err(absent("it belongs to another user".to_owned()));
        }
        // Certificates are not needed here, and take milliseconds to read.
        let http = builder().unix_socket(path).no_proxy().tls_certs_only([]);
        let base = "http://localhost".to_owned();
        let socket = Some(path.to_owned());
        Ok(Self { http: built(http)?, base, name, token: None, socket })
    }

    /// Returns the server at a URL.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn at(url: &str, token: Option<&str>) -> Result<Self> {
        let invalid = || {
            Error::Invalid(format!(
                "invalid server {url:?}; write it as https://HOST or http://HOST:PORT"
            ))
        };
        let parsed = reqwest::Url::parse(url).map_err(|_| invalid())?;
        if !matches!(parsed.scheme(), "http" | "https") || !parsed.has_host() {
            return Err(invalid());
        }
        let header = |token| {
            let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| {
                Error::Invalid("the server's token has characters that no token has".to_owned())
            })?;
            value.set_sensitive(true);
            Ok(value)
        };
        let token = token.map(header).transpose()?;
        let base = url.trim_end_matches('/').to_owned();
        Ok(Self { http: built(builder())?, name: base.clone(), base, token, socket: None })
    }

    /// Returns its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether it is this machine's server, on a socket.
    pub fn is_on_socket(&self) -> bool {
        self.socket.is_some()
    }

    /// Sends JSON to an endpoint, and returns the answer when its headers have arrived.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the request.
    pub async fn post(&self, path: &str, accept: &'static str, body: Vec<u8>) -> Result<Response> {
        let answer = self.send(path, accept, body).await?;
        match answer.status() {
            status if status.is_success() => Ok(answer),
            StatusCode::NOT_FOUND => Err(Error::Foreign(self.name.clone())),
            status if status.is_redirection() => {
                let to = answer.headers().get("location").and_then(|to| to.to_str().ok());
                let to = to.unwrap_or("another address");
                Err(Error::Invalid(format!(
                    "the server at {} redirects to {to}; use that address",
                    self.name
                )))
            }
            status => {
                let mut answer = answer;
                let mut bytes = Vec::new();
                while let Ok(Some(some)) = answer.chunk().await {
                    bytes.extend_from_slice(&some);
                    if bytes.len() > MAX_ERROR {
                        break;
                    }
                }
                Err(self.refused(status, &bytes))
            }
        }
    }

    /// Like [`post`](Self::post), but also returns the answer of a server that refuses the request.
    pub(crate) async fn send(
        &self,
        path: &str,
        accept: &'static str,
        body: Vec<u8>,
    ) -> Result<Response> {
        let mut request = self.http.post(format!("{}{path}", self.base));
        request = request.header(CONTENT_TYPE, "application/json").header(ACCEPT, accept);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        request.body(body).send().await.map_err(|error| self.unreached(&error))
    }

    fn unreached(&self, error: &reqwest::Error) -> Error {
        if !error.is_connect() {
            return Error::Died(self.name.clone());
        }
        let mut why: &dyn std::error::Error = error;
        while let Some(source) = why.source() {
            why = source;
        }
        Error::Absent { at: self.name.clone(), why: why.to_string() }
    }

    /// Returns the error in an answer.
    pub(crate) fn refused(&self, status: StatusCode, body: &[u8]) -> Error {
        #[derive(Deserialize)]
        struct Body {
            error: Told,
        }
        #[derive(Deserialize)]
        struct Told {
            message: String,
        }
        let Ok(Body { error: Told { message } }) = serde_json::from_slice(body) else {
            return Error::Foreign(self.name.clone());
        };
        match status {
            StatusCode::CONFLICT => Error::Other(message),
            StatusCode::UNAUTHORIZED => Error::Refused {
                status: status.as_u16(),
                message: format!(
                    "the server at {} requires a token; name a file that contains it with --server-token",
                    self.name
                ),
            },
            status => Error::Refused { status: status.as_u16(), message },
        }
    }
}

fn builder() -> ClientBuilder {
    // The token must not follow a redirect to another host.
    Client::builder().connect_timeout(CONNECT).redirect(reqwest::redirect::Policy::none())
}

fn built(builder: ClientBuilder) -> Result<Client> {
    // Fails if it was done before, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    builder.build().map_err(|error| Error::Invalid(format!("cannot make connections: {error}")))
}

/// Reads a token from a file: its first line.
///
/// # Errors
/// [`Error::Invalid`] if the file cannot be read or is empty.
pub fn token_of(file: &Path) -> Result<String> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Error::Invalid(format!("cannot read the token in {}: {error}", file.display()))
    })?;
    let token = text.lines().next().unwrap_or_default().trim().to_owned();
    if token.is_empty() {
        return Err(Error::Invalid(format!("{} has no token in its first line", file.display())));
    }
    Ok(token)
}

/// Longest path of a Unix socket, in bytes (`sun_path` has 104 on macOS, with the final NUL).
const MAX_SOCKET_PATH_BYTES: usize = 103;

/// The folder for temporary files.
pub const TEMPORARY: &str = "/tmp";

/// Returns the path of the socket of an index's server: in the folder `home`, or in the folder for temporary files, if that
/// path is too long for a socket. A folder of the user's own there has mode 0700, which the server sees to.
pub fn socket_path(home: &Path, index: &str) -> PathBuf {
    let is_plain = index.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let name = if is_plain && !index.is_empty() && index.len() <= 40 {
        format!("{index}.sock")
    } else {
        format!("{:016x}.sock", hash(index.as_bytes()))
    };
    let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
    let path = home.join(&name);
    if path.as_os_str().len() <= MAX_SOCKET_PATH_BYTES {
        return path;
    }
    let user = nix::unistd::geteuid();
    let home = hash(home.as_os_str().as_encoded_bytes());
    Path::new(TEMPORARY).join(format!("codesearch-{user}-{home:016x}")).join(name)
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_has_a_short_path_of_its_own() {
        assert_eq!(
            socket_path(Path::new("/home/ann/index"), "main"),
            Path::new("/home/ann/index/main.sock")
        );
        let long = "x".repeat(200);
        let paths = [
            ("/a", "b/c"),
            ("/a", "b.c"),
            ("/a", &*long),
            (&*format!("/{long}"), "b"),
            (&*format!("/{long}/d"), "b"),
        ]
        .map(|(home, index)| socket_path(Path::new(home), index));
        for (at, path) in paths.iter().enumerate() {
            assert!(path.as_os_str().len() <= MAX_SOCKET_PATH_BYTES, "{path:?}");
            assert!(!paths[..at].contains(path), "{path:?}");
        }
    }

    #[test]
    fn an_address_is_a_url_with_a_host() {
        for wrong in ["", "host", "host:80", "file:///x", "ftp://x", "http://"] {
            assert!(matches!(Remote::at(wrong, None), Err(Error::Invalid(_))), "{wrong}");
        }
        assert_eq!(Remote::at("https://host/code/", None).unwrap().base, "https://host/code");
        assert!(matches!(Remote::at("https://host", Some("a\nb")), Err(Error::Invalid(_))));
    }
}
