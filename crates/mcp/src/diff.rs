//! The tool `diff`: what changed between two revisions of a repository, as a unified diff.

use std::sync::Arc;

use anyhow::{Result, bail};
use query::{Case, Comparison, CompiledQuery, Field, Pattern, Query, Tree};
use request::changes::{CONTEXT, Row, compared as named, file_json, rows};
use rmcp::schemars::JsonSchema;
use search::changes::{ChangedFile, Comparing, Range};
use search::{DEFAULT_TIMEOUT, Stopped, View};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::answer::{Answer, Text, count, default_bytes, shown};
use super::near::check_repo;

/// What can be asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Diff {
    /// The name of the repository.
    repo: String,
    /// A..B, A...B (since B left A) or one commit, by branches, tags or commits; or HEAD.
    range: String,
    /// Only this file, or files in this folder.
    #[serde(default)]
    path: Option<String>,
    /// Unchanged lines around changes.
    #[serde(default = "context")]
    #[schemars(range(min = 0, max = 100))]
    context_lines: usize,
    /// Files to skip: those of earlier answers.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    offset: usize,
    /// Most bytes.
    #[serde(default = "default_bytes")]
    #[schemars(range(min = 2048, max = 32768))]
    max_bytes: usize,
}

fn context() -> usize {
    CONTEXT
}

pub(super) const DESCRIPTION: &str = "Shows what changed between two revisions of a repository, or in a commit, \
as a unified diff. To find changed lines in it, use search with diff:A..B in the query.";

pub(super) async fn diff(view: &View, asked: Diff) -> Result<Answer> {
    check_repo(view, &asked.repo).await?;
    audit::told().repo(&asked.repo);
    let range = match Comparison::parse(&asked.range) {
        Some(comparison) => Range::Between(comparison),
        None if asked.range.is_empty() || asked.range.contains("..") => {
            bail!("the argument range takes A..B, A...B, or one commit")
        }
        None => Range::Commit(asked.range.clone()),
    };
    let paths = match asked.path.as_deref().map(|path| path.trim_end_matches('/')) {
        Some(path) if !path.is_empty() => {
            let pattern = format!("^{}(?:/|$)", query::escape(path));
            Tree::term(Field::Path, Pattern::parse(&pattern, Case::Sensitive, false)?)
        }
        _ => Tree::every_file(),
    };
    let what = Comparing {
        repo: asked.repo.clone(),
        range,
        paths: Arc::new(CompiledQuery::new(&Query::from_tree(paths))?),
        files: (asked.offset, usize::MAX),
        timeout: Some(DEFAULT_TIMEOUT),
    };
    let (found, files) = mpsc::channel(1);
    let taking = async {
        // Moved into this future, so that the receiver is dropped with it, which ends the comparison.
        let mut files = files;
        let mut page = Page {
            repo: &asked.repo,
            context: asked.context_lines,
            text: Text::of(asked.max_bytes),
            shown: 0,
            cut: false,
            full: false,
        };
        'all: while let Some(batch) = files.recv().await {
            let batch: Vec<ChangedFile> = batch;
            for file in &batch {
                if !page.add(file) {
                    break 'all;
                }
            }
        }
        page
    };
    let (compared, page) = tokio::join!(view.compare(&what, found), taking);
    let compared = compared?;
    let upto = asked.offset + page.shown;
    let mut head =
        format!("{}: {} changed.", named(&compared), count(compared.files, "file", "files"));
    let next = (upto < compared.files && page.shown > 0).then_some(upto);
    if asked.offset == 0 && next.is_none() && compared.stopped.is_none() && !page.cut {
        head += " That is all.";
    } else if page.shown > 0 {
        head += &format!(" Here are {} to {upto}", asked.offset + 1);
        head += if page.full { ": the answer is full." } else { "." };
    }
    if page.cut {
        head += " The last file is cut: ask for a part of it with search, or raise max_bytes.";
    }
    if let Some(next) = next {
        head += &format!(" For the next ones, ask again with offset {next}.");
    }
    match &compared.stopped {
        Some(Stopped::Timeout(_)) if !page.full => {
            head += " The comparison timed out, so files are missing; ask with path.";
        }
        Some(Stopped::Revision(why) | Stopped::Shards(why)) if !page.full => {
            head += &format!(" Incomplete: {why}.");
        }
        _ => {}
    }
    let next = next.map_or(Value::Null, |next| json!(next));
    Ok(page.text.below(&head, "files", "").and("next_offset", next))
}

/// An answer under construction.
struct Page<'a> {
    repo: &'a str,
    context: usize,
    text: Text,
    shown: usize,
    /// Whether the last file is shown in part.
    cut: bool,
    full: bool,
}

impl Page<'_> {
    /// Adds a file; returns false if no more fit. The first file is cut rather than left out.
    fn add(&mut self, file: &ChangedFile) -> bool {
        let mut piece = String::new();
        let mut lines = Vec::new();
        for row in rows(file, self.context) {
            let text = match &row {
                Row::Line(line) => format!("{}{}\n", row.sign(), shown(line.text, 0)),
                row => format!("{}\n", row.text()),
            };
            if piece.len() + text.len() > self.text.room() {
                if self.shown > 0 {
                    self.full = true;
                    return false;
                }
                self.cut = true;
                break;
            }
            piece += &text;
            lines.push(json!(text.trim_end_matches('\n')));
        }
        self.text.add(&piece);
        self.shown += 1;
        let told = file_json(file, None);
        let mut item = json!({ "repo": self.repo, "lines": lines });
        for name in ["path", "status", "renamed_from", "left_out", "added", "removed"] {
            if !told[name].is_null() {
                item[name] = told[name].clone();
            }
        }
        self.text.note(item);
        self.full = self.cut;
        !self.cut
    }
}
