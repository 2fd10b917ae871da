//! What a pass would do.

use settings::Settings;
use store::Mirror;

use crate::event::{Event, Intent, Report, Verb};
use crate::http::Unanswered;
use crate::left;
use crate::listed::Listed;
use crate::mirrors::Mirrors;
use crate::plan::{Taken, Work};
use crate::survey::Survey;

impl Mirrors {
    /// Says what a pass would do. Changes nothing.
    ///
    /// # Errors
    /// The database cannot be reached or refuses a statement.
    pub(crate) async fn intents(
        &self,
        settings: &Settings,
        wanted: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<(Vec<Intent>, Report), store::Error> {
        let mut report = Report::default();
        let mut intents = Vec::new();
        let groups = self.groups(settings, wanted, &mut report).await;
        for (known, surveyed) in self.surveys(self.known(groups).await?).await {
            let host = &known.group.name;
            let intent = |path: &str, verb, why: String| Intent {
                host: host.clone(),
                path: path.to_owned(),
                verb,
                why,
            };
            match surveyed {
                Ok(Survey { plan, missing, .. }) => {
                    report.hosts += 1;
                    if let Some(doubt) = plan.doubt {
                        self.tell(Event::Notice(doubt));
                    }
                    for Taken { listed, mirror, work } in &plan.taken {
                        let why = told(listed, mirror.as_ref(), *work);
                        intents.push(intent(&listed.path, Verb::Take, why));
                    }
                    for (listed, why) in plan.left {
                        intents.push(intent(&listed.path, Verb::Leave, why));
                    }
                    for (mirror, why) in plan.dropped {
                        intents.push(intent(&mirror.path, Verb::Drop, why));
                    }
                    for mirror in missing {
                        let why = "missing in this listing; dropped if the next one lacks it, too";
                        intents.push(intent(&mirror.path, Verb::Take, why.to_owned()));
                    }
                }
                Err(Unanswered { why, .. }) => {
                    report.failed += 1;
                    self.tell(Event::Failed { what: format!("host {host}"), why });
                }
            }
        }
        intents.extend(left::intents(&self.worker, settings).await?);
        intents.sort_by(|a, b| (&a.host, a.verb, &a.path).cmp(&(&b.host, b.verb, &b.path)));
        Ok((intents, report))
    }
}

/// Says what a pass would do with a repository that is mirrored.
fn told(listed: &Listed, mirror: Option<&Mirror>, work: Work) -> String {
    let size = listed.bytes.map(|bytes| format!(", {}", settings::written_size(bytes)));
    let size = size.unwrap_or_default();
    let renamed = mirror.filter(|mirror| mirror.path != listed.path);
    let renamed = renamed.map(|mirror| format!(", was {}", mirror.path)).unwrap_or_default();
    let failure = mirror.and_then(|mirror| mirror.failure.as_ref());
    let failure = failure.map(|why| format!(", failed: {why}")).unwrap_or_default();
    match work {
        Work::Clone => format!("to clone{size}{renamed}{failure}"),
        Work::Fetch => format!("to fetch{renamed}{failure}"),
        Work::None => format!("in step{renamed}{failure}"),
    }
}
