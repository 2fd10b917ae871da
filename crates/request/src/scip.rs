//! The SCIP indexes of a repository: their tools, their dates, and how much of each still matches the files.

use serde_json::{Value, json};
use store::ScipImport;

use crate::human::{count, grouped};

/// Returns an import as JSON.
pub fn scip_json(import: &ScipImport) -> Value {
    json!({
        "tool": import.tool,
        "version": import.version,
        "root": import.root,
        "imported_at": import.imported_at,
        "files": import.documents,
        "fitting": import.fitting,
        "left_out": import.refused,
        "places": import.occurrences,
    })
}

/// Returns an import as text.
pub fn scip_text(import: &ScipImport) -> String {
    let folder =
        if import.root.is_empty() { String::new() } else { format!(" for {}", import.root) };
    let tool = format!("{} {}", import.tool, import.version);
    let files = count(import.documents as usize, "file");
    let fits = match import.fitting {
        fitting if fitting == import.documents => format!("{files}, all unchanged"),
        fitting => format!("{} of {files} unchanged", grouped(fitting as usize)),
    };
    format!("precise by {}{folder}: {fits}, imported {}", tool.trim_end(), import.imported_at)
}
