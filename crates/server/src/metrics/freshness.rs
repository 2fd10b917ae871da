//! How fresh the repositories are, in Prometheus's text format: a histogram of the time since each was looked at.

use std::fmt::Write as _;

use store::Catalog;

/// Upper bounds of the buckets, in seconds: from a second to a week.
const BUCKETS: [f64; 12] =
    [1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0, 259_200.0, 604_800.0];

/// Writes the histogram, the age of the oldest repository, and the number of those that could not be updated.
pub(super) fn write(text: &mut String, catalog: &Catalog) {
    let now = jiff::Timestamp::now();
    let now = now.as_second() as f64 + f64::from(now.subsec_nanosecond()) / 1e9;
    let freshness = catalog.freshness();
    let known = catalog.repos.keys().filter_map(|id| freshness.get(*id));
    let ages: Vec<f64> = known.map(|of| (now - of.looked_at).max(0.0)).collect();
    let failed = catalog.repos.keys().filter_map(|id| freshness.get(*id)?.failed.as_ref()).count();
    histogram(text, &ages);
    let oldest = ages.iter().copied().fold(0.0, f64::max);
    for (name, value, help) in [
        (
            "oldest_repository_seconds",
            oldest,
            "Age of the repository that was looked at the longest ago.",
        ),
        ("failed_repositories", failed as f64, "Repositories that could not be updated."),
    ] {
        // Writing to a string does not fail.
        let _ = writeln!(text, "# HELP codesearch_{name} {help}\n# TYPE codesearch_{name} gauge");
        let _ = writeln!(text, "codesearch_{name} {value}");
    }
}

fn histogram(text: &mut String, ages: &[f64]) {
    let name = "codesearch_repository_age_seconds";
    let help = "Time since repositories were looked at, now.";
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} histogram");
    for upper in BUCKETS {
        let count = ages.iter().filter(|age| **age <= upper).count();
        let _ = writeln!(text, "{name}_bucket{{le=\"{upper}\"}} {count}");
    }
    let (count, sum) = (ages.len(), ages.iter().sum::<f64>());
    let _ = writeln!(
        text,
        "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_counts_the_smaller_ones_too() {
        let mut text = String::new();
        histogram(&mut text, &[0.5, 3.0, 3000.0, 1e9]);
        for line in [
            "codesearch_repository_age_seconds_bucket{le=\"1\"} 1",
            "codesearch_repository_age_seconds_bucket{le=\"5\"} 2",
            "codesearch_repository_age_seconds_bucket{le=\"900\"} 2",
            "codesearch_repository_age_seconds_bucket{le=\"3600\"} 3",
            "codesearch_repository_age_seconds_bucket{le=\"604800\"} 3",
            "codesearch_repository_age_seconds_bucket{le=\"+Inf\"} 4",
            "codesearch_repository_age_seconds_count 4",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
    }
}
