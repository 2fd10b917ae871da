//! Matching the texts of a search: on threads for that, and where somebody waits for it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use query::Select;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::oneshot::{self, Receiver, Sender};

use super::batches::SMALL_BYTES;
use super::stats::Phase;
use super::verify::{Hit, Unit, Verified, verify};
use super::{Request, Shared};
use crate::threads;

/// Who waits for texts to be matched matches others of up to so many bytes. As long as it does, it hears of nothing, and
/// nor do others on its thread.
const MOST_BYTES: usize = 2 * SMALL_BYTES;

/// Texts that are being matched, or will be.
pub(crate) struct Reading {
    bytes: usize,
    how: How,
}

enum How {
    /// They are few: they are read where they are, when it is their turn.
    Here(Vec<Unit>),
    /// They are in the queue of the search, in parts, until nobody waits for them any longer.
    Queued(Vec<Receiver<Verified>>),
}

/// Texts of a search that wait to be matched, first come, first matched.
#[derive(Debug, Default)]
pub(crate) struct Queue(Mutex<VecDeque<Waiting>>);

#[derive(Debug)]
struct Waiting {
    units: Vec<Unit>,
    found: Sender<Verified>,
}

impl Queue {
    /// Adds texts; gives who will tell what is found in them.
    fn add(&self, units: Vec<Unit>) -> Receiver<Verified> {
        let (found, told) = oneshot::channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(Waiting { units, found });
        told
    }

    /// Matches the texts that have waited longest, of those that have no more than so many bytes, as long as the search is
    /// not over; false if there are none.
    fn match_next(
        &self,
        request: &Request,
        shared: &Shared,
        most_bytes: usize,
        is_over: fn(&Shared) -> bool,
    ) -> bool {
        let next = {
            let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let place = waiting.iter().position(|next| size(&next.units) <= most_bytes);
            place.and_then(|place| waiting.remove(place))
        };
        let Some(Waiting { units, found }) = next else { return false };
        let go_on = || !is_over(shared) && !found.is_closed();
        // Who waits for them hears of a panic, whoever matches them, or has left.
        let matching = AssertUnwindSafe(|| matched(request, shared, &units, &go_on));
        if let Ok(verified) = catch_unwind(matching) {
            let _ = found.send(verified);
        }
        true
    }
}

impl Reading {
    /// Begins to look for the terms of some texts. Those that are `alone`, since nothing else is being read, are shared
    /// out, unless they are few.
    pub(crate) fn start(
        request: &Arc<Request>,
        shared: &Arc<Shared>,
        units: Vec<Unit>,
        alone: bool,
    ) -> Self {
        let bytes = size(&units);
        let how = if units.is_empty() || alone && bytes <= SMALL_BYTES {
            How::Here(units)
        } else {
            // Without a limit there are other shards beside it.
            let shared_out = alone && request.limit.is_some();
            let parts = if shared_out { split(units) } else { vec![units] };
            let queued = parts.into_iter().map(|units| {
                let told = shared.queue.add(units);
                let (request, shared) = (Arc::clone(request), Arc::clone(shared));
                threads::MATCHING.spawn(move || {
                    shared.queue.match_next(&request, &shared, usize::MAX, Shared::is_over);
                });
                told
            });
            How::Queued(queued.collect())
        };
        Self { bytes, how }
    }

    /// Bytes of the texts.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What is found, once it is their turn.
    pub(crate) async fn found(self, request: &Request, shared: &Shared) -> Vec<Hit> {
        let counters = &shared.counters;
        let work = async {
            match self.how {
                How::Here(units) => matched(request, shared, &units, &|| !shared.is_over_or_late()),
                How::Queued(parts) => {
                    let mut verified = Verified::default();
                    for part in parts {
                        verified.add(told(part, request, shared).await);
                    }
                    verified
                }
            }
        };
        let verified = counters.time(Phase::Verify, work).await;
        counters.rechecks.fetch_add(verified.texts, Ordering::Relaxed);
        counters.bytes.fetch_add(verified.bytes, Ordering::Relaxed);
        verified.hits
    }
}

/// Waits for what is found in some texts. With a limit, matches what no thread has begun with meanwhile: a thread that
/// is woken on the processor of who waits begins when that one sleeps. But first comes what else there is to do:
/// other shards have to be kept going, and what was found has to be handed on.
async fn told(mut part: Receiver<Verified>, request: &Request, shared: &Shared) -> Verified {
    const PANICKED: &str = "matching does not panic";
    while request.limit.is_some() {
        match part.try_recv() {
            Ok(verified) => return verified,
            Err(TryRecvError::Closed) => panic!("{PANICKED}"),
            Err(TryRecvError::Empty) => {}
        }
        tokio::task::yield_now().await;
        if part.is_empty() && !help(request, shared) {
            break;
        }
    }
    part.await.expect(PANICKED)
}

