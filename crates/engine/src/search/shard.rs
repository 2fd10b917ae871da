//! One search in one shard: candidates, their files, their texts, what matches.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use query::{Atom, Plan, Select};
use store::{BlobId, Catalog, Chunk, File, Lease, RepoId, Shard, Store};
use tokio::sync::mpsc;

use super::candidates::{Candidates, List};
use super::select::Scope;
use super::stats::Phase;
use super::verify::{Hit, Unit, apart, merge, verify};
use super::{FileMatch, Line, Place, Request, Shared, Texts as Kept, context, keep};

/// Chunks that are loaded and verified first. The next batches are each four times as large, so
/// that a search that stops at a limit loads little and one that goes on makes few round trips.
const FIRST_BATCH: usize = 128;

/// Chunks in a batch at most.
const MAX_BATCH: usize = 2048;

/// Bytes of text that are loaded and verified at once, about. What is found in them takes several
/// times as much at worst.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Chunks that are read at once when they are read before their files.
const READ_FIRST: usize = 512;

/// How many chunks a blob is taken to have that is read as a whole.
const CHUNKS_PER_BLOB: usize = 4;

/// Bytes that a chunk is taken to have, in a file that is not large; in a large one it may be a line
/// of any length.
const CHUNK_BYTES: usize = 4096;

/// Files over this many bytes are taken to be read as a whole.
const LARGE_FILE: usize = 64 * 1024;

/// What one shard tells of one search, in order.
#[derive(Debug)]
pub(crate) enum Told {
    /// The next files.
    Files(Vec<FileMatch>),
    /// It could not be searched.
    Failed(store::Error),
    /// That was all. Without it, something broke.
    Done,
}

/// One search in one shard; runs as a task of its own.
pub(crate) struct ShardSearch {
    pub(crate) store: Store,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) scope: Arc<Scope>,
    pub(crate) request: Arc<Request>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) texts: Option<Arc<Kept>>,
    pub(crate) shard: Shard,
    pub(crate) plan: Arc<Plan>,
}

/// Some blobs, and the chunks in them that were named.
#[derive(Default)]
struct Batch {
    blobs: Vec<BlobId>,
    /// The chunks' numbers and blobs, and for which list of candidates they were named.
    chunks: Vec<(i32, BlobId, usize)>,
    /// The files with these blobs, if they are loaded already.
    files: Option<Vec<File>>,
}

/// A file that may match, and what is known of it.
struct Open {
    file: File,
    /// Of the terms that are matched with paths, those that match this one.
    path: Vec<usize>,
}

/// What was found in the texts of a batch.
#[derive(Default)]
struct Texts {
    hits: HashMap<(BlobId, usize), Vec<Line>>,
    /// The chunks that were named have been read: what was not found in them is nowhere.
    named: bool,
    /// The blobs that were read as a whole, and the terms that were looked for in them.
    whole: HashMap<BlobId, Vec<usize>>,
}

impl ShardSearch {
    /// Searches, and sends what is found batch by batch. Ends soon after it has one result more than
    /// the limit, which tells that there is more, or when nobody listens any longer.
    pub(crate) async fn run(self, told: mpsc::Sender<Told>) {
        let last = match self.tell(&told).await {
            Ok(()) => Told::Done,
            Err(error) => Told::Failed(error),
        };
        let _ = told.send(last).await;
    }

