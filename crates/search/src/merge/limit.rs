//! The limit of a search: the results that the merge takes, and where the next search continues.

use query::Select;
use store::{BlobId, ShardId};

use super::super::revision::memory::MEMORY_SHARD;
use super::super::state::Search;
use crate::types::{AnswerProgress, Resume};
use answer::FileMatch;

/// The results that a search still wants.
pub(super) struct Limit {
    /// Position from which this search continues, if it does.
    resume: Option<Resume>,
    /// Whether results are repositories. A repository may lie in several shards, so a search that continues finds all
    /// repositories again and leaves out those already returned.
    of_repos: bool,
    /// Maximum number of results, including the repositories that are left out.
    most: Option<usize>,
    /// Results so far. Repositories include those that an earlier page returned.
    results: usize,
    /// Results returned by this search and earlier ones.
    pub(super) progress: AnswerProgress,
}

impl Limit {
    pub(super) fn of(search: &Search) -> Self {
        let resume = search.request.resume;
        let mut limit = Self {
            resume,
            of_repos: search.query().select == Select::Repos,
            most: None,
            results: 0,
            progress: AnswerProgress::of(&search.request),
        };
        limit.most = search.request.limit.map(|most| most.saturating_add(limit.repeats()));
        limit
    }

    /// Returns whether the search has a limit.
    pub(super) fn is_set(&self) -> bool {
        self.most.is_some()
    }

    /// Returns the number of results still wanted; `None` for all.
    pub(super) fn wanted(&self) -> Option<usize> {
        self.most.map(|most| most.saturating_sub(self.results))
    }

    /// Returns the number of results so far.
    pub(super) fn results(&self) -> usize {
        self.results
    }

    /// Returns whether an earlier page searched a shard to its end.
    pub(super) fn is_searched(&self, shard: ShardId) -> bool {
        // The shard in memory is the last one. Its number may stand for another in the set.
        let is_stored = shard != MEMORY_SHARD;
        is_stored && self.resume_of_files().is_some_and(|from| from.searched.contains(shard))
    }

    /// Returns the blob at which the search of a shard begins.
    pub(super) fn first_blob(&self, shard: ShardId) -> BlobId {
        let last = self.resume_of_files().and_then(|from| from.last);
        last.filter(|last| last.shard == shard).map_or(BlobId(0), |last| last.blob)
    }

    /// Returns the maximum number of results of a shard that were returned before.
    pub(super) fn max_repeats(&self, shard: ShardId) -> usize {
        let last = self.resume_of_files().and_then(|from| from.last);
        let last = last.filter(|last| last.shard == shard);
        last.map_or(self.repeats(), |last| last.files as usize)
    }

    /// Returns the wanted files among some, and whether there are more than the limit.
    pub(super) fn take(
        &mut self,
        files: Vec<FileMatch>,
        search: &Search,
    ) -> (Vec<FileMatch>, bool) {
        let (repeats, state) = (self.repeats(), &search.state);
        let mut taken = Vec::with_capacity(files.len());
        for file in files {
            if state.has_repo(file.repo_id) || self.skip_repeat(&file) {
                continue;
            }
            if self.most == Some(self.results) {
                return (taken, true);
            }
            state.add_repo(file.repo_id);
            self.results += 1;
            if self.results > repeats {
                self.progress.note(&file);
                taken.push(file);
            }
        }
        (taken, false)
    }

    fn resume_of_files(&self) -> Option<&Resume> {
        self.resume.as_ref().filter(|_| !self.of_repos)
    }

    /// Returns the number of repositories to leave out because an earlier page returned them.
    fn repeats(&self) -> usize {
        self.resume.filter(|_| self.of_repos).map_or(0, |from| from.results)
    }

    /// Returns whether a file has the last blob of the position and an earlier page returned it; if so, counts it off.
    fn skip_repeat(&mut self, file: &FileMatch) -> bool {
        let from = self.resume.as_mut().and_then(|from| from.last.as_mut());
        let from = from.filter(|last| (last.shard, last.blob) == file.blob_key && last.files > 0);
        from.is_some_and(|last| {
            last.files -= 1;
            true
        })
    }
}
