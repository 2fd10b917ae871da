//! The tool `symbol`: where a name is defined, and who uses it, in one answer.

use anyhow::{Result, bail};
use search::View;

use super::answer::Answer;
use super::navigate::{self, Name};

pub(super) const DESCRIPTION: &str = "Tells where a name (function, type, method, constant, field, ...) is defined, and who \
calls or uses it: each line with the name as a word, with the kind of use (call, type, use, import, comment, string) and the \
enclosing function. Call it before you change or remove something. Lines marked precise come from a compiler's index; others \
have the same name. For names by a pattern, use search with sym:REGEX.";

/// Least bytes for definitions if references follow; else they may have half of an answer.
const LEAST: usize = 1536;

pub(super) async fn symbol(view: &View, asked: Name) -> Result<Answer> {
    if asked.name.trim().is_empty() && !asked.has_place() {
        bail!("symbol needs a name, or the place in from; give one of them");
    }
    match asked.find.as_str() {
        "definitions" => return navigate::definitions(view, &asked).await,
        "references" => return navigate::references(view, &asked).await,
        _ => {}
    }
    let max = asked.max_bytes;
    let (defined, mut definitions) =
        navigate::definitions_of(view, &asked, LEAST.max(max / 2)).await?;
    let items = definitions.take_items();
    let (used, mut references) =
        navigate::references_of(view, &asked, max - definitions.len()).await?;
    references.reserve(&items);
    let text = references.after(&definitions, "References:");
    let head = format!("Definitions: {defined}\nReferences: {used}");
    Ok(text.below(&head, "files", "").and("definitions", items))
}