    async fn tell(&self, told: &mpsc::Sender<Told>) -> Result<(), store::Error> {
        if self.shared.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let counters = &self.shared.counters;
        let mut lease = self.store.lease().await?;
        let asking = Candidates::ask(&mut lease, self.shard.id, self.catalog.epoch, &self.plan);
        let candidates = counters.time(Phase::Lookup, asking).await?;
        counters.candidates.fetch_add(candidates.chunks(), Ordering::Relaxed);
        let mut all = None;
        if candidates.blobs.is_none() {
            let files = lease.files(self.shard.id, None, &self.scope.files);
            all = Some(counters.time(Phase::Files, files).await?);
        }
        // Given back before anything is sent, here and below: who waits to send while he holds a
        // connection might wait for one who waits for a connection.
        lease.done();
        let mut batches = Batches::of(self, &candidates, all);
        let mut size = FIRST_BATCH;
        let mut results =
            Results { select: self.request.program.select, files: 0, repos: HashSet::new() };
        while let Some(mut batch) = batches.next(size) {
            size = MAX_BATCH.min(size * 4);
            let mut texts = Texts::default();
            let read_first = self.reads_first(&candidates, &batch);
            if read_first {
                self.narrow(&mut batch, &candidates, &mut texts).await?;
                if self.shared.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if batch.blobs.is_empty() {
                    continue;
                }
            }
            let mut lease = Some(self.store.lease().await?);
            let open = self.files(lease.as_mut().expect("just taken"), &mut batch).await?;
            let mut groups =
                Groups { whole: batches.whole, batch, open: open.into_iter().peekable() };
            while let Some(group) = groups.next() {
                // What was read of one group says nothing of the next.
                if !read_first {
                    texts = Texts::default();
                }
                let mut own = match lease.take() {
                    Some(lease) => lease,
                    None => self.store.lease().await?,
                };
                let found = self.texts(&mut own, group, &candidates, &mut texts).await?;
                own.done();
                results.add(&found);
                if !found.is_empty() && told.send(Told::Files(found)).await.is_err() {
                    return Ok(());
                }
                let enough = self.request.limit.is_some_and(|limit| results.count() > limit);
                if enough || self.shared.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
            }
            if let Some(lease) = lease {
                lease.done();
            }
        }
        Ok(())
    }

    /// Whether to read the chunks that were named before their files: when they are in memory, that
    /// costs less than asking for files most of which do not match. Not if few of the files are wanted.
    fn reads_first(&self, candidates: &Candidates, batch: &Batch) -> bool {
        let all = self.scope.files.repos.is_none() && self.scope.files.languages.is_none();
        self.texts.is_some() && all && batch.files.is_none() && !candidates.lists.is_empty()
    }

    /// Reads the chunks that were named, and throws out the blobs for whose files the query cannot hold,
    /// whatever their paths.
    async fn narrow(
        &self,
        batch: &mut Batch,
        candidates: &Candidates,
        texts: &mut Texts,
    ) -> Result<(), store::Error> {
        // Part by part, since one chunk may be a line of any length; a blob is in one part, since what is
        // found in it is told at once.
        let mut rest = batch.chunks.as_slice();
        while let Some((_, last, _)) = rest.get(READ_FIRST.min(rest.len()).wrapping_sub(1)) {
            let (part, tail) = rest.split_at(rest.partition_point(|(_, blob, _)| blob <= last));
            rest = tail;
            let mut named = Named::default();
            for (n, _, list) in part {
                named.add(*n, candidates.lists[*list].terms.iter().copied());
            }
            texts.add(self.read_named(None, named).await?);
        }
        texts.named = true;
        let known = |blob: BlobId, atom: Atom| match atom {
            _ if candidates.rules_out(blob, atom) => Some(false),
            Atom::Content(term) if candidates.lists_term(term) => {
                Some(texts.hits.contains_key(&(blob, term)))
            }
            _ => None,
        };
        let expr = &self.request.program.expr;
        batch.blobs.retain(|blob| expr.eval(&|atom| known(*blob, atom)) != Some(false));
        Ok(())
    }

    /// The files of a batch that may match as far as is known without their texts: the texts of others,
    /// and of what is no file any longer, need not be loaded.
    async fn files(&self, lease: &mut Lease, batch: &mut Batch) -> Result<Vec<Open>, store::Error> {
        let counters = &self.shared.counters;
        let expr = &self.request.program.expr;
        let files = match batch.files.take() {
            Some(files) => files,
            None => {
                let files = lease.files(self.shard.id, Some(&batch.blobs), &self.scope.files);
                counters.time(Phase::Files, files).await?
            }
        };
        counters.files.fetch_add(files.len(), Ordering::Relaxed);
        Ok(files
            .into_iter()
            .filter(|file| !self.shared.knows(file.repo))
            .map(|file| self.open(file))
            .filter(|open| expr.eval(&|atom| self.known(open, atom)) != Some(false))
            .collect())
    }

