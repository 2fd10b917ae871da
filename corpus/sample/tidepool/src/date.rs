use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

use crate::Error;

/// A day of the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: i32,
    month: u8,
    day: u8,
}

/// A moment, in minutes since the start of 2000-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Instant(pub f64);

const DAYS_IN_MONTH: [u8; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn month_length(year: i32, month: u8) -> u8 {
    if month == 2 && is_leap(year) {
        29
    } else {
        DAYS_IN_MONTH[usize::from(month) - 1]
    }
}

impl Date {
    /// Makes a date, or `None` if there is no such day.
    pub fn new(year: i32, month: u8, day: u8) -> Option<Date> {
        let valid = (1900..=2199).contains(&year)
            && (1..=12).contains(&month)
            && (1..=month_length(year, month)).contains(&day);
        valid.then_some(Date { year, month, day })
    }

    /// Days from 2000-01-01 to this day; negative before it.
    pub fn day_number(self) -> i64 {
        let years = if self.year >= 2000 {
            (2000..self.year).map(year_length).sum::<i64>()
        } else {
            -(self.year..2000).map(year_length).sum::<i64>()
        };
        let months: i64 = (1..self.month)
            .map(|m| i64::from(month_length(self.year, m)))
            .sum();
        years + months + i64::from(self.day) - 1
    }

    /// The moment this day begins in a zone `offset` minutes ahead of UTC.
    pub fn start(self, offset: i32) -> Instant {
        Instant(self.day_number() as f64 * 1440.0 - f64::from(offset))
    }

    /// The next day.
    pub fn next(self) -> Date {
        let mut next = self;
        next.day += 1;
        if next.day > month_length(self.year, self.month) {
            next.day = 1;
            next.month += 1;
        }
        if next.month > 12 {
            next.month = 1;
            next.year += 1;
        }
        next
    }
}

fn year_length(year: i32) -> i64 {
    if is_leap(year) {
        366
    } else {
        365
    }
}

impl FromStr for Date {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || Error::BadDate(text.to_string());
        let mut parts = text.splitn(3, '-');
        let mut part = || parts.next().ok_or_else(bad);
        let (year, month, day) = (part()?, part()?, part()?);
        if year.len() != 4 || month.len() != 2 || day.len() != 2 {
            return Err(bad());
        }
        Date::new(
            year.parse().map_err(|_| bad())?,
            month.parse().map_err(|_| bad())?,
            day.parse().map_err(|_| bad())?,
        )
        .ok_or_else(bad)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl Add<f64> for Instant {
    type Output = Instant;

    fn add(self, minutes: f64) -> Instant {
        Instant(self.0 + minutes)
    }
}

impl Sub for Instant {
    type Output = f64;

    fn sub(self, other: Instant) -> f64 {
        self.0 - other.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_numbers() {
        let number = |s: &str| s.parse::<Date>().unwrap().day_number();
        assert_eq!(number("2000-01-01"), 0);
        assert_eq!(number("1999-12-31"), -1);
        assert_eq!(number("2000-12-31"), 365);
        assert_eq!(number("2024-02-29"), 8825);
    }

    #[test]
    fn next_crosses_months_and_years() {
        let next = |s: &str| s.parse::<Date>().unwrap().next().to_string();
        assert_eq!(next("2024-02-28"), "2024-02-29");
        assert_eq!(next("2023-02-28"), "2023-03-01");
        assert_eq!(next("2023-12-31"), "2024-01-01");
    }

    #[test]
    fn rejects_what_is_not_a_date() {
        for text in [
            "",
            "2024",
            "2024-6-1",
            "2024-13-01",
            "2023-02-29",
            "2024-06-01x",
        ] {
            assert_eq!(
                text.parse::<Date>(),
                Err(Error::BadDate(text.to_string())),
                "{text:?} should be an error"
            );
        }
    }
}
