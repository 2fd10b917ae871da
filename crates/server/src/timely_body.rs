//! A limit on the time in which the body of a request arrives. A limit for each piece would not suffice: a client that
//! sends a byte now and then would hold its connection for days.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use futures_util::StreamExt;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

/// The body of a request, which must arrive completely within some time after its head.
///
/// A clone continues reading where the other stopped.
#[derive(Clone)]
pub(super) struct TimelyBody(Arc<Mutex<Arriving>>);

struct Arriving {
    body: Body,
    end: Instant,
    /// Created when the body is waited for; most bodies have already arrived.
    late: Option<Pin<Box<Sleep>>>,
}

impl TimelyBody {
    pub(super) fn new(body: Body, within: Duration) -> Self {
        let end = Instant::now() + within;
        Self(Arc::new(Mutex::new(Arriving { body, end, late: None })))
    }

    /// Reads to the end, but little more than `most` bytes; returns whether it reached the end.
    pub(super) async fn read_away(self, most: u64) -> bool {
        let mut pieces = Body::new(self).into_data_stream();
        let mut read = 0;
        while let Some(piece) = pieces.next().await {
            let Ok(piece) = piece else { return false };
            read += piece.len() as u64;
            if read > most {
                return false;
            }
        }
        true
    }

    fn arriving(&self) -> MutexGuard<'_, Arriving> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpBody for TimelyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut arriving = self.arriving();
        if let Poll::Ready(next) = Pin::new(&mut arriving.body).poll_frame(context) {
            return Poll::Ready(next);
        }
        let end = arriving.end;
        let late = arriving.late.get_or_insert_with(|| Box::pin(sleep_until(end)));
        ready!(late.as_mut().poll(context));
        let late = std::io::Error::new(std::io::ErrorKind::TimedOut, "the body took too long");
        Poll::Ready(Some(Err(axum::Error::new(late))))
    }

    fn is_end_stream(&self) -> bool {
        self.arriving().body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.arriving().body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn what_nobody_has_read_is_read_away() {
        let body = TimelyBody::new(Body::from("whole"), Duration::from_secs(1));
        assert!(body.clone().read_away(5).await);
        assert_eq!(axum::body::to_bytes(Body::new(body), 9).await.unwrap(), "");
        let long = TimelyBody::new(Body::from("longer"), Duration::from_secs(1));
        assert!(!long.read_away(5).await);
        let cut = stream::iter([Ok(Bytes::from_static(b"x")), Err(std::io::Error::other("cut"))]);
        let cut = TimelyBody::new(Body::from_stream(cut), Duration::from_secs(1));
        assert!(!cut.read_away(5).await);
        let silent = stream::pending::<Result<Bytes, std::io::Error>>();
        let silent = TimelyBody::new(Body::from_stream(silent), Duration::ZERO);
        assert!(!silent.read_away(5).await);
    }

    #[tokio::test]
    async fn a_body_that_drips_is_given_up() {
        let read = async |body, within| {
            let body = TimelyBody::new(body, Duration::from_millis(within));
            axum::body::to_bytes(Body::new(body), usize::MAX).await.map(|bytes| bytes.len())
        };
        assert_eq!(read(Body::from("all of it"), 0).await.unwrap(), 9);
        let drops = stream::repeat(()).then(|()| async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok::<_, std::io::Error>(Bytes::from_static(b"x"))
        });
        assert!(read(Body::from_stream(drops), 50).await.is_err());
    }
}
