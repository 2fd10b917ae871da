//! The queue of texts that a search must match. The threads of [`threads::matching`] match them, and so does the task
//! that waits for the results.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use query::Select;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::oneshot::{self, Receiver, Sender};

use super::clock::Clock;
use super::cost::{COLD_BYTES, JOB_BYTES, MAX_HELP_BYTES, MAX_INLINE_TIME};
use super::stats::{Counters, Phase};
use super::verify::{Hit, MatchInput, Scratches, Verified, verify};
use crate::threads;
use crate::types::Request;

/// Panic message if matching panics.
const PANICKED: &str = "matching does not panic";

/// Matching took longer than [`MAX_INLINE_TIME`] on a thread of the async runtime.
struct InlineTimeout;

/// The texts that a search must match, first in, first out.
#[derive(Debug)]
pub(crate) struct MatchQueue {
    request: Arc<Request>,
    clock: Arc<Clock>,
    counters: Arc<Counters>,
    queued: Mutex<VecDeque<QueuedMatch>>,
    /// Scratch space that is free for reuse.
    scratches: Mutex<Vec<Scratches>>,
}

#[derive(Debug)]
struct QueuedMatch {
    inputs: Vec<MatchInput>,
    found: Sender<Verified>,
}

/// Texts that are being matched, or are waiting.
pub(crate) struct Matching {
    bytes: usize,
    work: MatchWork,
}

enum MatchWork {
    /// Few texts: the waiting task matches them itself when their turn comes.
    Inline(Vec<MatchInput>),
    /// Texts in the queue, in parts. A part is skipped once its receiver is dropped.
    Queued(Vec<Receiver<Verified>>),
}

impl MatchQueue {
    pub(crate) fn new(
        request: &Arc<Request>,
        clock: &Arc<Clock>,
        counters: &Arc<Counters>,
    ) -> Self {
        Self {
            request: Arc::clone(request),
            clock: Arc::clone(clock),
            counters: Arc::clone(counters),
            queued: Mutex::default(),
            scratches: Mutex::default(),
        }
    }

    /// Starts to match texts. `alone` means that nothing else of the shard is being read: then the waiting task keeps
    /// few texts, and many are split among threads.
    pub(crate) fn start(self: &Arc<Self>, inputs: Vec<MatchInput>, alone: bool) -> Matching {
        let bytes = size(&inputs);
        let is_cold = || {
            let matched = self.counters.bytes.load(Ordering::Relaxed);
            !threads::are_started() && matched + bytes <= COLD_BYTES
        };
        if inputs.is_empty() || alone && bytes <= JOB_BYTES || is_cold() {
            return Matching { bytes, work: MatchWork::Inline(inputs) };
        }
        // Without a limit, other shards already keep all threads busy.
        let shared_out = alone && self.request.limit.is_some();
        let parts = if shared_out { split(inputs) } else { vec![inputs] };
        let queued = parts.into_iter().map(|inputs| {
            let (found, told) = oneshot::channel();
            self.queued().push_back(QueuedMatch { inputs, found });
            self.spawn_match();
            told
        });
        Matching { bytes, work: MatchWork::Queued(queued.collect()) }
    }

    /// Spawns a job that matches the oldest entry of the queue.
    fn spawn_match(self: &Arc<Self>) {
        let queue = Arc::clone(self);
        threads::matching().spawn(move || {
            if let Some(QueuedMatch { inputs, found }) = queue.next_queued(usize::MAX) {
                let go_on = || !queue.clock.is_over() && !found.is_closed();
                // On a panic, `found` is dropped unsent; the waiting task sees that and panics in turn.
                let matching = AssertUnwindSafe(|| queue.matched(&inputs, &go_on));
                if let Ok(verified) = catch_unwind(matching) {
                    let _ = found.send(verified);
                }
            }
        });
    }

    /// Returns the hits of some texts, once they are matched.
    pub(crate) async fn found(self: &Arc<Self>, matching: Matching) -> Vec<Hit> {
        let work = async {
            match matching.work {
                MatchWork::Inline(inputs) => match self.match_inline(&inputs) {
                    Ok(verified) => verified,
                    Err(InlineTimeout) => {
                        let (found, told) = oneshot::channel();
                        self.queued().push_back(QueuedMatch { inputs, found });
                        self.spawn_match();
                        told.await.expect(PANICKED)
                    }
                },
                MatchWork::Queued(parts) => {
                    let mut verified = Verified::default();
                    for part in parts {
                        verified.add(self.wait(part).await);
                    }
                    verified
                }
            }
        };
        let verified = self.counters.time(Phase::Verify, work).await;
        self.counters.rechecks.fetch_add(verified.texts, Ordering::Relaxed);
        self.counters.bytes.fetch_add(verified.bytes, Ordering::Relaxed);
        verified.hits
    }

