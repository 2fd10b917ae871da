//! Answers from imported SCIP indexes: the definitions of a name and the places that refer to it, as files with lines
//! like those of a search.

mod lines;
mod meaning;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use query::{Case, Matcher, Pattern};
use store::{BlobId, Catalog, RepoId, ScipPlace, ShardId};

use self::lines::file_match;
pub(super) use self::lines::outline;
use self::meaning::{Meaning, Reach, Spot, meanings, related};
use super::near::Origin;
use super::place::Error;
use super::request::{NameRequest, NameScope, parts};
use answer::FileMatch;
use search::View;
use search::{Missing, Scip, Stats, Stopped};

/// Most documents that are examined.
const MOST: usize = 500;

/// The answer of SCIP indexes for a name.
#[derive(Debug, Default)]
pub(super) struct Precise {
    /// The SCIP symbols that the name means at the place.
    pub(super) symbols: Vec<String>,
    /// Files that define it; each line has its symbols.
    pub(super) definitions: Vec<FileMatch>,
    /// Files that refer to it; each line has its ranges.
    pub(super) references: Vec<FileMatch>,
    /// Whether there are more documents than were examined.
    is_cut: bool,
    /// What could not be read.
    missing: Missing,
}

impl Precise {
    /// Returns all places in the answer: repository, path and byte.
    pub(super) fn places(&self) -> HashSet<(String, String, u64)> {
        let all = self.definitions.iter().chain(&self.references);
        let of = |file: &FileMatch| {
            let starts = file.lines.iter().flat_map(|line| {
                line.ranges.iter().map(move |range| line.offset + range.start as u64)
            });
            let key = |start| (file.repo.clone(), file.path.clone(), start);
            starts.map(key).collect::<Vec<_>>()
        };
        all.flat_map(of).collect()
    }

    /// Marks a search as incomplete if not all documents were examined.
    pub(super) fn note(&self, stats: &mut Stats) {
        stats.note_missing(self.missing.clone());
        if self.is_cut {
            stats.stopped.get_or_insert(Stopped::Limit);
        }
    }
}

/// Returns the precise answer for a name at the request's place, in the state of the index that a search has read.
pub(super) async fn precise(
    view: &View,
    request: &NameRequest,
    scope: &NameScope,
    stats: &Stats,
) -> Result<Precise, Error> {
    let Some(origin) = &scope.origin else { return Ok(Precise::default()) };
    let catalog = view.state(stats.switch).await?;
    let mut scip = view.scip(Arc::clone(&catalog)).await?;
    let (repo, path) = (origin.repo, origin.place.path.as_str());
    let told = scip.of(catalog.epoch, origin.blob, (repo, path)).await?;
    let last =
        if request.name.trim().is_empty() { "" } else { parts(&request.name)?.pop().unwrap_or("") };
    let spot = spot(origin);
    let meant: Vec<Meaning> =
        told.iter().flat_map(|place| meanings(place, &origin.text, &spot, last)).collect();
    if meant.is_empty() {
        return Ok(Precise { missing: scip.done(), ..Precise::default() });
    }
    let mut found = Mentions { near: repo, here: told, all: Vec::new(), is_cut: false };
    found.look_up(&mut scip, &catalog, &meant).await?;
    let more = related(&found.all, &meant);
    found.look_up(&mut scip, &catalog, &more).await?;
    let mut missing = scip.done();
    let defining: HashSet<String> =
        meant.iter().chain(&more).filter(|one| one.defines).map(|one| one.symbol.clone()).collect();
    let is_cut = found.is_cut;
    let wanted = ScopeFilter::of(request, &catalog)?;
    let places = found.all.into_iter().filter(|(place, _)| wanted.has(place)).collect();
    let (definitions, references) =
        files_of(view, places, &defining, &catalog, &mut missing).await?;
    let symbols = meant.into_iter().map(|one| one.symbol).collect();
    Ok(Precise { symbols, definitions, references, is_cut, missing })
}

