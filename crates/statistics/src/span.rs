//! Spans of time in whole hours, since statistics are stored by the hour.

use anyhow::{Context, Result, bail, ensure};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// Seconds of an hour.
pub const HOUR: i64 = 3600;

/// The ways to write a span, for error messages.
pub const FORMS: &str = "24h (the last 24 hours), 48h-24h, or 2026-01-30..2026-01-31T12:00";

/// The hours that begin at or after `from` and before `to`, both in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first hour, in seconds since 1970.
    pub from: i64,
    /// The end of the last hour, in seconds since 1970.
    pub to: i64,
}

/// Returns the current time, in seconds since 1970.
pub fn now() -> i64 {
    Timestamp::now().as_second()
}

impl Span {
    /// Returns the hours that overlap a period.
    fn touching(from: Timestamp, to: Timestamp) -> Result<Self> {
        ensure!(from < to, "a time span must begin before it ends");
        let (from, to) = (from.as_second(), to.as_second());
        Ok(Self { from: from.div_euclid(HOUR) * HOUR, to: (to + HOUR - 1).div_euclid(HOUR) * HOUR })
    }

    /// Parses `24h`, `48h-24h`, or two times with `..` between them.
    ///
    /// # Errors
    /// A sentence for the user, if the text is not a span.
    pub fn parse(text: &str) -> Result<Self> {
        if let Some((from, to)) = text.split_once("..") {
            return Self::between(Some(from), Some(to));
        }
        if let Some((one, other)) = text.split_once('-')
            && let (Ok(one), Ok(other)) = (ago(one), ago(other))
        {
            return Self::touching(one.min(other), one.max(other));
        }
        let from =
            ago(text).ok().with_context(|| format!("{text} is not a time span; use {FORMS}"))?;
        Self::touching(from, Timestamp::now())
    }

    /// Returns the span from one time until another, or until now.
    ///
    /// # Errors
    /// A sentence for the user, if one is not a time, or the first is not before the second.
    pub fn between(from: Option<&str>, to: Option<&str>) -> Result<Self> {
        let from = from.context("a time span needs a start")?;
        let to = to.filter(|to| !to.is_empty()).map_or_else(|| Ok(Timestamp::now()), time)?;
        Self::touching(time(from)?, to)
    }

    /// Returns the span of the same length right before this one.
    #[must_use]
    pub fn before(self) -> Self {
        Self { from: self.from - (self.to - self.from), to: self.from }
    }

    /// Returns the span as JSON.
    pub fn json(self) -> serde_json::Value {
        serde_json::json!({ "from": rfc3339(self.from * 1000), "to": rfc3339(self.to * 1000) })
    }

    /// Returns the span for people, in local time.
    pub fn describe(self) -> String {
        let local = |seconds: i64| {
            let time = Timestamp::from_second(seconds).unwrap_or_default();
            time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
        };
        // It includes the current hour, so it has one hour more than requested.
        if self.to > now() {
            return format!("since {}", local(self.from));
        }
        let hours = (self.to - self.from) / HOUR;
        format!("{hours} h from {} to {}", local(self.from), local(self.to))
    }
}

/// Returns a time as RFC 3339.
pub fn rfc3339(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default().to_string()
}

/// Returns the time that lies a duration before now.
fn ago(text: &str) -> Result<Timestamp> {
    let span: jiff::Span = text.trim().parse()?;
    ensure!(span.is_positive(), "a time must be in the past");
    Ok(Zoned::now().checked_sub(span)?.timestamp())
}

/// Parses `2026-01-31` and `2026-01-31T12:00` in local time, `2026-01-31T12:00Z`, or `24h` for 24
/// hours ago.
///
/// # Errors
/// A sentence for the user, if the text is not a time.
pub fn time(text: &str) -> Result<Timestamp> {
    let text = text.trim();
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    let local =
        text.parse::<DateTime>().or_else(|_| text.parse::<Date>().map(|day| day.at(0, 0, 0, 0)));
    match local {
        Ok(local) => Ok(local.to_zoned(TimeZone::system())?.timestamp()),
        Err(_) => match ago(text) {
            Ok(time) => Ok(time),
            Err(_) => bail!(
                "{text} is not a time; use 2026-01-31, 2026-01-31T12:00, or 24h for 24 hours ago"
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the number of hours of a span, and how long ago it ended.
    #[track_caller]
    fn check(text: &str, hours: i64, ended: i64) {
        let span = Span::parse(text).unwrap();
        assert_eq!((span.from % HOUR, span.to % HOUR), (0, 0), "{text}");
        // It includes the current hour.
        let all = (span.to - span.from) / HOUR;
        assert!((hours..=hours + 1).contains(&all), "{text}: {all} hours");
        let ago = (now() + HOUR - span.to) / HOUR;
        assert!((ended..=ended + 1).contains(&ago), "{text}: ended {ago} hours ago");
    }

    #[test]
    fn spans_are_whole_hours() {
        check("24h", 24, 0);
        check("7d", 168, 0);
        check("90m", 2, 0);
        check("48h-24h", 24, 24);
        check("24h-48h", 24, 24);
        check("3h..2h", 1, 2);
        let fixed = Span::parse("2026-01-30T10:30Z..2026-01-30T12:00Z").unwrap();
        assert_eq!((fixed.from, fixed.to), (1_769_767_200, 1_769_774_400));
        assert_eq!(fixed.before(), Span { from: 1_769_760_000, to: 1_769_767_200 });
        assert!(Span::parse("2026-01-30..2026-01-31").is_ok());
        assert!(Span::between(Some("2026-01-30 08:00"), None).is_ok());
        for wrong in ["", "x", "24", "-24h", "2026-01-31..2026-01-30", "..", "1h..2h", "5y-"] {
            assert!(Span::parse(wrong).is_err(), "{wrong}");
        }
    }
}
