//! Hosts that the configuration file no longer names, while there are clones of them: nothing updates these.

use settings::Settings;

use crate::event::{Event, Intent, Verb};
use crate::group::names;
use crate::work::Worker;

/// Says what to do about such a host.
fn what_to_do(host: &str) -> String {
    format!(
        "write [host.{host}] or [git.{host}] again, or drop its clones: codesearch mirror --forget {host}"
    )
}

/// Has the repositories of such hosts tell that nothing updates them. Tells the hosts, too: all, or those that are new.
///
/// # Errors
/// The database cannot be reached or refuses a statement.
pub(crate) async fn note(
    worker: &Worker,
    settings: &Settings,
    tells_all: bool,
) -> Result<(), store::Error> {
    let named: Vec<String> = names(settings).collect();
    for left in worker.store.left_hosts(&named).await? {
        if left.new > 0 || tells_all {
            (worker.tell)(Event::Notice(format!(
                "the configuration file no longer names the host {}, and nothing updates the {} of it in the index; {}",
                left.name,
                if left.clones == 1 {
                    "clone".to_owned()
                } else {
                    format!("{} clones", left.clones)
                },
                what_to_do(&left.name)
            )));
        }
    }
    worker.store.note_left_hosts(&named).await
}

/// Returns what a pass would do with the repositories of such hosts: nothing.
///
/// # Errors
/// The database cannot be reached or refuses the statement.
pub(crate) async fn intents(
    worker: &Worker,
    settings: &Settings,
) -> Result<Vec<Intent>, store::Error> {
    let named: Vec<String> = names(settings).collect();
    let mut mirrors = worker.store.mirrors().await?;
    mirrors.retain(|mirror| {
        mirror.cloned_at.is_some() && mirror.hidden_at.is_none() && !named.contains(&mirror.host)
    });
    let intent = |mirror: store::Mirror| Intent {
        why: format!("the file no longer names its host; {}", what_to_do(&mirror.host)),
        host: mirror.host,
        path: mirror.path,
        verb: Verb::Stay,
    };
    Ok(mirrors.into_iter().map(intent).collect())
}
