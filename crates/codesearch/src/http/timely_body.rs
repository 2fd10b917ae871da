//! A bound on the time in which the body of a request arrives. A bound on each piece would not do: a client that sends a
//! byte now and then would hold its connection for days.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

/// The body of a request, which must arrive whole within some time after its head.
pub(super) struct TimelyBody {
    body: Body,
    end: Instant,
    /// Made when the body is waited for; most are there already.
    late: Option<Pin<Box<Sleep>>>,
}

impl TimelyBody {
    pub(super) fn new(body: Body, within: Duration) -> Self {
        Self { body, end: Instant::now() + within, late: None }
    }
}

impl HttpBody for TimelyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(next) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(next);
        }
        let end = self.end;
        ready!(self.late.get_or_insert_with(|| Box::pin(sleep_until(end))).as_mut().poll(context));
        let late = std::io::Error::new(std::io::ErrorKind::TimedOut, "the body took too long");
        Poll::Ready(Some(Err(axum::Error::new(late))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt, stream};

    use super::*;

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
