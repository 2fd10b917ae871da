//! Who may see which repository: grants, and what hosts say of mirrored repositories. Each change counts up a version, which
//! servers read with each request.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use access::{Grants, HostShows, Who};
use sqlx::{Connection, PgConnection};
use tokio::sync::Mutex;

use crate::error::Result;
use crate::store::Store;
use crate::target::answered;

/// How long what a host said is believed without hearing from it again: a day.
pub const HOST_BELIEVED: Duration = Duration::from_hours(24);

/// Maximum time to read the version, a row of a table. A slower connection counts as lost.
const VERSION_ANSWERS: Duration = Duration::from_secs(5);

/// Maximum time to read all grants.
const GRANTS_ANSWER: Duration = Duration::from_secs(30);

/// A grant of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredGrant {
    /// To whom.
    pub who: String,
    /// A glob of repositories' names.
    pub pattern: String,
    /// When it was granted, as `2026-01-31T12:00:00Z`.
    pub granted_at: String,
}

/// The grants of an index and what hosts say, at one version.
#[derive(Clone, Debug, Default)]
pub struct StoredAccess {
    /// The version.
    pub version: i64,
    /// The grants; `None` if nothing was ever granted.
    pub grants: Option<Arc<Grants>>,
    /// Whom hosts show mirrored repositories, by the folders of these. What is too old is left out.
    pub hosts: Arc<HashMap<String, HostShows>>,
    /// When the first of these will be too old.
    pub until: Option<Instant>,
}

/// Reads the version of the grants, on a connection of its own. Requests that arrive while it is read wait and are then
/// answered by one reading together.
#[derive(Debug)]
pub struct AccessReader {
    store: Store,
    state: Mutex<ReaderState>,
}

#[derive(Debug, Default)]
struct ReaderState {
    conn: Option<PgConnection>,
    /// The last version, and when reading it began.
    read: Option<(Instant, i64)>,
    known: Option<Arc<StoredAccess>>,
}

impl AccessReader {
    /// Makes a reader. It connects when it is first asked.
    pub fn new(store: Store) -> Self {
        Self { store, state: Mutex::default() }
    }

    /// Returns the grants as they are at some moment after the call.
    ///
    /// # Errors
    /// The server cannot be reached, refuses a statement, or does not answer in time. Then nobody knows what is granted.
    pub async fn newest(&self) -> Result<Arc<StoredAccess>> {
        let called = Instant::now();
        let mut state = self.state.lock().await;
        let now = Instant::now();
        let version = match state.read {
            Some((begun, version)) if begun >= called => version,
            _ => {
                let version = self.version(&mut state).await?;
                state.read = Some((now, version));
                version
            }
        };
        if let Some(known) = &state.known
            && known.version == version
            && known.until.is_none_or(|until| now < until)
        {
            return Ok(Arc::clone(known));
        }
        state.known = None;
        let mut conn = match state.conn.take() {
            Some(conn) => conn,
            None => self.store.connection().await?,
        };
        let read = Arc::new(answered(GRANTS_ANSWER, read(&mut conn)).await?);
        state.conn = Some(conn);
        state.read = Some((now, read.version));
        state.known = Some(Arc::clone(&read));
        Ok(read)
    }

    /// Reads the version, on a new connection if the kept one is lost.
    async fn version(&self, state: &mut ReaderState) -> Result<i64> {
        let ask = async |mut conn: PgConnection| {
            let reading = async {
                let sql = "select version from access_state";
                let version: i64 = sqlx::query_scalar(sql).fetch_one(&mut conn).await?;
                Ok::<_, crate::Error>(version)
            };
            let version = answered(VERSION_ANSWERS, reading).await?;
            Ok::<_, crate::Error>((version, conn))
        };
        if let Some(conn) = state.conn.take()
            && let Ok((version, conn)) = ask(conn).await
        {
            state.conn = Some(conn);
            return Ok(version);
        }
        let (version, conn) = ask(self.store.connection().await?).await?;
        state.conn = Some(conn);
        Ok(version)
    }
}

