//! First searches on new connections, and later ones.

use anyhow::Result;
use search::{Searcher, View, Visible};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::search;
use crate::Bench;

/// Number of first searches, each on a separate connection.
const FIRST: usize = 20;

/// Later searches on the same connection.
const LATER: usize = 20;

/// A pattern that gives Postgres little work.
const PATTERN: &str = r"fmt\.Println";

/// Milliseconds of searches on connections made in one way.
#[derive(Deserialize, Serialize)]
pub(crate) struct First {
    pub(crate) name: String,
    pub(crate) first: Vec<f64>,
    pub(crate) later: Vec<f64>,
}

pub(crate) async fn measure(bench: &Bench<'_>) -> Result<Vec<First>> {
    // The first search reads from disk; later ones differ only in their connections.
    search(&bench.index.view, PATTERN).await?;
    let ways = [("made when it is needed", false), ("made before, and readied", true)];
    let mut all =
        ways.map(|(name, _)| First { name: name.to_owned(), first: Vec::new(), later: Vec::new() });
    let firsts = bench.steps.times(FIRST);
    // Both ways take turns, so that the machine's other work affects both alike.
    for n in 0..firsts {
        for (row, (_, ready)) in all.iter_mut().zip(ways) {
            let store = bench.index.connect(1).await?;
            if ready {
                store.keep_warm(1).await?;
            }
            let view = View::new(Arc::new(Searcher::new(store.clone(), 1)), Visible::ALL);
            view.catalog().await?;
            row.first.push(search(&view, PATTERN).await?);
            for _ in 0..LATER {
                row.later.push(search(&view, PATTERN).await?);
            }
            store.close().await;
        }
        bench.steps.progress(n as u64 + 1, firsts as u64);
    }
    Ok(all.into())
}
