//! Where a name is defined.

use std::collections::HashMap;

use anyhow::Result;
use search::View;
use serde_json::json;

use super::answer::{Answer, Text, brief, count};
use super::file::qualified_kind;
use super::name::{self, Name, Told};

pub(super) async fn definitions(view: &View, asked: &Name) -> Result<Answer> {
    let (head, text, about) = definitions_of(view, asked, asked.max_bytes).await?;
    Ok(text.below(&head, "definitions", "").about(about))
}

/// Returns the head and the list of an answer with the definitions of a name, in at most `max` bytes.
pub(super) async fn definitions_of(view: &View, asked: &Name, max: usize) -> Result<Told> {
    let request = name::request(view, asked, asked.limit).await?;
    let found = navigate::definitions(view, &request).await?;
    audit::told().results(found.found.iter().map(|one| one.repo.as_str()));
    let is_precise = !found.symbols.is_empty();
    let mut text = Text::of(max);
    let (mut told, mut last, mut seen) = (0, String::new(), HashMap::new());
    for one in &found.found {
        // The same line of a file that several repositories have, such as one that was copied.
        let key = (one.path.as_str(), one.symbol.line, one.text.as_str());
        let original: &mut &str = seen.entry(key).or_insert(one.repo.as_str());
        let is_copy = *original != one.repo;
        let file = format!("{}: {}", one.repo, one.path);
        let gap = if text.is_empty() { "" } else { "\n" };
        let head = if file == last { String::new() } else { format!("{gap}{file}\n") };
        let line = brief(&one.text, one.range.start);
        let kind = format!("{}{}", name::basis(one.basis, is_precise), qualified_kind(&one.symbol));
        let piece = if is_copy {
            format!("{}{}: {}:{} is the same\n", gap, one.repo, one.path, one.symbol.line)
        } else {
            format!("{head}{}:{line}  [{kind}]\n", one.symbol.line)
        };
        if !text.add(&piece) {
            break;
        }
        let mut item = json!({
            "repo": one.repo, "path": one.path, "line": one.symbol.line, "text": line, "name": one.symbol.name,
            "kind": one.symbol.kind, "basis": one.basis.word(),
        });
        if let Some((container, _)) = &one.symbol.container {
            item["container"] = json!(container);
        }
        text.note(item);
        told += 1;
        last = if is_copy { String::new() } else { file };
    }
    let what = count(found.count, "definition", "definitions");
    let mut head = name::head(&what, (told, found.count, "definitions"), &found.stats, max);
    if found.count == 0 {
        head = format!("No definition of that name{} {head}", name::nearest(view, asked).await);
    }
    Ok((head, text, name::about(&found.stats)))
}
