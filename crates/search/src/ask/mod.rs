//! Questions in words: `how are validators plugged in` finds the files that answer best, over all repositories.
//!
//! The index of words lists the chunks with each word. The first stage ([`first`]) ranks the texts that have words of the
//! question by BM25, counting over the visible chunks alone ([`visible`]), and keeps the best. The second stage ([`second`])
//! scores their files by path, definitions and kind ([`rank::question`]), and reads the texts of those that are shown.

mod brute;
mod chosen;
mod first;
pub(crate) mod kept;
mod lengths;
mod lines;
mod read;
mod second;
mod source;
mod types;
mod visible;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use rank::question::Question;
use rayon::prelude::*;
use store::Shard;
use words::{MAX_WORDS, QuestionWord, Role};

use self::brute::Texts;
use self::chosen::{AskedShard, Chosen};
use self::first::{CANDIDATES, Counted, ShardTexts, Weights, best, texts_of};
use self::lines::Wanted;
use self::read::Reader;
use self::second::{Scoring, in_order};
use self::source::Source;
use crate::clock::{Clock, EndClock};
use crate::ranked::origins;
use crate::stale::ShownFiles;
use crate::stats::Stopped;
use crate::threads;
use crate::types::Error;
use crate::view::View;

pub use types::{
    AskError, AskRequest, Asked, AskedFile, AskedWord, MAX_FILES, MAX_QUESTION, USUAL_FILES,
    USUAL_LINES,
};

/// Minimum time to rank and to show what was found.
const SHOWING: Duration = Duration::from_secs(2);

/// Answers a question with the best files, best first.
///
/// When the returned future is dropped, running statements are cancelled in Postgres.
///
/// # Errors
/// The question has no word or is too long; its fields name a revision that is not indexed; or the database query fails.
pub fn ask<'a>(view: &'a View, request: &'a AskRequest) -> BoxFuture<'a, Result<Asked, AskError>> {
    Box::pin(async move {
        let begun = Instant::now();
        if request.question.len() > MAX_QUESTION {
            return Err(AskError::Long);
        }
        // Each word has a bit.
        let words = words::question(&request.question);
        if words.is_empty() {
            return Err(AskError::Empty);
        }
        let is_cut = words.len() >= MAX_WORDS;
        let timeout = view.time_for(request.among.timeout);
        let clock = Arc::new(Clock::new(begun, timeout));
        let _end = EndClock(Arc::clone(&clock));
        let asking = Asking { view, request, words: words.into(), clock: &clock, timeout };
        let mut asked = asking.answer().await?;
        asked.is_cut = is_cut;
        let shown: usize = asked.files.iter().map(|one| 1 + one.file.copies.len()).sum();
        if asked.stats.stopped.is_none() && shown < asked.matched {
            asked.stats.stopped = Some(Stopped::Limit);
        }
        asked.stats.files = asked.files.len();
        asked.stats.matches = asked.files.iter().map(|one| one.file.matches()).sum();
        asked.stats.notes.extend(request.among.notes.iter().cloned());
        asked.stats.duration = begun.elapsed();
        Ok(asked)
    })
}

/// A question that is being answered.
struct Asking<'a> {
    view: &'a View,
    request: &'a AskRequest,
    words: Arc<[QuestionWord]>,
    clock: &'a Arc<Clock>,
    timeout: Option<Duration>,
}

