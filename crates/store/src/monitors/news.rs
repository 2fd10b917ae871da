//! What monitors found in an epoch.

use std::collections::HashMap;

use super::kept_rows::{self, KEPT_NEWS};
use crate::error::Result;
use crate::store::Store;
use crate::{Epoch, RepoId};

/// A match that appeared or disappeared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Whether it appeared; else it disappeared.
    pub appeared: bool,
    /// Its repository.
    pub repo: RepoId,
    /// The name of its repository.
    pub name: String,
    /// The path of its file.
    pub path: String,
    /// The number of its line, from 1: in the new text if it appeared, else in the old one. `None` if the file matches.
    pub line: Option<u32>,
    /// The text of the line.
    pub text: Option<String>,
}

/// What a monitor found in an epoch, to be written.
#[derive(Clone, Debug, Default)]
pub struct NewNews {
    /// The monitor.
    pub monitor: i32,
    /// Number of matches that appeared.
    pub appeared: usize,
    /// Number of matches that disappeared.
    pub disappeared: usize,
    /// What else it noticed, in one sentence.
    pub note: Option<String>,
    /// The first of the matches.
    pub hits: Vec<Hit>,
}

/// What a monitor found in an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// Its key.
    pub id: i64,
    /// The epoch.
    pub epoch: Epoch,
    /// When it was found, as `2026-01-31T12:00:00Z`.
    pub at: String,
    /// Number of matches that appeared.
    pub appeared: usize,
    /// Number of matches that disappeared.
    pub disappeared: usize,
    /// What else was noticed.
    pub note: Option<String>,
    /// The first of the matches, except those in repositories that were removed since.
    pub hits: Vec<Hit>,
}

/// A row of `monitor_news`.
type NewsRow = (i64, i32, String, i32, i32, Option<String>);

/// A row of `monitor_hits`.
type HitRow = (i64, bool, i32, String, String, Option<i32>, Option<String>);

