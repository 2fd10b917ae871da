use std::fmt;

use crate::{Date, Error, Instant, Result, Station};

/// Which way the water turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// High water.
    High,
    /// Low water.
    Low,
}

/// One high or low water.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turn {
    /// High or low.
    pub kind: Kind,
    /// Minutes after midnight, local time.
    pub minute: f64,
    /// Metres above chart datum.
    pub height: f64,
}

/// All the turns of one day.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    date: Date,
    turns: Vec<Turn>,
}

/// Turns closer together than this are not told apart.
const STEP: f64 = 10.0;

impl Table {
    /// Finds the turns of a day, in local time of the station.
    pub fn for_day(station: &Station, date: Date) -> Result<Table> {
        if station.reach() == 0.0 {
            return Err(Error::NoTide);
        }
        let start = date.start(station.zone);
        let mut turns = Vec::new();
        let mut minute = 0.0;
        while minute < 1440.0 {
            let (from, to) = (start + minute, start + (minute + STEP));
            let (before, after) = (station.rate(from), station.rate(to));
            let kind = match (before > 0.0, after > 0.0) {
                (true, false) => Some(Kind::High),
                (false, true) => Some(Kind::Low),
                _ => None,
            };
            if let Some(kind) = kind {
                let at = bisect(station, from, to);
                turns.push(Turn {
                    kind,
                    minute: at - start,
                    height: station.height(at),
                });
            }
            minute += STEP;
        }
        Ok(Table { date, turns })
    }

    /// The day of this table.
    pub fn date(&self) -> Date {
        self.date
    }

    /// The turns in order of time.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Difference between the highest and the lowest turn, in metres.
    pub fn range(&self) -> f64 {
        let heights = || self.turns.iter().map(|t| t.height);
        let high = heights().fold(f64::NEG_INFINITY, f64::max);
        let low = heights().fold(f64::INFINITY, f64::min);
        if high < low {
            0.0
        } else {
            high - low
        }
    }
}

/// Narrows a change of sign of the rate down to about half a second.
fn bisect(station: &Station, mut from: Instant, mut to: Instant) -> Instant {
    let rising = station.rate(from) > 0.0;
    while to - from > 0.01 {
        let middle = from + (to - from) / 2.0;
        if (station.rate(middle) > 0.0) == rising {
            from = middle;
        } else {
            to = middle;
        }
    }
    from + (to - from) / 2.0
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::High => "high",
            Kind::Low => "low",
        })
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minute = self.minute.round() as i64;
        write!(
            f,
            "{:02}:{:02}  {:<4}  {:5.2} m",
            minute / 60,
            minute % 60,
            self.kind,
            self.height
        )
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.date)?;
        for turn in &self.turns {
            writeln!(f, "  {turn}")?;
        }
        write!(f, "  range {:.2} m", self.range())
    }
}
