//! Ranked search of prose (system 2): GIN and `GiST` on titles and bodies, the cost of ranking for common words, and
//! the quality of rankings.

mod scratch;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use docs::words::websearch_query;
use search::docs::{Dictionary, DocsRequest, MAX_RANKED};
use serde::{Deserialize, Serialize};

use crate::Bench;
use crate::report::{Section, Table};
use crate::shared::summary::median;
use scratch::{Judged, RANKINGS, Scratch};

/// The figures of the experiment: name, on bodies, on subjects (Postgres 13).
const REFERENCE: [(&str, &str, &str); 8] = [
    ("GIN build, s", "81", "4"),
    ("GIN size, MB", "672", "20"),
    ("GIN, all matches, queries/s", "320", "3192"),
    ("GIN, top 100 by rank, queries/s", "77", "3028"),
    ("GiST build, s", "44", "22"),
    ("GiST size, MB", "295", "55"),
    ("GiST, all matches, queries/s", "4", "191"),
    ("GiST, top 100 by rank, queries/s", "4", "195"),
];

/// Number of queries made from headings.
const QUERIES: i64 = 2500;

/// Longest time for the queries of one cell of the table.
const CELL: Duration = Duration::from_secs(25);

/// Queries with right answers: each line has a query and, after tabs, the right files.
const JUDGED: &str = include_str!("../../../corpus/judged.tsv");

/// The tried weights of a comment, against 1 for a document.
const COMMENTS: [f32; 4] = [1.0, 0.7, 0.5, 0.25];

/// Measurements of an index of a column.
#[derive(Deserialize, Serialize)]
struct Indexed {
    texts: i64,
    bytes: i64,
    queries: usize,
    build_s: f64,
    index_bytes: i64,
    all: Asked,
    best: Asked,
}

/// The speed of queries.
#[derive(Deserialize, Serialize)]
struct Asked {
    done: usize,
    seconds: f64,
    /// Number of texts that matched in all queries, or that were returned.
    texts: usize,
}

impl Asked {
    fn per_second(&self) -> String {
        let rate = self.done as f64 / self.seconds;
        if rate < 10.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
    }
}

/// Measurements of a word that occurs in a certain number of texts.
#[derive(Deserialize, Serialize)]
struct Word {
    word: String,
    matched: usize,
    /// Milliseconds until the best are known, ranking all.
    all_ms: f64,
    /// Milliseconds until the best are known, ranking as many as a search does.
    some_ms: f64,
    ranked: usize,
    /// Number of the best ten of all that are among the best ten of the ranked texts.
    kept: usize,
    /// Milliseconds to show the best ten.
    shown_ms: f64,
}

/// The quality of a ranking.
#[derive(Deserialize, Serialize)]
struct Score {
    ranking: String,
    comment: f32,
    mrr: f64,
    ndcg: f64,
    first: usize,
    queries: usize,
}

pub(crate) async fn run(bench: &Bench<'_>) -> Result<Section> {
    let mut cells = Vec::new();
    for method in ["gin", "gist"] {
        for column in ["body", "title"] {
            let name = format!("prose-{method}-{column}");
            cells.push(
                bench.steps.step(&name, async || indexed(bench, column, method).await).await?,
            );
        }
    }
    let words = bench.steps.step("prose-words", async || common_words(bench).await).await?;
    let (scores, left_out) = bench.steps.step("prose-judged", async || judged(bench).await).await?;
    Ok(Section {
        name: "prose",
        title: "Ranked text search over prose".to_owned(),
        tables: vec![reference(&cells), ranking(&words), judgements(&scores, left_out)],
    })
}

