//! Numbers, sizes and durations for people to read.

use std::time::Duration;

use answer::Commit;

/// Most names in a list of trees.
const MOST_NAMES: usize = 3;

/// Digits of an abbreviated commit.
const SHORT: usize = 7;

/// Names some trees: `main, fix-1 and 378 more`.
pub fn trees(names: &[String]) -> String {
    let shown = if names.len() > MOST_NAMES { MOST_NAMES - 1 } else { names.len() };
    let text = names[..shown].join(", ");
    match names.len() - shown {
        0 => text,
        more => format!("{text} and {} more", grouped(more)),
    }
}

/// Abbreviates the name of a commit.
pub fn short(hash: &str) -> &str {
    hash.get(..SHORT).unwrap_or(hash)
}

/// Formats a time in seconds since 1970 as its day: `2026-01-31`.
pub fn day(time: i64) -> String {
    let time = jiff::Timestamp::from_second(time).unwrap_or_default();
    time.strftime("%Y-%m-%d").to_string()
}

/// Describes a commit in a line: `abc1234 2026-01-31 Ann Author: Fix the pump`.
pub fn commit(commit: &Commit) -> String {
    let Commit { hash, author, time, summary } = commit;
    format!("{} {} {author}: {summary}", short(hash), day(*time))
}

/// Formats 1234567 as `1,234,567`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number of things: `1 file`, `2 repositories`.
pub fn count(number: usize, thing: &str) -> String {
    let things = match (number, thing.strip_suffix('y')) {
        (1, _) => thing.to_owned(),
        _ if thing.ends_with("ch") || thing.ends_with('x') => format!("{thing}es"),
        (_, Some(stem)) => format!("{stem}ies"),
        (_, None) => format!("{thing}s"),
    };
    format!("{} {things}", grouped(number))
}

/// Formats the time since something, given in seconds: `3 min ago`.
pub fn ago(seconds: i64) -> String {
    let (number, unit) = match seconds {
        ..60 => return "just now".to_owned(),
        60..3600 => (seconds / 60, "min"),
        3600..172_800 => (seconds / 3600, "h"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{} {unit} ago", grouped(number as usize))
}

/// Formats the time since a timestamp of the store. A text that is no timestamp is returned unchanged.
pub fn since(time: &str) -> String {
    let now = jiff::Timestamp::now().as_second();
    let ago = time.parse::<jiff::Timestamp>().map(|time| ago(now - time.as_second()));
    ago.unwrap_or_else(|_| time.to_owned())
}

/// Formats bytes in units of 1000: `1.8 GB`.
pub fn size(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if size < 999.5 {
            let digits = usize::from(unit != "B" && size < 99.5);
            return format!("{size:.digits$} {unit}");
        }
        size /= 1000.0;
    }
    format!("{size:.1} TB")
}

/// Formats a duration with three significant digits: `12.3 ms`.
pub fn duration(took: Duration) -> String {
    let (number, unit) = match took.as_secs_f64() {
        seconds if seconds >= 0.9995 => (seconds, "s"),
        seconds if seconds >= 0.000_099_95 => (seconds * 1e3, "ms"),
        seconds => (seconds * 1e6, "us"),
    };
    let digits = if number >= 99.95 {
        0
    } else if number >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{number:.digits$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// Returns the name of a file's encoding; `None` for UTF-8, which most files have.
pub fn encoding(encoding: files::Encoding) -> Option<String> {
    let is_special = encoding != files::Encoding::UTF_8;
    let lacks =
        if encoding.is_exact() { "" } else { ": its bytes cannot be restored from the text" };
    is_special.then(|| format!("{encoding}{lacks}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn one_is_not_many() {
        for (number, thing, text) in [
            (0, "file", "0 files"),
            (1, "file", "1 file"),
            (1234, "file", "1,234 files"),
            (1, "repository", "1 repository"),
            (2, "repository", "2 repositories"),
            (2, "search", "2 searches"),
        ] {
            assert_eq!(count(number, thing), text);
        }
    }

    #[test]
    fn a_list_of_trees_is_short() {
        let names = |count: usize| {
            let names: Vec<String> = (1..=count).map(|n| format!("t{n}")).collect();
            trees(&names)
        };
        assert_eq!(names(0), "");
        assert_eq!(names(1), "t1");
        assert_eq!(names(3), "t1, t2, t3");
        assert_eq!(names(4), "t1, t2 and 2 more");
        assert_eq!(names(1379), "t1, t2 and 1,377 more");
    }

    #[test]
    fn a_commit_is_told_in_a_line() {
        let told = commit(&Commit {
            hash: "0123456789abcdef0123456789abcdef01234567".to_owned(),
            author: "Ann Author".to_owned(),
            time: 1_769_860_800,
            summary: "Fix the pump".to_owned(),
        });
        assert_eq!(told, "0123456 2026-01-31 Ann Author: Fix the pump");
        assert_eq!(day(i64::MAX), "1970-01-01");
        assert_eq!(short("abc"), "abc");
    }

    #[test]
    fn times_are_told_from_now() {
        for (seconds, text) in [
            (-5, "just now"),
            (59, "just now"),
            (60, "1 min ago"),
            (3599, "59 min ago"),
            (3600, "1 h ago"),
            (172_799, "47 h ago"),
            (172_800, "2 days ago"),
            (86_400 * 1234, "1,234 days ago"),
        ] {
            assert_eq!(ago(seconds), text);
        }
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 KB"),
            (123_456, "123 KB"),
            (1_930_000_000, "1.9 GB"),
            (82_000_000_000_000, "82.0 TB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn durations_have_three_digits() {
        for (micros, text) in [
            (31, "31 us"),
            (500, "0.5 ms"),
            (1234, "1.23 ms"),
            (12_345, "12.3 ms"),
            (123_456, "123 ms"),
            (999_600, "1 s"),
            (2_048_000, "2.05 s"),
            (600_000_000, "600 s"),
        ] {
            assert_eq!(duration(Duration::from_micros(micros)), text);
        }
    }
}