impl Asking<'_> {
    async fn answer(&self) -> Result<Asked, AskError> {
        let (view, request, clock) = (self.view, self.request, self.clock);
        let mut asked = Asked::default();
        let memory = view.ask_memory();
        let generation = memory.generation();
        let all = view.snapshot(request.among.resume.as_ref()).await?;
        let catalog = view.visible_of(Arc::clone(&all));
        let mut chosen = Chosen::of(view, Arc::clone(&catalog), &request.among, clock)?;
        asked.stats.switch = catalog.switch;
        asked.stats.shards = chosen.selection.shards.len();
        asked.stats.note_covered(&catalog, chosen.repos());
        asked.stats.notes.append(&mut chosen.notes);
        let chosen = Arc::new(chosen);
        let reading = async {
            let of: Vec<Shard> =
                chosen.selection.shards.iter().map(|candidate| candidate.shard.clone()).collect();
            let (source, memory) = if request.among.brute {
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
        let late = self.timeout.map(Stopped::Timeout);
        let read = clock.wait(reading).await.transpose()?.filter(|_| clock.goes_on());
        let Some((source, shards)) = read else {
            asked.stats.stopped = late;
            return Ok(asked);
        };
        asked.unindexed = shards.iter().map(|one| one.visible.unindexed).sum();
        let looked = source.look_up(view, &shards, &self.words, clock).await?;
        asked.stats.shards_searched = looked.shards.iter().flatten().count();
        if let Some(why) = looked.failed {
            asked.stats.stopped = Some(Stopped::Shards(why));
        } else if looked.shards.iter().any(Option::is_none) {
            asked.stats.stopped.clone_from(&late);
        }
        let showing = self.show(&mut asked, &chosen, shards, looked.shards);
        // What was found is shown, even if finding it took all the time.
        match clock.wait_at_least(SHOWING, showing).await {
            Some(shown) => shown?,
            None => asked.stats.stopped = late,
        }
        // An ingest may have deleted rows of an unlocked epoch meanwhile.
        if view.may_be_old(&all) && !all.is_held().await {
            let why = "the connection that held this snapshot of the index failed; ask again";
            return Err(store::Error::Unreachable(why.to_owned()).into());
        }
        Ok(asked)
    }

    /// Ranks what was found, and shows the best.
    async fn show(
        &self,
        asked: &mut Asked,
        chosen: &Arc<Chosen>,
        shards: Arc<[AskedShard]>,
        counted: Vec<Option<Counted>>,
    ) -> Result<(), Error> {
        let (view, request) = (self.view, self.request);
        let weights = weigh(&self.words, &shards, &counted);
        asked.words = told(&self.words, &weights);
        let (of, by) = (Arc::clone(&shards), weights.clone());
        let work = tokio::task::spawn_blocking(move || texts_of_all(&of, &counted, &by));
        let texts = work.await.expect("scoring does not panic");
        asked.matched = texts.iter().map(|of| of.files).sum();
        asked.matched_all = texts.iter().map(|of| of.files_all).sum();
        let mut candidates = best(texts.into_iter().flat_map(|of| of.best).collect());
        let reader = Reader { view, chosen, shards: &shards };
        let files = reader.files(&candidates).await?;
        in_order(&mut candidates, &files, &chosen.catalog.repos);
        candidates.truncate(CANDIDATES);
        let symbols = reader.symbols(&candidates).await?;
        let question = Question::of(&request.question, &self.words, &weights.idf);
        let origins = origins(&chosen.catalog.repos, request.current.clone());
        let scoring = Arc::new(Scoring {
            question,
            words: Arc::clone(&self.words),
            wanted: Wanted::of(&self.words, weights.telling),
            chosen: Arc::clone(chosen),
            shards: Arc::clone(&shards),
            origins,
        });
        let by = Arc::clone(&scoring);
        let work = tokio::task::spawn_blocking(move || {
            threads::matching().install(|| by.rank(candidates, &files, symbols))
        });
        let mut ranked = work.await.expect("scoring does not panic");
        ranked.truncate(request.limit.clamp(1, MAX_FILES));
        let chunks = reader.texts(ranked.iter().map(|text| &text.candidate)).await?;
        let most = request.lines;
        let work = tokio::task::spawn_blocking(move || {
            threads::matching().install(|| scoring.show(ranked, chunks, most))
        });
        asked.files = work.await.expect("finding lines does not panic");
        if request.checks_disk {
            let shown: ShownFiles = asked.files.iter().map(|one| &one.file).collect();
            asked.stale = view.stale(shown).await;
        }
        Ok(())
    }
}

/// Weighs the words of a question by the chunks in which they occur.
fn weigh(words: &[QuestionWord], shards: &[AskedShard], counted: &[Option<Counted>]) -> Weights {
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

/// Scores the texts of all shards, on several threads.
fn texts_of_all(
    shards: &[AskedShard],
    counted: &[Option<Counted>],
    weights: &Weights,
) -> Vec<ShardTexts> {
    let each = shards.par_iter().zip(counted).enumerate();
    let score = |(at, (one, counted)): (usize, (&AskedShard, &Option<Counted>))| {
        let counted = counted.as_ref()?;
        Some(texts_of(at, counted, weights, &one.lengths, &one.visible))
    };
    threads::matching().install(|| each.filter_map(score).collect())
}

/// Returns the words of a question as an answer tells them.
fn told(words: &[QuestionWord], weights: &Weights) -> Vec<AskedWord> {
    let typed = words.iter().enumerate().filter(|(_, word)| word.role != Role::Joined);
    let told = typed.map(|(at, word)| AskedWord {
        text: word.text.clone(),
        chunks: weights.chunks[at],
        tells: weights.telling >> at & 1 == 1,
    });
    told.collect()
}
