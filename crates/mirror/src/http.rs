//! Asks the API of a host: one request at a time, with its token, and as often as the host allows.

use std::path::Path;
use std::time::{Duration, SystemTime};

use reqwest::header::{ETAG, HeaderMap, IF_NONE_MATCH, LINK, LOCATION, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};
use settings::Hidden;

use crate::host::Api;

/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(10);

/// Most bytes of an answer.
const MAX_BODY: usize = 64 << 20;

/// Longest time that a host may have us wait within a pass. After a longer one, it is asked in a later pass.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Longest time that a host is believed to want to be left alone.
const MAX_PAUSE: Duration = Duration::from_hours(24);

/// Pause if a host has enough but does not say for how long.
const PAUSE: Duration = Duration::from_mins(1);

/// Most redirects of a request.
const MAX_REDIRECTS: usize = 4;

/// How often a request is sent that the host wants later.
const TRIES: usize = 4;

/// What to do about a certificate that is not trusted.
pub(crate) const OWN_AUTHORITY: &str =
    "if it has a certificate authority of its own, name its file with ca_file";

/// Why a host gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unanswered {
    /// One sentence that says what to do.
    pub(crate) why: String,
    /// For how long it is not to be asked again.
    pub(crate) pause: Option<Duration>,
    /// Whether it refuses to answer us: then what it said before counts no more.
    pub(crate) refuses: bool,
}

impl Unanswered {
    fn of(why: String) -> Self {
        Self { why, pause: None, refuses: false }
    }
}

/// What a host answers.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A page.
    Page(Page),
    /// The page is the one of this name.
    Unchanged {
        /// When the host said so, in seconds since 1970.
        at: i64,
    },
    /// There is nothing, or nothing that the token may see.
    Missing,
}

/// A page.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) body: Vec<u8>,
    /// The name of its contents.
    pub(crate) etag: Option<String>,
    /// The address of the page after it.
    pub(crate) next: Option<String>,
    /// When the host sent it, in seconds since 1970.
    pub(crate) at: i64,
}

/// A connection to the API of a host.
#[derive(Debug)]
pub(crate) struct Http {
    client: Client,
    base: Url,
    headers: HeaderMap,
    /// Its name in messages.
    name: String,
    has_token: bool,
}

impl Http {
    /// Makes a connection; `patience` is the longest time that the host may be silent.
    ///
    /// # Errors
    /// A sentence: the address, the token or the file of certificates is invalid.
    pub(crate) fn new(
        api: &dyn Api,
        base: &str,
        token: Option<&Hidden>,
        ca_file: Option<&Path>,
        patience: Duration,
    ) -> Result<Self, String> {
        let base = Url::parse(base).map_err(|_| format!("invalid address of an API: {base}"))?;
        let mut headers = HeaderMap::new();
        for (name, value) in api.headers() {
            headers.insert(*name, value.parse().expect("they are constant"));
        }
        if let Some(token) = token {
            let (name, value) = api
                .authorization(token.reveal())
                .ok_or("the token has characters that no token has; check where it is read")?;
            headers.insert(name, value);
        }
        // Fails if it was done before, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("codesearch/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT.min(patience))
            .read_timeout(patience)
            .timeout(patience.saturating_mul(4))
            .redirect(reqwest::redirect::Policy::none());
        if let Some(file) = ca_file {
            let unread =
                |why: String| format!("cannot read certificates in {}: {why}", file.display());
            let pem = std::fs::read(file).map_err(|error| unread(error.to_string()))?;
            let certificates = reqwest::Certificate::from_pem_bundle(&pem).unwrap_or_default();
            if certificates.is_empty() {
                return Err(unread("it has no certificate in PEM".to_owned()));
            }
            builder = builder.tls_certs_merge(certificates);
        }
        let client =
            builder.build().map_err(|error| format!("cannot make connections: {error}"))?;
        let name = base.host_str().unwrap_or_default().to_owned();
        Ok(Self { client, base, headers, name, has_token: token.is_some() })
    }