/// Reads everything, in one state of the database.
async fn read(conn: &mut PgConnection) -> Result<StoredAccess> {
    let mut tx = conn.begin_with("begin isolation level repeatable read read only").await?;
    let (version, restricted): (i64, bool) =
        sqlx::query_as("select version, restricted from access_state").fetch_one(&mut *tx).await?;
    let grants: Vec<(String, String)> =
        sqlx::query_as("select who, pattern from grants").fetch_all(&mut *tx).await?;
    let said: Vec<(String, String, f64)> = sqlx::query_as(
        "select folder, seen_by, extract(epoch from clock_timestamp() - seen_at)::float8 from host_visibility",
    )
    .fetch_all(&mut *tx)
    .await?;
    tx.commit().await?;
    let now = Instant::now();
    // What a newer program wrote grants nothing here.
    let grants = grants.into_iter().filter_map(|(who, glob)| Some((who.parse().ok()?, glob)));
    let grants = restricted.then(|| Arc::new(Grants::new(grants)));
    let mut until = None;
    let mut hosts = HashMap::new();
    for (folder, seen_by, age) in said {
        let left = HOST_BELIEVED.as_secs_f64() - age;
        let shows = match &*seen_by {
            _ if left <= 0.0 => continue,
            "public" => HostShows::Everybody,
            "internal" => HostShows::Users,
            _ => HostShows::Members,
        };
        let end = now + Duration::from_secs_f64(left.min(HOST_BELIEVED.as_secs_f64()));
        until = Some(until.map_or(end, |until: Instant| until.min(end)));
        hosts.insert(folder, shows);
    }
    Ok(StoredAccess { version, grants, hosts: Arc::new(hosts), until })
}

