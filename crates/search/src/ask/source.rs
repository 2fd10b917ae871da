//! Finds where the words of a question occur: in the index of words, or, to check that, in the texts themselves.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use rayon::prelude::*;
use store::{Shard, ShardId, WordField, WordRow};
use words::{QuestionWord, Word};

use super::brute::Texts;
use super::chosen::{AskedShard, Silent};
use super::first::{Counted, Occurrences, Place};
use super::lengths::Lengths;
use crate::clock::Clock;
use crate::missing::Missing;
use crate::threads;
use crate::view::View;

/// Where the words of texts are known from.
pub(super) enum Source {
    /// The index of words.
    Index,
    /// The texts of each shard.
    Texts(Vec<Texts>),
}

/// Where the words of a question occur in each shard; `None` for a shard that was not searched.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) shards: Vec<Option<Counted>>,
    /// The error of the first shard that failed.
    pub(super) failed: Option<String>,
    /// The shards whose nodes do not answer.
    pub(super) missing: Missing,
}

impl Source {
    /// Returns the lengths of the chunks of some shards; for each, the node that does not answer if they are not known for
    /// that. Those from the index are kept in memory.
    ///
    /// # Errors
    /// The database query fails.
    pub(super) async fn lengths(
        &self,
        view: &View,
        shards: &[Shard],
        generation: u64,
    ) -> Result<Vec<(Arc<Lengths>, Option<Silent>)>, store::Error> {
        if let Self::Texts(texts) = self {
            let lengths = |texts: &Texts| (Arc::new(texts.lengths()), None);
            return Ok(texts.iter().map(lengths).collect());
        }
        let memory = view.ask_memory();
        let mut known: Vec<Arc<Lengths>> = shards.iter().map(|one| memory.lengths(one)).collect();
        let is_short = |(shard, lengths): &(&Shard, &Arc<Lengths>)| lengths.upto() < shard.chunks;
        let short: Vec<(ShardId, i32)> = shards
            .iter()
            .zip(&known)
            .filter(is_short)
            .map(|(shard, lengths)| (shard.id, lengths.upto()))
            .collect();
        if short.is_empty() {
            return Ok(known.into_iter().map(|lengths| (lengths, None)).collect());
        }
        let reads = view.store().in_groups(short, |(shard, _)| *shard).into_iter();
        let reads: Vec<_> = reads
            .map(async |asked| {
                let mut lease = view.store().lease().await?;
                let read = match lease.word_lengths(&asked).await {
                    Err(store::Error::Node { node, .. }) => {
                        let shards = asked.iter().map(|(shard, _)| (*shard, node.clone()));
                        return Ok((Vec::new(), shards.collect()));
                    }
                    read => read?,
                };
                lease.done();
                Ok::<_, store::Error>((read, Vec::new()))
            })
            .collect();
        let mut read: HashMap<ShardId, Vec<(i32, Vec<u8>)>> = HashMap::new();
        let mut reads = stream::iter(reads).buffer_unordered(view.parallel());
        let mut silent: HashMap<ShardId, Silent> = HashMap::new();
        while let Some((rows, without)) = reads.try_next().await? {
            silent.extend(without);
            for row in rows {
                read.entry(row.shard).or_default().push((row.first, row.codes));
            }
        }
        for (shard, lengths) in shards.iter().zip(&mut known) {
            if let Some(further) = read.remove(&shard.id) {
                *lengths = Arc::new(lengths.with(&further));
                memory.keep_lengths(generation, shard, lengths);
            }
        }
        let with = |(shard, lengths): (&Shard, _)| (lengths, silent.remove(&shard.id));
        Ok(shards.iter().zip(known).map(with).collect())
    }