    /// Asks for a page; if the host still has the one of the name `etag`, it sends nothing else. Waits for a short while if the
    /// host wants that.
    ///
    /// # Errors
    /// The host cannot be reached, is silent, refuses the token, wants to be left alone, or sends what no API sends.
    pub(crate) async fn get(&self, url: &str, etag: Option<&str>) -> Result<Answer, Unanswered> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.once(url, etag).await {
                Err(Unanswered { why, pause: Some(pause), .. })
                    if pause <= MAX_WAIT && tries < TRIES =>
                {
                    tracing::debug!("{why}; waiting for {pause:?}");
                    tokio::time::sleep(pause).await;
                }
                answer => return answer,
            }
        }
    }

    async fn once(&self, url: &str, etag: Option<&str>) -> Result<Answer, Unanswered> {
        let mut at = self.own(url)?;
        for _ in 0..MAX_REDIRECTS {
            let mut request = self.client.get(at.clone()).headers(self.headers.clone());
            if let Some(etag) = etag {
                request = request.header(IF_NONE_MATCH, etag);
            }
            let answer = request.send().await.map_err(|error| self.unreached(&error))?;
            let status = answer.status();
            let sent_at = date(answer.headers());
            if status == StatusCode::NOT_MODIFIED {
                return Ok(Answer::Unchanged { at: sent_at });
            }
            if status.is_redirection() {
                let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
                let to = to.and_then(|to| at.join(to).ok());
                at = self.own(to.as_ref().map_or("", Url::as_str))?;
                continue;
            }
            if matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
                return Ok(Answer::Missing);
            }
            if !status.is_success() {
                return Err(self.refused(status, answer.headers()));
            }
            let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
            let etag = header(ETAG).map(str::to_owned);
            let next = next(answer.headers());
            let body = self.body(answer).await?;
            return Ok(Answer::Page(Page { body, etag, next, at: sent_at }));
        }
        Err(Unanswered::of(format!("{} redirects in a circle; check url and api", self.name)))
    }

    /// Reads an address, which must be the host's: the token goes to nobody else.
    fn own(&self, url: &str) -> Result<Url, Unanswered> {
        match Url::parse(url) {
            Ok(url) if url.origin() == self.base.origin() => Ok(url),
            _ => Err(Unanswered::of(format!(
                "{} sends us to {}, which is another host; if that is its address, write it as url or api",
                self.name,
                if url.is_empty() { "an invalid address" } else { url }
            ))),
        }
    }

    async fn body(&self, mut answer: Response) -> Result<Vec<u8>, Unanswered> {
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| self.unreached(&error))? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_BODY {
                return Err(Unanswered::of(format!(
                    "{} sends an answer of more than {} MB; check url and api",
                    self.name,
                    MAX_BODY >> 20
                )));
            }
        }
        Ok(body)
    }

    fn unreached(&self, error: &reqwest::Error) -> Unanswered {
        if error.is_timeout() {
            return Unanswered::of(format!(
                "{} does not answer; it is asked again later",
                self.name
            ));
        }
        let mut why: &dyn std::error::Error = error;
        while let Some(source) = why.source() {
            why = source;
        }
        let untrusted = why.to_string().contains("certificate");
        Unanswered::of(if untrusted {
            format!("{} is not trusted: {why}; {OWN_AUTHORITY}", self.name)
        } else if error.is_connect() {
            format!("cannot reach {}: {why}; check url, and the proxy if there is one", self.name)
        } else {
            format!("{} ended its answer early: {why}", self.name)
        })
    }

    fn refused(&self, status: StatusCode, headers: &HeaderMap) -> Unanswered {
        let (name, number) = (&self.name, status.as_u16());
        if let Some(pause) = pause(status, headers) {
            let minutes = pause.as_secs().div_ceil(60);
            let when = match pause.as_secs() {
                seconds @ ..=90 => format!("{seconds} s"),
                _ => format!("{minutes} minutes"),
            };
            return Unanswered {
                why: format!("{name} has had enough requests; it is asked again in {when}"),
                pause: Some(pause),
                refuses: false,
            };
        }
        let refuses = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let unanswered = Unanswered::of(match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if self.has_token => format!(
                "{name} refuses the token (status {number}); check that it has not expired and may read repositories"
            ),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                format!("{name} wants a token (status {number}); name one with token")
            }
            _ => format!("{name} answers with status {number}; it is asked again later"),
        });
        Unanswered { refuses, ..unanswered }
    }
}

/// Returns for how long a host wants to be left alone, if an answer says so. GitHub says it with 403 or 429
/// (<https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api>), GitLab with 429
/// (<https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/>).
fn pause(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let asked = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(|after| {
        let seconds = after.trim().parse::<u64>().ok();
        seconds.map(Duration::from_secs).or_else(|| Some(until(http_date(after)?)))
    });
    let is_used_up = ["x-ratelimit-remaining", "ratelimit-remaining"]
        .iter()
        .any(|name| text(name).is_some_and(|left| left.trim() == "0"));
    let reset = ["x-ratelimit-reset", "ratelimit-reset"]
        .iter()
        .find_map(|name| text(name)?.trim().parse::<i64>().ok())
        .filter(|_| is_used_up)
        .map(until);
    let wants = match status {
        StatusCode::TOO_MANY_REQUESTS => Some(asked.or(reset).unwrap_or(PAUSE)),
        StatusCode::FORBIDDEN => asked.or(reset),
        StatusCode::SERVICE_UNAVAILABLE => asked,
        _ => None,
    };
    wants.map(|pause| pause.min(MAX_PAUSE))
}

