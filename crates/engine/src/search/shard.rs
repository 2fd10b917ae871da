//! One search in one shard: candidates, their files, their texts, what matches.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ngram::BLOCK_CHUNKS;
use query::{Expr, Plan, Predicate, Select};
use store::{BlobId, Catalog, File, RepoId, Shard, Store};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::batches::{Batch, Batches, Group, Groups, MAX_BYTES, Open, READ_FIRST, SMALL_BATCH};
use super::candidates::{Candidates, Place, Source};
use super::connection::Connection;
use super::reading::{Reading, split};
use super::resident::Resident;
use super::select::{Selection, Target};
use super::sift::Sifts;
use super::stats::Phase;
use super::verify::{Hit, Sought, Terms, Text, Unit, apart, join, merge};
use super::{FileMatch, Line, RESULTS_PER_CHUNK, Request, Shared, context};

/// Chunks that are loaded and verified first, for a small limit and at most. Then there are more at a time, so
/// that a search that stops at a limit loads little and one that goes on makes few round trips: [`GROWTH`]
/// times what has been read.
const FIRST_BATCH: std::ops::RangeInclusive<usize> = 16..=128;

/// With texts in memory, where there are no round trips, and without.
const GROWTH: (usize, usize) = (2, 4);

/// When the limit is near, what is read at a time is so many times what is likely to be needed to reach it.
const MORE_THAN_LIKELY: f64 = 1.15;

/// Chunks that are read at a time at most.
const MAX_BATCH: usize = 2048;

/// Microseconds of a processor, ours and the database's, for asking the index of a shard, and for each chunk that
/// it then names.
const ASK_US: f64 = 800.0;
const NAME_US: f64 = 2.0;

/// Microseconds for reading a chunk from memory and matching it.
const READ_US: f64 = 2.5;

/// With a limit, the index is asked if reading all that the summaries name takes so many times as long
/// as asking: most of it may not have to be read.
const WORTH_ASKING: f64 = 2.0;

/// Blocks whose chunks are listed first at least; then twice as many.
const FIRST_BLOCKS: i32 = 2;

/// Kilobytes of results that the shards of a search may be ahead of who reads them, together.
const AHEAD_KB: u32 = 32 * 1024;

/// Batches of files that a shard may be ahead of who reads them.
pub(crate) const AHEAD: usize = 64;

/// What one shard tells of one search, in order.
#[derive(Debug)]
pub(crate) enum Told {
    /// The next files. While the permit is held, they count as unread.
    Files(Vec<FileMatch>, OwnedSemaphorePermit),
    /// More was read, and nothing found in it.
    Read,
    /// It could not be searched.
    Failed(store::Error),
    /// That was all. Without it, something broke.
    Done,
}

/// One search in one shard; runs as a task of its own.
pub(crate) struct ShardSearch {
    pub(crate) store: Store,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) scope: Arc<Selection>,
    pub(crate) request: Arc<Request>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) resident: Option<Arc<Resident>>,
    pub(crate) target: Target,
    /// What the summaries let through of it.
    pub(crate) sifts: Sifts,
    /// Most results, with those that were given before.
    pub(crate) limit: Option<usize>,
    /// How many threads may work on it at once.
    pub(crate) cores: usize,
    /// How many shards are searched at once.
    pub(crate) beside: usize,
}

/// Where a shard tells what it finds.
struct Teller<'a> {
    told: &'a mpsc::Sender<Told>,
    /// Kilobytes that may be unread, and as many permits.
    most_kb: u32,
    ahead: Arc<Semaphore>,
    results: Results,
    limit: Option<usize>,
    shared: &'a Shared,
}

/// How going through some candidates ended.
enum Ended {
    /// All of them were looked at.
    AtTheEnd,
    /// There is no need to look further.
    Enough,
    /// It is better to go on in another way, with the chunk of this number.
    Before(i32),
}

/// How much is read at a time.
struct Pace {
    /// Chunks at first.
    first: usize,
    growth: usize,
    /// Chunks that were read.
    read: usize,
    /// Chunks that were read since something was found.
    in_vain: usize,
}