    /// Waits for the hits of a part. With a limit, the waiting task meanwhile matches queued texts: a thread woken on
    /// the same core could not start before this task sleeps. It yields before each queued match, so that other shards
    /// and the sending of results continue.
    async fn wait(self: &Arc<Self>, mut part: Receiver<Verified>) -> Verified {
        while self.request.limit.is_some() {
            match part.try_recv() {
                Ok(verified) => return verified,
                Err(TryRecvError::Closed) => panic!("{PANICKED}"),
                Err(TryRecvError::Empty) => {}
            }
            tokio::task::yield_now().await;
            if part.is_empty() && !self.match_queued() {
                break;
            }
        }
        part.await.expect(PANICKED)
    }

    /// Matches the oldest entry of the queue that is not large. Returns false if there is none, or if it took too long
    /// and was passed to a thread.
    fn match_queued(self: &Arc<Self>) -> bool {
        let Some(QueuedMatch { inputs, found }) = self.next_queued(MAX_HELP_BYTES) else {
            return false;
        };
        let matching = AssertUnwindSafe(|| self.match_inline(&inputs));
        match catch_unwind(matching) {
            Ok(Ok(verified)) => drop(found.send(verified)),
            Ok(Err(InlineTimeout)) => {
                self.queued().push_front(QueuedMatch { inputs, found });
                self.spawn_match();
                return false;
            }
            // Dropping `found` unsent tells the waiting task.
            Err(_) => {}
        }
        true
    }

    /// Removes and returns the oldest entry with at most `most_bytes` bytes of text.
    fn next_queued(&self, most_bytes: usize) -> Option<QueuedMatch> {
        let mut queued = self.queued();
        let place = queued.iter().position(|next| size(&next.inputs) <= most_bytes)?;
        queued.remove(place)
    }

    /// Matches texts on a thread of the async runtime, for no longer than [`MAX_INLINE_TIME`].
    fn match_inline(&self, inputs: &[MatchInput]) -> Result<Verified, InlineTimeout> {
        let (begun, gave_up) = (Instant::now(), Cell::new(false));
        let verified = self.matched(inputs, &|| {
            let now = Instant::now();
            gave_up.set(now - begun > MAX_INLINE_TIME);
            !gave_up.get() && self.clock.goes_on_at(now)
        });
        if gave_up.get() { Err(InlineTimeout) } else { Ok(verified) }
    }

    /// Matches the terms of the search in some texts.
    fn matched(&self, inputs: &[MatchInput], go_on: &dyn Fn() -> bool) -> Verified {
        let query = self.request.compiled_query();
        let first_only = query.select != Select::Lines;
        let free = || self.scratches.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = free().pop();
        let mut scratches = taken.unwrap_or_default();
        let verified = verify(query, inputs, first_only, &mut scratches, go_on);
        free().push(scratches);
        verified
    }