/// Returns the time from now until one in seconds since 1970, and a second more.
fn until(time: i64) -> Duration {
    Duration::from_secs((time - now()).max(0) as u64 + 1)
}

/// Returns the time in seconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs() as i64
}

/// Returns when an answer was sent, by the clock of the host.
fn date(headers: &HeaderMap) -> i64 {
    headers.get("date").and_then(|date| http_date(date.to_str().ok()?)).unwrap_or_else(now)
}

/// Reads a time as HTTP writes it: `Sat, 31 Jan 2026 12:00:00 GMT`.
fn http_date(text: &str) -> Option<i64> {
    let zoned = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok()?;
    Some(zoned.as_second())
}

/// Returns the address of the next page: `Link: <ADDRESS>; rel="next"` (RFC 8288).
fn next(headers: &HeaderMap) -> Option<String> {
    headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok()).find_map(|link| {
        let mut rest = link;
        while let Some((_, after)) = rest.split_once('<') {
            let (address, after) = after.split_once('>')?;
            let end = after.find(",<").or_else(|| after.find(", <")).unwrap_or(after.len());
            let (parameters, others) = after.split_at(end);
            let is_next = parameters.split(';').map(str::trim).any(|parameter| {
                parameter
                    .strip_prefix("rel=")
                    .is_some_and(|rel| rel.trim_matches('"').split(' ').any(|word| word == "next"))
            });
            if is_next {
                return Some(address.to_owned());
            }
            rest = others;
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(of: &[(&'static str, &str)]) -> HeaderMap {
        of.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn the_next_page_is_the_link_that_says_so() {
        for (link, expected) in [
            // As documented at docs.github.com/en/rest/using-the-rest-api/using-pagination-in-the-rest-api.
            (
                "<https://api.github.com/repositories/1/issues?page=2>; rel=\"prev\", \
                 <https://api.github.com/repositories/1/issues?page=4>; rel=\"next\", \
                 <https://api.github.com/repositories/1/issues?page=9>; rel=\"last\"",
                Some("https://api.github.com/repositories/1/issues?page=4"),
            ),
            ("<https://h/?a=1,2>; rel=next", Some("https://h/?a=1,2")),
            ("<https://h/1>; rel=\"first\",<https://h/2>; rel=\"next\"", Some("https://h/2")),
            ("<https://h/1>; rel=\"last\"", None),
            ("<https://h/1; rel=\"next\"", None),
            ("", None),
        ] {
            assert_eq!(next(&headers(&[("link", link)])).as_deref(), expected, "{link}");
        }
    }

    #[test]
    fn a_host_says_when_to_come_back() {
        let soon = (now() + 30).to_string();
        let seconds = |status: u16, of: &[(&'static str, &str)]| {
            pause(StatusCode::from_u16(status).unwrap(), &headers(of)).map(|pause| pause.as_secs())
        };
        assert_eq!(seconds(429, &[("retry-after", "7")]), Some(7));
        assert_eq!(seconds(429, &[]), Some(60));
        assert_eq!(seconds(429, &[("retry-after", "99999999")]), Some(24 * 3600));
        assert_eq!(seconds(429, &[("retry-after", "Sat, 31 Jan 2026 12:00:00 GMT")]), Some(1));
        assert_eq!(seconds(403, &[("retry-after", "7")]), Some(7));
        let used_up = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &*soon)];
        assert!(matches!(seconds(403, &used_up), Some(28..=31)));
        assert_eq!(
            seconds(403, &[("x-ratelimit-remaining", "5"), ("x-ratelimit-reset", &*soon)]),
            None
        );
        assert_eq!(seconds(403, &[]), None);
        assert_eq!(seconds(500, &[("retry-after", "7")]), None);
        assert_eq!(seconds(503, &[("retry-after", "7")]), Some(7));
    }

    #[test]
    fn times_of_http() {
        assert_eq!(http_date("Thu, 01 Jan 1970 00:01:00 GMT"), Some(60));
        assert_eq!(http_date("yesterday"), None);
    }
}
