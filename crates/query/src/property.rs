//! What is known of a repository besides its name, and the terms that ask for it: `archived:`, `fork:`, `public:`, `topic:`
//! and `meta.FIELD:`.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::QueryError;
use crate::matcher::Matcher;
use crate::pattern::Pattern;
use crate::write::written;

/// What is known of a repository. `None` and nothing stand for what is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// Whether nobody may change it any more.
    pub archived: Option<bool>,
    /// Whether it began as a copy of another one.
    pub fork: Option<bool>,
    /// Whether everybody may see it on its host.
    pub public: Option<bool>,
    /// Its topics, in lowercase.
    pub topics: Vec<String>,
    /// Further texts by name. Names have no capitals.
    pub meta: BTreeMap<String, String>,
}

impl Properties {
    /// Returns whether a switch is on; `None` if that is unknown.
    pub fn switch(&self, switch: Switch) -> Option<bool> {
        match switch {
            Switch::Archived => self.archived,
            Switch::Fork => self.fork,
            Switch::Public => self.public,
        }
    }
}

/// A property that a repository has or has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Switch {
    /// `archived:`
    Archived,
    /// `fork:`
    Fork,
    /// `public:`
    Public,
}

impl Switch {
    /// All switches.
    pub const ALL: [Self; 3] = [Self::Archived, Self::Fork, Self::Public];

    /// Returns the name of its field.
    pub fn name(self) -> &'static str {
        match self {
            Self::Archived => "archived",
            Self::Fork => "fork",
            Self::Public => "public",
        }
    }
}

/// A condition on what is known of a repository.
#[derive(Clone, Debug)]
pub enum PropertyTerm {
    /// The switch is on. What is unknown counts as off, as in Zoekt.
    On(Switch),
    /// It has this topic, written in lowercase.
    Topic(String),
    /// The text of this name, without capitals, matches a pattern.
    Meta(String, Pattern),
}

impl PartialEq for PropertyTerm {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::On(one), Self::On(two)) => one == two,
            (Self::Topic(one), Self::Topic(two)) => one == two,
            (Self::Meta(one, pattern), Self::Meta(two, other)) => {
                one == two && pattern.is_same(other)
            }
            _ => false,
        }
    }
}

/// Prints as in a query.
impl fmt::Display for PropertyTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On(switch) => write!(f, "{}:yes", switch.name()),
            Self::Topic(topic) => f.write_str(&written("topic", topic)),
            Self::Meta(field, pattern) => write!(f, "meta.{field}:{pattern}"),
        }
    }
}

/// A compiled condition on what is known of a repository.
#[derive(Clone, Debug)]
pub struct CompiledProperty {
    /// The condition.
    pub term: PropertyTerm,
    /// Matches the text, if the condition has a pattern.
    matcher: Option<Matcher>,
}

impl CompiledProperty {
    /// Compiles a condition, and adds its size to `memory`.
    pub(crate) fn new(term: &PropertyTerm, memory: &mut usize) -> Result<Self, QueryError> {
        let matcher = match term {
            PropertyTerm::Meta(_, pattern) => Some(Matcher::new(pattern)?),
            PropertyTerm::On(_) | PropertyTerm::Topic(_) => None,
        };
        *memory += matcher.as_ref().map_or(0, Matcher::memory);
        Ok(Self { term: term.clone(), matcher })
    }

    /// Returns whether it holds for a repository.
    pub(crate) fn holds(&self, of: &Properties, go_on: &dyn Fn() -> bool) -> bool {
        match &self.term {
            PropertyTerm::On(switch) => of.switch(*switch) == Some(true),
            PropertyTerm::Topic(topic) => of.topics.iter().any(|one| one == topic),
            PropertyTerm::Meta(field, _) => {
                let matcher = self.matcher.as_ref();
                let text = of.meta.get(field);
                text.zip(matcher).is_some_and(|(text, of)| of.is_match_within(text, go_on))
            }
        }
    }

    /// Returns whether matching it against one text may take long.
    pub(crate) fn is_slow(&self) -> bool {
        self.matcher.as_ref().is_some_and(Matcher::is_slow)
    }
}
