//! The chunks of a shard that survive its filters: those worth reading. Found once for each lookup, since several
//! decisions depend on them.

use query::{CompiledQuery, Lookup, Plan, Scope};

use super::chunk_set::ChunkSet;
use super::cost::IndexWorth;
use super::filters::Filters;
use super::names::Names;
use super::shards::ShardTask;
use super::state::Search;

/// The surviving chunks for each lookup of scope chunk, by its terms.
#[derive(Debug, Default)]
pub(crate) struct Survivors {
    chunks: Vec<(Vec<usize>, Surviving)>,
    /// No file has the requested names.
    no_name: bool,
}

#[derive(Debug)]
struct Surviving {
    chunks: ChunkSet,
    count: usize,
}

impl Survivors {
    /// Finds the survivors of a shard by its filters. If few blobs have the requested names, the filters look only at
    /// those.
    pub(crate) fn of(
        task: &ShardTask,
        query: &CompiledQuery,
        filters: &impl Filters,
        go_on: &dyn Fn() -> bool,
    ) -> Self {
        let mut survivors = Self::default();
        match &task.query.plan {
            Plan::All(parts) => survivors.narrow(parts, task, query, filters, go_on),
            plan => survivors.add(plan, filters, None),
        }
        if !survivors.rules_out(&task.query.plan) {
            for lookup in &task.query.negated {
                survivors.add_lookup(lookup, filters, None);
            }
        }
        survivors
    }

    /// Finds the survivors of several plans that must all hold, each plan only in the blobs that earlier plans left.
    fn narrow(
        &mut self,
        parts: &[Plan],
        task: &ShardTask,
        query: &CompiledQuery,
        filters: &impl Filters,
        go_on: &dyn Fn() -> bool,
    ) {
        let chunks = task.shard.chunks;
        let named = Names { task, query, go_on }.of_first(parts);
        if named.as_ref().is_some_and(Vec::is_empty) {
            self.no_name = true;
            return;
        }
        let whole = |blobs: &[_]| Some(ChunkSet::of_blobs(chunks, blobs, filters.starts()?));
        let mut left = named.as_deref().and_then(whole);
        // Begin with the plan that the fewest blocks may hold: it is the most likely to have no survivor, which rules
        // the shard out.
        let estimate = |plan: &Plan| {
            let of_texts = plan.of_texts()?;
            let mut estimate = |lookup: &Lookup| filters.estimate(lookup);
            of_texts.fold(&mut estimate, &usize::min, &usize::saturating_add)
        };
        let mut parts: Vec<&Plan> = parts.iter().collect();
        parts.sort_by_cached_key(|part| estimate(part).unwrap_or(usize::MAX));
        for part in parts {
            self.add(part, filters, left.as_ref());
            if self.rules_out(part) {
                break;
            }
            if let (Plan::Lookup(lookup), Some(starts)) = (part, filters.starts()) {
                let of_last = self.get(lookup);
                left = of_last.and_then(|last| whole(&last.blobs(starts))).or(left);
            }
        }
    }

    fn add(&mut self, plan: &Plan, filters: &impl Filters, left: Option<&ChunkSet>) {
        for lookup in plan.lookups() {
            self.add_lookup(lookup, filters, left);
        }
    }

    fn add_lookup(&mut self, lookup: &Lookup, filters: &impl Filters, left: Option<&ChunkSet>) {
        if lookup.scope == Scope::Chunk
            && let Some(chunks) = filters.of_lookup(lookup, left)
        {
            let count = chunks.count();
            self.chunks.push((lookup.terms.clone(), Surviving { chunks, count }));
        }
    }

    fn found(&self, lookup: &Lookup) -> Option<&Surviving> {
        let found = self.chunks.iter().find(|(terms, _)| *terms == lookup.terms);
        found.map(|(_, surviving)| surviving).filter(|_| lookup.scope == Scope::Chunk)
    }

    /// Returns the surviving chunks of a lookup.
    pub(crate) fn get(&self, lookup: &Lookup) -> Option<&ChunkSet> {
        self.found(lookup).map(|found| &found.chunks)
    }

    /// Returns the number of the surviving chunks of a lookup.
    pub(crate) fn count_of(&self, lookup: &Lookup) -> Option<usize> {
        self.found(lookup).map(|found| found.count)
    }

    /// Returns whether a plan has no survivor.
    pub(crate) fn rules_out(&self, plan: &Plan) -> bool {
        let mut is_empty = |lookup: &Lookup| self.count_of(lookup).map(|count| count == 0);
        let (or, and) = (|one, other| one || other, |one, other| one && other);
        self.no_name || plan.fold(&mut is_empty, &or, &and) == Some(true)
    }

    /// Returns the number of chunks that survive for the plan of a shard, counting each lookup separately; `None` if
    /// unknown. For an `All`, it counts the part with the fewest: blobs without that part are not read for the others.
    pub(crate) fn count(&self, task: &ShardTask) -> Option<usize> {
        let mut count = |lookup: &Lookup| self.count_of(lookup);
        task.query.of_texts.as_ref()?.fold(&mut count, &usize::min, &usize::saturating_add)
    }

    /// Estimates the worth of asking the trigram index for a lookup; `None` if too little is known.
    pub(crate) fn index_worth(
        &self,
        lookup: &Lookup,
        search: &Search,
        task: &ShardTask,
    ) -> Option<IndexWorth> {
        // 1000 means unknown, as for literals without a trigram.
        let frequency = Some(lookup.literals.frequency()).filter(|frequency| *frequency < 1000)?;
        let ngrams = lookup.ngrams(search.query()).chunk_ngrams();
        let worth = IndexWorth::of(ngrams, frequency, task.shard.chunks, self.count_of(lookup)?);
        // With a limit, shards with the most results come first, and filters rule out less in them.
        let times = match search.request.limit {
            None => self.chunks_for_each(lookup, &task.query.plan),
            Some(_) => 1.0,
        };
        Some(worth.times(times))
    }

    /// Returns the number of chunks saved for each chunk of a lookup that is ruled out: if a blob fails one part of an
    /// `All`, its chunks for the other parts are not read.
    fn chunks_for_each(&self, lookup: &Lookup, plan: &Plan) -> f64 {
        let Plan::All(parts) = plan else { return 1.0 };
        let count = |part: &Plan| -> usize {
            part.lookups().into_iter().filter_map(|lookup| self.count_of(lookup)).sum()
        };
        let part = parts.iter().find(|part| part.lookups().contains(&lookup)).map_or(0, count);
        let all: usize = parts.iter().map(count).sum();
        if part == 0 { 1.0 } else { all as f64 / part as f64 }
    }
}
