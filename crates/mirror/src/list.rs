//! Lists the repositories of a host: all pages of all owners and groups that the configuration file names.

use std::collections::{BTreeSet, HashMap, HashSet};

use settings::Host;
use store::MirrorPage;

use crate::host::{Api, Place};
use crate::http::{Answer, Http, Unanswered};
use crate::listed::Listed;

/// Most pages of a listing.
const MAX_PAGES: usize = 10_000;

/// A complete listing.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The repositories, each once, in the order of the host.
    pub(crate) found: Vec<Listed>,
    /// Pages that are new or changed.
    pub(crate) changed: Vec<MirrorPage>,
    /// Addresses of pages that there are no more.
    pub(crate) gone: Vec<String>,
    /// When it began, by the clock of the host, in seconds since 1970.
    pub(crate) began: i64,
    /// Ids of repositories that `take` names one by one, whatever they are called now.
    pub(crate) named: HashSet<String>,
    /// Paths of `take` that the host does not have.
    pub(crate) unknown: Vec<String>,
    /// Number of requests made.
    pub(crate) requests: usize,
}

/// Lists the repositories of a host. `known` are the pages of the last listing.
///
/// # Errors
/// It does not answer all requests, or has nobody of a name in `take`. What was listed until then is not used.
pub(crate) async fn list(
    host: &Host,
    api: &dyn Api,
    http: &Http,
    known: Vec<MirrorPage>,
) -> Result<Listing, Unanswered> {
    let mut lister = Lister {
        api,
        http,
        known: known.into_iter().map(|page| (page.url.clone(), page)).collect(),
        seen: HashSet::new(),
        used: HashSet::new(),
        listing: Listing { began: i64::MAX, ..Listing::default() },
    };
    for beginning in beginnings(host) {
        lister.owner(host, &beginning).await?;
    }
    let Lister { known, used, mut listing, .. } = lister;
    listing.gone = known.into_keys().filter(|url| !used.contains(url)).collect();
    Ok(listing)
}

/// Returns the owners, groups and repositories to list, none inside another; an empty one for all that the token sees.
fn beginnings(host: &Host) -> Vec<String> {
    let all: BTreeSet<String> = host.take.beginnings().map(|path| path.to_lowercase()).collect();
    if all.contains("") {
        return vec![String::new()];
    }
    let is_inside =
        |path: &String| path.match_indices('/').any(|(at, _)| all.contains(&path[..at]));
    all.iter().filter(|path| !is_inside(path)).cloned().collect()
}

struct Lister<'a> {
    api: &'a dyn Api,
    http: &'a Http,
    known: HashMap<String, MirrorPage>,
    /// Ids of the repositories found.
    seen: HashSet<String>,
    /// Addresses of pages asked for.
    used: HashSet<String>,
    listing: Listing,
}

impl Lister<'_> {
    /// Lists what begins with whole parts of a path.
    async fn owner(&mut self, host: &Host, beginning: &str) -> Result<(), Unanswered> {
        let mut places = self.api.places(beginning);
        let may_be_one = places.iter().any(|place| place.is_one);
        // The place that existed last time comes first: no request is made for nothing.
        places.sort_by_key(|place| !self.known.contains_key(&place.url));
        for place in places {
            let Place { url, is_one, beside } = place;
            let before = self.listing.found.len();
            if !self.pages(url, "").await? {
                continue;
            }
            if is_one {
                let ids = self.listing.found[before..].iter().map(|listed| listed.id.clone());
                self.listing.named.extend(ids);
            }
            if let Some(beside) = beside {
                self.pages(beside, &format!("{beginning}/")).await?;
            }
            return Ok(());
        }
        if may_be_one {
            self.listing.unknown.push(beginning.to_owned());
            return Ok(());
        }
        let whose = if beginning.is_empty() {
            "list of repositories".to_owned()
        } else {
            format!("user, group or organisation {beginning}")
        };
        Err(Unanswered {
            why: format!(
                "{} has no {whose}, or the token may not see it; check take in [host.{}]",
                host.url, host.name
            ),
            pause: None,
            refuses: true,
        })
    }

    /// Lists all pages from one on, of repositories whose paths begin with `within`. Returns whether there is that page.
    async fn pages(&mut self, first: String, within: &str) -> Result<bool, Unanswered> {
        let mut next = Some(first);
        let mut is_first = true;
        while let Some(url) = next.take() {
            if !self.used.insert(url.clone()) {
                // Otherwise a host could have us ask for ever.
                break;
            }
            if self.used.len() > MAX_PAGES {
                return Err(Unanswered {
                    why: format!("the listing has more than {MAX_PAGES} pages; narrow take"),
                    pause: None,
                    refuses: false,
                });
            }
            let known = self.known.get(&url);
            self.listing.requests += 1;
            let (found, at) = match self.http.get(&url, known.map(|page| &*page.etag)).await? {
                Answer::Missing if is_first => {
                    self.used.remove(&url);
                    return Ok(false);
                }
                Answer::Missing => return Err(odd("a page of the listing is missing")),
                Answer::Unchanged { at } => {
                    let Some(page) = known else {
                        return Err(odd("it says that a page is unchanged that it never sent"));
                    };
                    let found = serde_json::from_str::<Vec<Listed>>(&page.found);
                    next.clone_from(&page.next);
                    (found.map_err(|_| odd("a stored page cannot be read"))?, at)
                }
                Answer::Page(page) => {
                    let found = self.api.read(&page.body).map_err(|error| {
                        odd(&format!("a page of the listing has another shape ({error})"))
                    })?;
                    next.clone_from(&page.next);
                    if let Some(etag) = page.etag {
                        let found = serde_json::to_string(&found).expect("it has no odd keys");
                        self.listing.changed.push(MirrorPage {
                            url: url.clone(),
                            etag,
                            next: page.next,
                            found,
                        });
                    } else if known.is_some() {
                        self.listing.gone.push(url.clone());
                    }
                    (found, page.at)
                }
            };
            is_first = false;
            self.listing.began = self.listing.began.min(at);
            for listed in found {
                let is_within = listed
                    .path
                    .get(..within.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(within));
                if is_within && self.seen.insert(listed.id.clone()) {
                    self.listing.found.push(listed);
                }
            }
        }
        Ok(true)
    }
}

fn odd(what: &str) -> Unanswered {
    Unanswered {
        why: format!("the host answers as no such host does: {what}; check kind, url and api"),
        pause: None,
        refuses: false,
    }
}
