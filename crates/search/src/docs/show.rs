//! Shows docs: loads their files, titles and best parts, and marks the words of the query.
//!
//! Loads in a few batches: the files and texts of each shard, and one statement that marks all texts. In a large text,
//! only the part with the most words of the query is marked.

use std::collections::HashMap;

use futures_util::StreamExt;
use store::{Catalog, DocHit, File, FileFilter, Headline};

use super::snippet;
use super::types::{Doc, DocKind, DocsRequest, ShardHit, TextRun};
use crate::missing::Missing;
use crate::view::View;
use ::docs::DocText;
use ::docs::words;

/// Loads and marks the docs of some hits. Returns them with the shards whose nodes do not answer.
pub(super) async fn show_docs(
    view: &View,
    catalog: &Catalog,
    filter: &FileFilter,
    request: &DocsRequest,
    hits: Vec<ShardHit>,
) -> Result<(Vec<Doc>, Missing), store::Error> {
    let mut by_shard: HashMap<usize, Vec<DocHit>> = HashMap::new();
    for (at, hit) in &hits {
        by_shard.entry(*at).or_default().push(*hit);
    }
    let load = async |(at, hits): (usize, Vec<DocHit>)| -> Result<_, store::Error> {
        let shard = &catalog.shards[at];
        let blobs: Vec<_> = hits.iter().map(|hit| hit.blob).collect();
        let mut lease = view.store().lease().await?;
        let mut files = lease.files(shard.id, Some(&blobs), filter).await?;
        lease.done();
        files.retain(|file| catalog.repos.contains_key(&file.repo));
        files.sort_by_key(|file| {
            (file.blob, catalog.repos[&file.repo].name.clone(), file.path.clone())
        });
        let sizes: HashMap<_, _> =
            files.iter().map(|file| (file.blob, file.bytes as usize)).collect();
        let sizes: Vec<_> = sizes.into_iter().collect();
        let mut texts = view.texts(shard, &sizes).await?;
        let query = request.query.clone();
        // Extracting the docs of large texts takes long.
        let work = tokio::task::spawn_blocking(move || {
            let mut loaded = Vec::with_capacity(hits.len());
            for hit in hits {
                let text = texts.remove(&hit.blob).unwrap_or_default();
                let of_blob: Vec<&File> =
                    files.iter().filter(|file| file.blob == hit.blob).collect();
                // The same contents may be a doc in one file but not in another.
                let shown = of_blob.iter().find_map(|file| {
                    let doc = DocText::of(&file.path, file.language.as_deref(), &text)?;
                    (doc.comment == hit.comment).then_some((*file, doc))
                });
                let first = of_blob.first().map(|file| (*file, DocText::default()));
                if let Some((file, doc)) = shown.or(first) {
                    let body = snippet::separate_words(snippet::best_part(&doc.body, &query));
                    let texts = [snippet::separate_words(&doc.title), body];
                    loaded.push(((at, hit.blob), (file.clone(), texts, of_blob.len() - 1)));
                }
            }
            loaded
        });
        let loaded = work.await.expect("extracting docs does not panic");
        Ok(loaded)
    };
    let load = async |of: (usize, Vec<DocHit>)| (of.0, load(of).await);
    let loads = futures_util::stream::iter(by_shard.into_iter().map(load));
    let mut loads = loads.buffer_unordered(view.parallel());
    let mut loaded = HashMap::new();
    let mut missing = Missing::default();
    while let Some((at, some)) = loads.next().await {
        match some {
            Ok(some) => loaded.extend(some),
            Err(error) => missing.note(view.store(), &catalog.shards[at], error)?,
        }
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
        return Ok((Vec::new(), missing));
    }
    let mut lease = view.store().lease().await?;
    let shown = words::websearch_query(&request.query, false);
    let mut marked = lease.headlines(&shown, &texts, snippet::MARKS, snippet::BETWEEN).await?;
    lease.done();
    for (marked, text) in marked.iter_mut().zip(&texts).filter(|(_, text)| !text.whole) {
        *marked = snippet::complete_words(marked, &text.text);
    }
    let docs =
        rows.into_iter().zip(marked.chunks_exact(2)).map(|((hit, file, same), marked)| Doc {
            repo: catalog.repos[&file.repo].name.clone(),
            path: file.path,
            language: file.language,
            kind: if hit.comment { DocKind::Comment } else { DocKind::File },
            title: runs_of(&marked[0]),
            snippet: runs_of(&marked[1]),
            rank: hit.rank,
            same,
        });
    Ok((docs.collect(), missing))
}

/// Splits a marked text into runs, on one line.
fn runs_of(marked: &str) -> Vec<TextRun> {
    let mut all = snippet::split_marked(marked);
    for run in &mut all {
        run.text = one_line(&run.text);
    }
    if let Some(first) = all.first_mut() {
        first.text = first.text.trim_start().to_owned();
    }
    if let Some(last) = all.last_mut() {
        last.text.truncate(last.text.trim_end().len());
    }
    all.retain(|run| !run.text.is_empty());
    all
}

/// Replaces each run of white space by one space.
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
