//! What the index knows of its files on disk.

use std::collections::HashMap;

use crate::error::Result;
use crate::lease::{BoundStatement, Lease};
use crate::{BlobId, Epoch, Oid, RepoId, ShardId};

/// What ingest recorded of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// A hash of what `stat` said; 0 if the file had just changed.
    pub fingerprint: i64,
    /// Git's hash of its bytes.
    pub oid: Oid,
}

impl Lease {
    /// Returns what ingest recorded of some files of a shard, in their order; `None` for a path that no longer has the
    /// blob in this epoch.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn recorded(
        &mut self,
        epoch: Epoch,
        shard: ShardId,
        files: &[(RepoId, BlobId, &str)],
    ) -> Result<Vec<Option<Recorded>>> {
        let sql = format!(
            "select n::int, f.fingerprint, b.oid
             from unnest($2::int[], $3::int[], $4::text[]) with ordinality a (repo, blob, path, n)
             join {} f on f.shard = {1} and f.blob = a.blob and f.repo = a.repo and f.path = a.path
                 and f.valid_from <= $1 and f.valid_to > $1
             join blobs b on b.shard = {1} and b.id = a.blob",
            shard.files(),
            shard.0
        );
        let bound = BoundStatement::new(sql)
            .bind(epoch.0)
            .bind(files.iter().map(|(repo, ..)| repo.0).collect::<Vec<_>>())
            .bind(files.iter().map(|(_, blob, _)| blob.0).collect::<Vec<_>>())
            .bind(files.iter().map(|(.., path)| (*path).to_owned()).collect::<Vec<_>>());
        let rows: Vec<(i32, i64, Vec<u8>)> = self.fetch(bound).await?;
        let mut recorded = vec![None; files.len()];
        for (number, fingerprint, oid) in rows {
            if let Ok(oid) = oid.try_into() {
                recorded[number as usize - 1] = Some(Recorded { fingerprint, oid });
            }
        }
        Ok(recorded)
    }

    /// Returns when each of some repositories was indexed, in seconds since 1970: when the last ingest began to list
    /// its files or, if that is not known, when it ended.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn indexed(&mut self, repos: &[RepoId]) -> Result<HashMap<RepoId, f64>> {
        let sql = "select id, extract(epoch from coalesce(listed_at, indexed_at))::float8
                   from repos where id = any($1) and indexed_at is not null";
        let ids: Vec<i32> = repos.iter().map(|repo| repo.0).collect();
        let rows: Vec<(i32, f64)> =
            self.fetch(BoundStatement::new(sql.to_owned()).bind(ids)).await?;
        Ok(rows.into_iter().map(|(id, time)| (RepoId(id), time)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ingest, on_index};

    #[test]
    fn files_are_as_the_last_ingest_saw_them() {
        on_index(2, async |store| {
            ingest(store, "r", &[("a", 1, "one"), ("b", 2, "one"), ("c", 0, "two")]).await;
            let catalog = store.catalog().await.unwrap();
            let shard = catalog.shards[0].id;
            let mut lease = store.lease().await.unwrap();
            let filter = catalog.filter();
            let files = lease.files(shard, None, &filter).await.unwrap();
            let mut asked: Vec<_> =
                files.iter().map(|file| (file.repo, file.blob, file.path.as_str())).collect();
            asked.push((files[0].repo, files[0].blob, "gone"));
            let recorded = lease.recorded(catalog.epoch, shard, &asked).await.unwrap();
            for (file, recorded) in files.iter().zip(&recorded) {
                let expected = ["c", "a", "b"].iter().position(|path| *path == file.path);
                assert_eq!(recorded.unwrap().fingerprint, expected.unwrap() as i64);
            }
            assert_eq!(recorded.last(), Some(&None));
            let repo = files[0].repo;
            let times = lease.indexed(&[repo, RepoId(99)]).await.unwrap();
            assert!(times.len() == 1 && times[&repo] > 1.0e9, "{times:?}");
            lease.done();
        });
    }
}
