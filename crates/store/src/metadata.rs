//! What hosts and git configurations say of repositories, and how a change of it becomes visible.
//!
//! A row belongs to a folder, and may be there before the repository in it is indexed. What a host says is written at any
//! time and published by an epoch of its own ([`Store::publish_metadata`]), or by the next ingest; what a clone's
//! configuration says, by the ingest that reads it, unless a host says something.

use std::collections::BTreeMap;

use query::Properties;
use sqlx::{Connection, PgConnection, Row};

use crate::error::Result;
use crate::ingest::{advance, undo_unpublished};
use crate::locks::WRITE_LOCK;
use crate::store::Store;
use crate::{Epoch, RepoId};

/// What is known of a repository besides its files. `None` and nothing stand for what is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepoMetadata {
    /// The host that says it; `None` for the git configuration of the clone.
    pub host: Option<String>,
    /// Its number or name on the host, which stays when it is renamed.
    pub host_id: Option<String>,
    /// What it is about, in one line.
    pub description: Option<String>,
    /// What queries ask for.
    pub properties: Properties,
    /// How many people starred it.
    pub stars: Option<u32>,
    /// When it last changed on the host, in seconds since 1970.
    pub pushed_at: Option<i64>,
    /// The branch that its host shows.
    pub default_branch: Option<String>,
}

impl RepoMetadata {
    /// Returns whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the rank that its stars give it.
    pub fn rank(&self) -> u16 {
        self.stars.map_or(0, rank_of_stars)
    }
}

/// Returns the rank of a repository whose operator gave it none: Zoekt's scale, which grows with the logarithm of the
/// stars up to 10,000. 10 stars are 5,116, 1,000 are 7,108, and 100,000 are 7,804.
pub fn rank_of_stars(stars: u32) -> u16 {
    if stars == 0 {
        return 0;
    }
    let growth = 1.0 + f64::from(stars).ln();
    ((1.0 - 1.0 / growth.powf(0.6)) * 10_000.0) as u16
}

/// The columns of `metadata m` that [`read`] reads.
pub(crate) const COLUMNS: &str = "m.host, m.host_id, m.description, m.fork, m.archived, m.public, m.topics, m.stars,
     extract(epoch from m.pushed_at)::bigint pushed_at, m.default_branch,
     case when m.meta is null then '{}' else array(select key from jsonb_each_text(m.meta) order by key) end meta_names,
     case when m.meta is null then '{}' else array(select value from jsonb_each_text(m.meta) order by key) end meta_texts";

/// Reads [`COLUMNS`].
pub(crate) fn read(row: &sqlx::postgres::PgRow) -> Result<RepoMetadata> {
    let names: Vec<String> = row.try_get("meta_names")?;
    let texts: Vec<Option<String>> = row.try_get("meta_texts")?;
    let meta = names.into_iter().zip(texts).filter_map(|(name, text)| Some((name, text?)));
    Ok(RepoMetadata {
        host: row.try_get("host")?,
        host_id: row.try_get("host_id")?,
        description: row.try_get("description")?,
        properties: Properties {
            archived: row.try_get("archived")?,
            fork: row.try_get("fork")?,
            public: row.try_get("public")?,
            topics: row.try_get::<Option<Vec<String>>, _>("topics")?.unwrap_or_default(),
            meta: meta.collect::<BTreeMap<_, _>>(),
        },
        stars: row.try_get::<Option<i32>, _>("stars")?.map(i32::unsigned_abs),
        pushed_at: row.try_get("pushed_at")?,
        default_branch: row.try_get("default_branch")?,
    })
}

