//! Deliveries of news.

use sqlx::FromRow;

use super::news::News;
use crate::error::Result;
use crate::store::Store;

/// A delivery, for people.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Delivery {
    /// The header `webhook-id`.
    pub id: String,
    /// The epoch of its news.
    pub epoch: i32,
    /// `waiting`, `delivered` or `given-up`.
    pub state: String,
    /// Attempts so far.
    pub attempts: i32,
    /// When the last attempt was made, as `2026-01-31T12:00:00Z`.
    pub tried_at: Option<String>,
    /// When the next attempt is due, if it waits.
    pub due: Option<String>,
    /// What became of the last attempt, in one sentence.
    pub said: Option<String>,
}

/// A delivery that is due, with what an attempt needs.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The header `webhook-id`.
    pub id: String,
    /// The monitor.
    pub monitor: i32,
    /// Its name.
    pub name: String,
    /// The name of the token of whoever made it; `None` for the operator.
    pub owner: Option<String>,
    /// The patterns of the repositories that its owner may see; none for all.
    pub repos: Vec<String>,
    /// Its query.
    pub query: String,
    /// Where to.
    pub address: String,
    /// The key of the signature: `whsec_` and base64.
    pub secret: String,
    /// Attempts so far.
    pub attempts: i32,
    /// Seconds since it was made.
    pub age: f64,
    /// What is delivered.
    pub news: News,
}

impl Store {
    /// Returns, for each monitor that is not paused, its oldest waiting delivery if that is due; and the seconds until the
    /// next of the others is due, if one is. Deliveries of a monitor are made in order.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn waiting_deliveries(&self) -> Result<(Vec<Waiting>, Option<f64>)> {
        let rows: Vec<Row> = sqlx::query_as(
            "select d.id, m.id as monitor, m.name, m.owner, m.repos, m.query, m.address, m.secret, d.attempts,
                    extract(epoch from now() - d.created_at)::float8 as age, d.news,
                    extract(epoch from d.due - now())::float8 as due
             from (select distinct on (monitor) * from deliveries where state = 'waiting' order by monitor, news) d
             join monitors m on m.id = d.monitor
             where not m.paused and m.address is not null",
        )
        .fetch_all(self.control())
        .await?;
        let (mut waiting, mut next) = (Vec::new(), None::<f64>);
        for row in rows {
            if row.due > 0.0 {
                next = Some(next.map_or(row.due, |next| next.min(row.due)));
                continue;
            }
            let Some(news) = self.news_with(row.news).await? else { continue };
            let Row { id, monitor, name, owner, repos, query, address, .. } = row;
            let Row { secret, attempts, age, .. } = row;
            waiting.push(Waiting {
                id,
                monitor,
                name,
                owner,
                repos,
                query,
                address,
                secret,
                attempts,
                age,
                news,
            });
        }
        Ok((waiting, next))
    }

    /// Notes that a delivery was acknowledged: it is never made again.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn delivered(&self, id: &str, said: &str) -> Result<()> {
        self.tried(id, "delivered", 0.0, said).await
    }

    /// Notes that an attempt failed; the next one is due after some seconds. `None` gives the delivery up.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn not_delivered(&self, id: &str, again: Option<f64>, said: &str) -> Result<()> {
        let state = if again.is_some() { "waiting" } else { "given-up" };
        self.tried(id, state, again.unwrap_or_default(), said).await
    }

    async fn tried(&self, id: &str, state: &str, again: f64, said: &str) -> Result<()> {
        let mut tx = self.control().begin().await?;
        sqlx::query("set local synchronous_commit = on").execute(&mut *tx).await?;
        sqlx::query(
            "update deliveries set state = $2, attempts = attempts + 1, tried_at = now(), said = $4,
                 due = now() + make_interval(secs => $3)
             where id = $1 and state = 'waiting'",
        )
        .bind(id)
        .bind(state)
        .bind(again)
        .bind(said)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    /// Returns the newest deliveries of a monitor, the newest first.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn deliveries(&self, monitor: i32, most: usize) -> Result<Vec<Delivery>> {
        Ok(sqlx::query_as(
            "select d.id, n.epoch, d.state, d.attempts,
                    to_char(d.tried_at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') as tried_at,
                    case when d.state = 'waiting'
                        then to_char(d.due at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') end as due,
                    d.said
             from deliveries d join monitor_news n on n.id = d.news
             where d.monitor = $1 order by d.news desc limit $2",
        )
        .bind(monitor)
        .bind(most as i64)
        .fetch_all(self.control())
        .await?)
    }

    /// Returns the numbers of deliveries that wait, of each monitor that has some.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn waiting_counts(&self) -> Result<Vec<(i32, i64, Option<String>)>> {
        Ok(sqlx::query_as(
            "select monitor, count(*), (array_agg(said order by news) filter (where said is not null))[1]
             from deliveries where state = 'waiting' group by monitor",
        )
        .fetch_all(self.control())
        .await?)
    }
}

/// The columns of a delivery that waits.
#[derive(FromRow)]
struct Row {
    id: String,
    monitor: i32,
    name: String,
    owner: Option<String>,
    repos: Vec<String>,
    query: String,
    address: String,
    secret: String,
    attempts: i32,
    age: f64,
    news: i64,
    due: f64,
}
