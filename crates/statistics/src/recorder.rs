//! Counts a server's searches: in memory since its start, and hour by hour in the database.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::{HourOfSearches, SlowSearch, StatisticsBatch, Store};

use super::histogram::Histogram;
use super::span::{HOUR, now};
use super::summary::Summary;
use super::words::{Kind, Outcome, Refusal};

/// Most hours that are kept in memory while the database is unreachable. Beyond that, the oldest
/// hours are merged.
const MAX_HOURS: usize = 48;

/// Most slow searches that wait in memory for the database; further ones are only counted.
const MAX_SLOW: usize = 64;

/// Most stored bytes of a slow search's query, and of its plan.
const MAX_QUERY: usize = 2048;
const MAX_PLAN: usize = 8192;

/// Days for which the database keeps single hours, and days for which it keeps anything.
const DAYS_BY_HOUR: i32 = 32;
const DAYS: i32 = 400;

/// Counts a server's searches.
#[derive(Debug, Default)]
pub struct Recorder {
    recorded: Mutex<Recorded>,
    /// Held while the counts are written to the database.
    writing: tokio::sync::Mutex<()>,
    /// Whether the counts are stored in the database.
    stored: bool,
}

#[derive(Debug, Default)]
struct Recorded {
    since_start: Tally,
    /// Counts that are not in the database yet, by the second at which their hour began.
    pending: BTreeMap<i64, Tally>,
    slow: Vec<SlowSearch>,
    /// Number of slow searches that were dropped for lack of room.
    left_out: u64,
}

/// Counts of searches and refusals.
#[derive(Clone, Debug, Default)]
struct Tally {
    searches: BTreeMap<(Kind, Outcome), Histogram>,
    refused: BTreeMap<Refusal, u64>,
}

impl Tally {
    fn merge(&mut self, other: Self) {
        for (key, more) in other.searches {
            self.searches.entry(key).or_default().merge(&more);
        }
        for (reason, more) in other.refused {
            *self.refused.entry(reason).or_default() += more;
        }
    }

    fn is_empty(&self) -> bool {
        self.searches.is_empty() && self.refused.is_empty()
    }
}

impl Recorder {
    /// Makes a recorder that stores its counts in the database, or only keeps them in memory.
    pub fn new(stored: bool) -> Self {
        Self { stored, ..Self::default() }
    }

    /// Returns whether the counts are stored in the database.
    pub fn is_stored(&self) -> bool {
        self.stored
    }

    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, note: impl Fn(&mut Tally)) {
        let mut recorded = self.lock();
        note(&mut recorded.since_start);
        if self.stored {
            let hour = now() / HOUR * HOUR;
            note(recorded.pending.entry(hour).or_default());
            recorded.bound();
        }
    }

    /// Counts a search that ended.
    pub fn search(&self, kind: Kind, outcome: Outcome, took: Duration) {
        self.count(|tally| tally.searches.entry((kind, outcome)).or_default().add(took));
    }

    /// Counts a request that was refused.
    pub fn refuse(&self, reason: Refusal) {
        self.count(|tally| *tally.refused.entry(reason).or_default() += 1);
    }

    /// Records a slow search; `describe` returns its query and plan.
    pub fn slow(
        &self,
        kind: Kind,
        outcome: Outcome,
        took: Duration,
        describe: impl FnOnce() -> (String, String),
    ) {
        if !self.stored {
            return;
        }
        if self.lock().slow.len() >= MAX_SLOW {
            self.lock().left_out += 1;
            return;
        }
        let (query, plan) = describe();
        let slow = SlowSearch {
            at: jiff::Timestamp::now().as_millisecond(),
            kind: kind.word().to_owned(),
            outcome: outcome.word().to_owned(),
            micros: took.as_micros() as i64,
            query: cut(query, MAX_QUERY),
            plan: cut(plan, MAX_PLAN),
        };
        self.lock().slow.push(slow);
    }

    /// Returns the counts since the server's start.
    pub fn since_start(&self) -> Summary {
        let recorded = self.lock();
        let searches = recorded.since_start.searches.iter();
        let refused = recorded.since_start.refused.iter();
        Summary::of(
            searches.map(|((kind, outcome), histogram)| {
                (kind.word().to_owned(), outcome.word().to_owned(), histogram.clone())
            }),
            refused.map(|(reason, count)| (reason.word().to_owned(), *count)),
        )
    }

    /// Adds the new counts to the database. After a failure they wait for the next flush.
    ///
    /// # Errors
    /// The database is unreachable or refuses the counts.
    pub async fn flush(&self, store: &Store) -> Result<(), store::Error> {
        let _writing = self.writing.lock().await;
        let (pending, slow, left_out) = {
            let mut recorded = self.lock();
            let recorded = &mut *recorded;
            (
                std::mem::take(&mut recorded.pending),
                std::mem::take(&mut recorded.slow),
                std::mem::take(&mut recorded.left_out),
            )
        };
        // If dropped, after a failure or because the caller stops waiting, it gives its counts back.
        let mut in_flight = InFlight { recorder: self, pending, slow };
        if left_out > 0 {
            tracing::warn!("{left_out} slow searches were not logged: there were too many");
        }
        if in_flight.pending.values().all(Tally::is_empty) && in_flight.slow.is_empty() {
            return Ok(());
        }
        store.note(&in_flight.batch()).await?;
        in_flight.pending.clear();
        in_flight.slow.clear();
        Ok(())
    }

    /// Merges old hours in the database into days, and deletes those that are too old.
    ///
    /// # Errors
    /// The database is unreachable.
    pub async fn thin(store: &Store) -> Result<(), store::Error> {
        store.thin_statistics(DAYS_BY_HOUR, DAYS).await
    }
}