impl Store {
    /// Grants somebody repositories. Returns whether that is new. From the first grant on, nobody sees what is not granted.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn grant(&self, who: &Who, pattern: &str) -> Result<bool> {
        let mut tx = self.control().begin().await?;
        let new =
            sqlx::query("insert into grants (who, pattern) values ($1, $2) on conflict do nothing")
                .bind(who.to_string())
                .bind(pattern)
                .execute(&mut *tx)
                .await?;
        let is_new = new.rows_affected() > 0;
        sqlx::query("update access_state set version = version + 1, restricted = true where $1 or not restricted")
            .bind(is_new)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(is_new)
    }

    /// Takes grants back: the one of a glob, or all that somebody has. Returns them. When this returns, no server answers
    /// a further request by them.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn revoke(&self, who: &Who, pattern: Option<&str>) -> Result<Vec<String>> {
        let mut tx = self.control().begin().await?;
        let gone: Vec<String> = sqlx::query_scalar(
            "delete from grants where who = $1 and ($2::text is null or pattern = $2) returning pattern",
        )
        .bind(who.to_string())
        .bind(pattern)
        .fetch_all(&mut *tx)
        .await?;
        if !gone.is_empty() {
            sqlx::query("update access_state set version = version + 1").execute(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(gone)
    }

    /// Returns the grants of the index, by whom they are for.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn grants(&self) -> Result<Vec<StoredGrant>> {
        let rows: Vec<(String, String, String)> = sqlx::query_as(
            "select who, pattern, to_char(granted_at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')
             from grants order by who, pattern",
        )
        .fetch_all(self.control())
        .await?;
        let grant = |(who, pattern, granted_at)| StoredGrant { who, pattern, granted_at };
        Ok(rows.into_iter().map(grant).collect())
    }

    /// Records whom a host shows some repositories, by the folders of their clones, as it said at a time in seconds since
    /// 1970; a clock of the host that is ahead counts as ours. If `is_all`, it listed all that it shows, and what it said of others counts no more.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn keep_visibility(
        &self,
        host: &str,
        said: &[(&str, &str)],
        at: f64,
        is_all: bool,
    ) -> Result<()> {
        let (folders, seen_by): (Vec<&str>, Vec<&str>) = said.iter().copied().unzip();
        let mut tx = self.control().begin().await?;
        let changed: i64 = sqlx::query_scalar(
            "with said as (select * from unnest($2::text[], $3::text[]) s (folder, seen_by)),
                  gone as (delete from host_visibility v where host = $1 and $5
                               and not exists (select from said where said.folder = v.folder) returning 1),
                  changed as (select from said left join host_visibility v using (folder)
                              where v.seen_by is distinct from said.seen_by or v.seen_at < now() - $6 * interval '1 second'),
                  kept as (insert into host_visibility (folder, host, seen_by, seen_at)
                           select folder, $1, seen_by, least(to_timestamp($4), now()) from said
                           on conflict (folder) do update
                               set host = excluded.host, seen_by = excluded.seen_by, seen_at = excluded.seen_at)
             select (select count(*) from gone) + (select count(*) from changed)",
        )
        .bind(host)
        .bind(folders)
        .bind(seen_by)
        .bind(at)
        .bind(is_all)
        .bind(HOST_BELIEVED.as_secs_f64())
        .fetch_one(&mut *tx)
        .await?;
        if changed > 0 {
            sqlx::query("update access_state set version = version + 1").execute(&mut *tx).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Ends what a host said of all repositories: it refuses to say it again.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn forget_visibility(&self, host: &str) -> Result<()> {
        let mut tx = self.control().begin().await?;
        let gone = sqlx::query("delete from host_visibility where host = $1")
            .bind(host)
            .execute(&mut *tx)
            .await?;
        if gone.rows_affected() > 0 {
            sqlx::query("update access_state set version = version + 1").execute(&mut *tx).await?;
        }
        Ok(tx.commit().await?)
    }
}

#[cfg(test)]
mod tests {
    use access::{Principal, Rules};

    use super::*;
    use crate::testing::on_index;

    fn shows(read: &StoredAccess, who: &Principal, name: &str) -> bool {
        let rules =
            Rules { configured: None, stored: read.grants.clone(), hosts: Arc::clone(&read.hosts) };
        rules.of(who).is_none_or(|of| of.ready().shows(name, &format!("/{name}")))
    }

    #[test]
    fn what_is_granted_and_taken_back_is_seen_by_the_next_reading() {
        on_index(2, async |store| {
            let reader = AccessReader::new(store.clone());
            let ann = Principal::named("ann", Vec::new());
            let user: Who = "user:ann".parse().unwrap();
            assert!(shows(&reader.newest().await.unwrap(), &ann, "a"));
            assert!(store.grant(&user, "a").await.unwrap());
            assert!(!store.grant(&user, "a").await.unwrap());
            let read = reader.newest().await.unwrap();
            assert!(shows(&read, &ann, "a") && !shows(&read, &ann, "b"));
            assert!(!shows(&read, &Principal::Anonymous, "a"));
            assert!(Arc::ptr_eq(&read, &reader.newest().await.unwrap()));
            assert_eq!(store.grants().await.unwrap().len(), 1);
            assert!(store.revoke(&user, Some("b")).await.unwrap().is_empty());
            assert_eq!(store.revoke(&user, None).await.unwrap(), ["a"]);
            // Nothing is granted to anybody, which is not the state of before.
            let read = reader.newest().await.unwrap();
            assert!(!shows(&read, &ann, "a") && shows(&read, &Principal::Owner, "a"));
        });
    }

    #[test]
    fn what_hosts_say_counts_for_a_day() {
        on_index(2, async |store| {
            let reader = AccessReader::new(store.clone());
            store.grant(&Who::Users, "x").await.unwrap();
            store.keep_mirror_host("h", "gitea", "").await.unwrap();
            let now =
                crate::testing::value::<f64>(store, "select extract(epoch from now())::float8")
                    .await;
            let sees = async |name: &str| {
                shows(&reader.newest().await.unwrap(), &Principal::Anonymous, name)
            };
            store
                .keep_visibility("h", &[("/p", "public"), ("/q", "private")], now, true)
                .await
                .unwrap();
            assert!(sees("p").await && !sees("q").await && !sees("x").await);
            // It says something else, or nothing any more.
            store
                .keep_visibility("h", &[("/p", "private"), ("/q", "public")], now, false)
                .await
                .unwrap();
            assert!(!sees("p").await && sees("q").await);
            store.keep_visibility("h", &[("/p", "public")], now, true).await.unwrap();
            assert!(sees("p").await && !sees("q").await);
            store.forget_visibility("h").await.unwrap();
            assert!(!sees("p").await);
            let day = HOST_BELIEVED.as_secs_f64();
            store.keep_visibility("h", &[("/p", "public")], now - day - 1.0, true).await.unwrap();
            assert!(!sees("p").await);
            store.keep_visibility("h", &[("/p", "public")], now, true).await.unwrap();
            assert!(sees("p").await);
            // A host whose clock is ahead is believed no longer than others.
            store.keep_visibility("h", &[("/p", "public")], now + day, true).await.unwrap();
            let ahead = "select count(*) from host_visibility where seen_at > now()";
            assert_eq!(crate::testing::value::<i64>(store, ahead).await, 0);
        });
    }
}
