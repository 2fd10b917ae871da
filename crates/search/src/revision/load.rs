//! The files of a commit: which of them are stored, and the texts of the others.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use files::SkipReason;
use git::Oid;
use store::{Catalog, FileFilter, NamedBlob, RepoId, Shard, ShardId, Store, TreeFilter};

use super::cache::{Commits, FilesKey};
use super::choose::Chosen;
use super::commit_files::{CommitFiles, Listing, ReadFile, StoredFile};
use super::read::{self, Contents, MAX_BYTES, MAX_FILES};
use crate::cache::ShardCache;
use crate::clock::Clock;
use crate::types::Error;

/// What loading reads from.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) store: &'a Store,
    pub(crate) cache: Option<&'a ShardCache>,
    pub(crate) commits: &'a Arc<Commits>,
    pub(crate) catalog: &'a Catalog,
}

/// Contents of a commit that are stored and that a file of the epoch has.
struct Known {
    blob: NamedBlob,
    /// The files of the epoch that have them.
    files: Vec<Namesake>,
}

/// A file of the epoch.
struct Namesake {
    repo: RepoId,
    /// The last part of its path.
    name: Box<str>,
    language: Option<Arc<str>>,
}

impl Namesake {
    fn new(repo: RepoId, path: &str, language: Option<Arc<str>>) -> Self {
        Self { repo, name: last(path).into(), language }
    }
}

/// Returns the last part of a path.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Loads the files of a commit, reading at most `most` bytes of contents that are not stored. `None` if the clock ran out.
///
/// # Errors
/// A statement failed, or the clone cannot be read.
pub(crate) async fn load(
    from: Sources<'_>,
    chosen: &Chosen,
    most: u64,
    clock: &Arc<Clock>,
) -> Result<Option<Arc<CommitFiles>>, Error> {
    let Sources { commits, catalog, .. } = from;
    let (repo, commit) = (chosen.place.repo, chosen.commit);
    let key = FilesKey { switch: catalog.switch, repo, commit };
    if let Some(known) = commits.files(&key) {
        return Ok(Some(known));
    }
    let reader = Arc::clone(&commits.readers).acquire_owned().await;
    let _reader = reader.expect("nobody closes the semaphore");
    let Some(listing) = listing(commits, chosen, clock).await? else { return Ok(None) };
    let known = known(from, &listing).await?;
    let mut files = CommitFiles { left_out: listing.left_out.clone(), ..CommitFiles::default() };
    let is_secret = |path: &str| chosen.place.skips_secrets && files::looks_secret(path);
    let (mut unknown, mut unnamed) = (Vec::new(), Vec::new());
    for (at, (path, name)) in listing.files.iter().enumerate() {
        if is_secret(path) {
            files.left_out.push((path.clone(), SkipReason::Secret.word()));
            continue;
        }
        if !chosen.place.no_ignore && listing.rules.exclude(path) {
            files.left_out.push((path.clone(), SkipReason::Excluded.word()));
            continue;
        }
        // Contents of others may be a private key.
        let is_safe = |of: &&Known| {
            !chosen.place.skips_secrets || of.files.iter().any(|file| file.repo == repo)
        };
        let Some(Known { blob, files: alike }) = known.get(name).filter(is_safe) else {
            unknown.push(at);
            continue;
        };
        let like = alike.iter().find(|file| *file.name == *last(path));
        let said = listing.rules.language(path);
        let language = match &said {
            Some(language) => Some(Arc::from(language.as_str())),
            None => like.and_then(|file| file.language.clone()),
        };
        let (number, bytes, end) = (blob.blob, blob.bytes, blob.blob.0 + blob.chunks);
        let file = StoredFile { blob: number, end, bytes, path: path.clone(), language };
        // Languages depend on texts, too.
        if like.is_none() && said.is_none() {
            unnamed.push((blob.shard, file));
        } else {
            files.stored.entry(blob.shard).or_default().push(file);
        }
    }
    name_languages(from, unnamed, &mut files).await?;
    for of_shard in files.stored.values_mut() {
        of_shard.sort_by(|a, b| (a.blob, &a.path).cmp(&(b.blob, &b.path)));
    }
    if listing.is_cut {
        files.cut = Some(format!("only the first {MAX_FILES} files of the commit were searched"));
    }
    let complete = read_unknown((&listing, unknown), chosen, &mut files, (commits, clock, most));
    if !complete.await? {
        return Ok(None);
    }
    let files = Arc::new(files);
    if most == MAX_BYTES {
        commits.add_files(key, &files);
    }
    Ok(Some(files))
}

