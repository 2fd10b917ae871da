//! JSON answers for programs.

mod answer;
mod score;
mod sorted;
mod stale;
mod stats;
mod symbol;
mod writer;

pub(crate) use answer::answer;
pub(crate) use stale::stale_json;
pub(crate) use stats::StatsJson;
pub(crate) use writer::{FieldSet, event};