impl Store {
    /// Notes that monitors have looked at an epoch, and what they found, in one transaction. Returns whether that was the
    /// next epoch to look at; else nothing is written.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn publish_news(&self, epoch: Epoch, news: &[NewNews]) -> Result<bool> {
        let mut tx = self.control().begin().await?;
        // News that are delivered must not be found once more after a crash.
        sqlx::query("set local synchronous_commit = on").execute(&mut *tx).await?;
        let looked: i32 = sqlx::query_scalar("select epoch from monitor_epoch for update")
            .fetch_one(&mut *tx)
            .await?;
        if looked + 1 != epoch.0 {
            return Ok(false);
        }
        if !news.is_empty() {
            let ids: Vec<i32> = news.iter().map(|one| one.monitor).collect();
            // A monitor may have been paused or deleted meanwhile.
            let written: Vec<(i32, i64)> = sqlx::query_as(
                "insert into monitor_news (monitor, epoch, appeared, disappeared, note)
                 select m.id, $1, n.appeared, n.disappeared, n.note
                 from unnest($2::int[], $3::int[], $4::int[], $5::text[]) n (monitor, appeared, disappeared, note)
                 join (select id from monitors where not paused and since_epoch < $1 for share) m on m.id = n.monitor
                 on conflict (monitor, epoch) do nothing
                 returning monitor, id",
            )
            .bind(epoch.0)
            .bind(&ids)
            .bind(news.iter().map(|one| one.appeared as i32).collect::<Vec<_>>())
            .bind(news.iter().map(|one| one.disappeared as i32).collect::<Vec<_>>())
            .bind(news.iter().map(|one| one.note.clone()).collect::<Vec<_>>())
            .fetch_all(&mut *tx)
            .await?;
            let written: HashMap<i32, i64> = written.into_iter().collect();
            let hits: Vec<(i64, i32, &Hit)> = news
                .iter()
                .filter_map(|one| Some((*written.get(&one.monitor)?, one)))
                .flat_map(|(id, one)| (0..).zip(&one.hits).map(move |(n, hit)| (id, n, hit)))
                .collect();
            sqlx::query(
                "insert into monitor_hits (news, n, appeared, repo, name, path, line, text)
                 select * from unnest($1::bigint[], $2::int[], $3::boolean[], $4::int[], $5::text[], $6::text[],
                                      $7::int[], $8::text[])",
            )
            .bind(hits.iter().map(|(id, ..)| *id).collect::<Vec<_>>())
            .bind(hits.iter().map(|(_, n, _)| *n).collect::<Vec<_>>())
            .bind(hits.iter().map(|(.., hit)| hit.appeared).collect::<Vec<_>>())
            .bind(hits.iter().map(|(.., hit)| hit.repo.0).collect::<Vec<_>>())
            .bind(hits.iter().map(|(.., hit)| hit.name.as_str()).collect::<Vec<_>>())
            .bind(hits.iter().map(|(.., hit)| hit.path.as_str()).collect::<Vec<_>>())
            .bind(hits.iter().map(|(.., hit)| hit.line.map(u32::cast_signed)).collect::<Vec<_>>())
            // Texts in Postgres cannot hold a NUL.
            .bind(
                hits.iter()
                    .map(|(.., hit)| hit.text.as_ref().map(|text| text.replace('\0', "\u{fffd}")))
                    .collect::<Vec<_>>(),
            )
            .execute(&mut *tx)
            .await?;
            // The same header for the same news, whatever happens to this database.
            sqlx::query(
                "insert into deliveries (id, monitor, news)
                 select 'msg_' || md5(format('%s %s %s %s', s.identity, m.id, m.created_at, n.epoch)), m.id, n.id
                 from monitor_news n join monitors m on m.id = n.monitor cross join state s
                 where n.id = any($1) and m.address is not null and n.appeared + n.disappeared > 0",
            )
            .bind(written.values().copied().collect::<Vec<_>>())
            .execute(&mut *tx)
            .await?;
            kept_rows::prune(&mut tx, &ids).await?;
        }
        sqlx::query("update monitor_epoch set epoch = $1, looked_at = now()")
            .bind(epoch.0)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Makes monitors begin with the newest epoch: the index has fewer epochs than they have looked at, since it is an
    /// older one that was restored.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn reset_monitor_epoch(&self) -> Result<()> {
        sqlx::query(
            "with reset as (
                 update monitor_epoch m set epoch = s.epoch, looked_at = now() from state s where m.epoch > s.epoch
                 returning m.epoch)
             update monitors set since_epoch = least(since_epoch, reset.epoch) from reset",
        )
        .execute(self.control())
        .await?;
        Ok(())
    }

    /// Returns the newest news of a monitor, the newest first, each with up to `hits` of its matches.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn news(&self, monitor: i32, most: usize, hits: usize) -> Result<Vec<News>> {
        let rows: Vec<NewsRow> = sqlx::query_as(
            "select id, epoch, to_char(at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), appeared, disappeared, note
             from monitor_news where monitor = $1 order by epoch desc limit $2",
        )
        .bind(monitor)
        .bind(most.min(KEPT_NEWS as usize) as i64)
        .fetch_all(self.control())
        .await?;
        self.with_hits(rows, hits).await
    }

    /// Returns news by their key.
    pub(super) async fn news_with(&self, id: i64) -> Result<Option<News>> {
        let rows: Vec<NewsRow> = sqlx::query_as(
            "select id, epoch, to_char(at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), appeared, disappeared, note
             from monitor_news where id = $1",
        )
        .bind(id)
        .fetch_all(self.control())
        .await?;
        Ok(self.with_hits(rows, usize::MAX).await?.pop())
    }

    async fn with_hits(&self, rows: Vec<NewsRow>, most: usize) -> Result<Vec<News>> {
        let found: Vec<HitRow> = sqlx::query_as(
            "select news, appeared, repo, name, path, line, text from monitor_hits
             where news = any($1) and n < $2 order by news, n",
        )
        .bind(rows.iter().map(|row| row.0).collect::<Vec<_>>())
        .bind(i32::try_from(most).unwrap_or(i32::MAX))
        .fetch_all(self.control())
        .await?;
        let mut hits: HashMap<i64, Vec<Hit>> = HashMap::new();
        for (news, appeared, repo, name, path, line, text) in found {
            let (repo, line) = (RepoId(repo), line.map(i32::cast_unsigned));
            hits.entry(news).or_default().push(Hit { appeared, repo, name, path, line, text });
        }
        let news = |(id, epoch, at, appeared, disappeared, note): NewsRow| News {
            id,
            epoch: Epoch(epoch),
            at,
            appeared: appeared.unsigned_abs() as usize,
            disappeared: disappeared.unsigned_abs() as usize,
            note,
            hits: hits.remove(&id).unwrap_or_default(),
        };
        Ok(rows.into_iter().map(news).collect())
    }
}
