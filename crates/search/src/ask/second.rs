//! The second stage: scores the files of the first stage's candidates, and shows the best lines of the best.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use answer::symbol::{LineSymbol, Symbols};
use answer::{FileMatch, apart};
use query::SymbolKind;
use rank::Origins;
use rank::question::{Candidate as Scored, Definition, Question};
use rayon::prelude::*;
use store::{CatalogRepo, CatalogRepos, File, SymbolRow};
use words::QuestionWord;

use super::chosen::{AskedShard, Chosen};
use super::first::{Candidate, by_points};
use super::lines::{Wanted, WordLines};
use super::read::TextKey;
use super::types::AskedFile;
use crate::cache::texts::DecompressBuffer;
use crate::symbols::enclose;
use crate::verify::TextChunk;

/// Copies of a text that are scored; all are told.
const SCORED_COPIES: usize = 50;

/// Factor for files of the repository in which the user works: they come first unless others answer much better.
const HERE: f32 = 2.0;

/// A scored text, with the files that have it.
pub(super) struct RankedText {
    pub(super) candidate: Candidate,
    pub(super) file: AskedFile,
    symbols: Option<SymbolRow>,
}

/// What scoring needs to know.
pub(super) struct Scoring {
    pub(super) question: Question,
    pub(super) words: Arc<[QuestionWord]>,
    pub(super) chosen: Arc<Chosen>,
    pub(super) shards: Arc<[AskedShard]>,
    pub(super) origins: Origins,
    /// The words that tell files apart, to be marked.
    pub(super) wanted: Wanted,
}

/// Orders candidates by their points, and equals by the repository and path of their first files.
pub(super) fn in_order(
    candidates: &mut Vec<Candidate>,
    files: &HashMap<TextKey, Vec<File>>,
    repos: &CatalogRepos,
) {
    let place = |one: &Candidate| {
        let first = files.get(&(one.shard, one.blob)).and_then(|files| files.first());
        first.map(|file| (repos[&file.repo].name.as_str(), file.path.as_str()))
    };
    // A text whose files are gone is not shown.
    candidates.retain(|one| place(one).is_some());
    candidates.sort_by(|a, b| by_points(a.points, b.points).then_with(|| place(a).cmp(&place(b))));
}

impl Scoring {
    /// Scores candidates, given their files and symbols. Returns them best first.
    pub(super) fn rank(
        &self,
        candidates: Vec<Candidate>,
        files: &HashMap<TextKey, Vec<File>>,
        mut symbols: HashMap<TextKey, SymbolRow>,
    ) -> Vec<RankedText> {
        let each: Vec<(Candidate, &[File], Option<SymbolRow>)> = candidates
            .into_iter()
            .filter_map(|one| {
                let key = (one.shard, one.blob);
                Some((one, files.get(&key)?.as_slice(), symbols.remove(&key)))
            })
            .collect();
        let score = |(one, files, row)| self.score(one, files, row);
        let mut ranked: Vec<RankedText> = each.into_par_iter().filter_map(score).collect();
        ranked.sort_by(|a, b| by_score(&a.file, &b.file));
        for text in &mut ranked {
            self.origins.order(&mut text.file.file);
        }
        ranked
    }

    /// Scores a text by the best of its files.
    fn score(
        &self,
        one: Candidate,
        files: &[File],
        symbols: Option<SymbolRow>,
    ) -> Option<RankedText> {
        let read = symbols.as_ref().map(Symbols::of);
        let definitions: Vec<Definition<'_>> = read.as_ref().map(definitions).unwrap_or_default();
        let scored = files.iter().take(SCORED_COPIES).map(|file| {
            let repo = &self.chosen.catalog.repos[&file.repo];
            let scored = self.question.score(&Scored {
                repo: &repo.name,
                repo_rank: repo.rank,
                path: &file.path,
                language: file.language.as_deref(),
                bm25: one.points,
                definitions: &definitions,
            });
            let (mut points, mut parts) = (scored.points, scored.parts.to_vec());
            if self.origins.current == Some(file.repo) {
                points *= HERE;
                parts.push(("here", HERE));
            }
            AskedFile { file: self.file(&one, file, repo), matches: 0, points, parts }
        });
        let mut scored: Vec<AskedFile> = scored.collect();
        scored.sort_by(by_score);
        let mut scored = scored.into_iter();
        let mut best = scored.next()?;
        scored.for_each(|other| best.file.fold(other.file));
        for other in files.iter().skip(SCORED_COPIES) {
            best.file.fold(self.file(&one, other, &self.chosen.catalog.repos[&other.repo]));
        }
        Some(RankedText { candidate: one, file: best, symbols })
    }