/// Matches texts that are not too many.
fn help(request: &Request, shared: &Shared) -> bool {
    shared.queue.match_next(request, shared, MOST_BYTES, Shared::is_over_or_late)
}

/// What the terms of a search match in some texts.
fn matched(
    request: &Request,
    shared: &Shared,
    units: &[Unit],
    go_on: &dyn Fn() -> bool,
) -> Verified {
    let first_only = request.program.select != Select::Lines;
    shared.with_scratches(|scratches| verify(&request.program, units, first_only, scratches, go_on))
}

fn size(units: &[Unit]) -> usize {
    units.iter().map(|unit| unit.text.bytes()).sum()
}

/// Cuts units, which are in order, into parts that are worth a thread and keep nobody waiting long: of about as many
/// bytes each, all of a blob in one.
pub(crate) fn split(units: Vec<Unit>) -> Vec<Vec<Unit>> {
    let parts = size(&units).div_ceil(SMALL_BYTES).max(1);
    split_into(units, parts)
}

fn split_into(mut units: Vec<Unit>, parts: usize) -> Vec<Vec<Unit>> {
    let each = size(&units).div_ceil(parts);
    let mut all = Vec::with_capacity(parts);
    while all.len() + 1 < parts {
        let blobs = units.chunk_by(|unit, next| unit.blob == next.blob);
        let (mut count, mut sum) = (0, 0);
        for blob in blobs {
            let more = size(blob);
            // Unless that is nearer to what it should be without it.
            if count > 0 && sum + more / 2 > each {
                break;
            }
            (count, sum) = (count + blob.len(), sum + more);
        }
        let rest = units.split_off(count);
        if rest.is_empty() {
            break;
        }
        all.push(std::mem::replace(&mut units, rest));
    }
    all.push(units);
    all
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use query::{Case, Expr, Query};
    use store::BlobId;

    use super::super::Clock;
    use super::super::verify::{Sought, Text};
    use super::*;

    /// Blobs of so many bytes each.
    fn units(blobs: &[(i32, usize)]) -> Vec<Unit> {
        let unit = |(blob, bytes): &(i32, usize)| Unit {
            blob: BlobId(*blob),
            line: 1,
            start: 0,
            text: Text::Plain("x".repeat(*bytes)),
            sought: Sought { terms: [0].into(), condition: Expr::Const(true).into() },
        };
        blobs.iter().map(unit).collect()
    }

    #[test]
    fn parts_are_of_about_as_many_bytes_and_whole_blobs() {
        let parts = |blobs: &[(i32, usize)], parts| {
            let numbers = |part: Vec<Unit>| part.iter().map(|unit| unit.blob.0).collect();
            let split = split_into(units(blobs), parts);
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
            let clock = Clock::new(Instant::now(), Some(timeout));
            let shared = Arc::new(Shared::of(&request.program, clock));
            let reading = Reading::start(&request, &shared, units(&[(1, 9), (2, 9)]), true);
            assert_eq!(reading.found(&request, &shared).await.len(), texts);
            assert_eq!(shared.is_over(), texts == 0);
        }
    }

    #[tokio::test]
    async fn who_waits_matches_what_no_thread_has_begun_with() {
        let query = Query::parse("x+ count:5", Case::Smart).unwrap();
        let request = Arc::new(Request::new(&query).unwrap());
        let clock = Clock::new(Instant::now(), None);
        let shared = Arc::new(Shared::of(&request.program, clock));
        // All threads have something else to do.
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        for _ in 0..threads::MATCHING.current_num_threads() {
            let wait = Arc::clone(&wait);
            threads::MATCHING.spawn(move || {
                let _ = wait.lock().unwrap().recv();
            });
        }
        let later = Reading::start(&request, &shared, units(&[(4, 9)]), false);
        let large = SMALL_BYTES * 2 / 3;
        let blobs = units(&[(1, large), (2, large), (3, large)]);
        let first = Reading::start(&request, &shared, blobs, true);
        for (reading, blobs) in [(first, vec![1, 2, 3]), (later, vec![4])] {
            let found = reading.found(&request, &shared);
            let hits = tokio::time::timeout(Duration::from_secs(20), found).await.unwrap();
            assert_eq!(hits.iter().map(|hit| hit.blob.0).collect::<Vec<_>>(), blobs);
        }
        drop(done);
    }
}