impl Pace {
    fn of(search: &ShardSearch) -> Self {
        let (with, without) = GROWTH;
        let first = search.limit.unwrap_or(usize::MAX);
        let texts = search.target.known.texts;
        Self {
            first: first.clamp(*FIRST_BATCH.start(), *FIRST_BATCH.end()),
            growth: if texts { with } else { without },
            read: 0,
            in_vain: 0,
        }
    }
}

/// A batch whose turn has not come.
struct Begun {
    batch: Batch,
    /// Chunks to read.
    chunks: usize,
    /// What is found in those that were named, if all of them are in memory and they are read before their files.
    reading: Option<Reading>,
}

/// What was found in the texts of a batch.
#[derive(Default)]
struct Found {
    hits: HashMap<(BlobId, usize), Vec<Line>>,
    /// The chunks that were named have been read: what was not found in them is nowhere.
    named: bool,
    /// The blobs that were read as a whole, and the terms that were looked for in them.
    whole: HashMap<BlobId, Terms>,
}

impl ShardSearch {
    /// Reads what the summaries name, without asking the index of the shard, as long as that is likely
    /// to be the shorter way. Says up to which chunk it came, or that there is nothing left to do.
    ///
    /// All of it, if reading it takes no longer than asking; with a limit, if what was found so far in this
    /// and in other shards promises to reach it sooner than asking would. As long as nothing has been read,
    /// it is tried, until that has taken longer than asking would.
    async fn skim(&self, pace: &mut Pace, teller: &mut Teller<'_>) -> Result<Ended, store::Error> {
        let Target { shard, known, work, .. } = &self.target;
        let nothing = Ok(Ended::Before(0));
        let (true, Some(files), true) =
            (known.texts && known.grams.is_some(), &known.files, work.plan.is_of_chunks())
        else {
            return nothing;
        };
        let Some(named) = self.sifts.count(&work.plan) else { return nothing };
        let asking = asking(&work.plan, shard);
        let limit = self.limit;
        let skimmed = &self.shared.skimmed;
        // What is to be read to reach the limit, as far as the shards before tell.
        let reading = |left: f64| match (limit, skimmed.rate()) {
            (Some(limit), Some(rate)) => left.min(skimmed.wanted(limit) / rate) * READ_US,
            (Some(_), None) => left * READ_US / WORTH_ASKING,
            (None, _) => left * READ_US,
        };
        let all = reading(named as f64) < asking;
        if !all && (limit.is_none() || skimmed.rate().is_some()) {
            return nothing;
        }
        let mut conn = Connection::new(&self.store);
        let mut from = 0;
        // As many blocks as are likely to hold enough, and no more than can be read while the index would be asked.
        let part = teller.wanted().map_or(1.0, |wanted| {
            let rate = self.shared.read.rate().unwrap_or(RESULTS_PER_CHUNK).max(1e-9);
            let likely = wanted as f64 / rate * MORE_THAN_LIKELY;
            let most = if all { likely } else { asking / READ_US };
            likely.min(most) / named.max(1) as f64
        });
        let mut width = (f64::from(shard.chunks) * part.min(1.0)) as i32;
        width = width.max(FIRST_BLOCKS * BLOCK_CHUNKS);
        while from < shard.chunks {
            // Not in the middle of a blob.
            let next = (from + width < shard.chunks).then(|| files.blobs(from + width).next());
            let upto = next.flatten().map_or(i32::MAX, |blob| blob.0);
            let finding = Candidates::find(Source::Summary(from..upto), &mut conn, self.place());
            let candidates = self.shared.counters.time(Phase::Lookup, finding).await?;
            conn.done();
            // Once in a while it is considered whether to go on.
            let (read, results) = (pace.read, teller.results.count());
            let end = self.go_through(&candidates, None, pace, teller).await?;
            skimmed.note(pace.read - read, teller.results.count() - results);
            if matches!(end, Ended::Enough) {
                return Ok(end);
            }
            (from, width) = (upto, width.saturating_mul(2));
            if !all {
                let left = reading((named as f64 - pace.read as f64).max(0.0));
                if pace.read as f64 * READ_US > asking && left > asking {
                    return Ok(Ended::Before(from));
                }
            }
        }
        Ok(Ended::AtTheEnd)
    }

