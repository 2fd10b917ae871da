//! Combines a query and the patterns of `-e` and `-f` into the query to search for.

use std::path::Path;

use anyhow::{Context, Result, bail};
use query::{Case, Field, Pattern, Query, QueryError, Suggestion, Tree, escape};

use super::refused;
use crate::cli::SearchArgs;
use crate::console::Console;
use request::{self, Client, Options};

/// Most bytes of a pattern that joins several. The limit of patterns is higher.
const MOST_BYTES: usize = 7 * 1024;

/// Builds the query to search for: the query text, and the condition that one of the patterns matches.
pub(crate) fn query(console: &Console, args: &SearchArgs, options: &Options) -> Result<Query> {
    let form = Form::of(args, options);
    let patterns = form.patterns(console, args)?;
    let mut query = match typed(args, options)? {
        Some(mut query) => {
            form.apply(&mut query.tree)?;
            query
        }
        None => Query::from_tree(Tree::every_file()),
    };
    if let Some(patterns) = patterns {
        query = query.and(patterns);
    }
    if args.output.files_without_match {
        query.tree = without_match(query.tree)?;
    }
    Ok(query)
}

/// Parses the query text alone.
fn typed(args: &SearchArgs, options: &Options) -> Result<Option<Query>> {
    let Some(text) = args.query_text() else { return Ok(None) };
    if args.patterns.fixed_strings {
        return Ok(Some(Query::of(Field::Content, Pattern::literal(&text, options.case)?)));
    }
    request::parse(&text, options, &Client::COMMAND_LINE).map(Some).map_err(refused)
}

/// The options that apply to every pattern.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
struct Form {
    fixed: bool,
    words: bool,
    lines: bool,
    dot_matches_all: bool,
    crlf: bool,
    case: Case,
    multiline: bool,
}

impl Form {
    fn of(args: &SearchArgs, options: &Options) -> Self {
        let patterns = &args.patterns;
        Self {
            fixed: patterns.fixed_strings,
            words: patterns.word_regexp,
            lines: patterns.line_regexp,
            dot_matches_all: patterns.multiline && patterns.multiline_dotall,
            crlf: patterns.crlf,
            case: options.case,
            multiline: options.multiline,
        }
    }

    /// Returns the condition that one of the patterns of `-e` and `-f` matches; `None` without these options.
    fn patterns(&self, console: &Console, args: &SearchArgs) -> Result<Option<Tree>> {
        let mut sources = args.regexps();
        if sources.is_empty() && args.patterns.pattern_file.is_empty() {
            return Ok(None);
        }
        for file in &args.patterns.pattern_file {
            sources.extend(read(console, file)?.lines().map(str::to_owned));
        }
        if self.fixed {
            for source in &mut sources {
                *source = escape(source);
            }
        }
        for source in &sources {
            Pattern::parse(source, self.case, self.multiline)
                .map_err(|error| as_text(error, source))
                .context("invalid regular expression")?;
        }
        let mut terms = Vec::new();
        let mut rest = &sources[..];
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |source: &&String| {
                bytes += source.len() + "(?:)|".len();
                bytes <= MOST_BYTES
            };
            let (some, more) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            terms.push(Tree::term(Field::Content, self.one(some, self.case, self.multiline)?));
            rest = more;
        }
        // A pattern file without patterns matches nothing.
        Ok(Some(if terms.is_empty() { !Tree::every_file() } else { Tree::any(terms) }))
    }

    /// Joins several patterns into one.
    fn one(&self, sources: &[String], case: Case, multiline: bool) -> Result<Pattern> {
        let whole = self.whole(sources, "");
        let pattern = Pattern::parse(&whole, case, multiline);
        // A pattern may end in a comment, which would swallow the closing parenthesis, so the second attempt ends it
        // with a line feed.
        let pattern =
            pattern.or_else(|_| Pattern::parse(&self.whole(sources, "\n"), case, multiline));
        let pattern = match pattern {
            Ok(pattern) if self.crlf => pattern.without_carriage_returns().context("--crlf")?,
            pattern => pattern.context("invalid regular expression")?,
        };
        Ok(pattern)
    }

    fn whole(&self, sources: &[String], end: &str) -> String {
        let whole = match sources {
            [one] if !self.changes() => return one.clone(),
            [one] => format!("{one}{end}"),
            several => {
                let parts = several.iter().map(|source| format!("(?:{source}{end})"));
                parts.collect::<Vec<_>>().join("|")
            }
        };
        let whole = if self.dot_matches_all { format!("(?s:{whole})") } else { whole };
        let whole = match (self.words, self.lines) {
            (true, _) => format!(r"\b{{start-half}}(?:{whole})\b{{end-half}}"),
            (_, true) => format!("(?m:^)(?:{whole})(?m:$)"),
            _ => whole,
        };
        if self.crlf { format!("(?R:{whole})") } else { whole }
    }

    fn changes(&self) -> bool {
        self.words || self.lines || self.dot_matches_all || self.crlf
    }

    /// Applies the options for patterns to the terms of a query that match in texts.
    fn apply(&self, tree: &mut Tree) -> Result<()> {
        if !self.changes() {
            return Ok(());
        }
        match tree {
            Tree::All(parts) | Tree::Any(parts) => {
                parts.iter_mut().try_for_each(|part| self.apply(part))?;
            }
            Tree::Not(inner) => self.apply(inner)?,
            Tree::Term(term) if reads_text(term.field) => {
                let pattern = &term.pattern;
                let case = if pattern.is_caseless() { Case::Insensitive } else { Case::Sensitive };
                let multiline = pattern.spans_lines() || self.dot_matches_all;
                term.pattern = self.one(&[pattern.source().to_owned()], case, multiline)?;
            }
            Tree::Term(_) | Tree::Language(_) | Tree::InTree(_) | Tree::Property(_) => {}
        }
        Ok(())
    }
}

