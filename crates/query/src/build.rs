//! Builds the tree of terms and the settings of a query from groups of words.
//!
//! `case:` and `multiline:` apply to their whole group, wherever they are in it, and to the groups inside. So a group
//! is read completely first; its patterns are parsed once all settings are known. `kind:` applies to the terms and
//! groups next to it; if none of these is about symbols, it is a term itself.

use crate::error::QueryError;
use crate::field::FieldName;
use crate::glob;
use crate::group::{Group, Part, is_setting};
use crate::language::{check_language, near_language};
use crate::lex::Word;
use crate::pattern::{Case, Pattern};
use crate::settings::{Select, Setting, Settings};
use crate::symbol::{SymbolKinds, SymbolPattern};
use crate::tree::{Field, Query, Term, Tree};
use crate::write::{escape, written};

/// How patterns match where the query does not say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Defaults {
    /// The default of `case:`.
    pub case: Case,
    /// The default of `multiline:`.
    pub multiline: bool,
}

impl From<Case> for Defaults {
    fn from(case: Case) -> Self {
        Self { case, multiline: false }
    }
}

/// How the terms of a group match.
#[derive(Clone, Copy)]
struct GroupSettings {
    how: Defaults,
    /// The kinds of symbols, if the group names any.
    kinds: Option<SymbolKinds>,
}

/// The query built so far.
pub(crate) struct Build<'a> {
    source: &'a str,
    settings: Settings,
    /// The kinds in the setting: `select:symbol.function`.
    selected: Option<SymbolKinds>,
}

