//! Tests the search of one shard, on a source made of vectors.

use std::collections::HashMap as Map;
use std::time::Instant;

use query::{Case, Lookup, Query};
use store::{CatalogRepo, Epoch, RepoId, Shard, ShardId, SymbolRow};

use super::super::candidates::{Answer, Candidates, LookupExecutor};
use super::super::chunk_set::{BlobStarts, ChunkSet};
use super::super::clock::Clock;
use super::super::cost::MEMORY;
use super::super::plans::PlanCache;
use super::super::shards::Selection;
use super::super::state::SearchState;
use super::super::verify::TextChunk;
use super::*;
use crate::types::Request;

/// A source made of vectors: the blob of each chunk, its offset there, and its text. Every blob has one file.
struct Vectors {
    chunks: Vec<(BlobId, u64, &'static str)>,
    starts: Arc<BlobStarts>,
    plan: query::Plan,
}

impl Vectors {
    fn chunk(&self, n: i32) -> TextChunk {
        let (blob, start, text) = self.chunks[n as usize];
        let before = self.chunks[blob.0 as usize..n as usize].iter();
        let lines: usize = before.map(|(_, _, text)| text.matches('\n').count()).sum();
        let text = ChunkText::Owned(text.to_owned());
        TextChunk { n, blob, line: lines as u64 + 1, start, text }
    }
}

/// Answers each lookup with all chunks of a range of blobs.
struct Everything<'v>(&'v Vectors, Range<i32>);

impl LookupExecutor for Everything<'_> {
    fn look_up(&self, _: &Lookup, _: Option<&[BlobId]>) -> Option<Answer> {
        let (chunks, all) = (&self.0.chunks, (0..).zip(&self.0.chunks));
        let within = all.filter(|(_, (blob, ..))| self.1.contains(&blob.0)).map(|(n, _)| n..n + 1);
        Some(Answer::Chunks(ChunkSet::of_ranges(chunks.len() as i32, within)))
    }

    fn starts(&self) -> Option<&Arc<BlobStarts>> {
        Some(&self.0.starts)
    }

    fn count(&self, _: &Lookup) -> Option<usize> {
        None
    }
}

impl Source for Vectors {
    type Reader = Self;

    fn reader(&self) -> &Self {
        self
    }

    fn pace(&self) -> Pace {
        Pace {
            costs: &MEMORY,
            pipelines: false,
            reads_chunks_first: false,
            known_chunks: None,
            named_blobs: None,
        }
    }

    fn end_of_range(&self, _: i32) -> i32 {
        i32::MAX
    }

    async fn candidates(&self, blobs: Range<i32>) -> Result<Candidates, store::Error> {
        Ok(Candidates::of(&self.plan, &[], &Everything(self, blobs)))
    }
}

impl ContentReader for Vectors {
    async fn files(&self, blobs: Option<&[BlobId]>) -> Result<Vec<File>, store::Error> {
        let mut all: Vec<BlobId> = self.chunks.iter().map(|(blob, ..)| *blob).collect();
        all.dedup();
        let wanted = all.into_iter().filter(|blob| blobs.is_none_or(|some| some.contains(blob)));
        let file = |blob: BlobId| File {
            blob,
            bytes: 100,
            repo: RepoId(1),
            path: format!("{}.txt", blob.0),
            language: None,
            trees: store::Trees::default(),
        };
        Ok(wanted.map(file).collect())
    }

    fn cached_chunks(&self, _: &[i32]) -> Option<Vec<TextChunk>> {
        None
    }

    async fn chunks(&self, numbers: &[i32]) -> Result<Vec<TextChunk>, store::Error> {
        Ok(numbers.iter().map(|n| self.chunk(*n)).collect())
    }

    async fn symbols(&self, blobs: &[BlobId]) -> Result<Vec<SymbolRow>, store::Error> {
        // The second blob defines "thread".
        let row = SymbolRow {
            blob: BlobId(1),
            names: "thread".to_owned(),
            kinds: vec![8],
            starts: vec![20],
            ends: vec![27],
            lines: vec![4],
            parents: vec![-1],
        };
        Ok(Vec::from_iter(blobs.contains(&BlobId(1)).then_some(row)))
    }

    async fn chunks_at(&self, places: &[(BlobId, i32)]) -> Result<Vec<TextChunk>, store::Error> {
        let chunk = |(blob, at): &(BlobId, i32)| {
            let holds = |(of, start, _): &(BlobId, u64, &str)| of == blob && *start <= *at as u64;
            self.chunk(self.chunks.iter().rposition(holds).unwrap() as i32)
        };
        Ok(places.iter().map(chunk).collect())
    }

