//! Histograms of durations on a logarithmic scale: eight buckets for each doubling, so that
//! quantiles and means are accurate within a tenth.

use std::time::Duration;

/// Upper bound of the first bucket, in microseconds: so doublings end at 0.5, 1, 2, 4, ... ms.
const FIRST_US: f64 = 31.25;

/// Buckets for each doubling.
pub const PER_DOUBLING: usize = 8;

/// Number of doublings; the last ends after nearly nine minutes.
const DOUBLINGS: usize = 24;

/// Number of buckets: the first, those of the doublings, and one for all longer durations.
pub const BUCKETS: usize = 1 + PER_DOUBLING * DOUBLINGS + 1;

/// Numbers of searches by duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    micros: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], micros: 0 }
    }
}

impl Histogram {
    /// Makes a histogram from stored counts. Counts beyond the last bucket, from a later version,
    /// are added to the last one.
    pub fn of(counts: &[i64], micros: i64) -> Self {
        let mut histogram = Self { micros: micros.max(0) as u64, ..Self::default() };
        for (at, count) in counts.iter().enumerate() {
            histogram.counts[at.min(BUCKETS - 1)] += (*count).max(0) as u64;
        }
        histogram
    }

    /// Adds a duration.
    pub fn add(&mut self, took: Duration) {
        self.counts[bucket(took)] += 1;
        self.micros = self.micros.saturating_add(took.as_micros() as u64);
    }

    /// Adds another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.micros = self.micros.saturating_add(other.micros);
    }

    /// Returns the number of durations in each bucket.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Returns the sum of all durations, in microseconds.
    pub fn micros(&self) -> u64 {
        self.micros
    }

    /// Returns the number of durations.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the quantile at `part` (0 to 1), interpolated within its bucket. Durations in the
    /// last, unbounded bucket count as its lower bound.
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let mut wanted = part * self.total() as f64;
        let mut last = None;
        for (at, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = *count as f64;
            if wanted <= count {
                return Some(micros(within(at, wanted / count)));
            }
            wanted -= count;
            last = Some(micros(within(at, 1.0)));
        }
        last
    }

    /// Returns the mean.
    pub fn mean(&self) -> Option<Duration> {
        let total = self.total();
        (total > 0).then(|| micros(self.micros as f64 / total as f64))
    }

    /// Returns the mean without the lowest and the highest durations, as many as `trim` says.
    pub fn trimmed_mean(&self, trim: Trim) -> Option<Duration> {
        let total = self.total() as f64;
        let (from, upto) = (total * trim.low / 100.0, total * (1.0 - trim.high / 100.0));
        let (mut sum, mut kept, mut before) = (0.0, 0.0, 0.0);
        for (at, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = *count as f64;
            let (low, high) = (from.max(before), upto.min(before + count));
            if high > low {
                sum += (high - low) * within(at, (f64::midpoint(low, high) - before) / count);
                kept += high - low;
            }
            before += count;
        }
        (kept > 0.0).then(|| micros(sum / kept))
    }

    /// Returns all buckets, merged to `per_doubling` rows for each doubling. The last row has no
    /// upper bound.
    pub fn rows(&self, per_doubling: usize) -> Vec<Row> {
        let width = PER_DOUBLING / per_doubling;
        let mut rows = vec![Row { from: 0, upto: Some(0), count: self.counts[0] }];
        for at in (1..BUCKETS - 1).step_by(width) {
            let count = self.counts[at..at + width].iter().sum();
            rows.push(Row { from: at - 1, upto: Some(at + width - 1), count });
        }
        rows.push(Row { from: BUCKETS - 2, upto: None, count: self.counts[BUCKETS - 1] });
        rows
    }
}

/// A row: neighbouring buckets merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    from: usize,
    upto: Option<usize>,
    /// Number of searches in it.
    pub count: u64,
}

impl Row {
    /// Returns the lower bound.
    pub fn from(&self) -> Duration {
        if self.upto == Some(0) { Duration::ZERO } else { micros(upper(self.from)) }
    }

    /// Returns the upper bound; `None` for the last row.
    pub fn upto(&self) -> Option<Duration> {
        self.upto.map(|at| micros(upper(at)))
    }
}

/// Returns the same rows of some histograms side by side, from the first to the last with a search
/// in any of them.
pub fn used_rows(histograms: &[&Histogram], per_doubling: usize) -> Vec<Vec<Row>> {
    let columns: Vec<Vec<Row>> = histograms.iter().map(|one| one.rows(per_doubling)).collect();
    let rows = columns.first().map_or(0, Vec::len);
    let some = |at: &usize| columns.iter().any(|column| column[*at].count > 0);
    let (Some(first), Some(last)) = ((0..rows).find(some), (0..rows).rev().find(some)) else {
        return Vec::new();
    };
    (first..=last).map(|at| columns.iter().map(|column| column[at]).collect()).collect()
}

/// The percentages of the lowest and of the highest durations that a trimmed mean leaves out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trim {
    /// Percentage of the lowest durations, from 0 to 100.
    pub low: f64,
    /// Percentage of the highest durations, from 0 to 100.
    pub high: f64,
}

impl Default for Trim {
    fn default() -> Self {
        Self { low: 5.0, high: 5.0 }
    }
}

impl std::str::FromStr for Trim {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("\"{text}\" is not a pair of percentages below 100 in total; use 5,5 or 0,1")
        };
        let (low, high) = text.split_once(',').ok_or_else(wrong)?;
        let percent = |text: &str| text.trim().parse::<f64>().ok().filter(|part| *part >= 0.0);
        match (percent(low), percent(high)) {
            (Some(low), Some(high)) if low + high < 100.0 => Ok(Self { low, high }),
            _ => Err(wrong()),
        }
    }
}

