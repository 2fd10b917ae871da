//! Asks a host what it has, and plans what follows from it. Writes nothing.

use store::{Mirror, MirrorHost, MirrorPage};

use crate::choose::left_out;
use crate::group::{Group, Kind};
use crate::host::Api;
use crate::http::{Answer, Http, Unanswered};
use crate::list::{Listing, list};
use crate::listed::Listed;
use crate::plan::{LISTINGS, Plan, Taken, Work, work};

/// Most repositories that a host is asked about one by one in a pass.
const MAX_ASKED: usize = 100;

/// What a host has, and what follows.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) plan: Plan,
    /// The listing, without its repositories.
    pub(crate) listing: Listing,
    /// Number of the repositories listed.
    pub(crate) listed: usize,
    /// What was listed: to compare the number with others of the same.
    pub(crate) scope: String,
    /// Mirrors that were not listed once more.
    pub(crate) missing: Vec<Mirror>,
    /// Seconds that the time of a push may lag.
    pub(crate) lag: i64,
}

/// Surveys a group. `mirrors` are its clones, `before` the state of its last listing, with its pages.
///
/// # Errors
/// The host does not answer; then nothing follows.
pub(crate) async fn survey(
    group: &Group,
    mirrors: Vec<Mirror>,
    before: Option<&MirrorHost>,
    pages: Vec<MirrorPage>,
    accepts: bool,
) -> Result<Survey, Unanswered> {
    let (host, api, http) = match &group.kind {
        Kind::List(urls) => return Ok(of_list(Group::listed(urls), mirrors)),
        Kind::Host { host, api, http } => (host, &**api, http),
    };
    let mut listing = list(host, api, http, pages).await?;
    let listed = listing.found.len();
    let mut scope: Vec<String> = host.take.beginnings().collect();
    scope.sort();
    let scope = scope.join(" ");
    let same = before.filter(|before| before.scope == scope && before.listed_at.is_some());
    let same = same.map(|before| before.listed as usize);
    let mut plan = Plan::of(host, &mut listing, mirrors, same, accepts);
    let mut missing = Vec::new();
    let absent = std::mem::take(&mut plan.absent);
    for mirror in absent.into_iter().take(MAX_ASKED) {
        let seen_by = of(&mirror).map(|listed| listed.seen_by).unwrap_or_default();
        let sees_another = plan
            .taken
            .iter()
            .map(|taken| &taken.listed)
            .chain(plan.left.iter().map(|(listed, _)| listed))
            .any(|listed| listed.seen_by == seen_by);
        let why = match ask(api, http, &mirror.host_id).await? {
            None if sees_another => {
                plan.drop(Some(mirror), "the host has it no more");
                continue;
            }
            None => "it is missing in two complete listings".to_owned(),
            Some(found) if is_within(&scope, &found.path) => {
                // It changed places while the pages were read.
                match left_out(host, &found, false) {
                    None => {
                        let work = work(&found, Some(&mirror));
                        plan.taken.push(Taken { listed: found, mirror: Some(mirror), work });
                    }
                    Some(why) => plan.drop(Some(mirror), &why),
                }
                continue;
            }
            Some(found) => format!("it is {} now, which take does not name", found.path),
        };
        let mirror = Mirror { missing: mirror.missing + 1, ..mirror };
        if mirror.missing >= LISTINGS {
            plan.drop(Some(mirror), &why);
        } else {
            missing.push(mirror);
        }
    }
    Ok(Survey { plan, listing, listed, scope, missing, lag: api.lag() })
}

/// Returns whether a path begins with one of the beginnings that were listed.
fn is_within(scope: &str, path: &str) -> bool {
    scope.split(' ').any(|beginning| {
        let start = path.get(..beginning.len());
        let rest = path.get(beginning.len()..).unwrap_or_default();
        start.is_some_and(|start| start.eq_ignore_ascii_case(beginning))
            && (beginning.is_empty() || rest.is_empty() || rest.starts_with('/'))
    })
}

/// Asks a host about one repository; `None` if it does not have it.
async fn ask(api: &dyn Api, http: &Http, id: &str) -> Result<Option<Listed>, Unanswered> {
    match http.get(&api.by_id(id), None).await? {
        Answer::Missing => Ok(None),
        Answer::Page(page) => match api.read(&page.body) {
            // One of another id would be another repository.
            Ok(found) if found.len() == 1 && found[0].id == id => Ok(found.into_iter().next()),
            _ => Err(odd()),
        },
        Answer::Unchanged { .. } => Err(odd()),
    }
}

fn odd() -> Unanswered {
    Unanswered {
        why: "the host answers as no such host does when it is asked about one repository; check kind, url and api".to_owned(),
        pause: None,
        refuses: false,
    }
}

/// Returns what the host said of a mirror.
pub(crate) fn of(mirror: &Mirror) -> Option<Listed> {
    serde_json::from_str(&mirror.found).ok()
}

fn of_list(found: Vec<Listed>, mirrors: Vec<Mirror>) -> Survey {
    let mut plan = Plan::default();
    let listed = found.len();
    let mut known: std::collections::HashMap<String, Mirror> =
        mirrors.into_iter().map(|mirror| (mirror.host_id.clone(), mirror)).collect();
    for listed in found {
        let mirror = known.remove(&listed.id);
        let is_cloned = mirror.as_ref().is_some_and(|mirror| mirror.cloned_at.is_some());
        let work = if is_cloned { Work::Fetch } else { Work::Clone };
        plan.taken.push(Taken { listed, mirror, work });
    }
    for mirror in known.into_values() {
        plan.drop(Some(mirror), "urls does not name it");
    }
    plan.dropped.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
    let began = crate::http::now();
    Survey { plan, listing: Listing { began, ..Listing::default() }, listed, ..Survey::default() }
}
