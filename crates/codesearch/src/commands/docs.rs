//! `codesearch docs`: prints the documents and comments that match best.

use anyhow::Result;
use search::DEFAULT_TIMEOUT;
use search::docs::{self, DocsRequest, DocsStopped, MAX_RANKED};

use super::refused;
use crate::cli::DocsArgs;
use crate::console::Console;
use crate::database::Index;
use crate::print::Paths;
use crate::print::docs::print;
use request::docs_answer::{Answer, stopped};
use request::hints;
use request::{self, DocsQuery, Here};

pub(crate) fn run(index: &Index<'_>, console: &Console, args: &DocsArgs) -> Result<u8> {
    let query = args.query.join(" ");
    let asked = DocsQuery::of(&query);
    let request = DocsRequest {
        query: asked.words.clone(),
        limit: usize::from(args.limit),
        repos: Vec::new(),
        languages: Vec::new(),
        ranked: MAX_RANKED,
        dictionary: args.dictionary.into(),
        timeout: args.timeout.or(Some(DEFAULT_TIMEOUT)),
    };
    let repos = [args.repo.as_slice(), &asked.repos].concat();
    let languages = [args.lang.as_slice(), &asked.languages].concat();
    let of_repos =
        |repos: &[String]| request::docs(request.clone(), repos, &languages).map_err(refused);
    let wide = of_repos(&repos)?;
    let parallel = std::thread::available_parallelism().map_or(2, usize::from);
    index.read(2 * parallel as u32, parallel, async |view| {
        let here = Here::of(view, console.folder.as_deref()).await?;
        let view = &here.in_view(view);
        let paths = Paths::of(here, console, false);
        let mut found = docs::find(view, &wide).await?;
        // The documents of the current folder's repository come first.
        if let Some(here) = paths.here().inside().filter(|_| repos.is_empty()) {
            let own = docs::find(view, &of_repos(&[exact(&here.repo)])?).await?;
            found.docs.retain(|doc| doc.repo != here.repo);
            found.docs.splice(0..0, own.docs);
            found.docs.truncate(wide.limit);
            if !own.missing.is_empty() {
                found.stopped = own.stopped;
                found.missing.join(own.missing);
            }
        }
        audit::told().results(found.docs.iter().map(|doc| doc.repo.as_str()));
        let answer = args.json.then(|| Answer::of(&query, &asked.ignored, &found));
        let is_read = super::write_answer(console, answer, |out| {
            print(out, &found, &paths, args.color, console)
        })?;
        if !is_read {
            return Ok(crate::FOUND);
        }
        super::tell_trees(console, paths.here());
        if let Some(notice) = asked.notice() {
            note!(to console, "codesearch: {notice}");
        }
        if let Some((_, why)) = stopped(&found) {
            note!(to console, "codesearch: {why}");
        } else if found.docs.is_empty() {
            let missing = hints::missing_repository(view, &repos).await;
            let why = missing.unwrap_or_else(|| "no document has all of these words".to_owned());
            note!(to console, "codesearch: nothing found: {why}");
        }
        let old = request::fresh::very_old(&found.covered);
        let old = old.filter(|_| console.stderr_is_terminal);
        for note in request::fresh::outdated(&found.covered).into_iter().chain(old) {
            note!(to console, "codesearch: {note}");
        }
        Ok(match found.stopped {
            Some(DocsStopped::Timeout(_) | DocsStopped::Shards(_)) => crate::FAILED,
            _ if found.docs.is_empty() => crate::NOTHING,
            _ => crate::FOUND,
        })
    })
}

/// Returns the pattern that matches only this repository.
fn exact(repo: &str) -> String {
    format!("^{}$", query::escape(repo))
}