impl std::fmt::Display for Trim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{},{}", self.low, self.high)
    }
}

/// Returns the upper bound of a bucket, in microseconds.
fn upper(at: usize) -> f64 {
    FIRST_US * (at as f64 / PER_DOUBLING as f64).exp2()
}

/// Returns the duration at a part (0 to 1) of a bucket, in microseconds.
fn within(at: usize, part: f64) -> f64 {
    let lower = if at == 0 { 0.0 } else { upper(at - 1) };
    let upper = if at == BUCKETS - 1 { lower } else { upper(at) };
    lower + (upper - lower) * part
}

fn bucket(took: Duration) -> usize {
    let micros = took.as_secs_f64() * 1e6;
    if micros <= FIRST_US {
        return 0;
    }
    let doublings = (micros / FIRST_US).log2();
    ((doublings * PER_DOUBLING as f64).ceil() as usize).min(BUCKETS - 1)
}

fn micros(micros: f64) -> Duration {
    Duration::from_secs_f64(micros / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the values that a histogram gives for some durations, in milliseconds, with the
    /// exact values.
    #[track_caller]
    fn check(durations: &[f64]) {
        let mut histogram = Histogram::default();
        for ms in durations {
            histogram.add(Duration::from_secs_f64(ms / 1e3));
        }
        let ms = |duration: Option<Duration>| duration.unwrap().as_secs_f64() * 1e3;
        let near = |what: &str, said: f64, exact: f64| {
            let off = said / exact - 1.0;
            assert!(off.abs() < 0.1, "{what}: {said} for {exact}, {:.1} % off", off * 100.0);
        };
        assert_eq!(histogram.total(), durations.len() as u64);
        for part in [0.5, 0.9, 0.99, 0.999] {
            // The rank up to which the histogram counts; neighbouring values may differ by any amount.
            let mut sorted = durations.to_vec();
            sorted.sort_by(f64::total_cmp);
            let rank = (part * sorted.len() as f64).ceil() as usize;
            near(&format!("{part}"), ms(histogram.quantile(part)), sorted[rank.max(1) - 1]);
        }
        near("mean", ms(histogram.mean()), trimmed_mean(durations, 0.0));
        for part in [0.05, 0.2] {
            let trim = Trim { low: part * 100.0, high: part * 100.0 };
            let exact = trimmed_mean(durations, part);
            near(&format!("trimmed {part}"), ms(histogram.trimmed_mean(trim)), exact);
        }
        // Storing and restoring the counts gives the same histogram.
        let kept: Vec<i64> = histogram.counts().iter().map(|count| *count as i64).collect();
        assert_eq!(Histogram::of(&kept, histogram.micros() as i64), histogram);
        for per_doubling in [1, 2, 4, 8] {
            let rows = histogram.rows(per_doubling);
            assert_eq!(rows.iter().map(|row| row.count).sum::<u64>(), histogram.total());
            assert!(rows.windows(2).all(|two| two[0].upto() == Some(two[1].from())));
        }
    }

    /// Returns the mean without a part of the numbers at each end.
    fn trimmed_mean(values: &[f64], part: f64) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let cut = (sorted.len() as f64 * part) as usize;
        let kept = &sorted[cut..sorted.len() - cut];
        kept.iter().sum::<f64>() / kept.len() as f64
    }

    #[test]
    fn what_it_says_is_right_within_a_tenth() {
        let rng = &mut fastrand::Rng::with_seed(7);
        check(&[1.0]);
        check(&[0.04, 400_000.0]);
        check(&(1..=1000).map(f64::from).collect::<Vec<_>>());
        // Many fast durations, some slow ones, and few very slow ones.
        check(&(0..10_000).map(|_| (rng.f64() * 12.0 - 3.0).exp2()).collect::<Vec<_>>());
        check(&(0..5000).map(|n| if n % 50 == 0 { 9000.0 } else { 0.9 }).collect::<Vec<_>>());
        check(&[vec![50.0; 500], vec![150.0; 500]].concat());
    }

    #[test]
    fn the_ends_are_open() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantile(0.5), histogram.mean()), (None, None));
        assert_eq!(histogram.trimmed_mean(Trim::default()), None);
        histogram.add(Duration::ZERO);
        histogram.add(Duration::from_hours(24));
        assert_eq!((histogram.counts()[0], histogram.counts()[BUCKETS - 1]), (1, 1));
        assert_eq!(histogram.quantile(1.0), Some(Duration::from_secs_f64(524.288)));
        assert_eq!(histogram.mean(), Some(Duration::from_hours(12)));
        // From a later version with more buckets.
        assert_eq!(Histogram::of(&[1; BUCKETS + 3], 5).total(), BUCKETS as u64 + 3);
    }

    #[test]
    fn a_doubling_ends_at_a_millisecond() {
        let mut histogram = Histogram::default();
        histogram.add(Duration::from_millis(1));
        histogram.add(Duration::from_micros(1001));
        let row = |ms: u64| {
            let upto = Some(Duration::from_millis(ms));
            histogram.rows(1).into_iter().find(|row| row.upto() == upto).unwrap().count
        };
        assert_eq!((row(1), row(2), row(4)), (1, 1, 0));
    }

    #[test]
    fn percentages_leave_something_over() {
        assert_eq!("5, 1.5".parse(), Ok(Trim { low: 5.0, high: 1.5 }));
        for wrong in ["", "5", "50,50", "-1,5", "a,b", "1,2,3", "NaN,5"] {
            assert!(wrong.parse::<Trim>().is_err(), "{wrong}");
        }
    }
}
