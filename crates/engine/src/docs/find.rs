//! Finding docs by their words: the best first, with what matches marked.
//!
//! Each shard finds, ranks and cuts on its own, several at a time; what the page shows of the best of all is
//! then loaded in a few batches: files and texts of each shard, and one statement that marks all texts. Of a
//! large text, only the part in which most of the words stand is marked.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use query::Matcher;
use store::{
    Catalog, DocHit, DocsQuery, File, FileFilter, Headline, RepoId, Shard, ShardDocs,
    ShardDocsQuery,
};

use super::{DocText, words};
use crate::search::Searcher;

/// Contents that are ranked by all their words, of all that match, unless a request says otherwise.
pub const MAX_RANKED: usize = 5_000;

/// Bytes of the longest query.
const MAX_QUERY: usize = 2000;

/// Which texts are looked at, and by which words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dictionary {
    /// Texts in English by the stems of their words, all others by their words as they are.
    #[default]
    Both,
    /// Texts in English only.
    English,
    /// All others only; of the query all words count, those too that are in every English text.
    Plain,
}

/// What to look for.
#[derive(Clone, Debug)]
pub struct DocsRequest {
    /// Words; quotes hold a phrase, `or` stands between two of which one will do, a minus before what must not
    /// be there.
    pub query: String,
    /// Most results.
    pub limit: usize,
    /// Only in repositories whose names match one of these, if there are any.
    pub repos: Vec<Matcher>,
    /// Only in these languages, if there are any: names in small letters.
    pub languages: Vec<String>,
    /// Which texts.
    pub dictionary: Dictionary,
    /// Most texts that are ranked by all their words; of more, those whose titles and headings fit best.
    pub ranked: usize,
    /// How long it may take; none for as long as it takes.
    pub timeout: Option<Duration>,
}

/// Why a search for docs has no answer.
#[derive(Debug, thiserror::Error)]
pub enum DocsError {
    /// There is no word in the query.
    #[error("nothing to look for: give some words")]
    Empty,
    /// It is too long.
    #[error("the query is longer than {MAX_QUERY} bytes: a few words find more")]
    Long,
    /// All its words are in nearly every text.
    #[error(
        "all these words are in nearly every text (the, of, how): add one that tells what the text is about"
    )]
    Common,
    /// It only says what must not be there.
    #[error("this only rules words out: add one to look for")]
    Excludes,
    /// The database could not do its part.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Docs {
    /// The best, the best first. Contents that several files have are one result.
    pub docs: Vec<Doc>,
    /// How many contents match, as far as was looked.
    pub matched: usize,
    /// How many of them were ranked by all their words.
    pub ranked: usize,
    /// How many shards there are to look at.
    pub shards: usize,
    /// Why that is not all; none if it is.
    pub stopped: Option<DocsStopped>,
    /// How long all of it took.
    pub duration: Duration,
    /// ... of that, until the best were known.
    pub ranking: Duration,
}

/// Why an answer is not complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocsStopped {
    /// There are more than were asked for.
    Limit,
    /// There are so many that only those were ranked whose titles and headings fit best.
    Common,
    /// The time was up before all shards were looked at.
    Timeout(Duration),
    /// Some shards could not be looked at, for this reason.
    Shards(String),
}

/// The kinds of docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All of a file.
    Document,
    /// The comment at the head of a source file.
    Comment,
}

/// A part of a text, and whether it is what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// It is.
    pub hit: bool,
    /// The text.
    pub text: String,
}

/// A file whose doc matches.
#[derive(Clone, Debug)]
pub struct Doc {
    /// The name of its repository.
    pub repo: String,
    /// Its path in the repository.
    pub path: String,
    /// Its language, when that was recognised.
    pub language: Option<String>,
    /// Its kind.
    pub kind: Kind,
    /// Its title, or the first sentence of the comment.
    pub title: Vec<Piece>,
    /// The parts of it that fit best.
    pub snippet: Vec<Piece>,
    /// How well it fits, for comparison only.
    pub rank: f32,
    /// How many other files have the same contents.
    pub same: usize,
}

/// A hit, and where it is: the shard's place in the catalog.
type Placed = (usize, DocHit);