    async fn blobs(&self, blobs: &[(BlobId, usize)]) -> Result<Vec<TextChunk>, store::Error> {
        let of_blobs = |n: &i32| {
            let (of, ..) = self.chunks[*n as usize];
            blobs.iter().any(|(blob, _)| *blob == of)
        };
        let numbers = (0..self.chunks.len() as i32).filter(of_blobs);
        Ok(numbers.map(|n| self.chunk(n)).collect())
    }
}

/// Returns the matching files from blob `from` on, each with the numbers of its lines.
async fn found(text: &str, limit: Option<usize>, from: i32) -> Vec<(String, Vec<u64>)> {
    let epoch = Epoch(1);
    let (id, languages) = (ShardId(0), [].into());
    let shard = Shard {
        id,
        bytes: 0,
        since: epoch,
        chunks: 5,
        changed: epoch,
        filtered: 5,
        worded: 5,
        languages,
    };
    let repo =
        CatalogRepo { name: "one".to_owned(), shards: vec![ShardId(0)], ..CatalogRepo::default() };
    let repos = Arc::new(Map::from([(RepoId(1), Arc::new(repo))]));
    let mut request = Request::new(&Query::parse(text, Case::Smart).unwrap()).unwrap();
    request.limit = limit;
    let request = Arc::new(request);
    let query = request.compiled_query();
    let selection = Selection::of(
        (
            store::FileFilter {
                epoch,
                repos: None,
                languages: None,
                trees: store::TreeFilter::All,
            },
            &[shard],
        ),
        &repos,
        query,
        None,
        false,
        &|| true,
    );
    let mut plans = PlanCache::default();
    let task = selection.task(&selection.shards[0], query, &mut plans).unwrap();
    let state = Arc::new(SearchState::new(&request, Clock::new(Instant::now(), None)));
    let search = Search { request: Arc::clone(&request), repos, selection, state };
    let source = Vectors {
        chunks: vec![
            (BlobId(0), 0, "a needle\nhay\n"),
            (BlobId(1), 0, "hay\n"),
            (BlobId(1), 4, "more hay\nneedle\nthread\n"),
            (BlobId(3), 0, "needles and threads\n"),
            (BlobId(4), 0, "only thread\n"),
        ],
        starts: Arc::new(BlobStarts::new([0, 1, 3, 4].into_iter().map(BlobId))),
        plan: task.query.plan.clone(),
    };
    let (send, mut events) = mpsc::channel(64);
    let (search, task, from) = (&search, &task, BlobId(from));
    let named = &ChunkCount::estimated(0);
    let one = ShardSearch {
        search,
        task,
        source,
        from,
        max_repeats: 0,
        cores: 1,
        concurrent_shards: 1,
        chunks: named,
    };
    one.run(send).await;
    let mut files = Vec::new();
    while let Some(event) = events.recv().await {
        if let ShardEvent::Files(some, _) = event {
            files.extend(
                some.into_iter()
                    .map(|file| (file.path, file.lines.iter().map(|line| line.number).collect())),
            );
        }
    }
    files
}

fn named(files: &[(&str, &[u64])]) -> Vec<(String, Vec<u64>)> {
    files.iter().map(|(path, lines)| ((*path).to_owned(), lines.to_vec())).collect()
}

#[tokio::test]
async fn a_shard_gives_what_matches_in_the_order_of_its_blobs() {
    let needles = named(&[("0.txt", &[1]), ("1.txt", &[3]), ("3.txt", &[1])]);
    assert_eq!(found("c:needle", None, 0).await, needles);
    assert_eq!(
        found("c:needle c:thread", None, 0).await,
        named(&[("1.txt", &[3, 4]), ("3.txt", &[1])])
    );
    assert_eq!(found("c:needle -c:thread", None, 0).await, named(&[("0.txt", &[1])]));
    assert_eq!(found("c:nowhere", None, 0).await, []);
    assert_eq!(found("sym:thread", None, 0).await, named(&[("1.txt", &[4])]));
    assert_eq!(
        found("c:needle -sym:thread", None, 0).await,
        named(&[("0.txt", &[1]), ("3.txt", &[1])])
    );
    assert_eq!(found("c:needle sym:thread", None, 0).await, named(&[("1.txt", &[3, 4])]));
    // These are decided on whole texts.
    assert_eq!(found("-c:needle", None, 0).await, named(&[("4.txt", &[])]));
    assert_eq!(found(r"c:hay\nneedle", None, 0).await.len(), 1);
}

#[tokio::test]
async fn a_shard_goes_on_from_a_blob_and_ends_after_its_limit() {
    assert_eq!(found("c:needle", None, 1).await, named(&[("1.txt", &[3]), ("3.txt", &[1])]));
    assert_eq!(found("c:needle", None, 4).await, []);
    // One result more than the limit shows that there are more.
    assert!(found("c:needle", Some(1), 0).await.len() >= 2);
}
