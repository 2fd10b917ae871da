//! `codesearch files`: prints the files whose paths are most similar to the query.

use std::io::Write;

use anyhow::{Context, Result, anyhow};
use browse::{self, FindRequest, LeftOut, NearFile};
use fuzzy::{PathQuery, QueryTooLong};
use serde_json::json;

use crate::cli::FilesArgs;
use crate::console::Console;
use crate::database::{Index, connections, cores};
use crate::print::Paths;
use request::Here;
use request::hints::missing_repository;

pub(crate) fn run(index: &Index<'_>, console: &Console, args: &FilesArgs) -> Result<u8> {
    // Reports a wrong query before the database is opened.
    let query = args.query.join(" ");
    PathQuery::new(&query)?;
    let languages = args.lang.as_deref().map_or(Ok(Vec::new()), query::languages);
    let languages = languages.map_err(|why| anyhow!("--lang: {why}"))?;
    index.read(connections(), cores(), async |view| {
        let here = Here::of(view, console.folder.as_deref()).await?;
        let view = &here.in_view(view);
        let paths = Paths::of(here, console, args.local);
        let tree = view.tree().await?;
        let lacking = tree.lacking(args.repo.as_deref());
        let missing = request::notes::missing(&tree.missing()).or(lacking);
        let limit = if args.limit == 0 { tree.len() } else { args.limit };
        let here = paths.here().inside().map(|inside| inside.repo.clone());
        let (asked, typed) = (args.clone(), query.clone());
        let work = tokio::task::spawn_blocking(move || {
            let find = |repo: Option<&str>| {
                let languages = &languages;
                browse::find(&tree, &FindRequest { query: &typed, repo, languages, limit })
            };
            let (mut near, all) = find(asked.repo.as_deref())?;
            if let Some(here) = here {
                // The files of the current folder's repository first, each list in its order.
                let is_here = |file: &NearFile| file.repo == here;
                if asked.repo.is_none() && near.len() < all {
                    near.retain(|file| !is_here(file));
                    near.extend(find(Some(&here))?.0.into_iter().filter(is_here));
                }
                near.sort_by_key(|file| !is_here(file));
                near.truncate(limit);
            }
            Ok::<_, QueryTooLong>((near, all))
        });
        let (near, all) =
            work.await.context("the search for files failed; please report this as a bug")??;
        audit::told().results(near.iter().map(|file| file.repo.as_str()));
        let mut out = console.stdout();
        for file in &near {
            let path = paths.joined(&file.repo, &file.path);
            if args.json {
                let mut line = json!({
                    "repo": file.repo,
                    "path": file.path,
                    "language": file.language,
                    "matched": file.matched,
                });
                if let Some(tree) = paths.here().tree_of(&file.repo) {
                    line["tree"] = tree.into();
                }
                if args.local {
                    line["file"] = path.into();
                }
                writeln!(out, "{line}")?;
            } else {
                writeln!(out, "{path}")?;
            }
        }
        out.flush()?;
        super::tell_trees(console, paths.here());
        if near.len() < all {
            note!(to console,
                "codesearch: the {} nearest of {all} files (--limit for more, 0 for all)",
                near.len()
            );
        }
        if let Some(missing) = missing {
            note!(to console, "codesearch: incomplete: {missing}");
            return Ok(crate::FAILED);
        }
        if near.is_empty() {
            let unknown = match &args.repo {
                Some(repo) => missing_repository(view, std::slice::from_ref(repo)).await,
                None => None,
            };
            let left_out = browse::left_out_file(view, &query).await?;
            let left_out = left_out.map(|LeftOut { repo, path, why }| {
                format!("{} was left out of the index ({why})", paths.joined(&repo, &path))
            });
            let why =
                unknown.or(left_out).unwrap_or_else(|| format!("no path is similar to {query}"));
            note!(to console, "codesearch: nothing found: {why}");
        }
        Ok(if near.is_empty() { crate::NOTHING } else { crate::FOUND })
    })
}
