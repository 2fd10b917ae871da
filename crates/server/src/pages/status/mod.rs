//! `/stats`: a page for browsers, JSON for programs.

mod answer;
mod page;
mod params;

pub(crate) use answer::STATS;