impl Store {
    /// Writes what a host says of the repository in a folder, which need not be indexed yet, and forgets what was said of
    /// it before. `source` is the folder as an ingest names it: absolute, without symbolic links. Topics and the names of
    /// further texts get lowercase letters. Returns whether it differs from before; then [`publish_metadata`](Self::publish_metadata)
    /// makes it visible, or else the next ingest does.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn set_metadata(&self, source: &str, metadata: &RepoMetadata) -> Result<bool> {
        let mut conn = self.control().acquire().await?;
        write(&mut conn, source, metadata, true).await
    }

    /// Forgets what a host said of the repository in a folder. Returns whether anything was known.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn forget_metadata(&self, source: &str) -> Result<bool> {
        self.set_metadata(source, &RepoMetadata::default()).await
    }

    /// Begins an epoch if metadata of an indexed repository have changed since the last one. Returns whether all that was
    /// written is visible now: if an ingest is running, it publishes them itself, or the next call does.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn publish_metadata(&self) -> Result<bool> {
        let mut conn = self.connection().await?;
        let waits: bool = sqlx::query_scalar(
            "select exists (select from metadata where not published and source in (select source from repos))",
        )
        .fetch_one(&mut conn)
        .await?;
        if !waits {
            return Ok(true);
        }
        // The rows of an ingest that prepares the next epoch must not become visible with this one.
        let locked: bool = sqlx::query_scalar("select pg_try_advisory_lock($1)")
            .bind(WRITE_LOCK)
            .fetch_one(&mut conn)
            .await?;
        if !locked {
            return Ok(false);
        }
        undo_unpublished(&mut conn, self.groups()).await?;
        let mut tx = conn.begin().await?;
        let epoch: i32 = sqlx::query_scalar("select epoch from state").fetch_one(&mut *tx).await?;
        if note_published(&mut tx).await? > 0 && epoch > 0 {
            advance(&mut tx, Epoch(epoch + 1)).await?;
        }
        tx.commit().await?;
        // A connection that is only closed frees its lock some time later.
        sqlx::query("select pg_advisory_unlock($1)").bind(WRITE_LOCK).execute(&mut conn).await?;
        conn.close().await?;
        Ok(true)
    }

    /// Returns what is known of the repository in a folder.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn metadata(&self, source: &str) -> Result<RepoMetadata> {
        let sql = format!("select {COLUMNS} from metadata m where source = $1");
        let row = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(source)
            .fetch_optional(self.control())
            .await?;
        row.as_ref().map_or(Ok(RepoMetadata::default()), read)
    }
}

/// Deletes the metadata of repositories that are gone, and what the configurations in folders said that repositories are
/// about to leave for these.
pub(crate) async fn forget(
    tx: &mut PgConnection,
    repos: &[(RepoId, &str)],
    gone: &[i32],
) -> Result<()> {
    let (ids, sources): (Vec<i32>, Vec<&str>) = repos.iter().map(|(id, at)| (id.0, *at)).unzip();
    sqlx::query(
        "delete from metadata m using repos r left join unnest($1::int[], $2::text[]) n (id, source) using (id)
         where m.source = r.source and (r.id = any($3) or (n.source <> r.source and m.host is null))",
    )
    .bind(ids)
    .bind(sources)
    .bind(gone)
    .execute(tx)
    .await?;
    Ok(())
}

/// Writes what configurations say, when an ingest publishes these folders. Returns the number of changes that the new epoch
/// makes visible.
pub(crate) async fn publish(tx: &mut PgConnection, said: &[(&str, RepoMetadata)]) -> Result<u64> {
    let silent: Vec<&str> =
        said.iter().filter(|(_, said)| said.is_empty()).map(|(source, _)| *source).collect();
    let forgotten = sqlx::query("delete from metadata where host is null and source = any($1)")
        .bind(silent)
        .execute(&mut *tx)
        .await?
        .rows_affected();
    for (source, metadata) in said.iter().filter(|(_, said)| !said.is_empty()) {
        write(tx, source, metadata, false).await?;
    }
    Ok(forgotten + note_published(tx).await?)
}

/// Notes that an epoch makes all metadata of indexed repositories visible. Returns how many it does.
async fn note_published(tx: &mut PgConnection) -> Result<u64> {
    let noted = sqlx::query(
        "update metadata set published = true where not published and source in (select source from repos)",
    );
    Ok(noted.execute(tx).await?.rows_affected())
}

