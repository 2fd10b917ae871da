//! What a server notes of its searches: in memory since its start, and on its way into the database.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::{HourOfSearches, Noted, SlowSearch, Store};

use super::histogram::Histogram;
use super::span::{HOUR, now};
use super::summary::Summary;

/// Makes an enum of words that are stored and shown; to add one is to add a line.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum $name { $($(#[$word_doc])* $word,)* }

        impl $name {
            /// All there are.
            pub(crate) const ALL: &[$name] = &[$($name::$word,)*];

            /// The word.
            pub(crate) fn word(self) -> &'static str {
                match self { $($name::$word => $text,)* }
            }
        }
    };
}

words! {
    /// What the plan of a search is.
    Kind {
        /// The trigram indexes are asked for lines.
        Indexed = "indexed",
        /// No index can help: texts are read until there are enough results.
        Scan = "scan",
        /// A pattern spans lines: whole texts are read.
        Multiline = "multi_line",
        /// Names only are looked at: paths, repositories, languages.
        Names = "names",
        /// Documents and comments are looked for by their words.
        Docs = "docs",
        /// A file is looked for by what was typed of its path.
        Files = "files",
    }
}

words! {
    /// How a search ended.
    Outcome {
        Complete = "complete",
        Limit = "limit",
        Timeout = "timeout",
        ShardError = "shard_error",
        Failed = "failed",
        /// Its client left.
        Abandoned = "abandoned",
    }
}

words! {
    /// Why a request was turned away.
    Refusal {
        /// Too many searches ran.
        Busy = "busy",
        /// Its client has too many that run.
        AtOnce = "client_at_once",
        PerMinute = "client_per_minute",
        Bytes = "client_bytes",
        ServerPerMinute = "server_per_minute",
        ServerBytes = "server_bytes",
        /// It came with a token that nobody has.
        Token = "token",
    }
}

/// Hours that are kept while the database is away. Of more, the oldest are taken together.
const MAX_HOURS: usize = 48;

/// Slow searches that are kept until they are in the database; more of them are counted only.
const MAX_SLOW: usize = 64;

/// Bytes that are kept of a slow search's query, and of its plan.
const MAX_QUERY: usize = 2048;
const MAX_PLAN: usize = 8192;

/// Days of which the hours are kept, and of which anything is.
const DAYS_BY_HOUR: i32 = 32;
const DAYS: i32 = 400;

/// The statistics of a server.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pages: Mutex<Pages>,
    /// One at a time writes to the database.
    writing: tokio::sync::Mutex<()>,
    /// They are to be kept in the database.
    kept: bool,
}

#[derive(Debug, Default)]
struct Pages {
    since_start: Tally,
    /// By hour, what is not in the database yet.
    pending: BTreeMap<i64, Tally>,
    slow: Vec<SlowSearch>,
    /// Slow searches for which there was no room.
    left_out: u64,
}

/// Searches and refusals of some time.
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

impl Book {
    /// One whose statistics are kept in the database, or only here.
    pub(crate) fn new(kept: bool) -> Self {
        Self { kept, ..Self::default() }
    }

    /// Whether they are kept in the database.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tally(&self, note: impl Fn(&mut Tally)) {
        let mut pages = self.pages();
        note(&mut pages.since_start);
        if self.kept {
            let hour = now() / HOUR * HOUR;
            note(pages.pending.entry(hour).or_default());
            pages.bound();
        }
    }

    /// Notes a search that ended.
    pub(crate) fn search(&self, kind: Kind, outcome: Outcome, took: Duration) {
        self.tally(|tally| tally.searches.entry((kind, outcome)).or_default().add(took));
    }

    /// Notes a request that was turned away.
    pub(crate) fn refuse(&self, reason: Refusal) {
        self.tally(|tally| *tally.refused.entry(reason).or_default() += 1);
    }

    /// Notes a search that took long, with its query and plan.
    pub(crate) fn slow(
        &self,
        kind: Kind,
        outcome: Outcome,
        took: Duration,
        told: impl FnOnce() -> (String, String),
    ) {
        if !self.kept {
            return;
        }
        if self.pages().slow.len() >= MAX_SLOW {
            self.pages().left_out += 1;
            return;
        }
        let (query, plan) = told();
        let slow = SlowSearch {
            at: jiff::Timestamp::now().as_millisecond(),
            kind: kind.word().to_owned(),
            outcome: outcome.word().to_owned(),
            micros: took.as_micros() as i64,
            query: cut(query, MAX_QUERY),
            plan: cut(plan, MAX_PLAN),
        };
        self.pages().slow.push(slow);
    }

    /// What was noted since the start.
    pub(crate) fn since_start(&self) -> Summary {
        let pages = self.pages();
        let searches = pages.since_start.searches.iter();
        let refused = pages.since_start.refused.iter();
        Summary::of(
            searches.map(|((kind, outcome), histogram)| {
                (kind.word().to_owned(), outcome.word().to_owned(), histogram.clone())
            }),
            refused.map(|(reason, count)| (reason.word().to_owned(), *count)),
        )
    }

    /// Adds what is new to the database. If that fails, it is kept for the next time.
    pub(crate) async fn flush(&self, store: &Store) -> Result<(), store::Error> {
        let _writing = self.writing.lock().await;
        let (pending, slow, left_out) = {
            let mut pages = self.pages();
            let pages = &mut *pages;
            (
                std::mem::take(&mut pages.pending),
                std::mem::take(&mut pages.slow),
                std::mem::take(&mut pages.left_out),
            )
        };
        // Whoever gives up waiting for this gives nothing up of what is in it.
        let mut taken = Taken { book: self, pending, slow };
        if left_out > 0 {
            tracing::warn!(
                "{left_out} slow searches are not in the log of them: there were too many"
            );
        }
        if taken.pending.values().all(Tally::is_empty) && taken.slow.is_empty() {
            return Ok(());
        }
        store.note(&taken.noted()).await?;
        taken.pending.clear();
        taken.slow.clear();
        Ok(())
    }

    /// Makes less of what is old.
    pub(crate) async fn thin(store: &Store) -> Result<(), store::Error> {
        store.thin_statistics(DAYS_BY_HOUR, DAYS).await
    }
}

