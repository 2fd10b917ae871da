//! Words about how fresh the repositories of an answer are.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use search::{Covered, FailedRepo};
use serde::Serialize;
use serde_json::{Value, json};
use store::{QueuePlace, Repo};

use crate::human::{ago, count};
use crate::stale::utc;

/// Age from which a terminal says how old the oldest repository of an answer is, in seconds: 30 days.
const VERY_OLD: f64 = 30.0 * 86_400.0;

/// Formats a time in seconds since 1970 as `2026-01-31 12:00:00Z`.
pub fn time(seconds: f64) -> String {
    let since = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    utc(SystemTime::UNIX_EPOCH + since)
}

/// Returns the time since a time in seconds since 1970: `3 min ago`.
pub fn since(seconds: f64) -> String {
    ago(Timestamp::now().as_second() - seconds as i64)
}

/// Returns the time until a time in seconds since 1970, `in 3 min`; `None` if it has come.
pub fn until(seconds: f64) -> Option<String> {
    let left = seconds as i64 - Timestamp::now().as_second();
    let (number, unit) = match left {
        ..=0 => return None,
        1..60 => (left, "s"),
        60..3600 => (left / 60, "min"),
        _ => (left / 3600, "h"),
    };
    Some(format!("in {number} {unit}"))
}

/// Returns how long ago the oldest repository of an answer was looked at, without its name: `oldest repository looked at
/// 3 min ago`. `None` if the answer covers none.
pub fn age(covered: &Covered) -> Option<String> {
    let oldest = covered.oldest.as_ref()?;
    let which = if oldest.is_one_of_several { "oldest repository looked at" } else { "looked at" };
    Some(format!("{which} {}", since(oldest.looked_at)))
}

/// Returns what [`age`] does, and the repository with the time.
pub fn dated_age(covered: &Covered) -> Option<(String, String)> {
    let oldest = covered.oldest.as_ref()?;
    Some((age(covered)?, format!("{}, {}", oldest.repo, time(oldest.looked_at))))
}

/// Returns the oldest repository of an answer with its name, as a sentence without a full stop.
pub fn oldest(covered: &Covered) -> Option<String> {
    let oldest = covered.oldest.as_ref()?;
    Some(format!("oldest repository: {}, looked at {}", oldest.repo, since(oldest.looked_at)))
}

/// Returns a sentence without a full stop about the oldest repository of an answer if nobody has updated it for a month.
pub fn very_old(covered: &Covered) -> Option<String> {
    let oldest = covered.oldest.as_ref()?;
    let age = Timestamp::now().as_second() as f64 - oldest.looked_at;
    (age >= VERY_OLD).then(|| {
        format!(
            "{} was last looked at {}; codesearch ingest brings it up to date",
            oldest.repo,
            since(oldest.looked_at)
        )
    })
}

/// Returns a sentence without a full stop about the repositories of an answer that could not be updated.
pub fn outdated(covered: &Covered) -> Option<String> {
    let told = |failed: &FailedRepo| {
        let (repo, why) = (&failed.repo, failed.why.trim_end_matches('.'));
        if failed.is_lost {
            return format!("{repo} lacks files until it is ingested again: {why}");
        }
        format!(
            "{repo} is as it was {}, since it cannot be updated: {why}",
            since(failed.looked_at)
        )
    };
    let mut all: Vec<String> = covered.failed.iter().map(told).collect();
    if covered.more_failed > 0 {
        let more = count(covered.more_failed, "more repository");
        all.push(format!("{more} cannot be updated; codesearch repos says why"));
    }
    (!all.is_empty()).then(|| all.join("; "))
}

/// Returns what a list of repositories tells of one besides its size: when it was looked at, why it could not be updated,
/// and its place in the queue, as members of a JSON object.
pub fn members(repo: &Repo, queued: Option<&QueuePlace>) -> [(&'static str, Value); 3] {
    let failure = repo
        .failed
        .as_ref()
        .map(|failed| json!({ "at": time(failed.at), "why": failed.why, "times": failed.times }));
    let queue = queued.map(|queued| {
        json!({ "place": queued.place, "since": time(queued.since), "due": time(queued.due) })
    });
    [
        ("looked_at", time(repo.looked_at).into()),
        ("failure", json!(failure)),
        ("queue", json!(queue)),
    ]
}

/// The repository of an answer that was looked at the longest ago, as JSON.
#[derive(Debug, Serialize)]
pub struct OldestJson {
    repo: String,
    looked_at: String,
}

impl OldestJson {
    /// Makes that of an answer; `None` if it covers no repository.
    pub fn of(covered: &Covered) -> Option<Self> {
        let oldest = covered.oldest.as_ref()?;
        Some(Self { repo: oldest.repo.clone(), looked_at: time(oldest.looked_at) })
    }
}

/// Returns sentences without a full stop about a repository that could not be updated, or is in the queue.
pub fn troubles(repo: &Repo, queued: Option<&QueuePlace>) -> Vec<String> {
    let failed = repo.failed.as_ref().map(|failed| {
        let tried = count(failed.times.max(1).unsigned_abs() as usize, "time");
        let why = failed.why.trim_end_matches('.');
        format!("cannot be updated: {why} (tried {tried}, last {})", since(failed.at))
    });
    let queued = queued.map(|queued| {
        let next = until(queued.due).map_or_else(String::new, |next| format!(", next try {next}"));
        format!("in the queue: place {}, since {}{next}", queued.place, since(queued.since))
    });
    failed.into_iter().chain(queued).collect()
}

#[cfg(test)]
mod tests {
    use search::Oldest;

    use super::*;

    const LOST: &str = "a node of the index is lost";

    fn covered(looked_at: f64, failed: &[&str], more_failed: usize) -> Covered {
        let oldest = Oldest { repo: "a".to_owned(), looked_at, is_one_of_several: true };
        let failed = failed.iter().map(|why| FailedRepo {
            repo: "a".to_owned(),
            looked_at,
            why: (*why).to_owned(),
            is_lost: *why == LOST,
        });
        Covered { oldest: Some(oldest), failed: failed.collect(), more_failed, lost: 0 }
    }

    #[test]
    fn an_answer_tells_how_old_it_is() {
        let now = Timestamp::now().as_second() as f64;
        let told = covered(now - 200.0, &[], 0);
        assert_eq!(age(&told).as_deref(), Some("oldest repository looked at 3 min ago"));
        assert_eq!(oldest(&told).as_deref(), Some("oldest repository: a, looked at 3 min ago"));
        assert_eq!((very_old(&told), outdated(&told)), (None, None));
        assert_eq!(age(&Covered::default()), None);
        let old = very_old(&covered(now - 31.0 * 86_400.0, &[], 0)).unwrap();
        assert!(old.contains("a was last looked at 31 days ago"), "{old}");
        let failed = outdated(&covered(now - 7300.0, &["its folder is gone."], 2)).unwrap();
        assert_eq!(
            failed,
            "a is as it was 2 h ago, since it cannot be updated: its folder is gone; 2 more repositories cannot be \
             updated; codesearch repos says why"
        );
        let lost = outdated(&covered(now, &[LOST], 0)).unwrap();
        assert_eq!(lost, format!("a lacks files until it is ingested again: {LOST}"));
    }

    #[test]
    fn times_are_told() {
        assert_eq!(time(1_769_860_800.25), "2026-01-31 12:00:00Z");
        assert_eq!(time(-1.0), "1970-01-01 00:00:00Z");
        let now = Timestamp::now().as_second() as f64;
        assert_eq!(until(now - 5.0), None);
        assert_eq!(until(now + 150.0).as_deref(), Some("in 2 min"));
    }
}