/// Returns the list of a commit's files; `None` if the clock ran out.
pub(crate) async fn listing(
    commits: &Arc<Commits>,
    chosen: &Chosen,
    clock: &Arc<Clock>,
) -> Result<Option<Arc<Listing>>, Error> {
    let commit = chosen.commit;
    if let Some(known) = commits.listing(&commit) {
        return Ok(Some(known));
    }
    let (clone, clock) = (chosen.clone.clone(), Arc::clone(clock));
    let list = move || read::list(&clone, commit, &|| clock.goes_on());
    let listed = tokio::task::spawn_blocking(list).await.expect("listing does not panic");
    let listed = listed.map_err(|error| Error::Revision(error.to_string()))?;
    Ok(listed.map(|listing| {
        let listing = Arc::new(listing);
        commits.add_listing(commit, &listing);
        listing
    }))
}

/// Returns the contents of the listed files that are stored and that a file of the epoch has: others may be deleted at
/// any time.
async fn known(from: Sources<'_>, listing: &Listing) -> Result<HashMap<Oid, Known>, store::Error> {
    let mut names: Vec<Oid> = listing.files.iter().map(|(_, name)| *name).collect();
    names.sort_unstable();
    names.dedup();
    let bytes: Vec<&[u8]> = names.iter().map(Oid::as_slice).collect();
    let mut lease = from.store.lease().await?;
    let blobs = lease.named_blobs(&bytes).await?;
    lease.done();
    let mut by_shard: BTreeMap<ShardId, Vec<NamedBlob>> = BTreeMap::new();
    for blob in blobs {
        by_shard.entry(blob.shard).or_default().push(blob);
    }
    let mut known = HashMap::new();
    let mut asked = Vec::new();
    let mut languages: HashMap<String, Arc<str>> = HashMap::new();
    let mut one_of = |language: Option<&str>| {
        language.map(|language| match languages.get(language) {
            Some(known) => Arc::clone(known),
            None => {
                let new: Arc<str> = language.into();
                languages.insert(language.to_owned(), Arc::clone(&new));
                new
            }
        })
    };
    let view = |shard: &Shard| from.cache.and_then(|cache| cache.view().of(shard).files);
    for (id, blobs) in &mut by_shard {
        blobs.sort_unstable_by_key(|blob| blob.blob);
        // A shard that is not live yet has no file of the epoch.
        let Some(shard) = from.catalog.shards.iter().find(|shard| shard.id == *id) else {
            continue;
        };
        let Some(files) = view(shard) else {
            asked.push((*id, blobs.iter().map(|blob| blob.blob.0).collect::<Vec<i32>>()));
            continue;
        };
        for blob in blobs {
            let of_blob = files.of_blob(blob.blob);
            let files: Vec<_> = of_blob
                .map(|file| Namesake::new(file.repo, file.path, one_of(file.language)))
                .collect();
            if !files.is_empty() {
                known.insert(names_at(&bytes, blob), Known { blob: *blob, files });
            }
        }
    }
    if asked.is_empty() {
        return Ok(known);
    }
    let filter = FileFilter {
        epoch: from.catalog.epoch,
        repos: None,
        languages: None,
        trees: TreeFilter::All,
    };
    let mut files: HashMap<ShardId, Vec<store::File>> = HashMap::new();
    for group in from.store.in_groups(asked.clone(), |(shard, _)| *shard) {
        let mut lease = from.store.lease().await?;
        match lease.files_of_shards(&group, &filter).await {
            // What is stored there is read from the clone.
            Err(store::Error::Node { .. }) => continue,
            read => files.extend(read?),
        }
        lease.done();
    }
    for (id, _) in asked {
        let mut files = files.remove(&id).unwrap_or_default().into_iter().peekable();
        for blob in &by_shard[&id] {
            let mut alike = Vec::new();
            while let Some(file) = files.next_if(|file| file.blob <= blob.blob) {
                let language = one_of(file.language.as_deref());
                alike.push(Namesake::new(file.repo, &file.path, language));
            }
            if !alike.is_empty() {
                known.insert(names_at(&bytes, blob), Known { blob: *blob, files: alike });
            }
        }
    }
    Ok(known)
}

fn names_at(names: &[&[u8]], blob: &NamedBlob) -> Oid {
    Oid::try_from(names[blob.at]).expect("it was a name before")
}

/// Returns the only file of a list with its shard, if its contents are stored.
///
/// # Errors
/// A statement failed.
pub(crate) async fn stored_file(
    from: Sources<'_>,
    only: &Listing,
) -> Result<Option<(Shard, StoredFile)>, store::Error> {
    let known = known(from, only).await?;
    let mut files = CommitFiles::default();
    for (path, name) in &only.files {
        let Some(Known { blob, .. }) = known.get(name) else { continue };
        let (number, bytes, end) = (blob.blob, blob.bytes, blob.blob.0 + blob.chunks);
        let file = StoredFile { blob: number, end, bytes, path: path.clone(), language: None };
        name_languages(from, vec![(blob.shard, file)], &mut files).await?;
    }
    let first = files.stored.into_iter().find_map(|(id, files)| {
        let shard = from.catalog.shards.iter().find(|shard| shard.id == id)?;
        Some((shard.clone(), files.into_iter().next()?))
    });
    Ok(first)
}