/// What is on its way into the database; comes back if it does not get there.
struct Taken<'a> {
    book: &'a Book,
    pending: BTreeMap<i64, Tally>,
    slow: Vec<SlowSearch>,
}

impl Taken<'_> {
    fn noted(&self) -> Noted {
        let mut noted = Noted { slow: self.slow.clone(), ..Noted::default() };
        for (hour, tally) in &self.pending {
            for ((kind, outcome), histogram) in &tally.searches {
                noted.searches.push(HourOfSearches {
                    hour: *hour,
                    kind: kind.word().to_owned(),
                    outcome: outcome.word().to_owned(),
                    counts: histogram.counts().iter().map(|count| *count as i64).collect(),
                    micros: histogram.micros() as i64,
                });
            }
            for (reason, count) in &tally.refused {
                noted.refusals.push((*hour, reason.word().to_owned(), *count as i64));
            }
        }
        noted
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut pages = self.book.pages();
        for (hour, tally) in std::mem::take(&mut self.pending) {
            pages.pending.entry(hour).or_default().merge(tally);
        }
        let newer = std::mem::replace(&mut pages.slow, std::mem::take(&mut self.slow));
        pages.slow.extend(newer);
        let over = pages.slow.len().saturating_sub(MAX_SLOW);
        pages.slow.truncate(MAX_SLOW);
        pages.left_out += over as u64;
        pages.bound();
    }
}

impl Pages {
    /// Keeps no more hours than there is room for; the searches of all of them are kept.
    fn bound(&mut self) {
        while self.pending.len() > MAX_HOURS {
            let Some((_, oldest)) = self.pending.pop_first() else { return };
            if let Some(mut next) = self.pending.first_entry() {
                next.get_mut().merge(oldest);
            }
        }
    }
}

/// A text that is not longer than it may be, and says so if it was.
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
        let book = Book::new(true);
        let ms = Duration::from_millis;
        book.search(Kind::Indexed, Outcome::Complete, ms(5));
        book.slow(Kind::Indexed, Outcome::Complete, ms(5), || ("q".repeat(9000), String::new()));
        let pending = std::mem::take(&mut book.pages().pending);
        let slow = std::mem::take(&mut book.pages().slow);
        assert!(slow[0].query.ends_with(" [cut]") && slow[0].query.len() < 3000);
        let taken = Taken { book: &book, pending, slow };
        assert_eq!(taken.noted().searches.len(), 1);
        book.search(Kind::Indexed, Outcome::Complete, ms(7));
        drop(taken);
        let pages = book.pages();
        let counted: u64 = pages
            .pending
            .values()
            .flat_map(|tally| tally.searches.values())
            .map(Histogram::total)
            .sum();
        assert_eq!((counted, pages.slow.len()), (2, 1));
    }

    #[test]
    fn a_database_that_is_long_away_takes_no_more_memory() {
        let mut pages = Pages::default();
        for hour in 0..100 {
            let mut tally = Tally::default();
            tally.searches.entry((Kind::Scan, Outcome::Limit)).or_default().add(Duration::ZERO);
            pages.pending.insert(hour * HOUR, tally);
            pages.bound();
        }
        assert_eq!(pages.pending.len(), MAX_HOURS);
        let all = pages.pending.values().flat_map(|tally| tally.searches.values());
        assert_eq!(all.map(Histogram::total).sum::<u64>(), 100, "and loses nothing");
        let book = Book::new(true);
        for _ in 0..1000 {
            book.slow(Kind::Scan, Outcome::Limit, Duration::ZERO, Default::default);
        }
        let pages = book.pages();
        assert_eq!((pages.slow.len(), pages.left_out), (MAX_SLOW, 1000 - MAX_SLOW as u64));
    }
}
