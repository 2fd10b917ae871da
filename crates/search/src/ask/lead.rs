//! The texts that have all words of a search, best first, wherever they are: what a ranked search also looks at if its query
//! matches more files than are ranked.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use query::Query;
use store::Switch;

use super::first::{CANDIDATES, best};
use super::look::{Look, texts_of_all, weigh};
use super::paths::Named;
use crate::clock::{Clock, EndClock};
use crate::missing::Missing;
use crate::order;
use crate::types::{Error, Request, Resume, Texts};
use crate::view::View;

impl View {
    /// Returns the texts that have the words, at most as many as questions rank, and what could not be read; `None` if there
    /// is no word to look up.
    /// `among` has only conditions on files. With `all`, each has all words.
    ///
    /// # Errors
    /// The database query fails.
    pub(crate) fn texts_with<'a>(
        &'a self,
        words: &'a str,
        all: bool,
        among: &'a Query,
        (switch, timeout): (Switch, Option<Duration>),
    ) -> BoxFuture<'a, Result<Option<(Texts, Missing)>, Error>> {
        Box::pin(async move {
            let mut words = words::question(words);
            words.retain(words::QuestionWord::is_looked_up);
            if words.is_empty() {
                return Ok(None);
            }
            let words: Arc<[words::QuestionWord]> = words.into();
            let mut among = Request::new(among)?;
            let hash = order::hash(among.compiled_query());
            among.resume = Some(Resume::start(switch, hash));
            let among = Arc::new(among);
            let clock = Arc::new(Clock::new(Instant::now(), timeout));
            let _end = EndClock(Arc::clone(&clock));
            let (among, words) = (&among, &words);
            let look = Look { view: self, among, words, clock: &clock, in_paths: false };
            let Some((shards, looked)) = look.up().await?.found else { return Ok(None) };
            let mut weights = weigh(words, &shards, &looked.shards);
            weights.all = all;
            let none = Named::default();
            let texts = texts_of_all(Arc::clone(&shards), looked.shards, weights, none).await;
            let mut found: Texts = HashMap::new();
            // Those that rank as the last one are left out: the limit of a search would cut others.
            let best = best(texts.into_iter().flat_map(|of| of.best).collect());
            for one in best.into_iter().take(CANDIDATES) {
                found.entry(shards[one.shard].shard.id).or_default().push(one.blob);
            }
            for blobs in found.values_mut() {
                blobs.sort_unstable();
            }
            Ok(Some((found, looked.missing)))
        })
    }
}