    fn queued(&self) -> MutexGuard<'_, VecDeque<QueuedMatch>> {
        self.queued.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Matching {
    /// Returns the size of the texts in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn size(inputs: &[MatchInput]) -> usize {
    inputs.iter().map(|input| input.chunk.text.bytes()).sum()
}

/// Splits inputs, which are in order, into parts of about [`JOB_BYTES`] each: large enough for a thread, and soon done.
/// The chunks of a blob stay in one part.
pub(crate) fn split(inputs: Vec<MatchInput>) -> Vec<Vec<MatchInput>> {
    let parts = size(&inputs).div_ceil(JOB_BYTES).max(1);
    split_into(inputs, parts)
}

fn split_into(mut inputs: Vec<MatchInput>, parts: usize) -> Vec<Vec<MatchInput>> {
    let each = size(&inputs).div_ceil(parts);
    let mut all = Vec::with_capacity(parts);
    while all.len() + 1 < parts {
        let blobs = inputs.chunk_by(|input, next| input.chunk.blob == next.chunk.blob);
        let (mut count, mut sum) = (0, 0);
        for blob in blobs {
            let more = size(blob);
            // Stop if the part is closer to its size without this blob.
            if count > 0 && sum + more / 2 > each {
                break;
            }
            (count, sum) = (count + blob.len(), sum + more);
        }
        let rest = inputs.split_off(count);
        if rest.is_empty() {
            break;
        }
        all.push(std::mem::replace(&mut inputs, rest));
    }
    all.push(inputs);
    all
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use query::{Case, Expr, Query};
    use store::BlobId;

    use super::super::verify::{ChunkText, MatchJob, TextChunk};
    use super::*;

    fn queue(request: &Arc<Request>, timeout: Option<Duration>) -> (Arc<MatchQueue>, Arc<Clock>) {
        let clock = Arc::new(Clock::new(Instant::now(), timeout));
        (Arc::new(MatchQueue::new(request, &clock, &Arc::default())), clock)
    }

    /// Returns inputs with these blobs, each with its size in bytes.
    fn inputs(blobs: &[(i32, usize)]) -> Vec<MatchInput> {
        let input = |(blob, bytes): &(i32, usize)| MatchInput {
            chunk: TextChunk {
                n: 0,
                blob: BlobId(*blob),
                line: 1,
                start: 0,
                text: ChunkText::Owned("x".repeat(*bytes)),
            },
            job: MatchJob { terms: [0].into(), condition: Expr::Const(true).into() },
        };
        blobs.iter().map(input).collect()
    }

    #[test]
    fn parts_are_of_about_as_many_bytes_and_whole_blobs() {
        let parts = |blobs: &[(i32, usize)], parts| {
            let numbers =
                |part: Vec<MatchInput>| part.iter().map(|input| input.chunk.blob.0).collect();
            let split = split_into(inputs(blobs), parts);
            split.into_iter().map(numbers).collect::<Vec<Vec<i32>>>()
        };
        assert_eq!(parts(&[(1, 9), (2, 9), (3, 9), (4, 9)], 2), [vec![1, 2], vec![3, 4]]);
        assert_eq!(parts(&[(1, 90), (2, 9), (3, 9), (4, 9)], 2), [vec![1], vec![2, 3, 4]]);
        assert_eq!(parts(&[(1, 9), (2, 9), (3, 90)], 2), [vec![1, 2], vec![3]]);
        assert_eq!(parts(&[(1, 9), (1, 90), (2, 9), (2, 9)], 3), [vec![1, 1], vec![2, 2]]);
        assert_eq!(parts(&[(1, 9), (2, 9), (3, 9)], 3), [vec![1], vec![2], vec![3]]);
        assert_eq!(parts(&[(1, 9), (1, 9)], 2), [vec![1, 1]]);
        assert_eq!(parts(&[(1, 0), (2, 0)], 1), [vec![1, 2]]);
    }

    #[tokio::test]
    async fn what_is_matched_where_it_is_ends_when_the_time_is_up() {
        let query = Query::parse("x", Case::Smart).unwrap();
        let request = Arc::new(Request::new(&query).unwrap());
        for (timeout, texts) in [(Duration::from_hours(1), 2), (Duration::ZERO, 0)] {
            let (queue, clock) = queue(&request, Some(timeout));
            let reading = queue.start(inputs(&[(1, 9), (2, 9)]), true);
            assert_eq!(queue.found(reading).await.len(), texts);
            assert_eq!(clock.is_over(), texts == 0);
        }
    }

    #[tokio::test]
    async fn who_waits_matches_what_no_thread_has_begun_with() {
        let query = Query::parse("x+ count:5", Case::Smart).unwrap();
        let request = Arc::new(Request::new(&query).unwrap());
        let (queue, _) = queue(&request, None);
        // Keep all threads busy.
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        for _ in 0..threads::matching().current_num_threads() {
            let wait = Arc::clone(&wait);
            threads::matching().spawn(move || {
                let _ = wait.lock().unwrap().recv();
            });
        }
        let later = queue.start(inputs(&[(4, 9)]), false);
        let large = JOB_BYTES * 2 / 3;
        let blobs = inputs(&[(1, large), (2, large), (3, large)]);
        let first = queue.start(blobs, true);
        for (reading, blobs) in [(first, vec![1, 2, 3]), (later, vec![4])] {
            let found = queue.found(reading);
            let hits = tokio::time::timeout(Duration::from_secs(20), found).await.unwrap();
            assert_eq!(hits.iter().map(|hit| hit.blob.0).collect::<Vec<_>>(), blobs);
        }
        drop(done);
    }
}