    /// Returns a file as a result without lines.
    fn file(&self, one: &Candidate, file: &File, repo: &CatalogRepo) -> FileMatch {
        let selection = &self.chosen.selection;
        let query = self.chosen.request.compiled_query();
        FileMatch {
            repo_id: file.repo,
            blob_key: (self.shards[one.shard].shard.id, one.blob),
            repo: repo.name.clone(),
            rank: repo.rank,
            path: file.path.clone(),
            path_ranges: apart(self.wanted.ranges(&file.path)),
            language: file.language.clone(),
            bytes: file.bytes.unsigned_abs() as usize,
            lines: Vec::new(),
            trees: selection.tree_names(file.repo, repo, file.trees, query),
            commit: None,
            renamed_from: None,
            copies: Vec::new(),
        }
    }

    /// Adds the best lines of texts to them, with the symbols around these, given their chunks.
    pub(super) fn show(
        &self,
        texts: Vec<RankedText>,
        mut chunks: HashMap<TextKey, Vec<TextChunk>>,
        most: usize,
    ) -> Vec<AskedFile> {
        let each: Vec<(RankedText, Vec<TextChunk>)> = texts
            .into_iter()
            .map(|text| {
                let key = (text.candidate.shard, text.candidate.blob);
                let chunks = chunks.remove(&key).unwrap_or_default();
                (text, chunks)
            })
            .collect();
        let show = |(mut text, chunks): (RankedText, Vec<TextChunk>)| {
            let lines = read(&chunks, &self.wanted);
            text.file.matches = lines.lines.len();
            text.file.file.lines = self.best_lines(lines, text.symbols.as_ref(), most);
            text.file
        };
        each.into_par_iter().map(show).collect()
    }

    /// Returns the best of some lines, in order.
    fn best_lines(
        &self,
        found: WordLines,
        row: Option<&SymbolRow>,
        most: usize,
    ) -> Vec<answer::Line> {
        let symbols = row.map(Symbols::of);
        let mut all = Vec::with_capacity(found.lines.len());
        for (mut line, words) in found.lines.into_iter().zip(found.words) {
            if let (Some(row), Some(symbols)) = (row, &symbols) {
                line.symbols = defined(&line, row, symbols);
            }
            let words: Vec<usize> =
                (0..self.words.len()).filter(|word| words >> word & 1 == 1).collect();
            let points = self.question.line(&line.text, &words, !line.symbols.is_empty());
            all.push((points, line));
        }
        // The sort is stable: of equal lines, the first one wins.
        all.sort_by(|(a, _), (b, _)| by_points(*a, *b));
        all.truncate(most);
        all.sort_by_key(|(_, line)| line.number);
        let mut lines: Vec<answer::Line> = all.into_iter().map(|(_, line)| line).collect();
        if let Some(row) = row {
            enclose(&mut lines, row);
        }
        lines
    }
}

/// Orders files by score, and equals by repository and path.
fn by_score(a: &AskedFile, b: &AskedFile) -> Ordering {
    let place = |one: &AskedFile| (one.file.repo.clone(), one.file.path.clone());
    by_points(a.points, b.points).then_with(|| place(a).cmp(&place(b)))
}

/// Returns the definitions of a text.
fn definitions<'r>(symbols: &Symbols<'r>) -> Vec<Definition<'r>> {
    let all = (0..symbols.len()).filter(|at| symbols.defines(*at));
    let one = |at: usize| {
        let kind: SymbolKind = symbols.kind(at)?;
        Some(Definition { name: symbols.name(at), kind, top: symbols.container(at).is_none() })
    };
    all.filter_map(one).collect()
}

/// Returns the definitions in a line whose names have a word of the question.
fn defined(line: &answer::Line, row: &SymbolRow, symbols: &Symbols<'_>) -> Vec<LineSymbol> {
    let end = line.offset + line.text.len() as u64;
    let first = row.starts.partition_point(|start| (*start as u64) < line.offset);
    let here = (first..symbols.len()).take_while(|at| (row.starts[*at] as u64) < end);
    let meets = |at: usize| {
        let begin = (row.starts[at] as u64 - line.offset) as usize;
        let range = begin..begin + symbols.name(at).len();
        let has = |word: &std::ops::Range<usize>| word.start < range.end && range.start < word.end;
        (symbols.defines(at) && line.ranges.iter().any(has)).then_some(range)
    };
    here.filter_map(|at| Some(LineSymbol { range: meets(at)?, symbol: symbols.get(at).shown() }))
        .collect()
}

/// Returns the lines of some chunks of a text that have wanted words.
fn read(chunks: &[TextChunk], wanted: &Wanted) -> WordLines {
    let mut lines = WordLines::default();
    DecompressBuffer::with(|buffer| {
        for chunk in chunks {
            if let Ok(text) = str::from_utf8(chunk.text.read(buffer)) {
                lines.add(text, (chunk.line, chunk.start), wanted);
            }
        }
    });
    lines
}