    /// Reads what has to be read of some files, and gives those for which the query holds.
    async fn texts(
        &self,
        lease: &mut Lease,
        group: Group,
        candidates: &Candidates,
        texts: &mut Texts,
    ) -> Result<Vec<FileMatch>, store::Error> {
        let counters = &self.shared.counters;
        let open = group.open;
        let sizes_of: HashMap<BlobId, usize> =
            open.iter().map(|open| (open.file.blob, open.file.bytes as usize)).collect();
        // First the chunks that were named, as far as they matter.
        let wanted =
            if texts.named { HashMap::new() } else { self.wanted(&open, texts, candidates) };
        let mut named = Named::default();
        for (n, blob, list) in group.chunks {
            let Some(wanted) = wanted.get(&blob) else { continue };
            let terms = candidates.lists[list].terms.iter().copied();
            named.add(n, terms.filter(|term| wanted.contains(term)));
        }
        if !named.0.is_empty() {
            texts.add(self.read_named(Some(lease), named).await?);
        }
        texts.named = true;

        // Then whole texts, where that did not decide it, or did not find all there is to show.
        let mut wanted = self.wanted(&open, texts, candidates);
        wanted.retain(|_, terms| {
            terms.retain(|term| !candidates.lists_term(*term));
            !terms.is_empty()
        });
        let mut whole = HashMap::new();
        if !wanted.is_empty() {
            let blobs = wanted.keys().copied();
            let load = self.blobs(lease, sizes(blobs, &sizes_of));
            let mut units = whole_blobs(counters.time(Phase::Load, load).await?);
            for unit in &mut units {
                unit.terms.clone_from(&wanted[&unit.blob]);
            }
            let (units, hits) = self.verify(units).await;
            texts.add(hits);
            texts.whole.extend(wanted);
            whole = units.into_iter().map(|unit| (unit.blob, unit.text)).collect();
        }
        if self.shared.stop.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        let mut found: Vec<(BlobId, FileMatch)> = open
            .into_iter()
            .filter_map(|open| Some((open.file.blob, self.decide(open, texts, candidates)?)))
            .collect();
        if self.request.context != (0, 0) {
            let missing: HashSet<BlobId> = found
                .iter()
                .filter(|(blob, file)| !file.lines.is_empty() && !whole.contains_key(blob))
                .map(|(blob, _)| *blob)
                .collect();
            if !missing.is_empty() {
                let load = self.blobs(lease, sizes(missing.into_iter(), &sizes_of));
                let chunks = counters.time(Phase::Load, load).await?;
                whole.extend(whole_blobs(chunks).into_iter().map(|unit| (unit.blob, unit.text)));
            }
            context::add(&mut found, &whole, self.request.context);
        }
        Ok(found.into_iter().map(|(_, file)| file).collect())
    }

    /// Reads the chunks that were named, and looks in each for the terms that it was named for.
    async fn read_named(
        &self,
        lease: Option<&mut Lease>,
        mut named: Named,
    ) -> Result<Vec<Hit>, store::Error> {
        let numbers = named.0.keys().copied().collect();
        let load = self.chunks(lease, numbers);
        let chunks = self.shared.counters.time(Phase::Load, load).await?;
        let units = chunks
            .into_iter()
            .map(|chunk| {
                let terms = named.0.remove(&chunk.n).unwrap_or_default();
                unit(chunk, terms)
            })
            .collect();
        Ok(self.verify(units).await.1)
    }