/// Converts places to files with lines: those that define, and those that refer. Adds what cannot be read to `missing`.
async fn files_of(
    view: &View,
    places: Vec<Mention>,
    defining: &HashSet<String>,
    catalog: &Catalog,
    missing: &mut Missing,
) -> Result<(Vec<FileMatch>, Vec<FileMatch>), Error> {
    // Several indexes may cover a file.
    let mut files: BTreeMap<(ShardId, BlobId, RepoId, String), Vec<Mention>> = BTreeMap::new();
    for (place, symbols) in places {
        let key = (place.shard, place.blob, place.repo, place.path.clone());
        files.entry(key).or_default().push((place, symbols));
    }
    let mut blobs: BTreeMap<ShardId, BTreeMap<BlobId, usize>> = BTreeMap::new();
    for ((shard, blob, ..), told) in &files {
        blobs.entry(*shard).or_default().insert(*blob, told[0].0.bytes as usize);
    }
    let (mut texts, mut rows) = (BTreeMap::new(), BTreeMap::new());
    for (id, blobs) in blobs {
        let Some(shard) = catalog.shards.iter().find(|shard| shard.id == id) else { continue };
        let all: Vec<(BlobId, usize)> = blobs.iter().map(|(blob, n)| (*blob, *n)).collect();
        let ids: Vec<BlobId> = blobs.into_keys().collect();
        let read = view.texts(shard, &all).await;
        for (blob, text) in view.or_missing(shard, read, missing)? {
            texts.insert((id, blob), text);
        }
        let read = view.symbols_of(shard, &ids).await;
        for row in view.or_missing(shard, read, missing)? {
            rows.insert((id, row.blob), row);
        }
    }
    let (mut definitions, mut references) = (Vec::new(), Vec::new());
    for ((shard, blob, repo, _), told) in files {
        let Some(known) = catalog.repos.get(&repo) else { continue };
        let Some(text) = texts.get(&(shard, blob)) else { continue };
        let row = rows.get(&(shard, blob));
        let (mut defined, mut referred) = (Vec::new(), Vec::new());
        for (place, symbols) in &told {
            let names = place.document.symbols();
            for one in &place.document.occurrences {
                if !symbols.contains(&one.symbol) {
                    continue;
                }
                let symbol = names.get(one.symbol as usize).copied().unwrap_or_default();
                if !one.defines() {
                    referred.push((place, symbol, one));
                } else if defining.contains(symbol) {
                    defined.push((place, symbol, one));
                }
            }
        }
        let of = (known.name.as_str(), known.rank);
        definitions.extend(file_match(defined, of, text, row));
        references.extend(file_match(referred, of, text, row));
    }
    Ok((definitions, references))
}

/// A document, and its indexes of the symbols in question.
type Mention = (ScipPlace, Vec<u32>);

/// Documents that mention symbols, with the indexes of these symbols.
struct Mentions {
    /// The repository of the request's place.
    near: RepoId,
    /// The SCIP documents of the place's file.
    here: Vec<ScipPlace>,
    all: Vec<Mention>,
    is_cut: bool,
}

impl Mentions {
    /// Adds the documents that mention some symbols.
    async fn look_up(
        &mut self,
        scip: &mut Scip,
        catalog: &Catalog,
        meant: &[Meaning],
    ) -> Result<(), Error> {
        let (local, shared): (Vec<_>, Vec<_>) =
            meant.iter().partition(|one| one.reach == Reach::Document);
        for place in &self.here {
            self.all.extend(mentioned(place, &local));
        }
        if shared.is_empty() {
            return Ok(());
        }
        let mut shards = BTreeSet::new();
        for one in &shared {
            let import = match one.reach {
                Reach::Import(import) => Some(import),
                _ => None,
            };
            shards.extend(scip.shards(import).await?);
        }
        let near = catalog.repos.get(&self.near).map_or(&[][..], |repo| &repo.shards);
        let mut shards: Vec<ShardId> = shards.into_iter().collect();
        shards.sort_by_key(|shard| !near.contains(shard));
        let symbols: Vec<&str> = shared.iter().map(|one| one.symbol.as_str()).collect();
        for shard in shards {
            let room = MOST.saturating_sub(self.all.len());
            let places = scip.mentions(shard, &symbols, self.near, room + 1).await?;
            self.is_cut |= places.len() > room;
            for place in places.into_iter().take(room) {
                self.all.extend(mentioned(&place, &shared));
            }
            if self.is_cut {
                break;
            }
        }
        Ok(())
    }
}

/// Returns a document with its indexes of the given symbols; `None` if it mentions none of them.
fn mentioned(place: &ScipPlace, meant: &[&Meaning]) -> Option<Mention> {
    let reaches = |one: &&&Meaning| match one.reach {
        Reach::Import(import) => import == place.import,
        Reach::Document | Reach::All => true,
    };
    let symbols: Vec<u32> =
        meant.iter().filter(reaches).filter_map(|one| place.document.find(&one.symbol)).collect();
    (!symbols.is_empty()).then(|| (place.clone(), symbols))
}

/// Returns the part that the request points to.
fn spot(origin: &Origin) -> Spot {
    let Some(line) = origin.line() else { return Spot::Anywhere };
    match origin.byte() {
        Some(byte) => Spot::At(byte),
        None => Spot::Within(line),
    }
}

/// The files that a request wants.
struct ScopeFilter {
    repos: Option<HashSet<RepoId>>,
    languages: Option<Vec<String>>,
}

impl ScopeFilter {
    fn of(request: &NameRequest, catalog: &Catalog) -> Result<Self, Error> {
        let repos = match request.repo.as_deref().filter(|repo| !repo.is_empty()) {
            None => None,
            Some(repo) => {
                let matcher = Matcher::new(&Pattern::of_repository(repo, Case::Smart)?)?;
                let matching =
                    catalog.repos.iter().filter(|(_, repo)| matcher.is_match(&repo.name));
                Some(matching.map(|(id, _)| *id).collect())
            }
        };
        let languages = request.language.as_deref().map(query::languages).transpose();
        Ok(Self { repos, languages: languages.map_err(Error::Invalid)? })
    }

    fn has(&self, place: &ScipPlace) -> bool {
        let language = || place.language.as_deref().unwrap_or_default().to_lowercase();
        self.repos.as_ref().is_none_or(|repos| repos.contains(&place.repo))
            && self.languages.as_ref().is_none_or(|all| all.contains(&language()))
    }
}
