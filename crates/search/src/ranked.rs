//! The only collector of sorted results, for the command line, JSON, pages, agents and Zoekt's clients.

use futures_util::future::BoxFuture;
use std::mem::take;
use std::path::PathBuf;
use std::sync::Arc;

use answer::FileMatch;
use rank::{BestLines, DroppedMatches, Explained, Order, Origins, POOL, RankedFile, TopK};
use store::CatalogRepos;

use crate::missing::Missing;
use crate::stale::{ShownFiles, Stale};
use crate::stats::Stats;
use crate::types::{Error, Request};
use crate::view::View;

/// Collects the files that a search finds, and returns those of one page in order.
///
/// Ranking needs more files than a page has: the first [`POOL`] found. Context, and the symbols around lines, are read
/// only for the page. In the order of relevance, files with the same contents are one result.
pub struct Ranked {
    top: TopK,
    /// Number of files on earlier pages, and limit of this one.
    shown: usize,
    limit: usize,
    context: (usize, usize),
    enclosing: bool,
    /// The folder in which the user works.
    current: Option<PathBuf>,
    checks_disk: bool,
}

/// The files of a page.
pub struct Best {
    /// The files in order. In an order with scores, each has the explanation of its score.
    pub files: Vec<(RankedFile, Option<Explained>)>,
    /// Near definitions of the query, if requested: they are not results.
    pub near: Vec<FileMatch>,
    /// Number of files that were found.
    pub found: usize,
    /// Number of results that they are, on all pages: identical copies are one.
    pub results: usize,
    /// The files of the page that have changed on disk, if requested.
    pub stale: Stale,
}

impl Ranked {
    /// Creates the collector of a request, and adapts the request to the order: a ranked request finds as many files as
    /// are ranked, regardless of its limit. Changes keep their own order, and come with their context.
    pub fn of(request: &mut Request, order: Order, shown: usize, limit: usize) -> Self {
        let of_changes = request.query().changes.is_some();
        if order == Order::Relevance {
            request.limit = Some(POOL);
        }
        if order == Order::Relevance && !of_changes {
            request.rank();
        }
        let enclosing = take(&mut request.enclosing);
        let context = if of_changes { (0, 0) } else { take(&mut request.context) };
        let mut top = TopK::new(request.query(), order, shown.saturating_add(limit));
        top.fold_copies(request.query());
        Self { top, shown, limit, context, enclosing, current: None, checks_disk: false }
    }

    /// Makes a file of the repository around this folder, in which the user works, stand for its copies elsewhere.
    pub fn prefer(&mut self, folder: Option<PathBuf>) {
        self.current = folder;
    }

    /// Makes [`best`](Self::best) also tell which files of the page have changed on disk.
    pub fn check_disk(&mut self) {
        self.checks_disk = true;
    }

    /// Makes every file a result of its own, for output without a place to name copies.
    pub fn keep_copies(&mut self) {
        self.top.keep_copies();
    }

    /// Returns the best files so far, and the counts of all.
    pub fn top(&mut self) -> &mut TopK {
        &mut self.top
    }

    /// Adds files, each reduced by `trim`, which can get the best lines.
    pub fn add(
        &mut self,
        files: Vec<FileMatch>,
        trim: impl FnMut(&mut FileMatch, &BestLines<'_>) -> DroppedMatches,
    ) {
        self.top.add(files, trim);
    }

    /// Returns the files of the page, with the context and the symbols around lines that the request asked for. With
    /// `near`, the first page also gets near definitions. Notes what could not be read.
    ///
    /// # Errors
    /// The database query fails.
    pub fn best<'a>(
        self,
        view: &'a View,
        request: &'a Arc<Request>,
        stats: &'a mut Stats,
        near: bool,
    ) -> BoxFuture<'a, Result<Best, Error>> {
        Box::pin(async move {
            let Self { mut top, shown, limit, context, enclosing, current, checks_disk } = self;
            let is_first = top.order == Order::Relevance && shown == 0 && request.resume.is_none();
            top.settle();
            let (found, results) = (top.files, top.results());
            let origins = if results < found {
                origins(&view.catalog().await?.repos, current)
            } else {
                Origins::default()
            };
            let mut files: Vec<_> = top.into_best(shown, &origins).take(limit).collect();
            let of_page = files.iter().map(|(ranked, _)| &ranked.file);
            let of_page: ShownFiles = of_page.take(if checks_disk { limit } else { 0 }).collect();
            let (mut missing, switch) = (Missing::default(), stats.switch);
            let reading = async {
                if request.query().settings.select.has_lines() {
                    if context != (0, 0) {
                        let each = files.iter_mut().map(|(ranked, _)| &mut ranked.file);
                        missing.join(view.add_context(each.collect(), switch, context).await?);
                    }
                    if enclosing {
                        let each = files.iter_mut().map(|(ranked, _)| &mut ranked.file);
                        missing.join(view.add_enclosing(each.collect(), switch).await?);
                    }
                }
                if near && is_first {
                    let (near, lacking) = view.near_definitions(request, switch).await?;
                    missing.join(lacking);
                    Ok(near)
                } else {
                    Ok::<_, Error>(Vec::new())
                }
            };
            // The disk answers while the database does.
            let (stale, near) = tokio::join!(view.stale(of_page), reading);
            let near = near?;
            stats.note_missing(missing);
            Ok(Best { files, near, found, results, stale })
        })
    }
}

/// Returns which repositories have originals, given the folder in which the user works.
pub(crate) fn origins(repos: &CatalogRepos, folder: Option<PathBuf>) -> Origins {
    let linked = repos.iter().filter(|(_, repo)| repo.is_linked).map(|(id, _)| *id).collect();
    let current = folder.and_then(|folder| {
        let around = repos.iter().filter(|(_, repo)| folder.starts_with(&repo.source));
        around.max_by_key(|(id, repo)| (repo.source.len(), id.0)).map(|(id, _)| *id)
    });
    Origins { linked, current }
}