impl<'a> Build<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        Self { source, settings: Settings::default(), selected: None }
    }

    /// Builds the query of its outermost group.
    pub(crate) fn query(mut self, group: Group, defaults: Defaults) -> Result<Query, QueryError> {
        let scope = GroupSettings { how: defaults, kinds: None };
        let mut tree = self.group(group, scope, true)?;
        if self.settings.select == Select::Symbols && !has_symbol(&tree) {
            tree = Tree::all(vec![
                any_symbol(0, self.selected.unwrap_or(SymbolKinds::DEFINITIONS)),
                tree,
            ]);
        }
        Ok(Query { source: self.source.to_owned(), tree, settings: self.settings, changes: None })
    }

    fn error(&self, at: usize, message: impl Into<String>) -> QueryError {
        QueryError::new(self.source, at, message)
    }

    /// `whole` tells that this group is the whole query, so that settings such as `type:` are allowed in it.
    fn group(
        &mut self,
        mut group: Group,
        outer: GroupSettings,
        whole: bool,
    ) -> Result<Tree, QueryError> {
        let mut scope = outer;
        let several = group.alternatives.len() > 1;
        // A query in parentheses is still a whole query.
        let only = group.alternatives.len() == 1 && group.alternatives[0].len() == 1;
        for alternative in &mut group.alternatives {
            let mut parts = Vec::with_capacity(alternative.len());
            let mut setting = None;
            for part in alternative.drain(..) {
                match part {
                    Part::Word(at, word) if is_setting(&word) => {
                        self.set(at, &word, &mut scope.how, whole)?;
                        setting = Some((at, word.range.end));
                    }
                    other => parts.push(other),
                }
            }
            // An alternative of settings only would match every file, which nobody means.
            if let (true, true, Some((at, end))) = (several, parts.is_empty(), setting) {
                let message = "'or' needs a term on this side, not a setting; put settings at the end of the query";
                return Err(self.error(at, message).with_move_to_end(at..end));
            }
            *alternative = parts;
        }
        let mut any = Vec::with_capacity(group.alternatives.len());
        for alternative in group.alternatives {
            let mut own: Option<(usize, SymbolKinds)> = None;
            let mut parts = Vec::with_capacity(alternative.len());
            for part in alternative {
                let Some(kinds) = self.kinds(&part)? else {
                    parts.push(part);
                    continue;
                };
                let known = own.map(|(_, kinds)| kinds).or(scope.kinds);
                let kinds = known.map_or(kinds, |known| known.and(kinds));
                let at = part.range().start;
                if kinds.is_empty() {
                    let message =
                        "a definition has only one kind; for several, use kind:function,method";
                    return Err(self.error(at, message));
                }
                own = Some((at, kinds));
            }
            let within =
                GroupSettings { kinds: own.map(|(_, kinds)| kinds).or(scope.kinds), ..scope };
            let all: Result<Vec<Tree>, _> =
                parts.into_iter().map(|part| self.part(part, within, whole && only)).collect();
            let mut all = all?;
            if let Some((at, kinds)) = own.filter(|_| !all.iter().any(has_symbol)) {
                all.insert(0, any_symbol(at, kinds));
            }
            any.push(Tree::all(all));
        }
        Ok(Tree::any(any))
    }

    /// Returns the kinds that a part asks for, if it has nothing else: `kind:function`, `-kind:class`, or a group of
    /// these.
    fn kinds(&self, part: &Part) -> Result<Option<SymbolKinds>, QueryError> {
        match part {
            Part::Word(_, word) if word.field == Some(FieldName::Kind) => {
                let kinds = SymbolKinds::read(&word.text).map_err(|why| {
                    let near = SymbolKinds::near(&word.text);
                    let instead = near.map_or_else(String::new, |near| written("kind", near));
                    self.error(word.origins[0], why).with_replacement(word.range.clone(), instead)
                })?;
                Ok(Some(kinds))
            }
            Part::Word(..) => Ok(None),
            Part::Not(_, part) => Ok(self.kinds(part)?.map(SymbolKinds::others)),
            Part::Group(_, group) => {
                let mut any: Option<SymbolKinds> = None;
                for alternative in &group.alternatives {
                    let mut all: Option<SymbolKinds> = None;
                    for part in alternative {
                        let Some(kinds) = self.kinds(part)? else { return Ok(None) };
                        all = Some(all.map_or(kinds, |all| all.and(kinds)));
                    }
                    let Some(all) = all else { return Ok(None) };
                    any = Some(any.map_or(all, |any| any.or(all)));
                }
                Ok(any)
            }
        }
    }

    fn part(&mut self, part: Part, scope: GroupSettings, whole: bool) -> Result<Tree, QueryError> {
        match part {
            Part::Group(_, group) => self.group(group, scope, whole),
            Part::Not(at, part) => match *part {
                Part::Word(_, word) if is_setting(&word) => {
                    let message = "a setting cannot be negated; remove the minus or the setting";
                    Err(self.error(at, message).with_replacement(at..word.range.end, ""))
                }
                part => Ok(!self.part(part, scope, false)?),
            },
            Part::Word(at, word) => self.word(at, &word, scope),
        }
    }

    fn word(&self, at: usize, word: &Word, scope: GroupSettings) -> Result<Tree, QueryError> {
        let (text, Defaults { case, multiline }) = (word.text.as_str(), scope.how);
        let of_symbols = self.settings.select == Select::Symbols;
        let symbol = match word.field {
            Some(FieldName::Symbol) => Some(SymbolPattern::parse(text, case)),
            None | Some(FieldName::Regex) if of_symbols => Some(SymbolPattern::parse(text, case)),
            Some(FieldName::Literal) if of_symbols => Some(SymbolPattern::literal(text, case)),
            _ => None,
        };
        if let Some(symbol) = symbol {
            let (pattern, symbol) = symbol.map_err(|error| self.of_pattern(at, word, error))?;
            let symbol = Some(Box::new(SymbolPattern {
                kinds: scope.kinds.or(self.selected).unwrap_or(symbol.kinds),
                ..symbol
            }));
            return Ok(Tree::Term(Term { field: Field::Symbol, pattern, symbol, at }));
        }
        let (field, pattern) = match word.field {
            Some(FieldName::Language) => {
                // A field may have several, as for kinds: lang:c,c++.
                let mut any = Vec::new();
                for name in text.split(',') {
                    check_language(name).map_err(|why| self.language(word, name, &why))?;
                    any.push(Tree::Language(name.to_owned()));
                }
                return Ok(Tree::any(any));
            }
            Some(FieldName::Literal) => (Field::Anywhere, Pattern::literal(text, case)),
            Some(FieldName::Content) => (Field::Content, Pattern::parse(text, case, multiline)),
            Some(FieldName::Path) => (Field::Path, Pattern::of_path(text, case)),
            Some(FieldName::Extension) => {
                // A field may have several: ext:js,ts.
                let all = text.split(',').map(|one| escape(one.trim_start_matches(['*', '.'])));
                let any = all.collect::<Vec<_>>().join("|");
                let any = if any.contains('|') { format!("({any})") } else { any };
                (Field::Path, Pattern::parse(&format!("\\.{any}$"), case, false))
            }
            Some(FieldName::FileName) => {
                (Field::Path, Pattern::parse(&glob::regex(text), case, false))
            }
            Some(FieldName::Owner) => {
                let owner = format!("(^|/){}/", escape(text.trim_matches('/')));
                (Field::Repo, Pattern::parse(&owner, case, false))
            }
            Some(FieldName::Repo) => {
                self.check_revision(word)?;
                (Field::Repo, Pattern::of_repository(text, case))
            }
            _ => (Field::Anywhere, Pattern::parse(text, case, multiline)),
        };
        let pattern = pattern.map_err(|error| self.of_pattern(at, word, error))?;
        Ok(Tree::Term(Term { field, pattern, symbol: None, at }))
    }

    /// Returns the error of a pattern, at its position in the query.
    fn of_pattern(&self, at: usize, word: &Word, error: QueryError) -> QueryError {
        let origin = word.origins.get(error.position).copied().unwrap_or(at);
        self.error(origin, error.message)
    }

    /// Returns the error for an unknown language, one of those in a word.
    fn language(&self, word: &Word, name: &str, why: &str) -> QueryError {
        let others: Vec<&str> = word.text.split(',').filter(|other| *other != name).collect();
        let instead = match near_language(name) {
            Some(near) => written("lang", &[&[near], &*others].concat().join(",")),
            None if !others.is_empty() => written("lang", &others.join(",")),
            // The word may be an extension of file names.
            None if name.chars().all(char::is_alphanumeric) && !name.is_empty() => {
                format!("ext:{name}")
            }
            None => String::new(),
        };
        self.error(word.origins[0], why).with_replacement(word.range.clone(), instead)
    }

    /// Rejects a repository with a revision in Sourcegraph's syntax: `repo:^github\.com/a/b$@main`.
    fn check_revision(&self, word: &Word) -> Result<(), QueryError> {
        let Some(end) = word.text.find("$@") else { return Ok(()) };
        let message = "revisions are not supported: the index has the files of the last ingest; remove @ and the rest";
        let origin = word.origins[end + 1];
        Err(self.error(origin, message).with_replacement(
            word.range.clone(),
            format!("repo:{}", &self.source[word.origins[0]..origin]),
        ))
    }

    fn set(
        &mut self,
        at: usize,
        word: &Word,
        scope: &mut Defaults,
        whole: bool,
    ) -> Result<(), QueryError> {
        let value = word.text.as_str();
        let field = word.field.expect("a setting has a field");
        if !whole && !matches!(field, FieldName::Case | FieldName::Multiline) {
            let message = "a setting applies to the whole query; move it out of the parentheses";
            return Err(self.error(at, message).with_move_to_end(word.range.clone()));
        }
        let source = self.source;
        let wrong = |why: String| {
            QueryError::new(source, word.origins[0], why).with_replacement(word.range.clone(), "")
        };
        let unknown = |wanted: &str| wrong(format!("unknown value \"{value}\"; use {wanted}"));
        match field {
            FieldName::Case => {
                scope.case = match yes_or_no(value) {
                    Some(true) => Case::Sensitive,
                    Some(false) => Case::Insensitive,
                    None if value.eq_ignore_ascii_case("auto") => Case::Smart,
                    None => return Err(unknown("case:yes, case:no or case:auto")),
                }
            }
            FieldName::Multiline => {
                scope.multiline =
                    yes_or_no(value).ok_or_else(|| unknown("multiline:yes or multiline:no"))?;
            }
            FieldName::Setting(setting) => {
                // Sourcegraph's form: select:symbol.function.
                let kinds = value.strip_prefix("symbol.").filter(|_| setting == Setting::Select);
                let value = if kinds.is_some() { "symbol" } else { value };
                self.settings.set(setting, value).map_err(wrong)?;
                if let Some(kinds) = kinds {
                    self.selected = Some(SymbolKinds::read(kinds).map_err(wrong)?);
                }
            }
            _ => unreachable!("not a setting"),
        }
        Ok(())
    }
}

/// Returns whether any term is about symbols.
fn has_symbol(tree: &Tree) -> bool {
    match tree {
        Tree::All(parts) | Tree::Any(parts) => parts.iter().any(has_symbol),
        Tree::Not(inner) => has_symbol(inner),
        Tree::Term(term) => term.field == Field::Symbol,
        Tree::Language(_) | Tree::InTree(_) => false,
    }
}

/// Returns the term for any symbol of some kinds.
fn any_symbol(at: usize, kinds: SymbolKinds) -> Tree {
    let (pattern, symbol) = SymbolPattern::any(kinds);
    Tree::Term(Term { field: Field::Symbol, pattern, symbol: Some(Box::new(symbol)), at })
}

/// Returns the value of a switch, in this language's words or other engines'.
fn yes_or_no(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "yes" | "y" | "true" | "on" | "1" => Some(true),
        "no" | "n" | "false" | "off" | "0" => Some(false),
        _ => None,
    }
}
