//! Git, which clones and fetches: with settings of our own, without prompts, and with an end.

mod clone;
mod run;

pub(crate) use clone::{
    Source, State, bring_in_step, delete_hidden, free_bytes, hide, maintain, remote_state,
    remove_unfinished, show,
};
pub(crate) use run::{Failed, Git, size_of};
