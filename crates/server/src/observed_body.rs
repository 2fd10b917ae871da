//! The body of an answer, with something that learns what is sent of it.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

/// Learns what is sent of a body, and is dropped with it.
pub(crate) trait Observer: Send + Unpin + 'static {
    /// So many bytes are sent now.
    fn sends(&mut self, _bytes: usize) {}

    /// All is sent.
    fn ended(&mut self) {}
}

/// A body that tells its observer.
struct ObservedBody<O: Observer> {
    body: Body,
    observer: O,
}

/// Returns a body that tells an observer what is sent of it.
pub(crate) fn observed(body: Body, observer: impl Observer) -> Body {
    Body::new(ObservedBody { body, observer })
}

impl<O: Observer> HttpBody for ObservedBody<O> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                self.observer.sends(frame.data_ref().map_or(0, Bytes::len));
            }
            Poll::Ready(None) => self.observer.ended(),
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<O: Observer> Drop for ObservedBody<O> {
    fn drop(&mut self) {
        // A body of known length is not asked for its end.
        if self.body.is_end_stream() {
            self.observer.ended();
        }
    }
}
