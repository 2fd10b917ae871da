//! Questions in words: `how are validators plugged in` finds the files that answer best, over all repositories.
//!
//! The index of words lists the chunks with each word. The first stage ([`first`]) ranks the texts that have words of the
//! question by BM25, counting over the visible chunks alone ([`visible`]), and keeps the best, and those of files whose
//! [`paths`] have all words. The second stage ([`second`]) scores their files by path, definitions and kind
//! ([`rank::question`]), and reads the texts of those that are shown.

mod brute;
mod chosen;
mod first;
pub(crate) mod kept;
mod lead;
mod lengths;
mod letter;
mod lines;
mod look;
mod paths;
mod read;
mod second;
mod source;
mod types;
mod visible;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use rank::question::Question;
use words::{MAX_WORDS, QuestionWord, Role};

use self::chosen::{AskedShard, Chosen};
use self::first::{CANDIDATES, Counted, Weights, best, leave};
use self::lines::Wanted;
use self::look::{Look, LookedUp, texts_of_all, weigh};
use self::paths::Named;
use self::read::Reader;
use self::second::{Scoring, in_order};
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

/// The inverse document frequency of a stop word, which is not looked up: about every second chunk has it.
const STOP_IDF: f32 = 0.7;

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
        let is_cut = words.len() >= MAX_WORDS;
        let (words, stop_words): (Vec<QuestionWord>, Vec<QuestionWord>) =
            words.into_iter().partition(QuestionWord::is_looked_up);
        if words.is_empty() {
            let asked = letter::ask(view, request).await?.ok_or(AskError::Empty)?;
            return Ok(ended(asked, request, begun));
        }
        let timeout = view.time_for(request.among.timeout);
        let clock = Arc::new(Clock::new(begun, timeout));
        let _end = EndClock(Arc::clone(&clock));
        let words = words.into();
        let asking = Asking { view, request, words, stop_words, clock: &clock, timeout };
        let mut asked = asking.answer().await?;
        asked.is_cut = is_cut;
        Ok(ended(asked, request, begun))
    })
}

/// Adds to an answer what its files tell.
fn ended(mut asked: Asked, request: &AskRequest, begun: Instant) -> Asked {
    let shown: usize = asked.files.iter().map(|one| 1 + one.file.copies.len()).sum();
    if asked.stats.stopped.is_none() && shown < asked.matched {
        asked.stats.stopped = Some(Stopped::Limit);
    }
    asked.stats.note_lost();
    asked.stats.files = asked.files.len();
    asked.stats.matches = asked.files.iter().map(|one| one.file.matches()).sum();
    asked.stats.notes.extend(request.among.notes.iter().cloned());
    asked.stats.duration = begun.elapsed();
    asked
}

/// A question that is being answered.
struct Asking<'a> {
    view: &'a View,
    request: &'a AskRequest,
    /// The words that are looked up.
    words: Arc<[QuestionWord]>,
    stop_words: Vec<QuestionWord>,
    clock: &'a Arc<Clock>,
    timeout: Option<Duration>,
}

impl Asking<'_> {
    async fn answer(&self) -> Result<Asked, AskError> {
        let (view, request, clock) = (self.view, self.request, self.clock);
        let mut asked = Asked::default();
        let look = Look { view, among: &request.among, words: &self.words, clock, in_paths: true };
        let LookedUp { all, chosen, found, named } = look.up().await?;
        asked.stats.switch = chosen.catalog.switch;
        asked.stats.shards = chosen.selection.shards.len();
        asked.stats.note_covered(&chosen.catalog, chosen.repos());
        asked.stats.notes.extend_from_slice(&chosen.notes);
        let late = self.timeout.map(Stopped::Timeout);
        let Some((shards, looked)) = found else {
            asked.stats.stopped = late;
            return Ok(asked);
        };
        asked.unindexed = shards.iter().map(|one| one.visible.unindexed).sum();
        asked.stats.shards_searched = looked.shards.iter().flatten().count();
        let unlooked = looked.shards.iter().filter(|of| of.is_none()).count();
        if let Some(why) = looked.failed {
            asked.stats.stopped = Some(Stopped::Shards(why));
        } else if unlooked > looked.missing.shards.len() {
            asked.stats.stopped.clone_from(&late);
        } else {
            asked.stats.stopped.clone_from(&named.stopped);
        }
        asked.stats.is_restricted = chosen.catalog.visible().is_some();
        asked.stats.note_missing(looked.missing);
        asked.stats.note_missing(named.missing.clone());
        let showing = self.show(&mut asked, &chosen, shards, (looked.shards, named));
        // What was found is shown, even if finding it took all the time.
        match clock.wait_at_least(SHOWING, showing).await {
            Some(shown) => shown?,
            None => asked.stats.stopped = late,
        }
        view.refuse_if_gone(&all).await?;
        Ok(asked)
    }

    /// Returns the question, given what the words weigh that were looked up. Stop words come after them. A word of paths alone
    /// counts as the rarest ones, if there are such paths.
    fn question(&self, weights: &Weights, has_named: bool) -> Question {
        let words: Vec<QuestionWord> = self.words.iter().chain(&self.stop_words).cloned().collect();
        let stop = self.stop_words.iter().map(|_| STOP_IDF);
        let weigh = |idf: &f32| if *idf == 0.0 && has_named { weights.rarest } else { *idf };
        let idf: Vec<f32> = weights.idf.iter().map(weigh).chain(stop).collect();
        Question::of(&self.request.question, &words, &idf)
    }

    /// Ranks what was found, and shows the best.
    async fn show(
        &self,
        asked: &mut Asked,
        chosen: &Arc<Chosen>,
        shards: Arc<[AskedShard]>,
        (counted, named): (Vec<Option<Counted>>, Named),
    ) -> Result<(), Error> {
        let (view, request) = (self.view, self.request);
        let weights = weigh(&self.words, &shards, &counted);
        asked.words = told(&self.words, &weights);
        let has_named = !named.texts.is_empty();
        let texts = texts_of_all(Arc::clone(&shards), counted, weights.clone(), named).await;
        asked.matched = texts.iter().map(|of| of.files).sum();
        asked.matched_all = texts.iter().map(|of| of.files_all).sum();
        let mut candidates = best(texts.into_iter().flat_map(|of| of.best).collect());
        let reader = Reader { view, chosen, shards: &shards };
        let files = reader.files(&candidates).await?;
        in_order(&mut candidates, &files, &chosen.catalog.repos);
        leave(&mut candidates, CANDIDATES);
        let symbols = reader.symbols(&candidates).await?;
        let question = self.question(&weights, has_named);
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
