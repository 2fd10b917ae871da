//! Prints tide tables: `tidepool STATION-FILE DATE [DAYS]`.

use std::env;
use std::fs;
use std::process::ExitCode;

use tidepool::{Date, Station, Table};

fn run(args: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let (path, date, days) = match args {
        [path, date] => (path, date, 1),
        [path, date, days] => (path, date, days.parse::<u32>()?),
        _ => return Err("usage: tidepool STATION-FILE DATE [DAYS]".into()),
    };
    if !(1..=366).contains(&days) {
        return Err(format!("days must be between 1 and 366, got {days}").into());
    }

    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let station = Station::parse(&text).map_err(|error| format!("{path}: {error}"))?;
    let mut date: Date = date.parse()?;

    println!("{} (UTC{:+} min)", station.name, station.zone);
    for _ in 0..days {
        println!("{}", Table::for_day(&station, date)?);
        date = date.next();
    }
    Ok(())
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tidepool: {error}");
            ExitCode::FAILURE
        }
    }
}
