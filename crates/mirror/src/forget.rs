//! Drops the clones of a host that the configuration file no longer names.

use std::path::Path;
use std::sync::Arc;

use store::Store;

use crate::event::{Event, Report};
use crate::mirrors::{Error, Mirrors, Options};

/// Drops all clones of a host at once: from searches, from disk, and what is known of them. An ingest of the queue then
/// removes their repositories from the index. The caller sees to it that the configuration file does not name the host.
///
/// # Errors
/// Another program mirrors into the index, or the database fails. A clone that cannot be dropped is told and counted.
pub async fn forget(
    store: &Store,
    options: &Options,
    host: &str,
    tell: Arc<dyn Fn(Event) + Send + Sync>,
) -> Result<Report, Error> {
    let (lock, mirrors) = Mirrors::alone(store, options, tell).await?;
    let mut report = Report::default();
    let mut all = store.mirrors().await?;
    all.retain(|mirror| mirror.host == host);
    for mirror in all {
        if mirror.hidden_at.is_none() {
            mirrors.hide(mirror.clone(), "its host is forgotten", &mut report).await?;
        } else {
            mirrors.put_away(&mirror).await?;
        }
        // It was told why, and stays known.
        if Path::new(&mirror.folder).exists() {
            report.failed += 1;
            continue;
        }
        mirrors.delete(mirror, &mut report).await?;
    }
    store.forget_host(host).await?;
    lock.close().await;
    Ok(report)
}
