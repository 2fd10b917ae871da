//! From a query and the patterns beside it, as options give them, to what is searched.

use std::fs;
use std::io::{Read, stdin};
use std::path::Path;

use anyhow::{Context, Result, bail};
use query::{Case, Field, Pattern, Query, QueryError, Suggestion, Tree, escape};

use super::refused;
use crate::cli::SearchArgs;
use crate::request::{self, Client, Options};

/// Patterns are put together to one of up to so many bytes, which is less than a pattern may have.
const MOST_BYTES: usize = 7 * 1024;

/// What is searched: the query, and one of the patterns beside it.
pub(crate) fn query(args: &SearchArgs, options: &Options) -> Result<Query> {
    let form = Form::of(args, options);
    let patterns = form.patterns(args)?;
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

/// The query alone.
fn typed(args: &SearchArgs, options: &Options) -> Result<Option<Query>> {
    if args.query.is_empty() {
        return Ok(None);
    }
    // The shell has taken its quotes off, so it is not known where a phrase was meant.
    let text = args.query.join(" ");
    if args.patterns.fixed_strings {
        return Ok(Some(Query::of(Field::Content, Pattern::literal(&text, options.case)?)));
    }
    request::parse(&text, options, &Client::COMMAND_LINE).map(Some).map_err(refused)
}

/// What options say of every pattern.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
struct Form {
    fixed: bool,
    words: bool,
    lines: bool,
    dot_matches_all: bool,
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
            case: options.case,
            multiline: options.multiline,
        }
    }

    /// The condition that one of the patterns beside the query matches; none if there are no such options.
    fn patterns(&self, args: &SearchArgs) -> Result<Option<Tree>> {
        let args = &args.patterns;
        if args.regexp.is_empty() && args.pattern_file.is_empty() {
            return Ok(None);
        }
        let mut sources = args.regexp.clone();
        for file in &args.pattern_file {
            sources.extend(read(file)?.lines().map(str::to_owned));
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
        // A file without patterns: nothing matches.
        Ok(Some(if terms.is_empty() { !Tree::every_file() } else { Tree::any(terms) }))
    }

    /// One pattern for several.
    fn one(&self, sources: &[String], case: Case, multiline: bool) -> Result<Pattern> {
        let whole = self.whole(sources, "");
        let pattern = Pattern::parse(&whole, case, multiline);
        // A comment ends with its line, and not before the end of a group.
        let pattern =
            pattern.or_else(|_| Pattern::parse(&self.whole(sources, "\n"), case, multiline));
        pattern.context("invalid regular expression")
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
        match (self.words, self.lines) {
            (true, _) => format!(r"\b{{start-half}}(?:{whole})\b{{end-half}}"),
            (_, true) => format!("(?m:^)(?:{whole})(?m:$)"),
            _ => whole,
        }
    }

    fn changes(&self) -> bool {
        self.words || self.lines || self.dot_matches_all
    }

    /// Makes what options say of patterns hold for the terms of a query, too, that look into texts.
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
            Tree::Term(_) | Tree::Language(_) => {}
        }
        Ok(())
    }
}

/// An error of a pattern that may have been meant as text.
fn as_text(mut error: QueryError, source: &str) -> QueryError {
    let (query, text) = (query::literal(source), Some(source.to_owned()));
    error.suggestion = Some(Box::new(Suggestion { query, text }));
    error
}

fn read(file: &Path) -> Result<String> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        stdin().read_to_string(&mut text).map(drop)
    } else {
        fs::read_to_string(file).map(|read| text = read)
    };
    read.with_context(|| {
        format!(
            "cannot read patterns from {}; a query that begins with a minus comes after --",
            file.display()
        )
    })?;
    Ok(text)
}

fn reads_text(field: Field) -> bool {
    matches!(field, Field::Content | Field::Anywhere)
}

/// The condition for files in whose texts nothing matches. What speaks of paths, repositories and languages only must
/// still hold.
fn without_match(tree: Tree) -> Result<Tree> {
    let parts = match tree {
        Tree::All(parts) => parts,
        one => vec![one],
    };
    let (texts, others): (Vec<Tree>, Vec<Tree>) = parts.into_iter().partition(speaks_of_text);
    if texts.is_empty() {
        bail!("--files-without-match: say what must not match, as in -e foo");
    }
    let without = !Tree::all(texts);
    Ok(Tree::all(others.into_iter().chain([without]).collect()))
}

fn speaks_of_text(tree: &Tree) -> bool {
    match tree {
        Tree::All(parts) | Tree::Any(parts) => parts.iter().any(speaks_of_text),
        Tree::Not(inner) => speaks_of_text(inner),
        Tree::Term(term) => reads_text(term.field),
        Tree::Language(_) => false,
    }
}

/// The one pattern whose matches are shown.
///
/// # Errors
/// There are several, or none.
pub(crate) fn only_pattern(tree: &Tree) -> Result<&Pattern> {
    let mut shown = Vec::new();
    collect(tree, &mut shown);
    match shown[..] {
        [pattern] if pattern.spans_lines() => {
            bail!("--replace: there can be none for a pattern that matches across lines")
        }
        [pattern] => Ok(pattern),
        _ => bail!(
            "--replace: give one pattern, by -e or as the only term of the query that looks into texts"
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
        Tree::Not(_) | Tree::Term(_) | Tree::Language(_) => {}
    }
}