    fn place(&self) -> Place<'_> {
        Place {
            target: &self.target,
            sifts: &self.sifts,
            epoch: self.catalog.epoch,
            program: &self.request.program,
            texts: self.resident.as_ref().map(|kept| &*kept.texts),
        }
    }

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
        if self.stopped() {
            return Ok(());
        }
        let counters = &self.shared.counters;
        let select = self.request.program.select;
        let most_kb = (AHEAD_KB / self.beside.max(1) as u32).max(1);
        let mut teller = Teller {
            told,
            ahead: Arc::new(Semaphore::new(most_kb as usize)),
            most_kb,
            results: Results { select, files: 0, repos: HashSet::new() },
            limit: self.limit,
            shared: &self.shared,
        };
        let mut pace = Pace::of(self);
        let Ended::Before(from) = self.skim(&mut pace, &mut teller).await? else { return Ok(()) };
        let mut conn = Connection::new(&self.store);
        let finding = Candidates::find(Source::Scope, &mut conn, self.place());
        let mut candidates = counters.time(Phase::Lookup, finding).await?;
        counters.candidates.fetch_add(candidates.chunks(), Ordering::Relaxed);
        candidates.drop_before(BlobId(from));
        let mut all = match candidates.blobs {
            None => Some(self.files(&mut conn, None).await?),
            Some(_) => None,
        };
        if let Some(all) = &mut all {
            all.retain(|file| file.blob.0 >= from);
        }
        conn.done();
        self.go_through(&candidates, all, &mut pace, &mut teller).await?;
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.shared.is_over()
    }

    /// Goes through candidates batch by batch, and tells what matches. `all` are all files, if no
    /// blobs are named.
    async fn go_through(
        &self,
        candidates: &Candidates,
        all: Option<Vec<File>>,
        pace: &mut Pace,
        teller: &mut Teller<'_>,
    ) -> Result<Ended, store::Error> {
        let mut conn = Connection::new(&self.store);
        let mut batches = Batches::of(self, candidates, all);
        let mut begun = VecDeque::new();
        loop {
            self.begin(&mut begun, &mut batches, candidates, pace, teller);
            let Some(Begun { mut batch, chunks, reading }) = begun.pop_front() else { break };
            let results = teller.results.count();
            pace.read += chunks;
            let mut found = Found::default();
            if batches.read_first {
                self.narrow(&mut conn, &mut batch, reading, candidates, &mut found).await?;
            }
            if self.stopped() {
                return Ok(Ended::Enough);
            }
            let open = self.open(&mut conn, &mut batch).await?;
            let mut groups =
                Groups { whole: batches.whole, batch, open: open.into_iter().peekable() };
            while let Some(group) = groups.next() {
                // What was read of one group says nothing of the next.
                if !batches.read_first {
                    found = Found::default();
                }
                let files = self.read(&mut conn, group, candidates, &mut found).await?;
                conn.done();
                if !teller.tell(files).await || self.stopped() {
                    return Ok(Ended::Enough);
                }
            }
            conn.done();
            let found = teller.results.count() - results;
            self.shared.read.note(chunks, found);
            pace.in_vain = if found > 0 { 0 } else { pace.in_vain + chunks };
            if self.limit.is_some() && !teller.told_that_read(results).await {
                return Ok(Ended::Enough);
            }
        }
        Ok(Ended::AtTheEnd)
    }

    /// Begins to read the next batches, as many as are to be read at a time.
    fn begin(
        &self,
        begun: &mut VecDeque<Begun>,
        batches: &mut Batches<'_>,
        candidates: &Candidates,
        pace: &Pace,
        teller: &Teller<'_>,
    ) {
        let at_once = self.at_once(pace, teller);
        let mut underway: usize = begun.iter().map(|next| next.chunks).sum();
        let bytes = |next: &Begun| next.reading.as_ref().map_or(usize::MAX, Reading::bytes);
        let mut left = begun.iter().map(bytes).fold(MAX_BYTES, usize::saturating_sub);
        while left > 0
            && let Some(size) = batches.size(at_once, underway)
            && let Some(batch) = batches.next(size)
        {
            // Of a blob that is read as a whole no chunks are named.
            let chunks = batch.chunks.len().max(batch.blobs.len());
            underway += chunks;
            if batches.read_first && chunks <= READ_FIRST {
                let (units, missing) =
                    self.kept(self.named(&batch.chunks, candidates, |_, _| true));
                if missing.0.is_empty() {
                    let alone = begun.is_empty() && (chunks >= at_once || batches.is_over());
                    let parts = if batches.are_read_ahead() { split(units) } else { vec![units] };
                    let alone = alone && parts.len() == 1;
                    for (batch, units) in batch.cut(parts) {
                        let chunks = batch.chunks.len().max(batch.blobs.len());
                        let reading = self.start(units, alone);
                        left = left.saturating_sub(reading.bytes());
                        begun.push_back(Begun { batch, chunks, reading: Some(reading) });
                    }
                    continue;
                }
            }
            begun.push_back(Begun { batch, chunks, reading: None });
            left = 0;
        }
    }

    /// How many chunks to read at a time: no more than are likely to be needed to reach the limit.
    fn at_once(&self, pace: &Pace, teller: &Teller<'_>) -> usize {
        let most = pace.first.max(pace.read.saturating_mul(pace.growth)).min(MAX_BATCH);
        let (found, read) = (teller.results.count(), pace.read);
        // One more than was found, so that where nothing is, more is read at a time.
        let own = (read >= SMALL_BATCH).then(|| (found + 1) as f64 / read as f64);
        // And so it is when a shard that gave much gives no more.
        let least = SMALL_BATCH.max(pace.in_vain);
        match (teller.wanted(), own.or_else(|| self.shared.read.rate())) {
            (Some(wanted), Some(rate)) => {
                let likely = wanted as f64 / rate.max(1e-9) * MORE_THAN_LIKELY;
                most.min((likely as usize).max(least))
            }
            _ => most,
        }
    }

    /// Files with these blobs, or all files.
    async fn files(
        &self,
        conn: &mut Connection,
        blobs: Option<&[BlobId]>,
    ) -> Result<Vec<File>, store::Error> {
        let filter = &self.scope.files;
        if let Some(files) = &self.target.known.files {
            return Ok(files.of(blobs, filter));
        }
        let lease = conn.lease().await?;
        let files = lease.files(self.target.shard.id, blobs, filter);
        self.shared.counters.time(Phase::Files, files).await
    }

    /// Reads the chunks that were named, and throws out the blobs for whose files the query cannot hold,
    /// whatever their paths.
    async fn narrow(
        &self,
        conn: &mut Connection,
        batch: &mut Batch,
        reading: Option<Reading>,
        candidates: &Candidates,
        found: &mut Found,
    ) -> Result<(), store::Error> {
        let mut rest = batch.chunks.as_slice();
        if let Some(reading) = reading {
            found.add(reading.found(&self.request, &self.shared).await);
            rest = &[];
        }
        // Part by part, since one chunk may be a line of any length; a blob is in one part, since what is
        // found in it is told at once.
        while let Some((_, last, _)) = rest.get(READ_FIRST.min(rest.len()).wrapping_sub(1)) {
            let (part, tail) = rest.split_at(rest.partition_point(|(_, blob, _)| blob <= last));
            rest = tail;
            let named = self.named(part, candidates, |_, _| true);
            found.add(self.read_named(conn, named).await?);
            conn.done();
            if self.stopped() {
                return Ok(());
            }
        }
        found.named = true;
        let known = |blob: BlobId, atom: Predicate| match atom {
            _ if self.rules_out(atom) || candidates.rules_out(blob, atom) => Some(false),
            Predicate::Content(term) if candidates.lists_term(term) => {
                Some(found.hits.contains_key(&(blob, term)))
            }
            _ => None,
        };
        let expr = &self.request.program.expr;
        batch.blobs.retain(|blob| expr.eval(&|atom| known(*blob, atom)) != Some(false));
        Ok(())
    }

    /// The files of a batch that may match as far as is known without their texts: the texts of others,
    /// and of what is no file any longer, need not be loaded.
    async fn open(
        &self,
        conn: &mut Connection,
        batch: &mut Batch,
    ) -> Result<Vec<Open>, store::Error> {
        let expr = &self.request.program.expr;
        let files = match batch.files.take() {
            Some(files) => files,
            None if batch.blobs.is_empty() => Vec::new(),
            None => self.files(conn, Some(&batch.blobs)).await?,
        };
        self.shared.counters.files.fetch_add(files.len(), Ordering::Relaxed);
        let path = |file: &File| {
            let program = &self.request.program;
            let matches = |term: &usize| program.terms[*term].matcher.is_match(&file.path);
            self.target.work.path_terms.iter().copied().filter(matches).collect()
        };
        Ok(files
            .into_iter()
            .filter(|file| !self.shared.knows(file.repo))
            .map(|file| Open { path: path(&file), file })
            .filter(|open| expr.eval(&|atom| self.known(open, atom)) != Some(false))
            .collect())
    }

    /// Reads what has to be read of some files, and gives those for which the query holds.
    async fn read(
        &self,
        conn: &mut Connection,
        group: Group,
        candidates: &Candidates,
        found: &mut Found,
    ) -> Result<Vec<FileMatch>, store::Error> {
        let open = group.open;
        // First the chunks that were named, as far as they matter.
        if !found.named {
            let wanted = self.wanted(&open, found, candidates);
            let named = self.named(&group.chunks, candidates, |blob, term| {
                wanted.get(&blob).is_some_and(|terms| terms.contains(&term))
            });
            found.add(self.read_named(conn, named).await?);
            found.named = true;
        }

        // Then whole texts, where that did not decide it, or did not find all there is to show.
        let mut wanted = self.wanted(&open, found, candidates);
        wanted.retain(|_, terms| {
            terms.retain(|term| !candidates.lists_term(*term));
            !terms.is_empty()
        });
        if !wanted.is_empty() {
            self.read_whole(conn, &open, wanted, candidates, found).await?;
        }
        if self.stopped() {
            return Ok(Vec::new());
        }
        let mut files: Vec<(BlobId, FileMatch)> = Vec::new();
        let mut open = open.into_iter().peekable();
        while let Some(file) = open.next() {
            let blob = file.file.blob;
            let last = open.peek().is_none_or(|next| next.file.blob != blob);
            files.extend(self.decide(file, last, found, candidates).map(|file| (blob, file)));
        }
        if self.request.context != (0, 0) {
            self.add_context(conn, &mut files).await?;
        }
        Ok(files.into_iter().map(|(_, file)| file).collect())
    }

    /// Reads the chunks that were named, and looks in each for the terms that it was named for.
    async fn read_named(
        &self,
        conn: &mut Connection,
        named: Named,
    ) -> Result<Vec<Hit>, store::Error> {
        let (mut units, missing) = self.kept(named);
        if !missing.0.is_empty() {
            let numbers: Vec<i32> = missing.0.iter().map(|(n, _)| *n).collect();
            let lease = conn.lease().await?;
            let load = lease.chunks(self.target.shard.id, &numbers);
            let chunks = self.shared.counters.time(Phase::Load, load).await?;
            if let Some(resident) = &self.resident {
                resident.missed(&self.store, &self.target.shard, &numbers);
            }
            let place = |n| missing.0.binary_search_by_key(&n, |(n, _)| *n).ok();
            units.extend(chunks.into_iter().filter_map(|chunk| {
                let (_, sought) = &missing.0[place(chunk.n)?];
                Some(Unit::plain(chunk, sought.clone()))
            }));
            units.sort_by_key(|unit| (unit.blob, unit.start));
        }
        Ok(self.verify(units).await)
    }

    /// Of each chunk the terms for which it was named, if they are wanted.
    fn named(
        &self,
        chunks: &[(i32, BlobId, usize)],
        candidates: &Candidates,
        wanted: impl Fn(BlobId, usize) -> bool,
    ) -> Named {
        let mut chunks = chunks.to_vec();
        chunks.sort_unstable();
        let mut sharing = Sharing::default();
        let mut conditions = Conditions::of(self, candidates);
        let mut last: Option<(BlobId, Arc<Expr>)> = None;
        let same = chunks.chunk_by(|(n, ..), (next, ..)| n == next);
        let sought = same.filter_map(|same| {
            let mut terms = Vec::new();
            for (_, blob, list) in same {
                for term in &candidates.lists[*list].terms {
                    if !terms.contains(term) && wanted(*blob, *term) {
                        terms.push(*term);
                    }
                }
            }
            if terms.is_empty() {
                return None;
            }
            let (n, blob, _) = same[0];
            let (_, condition) = match last.take().filter(|(of, _)| *of == blob) {
                Some(known) => last.insert(known),
                None => last.insert((blob, conditions.of_blob(blob))),
            };
            let condition = Arc::clone(condition);
            Some((n, Sought { terms: sharing.share(terms), condition }))
        });
        Named(sought.collect())
    }

    /// The chunks that are in memory, and those that are not.
    fn kept(&self, named: Named) -> (Vec<Unit>, Named) {
        let (mut units, mut missing) = (Vec::with_capacity(named.0.len()), Named::default());
        let mut reader = self.resident.as_ref().map(|kept| kept.texts.reader(&self.target.shard));
        for (n, sought) in named.0 {
            match reader.as_mut().and_then(|reader| reader.chunk(n)) {
                Some(chunk) => units.push(Unit::packed(chunk, sought)),
                None => missing.0.push((n, sought)),
            }
        }
        (units, missing)
    }

    /// Reads whole texts, and looks in each for the terms that are wanted of it.
    async fn read_whole(
        &self,
        conn: &mut Connection,
        open: &[Open],
        wanted: HashMap<BlobId, Vec<usize>>,
        candidates: &Candidates,
        found: &mut Found,
    ) -> Result<(), store::Error> {
        let program = &self.request.program;
        let spans =
            wanted.values().flatten().any(|term| program.terms[*term].matcher.spans_lines());
        let mut sharing = Sharing::default();
        let wanted: HashMap<BlobId, Terms> =
            wanted.into_iter().map(|(blob, terms)| (blob, sharing.share(terms))).collect();
        let mut blobs: Vec<(BlobId, usize)> = open
            .iter()
            .filter(|open| wanted.contains_key(&open.file.blob))
            .map(|open| (open.file.blob, open.file.bytes as usize))
            .collect();
        blobs.dedup();
        let mut units = self.blobs(conn, &blobs).await?;
        if spans {
            units = join(units);
        }
        let mut conditions = Conditions::of(self, candidates);
        for unit in &mut units {
            let (terms, condition) =
                (Arc::clone(&wanted[&unit.blob]), conditions.of_blob(unit.blob));
            unit.sought = Sought { terms, condition };
        }
        found.add(self.verify(units).await);
        found.whole.extend(wanted);
        Ok(())
    }

    /// All chunks of some blobs, each with its size in bytes, in order: from memory, and what is not
    /// there from the database.
    async fn blobs(
        &self,
        conn: &mut Connection,
        blobs: &[(BlobId, usize)],
    ) -> Result<Vec<Unit>, store::Error> {
        let none = Sought { terms: Arc::new([]), condition: Arc::new(Expr::Const(true)) };
        let (mut units, mut missing) = (Vec::new(), Vec::new());
        let mut reader = self.resident.as_ref().map(|kept| kept.texts.reader(&self.target.shard));
        for (blob, bytes) in blobs {
            match reader.as_mut().and_then(|reader| reader.blob(*blob, *bytes)) {
                Some(all) => {
                    units.extend(all.into_iter().map(|c| Unit::packed(c, none.clone())));
                }
                None => missing.push(*blob),
            }
        }
        if !missing.is_empty() {
            let lease = conn.lease().await?;
            let load = lease.blobs(self.target.shard.id, &missing);
            let chunks = self.shared.counters.time(Phase::Load, load).await?;
            if let Some(resident) = &self.resident {
                let numbers: Vec<i32> = chunks.iter().map(|chunk| chunk.n).collect();
                resident.missed(&self.store, &self.target.shard, &numbers);
            }
            units.extend(chunks.into_iter().map(|chunk| Unit::plain(chunk, none.clone())));
            units.sort_by_key(|unit| (unit.blob, unit.start));
        }
        Ok(units)
    }

    /// Whether an atom is known to hold for no file of the shard.
    pub(crate) fn rules_out(&self, atom: Predicate) -> bool {
        self.target.work.ruled_out.contains(&atom)
    }

    /// What is known of a file without its text.
    fn known(&self, open: &Open, atom: Predicate) -> Option<bool> {
        match atom {
            Predicate::Content(_) => self.rules_out(atom).then_some(false),
            Predicate::Path(term) => Some(open.path.contains(&term)),
            Predicate::Repo(_) => self.scope.repo_holds(open.file.repo, atom),
            Predicate::Language(index) => {
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
        found: &Found,
        candidates: &Candidates,
        atom: Predicate,
    ) -> Option<bool> {
        let Predicate::Content(term) = atom else { return self.known(open, atom) };
        if self.rules_out(atom) {
            return Some(false);
        }
        let blob = open.file.blob;
        if found.hits.contains_key(&(blob, term)) {
            return Some(true);
        }
        let looked = found.named
            && (candidates.lists_term(term)
                || found.whole.get(&blob).is_some_and(|terms| terms.contains(&term)));
        looked.then_some(false)
    }

    /// For each blob, the terms still to be looked for in it: those that decide about a file, and
    /// those whose lines are to be shown.
    fn wanted(
        &self,
        open: &[Open],
        found: &Found,
        candidates: &Candidates,
    ) -> HashMap<BlobId, Vec<usize>> {
        let expr = &self.request.program.expr;
        let mut wanted: HashMap<BlobId, Vec<usize>> = HashMap::new();
        for open in open {
            let known = |atom| self.known_with(open, found, candidates, atom);
            let mut want = |atom| {
                if let Predicate::Content(term) = atom
                    && known(atom).is_none()
                {
                    let terms = wanted.entry(open.file.blob).or_default();
                    if !terms.contains(&term) {
                        terms.push(term);
                    }
                }
            };
            if self.request.program.select == Select::Lines {
                expr.involved(&known, &mut want);
            } else {
                expr.resolve(&known).predicates(&mut want);
            }
        }
        wanted
    }

    /// Looks for the terms of some texts.
    async fn verify(&self, units: Vec<Unit>) -> Vec<Hit> {
        self.start(units, true).found(&self.request, &self.shared).await
    }

    fn start(&self, units: Vec<Unit>, alone: bool) -> Reading {
        Reading::start(&self.request, &self.shared, units, alone)
    }

    /// The file as a result, if the query holds for it. `last` is whether no other file with its
    /// contents comes after it.
    fn decide(
        &self,
        open: Open,
        last: bool,
        found: &mut Found,
        candidates: &Candidates,
    ) -> Option<FileMatch> {
        let program = &self.request.program;
        let expr = &self.request.program.expr;
        let known = |atom| self.known_with(&open, found, candidates, atom);
        if expr.eval(&known) != Some(true) {
            return None;
        }
        let mut shown = Vec::new();
        if program.select != Select::Repos {
            expr.shown(&known, &mut |atom| {
                if !shown.contains(&atom) {
                    shown.push(atom);
                }
            });
        }
        let (mut parts, mut path_ranges) = (Vec::new(), Vec::new());
        for atom in shown {
            match atom {
                Predicate::Content(term) if program.select == Select::Lines => {
                    let hit = (open.file.blob, term);
                    parts.extend(if last {
                        found.hits.remove(&hit)
                    } else {
                        found.hits.get(&hit).cloned()
                    });
                }
                Predicate::Path(term) => {
                    path_ranges.extend(program.terms[term].matcher.ranges(&open.file.path));
                }
                _ => {}
            }
        }
        let repo = self.catalog.repos.get(&open.file.repo);
        Some(FileMatch {
            repo_id: open.file.repo,
            place: (self.target.shard.id, open.file.blob),
            repo: repo.map_or_else(String::new, |repo| repo.name.clone()),
            rank: repo.map_or(0, |repo| repo.rank),
            path: open.file.path,
            path_ranges: apart(path_ranges),
            language: open.file.language,
            bytes: open.file.bytes as usize,
            lines: merge(parts),
        })
    }

    /// Adds the lines around those that match.
    async fn add_context(
        &self,
        conn: &mut Connection,
        files: &mut [(BlobId, FileMatch)],
    ) -> Result<(), store::Error> {
        let mut blobs: Vec<(BlobId, usize)> = files
            .iter()
            .filter(|(_, file)| !file.lines.is_empty())
            .map(|(blob, file)| (*blob, file.bytes))
            .collect();
        blobs.dedup();
        let units = join(self.blobs(conn, &blobs).await?);
        let texts = units.into_iter().filter_map(|unit| match unit.text {
            Text::Plain(text) => Some((unit.blob, text)),
            Text::Packed(_) => None,
        });
        context::add(files, &texts.collect(), self.request.context);
        Ok(())
    }
}

impl Teller<'_> {
    /// Tells some files; false if there is no need for more.
    async fn tell(&mut self, files: Vec<FileMatch>) -> bool {
        if files.is_empty() {
            return true;
        }
        self.results.add(&files);
        let kb = files.iter().map(FileMatch::size).sum::<usize>() / 1024 + 1;
        let kb = u32::try_from(kb).unwrap_or(self.most_kb).min(self.most_kb);
        let permit = Arc::clone(&self.ahead).acquire_many_owned(kb).await;
        let permit = permit.expect("it is never closed");
        let heard = self.told.send(Told::Files(files, permit)).await.is_ok();
        heard && self.wanted() != Some(0)
    }

    /// Tells that more was read, if no more than so many results have been told; false if there is no need
    /// to read more.
    async fn told_that_read(&self, results: usize) -> bool {
        results < self.results.count() || self.told.send(Told::Read).await.is_ok()
    }

    /// How many results are wanted beside those of the shards before and of this one: one more than the limit,
    /// which tells that there is more.
    fn wanted(&self) -> Option<usize> {
        let before = self.shared.given.load(Ordering::Relaxed);
        // A repository may be in several shards.
        let before = if self.results.select == Select::Repos { 0 } else { before };
        let given = before.saturating_add(self.results.count());
        self.limit.map(|limit| limit.saturating_add(1).saturating_sub(given))
    }
}

