//! Signs and sends deliveries, as <https://www.standardwebhooks.com> says.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use reqwest::{Client, StatusCode, redirect};
use serde_json::{Value, json};
use settings::Allowed;
use sha2::Sha256;
use store::{Hit, News, WaitingDelivery};

use crate::address::{Refusal, Target};

/// Prefix of the keys of signatures.
const PREFIX: &str = "whsec_";

/// Bytes of a new key.
const KEY_BYTES: usize = 32;

/// Longest time to connect, and for the receiver's answer.
const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(20);

/// Seconds from one attempt to the next; the last one repeats.
const AGAIN: [f64; 8] =
    [5.0, 60.0, 5.0 * 60.0, 30.0 * 60.0, 7200.0, 5.0 * 3600.0, 10.0 * 3600.0, 24.0 * 3600.0];

/// Seconds after which a delivery is given up: a week.
const GIVE_UP: f64 = 7.0 * 24.0 * 3600.0;

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// The receiver has it.
    Delivered(String),
    /// It has not; seconds until the next attempt.
    Again(f64, String),
    /// It is given up.
    GivenUp(String),
    /// The receiver wants no more of this monitor.
    Gone(String),
}

/// Returns a new key for signatures.
///
/// # Errors
/// The system provides no random bytes.
pub fn new_secret() -> Result<String, String> {
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| format!("cannot get random bytes from the system: {error}"))?;
    Ok(format!("{PREFIX}{}", STANDARD.encode(bytes)))
}

/// Returns the body of a delivery.
fn body(name: &str, query: &str, news: &News) -> String {
    let hit = |hit: &Hit| {
        json!({
            "change": if hit.appeared { "appeared" } else { "disappeared" },
            "repository": hit.name,
            "path": hit.path,
            "line": hit.line,
            "text": hit.text,
        })
    };
    let left_out = (news.appeared + news.disappeared).saturating_sub(news.hits.len());
    let data = json!({
        "monitor": name,
        "query": query,
        "epoch": news.epoch.0,
        "appeared": news.appeared,
        "disappeared": news.disappeared,
        "note": news.note,
        "hits": news.hits.iter().map(hit).collect::<Vec<Value>>(),
        "hits_left_out": left_out,
    });
    json!({ "type": "monitor.news", "timestamp": news.at, "data": data }).to_string()
}