/// Adds stored files whose names no file of the epoch has, with the languages that their texts tell.
async fn name_languages(
    from: Sources<'_>,
    unnamed: Vec<(ShardId, StoredFile)>,
    files: &mut CommitFiles,
) -> Result<(), store::Error> {
    if unnamed.is_empty() {
        return Ok(());
    }
    // The first chunk of a text tells its language.
    let mut asked: BTreeMap<ShardId, Vec<i32>> = BTreeMap::new();
    for (shard, file) in &unnamed {
        asked.entry(*shard).or_default().push(file.blob.0);
    }
    let asked: Vec<(ShardId, Vec<i32>)> = asked
        .into_iter()
        .map(|(shard, mut blobs)| {
            blobs.sort_unstable();
            blobs.dedup();
            (shard, blobs)
        })
        .collect();
    let mut lease = from.store.lease().await?;
    let chunks = lease.chunks_of_shards(&asked).await?;
    lease.done();
    for (shard, mut file) in unnamed {
        let text = chunks.get(&shard).and_then(|chunks| {
            let at = chunks.binary_search_by_key(&file.blob.0, |chunk| chunk.n).ok()?;
            Some(&*chunks[at].contents)
        });
        file.language = text.and_then(|text| files::language_of(&file.path, text)).map(Arc::from);
        files.stored.entry(shard).or_default().push(file);
    }
    Ok(())
}

/// Reads the files with some indices in a list. Returns false if the clock ran out.
async fn read_unknown(
    (listing, unknown): (&Listing, Vec<usize>),
    chosen: &Chosen,
    files: &mut CommitFiles,
    (commits, clock, most): (&Arc<Commits>, &Arc<Clock>, u64),
) -> Result<bool, Error> {
    let mut names: Vec<Oid> = Vec::with_capacity(unknown.len());
    let mut place: HashMap<Oid, usize> = HashMap::with_capacity(unknown.len());
    for at in &unknown {
        let name = listing.files[*at].1;
        place.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() - 1
        });
    }
    if names.is_empty() {
        return Ok(true);
    }
    let (clone, commits, clock) = (chosen.clone.clone(), Arc::clone(commits), Arc::clone(clock));
    let read = {
        let (names, clock) = (names, Arc::clone(&clock));
        let read = move || read::read_all(&clone, &names, most, &commits, &|| clock.goes_on());
        tokio::task::spawn_blocking(read).await.expect("reading does not panic")
    };
    let read = read.map_err(|error| Error::Revision(error.to_string()))?;
    if !clock.goes_on() {
        return Ok(false);
    }
    let (mut missing, mut unread) = (None, 0);
    let mut languages: HashMap<String, Arc<str>> = HashMap::new();
    for at in unknown {
        let (path, name) = &listing.files[at];
        match read.get(place[name]) {
            None => unread += 1,
            Some(Contents::Missing(why)) => {
                missing.get_or_insert_with(|| why.clone());
            }
            Some(Contents::LeftOut(reason)) => files.left_out.push((path.clone(), reason)),
            Some(Contents::Text(text)) => {
                if let Some(reason) = unwanted(path, &text.text, chosen.place.skips_secrets) {
                    files.left_out.push((path.clone(), reason));
                    continue;
                }
                let said = listing.rules.language(path);
                let language = said.or_else(|| files::language_of(path, &text.text));
                let language = language.map(|language| {
                    let shared =
                        languages.entry(language).or_insert_with_key(|name| name.as_str().into());
                    Arc::clone(shared)
                });
                let (path, text) = (path.clone(), Arc::clone(text));
                files.read.push(ReadFile { path, name: *name, text, language });
            }
        }
    }
    if unread > 0 {
        let limit = most >> 20;
        let why = format!(
            "{unread} files of the commit were not searched, as its contents that are not indexed exceed {limit} MiB; \
             index the branch or tag, or name fewer repositories"
        );
        files.cut.get_or_insert(why);
    }
    if let Some(why) = missing {
        files.cut.get_or_insert(why);
    }
    Ok(true)
}

/// Returns why a text is left out, if it is: the reason's word.
pub(crate) fn unwanted(path: &str, text: &str, skips_secrets: bool) -> Option<&'static str> {
    if read::is_lfs_pointer(text) {
        return Some(SkipReason::Lfs.word());
    }
    (skips_secrets && files::is_private_key(path, text)).then(|| SkipReason::Secret.word())
}
