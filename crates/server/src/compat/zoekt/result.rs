//! The answer to a search in Zoekt's format.

use std::collections::BTreeMap;
use std::time::Duration;

use answer::FileMatch;
use search::{Stats, Stopped};
use serde::Serialize;

use super::matches::{Base64, ChunkMatch, LineMatch};

/// The answer to a search.
#[derive(Debug, Default, Serialize)]
pub(super) struct SearchResult {
    #[serde(flatten)]
    pub(super) stats: SearchStats,
    #[serde(rename = "Files")]
    pub(super) files: Option<Vec<FileResult>>,
    #[serde(rename = "RepoURLs")]
    pub(super) repo_urls: BTreeMap<String, String>,
    #[serde(rename = "LineFragments")]
    pub(super) line_fragments: BTreeMap<String, String>,
}

/// The statistics of a search. Times are in nanoseconds.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SearchStats {
    pub(super) content_bytes_loaded: usize,
    pub(super) index_bytes_loaded: usize,
    pub(super) crashes: usize,
    pub(super) duration: u64,
    pub(super) file_count: usize,
    pub(super) shard_files_considered: usize,
    pub(super) files_considered: usize,
    pub(super) files_loaded: usize,
    pub(super) files_skipped: usize,
    pub(super) shards_scanned: usize,
    pub(super) shards_skipped: usize,
    pub(super) shards_skipped_filter: usize,
    pub(super) match_count: usize,
    pub(super) ngram_matches: usize,
    pub(super) ngram_lookups: usize,
    pub(super) wait: u64,
    pub(super) match_tree_construction: u64,
    pub(super) match_tree_search: u64,
    pub(super) regexps_considered: usize,
    pub(super) flush_reason: u8,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct FileResult {
    pub(super) file_name: String,
    pub(super) repository: String,
    pub(super) language: String,
    /// The branches of a clone that have it; empty for other folders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) branches: Vec<String>,
    /// The commit of the first one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) version: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) line_matches: Vec<LineMatch>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) chunk_matches: Vec<ChunkMatch>,
    #[serde(skip_serializing_if = "Base64::is_empty")]
    pub(super) content: Base64,
    /// Eight bytes that are equal for files with the same contents.
    pub(super) checksum: Option<Base64>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) score: f64,
}

impl SearchStats {
    pub(super) fn of(stats: &Stats) -> Self {
        let stats = &stats.shown();
        Self {
            content_bytes_loaded: stats.bytes,
            crashes: usize::from(matches!(stats.stopped, Some(Stopped::Shards(_)))),
            files_considered: stats.files_considered,
            files_loaded: stats.rechecks,
            shards_scanned: stats.shards_searched,
            shards_skipped: stats.shards - stats.shards_pruned - stats.shards_searched,
            shards_skipped_filter: stats.shards_pruned,
            ngram_matches: stats.candidates,
            match_tree_construction: nanos(stats.phases.lookup),
            match_tree_search: nanos(stats.phases.verify),
            ..Self::default()
        }
    }
}

impl FileResult {
    pub(super) fn new(
        file: FileMatch,
        mut line_matches: Vec<LineMatch>,
        mut chunk_matches: Vec<ChunkMatch>,
        score: f64,
    ) -> Self {
        // Lines have no ranking of their own, so they get the score of their file.
        let of_lines = line_matches.iter_mut().map(|line| &mut line.score);
        for part in of_lines.chain(chunk_matches.iter_mut().map(|chunk| &mut chunk.score)) {
            *part = score;
        }
        Self {
            branches: file.trees,
            version: String::new(),
            file_name: file.path,
            repository: file.repo,
            language: file.language.unwrap_or_default(),
            line_matches,
            chunk_matches,
            content: Base64::default(),
            checksum: None,
            score,
        }
    }
}

pub(super) fn nanos(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
pub(super) fn is_zero(score: &f64) -> bool {
    *score == 0.0
}