impl Searcher {
    /// The documents and comments that match, the best first.
    pub async fn docs(&self, request: &DocsRequest) -> Result<Docs, DocsError> {
        let begun = Instant::now();
        let deadline = request.timeout.map(|timeout| begun + timeout);
        if request.query.len() > MAX_QUERY {
            return Err(DocsError::Long);
        }
        let words = words::asked(&request.query, true);
        if words.is_empty() {
            return Err(DocsError::Empty);
        }
        let catalog = self.catalog().await?;
        let query = self.understood(&words, request.dictionary).await?;
        let repos = (!request.repos.is_empty()).then(|| chosen(&catalog, &request.repos));
        let holds = |shard: &Shard| match &repos {
            Some(ids) => ids.iter().any(|id| catalog.repos[id].shards.contains(&shard.id)),
            None => true,
        };
        let shards: Vec<usize> =
            (0..catalog.shards.len()).filter(|at| holds(&catalog.shards[*at])).collect();
        let languages = &request.languages;
        let files = FileFilter {
            epoch: catalog.epoch,
            repos,
            languages: (!languages.is_empty()).then(|| languages.clone()),
        };
        let ranked = request.limit.max(request.ranked / shards.len().max(1)) as i64;
        let ask = ShardDocsQuery { query, files, ranked, limit: request.limit as i64 };

        let mut docs = Docs { shards: shards.len(), ..Docs::default() };
        let hits = self.ranked(&catalog, shards, &ask, request, deadline, &mut docs).await?;
        docs.ranking = begun.elapsed();
        docs.docs = self.shown(&catalog, &ask, request, hits).await?;
        if docs.stopped.is_none() {
            docs.stopped = if docs.ranked < docs.matched {
                Some(DocsStopped::Common)
            } else {
                (docs.docs.len() < docs.matched).then_some(DocsStopped::Limit)
            };
        }
        docs.duration = begun.elapsed();
        Ok(docs)
    }

    /// What the server makes of a query.
    async fn understood(
        &self,
        words: &str,
        dictionary: Dictionary,
    ) -> Result<DocsQuery, DocsError> {
        let mut lease = self.store().lease().await?;
        let [english, beside, plain] = lease.docs_query(words).await?;
        lease.done();
        let asked = match dictionary {
            Dictionary::Both => [Some(english), Some(beside)],
            Dictionary::English => [Some(english), None],
            Dictionary::Plain => [None, Some(plain)],
        };
        let excludes = asked.iter().flatten().any(|(text, _)| !text.is_empty());
        let [english, plain] =
            asked.map(|query| query.filter(|(_, asks)| *asks).map(|(text, _)| text));
        match (&english, &plain) {
            (None, None) if excludes => Err(DocsError::Excludes),
            (None, None) => Err(DocsError::Common),
            _ => Ok(DocsQuery { english, plain }),
        }
    }

    /// The best of all shards, the best first.
    async fn ranked(
        &self,
        catalog: &Catalog,
        shards: Vec<usize>,
        ask: &ShardDocsQuery,
        request: &DocsRequest,
        deadline: Option<Instant>,
        docs: &mut Docs,
    ) -> Result<Vec<Placed>, store::Error> {
        let look = async |at: usize| -> Result<(usize, ShardDocs), store::Error> {
            let mut lease = self.store().lease().await?;
            let found = lease.docs(catalog.shards[at].id, ask).await?;
            lease.done();
            Ok((at, found))
        };
        let mut looks = futures_util::stream::iter(shards.into_iter().map(look))
            .buffer_unordered(self.parallel());
        let mut hits: Vec<Placed> = Vec::new();
        loop {
            let next = match deadline {
                Some(deadline) => tokio::time::timeout_at(deadline.into(), looks.next()).await,
                None => Ok(looks.next().await),
            };
            match next {
                Ok(None) => break,
                Ok(Some(Ok((at, found)))) => {
                    docs.matched += found.matched as usize;
                    docs.ranked += found.ranked as usize;
                    hits.extend(found.hits.into_iter().map(|hit| (at, hit)));
                }
                // One shard that fails degrades the answer; a database that is gone ends it.
                Ok(Some(Err(error @ (store::Error::Unreachable(_) | store::Error::Busy)))) => {
                    return Err(error);
                }
                Ok(Some(Err(error))) => {
                    tracing::error!("a shard could not be searched for docs: {error}");
                    docs.stopped.get_or_insert(DocsStopped::Shards(error.to_string()));
                }
                Err(_) => {
                    docs.stopped = request.timeout.map(DocsStopped::Timeout);
                    break;
                }
            }
        }
        // In an order that does not hang on which shard was faster.
        let key = |(at, hit): &Placed| (hit.comment, *at, hit.blob);
        hits.sort_by(|a, b| b.1.rank.total_cmp(&a.1.rank).then_with(|| key(a).cmp(&key(b))));
        hits.truncate(request.limit);
        Ok(hits)
    }

