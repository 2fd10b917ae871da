//! Scores and their parts.

/// The parts of a score, in points. Their sum is the score.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// The definition on the best line.
    pub definition: f32,
    /// The words of the query on that line, and how they stand together.
    pub words: f32,
    /// Words that occur only on neighbouring lines.
    pub near: f32,
    /// How often each word occurs in the file, given its length.
    pub coverage: f32,
    /// Further definitions of the searched name.
    pub definitions: f32,
    /// The words name the file.
    pub name: f32,
    /// The file lies where a qualifier, or a part of a name, says.
    pub home: f32,
    /// The penalty of the path.
    pub place: f32,
    /// The rank of its repository.
    pub repository: f32,
    /// Other files name its definitions by its qualifier.
    pub votes: f32,
}

impl Parts {
    /// Returns all parts with their names.
    pub fn named(&self) -> [(&'static str, f32); 10] {
        [
            ("definition", self.definition),
            ("words", self.words),
            ("near", self.near),
            ("coverage", self.coverage),
            ("definitions", self.definitions),
            ("name", self.name),
            ("home", self.home),
            ("place", self.place),
            ("repository", self.repository),
            ("votes", self.votes),
        ]
    }

    /// Returns the score.
    pub fn points(&self) -> f32 {
        self.named().iter().map(|(_, points)| points).sum()
    }
}

/// How likely a file is the wanted one, for comparison with others of the same search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// The sum of the parts that the file alone determines, without votes.
    pub alone: f32,
    pub(super) parts: Parts,
    /// The number of the best line; `None` if the file has no matching line.
    pub(super) line: Option<u64>,
    /// The qualifiers that callers use for its definitions.
    pub(super) homes: Vec<String>,
}

/// The parts of a file's score.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Explained {
    /// The parts, with votes.
    pub parts: Parts,
    /// The number of the best line; `None` if the file has no matching line.
    pub line: Option<u64>,
}

impl Score {
    pub(super) fn new(parts: Parts, line: Option<u64>, homes: Vec<String>) -> Self {
        Self { alone: parts.points(), parts, line, homes }
    }
}