/// Returns the header `webhook-signature`.
fn signature(secret: &str, id: &str, timestamp: u64, body: &str) -> String {
    // A key of another form is none of ours; its bytes are as good.
    let key = secret.strip_prefix(PREFIX).and_then(|key| STANDARD.decode(key).ok());
    let key = key.unwrap_or_else(|| secret.as_bytes().to_vec());
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key may have any length");
    mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

/// Makes an attempt of a delivery.
pub(crate) async fn deliver(delivery: &WaitingDelivery, allowed: &[Allowed]) -> Outcome {
    deliver_within(delivery, allowed, ANSWER).await
}

/// Makes an attempt of a delivery whose receiver has some time to answer.
async fn deliver_within(
    delivery: &WaitingDelivery,
    allowed: &[Allowed],
    time: Duration,
) -> Outcome {
    let body = body(&delivery.name, &delivery.query, &delivery.news);
    let failed = |why: String, wait: Option<f64>| {
        if delivery.age >= GIVE_UP {
            return Outcome::GivenUp(format!("{why}; given up after a week"));
        }
        let at = usize::try_from(delivery.attempts).unwrap_or_default().min(AGAIN.len() - 1);
        Outcome::Again(wait.map_or(AGAIN[at], |wait| wait.max(AGAIN[at])), why)
    };
    let target = match Target::of(&delivery.address, allowed).await {
        Ok(target) => target,
        Err(refusal) => return failed(refusal.to_string(), None),
    };
    match send(&target, &delivery.secret, (&delivery.id, body), time).await {
        Ok(answer) if answer.status == StatusCode::GONE => Outcome::Gone(format!(
            "the receiver answered {}: it wants no more deliveries; resume the monitor to try again",
            answer.status
        )),
        Ok(answer) if answer.status.is_success() => Outcome::Delivered(answer.status.to_string()),
        Ok(answer) => failed(answer.why(), answer.wait),
        Err(why) => failed(why, None),
    }
}

/// Sends a delivery that says nothing, to try an address. Returns what the receiver answered.
///
/// # Errors
/// A sentence that says why it was not delivered.
pub async fn send_test(
    name: &str,
    address: &str,
    secret: &str,
    allowed: &[Allowed],
) -> Result<String, String> {
    let target =
        Target::of(address, allowed).await.map_err(|refusal: Refusal| refusal.to_string())?;
    let data = json!({ "monitor": name });
    let body = json!({ "type": "monitor.test", "timestamp": now(), "data": data }).to_string();
    let id = format!("msg_test_{}", now());
    let answer = send(&target, secret, (&id, body), ANSWER).await?;
    if answer.status.is_success() { Ok(answer.status.to_string()) } else { Err(answer.why()) }
}

/// The answer of a receiver.
struct Answer {
    status: StatusCode,
    /// Seconds that it wants to be left alone.
    wait: Option<f64>,
}

impl Answer {
    fn why(&self) -> String {
        let Self { status, .. } = self;
        if status.is_redirection() {
            return format!(
                "the receiver answered {status}: redirects are not followed; give the monitor the final address"
            );
        }
        format!("the receiver answered {status}")
    }
}

async fn send(
    target: &Target,
    secret: &str,
    (id, body): (&str, String),
    time: Duration,
) -> Result<Answer, String> {
    // A second call has no effect.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let host = target.url.host_str().unwrap_or_default();
    let client = Client::builder()
        .resolve_to_addrs(host, &target.sockets)
        .redirect(redirect::Policy::none())
        // A proxy would resolve the name by itself.
        .no_proxy()
        .connect_timeout(CONNECT)
        .timeout(time)
        .build()
        .map_err(|error| format!("cannot make a connection: {error}"))?;
    let timestamp = now();
    let answer = client
        .post(target.url.clone())
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, concat!("codesearch/", env!("CARGO_PKG_VERSION")))
        .header("webhook-id", id)
        .header("webhook-timestamp", timestamp.to_string())
        .header("webhook-signature", signature(secret, id, timestamp, &body))
        .body(body)
        .send()
        .await
        .map_err(|error| unanswered(host, &error, time))?;
    // Its body is not read.
    let wait = answer.headers().get(RETRY_AFTER).and_then(|wait| wait.to_str().ok()?.parse().ok());
    let wait = wait.filter(|wait: &f64| (0.0..=86_400.0).contains(wait));
    Ok(Answer { status: answer.status(), wait })
}

/// Says why there is no answer.
fn unanswered(host: &str, error: &reqwest::Error, time: Duration) -> String {
    if error.is_timeout() {
        return format!("{host} did not answer within {time:?}");
    }
    // The outer errors say only that sending failed.
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    format!("{host} cannot be reached: {cause}")
}