    /// Loads what is shown of some hits.
    async fn shown(
        &self,
        catalog: &Catalog,
        ask: &ShardDocsQuery,
        request: &DocsRequest,
        hits: Vec<Placed>,
    ) -> Result<Vec<Doc>, store::Error> {
        let mut by_shard: HashMap<usize, Vec<DocHit>> = HashMap::new();
        for (at, hit) in &hits {
            by_shard.entry(*at).or_default().push(*hit);
        }
        let load = async |(at, hits): (usize, Vec<DocHit>)| -> Result<_, store::Error> {
            let shard = &catalog.shards[at];
            let blobs: Vec<_> = hits.iter().map(|hit| hit.blob).collect();
            let mut lease = self.store().lease().await?;
            let mut files = lease.files(shard.id, Some(&blobs), &ask.files).await?;
            lease.done();
            files.retain(|file| catalog.repos.contains_key(&file.repo));
            files.sort_by_key(|file| {
                (file.blob, catalog.repos[&file.repo].name.clone(), file.path.clone())
            });
            let sizes: HashMap<_, _> =
                files.iter().map(|file| (file.blob, file.bytes as usize)).collect();
            let sizes: Vec<_> = sizes.into_iter().collect();
            let mut texts = self.texts(shard, &sizes).await?;
            let query = request.query.clone();
            // Taking large texts apart takes its time.
            let work = tokio::task::spawn_blocking(move || {
                let mut loaded = Vec::with_capacity(hits.len());
                for hit in hits {
                    let text = texts.remove(&hit.blob).unwrap_or_default();
                    let of_blob: Vec<&File> =
                        files.iter().filter(|file| file.blob == hit.blob).collect();
                    // The same contents may be a doc as one file and none as another.
                    let shown = of_blob.iter().find_map(|file| {
                        let doc = DocText::of(&file.path, file.language.as_deref(), &text)?;
                        (doc.comment == hit.comment).then_some((*file, doc))
                    });
                    let first = of_blob.first().map(|file| (*file, DocText::default()));
                    if let Some((file, doc)) = shown.or(first) {
                        let body = words::apart(words::window(&doc.body, &query));
                        let texts = [words::apart(&doc.title), body];
                        loaded.push(((at, hit.blob), (file.clone(), texts, of_blob.len() - 1)));
                    }
                }
                loaded
            });
            let loaded = work.await.expect("taking texts apart does not panic");
            Ok(loaded)
        };
        let loads = futures_util::stream::iter(by_shard.into_iter().map(load));
        let mut loads = loads.buffer_unordered(self.parallel());
        let mut loaded = HashMap::new();
        while let Some(some) = loads.next().await {
            loaded.extend(some?);
        }
        drop(loads);
        let mut rows = Vec::new();
        let mut texts = Vec::new();
        for (at, hit) in hits {
            let Some((file, parts, same)) = loaded.remove(&(at, hit.blob)) else { continue };
            for (whole, text) in [true, false].into_iter().zip(parts) {
                texts.push(Headline { plain: hit.plain, whole, text });
            }
            rows.push((hit, file, same));
        }
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut lease = self.store().lease().await?;
        let shown = words::asked(&request.query, false);
        let mut marked = lease.headlines(&shown, &texts, words::MARKS, words::BETWEEN).await?;
        lease.done();
        for (marked, text) in marked.iter_mut().zip(&texts).filter(|(_, text)| !text.whole) {
            *marked = words::whole(marked, &text.text);
        }
        let docs =
            rows.into_iter().zip(marked.chunks_exact(2)).map(|((hit, file, same), marked)| Doc {
                repo: catalog.repos[&file.repo].name.clone(),
                path: file.path,
                language: file.language,
                kind: if hit.comment { Kind::Comment } else { Kind::Document },
                title: pieces(&marked[0]),
                snippet: pieces(&marked[1]),
                rank: hit.rank,
                same,
            });
        Ok(docs.collect())
    }
}

/// The repositories whose names match, in order.
fn chosen(catalog: &Catalog, matchers: &[Matcher]) -> Vec<RepoId> {
    let named = catalog.repos.iter();
    let named =
        named.filter(|(_, repo)| matchers.iter().any(|matcher| matcher.is_match(&repo.name)));
    let mut ids: Vec<RepoId> = named.map(|(id, _)| *id).collect();
    ids.sort_unstable();
    ids
}

/// A marked text in pieces, on one line.
fn pieces(marked: &str) -> Vec<Piece> {
    let mut all: Vec<Piece> = words::pieces(marked)
        .into_iter()
        .map(|(hit, text)| Piece { hit, text: one_line(&text) })
        .collect();
    if let Some(first) = all.first_mut() {
        first.text = first.text.trim_start().to_owned();
    }
    if let Some(last) = all.last_mut() {
        last.text.truncate(last.text.trim_end().len());
    }
    all.retain(|piece| !piece.text.is_empty());
    all
}

/// A text with one blank for each run of blanks and line ends.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if !c.is_whitespace() {
            line.push(c);
        } else if !line.ends_with(' ') {
            line.push(' ');
        }
    }
    line
}
