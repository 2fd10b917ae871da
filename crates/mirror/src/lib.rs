//! Keeps clones of hosts' repositories in step: lists hosts, clones and fetches.
//!
//! The steps of a [`pass`](mod@pass), one file each ([`mirrors`] has what all need): a [`group`] is a host or a list of
//! addresses of the configuration file; [`survey`] asks it what it has ([`list`], by [`http`], in the shapes of [`host`]) and
//! makes a [`plan`] of that and of the clones that there are ([`choose`] leaves repositories out); [`work`] has [`git`] clone
//! and fetch, and puts what is new into the queue of the index; what is gone is [`hidden`]. [`intents`] says what a pass would
//! do. [`serve()`] makes passes without end, and takes what webhooks tell; [`left`] tells of hosts that the file no longer
//! names, which [`forget()`] drops. What is known of hosts and clones is in the database ([`store::Mirror`]). Nothing here
//! reads a repository's files.

mod choose;
mod event;
mod forget;
mod git;
mod group;
mod hidden;
mod host;
mod http;
mod intents;
mod left;
mod list;
mod listed;
mod metadata;
mod mirrors;
mod pass;
mod plan;
mod serve;
mod survey;
mod work;

use std::sync::Arc;

use settings::Settings;
use store::Store;

pub use event::{Event, Intent, Report, Verb};
pub use forget::forget;
pub use group::folders;
pub use listed::{Listed, SeenBy};
pub use mirrors::{Error, Options};
pub use serve::serve;

/// Makes one pass over the hosts and lists of the configuration file.
///
/// # Errors
/// Another program mirrors into the index, or the database fails. What fails of a host or a repository is told and counted.
pub async fn pass(
    store: &Store,
    settings: &Settings,
    options: &Options,
    tell: Arc<dyn Fn(Event) + Send + Sync>,
) -> Result<Report, Error> {
    let (lock, mirrors) = mirrors::Mirrors::alone(store, options, tell).await?;
    let report = mirrors.pass(settings, &|_| true).await;
    lock.close().await;
    Ok(report?)
}

/// Says what a pass would do with each repository. Changes nothing, in the database or on disk.
///
/// # Errors
/// The database fails. What fails of a host is told and counted.
pub async fn intents(
    store: &Store,
    settings: &Settings,
    options: &Options,
    tell: Arc<dyn Fn(Event) + Send + Sync>,
) -> Result<(Vec<Intent>, Report), Error> {
    let mirrors = mirrors::Mirrors::new(store.clone(), options.clone(), tell);
    Ok(mirrors.intents(settings, &|_| true).await?)
}
