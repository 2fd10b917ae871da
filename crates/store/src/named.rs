//! What a search of a commit asks about: the contents that are stored under some names in git, and where the clones of
//! repositories lie.

use crate::error::Result;
use crate::lease::{BoundStatement, Lease};
use crate::{BlobId, RepoId, ShardId};

/// Contents that are stored under a name in git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedBlob {
    /// Index of its name among those that were asked for.
    pub at: usize,
    /// Its shard.
    pub shard: ShardId,
    /// Its number there.
    pub blob: BlobId,
    /// Number of its chunks.
    pub chunks: i32,
    /// Bytes of its text.
    pub bytes: i32,
}

/// Where the clone of a repository lies, and how its files are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClonePlace {
    /// The repository.
    pub repo: RepoId,
    /// The folder it was read from.
    pub source: String,
    /// Folders outside of `source` that belong to it, too.
    pub git_folders: Vec<String>,
    /// Whether ignore files do not apply.
    pub no_ignore: bool,
    /// Whether files that look like secrets are left out.
    pub skips_secrets: bool,
}

/// A row of `repos`: the columns of a [`ClonePlace`].
type PlaceRow = (i32, String, Vec<String>, bool, String);

impl Lease {
    /// Returns the contents that are stored under some names in git, whoever has them. Those without a file in the epoch
    /// of a search may be deleted meanwhile.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn named_blobs(&mut self, names: &[&[u8]]) -> Result<Vec<NamedBlob>> {
        let sql = "select (n - 1)::int, b.shard, b.id, b.chunks, b.bytes
                   from unnest($1::bytea[]) with ordinality named(oid, n) join blobs b using (oid)";
        let rows: Vec<(i32, i16, i32, i32, i32)> =
            self.fetch(BoundStatement::new(sql.to_owned()).bind(names)).await?;
        let blob = |(at, shard, blob, chunks, bytes): (i32, i16, i32, i32, i32)| {
            let (shard, blob) = (ShardId(shard), BlobId(blob));
            NamedBlob { at: at.unsigned_abs() as usize, shard, blob, chunks, bytes }
        };
        Ok(rows.into_iter().map(blob).collect())
    }

    /// Returns where the clones of some repositories lie.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn clone_places(&mut self, repos: &[RepoId]) -> Result<Vec<ClonePlace>> {
        let sql =
            "select id, source, git_folders, no_ignore, secrets from repos where id = any($1)";
        let ids: Vec<i32> = repos.iter().map(|repo| repo.0).collect();
        let rows: Vec<PlaceRow> = self.fetch(BoundStatement::new(sql.to_owned()).bind(ids)).await?;
        let place = |(repo, source, git_folders, no_ignore, secrets): PlaceRow| {
            let skips_secrets = secrets == "skip";
            ClonePlace { repo: RepoId(repo), source, git_folders, no_ignore, skips_secrets }
        };
        Ok(rows.into_iter().map(place).collect())
    }
}
