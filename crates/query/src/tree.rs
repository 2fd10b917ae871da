//! A parsed query: a tree of terms, and its settings.

use std::fmt;

use crate::error::QueryError;
use crate::pattern::{Case, Pattern};
use crate::property::PropertyTerm;
use crate::revision::{Changes, TreeTerm};
use crate::settings::Settings;
use crate::symbol::{SymbolKinds, SymbolPattern};

/// A parsed query.
#[derive(Clone, Debug)]
pub struct Query {
    /// The query as typed, for errors.
    pub(crate) source: String,
    /// The condition that a file must meet.
    pub tree: Tree,
    /// The settings of the search.
    pub settings: Settings,
    /// What is searched, if not files.
    pub changes: Option<Changes>,
}

/// A condition that a file must meet.
#[derive(Clone, Debug)]
pub enum Tree {
    /// All these hold; without parts, every file meets it.
    All(Vec<Tree>),
    /// At least one of these holds.
    Any(Vec<Tree>),
    /// This does not hold.
    Not(Box<Tree>),
    /// A pattern matches.
    Term(Term),
    /// The file is in this language.
    Language(String),
    /// One of the trees that have the file is meant.
    InTree(TreeTerm),
    /// What is known of its repository.
    Property(PropertyTerm),
}

/// A pattern, and the field in which it must match.
#[derive(Clone, Debug)]
pub struct Term {
    /// The field.
    pub field: Field,
    /// The pattern; for a symbol, that of its name.
    pub pattern: Pattern,
    /// Other conditions on a symbol; `None` for other fields.
    pub symbol: Option<Box<SymbolPattern>>,
    /// The byte offset of the term in the query.
    pub(crate) at: usize,
}

/// The field in which a pattern must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// In the file's text or in its path.
    Anywhere,
    /// In the file's text.
    Content,
    /// In its path.
    Path,
    /// In the name of its repository.
    Repo,
    /// In the name of a symbol that the file defines.
    Symbol,
    /// In a line that the newer of two revisions added; only where revisions are compared.
    Added,
    /// In a line that the newer of two revisions removed; only where revisions are compared.
    Removed,
}

impl Query {
    /// Returns the query for one pattern.
    pub fn of(field: Field, pattern: Pattern) -> Self {
        Self {
            source: pattern.source().to_owned(),
            tree: Tree::term(field, pattern),
            settings: Settings::default(),
            changes: None,
        }
    }

    /// Returns the query for a condition.
    pub fn from_tree(tree: Tree) -> Self {
        Self { source: String::new(), tree, settings: Settings::default(), changes: None }
    }

    /// Returns the query for files that match this one, or in whose text one of these patterns matches.
    #[must_use]
    pub fn or(mut self, patterns: impl Iterator<Item = Pattern>) -> Self {
        let more = patterns.map(|pattern| Tree::term(Field::Content, pattern));
        self.tree = Tree::any(std::iter::once(self.tree).chain(more).collect());
        self
    }

    /// Returns the query for files that match both this one and this tree.
    #[must_use]
    pub fn and(mut self, tree: Tree) -> Self {
        self.tree = Tree::all(vec![self.tree, tree]);
        self
    }
}

impl Query {
    /// Returns the query that every file meets.
    pub fn every_file() -> Self {
        let settings = Settings::default();
        Self { source: String::new(), tree: Tree::every_file(), settings, changes: None }
    }

    /// Returns its terms, at any depth.
    pub fn terms(&self) -> Vec<&Term> {
        fn collect<'t>(tree: &'t Tree, terms: &mut Vec<&'t Term>) {
            match tree {
                Tree::All(parts) | Tree::Any(parts) => {
                    for part in parts {
                        collect(part, terms);
                    }
                }
                Tree::Not(inner) => collect(inner, terms),
                Tree::Term(term) => terms.push(term),
                Tree::Language(_) | Tree::InTree(_) | Tree::Property(_) => {}
            }
        }
        let mut terms = Vec::new();
        collect(&self.tree, &mut terms);
        terms
    }

    /// Returns the query for another condition, with the settings of this one.
    #[must_use]
    pub fn with(&self, tree: Tree) -> Self {
        Self {
            source: self.source.clone(),
            tree,
            settings: self.settings,
            changes: self.changes.clone(),
        }
    }
}

impl Tree {
    /// Returns the conjunction of some trees.
    pub fn all(parts: Vec<Tree>) -> Self {
        let mut all = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Tree::All(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        if all.len() == 1 { all.remove(0) } else { Tree::All(all) }
    }

    /// Returns the condition that every file meets.
    pub fn every_file() -> Self {
        Tree::All(Vec::new())
    }

    /// Returns the disjunction of some trees, at least one.
    pub fn any(parts: Vec<Tree>) -> Self {
        let mut any = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Tree::Any(inner) => any.extend(inner),
                other => any.push(other),
            }
        }
        if any.len() == 1 { any.remove(0) } else { Tree::Any(any) }
    }

    /// Returns the tree for a pattern in one field other than that of symbols.
    pub fn term(field: Field, pattern: Pattern) -> Self {
        Tree::Term(Term { field, pattern, symbol: None, at: 0 })
    }

    /// Returns the tree for definitions of these kinds whose name matches a pattern, as in `sym:`.
    ///
    /// # Errors
    /// `source` is not a valid pattern.
    pub fn symbol(source: &str, case: Case, kinds: SymbolKinds) -> Result<Self, QueryError> {
        let (pattern, mut symbol) = SymbolPattern::parse(source, case)?;
        symbol.kinds = kinds;
        Ok(Tree::Term(Term {
            field: Field::Symbol,
            pattern,
            symbol: Some(Box::new(symbol)),
            at: 0,
        }))
    }
}

impl std::ops::Not for Tree {
    type Output = Tree;

    fn not(self) -> Tree {
        match self {
            Tree::Not(inner) => *inner,
            other => Tree::Not(Box::new(other)),
        }
    }
}

/// Prints as `(and /foo/i (not file:/_test\.go$/i) lang:go) count:10`. After a pattern, `i` means that it matches any
/// case, `m` that it may match across lines.
impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.tree, self.settings)?;
        match &self.changes {
            None => Ok(()),
            Some(changes) => write!(f, " {changes}"),
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, parts) = match self {
            Tree::Term(term) => return write!(f, "{term}"),
            Tree::Language(name) => return write!(f, "lang:{name}"),
            Tree::InTree(term) => return write!(f, "{term}"),
            Tree::Property(term) => return write!(f, "{term}"),
            Tree::Not(inner) => return write!(f, "(not {inner})"),
            Tree::All(parts) if parts.is_empty() => return f.write_str("everything"),
            Tree::All(parts) => ("and", parts),
            Tree::Any(parts) => ("or", parts),
        };
        write!(f, "({word}")?;
        for part in parts {
            write!(f, " {part}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = match self.field {
            Field::Anywhere => "",
            Field::Content => "content:",
            Field::Path => "file:",
            Field::Repo => "repo:",
            Field::Symbol => "sym:",
            Field::Added => "added:",
            Field::Removed => "removed:",
        };
        let Some(symbol) = &self.symbol else { return write!(f, "{field}{}", self.pattern) };
        write!(f, "{field}{}", self.pattern.named(&symbol.source))?;
        if symbol.kinds != SymbolKinds::DEFINITIONS {
            write!(f, " kind:{}", symbol.kinds)?;
        }
        Ok(())
    }
}