/// Returns the seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use store::{Epoch, RepoId};

    use super::*;

    #[test]
    fn signatures_are_those_of_standard_webhooks() {
        // From the tests of the reference implementations
        // (<https://github.com/standard-webhooks/standard-webhooks/tree/main/libraries>).
        let signed = signature(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let (one, other) = (new_secret().unwrap(), new_secret().unwrap());
        assert!(one.starts_with(PREFIX) && one != other);
        assert_eq!(STANDARD.decode(&one[PREFIX.len()..]).unwrap().len(), KEY_BYTES);
    }

    /// Returns what became of an attempt to deliver to a receiver on this machine.
    async fn attempt(port: u16, attempts: i32, age: f64) -> Outcome {
        let news = News {
            id: 1,
            epoch: Epoch(9),
            at: "2026-01-31T12:00:00Z".to_owned(),
            appeared: 1,
            disappeared: 0,
            note: None,
            hits: Vec::new(),
        };
        let delivery = WaitingDelivery {
            id: "msg_1".to_owned(),
            monitor: 1,
            name: "m".to_owned(),
            owner: None,
            repos: Vec::new(),
            query: "q".to_owned(),
            address: format!("http://127.0.0.1:{port}/"),
            secret: "whsec_eA==".to_owned(),
            attempts,
            age,
            news,
        };
        let allowed = [Allowed::parse("127.0.0.1").unwrap()];
        deliver_within(&delivery, &allowed, Duration::from_millis(300)).await
    }

    /// Starts a receiver that answers each request with some text, or with nothing; returns its port.
    async fn receiver(answer: &'static str) -> u16 {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let mut kept = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut vec![0; 65536]).await;
                let _ = stream.write_all(answer.as_bytes()).await;
                // One that hangs stays connected.
                if answer.is_empty() {
                    kept.push(stream);
                }
            }
        });
        port
    }

    #[tokio::test]
    async fn a_receiver_that_does_not_take_it_is_asked_again_later_and_later() {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let refuses = closed.local_addr().unwrap().port();
        drop(closed);
        for (port, said) in [
            (refuses, "127.0.0.1 cannot be reached: "),
            (receiver("").await, "127.0.0.1 did not answer within 300ms"),
            (receiver("no HTTP\r\n\r\n").await, "127.0.0.1 cannot be reached: "),
            (
                receiver("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1/\r\n\r\n")
                    .await,
                "the receiver answered 307 Temporary Redirect: redirects are not followed",
            ),
            (
                receiver("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await,
                "the receiver answered 404 Not Found",
            ),
        ] {
            let mut pause = 0.0;
            for attempts in 0..AGAIN.len() as i32 {
                // One try of each kind of receiver that hangs is enough.
                if attempts > 0 && said.contains("within") {
                    break;
                }
                match attempt(port, attempts, 60.0).await {
                    Outcome::Again(next, why) if next > pause && why.starts_with(said) => {
                        pause = next;
                    }
                    other => panic!("{said}: after {attempts} attempts and {pause} s: {other:?}"),
                }
            }
            let last = attempt(port, 99, GIVE_UP + 1.0).await;
            assert!(matches!(&last, Outcome::GivenUp(why) if why.starts_with(said)), "{last:?}");
        }
        // What the receiver asks for counts, if it is longer.
        let busy = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 90\r\nContent-Length: 0\r\n\r\n";
        let port = receiver(busy).await;
        for (attempts, expected) in [(0, 90.0), (2, 300.0)] {
            let again = attempt(port, attempts, 1.0).await;
            assert!(
                matches!(again, Outcome::Again(pause, _) if (pause - expected).abs() < 1.0),
                "{again:?}"
            );
        }
        let gone = receiver("HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n").await;
        assert!(matches!(attempt(gone, 0, 1.0).await, Outcome::Gone(_)));
        let taken = receiver("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n").await;
        assert_eq!(attempt(taken, 0, 1.0).await, Outcome::Delivered("202 Accepted".to_owned()));
    }

    #[test]
    fn the_body_has_the_matches() {
        let hit = Hit {
            appeared: true,
            repo: RepoId(1),
            name: "acme/shop".to_owned(),
            path: "a.rs".to_owned(),
            line: Some(7),
            text: Some("\"quoted\"\u{0}".to_owned()),
        };
        let news = News {
            id: 1,
            epoch: Epoch(9),
            at: "2026-01-31T12:00:00Z".to_owned(),
            appeared: 3,
            disappeared: 0,
            note: None,
            hits: vec![hit],
        };
        let body: Value = serde_json::from_str(&body("m", "q", &news)).unwrap();
        assert_eq!(body["type"], "monitor.news");
        assert_eq!(body["timestamp"], "2026-01-31T12:00:00Z");
        assert_eq!(body["data"]["hits"][0]["line"], 7);
        assert_eq!(body["data"]["hits"][0]["text"], "\"quoted\"\u{0}");
        assert_eq!(body["data"]["hits_left_out"], 2);
    }
}
