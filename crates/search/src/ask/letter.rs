//! Answers a question of one letter, which the index of words does not have, by the definitions of exactly this name.

use std::sync::Arc;

use query::{Case, SymbolKinds, Tree};
use rank::Order;
use tokio::sync::mpsc;

use super::types::{AskRequest, Asked, AskedFile, AskedWord};
use crate::order;
use crate::ranked::Ranked;
use crate::types::{Error, Request, Resume};
use crate::view::View;

/// Batches of files that wait to be ranked.
const WAITING: usize = 16;

/// Returns the files that define the only letter of a question; `None` if it has others, or if nothing is called so.
///
/// # Errors
/// The database query fails.
pub(super) async fn ask(view: &View, asking: &AskRequest) -> Result<Option<Asked>, Error> {
    let name = asking.question.trim();
    let mut chars = name.chars();
    let (Some(letter), None) = (chars.next(), chars.next()) else { return Ok(None) };
    if !letter.is_alphabetic() {
        return Ok(None);
    }
    let called = Tree::symbol(&format!("^{letter}$"), Case::Sensitive, SymbolKinds::DEFINITIONS)?;
    let query = asking.among.query().clone().and(called);
    let mut request = Request::new(&query)?;
    request.timeout = asking.among.timeout;
    let hash = order::hash(request.compiled_query());
    request.resume = asking.among.resume.map(|from| Resume::start(from.switch, hash));
    let mut ranked = Ranked::of(&mut request, Order::Relevance, 0, asking.limit);
    ranked.prefer(asking.current.clone());
    if asking.checks_disk {
        ranked.check_disk();
    }
    let request = Arc::new(request);
    let (send, mut found) = mpsc::channel(WAITING);
    let ranking = async {
        while let Some(files) = found.recv().await {
            ranked.add(files, |file, lines| {
                lines.keep(file, asking.lines);
                Vec::new()
            });
        }
    };
    let (stats, ()) = tokio::join!(view.search(&request, send), ranking);
    let mut stats = stats?;
    let best = ranked.best(view, &request, &mut stats, false).await?;
    if best.found == 0 && stats.stopped.is_none() {
        return Ok(None);
    }
    let files = best.files.into_iter().map(|(ranked, explained)| {
        let parts = explained.unwrap_or_default().parts;
        AskedFile {
            matches: ranked.matches,
            file: ranked.file,
            points: parts.points(),
            parts: parts.named().to_vec(),
        }
    });
    let found = best.found;
    let word = AskedWord { text: name.to_owned(), chunks: found, tells: true };
    Ok(Some(Asked {
        files: files.collect(),
        words: vec![word],
        matched: found,
        matched_all: found,
        stats,
        stale: best.stale,
        ..Asked::default()
    }))
}