    /// Chunks by their numbers, in order: from memory, and what is not there from the database.
    /// With a lease of its own, if it needs one and is given none.
    async fn chunks(
        &self,
        lease: Option<&mut Lease>,
        numbers: Vec<i32>,
    ) -> Result<Vec<Chunk>, store::Error> {
        let read = async |numbers: &[i32]| match lease {
            Some(lease) => lease.chunks(self.shard.id, numbers).await,
            None => {
                let mut lease = self.store.lease().await?;
                let chunks = lease.chunks(self.shard.id, numbers).await?;
                lease.done();
                Ok(chunks)
            }
        };
        let Some(texts) = &self.texts else { return read(&numbers).await };
        let (mut chunks, mut missing) = (Vec::with_capacity(numbers.len()), Vec::new());
        for n in numbers {
            match texts.get(self.place(n)) {
                Some(chunk) => chunks.push(chunk),
                None => missing.push(n),
            }
        }
        if !missing.is_empty() {
            let read = read(&missing).await?;
            chunks.extend(read.iter().cloned());
            keep(texts, &self.shard, read).await;
        }
        chunks.sort_unstable_by_key(|chunk| chunk.n);
        Ok(chunks)
    }

    /// All chunks of some blobs, each with its size in bytes, in order: from memory, and what is not
    /// there from the database.
    async fn blobs(
        &self,
        lease: &mut Lease,
        blobs: Vec<(BlobId, usize)>,
    ) -> Result<Vec<Chunk>, store::Error> {
        let (mut chunks, mut missing) = (Vec::new(), Vec::new());
        for (blob, bytes) in blobs {
            match self.texts.as_ref().and_then(|texts| texts.blob(self.place(blob.0), bytes)) {
                Some(whole) => chunks.extend(whole),
                None => missing.push(blob),
            }
        }
        if !missing.is_empty() {
            let read = lease.blobs(self.shard.id, &missing).await?;
            chunks.extend(read.iter().cloned());
            if let Some(texts) = &self.texts {
                keep(texts, &self.shard, read).await;
            }
        }
        chunks.sort_unstable_by_key(|chunk| chunk.n);
        Ok(chunks)
    }

    fn place(&self, n: i32) -> Place {
        Place { shard: self.shard.id, since: self.shard.since, n }
    }

    fn open(&self, file: File) -> Open {
        let program = &self.request.program;
        let matches = |term: &usize| program.terms[*term].matcher.is_match(&file.path);
        let path = self.shared.path_terms.iter().copied().filter(matches).collect();
        Open { file, path }
    }

    /// What is known of a file without its text.
    fn known(&self, open: &Open, atom: Atom) -> Option<bool> {
        match atom {
            Atom::Content(_) => None,
            Atom::Path(term) => Some(open.path.contains(&term)),
            Atom::Repo(_) => self.scope.repo_holds(open.file.repo, atom),
            Atom::Language(index) => {
                let names = &self.request.program.languages[index];
                let language = open.file.language.as_ref();
                Some(language.is_some_and(|language| names.contains(&language.to_lowercase())))
            }
        }
    }

    /// What is known of a file after some texts were read.
    fn known_with(
        &self,
        open: &Open,
        texts: &Texts,
        candidates: &Candidates,
        atom: Atom,
    ) -> Option<bool> {
        let Atom::Content(term) = atom else { return self.known(open, atom) };
        let blob = open.file.blob;
        if texts.hits.contains_key(&(blob, term)) {
            return Some(true);
        }
        let looked = texts.named
            && (candidates.lists_term(term)
                || texts.whole.get(&blob).is_some_and(|terms| terms.contains(&term)));
        looked.then_some(false)
    }

    /// For each blob, the terms still to be looked for in it: those that decide about a file, and
    /// those whose lines are to be shown.
    fn wanted(
        &self,
        open: &[Open],
        texts: &Texts,
        candidates: &Candidates,
    ) -> HashMap<BlobId, Vec<usize>> {
        let program = &self.request.program;
        let mut wanted: HashMap<BlobId, Vec<usize>> = HashMap::new();
        for open in open {
            let known = |atom| self.known_with(open, texts, candidates, atom);
            let mut want = |atom| {
                if let Atom::Content(term) = atom
                    && known(atom).is_none()
                {
                    let terms = wanted.entry(open.file.blob).or_default();
                    if !terms.contains(&term) {
                        terms.push(term);
                    }
                }
            };
            if program.select == Select::Lines {
                program.expr.involved(&known, &mut want);
            } else {
                program.expr.resolve(&known).atoms(&mut want);
            }
        }
        wanted
    }