/// Microseconds for asking the index of a shard what a plan finds, about.
fn asking(plan: &Plan, shard: &Shard) -> f64 {
    match plan {
        // The rarest is asked for, which comes first.
        Plan::All(parts) => {
            parts.iter().find(|part| part.is_of_chunks()).map_or(0.0, |part| asking(part, shard))
        }
        _ => {
            let frequency = f64::from(plan.frequency().max(1)) / 1000.0;
            ASK_US + f64::from(shard.chunks) * frequency * NAME_US
        }
    }
}

/// Chunks to read, by their numbers in order, each with what to look for in it.
#[derive(Default)]
struct Named(Vec<(i32, Sought)>);

/// What must hold for files with some blobs, as far as their texts can tell. Nearly all blobs of a search have the same.
struct Conditions<'a> {
    search: &'a ShardSearch,
    candidates: &'a Candidates,
    /// For blobs of which the same is ruled out.
    known: Vec<(Vec<Predicate>, Arc<Expr>)>,
}

impl<'a> Conditions<'a> {
    fn of(search: &'a ShardSearch, candidates: &'a Candidates) -> Self {
        Self { search, candidates, known: Vec::new() }
    }

    fn of_blob(&mut self, blob: BlobId) -> Arc<Expr> {
        let program = &self.search.request.program;
        let mut ruled_out = Vec::new();
        // It is for what need not be looked for after something else.
        if program.terms.len() > 1 {
            program.expr.predicates(&mut |atom| {
                if self.search.rules_out(atom) || self.candidates.rules_out(blob, atom) {
                    ruled_out.push(atom);
                }
            });
        }
        if let Some((_, condition)) = self.known.iter().find(|(known, _)| *known == ruled_out) {
            return Arc::clone(condition);
        }
        let known = |atom| ruled_out.contains(&atom).then_some(false);
        let condition = Arc::new(program.expr.resolve(&known));
        self.known.push((ruled_out, Arc::clone(&condition)));
        condition
    }
}

/// Nearly all chunks of a search have the same terms to look for.
#[derive(Default)]
struct Sharing(Option<Terms>);

impl Sharing {
    fn share(&mut self, terms: Vec<usize>) -> Terms {
        match &self.0 {
            Some(last) if **last == *terms => Arc::clone(last),
            _ => Arc::clone(self.0.insert(terms.into())),
        }
    }
}

impl Found {
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
