//! Builds the tree of terms and the settings of a query from groups of words.
//!
//! `case:` and `multiline:` apply to their whole group, wherever they are in it, and to the groups inside. So a group
//! is read completely first; its patterns are parsed once all settings are known. `kind:` applies to the terms and
//! groups next to it; if none of these is about symbols, it is a term itself. `history:` is `content:` and a setting.

use crate::changes;
use crate::error::QueryError;
use crate::field::{self, FieldName};
use crate::glob;
use crate::group::{Group, Part, is_setting};
use crate::language::{check_language, near_language};
use crate::lex::Word;
use crate::pattern::{Case, Pattern};
use crate::property::{PropertyTerm, Switch};
use crate::revision::{Changes, Comparison, TreeField, TreeTerm};
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
    /// What is searched, if not files.
    changes: Option<Changes>,
}

impl<'a> Build<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        Self { source, settings: Settings::default(), selected: None, changes: None }
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
        changes::check(&tree, self.changes.as_ref()).map_err(|wrong| wrong.at(self.source))?;
        let (source, settings) = (self.source.to_owned(), self.settings);
        Ok(Query { source, tree, settings, changes: self.changes })
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
                    Part::Word(at, mut word) if word.field == Some(FieldName::History) => {
                        self.history(at, &word, whole && !several)?;
                        word.field = Some(FieldName::Content);
                        parts.push(Part::Word(at, word));
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
                Part::Word(_, word) if word.field == Some(FieldName::History) => {
                    let message =
                        "history: cannot be negated; write -content:PATTERN beside history:*";
                    let instead = format!("-{} history:*", written("content", &word.text));
                    Err(self.error(at, message).with_replacement(at..word.range.end, instead))
                }
                Part::Word(_, word) if word.revision.is_some() => {
                    let message = "a negated repo: cannot have a revision; remove @ and the rest";
                    Err(self.without_revision(&word, message))
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
            Some(FieldName::Switch(switch)) => return self.switch(word, switch),
            Some(FieldName::Topic) => {
                // A field may have several, as for languages: topic:search,grep.
                let all = text.split(',').map(|topic| topic.trim().to_lowercase());
                let all: Vec<String> = all.filter(|topic| !topic.is_empty()).collect();
                if all.is_empty() {
                    let message = "topic: needs a name; remove it, or type one";
                    let error = self.error(word.range.start, message);
                    return Err(error.with_replacement(word.range.clone(), ""));
                }
                let all = all.into_iter().map(|topic| Tree::Property(PropertyTerm::Topic(topic)));
                return Ok(Tree::any(all.collect()));
            }
            Some(FieldName::Meta) => {
                let typed = &self.source[word.range.clone()];
                let name = typed.split(':').next().and_then(field::meta).unwrap_or_default();
                let pattern = Pattern::parse(text, case, multiline);
                let pattern = pattern.map_err(|error| self.of_pattern(at, word, error))?;
                return Ok(Tree::Property(PropertyTerm::Meta(name.to_lowercase(), pattern)));
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
            Some(FieldName::Added) => (Field::Added, Pattern::parse(text, case, multiline)),
            Some(FieldName::Removed) => (Field::Removed, Pattern::parse(text, case, multiline)),
            Some(FieldName::Tree(field)) => return self.tree(word, field, text),
            Some(FieldName::Repo) => {
                let name = &text[..word.revision.unwrap_or(text.len())];
                (Field::Repo, Pattern::of_repository(name, case))
            }
            _ => (Field::Anywhere, Pattern::parse(text, case, multiline)),
        };
        let pattern = pattern.map_err(|error| self.of_pattern(at, word, error))?;
        let term = Tree::Term(Term { field, pattern, symbol: None, at });
        match word.revision {
            Some(end) => Ok(Tree::all(vec![term, self.revisions(word, end + 1)?])),
            None => Ok(term),
        }
    }

    /// Returns the term for a property that a repository has or has not.
    fn switch(&self, word: &Word, switch: Switch) -> Result<Tree, QueryError> {
        let (name, value) = (switch.name(), word.text.as_str());
        let on = Tree::Property(PropertyTerm::On(switch));
        match yes_or_no(value) {
            Some(true) => Ok(on),
            Some(false) => Ok(!on),
            None if value.eq_ignore_ascii_case("only") => Ok(on),
            // Every repository is searched unless the query says otherwise.
            None if ["any", "all", "include"].iter().any(|any| value.eq_ignore_ascii_case(any)) => {
                Ok(Tree::every_file())
            }
            None => {
                let message = format!("unknown value \"{value}\"; use {name}:yes or {name}:no");
                let error = self.error(word.origins[0], message);
                Err(error.with_replacement(word.range.clone(), ""))
            }
        }
    }

    /// Returns the term for the name of a tree.
    fn tree(&self, word: &Word, field: TreeField, name: &str) -> Result<Tree, QueryError> {
        if name.trim().is_empty() {
            let message = format!("{}: needs a name; remove it, or type one", field.name());
            return Err(self
                .error(word.range.start, message)
                .with_replacement(word.range.clone(), ""));
        }
        let begin = word.revision.map_or(word.range.start, |at| word.origins[at]);
        let range = begin..word.range.end;
        Ok(Tree::InTree(TreeTerm { field, name: name.to_owned(), range }))
    }

    /// Returns the condition for the revisions of a repository in Sourcegraph's syntax: those of `repo:x@main:v1.2.0`,
    /// which begin at an offset in the text of the word.
    fn revisions(&self, word: &Word, begin: usize) -> Result<Tree, QueryError> {
        let mut any = Vec::new();
        for name in word.text[begin..].split(':') {
            if name.is_empty() {
                let message = "a revision is missing after @; for an @ in the name of a repository, write \\@";
                return Err(self.without_revision(word, message));
            }
            if name.starts_with(['^', '!']) || name.starts_with("*!") {
                let message = "revisions cannot be excluded after @; use -rev: instead";
                return Err(self.without_revision(word, message));
            }
            // There, a star in front tells that the rest is a glob.
            let name =
                name.strip_prefix('*').filter(|glob| glob.starts_with("refs/")).unwrap_or(name);
            any.push(self.tree(word, TreeField::Revision, name)?);
        }
        Ok(Tree::any(any))
    }

    /// Returns the error for a repository with a revision that is wrong. The correction leaves the revision out.
    fn without_revision(&self, word: &Word, message: &str) -> QueryError {
        let origin = word.origins[word.revision.unwrap_or_default()];
        let kept = &self.source[word.range.start..origin];
        self.error(origin, message).with_replacement(word.range.clone(), kept)
    }

    /// Makes this a search of the history. `alone` tells that the word is at the top level of the query, and no
    /// alternative.
    fn history(&mut self, at: usize, word: &Word, alone: bool) -> Result<(), QueryError> {
        if !alone {
            let message = "history: applies to the whole query; write content: here, and history:* at the end";
            let error = self.error(at, message);
            return Err(error.with_replacement_and_end(
                word.range.clone(),
                written("content", &word.text),
                "history:*",
            ));
        }
        self.of_changes(at, word, Changes::History)
    }

    /// Sets what is searched instead of files.
    fn of_changes(&mut self, at: usize, word: &Word, changes: Changes) -> Result<(), QueryError> {
        let message = match (&self.changes, &changes) {
            (None, _) | (Some(Changes::History), Changes::History) => {
                self.changes = Some(changes);
                return Ok(());
            }
            (Some(Changes::Between(_)), Changes::Between(_)) => {
                "a query compares two revisions only; remove one diff:"
            }
            _ => "diff: and history: cannot be in one query; remove one of them",
        };
        Err(self.error(at, message).with_replacement(word.range.clone(), ""))
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
            FieldName::Diff => {
                let Some(comparison) = Comparison::parse(value) else {
                    let message = "diff: needs two revisions with two dots between them, as in diff:main..HEAD";
                    let name = value.trim_matches('.');
                    let instead = match name {
                        "" => String::new(),
                        _ if name.contains("..") => String::new(),
                        _ => written("diff", &format!("{name}..")),
                    };
                    return Err(self
                        .error(word.origins[0], message)
                        .with_replacement(word.range.clone(), instead));
                };
                self.of_changes(at, word, Changes::Between(comparison))?;
            }
            FieldName::History => self.of_changes(at, word, Changes::History)?,
            FieldName::Setting(Setting::Select)
                if ["diff", "commit"].iter().any(|kind| value.eq_ignore_ascii_case(kind)) =>
            {
                let message = "use diff:A..B for the changes between two revisions, or history:PATTERN for those of all commits";
                let is_diff = value.eq_ignore_ascii_case("diff") && self.changes.is_none();
                let instead = if is_diff { "history:*" } else { "" };
                return Err(wrong(message.to_owned()).with_replacement(word.range.clone(), instead));
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
        Tree::Language(_) | Tree::InTree(_) | Tree::Property(_) => false,
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
