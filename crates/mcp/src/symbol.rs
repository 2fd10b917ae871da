//! The tool `symbol`: where a name is defined, and who uses it, in one answer.

use anyhow::{Result, bail};
use search::View;

use super::answer::Answer;
use super::name::Name;
use super::{definitions, references, uses};

pub(super) const DESCRIPTION: &str = "Tells where a name (function, type, method, constant, field, ...) is defined, and who \
calls or uses it, in all repositories: for each file the numbers of lines with the enclosing function (190 in f), and the kind of use unless \
it is a call (type, use, import). find=references also shows the lines' texts, comments and strings. Call it before you change or remove \
something. precise marks what a compiler's index tells; the rest has the same name. For names by a pattern, search sym:REGEX.";

/// Least bytes for definitions if references follow; else they may have half of an answer.
const LEAST: usize = 1536;

pub(super) async fn symbol(view: &View, asked: Name) -> Result<Answer> {
    if asked.name.trim().is_empty() && !asked.has_place() {
        bail!("symbol needs a name, or the place in from; give one of them");
    }
    match asked.find.as_str() {
        "definitions" => return definitions::definitions(view, &asked).await,
        "references" => return references::references(view, &asked).await,
        _ => {}
    }
    let max = asked.max_bytes;
    let (defined, mut definitions, about) =
        definitions::definitions_of(view, &asked, LEAST.max(max / 2)).await?;
    let items = definitions.take_items();
    let (found, mut uses, more) = uses::uses_of(view, &asked, max - definitions.len()).await?;
    uses.reserve(&items);
    let text = uses.after(&definitions, &found);
    let mut about = about;
    about.extend(more);
    about.dedup();
    let answer = text.below(&defined, "files", "").and("definitions", items);
    Ok(answer.summing_up(&found).about(about))
}
