//! Sentences about files that have changed on disk since they were indexed.

use std::time::SystemTime;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use search::{Stale, StaleRepo};

use crate::human::count;
use crate::shell;

/// Most repositories that are named; in a command, most folders.
const NAMED: usize = 3;
const FOLDERS: usize = 8;

/// Returns a sentence without a full stop, which names repositories, as it may be read on another machine: `3 files of
/// host/a changed since 10:13; to update them, run codesearch ingest on their folder`. `None` if no file has changed.
pub fn sentence(stale: &Stale) -> Option<String> {
    let parts: Vec<String> = stale
        .repos
        .iter()
        .take(NAMED)
        .map(|repo| part(repo, &format!(" of {}", repo.name)))
        .collect();
    if parts.is_empty() {
        return None;
    }
    let more = match stale.repos.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", and files of {}", count(more, "more repository")),
    };
    let folders = if stale.repos.len() == 1 { "its folder" } else { "their folders" };
    Some(format!("{}{more}; run codesearch ingest on {folders}", parts.join(", ")))
}

/// Returns the same with a command to paste, for the machine with the folders.
pub fn with_command(stale: &Stale) -> Option<String> {
    let folders: Vec<String> =
        stale.repos.iter().take(FOLDERS).map(|repo| shell::word(&repo.folder)).collect();
    let (told, of_one) = match stale.repos.as_slice() {
        [] => return None,
        [one] => (part(one, ""), true),
        _ => (sentence(stale)?, false),
    };
    let told =
        if of_one { told } else { told.rsplit_once("; ").map_or("", |(told, _)| told).to_owned() };
    Some(format!("{told}; run: codesearch ingest {}", folders.join(" ")))
}

/// Returns a sentence without a full stop about the only file that was checked; `None` if it is as it was indexed.
pub fn of_file(stale: &Stale) -> Option<String> {
    let repo = stale.repos.first()?;
    let what = if repo.changed.is_empty() { "was deleted" } else { "has changed on disk" };
    Some(format!(
        "the file {what} since {}; this is the indexed text; run codesearch ingest on its folder",
        local(repo.since)
    ))
}

/// Returns the numbers of a repository: `2 files changed and 1 deleted since 10:13`.
fn part(repo: &StaleRepo, of: &str) -> String {
    let (changed, deleted) = (repo.changed.len(), repo.deleted.len());
    let since = local(repo.since);
    match (changed, deleted) {
        (0, _) => format!("{}{of} deleted since {since}", count(deleted, "file")),
        (_, 0) => format!("{}{of} changed since {since}", count(changed, "file")),
        _ => format!("{}{of} changed and {deleted} deleted since {since}", count(changed, "file")),
    }
}

/// Formats a time of today as `10:13`, and another with its date, in the local time zone.
fn local(time: SystemTime) -> String {
    let Ok(time) = Timestamp::try_from(time) else { return "the last ingest".to_owned() };
    at(&time.to_zoned(TimeZone::system()), &Zoned::now())
}

fn at(time: &Zoned, now: &Zoned) -> String {
    let format = if time.date() == now.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
    time.strftime(format).to_string()
}

/// Formats a time in UTC as JSON answers have it: `2026-01-31 12:00:00Z`.
pub fn utc(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo(name: &str, changed: usize, deleted: usize) -> StaleRepo {
        let paths = |n: usize| vec!["a".to_owned(); n];
        StaleRepo {
            name: name.to_owned(),
            folder: format!("/src/the {name}"),
            since: SystemTime::now(),
            changed: paths(changed),
            deleted: paths(deleted),
        }
    }

    #[test]
    fn a_sentence_counts_files_and_says_what_to_run() {
        let now = local(SystemTime::now());
        let check = |repos: Vec<StaleRepo>, named: &str, command: &str| {
            let stale = Stale { repos };
            assert_eq!(sentence(&stale).unwrap().replace(&now, "10:13"), named);
            assert_eq!(with_command(&stale).unwrap().replace(&now, "10:13"), command);
        };
        check(
            vec![repo("a", 3, 0)],
            "3 files of a changed since 10:13; run codesearch ingest on its folder",
            "3 files changed since 10:13; run: codesearch ingest '/src/the a'",
        );
        check(
            vec![repo("a", 1, 2)],
            "1 file of a changed and 2 deleted since 10:13; run codesearch ingest on its folder",
            "1 file changed and 2 deleted since 10:13; run: codesearch ingest '/src/the a'",
        );
        check(
            vec![repo("a", 0, 1), repo("b", 2, 0)],
            "1 file of a deleted since 10:13, 2 files of b changed since 10:13; run codesearch ingest on their folders",
            "1 file of a deleted since 10:13, 2 files of b changed since 10:13; run: codesearch ingest '/src/the a' \
             '/src/the b'",
        );
        let many = Stale { repos: ["a", "b", "c", "d", "e"].map(|name| repo(name, 1, 0)).into() };
        assert!(sentence(&many).unwrap().contains("and files of 2 more repositories"));
        assert_eq!(sentence(&Stale::default()), None);
        assert_eq!(with_command(&Stale::default()), None);
        let of = |changed, deleted| of_file(&Stale { repos: vec![repo("a", changed, deleted)] });
        assert!(of(1, 0).unwrap().starts_with("the file has changed on disk since "));
        assert!(of(0, 1).unwrap().starts_with("the file was deleted since "));
    }

    #[test]
    fn a_time_of_another_day_has_its_date() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let of = |text: &str| text.parse::<Timestamp>().unwrap().to_zoned(zone.clone());
        let (now, today) = (of("2026-03-04T12:00:00Z"), of("2026-03-04T08:13:00Z"));
        assert_eq!(at(&today, &now), "10:13");
        assert_eq!(at(&of("2026-03-03T08:13:00Z"), &now), "2026-03-03 10:13");
    }
}
