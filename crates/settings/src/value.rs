//! Durations, sizes and addresses, as people write them.

use std::time::Duration;

/// Units of time and their seconds, the longest first.
const TIMES: [(&str, f64); 6] =
    [("w", 604_800.0), ("d", 86_400.0), ("h", 3_600.0), ("m", 60.0), ("s", 1.0), ("ms", 0.001)];

/// Units of size and their bytes.
const SIZES: [(&str, u64); 9] = [
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// Reads `30s`, `500 ms`, `5m`, `2h`, `7d` or `1w`.
///
/// # Errors
/// A sentence that says what to write, without a full stop.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("\"{text}\" is not a duration; write 30s, 5m, 2h or 7d");
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let (_, seconds) = TIMES.into_iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())
}

/// Reads a duration of at least a second.
///
/// # Errors
/// A sentence that says what to write, without a full stop.
pub fn interval(text: &str) -> Result<Duration, String> {
    let read = duration(text)?;
    let is_long = read >= Duration::from_secs(1);
    is_long.then_some(read).ok_or_else(|| format!("\"{text}\" is too short; write 1s or more"))
}

/// Reads `2 GB`, `500MB` or `1 GiB`, in bytes. KB, MB and GB are powers of 1000; KiB, MiB and GiB of 1024.
///
/// # Errors
/// A sentence that says what to write, without a full stop.
pub fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("\"{text}\" is not a size; write 500 KB, 20 MB or 2 GB");
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let found = SIZES.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let (_, bytes) = found.ok_or_else(wrong)?;
    Some(number * bytes as f64).filter(|bytes| *bytes < 1e18).map(|b| b as u64).ok_or_else(wrong)
}

/// Writes a duration in the largest unit that it is a whole number of.
pub fn written_duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let whole = TIMES.into_iter().find(|(_, unit)| seconds >= *unit && seconds % unit == 0.0);
    match whole {
        Some((name, unit)) => format!("{}{name}", seconds / unit),
        None => format!("{}ms", duration.as_millis()),
    }
}

/// Writes a size in the largest decimal unit below it, with at most one digit after the point.
pub fn written_size(bytes: u64) -> String {
    let below = SIZES[..5].iter().rev().find(|(_, unit)| bytes >= *unit);
    let (name, unit) = below.unwrap_or(&SIZES[0]);
    let tenths = (bytes as f64 / *unit as f64 * 10.0).round() / 10.0;
    format!("{tenths} {name}")
}

/// Reads the address of a web server, without the slashes at its end.
pub(crate) fn web_address(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split('/').next().unwrap_or_default());
    match host {
        Some(host) if host.contains('@') => {
            Err("an address must have no user name or password; write token = \"file:PATH\""
                .to_owned())
        }
        Some(host)
            if !host.is_empty()
                && !text.contains(|c: char| c.is_whitespace() || matches!(c, '?' | '#')) =>
        {
            Ok(text.trim_end_matches('/').to_owned())
        }
        _ => Err(format!("\"{text}\" is not an address; write https://HOST")),
    }
}

/// Splits a number, which is not negative, from the unit after it.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        for (text, ms) in [
            ("30s", 30_000),
            ("500 ms", 500),
            ("1.5m", 90_000),
            ("2h", 7_200_000),
            ("7d", 604_800_000),
            ("1w", 604_800_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "30", "s", "-3s", "3 years", "1e3s", "99999999999999999999w"] {
            let expected = format!("\"{text}\" is not a duration; write 30s, 5m, 2h or 7d");
            assert_eq!(duration(text), Err(expected));
        }
        for text in ["1w", "3d", "36h", "5m", "30s", "150ms", "0ms"] {
            let read = duration(text).unwrap();
            assert_eq!(duration(&written_duration(read)), Ok(read), "{text}");
        }
    }

    #[test]
    fn intervals_are_no_endless_loops() {
        assert_eq!(interval("1s"), Ok(Duration::from_secs(1)));
        for text in ["0s", "999ms"] {
            assert_eq!(interval(text), Err(format!("\"{text}\" is too short; write 1s or more")));
        }
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in
            [("2 GB", 2_000_000_000), ("500KB", 500_000), ("1 MiB", 1 << 20), ("1.5 mb", 1_500_000)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "2", "GB", "2 PB", "-1 GB", "9999999999 GB"] {
            let expected = format!("\"{text}\" is not a size; write 500 KB, 20 MB or 2 GB");
            assert_eq!(size(text), Err(expected));
        }
        assert_eq!(written_size(2_000_000_000), "2 GB");
        assert_eq!(written_size(1_550_000), "1.6 MB");
        assert_eq!(written_size(12), "12 B");
    }
}
