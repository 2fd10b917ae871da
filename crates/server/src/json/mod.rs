//! JSON answers for programs.

mod answer;
mod score;
mod sorted;
mod stats;
mod symbol;
mod writer;

pub(crate) use answer::answer;
pub(crate) use stats::StatsJson;
pub(crate) use writer::{FieldSet, event};