/// Makes the experiment's table with codesearch's figures; the cells are GIN and `GiST`, each on bodies and titles.
fn reference(cells: &[Indexed]) -> Table {
    let ours = |cell: &Indexed| {
        [
            format!("{:.1}", cell.build_s),
            format!("{:.1}", cell.index_bytes as f64 / 1e6),
            cell.all.per_second(),
            cell.best.per_second(),
        ]
    };
    let mut table = Table::new(
        "GIN beside GiST",
        &["", "bodies there", "bodies here", "subjects there", "titles here"],
    );
    let mut rows = REFERENCE.iter();
    for pair in cells.chunks(2) {
        let (bodies, titles) = (ours(&pair[0]), ours(&pair[1]));
        for ((body, title), (what, body_there, title_there)) in
            bodies.into_iter().zip(titles).zip(&mut rows)
        {
            table.row([
                (*what).to_owned(),
                (*body_there).to_owned(),
                body,
                (*title_there).to_owned(),
                title,
            ]);
        }
    }
    let first = &cells[0];
    table.note(&format!(
        "There: 1,000,000 messages, 33,000 queries of people, one client. Here: {} texts, {:.0} MB of words, {} queries of \
         one to three words from their headings, one client.",
        first.texts,
        first.bytes as f64 / 1e6,
        first.queries
    ));
    for (cell, name) in
        cells.iter().zip(["GIN on bodies", "GIN on titles", "GiST on bodies", "GiST on titles"])
    {
        table.note(&format!(
            "{name}: {} and {} queries were asked, {:.0} matches each on average.",
            cell.all.done,
            cell.best.done,
            cell.all.texts as f64 / cell.all.done.max(1) as f64
        ));
    }
    table
}

fn ranking(words: &[Word]) -> Table {
    let mut table = Table::new(
        "what ranking costs: one word, the best 10, through the whole search",
        &[
            "word",
            "matches",
            "all ranked ms",
            "µs each",
            "ranked",
            "ms",
            "of the best 10",
            "showing ms",
        ],
    );
    for word in words {
        table.row([
            word.word.clone(),
            word.matched.to_string(),
            format!("{:.1}", word.all_ms),
            format!("{:.1}", word.all_ms * 1000.0 / word.matched.max(1) as f64),
            word.ranked.to_string(),
            format!("{:.1}", word.some_ms),
            word.kept.to_string(),
            format!("{:.1}", word.shown_ms),
        ]);
    }
    table.note(&format!(
        "A search ranks {MAX_RANKED} at most by all their words: those that fit best by titles and headings."
    ));
    table
}

fn judgements(scores: &[Score], left_out: usize) -> Table {
    let mut table = Table::new(
        "rankings judged by right answers",
        &["function, normalisation", "comments count", "MRR", "nDCG@10", "right first"],
    );
    for score in scores {
        table.row([
            score.ranking.clone(),
            score.comment.to_string(),
            format!("{:.3}", score.mrr),
            format!("{:.3}", score.ndcg),
            format!("{} of {}", score.first, score.queries),
        ]);
    }
    if left_out > 0 {
        table.note(&format!(
            "{left_out} queries were left out: their answers are not in this index."
        ));
    }
    table
}

/// Builds one index, and measures queries that use it.
async fn indexed(bench: &Bench<'_>, column: &str, method: &str) -> Result<Indexed> {
    let mut scratch = Scratch::open(bench.index).await?;
    let (texts, bytes) = scratch.copy_prose().await?;
    ensure!(
        texts > 0,
        "there is no prose in this index; read everything again: codesearch ingest --again"
    );
    let queries = scratch.heading_queries(QUERIES).await?;
    let begun = Instant::now();
    let index_bytes = scratch.index_prose(column, method).await?;
    let build_s = begun.elapsed().as_secs_f64();
    let all = ask(bench, &mut scratch, &queries, async |scratch, query| {
        Ok(scratch.all(column, query).await? as usize)
    });
    let all = all.await?;
    let best = ask(bench, &mut scratch, &queries, async |scratch, query| {
        Ok(scratch.best(column, query).await?.len())
    });
    let best = best.await?;
    scratch.drop().await?;
    Ok(Indexed { texts, bytes, queries: queries.len(), build_s, index_bytes, all, best })
}

/// Runs all queries one after another, within the time limit.
async fn ask(
    bench: &Bench<'_>,
    scratch: &mut Scratch,
    queries: &[String],
    one: impl AsyncFn(&mut Scratch, &str) -> Result<usize>,
) -> Result<Asked> {
    // The first queries read from disk, which is not to be measured.
    for query in queries.iter().take(20) {
        one(scratch, query).await?;
    }
    let begun = Instant::now();
    let mut asked = Asked { done: 0, seconds: 0.0, texts: 0 };
    for query in queries {
        asked.texts += one(scratch, query).await?;
        asked.done += 1;
        bench.steps.progress(asked.done as u64, queries.len() as u64);
        if begun.elapsed() > bench.steps.span(CELL) {
            break;
        }
    }
    asked.seconds = begun.elapsed().as_secs_f64();
    Ok(asked)
}

