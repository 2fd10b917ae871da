//! Matching the texts of a search: on threads for that, and where somebody waits for it.

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
use super::cost::{HELP_BYTES, PATIENCE, SMALL_BYTES};
use super::stats::{Counters, Phase};
use super::verify::{Hit, MatchInput, Scratches, Verified, verify};
use crate::threads;
use crate::types::Request;

/// Said if it does.
const PANICKED: &str = "matching does not panic";

/// Texts that take so long to match took more of a task's thread than they should.
struct OutOfPatience;

/// Texts of a search that wait to be matched, first come, first matched.
#[derive(Debug)]
pub(crate) struct MatchQueue {
    request: Arc<Request>,
    clock: Arc<Clock>,
    counters: Arc<Counters>,
    waiting: Mutex<VecDeque<Waiting>>,
    /// Space to match in that nobody uses now.
    scratches: Mutex<Vec<Scratches>>,
}

#[derive(Debug)]
struct Waiting {
    inputs: Vec<MatchInput>,
    found: Sender<Verified>,
}

/// Texts that are being matched, or will be.
pub(crate) struct Matching {
    bytes: usize,
    how: How,
}

enum How {
    /// They are few: they are read where they are, when it is their turn.
    Here(Vec<MatchInput>),
    /// They are in the queue of the search, in parts, until nobody waits for them any longer.
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
            waiting: Mutex::default(),
            scratches: Mutex::default(),
        }
    }

    /// Begins to look for the terms of some texts. Those that are `alone`, since nothing else is being read, are shared
    /// out, unless they are few.
    pub(crate) fn start(self: &Arc<Self>, inputs: Vec<MatchInput>, alone: bool) -> Matching {
        let bytes = size(&inputs);
        if inputs.is_empty() || alone && bytes <= SMALL_BYTES {
            return Matching { bytes, how: How::Here(inputs) };
        }
        // Without a limit there are other shards beside it.
        let shared_out = alone && self.request.limit.is_some();
        let parts = if shared_out { split(inputs) } else { vec![inputs] };
        let queued = parts.into_iter().map(|inputs| {
            let (found, told) = oneshot::channel();
            self.waiting().push_back(Waiting { inputs, found });
            self.call_thread();
            told
        });
        Matching { bytes, how: How::Queued(queued.collect()) }
    }

    /// Has a thread match what has waited longest then.
    fn call_thread(self: &Arc<Self>) {
        let queue = Arc::clone(self);
        threads::MATCHING.spawn(move || {
            if let Some(Waiting { inputs, found }) = queue.next_waiting(usize::MAX) {
                let go_on = || !queue.clock.is_over() && !found.is_closed();
                // The task that waits for them hears of a panic, whoever matches them.
                let matching = AssertUnwindSafe(|| queue.matched(&inputs, &go_on));
                if let Ok(verified) = catch_unwind(matching) {
                    let _ = found.send(verified);
                }
            }
        });
    }

    /// What is found in some texts, once it is their turn.
    pub(crate) async fn found(self: &Arc<Self>, matching: Matching) -> Vec<Hit> {
        let work = async {
            match matching.how {
                How::Here(inputs) => match self.matched_here(&inputs) {
                    Ok(verified) => verified,
                    Err(OutOfPatience) => {
                        let (found, told) = oneshot::channel();
                        self.waiting().push_back(Waiting { inputs, found });
                        self.call_thread();
                        told.await.expect(PANICKED)
                    }
                },
                How::Queued(parts) => {
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

    /// Waits for what is found in some texts. With a limit, matches what no thread has begun with meanwhile: a thread that
    /// is woken on the processor of the task that waits begins when that one sleeps. But first comes what else there is to
    /// do: other shards have to be kept going, and what was found has to be handed on.
    async fn wait(self: &Arc<Self>, mut part: Receiver<Verified>) -> Verified {
        while self.request.limit.is_some() {
            match part.try_recv() {
                Ok(verified) => return verified,
                Err(TryRecvError::Closed) => panic!("{PANICKED}"),
                Err(TryRecvError::Empty) => {}
            }
            tokio::task::yield_now().await;
            if part.is_empty() && !self.help() {
                break;
            }
        }
        part.await.expect(PANICKED)
    }

    /// Matches the texts that have waited longest, if they are not large; false if a thread does better.
    fn help(self: &Arc<Self>) -> bool {
        let Some(Waiting { inputs, found }) = self.next_waiting(HELP_BYTES) else { return false };
        let matching = AssertUnwindSafe(|| self.matched_here(&inputs));
        match catch_unwind(matching) {
            Ok(Ok(verified)) => drop(found.send(verified)),
            Ok(Err(OutOfPatience)) => {
                self.waiting().push_front(Waiting { inputs, found });
                self.call_thread();
                return false;
            }
            // The task that waits for them hears of it.
            Err(_) => {}
        }
        true
    }

    /// The texts that have waited longest, of those that have no more than so many bytes.
    fn next_waiting(&self, most_bytes: usize) -> Option<Waiting> {
        let mut waiting = self.waiting();
        let place = waiting.iter().position(|next| size(&next.inputs) <= most_bytes)?;
        waiting.remove(place)
    }

    /// What the terms match, found by the thread of a task, which others need as well.
    fn matched_here(&self, inputs: &[MatchInput]) -> Result<Verified, OutOfPatience> {
        let (begun, gave_up) = (Instant::now(), Cell::new(false));
        let verified = self.matched(inputs, &|| {
            gave_up.set(begun.elapsed() > PATIENCE);
            !gave_up.get() && self.clock.goes_on()
        });
        if gave_up.get() { Err(OutOfPatience) } else { Ok(verified) }
    }

    /// What the terms of the search match in some texts.
    fn matched(&self, inputs: &[MatchInput], go_on: &dyn Fn() -> bool) -> Verified {
        let query = self.request.program();
        let first_only = query.select != Select::Lines;
        let free = || self.scratches.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = free().pop();
        let mut scratches = taken.unwrap_or_default();
        let verified = verify(query, inputs, first_only, &mut scratches, go_on);
        free().push(scratches);
        verified
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Matching {
    /// Bytes of the texts.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn size(inputs: &[MatchInput]) -> usize {
    inputs.iter().map(|input| input.chunk.text.bytes()).sum()
}

/// Cuts inputs, which are in order, into parts that are worth a thread and keep nobody waiting long: of about as many
/// bytes each, all of a blob in one.
pub(crate) fn split(inputs: Vec<MatchInput>) -> Vec<Vec<MatchInput>> {
    let parts = size(&inputs).div_ceil(SMALL_BYTES).max(1);
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
            // Unless that is nearer to what it should be without it.
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

    use super::super::verify::{MatchJob, Text, TextChunk};
    use super::*;

    fn queue(request: &Arc<Request>, timeout: Option<Duration>) -> (Arc<MatchQueue>, Arc<Clock>) {
        let clock = Arc::new(Clock::new(Instant::now(), timeout));
        (Arc::new(MatchQueue::new(request, &clock, &Arc::default())), clock)
    }

    /// Blobs of so many bytes each.
    fn inputs(blobs: &[(i32, usize)]) -> Vec<MatchInput> {
        let input = |(blob, bytes): &(i32, usize)| MatchInput {
            chunk: TextChunk {
                n: 0,
                blob: BlobId(*blob),
                line: 1,
                start: 0,
                text: Text::Owned("x".repeat(*bytes)),
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
        // All threads have something else to do.
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        for _ in 0..threads::MATCHING.current_num_threads() {
            let wait = Arc::clone(&wait);
            threads::MATCHING.spawn(move || {
                let _ = wait.lock().unwrap().recv();
            });
        }
        let later = queue.start(inputs(&[(4, 9)]), false);
        let large = SMALL_BYTES * 2 / 3;
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