    /// Looks for the terms of some texts, on a thread for such work, and gives the texts back.
    async fn verify(&self, units: Vec<Unit>) -> (Vec<Unit>, Vec<Hit>) {
        let counters = &self.shared.counters;
        counters.rechecks.fetch_add(units.len(), Ordering::Relaxed);
        let bytes = units.iter().map(|unit| unit.text.len()).sum();
        counters.bytes.fetch_add(bytes, Ordering::Relaxed);
        let (request, shared) = (Arc::clone(&self.request), Arc::clone(&self.shared));
        let first_only = request.program.select != Select::Lines;
        let work = tokio::task::spawn_blocking(move || {
            let hits = verify(&request.program, &units, first_only, &shared.stop);
            (units, hits)
        });
        counters.time(Phase::Verify, work).await.expect("verifying does not panic")
    }

    /// The file as a result, if the query holds for it.
    fn decide(&self, open: Open, texts: &Texts, candidates: &Candidates) -> Option<FileMatch> {
        let program = &self.request.program;
        let known = |atom| self.known_with(&open, texts, candidates, atom);
        if program.expr.eval(&known) != Some(true) {
            return None;
        }
        let mut parts = Vec::new();
        let mut path_ranges = Vec::new();
        let mut seen = HashSet::new();
        if program.select != Select::Repos {
            program.expr.shown(&known, &mut |atom| match atom {
                _ if !seen.insert(atom) => {}
                Atom::Content(term) if program.select == Select::Lines => {
                    parts.extend(texts.hits.get(&(open.file.blob, term)).cloned());
                }
                Atom::Path(term) => {
                    path_ranges.extend(program.terms[term].matcher.ranges(&open.file.path));
                }
                _ => {}
            });
        }
        let repo = self.catalog.repos.get(&open.file.repo);
        Some(FileMatch {
            repo_id: open.file.repo,
            repo: repo.map_or_else(String::new, |repo| repo.name.clone()),
            path: open.file.path,
            path_ranges: apart(path_ranges),
            language: open.file.language,
            lines: merge(parts),
        })
    }
}

/// Chunks to read, by their numbers, each with the terms to look for in it.
#[derive(Default)]
struct Named(HashMap<i32, Vec<usize>>);

impl Named {
    fn add(&mut self, n: i32, terms: impl Iterator<Item = usize>) {
        for term in terms {
            let all = self.0.entry(n).or_default();
            if !all.contains(&term) {
                all.push(term);
            }
        }
    }
}

impl Texts {
    fn add(&mut self, hits: Vec<Hit>) {
        for hit in hits {
            self.hits.insert((hit.blob, hit.term), hit.lines);
        }
    }
}

/// How many results a shard has given.
struct Results {
    select: Select,
    files: usize,
    repos: HashSet<RepoId>,
}

impl Results {
    fn add(&mut self, found: &[FileMatch]) {
        self.files += found.len();
        if self.select == Select::Repos {
            self.repos.extend(found.iter().map(|file| file.repo_id));
        }
    }

    fn count(&self) -> usize {
        if self.select == Select::Repos { self.repos.len() } else { self.files }
    }
}

/// A batch, cut into parts of a bounded number of bytes.
struct Groups {
    /// Some term is looked for in whole texts.
    whole: bool,
    batch: Batch,
    open: std::iter::Peekable<std::vec::IntoIter<Open>>,
}

/// Some files of a batch, all of each blob, and the chunks that were named in them.
struct Group {
    open: Vec<Open>,
    chunks: Vec<(i32, BlobId, usize)>,
}

