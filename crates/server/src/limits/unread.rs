//! A limit on the answers that are complete in memory but not sent yet, so that clients which do not read cannot
//! exhaust memory. Answers that are made while they are sent do not count.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that one permit stands for.
const UNIT: usize = 1 << 10;

/// Size up to which an answer does not count, in bytes: connections have buffers of the same size.
const SMALL_BYTES: usize = 64 << 10;

/// Most bytes of an answer that a connection gets at a time.
const PART_BYTES: usize = 64 << 10;

/// The memory for answers.
#[derive(Debug)]
pub struct AnswerMemory(Arc<Semaphore>);

impl AnswerMemory {
    /// Creates memory of `bytes` bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        let units = usize::try_from(bytes).unwrap_or(usize::MAX) / UNIT;
        Self(Arc::new(Semaphore::new(units.min(Semaphore::MAX_PERMITS))))
    }

    /// Reserves memory for an answer until it is sent; `None` if none is left.
    pub(super) fn hold(&self, answer: Response) -> Option<Response> {
        let bytes = answer.body().size_hint().exact().map_or(0, |bytes| bytes as usize);
        if bytes <= SMALL_BYTES {
            return Some(answer);
        }
        let units = u32::try_from(bytes.div_ceil(UNIT)).ok()?;
        let place = Arc::clone(&self.0).try_acquire_many_owned(units).ok()?;
        Some(answer.map(|body| Body::new(UnreadBody { body, rest: Bytes::new(), _place: place })))
    }
}

/// The body of an answer, passed on in parts. A connection that got all of it at once would keep it after the
/// reservation has ended.
struct UnreadBody {
    body: Body,
    /// The rest of the last piece that the body returned.
    rest: Bytes,
    _place: OwnedSemaphorePermit,
}

impl HttpBody for UnreadBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(piece) => self.rest = piece,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                other => return Poll::Ready(other),
            }
        }
        let part = self.rest.len().min(PART_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(part)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.body.size_hint().exact().map(|left| left + self.rest.len() as u64);
        left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