/// Adds to a pattern's error the suggestion to search for it as literal text.
fn as_text(mut error: QueryError, source: &str) -> QueryError {
    let (query, text) = (query::literal(source), Some(source.to_owned()));
    error.suggestion = Some(Box::new(Suggestion { query, text }));
    error
}

fn read(console: &Console, file: &Path) -> Result<String> {
    console.read(file).with_context(|| {
        format!(
            "cannot read patterns from {}; write a query that begins with a minus after --",
            file.display()
        )
    })
}

fn reads_text(field: Field) -> bool {
    matches!(field, Field::Content | Field::Anywhere | Field::Added | Field::Removed)
}

/// Returns the condition for files whose text does not match. The conditions on paths, repositories and languages stay.
fn without_match(tree: Tree) -> Result<Tree> {
    let parts = match tree {
        Tree::All(parts) => parts,
        one => vec![one],
    };
    let (texts, others): (Vec<Tree>, Vec<Tree>) = parts.into_iter().partition(speaks_of_text);
    if texts.is_empty() {
        bail!("--files-without-match: give a pattern that must not match, as in -e foo");
    }
    let without = !Tree::all(texts);
    Ok(Tree::all(others.into_iter().chain([without]).collect()))
}

fn speaks_of_text(tree: &Tree) -> bool {
    match tree {
        Tree::All(parts) | Tree::Any(parts) => parts.iter().any(speaks_of_text),
        Tree::Not(inner) => speaks_of_text(inner),
        Tree::Term(term) => reads_text(term.field),
        Tree::Language(_) | Tree::InTree(_) | Tree::Property(_) => false,
    }
}

/// Returns the only pattern whose matches are shown.
///
/// # Errors
/// There are several such patterns, or none, or it spans lines.
pub(crate) fn only_pattern(tree: &Tree) -> Result<&Pattern> {
    let mut shown = Vec::new();
    collect(tree, &mut shown);
    match shown[..] {
        [pattern] if pattern.spans_lines() => {
            bail!("--replace is not supported for a pattern that matches across lines")
        }
        [pattern] => Ok(pattern),
        _ => bail!(
            "--replace needs exactly one pattern: one -e, or one term of the query that matches text"
        ),
    }
}

fn collect<'t>(tree: &'t Tree, shown: &mut Vec<&'t Pattern>) {
    match tree {
        Tree::All(parts) | Tree::Any(parts) => {
            for part in parts {
                collect(part, shown);
            }
        }
        Tree::Term(term) if reads_text(term.field) => shown.push(&term.pattern),
        Tree::Not(_) | Tree::Term(_) | Tree::Language(_) | Tree::InTree(_) | Tree::Property(_) => {}
    }
}