impl Groups {
    fn next(&mut self) -> Option<Group> {
        let mut group = Group { open: Vec::new(), chunks: Vec::new() };
        let mut bytes = 0;
        while bytes < MAX_BYTES
            && let Some(first) = self.open.next()
        {
            let (blob, size) = (first.file.blob, first.file.bytes as usize);
            // Both are in the order of blobs.
            let named = self.batch.chunks.partition_point(|(_, at, _)| *at < blob);
            let behind = self.batch.chunks.partition_point(|(_, at, _)| *at <= blob);
            let chunks = &self.batch.chunks[named..behind];
            let large = self.whole || size > LARGE_FILE;
            bytes += if large { size } else { size.min(chunks.len() * CHUNK_BYTES) };
            group.chunks.extend_from_slice(chunks);
            group.open.push(first);
            while let Some(next) = self.open.next_if(|next| next.file.blob == blob) {
                group.open.push(next);
            }
        }
        (!group.open.is_empty()).then_some(group)
    }
}

/// The candidates of a shard, batch by batch.
struct Batches<'a> {
    lists: &'a [List],
    blobs: Vec<BlobId>,
    /// The files, if all of them were loaded, in the order of `blobs`.
    files: Option<std::iter::Peekable<std::vec::IntoIter<File>>>,
    at: usize,
    /// How far each list is used up.
    used: Vec<usize>,
    /// Some term is looked for in whole texts.
    whole: bool,
}

impl<'a> Batches<'a> {
    fn of(search: &ShardSearch, candidates: &'a Candidates, files: Option<Vec<File>>) -> Self {
        let mut whole = false;
        search.request.program.expr.atoms(&mut |atom| {
            whole |= matches!(atom, Atom::Content(term) if !candidates.lists_term(term));
        });
        let mut blobs: Vec<BlobId> = match (&candidates.blobs, &files) {
            (Some(blobs), _) => blobs.clone(),
            (None, Some(files)) => files.iter().map(|file| file.blob).collect(),
            (None, None) => Vec::new(),
        };
        blobs.dedup();
        Self {
            lists: &candidates.lists,
            blobs,
            files: files.map(|files| files.into_iter().peekable()),
            at: 0,
            used: vec![0; candidates.lists.len()],
            whole,
        }
    }

    /// The next blobs, with about `size` chunks to read.
    fn next(&mut self, size: usize) -> Option<Batch> {
        if self.at == self.blobs.len() {
            return None;
        }
        let mut batch = Batch::default();
        let mut blobs = 0;
        while self.at < self.blobs.len() && batch.chunks.len().max(blobs) < size {
            let blob = self.blobs[self.at];
            for (i, list) in self.lists.iter().enumerate() {
                let used = &mut self.used[i];
                *used += list.chunks[*used..].partition_point(|(_, at)| *at < blob);
                let named = list.chunks[*used..].iter().take_while(|(_, at)| *at == blob);
                batch.chunks.extend(named.map(|(n, blob)| (*n, *blob, i)));
            }
            batch.blobs.push(blob);
            // What is decided without texts still costs a row.
            blobs += if self.whole { CHUNKS_PER_BLOB } else { 1 };
            self.at += 1;
        }
        if let (Some(files), Some(last)) = (&mut self.files, batch.blobs.last()) {
            let mut some = Vec::new();
            while let Some(file) = files.next_if(|file| file.blob <= *last) {
                some.push(file);
            }
            batch.files = Some(some);
        }
        Some(batch)
    }
}

fn sizes(
    blobs: impl Iterator<Item = BlobId>,
    sizes: &HashMap<BlobId, usize>,
) -> Vec<(BlobId, usize)> {
    blobs.map(|blob| (blob, sizes.get(&blob).copied().unwrap_or_default())).collect()
}

fn unit(chunk: Chunk, terms: Vec<usize>) -> Unit {
    Unit {
        blob: chunk.blob,
        line: chunk.line as u64,
        start: chunk.start as u64,
        text: chunk.contents,
        terms,
    }
}

/// Puts chunks, which are in order and complete, together again.
fn whole_blobs(chunks: Vec<Chunk>) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for chunk in chunks {
        match units.last_mut() {
            Some(unit) if unit.blob == chunk.blob => unit.text.push_str(&chunk.contents),
            _ => units.push(unit(chunk, Vec::new())),
        }
    }
    units
}