    /// Looks up the words of a question in some shards, until the clock ends. A shard that fails is left out.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub(super) async fn look_up(
        &self,
        view: &View,
        shards: &Arc<[AskedShard]>,
        question: &Arc<[QuestionWord]>,
        clock: &Arc<Clock>,
    ) -> Result<Looked, store::Error> {
        if let Self::Texts(texts) = self {
            let each = shards.iter().zip(texts);
            let each = each.map(|(one, texts)| {
                clock.goes_on().then(|| texts.occurrences(question, &one.visible).counted())
            });
            return Ok(Looked { shards: each.collect(), ..Looked::default() });
        }
        let mut looked = Looked::default();
        looked.shards.resize_with(shards.len(), || None);
        for one in shards.iter() {
            if let Some(node) = &one.silent {
                let place = (one.shard.id, view.store().group_of(one.shard.id));
                looked.missing.add(place, one.shard.bytes, node);
            }
        }
        let mut words: Vec<Word> = question.iter().map(|word| word.word).collect();
        words.sort_unstable();
        words.dedup();
        let words = &words;
        let is_seen = |one: &AskedShard| one.visible.count > 0 && one.silent.is_none();
        let seen = shards.iter().enumerate().filter(|(_, one)| is_seen(one));
        let seen: Vec<(usize, ShardId)> = seen.map(|(at, one)| (at, one.shard.id)).collect();
        let groups = view.store().in_groups(seen, |(_, shard)| *shard);
        let asks: Vec<_> = groups
            .into_iter()
            .map(async |group| {
                let ids: Vec<ShardId> = group.iter().map(|(_, shard)| *shard).collect();
                let asking = async {
                    let mut lease = view.store().lease().await?;
                    let rows = lease.word_rows(&ids, words).await?;
                    lease.done();
                    Ok::<_, store::Error>(rows)
                };
                match asking.await {
                    Ok(rows) => {
                        let (shards, question) = (Arc::clone(shards), Arc::clone(question));
                        let clock = Arc::clone(clock);
                        // Decoding takes as long as reading, so it must not hold up other searches.
                        let work = tokio::task::spawn_blocking(move || {
                            decode_all(&group, &rows, &shards, &question, &clock)
                        });
                        Ok(work.await.expect("decoding does not panic"))
                    }
                    Err(error @ (store::Error::Unreachable(_) | store::Error::Busy)) => Err(error),
                    Err(store::Error::Node { node, .. }) => {
                        let none =
                            |(at, _): &(usize, ShardId)| (*at, Answered::Silent(node.clone()));
                        Ok(group.iter().map(none).collect())
                    }
                    Err(error) => Ok(vec![(group[0].0, Answered::Failed(error.to_string()))]),
                }
            })
            .collect();
        let mut answers = stream::iter(asks).buffer_unordered(view.parallel());
        let reading = async {
            while let Some(group) = answers.try_next().await? {
                for (at, counted) in group {
                    match counted {
                        Answered::Counted(counted) => looked.shards[at] = Some(counted),
                        Answered::Failed(why) => {
                            tracing::error!("a shard could not be asked: {why}");
                            looked.failed.get_or_insert(why);
                        }
                        Answered::Silent(node) => {
                            let Shard { id, bytes, .. } = shards[at].shard;
                            looked.missing.add((id, view.store().group_of(id)), bytes, &node);
                        }
                        Answered::Late => {}
                    }
                }
            }
            Ok::<_, store::Error>(())
        };
        // After the deadline, the answer is made of the shards that were read.
        clock.wait(reading).await.unwrap_or(Ok(()))?;
        drop(answers);
        // Nothing is known of a shard without visible words, nor has to be.
        for (one, counted) in shards.iter().zip(&mut looked.shards) {
            if one.visible.count == 0 && one.silent.is_none() {
                let nothing = Occurrences::of(question.len(), &one.visible).counted();
                counted.get_or_insert(nothing);
            }
        }
        Ok(looked)
    }
}

/// What a shard answers.
enum Answered {
    /// Where the words occur in it.
    Counted(Counted),
    /// An error.
    Failed(String),
    /// Nothing: its node does not answer.
    Silent(Silent),
    /// Nothing yet: the clock ended.
    Late,
}

/// Decodes the rows of some shards, on several threads.
fn decode_all(
    group: &[(usize, ShardId)],
    rows: &[WordRow],
    shards: &[AskedShard],
    question: &[QuestionWord],
    clock: &Clock,
) -> Vec<(usize, Answered)> {
    let mut of_shard: HashMap<ShardId, Vec<&WordRow>> = HashMap::new();
    for row in rows {
        of_shard.entry(row.shard).or_default().push(row);
    }
    threads::matching().install(|| {
        let decode = |(at, id): &(usize, ShardId)| {
            let rows = of_shard.get(id).map_or(&[][..], Vec::as_slice);
            let answered = match clock.goes_on().then(|| decode(rows, &shards[*at], question)) {
                Some(Ok(counted)) => Answered::Counted(counted),
                Some(Err(why)) => Answered::Failed(why),
                None => Answered::Late,
            };
            (*at, answered)
        };
        group.par_iter().map(decode).collect()
    })
}

/// Decodes the rows of a shard.
fn decode(
    rows: &[&WordRow],
    one: &AskedShard,
    question: &[QuestionWord],
) -> Result<Counted, String> {
    let mut wanted: Vec<(Word, usize)> =
        question.iter().enumerate().map(|(at, word)| (word.word, at)).collect();
    wanted.sort_unstable();
    let words: Vec<Word> = wanted.iter().map(|(word, _)| *word).collect();
    let mut found = Occurrences::of(question.len(), &one.visible);
    for row in rows {
        let place = match row.field {
            WordField::Body => Place::Text,
            WordField::Definitions => Place::Definition,
            // Not asked for.
            WordField::Docs => continue,
        };
        let first = row.first.unsigned_abs();
        words::decode(&row.entries, &words, &mut |word, chunk, code| {
            found.add(wanted[word].1, place, first + chunk, code);
        })
        .map_err(|_| {
            let shard = one.shard.id.0;
            format!("the words of shard {shard} are damaged; run codesearch check --repair")
        })?;
    }
    Ok(found.counted())
}
