//! Tide tables from harmonic constituents.
//!
//! A [`Station`] holds the constants of one place. Its [`Station::height`] is
//! the predicted water level at an [`Instant`]; a [`Table`] finds the high and
//! low waters of a day.
//!
//! ```
//! use tidepool::{Date, Station, Table};
//!
//! # fn main() -> Result<(), tidepool::Error> {
//! let station = Station::parse("station Test Pier\ndatum 2.0\nM2 1.0 0.0\n")?;
//! let day: Date = "2024-06-01".parse()?;
//! let table = Table::for_day(&station, day)?;
//! assert!(table.turns().len() >= 3);
//! # Ok(())
//! # }
//! ```

mod date;
mod error;
mod harmonic;
mod station;
mod table;

pub use date::{Date, Instant};
pub use error::Error;
pub use harmonic::{Constituent, Wave};
pub use station::Station;
pub use table::{Kind, Table, Turn};

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