/// Counts on their way into the database. Unless cleared, they go back to the recorder on drop.
struct InFlight<'a> {
    recorder: &'a Recorder,
    pending: BTreeMap<i64, Tally>,
    slow: Vec<SlowSearch>,
}

impl InFlight<'_> {
    fn batch(&self) -> StatisticsBatch {
        let mut batch = StatisticsBatch { slow: self.slow.clone(), ..StatisticsBatch::default() };
        for (hour, tally) in &self.pending {
            for ((kind, outcome), histogram) in &tally.searches {
                batch.searches.push(HourOfSearches {
                    hour: *hour,
                    kind: kind.word().to_owned(),
                    outcome: outcome.word().to_owned(),
                    counts: histogram.counts().iter().map(|count| *count as i64).collect(),
                    micros: histogram.micros() as i64,
                });
            }
            for (reason, count) in &tally.refused {
                batch.refusals.push((*hour, reason.word().to_owned(), *count as i64));
            }
        }
        batch
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut recorded = self.recorder.lock();
        for (hour, tally) in std::mem::take(&mut self.pending) {
            recorded.pending.entry(hour).or_default().merge(tally);
        }
        let newer = std::mem::replace(&mut recorded.slow, std::mem::take(&mut self.slow));
        recorded.slow.extend(newer);
        let over = recorded.slow.len().saturating_sub(MAX_SLOW);
        recorded.slow.truncate(MAX_SLOW);
        recorded.left_out += over as u64;
        recorded.bound();
    }
}

impl Recorded {
    /// Merges the oldest hours until at most [`MAX_HOURS`] are left.
    fn bound(&mut self) {
        while self.pending.len() > MAX_HOURS {
            let Some((_, oldest)) = self.pending.pop_first() else { return };
            if let Some(mut next) = self.pending.first_entry() {
                next.get_mut().merge(oldest);
            }
        }
    }
}

/// Cuts a text to `most` bytes, and marks it if it was longer.
fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push_str(" [cut]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_get_into_the_database_comes_back() {
        let recorder = Recorder::new(true);
        let ms = Duration::from_millis;
        recorder.search(Kind::Indexed, Outcome::Complete, ms(5));
        recorder
            .slow(Kind::Indexed, Outcome::Complete, ms(5), || ("q".repeat(9000), String::new()));
        let pending = std::mem::take(&mut recorder.lock().pending);
        let slow = std::mem::take(&mut recorder.lock().slow);
        assert!(slow[0].query.ends_with(" [cut]") && slow[0].query.len() < 3000);
        let in_flight = InFlight { recorder: &recorder, pending, slow };
        assert_eq!(in_flight.batch().searches.len(), 1);
        recorder.search(Kind::Indexed, Outcome::Complete, ms(7));
        drop(in_flight);
        let inner = recorder.lock();
        let counted: u64 = inner
            .pending
            .values()
            .flat_map(|tally| tally.searches.values())
            .map(Histogram::total)
            .sum();
        assert_eq!((counted, inner.slow.len()), (2, 1));
    }

    #[test]
    fn a_database_that_is_long_away_takes_no_more_memory() {
        let mut inner = Recorded::default();
        for hour in 0..100 {
            let mut tally = Tally::default();
            tally.searches.entry((Kind::Scan, Outcome::Limit)).or_default().add(Duration::ZERO);
            inner.pending.insert(hour * HOUR, tally);
            inner.bound();
        }
        assert_eq!(inner.pending.len(), MAX_HOURS);
        let all = inner.pending.values().flat_map(|tally| tally.searches.values());
        assert_eq!(all.map(Histogram::total).sum::<u64>(), 100, "and loses nothing");
        let recorder = Recorder::new(true);
        for _ in 0..1000 {
            recorder.slow(Kind::Scan, Outcome::Limit, Duration::ZERO, Default::default);
        }
        let inner = recorder.lock();
        assert_eq!((inner.slow.len(), inner.left_out), (MAX_SLOW, 1000 - MAX_SLOW as u64));
    }
}
