//! Looks words up in the files that a question, or a search, is about.

use std::sync::Arc;

use rayon::prelude::*;
use store::{Catalog, Shard};
use words::QuestionWord;

use super::brute::Texts;
use super::chosen::{AskedShard, Chosen};
use super::first::{Counted, ShardTexts, Weights, texts_of};
use super::paths::{self, Named};
use super::source::{Looked, Source};
use crate::clock::Clock;
use crate::threads;
use crate::types::{Error, Request};
use crate::view::View;

/// Words, and the files in which they are looked up.
pub(super) struct Look<'a> {
    pub(super) view: &'a View,
    pub(super) among: &'a Arc<Request>,
    pub(super) words: &'a Arc<[QuestionWord]>,
    pub(super) clock: &'a Arc<Clock>,
    /// Whether to look the words up in the paths of files, too.
    pub(super) in_paths: bool,
}

/// What was looked up.
pub(super) struct LookedUp {
    /// The catalog with all repositories.
    pub(super) all: Arc<Catalog>,
    pub(super) chosen: Arc<Chosen>,
    /// The shards with the files, and where their words are; `None` if the clock ended before.
    pub(super) found: Option<(Arc<[AskedShard]>, Looked)>,
    /// The files whose paths have all words.
    pub(super) named: Named,
}

impl Look<'_> {
    /// Looks the words up.
    ///
    /// # Errors
    /// The fields name a revision that is not indexed; or the database query fails.
    pub(super) async fn up(&self) -> Result<LookedUp, Error> {
        let Self { view, among, words, clock, in_paths } = *self;
        let memory = view.ask_memory();
        let generation = memory.generation();
        let all = view.snapshot(among.resume.as_ref()).await?;
        let catalog = view.visible_of(&all);
        let chosen = Arc::new(Chosen::of(view, catalog, among, clock)?);
        let reading = async {
            let of: Vec<Shard> =
                chosen.selection.shards.iter().map(|candidate| candidate.shard.clone()).collect();
            let (source, memory) = if among.brute {
                let mut texts = Vec::with_capacity(of.len());
                for shard in &of {
                    texts.push(Texts::read(view, shard).await?);
                }
                (Source::Texts(texts), None)
            } else {
                (Source::Index, Some((memory, generation)))
            };
            let lengths = source.lengths(view, &of, generation).await?;
            let shards: Arc<[AskedShard]> =
                chosen.shards(view, lengths, memory, clock).await?.into();
            Ok::<_, store::Error>((source, shards))
        };
        let looking = async {
            let read = clock.wait(reading).await.transpose()?.filter(|_| clock.goes_on());
            let Some((source, shards)) = read else { return Ok(None) };
            let looked = source.look_up(view, &shards, words, clock).await?;
            Ok::<_, Error>(Some((shards, looked)))
        };
        let naming = async {
            if in_paths {
                paths::named(view, among, words, all.switch).await
            } else {
                Ok(Named::default())
            }
        };
        let (found, named) = tokio::try_join!(looking, naming)?;
        Ok(LookedUp { all, chosen, found, named })
    }
}

/// Weighs words by the chunks in which they occur.
pub(super) fn weigh(
    words: &[QuestionWord],
    shards: &[AskedShard],
    counted: &[Option<Counted>],
) -> Weights {
    let mut chunks = vec![0; words.len()];
    for counted in counted.iter().flatten() {
        for (all, here) in chunks.iter_mut().zip(counted.chunks()) {
            *all += here;
        }
    }
    let searched = || shards.iter().zip(counted).filter(|(_, counted)| counted.is_some());
    let count = searched().map(|(one, _)| one.visible.count).sum();
    let length = searched().map(|(one, _)| one.visible.words).sum();
    Weights::of(count, length, chunks, words)
}

/// Scores the texts of all shards, on several threads. Those that are named are returned whatever they have.
pub(super) async fn texts_of_all(
    shards: Arc<[AskedShard]>,
    counted: Vec<Option<Counted>>,
    weights: Weights,
    named: Named,
) -> Vec<ShardTexts> {
    let work = tokio::task::spawn_blocking(move || {
        let each = shards.par_iter().zip(&counted).enumerate();
        let score = |(at, (one, counted)): (usize, (&AskedShard, &Option<Counted>))| {
            let counted = counted.as_ref()?;
            let named = named.texts.get(&one.shard.id);
            Some(texts_of(at, counted, &weights, (&one.lengths, &one.visible), named))
        };
        threads::matching().install(|| each.filter_map(score).collect())
    });
    work.await.expect("scoring does not panic")
}