/// Writes the metadata of a folder. Those of a configuration do not replace those of a host. Returns whether they changed.
async fn write(
    conn: &mut PgConnection,
    source: &str,
    metadata: &RepoMetadata,
    of_host: bool,
) -> Result<bool> {
    let known = &metadata.properties;
    let lower = |texts: &[String]| {
        let mut lower: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
        lower.sort_unstable();
        lower.dedup();
        lower
    };
    let names = known.meta.keys().map(|name| name.to_lowercase()).collect::<Vec<_>>();
    let texts = known.meta.values().map(|text| text.replace('\0', "")).collect::<Vec<_>>();
    let written = sqlx::query(
        "insert into metadata as m (source, host, host_id, description, fork, archived, public, topics, stars, pushed_at,
                                    default_branch, meta)
         values ($1, $2, $3, $4, $5, $6, $7, nullif($8::text[], '{}'), $9, to_timestamp($10::bigint), $11,
                 nullif(jsonb_object($12::text[], $13::text[]), '{}'))
         on conflict (source) do update set
             host = excluded.host, host_id = excluded.host_id, description = excluded.description,
             fork = excluded.fork, archived = excluded.archived, public = excluded.public,
             topics = excluded.topics, stars = excluded.stars, pushed_at = excluded.pushed_at,
             default_branch = excluded.default_branch, meta = excluded.meta, published = false
         where ($14 or m.host is null)
           and (m.host, m.host_id, m.description, m.fork, m.archived, m.public, m.topics, m.stars, m.pushed_at,
                m.default_branch, m.meta)
             is distinct from
               (excluded.host, excluded.host_id, excluded.description, excluded.fork, excluded.archived, excluded.public,
                excluded.topics, excluded.stars, excluded.pushed_at, excluded.default_branch, excluded.meta)",
    )
    .bind(source)
    .bind(&metadata.host)
    .bind(&metadata.host_id)
    .bind(metadata.description.as_ref().map(|text| text.replace('\0', "")))
    .bind(known.fork)
    .bind(known.archived)
    .bind(known.public)
    .bind(lower(&known.topics))
    .bind(metadata.stars.map(|stars| i32::try_from(stars).unwrap_or(i32::MAX)))
    .bind(metadata.pushed_at)
    .bind(&metadata.default_branch)
    .bind(names)
    .bind(texts)
    .bind(of_host)
    .execute(conn)
    .await?;
    Ok(written.rows_affected() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{compared, ingest, load, on_index, value};

    #[test]
    fn ranks_grow_with_the_logarithm_of_stars() {
        let ranks = [0, 1, 10, 1_000, 100_000, u32::MAX].map(rank_of_stars);
        assert_eq!(ranks, [0, 0, 5116, 7108, 7804, 8483]);
    }

    #[test]
    fn a_change_is_visible_with_an_epoch_of_its_own_or_that_of_an_ingest() {
        on_index(1, async |store| {
            let starred = |stars| RepoMetadata {
                host: Some("work".to_owned()),
                stars: Some(stars),
                ..RepoMetadata::default()
            };
            let state = async || {
                let catalog = store.catalog().await.unwrap();
                let repo = catalog.repos.values().next().unwrap();
                (catalog.epoch, repo.rank)
            };
            // It is known before the repository is indexed.
            assert!(store.set_metadata("/nowhere", &starred(10)).await.unwrap());
            assert!(store.publish_metadata().await.unwrap());
            let files = [("a", 1, "text")];
            ingest(store, "one", &files).await;
            assert_eq!(state().await, (Epoch(1), 5116));
            assert!(!store.set_metadata("/nowhere", &starred(10)).await.unwrap());
            assert!(store.publish_metadata().await.unwrap());
            assert_eq!(value::<i32>(store, "select epoch from state").await, 1);
            assert!(store.set_metadata("/nowhere", &starred(1_000)).await.unwrap());
            assert!(store.publish_metadata().await.unwrap());
            assert_eq!(state().await, (Epoch(2), 7108));
            // A running ingest prepares the next epoch; it publishes the change with its own.
            let (mut session, repo) = compared(store, "one", &files).await;
            let indexed = load(store, &mut session, &files).await;
            assert!(store.forget_metadata("/nowhere").await.unwrap());
            assert!(!store.publish_metadata().await.unwrap());
            assert_eq!(value::<i32>(store, "select epoch from state").await, 2);
            session.publish(&[repo], &[], &indexed).await.unwrap();
            session.close().await.unwrap();
            assert_eq!(state().await, (Epoch(3), 0));
            assert!(store.publish_metadata().await.unwrap());
            assert_eq!(value::<i32>(store, "select epoch from state").await, 3);
        });
    }

    #[test]
    fn what_is_written_is_read() {
        on_index(1, async |store| {
            let meta = BTreeMap::from([("team".to_owned(), "Search \"x\"\\".to_owned())]);
            let properties = Properties {
                archived: Some(true),
                fork: Some(false),
                public: None,
                topics: vec!["grep".to_owned(), "search".to_owned()],
                meta,
            };
            let metadata = RepoMetadata {
                host: Some("work".to_owned()),
                host_id: Some("42".to_owned()),
                description: Some("What it is".to_owned()),
                properties,
                stars: Some(7),
                pushed_at: Some(1_700_000_000),
                default_branch: Some("main".to_owned()),
            };
            let mut written = metadata.clone();
            written.properties.topics = vec!["Search".to_owned(), "grep".to_owned()];
            assert!(store.set_metadata("/x", &written).await.unwrap());
            assert_eq!(store.metadata("/x").await.unwrap(), metadata);
            assert_eq!(store.metadata("/y").await.unwrap(), RepoMetadata::default());
            assert!(store.forget_metadata("/x").await.unwrap());
            assert!(store.metadata("/x").await.unwrap().is_empty());
        });
    }
}
