//! Resources: files of the index by their addresses, the manuals of the query language and of SQL, and the schemas of
//! answers.

use anyhow::{Result, anyhow, bail};
use percent_encoding::percent_decode_str;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use search::View;

use super::near::{check_repo, no_file};
use super::schemas;

/// What precedes the repository and path of a file.
const FILES: &str = "codesearch://file/";

/// Most bytes of a resource. A client gives all of it to its model, or nothing.
const MAX_BYTES: usize = 256 * 1024;

/// A manual: its address, name and description, media type, and text.
struct Manual {
    uri: &'static str,
    name: &'static str,
    about: &'static str,
    kind: &'static str,
    text: fn() -> String,
}

const MANUALS: [Manual; 3] = [
    Manual {
        uri: "codesearch://manual/syntax",
        name: "syntax",
        about: "The query language of search, with all fields.",
        kind: "text/markdown",
        text: || include_str!("../../../docs/syntax.md").to_owned(),
    },
    Manual {
        uri: "codesearch://manual/sql",
        name: "sql",
        about: "The views that the tool sql reads, with examples.",
        kind: "text/markdown",
        text: || include_str!("../../../docs/sql.md").to_owned(),
    },
    Manual {
        uri: "codesearch://schemas",
        name: "schemas",
        about: "JSON schemas of structuredContent, which a call gets with codesearch/structured: true in its _meta.",
        kind: "application/schema+json",
        text: || schemas::all().to_string(),
    },
];

/// Returns the resources that do not depend on the index.
pub(super) fn manuals() -> Vec<Resource> {
    let manual = |one: &Manual| {
        Resource::new(one.uri, one.name).with_description(one.about).with_mime_type(one.kind)
    };
    MANUALS.iter().map(manual).collect()
}

/// Returns the addresses of files.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let files = ResourceTemplate::new(format!("{FILES}{{+file}}{{?revision,lines}}"), "file")
        .with_title("A file of the index")
        .with_description(
            "file: REPOSITORY/PATH, as answers name them; revision: a branch, tag, commit or worktree; lines: 10-20.",
        );
    vec![files]
}

/// Returns the manual at an address.
pub(super) fn manual(uri: &str) -> Option<ReadResourceResult> {
    let manual = MANUALS.iter().find(|manual| manual.uri == uri)?;
    let text = ResourceContents::text((manual.text)(), uri).with_mime_type(manual.kind);
    Some(ReadResourceResult::new(vec![text]))
}

/// Reads a file of the index.
///
/// # Errors
/// There is none at the address, it is too large, or the database query fails.
pub(super) async fn read(view: &View, uri: &str) -> Result<ReadResourceResult> {
    let Some(rest) = uri.strip_prefix(FILES) else {
        let known: Vec<&str> = MANUALS.iter().map(|manual| manual.uri).collect();
        let near = query::nearest(uri, known).unwrap_or("codesearch://file/REPOSITORY/PATH");
        bail!("unknown resource {}; did you mean {near}?", query::shortened(uri, 100));
    };
    let (file, asked) = rest.split_once('?').unwrap_or((rest, ""));
    let (mut revision, mut lines) = (None, None);
    for pair in asked.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("revision", value)) => revision = Some(decoded(value)?),
            Some(("lines", value)) => lines = Some(range(value)?),
            _ => bail!("unknown parameter {}; use revision or lines", query::shortened(pair, 30)),
        }
    }
    let text = text_of(view, &decoded(file)?, revision.as_deref()).await?;
    let text = match lines {
        None => text.as_str(),
        Some(lines) => part(&text, lines)?,
    };
    if text.len() > MAX_BYTES {
        bail!("this file has {} bytes; read a part of it by adding ?lines=1-1000", text.len());
    }
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri)]))
}

/// Returns the text of a file, given as `REPOSITORY/PATH`.
async fn text_of(view: &View, file: &str, revision: Option<&str>) -> Result<String> {
    let catalog = view.catalog().await?;
    let known = |repo: &str| catalog.repos.values().any(|known| known.name == repo);
    // Names of repositories contain slashes, too.
    let mut places = file.rmatch_indices('/').map(|(at, _)| (&file[..at], &file[at + 1..]));
    let Some((repo, path)) = places.find(|(repo, _)| known(repo)) else {
        check_repo(view, file.split_once('/').map_or(file, |(repo, _)| repo)).await?;
        bail!("{file} names no file; read codesearch://file/REPOSITORY/PATH");
    };
    let text = match revision {
        None => browse::file_text(view, repo, path).await?.map(|file| (*file.text).to_owned()),
        Some(revision) => {
            let found = browse::file_text_at(view, repo, path, revision).await?;
            found.map(|file| (*file.text).to_owned())
        }
    };
    match text {
        Some(text) => {
            audit::told().file(repo);
            Ok(text)
        }
        None => Err(no_file(view, repo, path).await),
    }
}

fn decoded(text: &str) -> Result<String> {
    let text = percent_decode_str(text).decode_utf8();
    Ok(text.map_err(|_| anyhow!("the address is not UTF-8; encode it as UTF-8"))?.into_owned())
}

/// Parses `10-20` or `10`: the first line and the last.
fn range(text: &str) -> Result<(usize, usize)> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    match (from.parse(), to.parse()) {
        (Ok(from), Ok(to)) if 0 < from && from <= to => Ok((from, to)),
        _ => bail!("the parameter lines takes numbers of lines: lines=10-20"),
    }
}

/// Returns some lines of a text.
fn part(text: &str, (from, to): (usize, usize)) -> Result<&str> {
    let starts = |n: usize| {
        text.match_indices('\n').map(|(at, _)| at + 1).filter(|at| *at < text.len()).nth(n - 2)
    };
    let begin = if from == 1 { Some(0) } else { starts(from) };
    let Some(begin) = begin.filter(|_| !text.is_empty()) else {
        bail!("the file has {} lines; read others", text.lines().count());
    };
    Ok(&text[begin..starts(to + 1).unwrap_or(text.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parts_of_a_text() {
        let text = "a\nb\nc\n";
        let of = |lines: &str| part(text, range(lines).unwrap()).map_err(|error| error.to_string());
        assert_eq!(of("1-2"), Ok("a\nb\n"));
        assert_eq!(of("2"), Ok("b\n"));
        assert_eq!(of("3-9"), Ok("c\n"));
        assert_eq!(of("4"), Err("the file has 3 lines; read others".to_owned()));
        assert_eq!(part("a", (1, 1)).unwrap(), "a");
        for wrong in ["", "0", "2-1", "a-b", "-1"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn schemas_are_of_all_tools() {
        let all = schemas::all();
        for tool in crate::tools::listed(true) {
            assert_eq!(all[&*tool.name]["type"], "object", "{}", tool.name);
        }
    }
}