/// Measures words that occur in more and more texts.
async fn common_words(bench: &Bench<'_>) -> Result<Vec<Word>> {
    /// Searches for each word.
    const TIMES: usize = 5;
    let mut scratch = Scratch::open(bench.index).await?;
    scratch.copy_prose().await?;
    let words = scratch.words_in(&[10, 100, 1000, 2500, 5000, 10_000, i64::from(i32::MAX)]).await?;
    scratch.drop().await?;
    let mut all = Vec::new();
    for (word, _) in words {
        let request = |ranked| DocsRequest {
            query: word.clone(),
            limit: 10,
            repos: Vec::new(),
            languages: Vec::new(),
            ranked,
            dictionary: Dictionary::Both,
            timeout: None,
        };
        let (mut all_ms, mut some_ms, mut shown_ms) = (Vec::new(), Vec::new(), Vec::new());
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let mut last = None;
        for _ in 0..TIMES {
            let full = search::docs::find(&bench.index.view, &request(usize::MAX)).await?;
            let some = search::docs::find(&bench.index.view, &request(MAX_RANKED)).await?;
            all_ms.push(ms(full.ranking));
            some_ms.push(ms(some.ranking));
            shown_ms.push(ms(some.duration.saturating_sub(some.ranking)));
            last = Some((full, some));
        }
        let Some((full, some)) = last else { continue };
        let place = |doc: &search::docs::Doc| (doc.repo.clone(), doc.path.clone());
        let among: Vec<_> = some.docs.iter().map(place).collect();
        all.push(Word {
            matched: some.matched,
            all_ms: median(&all_ms),
            some_ms: median(&some_ms),
            ranked: some.ranked,
            kept: full.docs.iter().filter(|doc| among.contains(&place(doc))).count(),
            shown_ms: median(&shown_ms),
            word,
        });
    }
    Ok(all)
}

/// Ranks the texts that match the judged queries in all ways. Also returns the number of queries
/// left out.
async fn judged(bench: &Bench<'_>) -> Result<(Vec<Score>, usize)> {
    let mut scratch = Scratch::open(bench.index).await?;
    let mut found = Vec::new();
    let mut left_out = 0;
    for line in JUDGED.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut parts = line.split('\t');
        let query = parts.next().unwrap_or_default();
        let mut right = Vec::new();
        for file in parts {
            if scratch.has_file(file).await? {
                right.push(file);
            }
        }
        if right.is_empty() {
            left_out += 1;
            continue;
        }
        found.push((right, scratch.judged(&websearch_query(query, true)).await?));
    }
    scratch.drop().await?;
    let mut scores = Vec::new();
    for (at, (function, normalisation)) in RANKINGS.iter().enumerate() {
        for comment in COMMENTS {
            let mut score = Score {
                ranking: format!("{function}, {normalisation}"),
                comment,
                mrr: 0.0,
                ndcg: 0.0,
                first: 0,
                queries: found.len(),
            };
            for (right, texts) in &found {
                let weigh =
                    |text: &Judged| text.ranks[at] * if text.comment { comment } else { 1.0 };
                let mut ranked: Vec<_> = texts.iter().collect();
                ranked.sort_by(|a, b| weigh(b).total_cmp(&weigh(a)));
                let is_right =
                    |text: &Judged| text.files.iter().any(|file| right.contains(&file.as_str()));
                let places: Vec<usize> = ranked
                    .iter()
                    .enumerate()
                    .filter(|(_, text)| is_right(text))
                    .map(|(at, _)| at)
                    .collect();
                let first = places.first().copied();
                score.mrr += first.map_or(0.0, |at| 1.0 / (at as f64 + 1.0));
                score.first += usize::from(first == Some(0));
                let gain = |at: usize| 1.0 / (at as f64 + 2.0).log2();
                let best: f64 = (0..right.len().min(10)).map(gain).sum();
                let gained: f64 = places.iter().filter(|at| **at < 10).map(|at| gain(*at)).sum();
                score.ndcg += gained / best;
            }
            score.mrr /= found.len().max(1) as f64;
            score.ndcg /= found.len().max(1) as f64;
            scores.push(score);
        }
    }
    Ok((scores, left_out))
}
