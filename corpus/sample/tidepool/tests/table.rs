//! Whole tables, checked against what must be true of any tide.

use tidepool::{Date, Error, Kind, Station, Table};

const NORTH_QUAY: &str = "\
station North Quay
datum   2.45
zone    +60
M2      1.310  118.4
S2      0.420  152.0
N2      0.255   97.3
K1      0.088   14.7
O1      0.061  330.2
M4      0.040   12.5
";

fn table(text: &str, date: &str) -> Table {
    let station = Station::parse(text).expect("station");
    Table::for_day(&station, date.parse().expect("date")).expect("table")
}

fn days(from: &str, count: usize) -> Vec<Date> {
    let first: Date = from.parse().unwrap();
    std::iter::successors(Some(first), |day| Some(day.next()))
        .take(count)
        .collect()
}

#[test]
fn high_and_low_take_turns() {
    let station = Station::parse(NORTH_QUAY).unwrap();
    for day in days("2024-01-01", 60) {
        let table = Table::for_day(&station, day).unwrap();
        for pair in table.turns().windows(2) {
            assert_ne!(pair[0].kind, pair[1].kind, "{day}");
            assert!(pair[0].minute < pair[1].minute, "{day}");
        }
        assert!((3..=5).contains(&table.turns().len()), "{day}");
    }
}

#[test]
fn heights_stay_within_reach() {
    let station = Station::parse(NORTH_QUAY).unwrap();
    let limit = station.reach();
    for day in days("2024-09-01", 30) {
        for turn in Table::for_day(&station, day).unwrap().turns() {
            assert!((turn.height - station.datum).abs() <= limit);
            match turn.kind {
                Kind::High => assert!(turn.height > station.datum),
                Kind::Low => assert!(turn.height < station.datum),
            }
        }
    }
}

#[test]
fn springs_are_larger_than_neaps() {
    let station = Station::parse(NORTH_QUAY).unwrap();
    let ranges: Vec<f64> = days("2024-03-01", 30)
        .into_iter()
        .map(|day| Table::for_day(&station, day).unwrap().range())
        .collect();
    let largest = ranges.iter().copied().fold(0.0, f64::max);
    let smallest = ranges.iter().copied().fold(f64::MAX, f64::min);
    assert!(largest > 1.5 * smallest, "{largest} {smallest}");
}

#[test]
fn a_solar_tide_keeps_the_clock() {
    let table = table("station Sun\ndatum 1\nS2 1 0\n", "2024-06-01");
    let times: Vec<i64> = table
        .turns()
        .iter()
        .map(|t| t.minute.round() as i64)
        .collect();
    assert!(times.contains(&360), "{times:?}");
    assert!(times.contains(&720), "{times:?}");
    assert!((table.range() - 2.0).abs() < 1e-6);
}

#[test]
fn no_tide_is_an_error() {
    let station = Station::parse("station Lake\ndatum 1\nM2 0 0\n").unwrap();
    let error = Table::for_day(&station, "2024-06-01".parse().unwrap()).unwrap_err();
    assert_eq!(error, Error::NoTide);
}
