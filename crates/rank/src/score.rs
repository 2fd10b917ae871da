//! Scores, and the parts they are the sum of.

/// The parts of a score, in points. They add up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// What the best line defines.
    pub definition: f32,
    /// The words of the query in that line, and how they stand together.
    pub words: f32,
    /// Words that stand in lines beside that one only.
    pub near: f32,
    /// How often each word stands in the file, given its length.
    pub coverage: f32,
    /// More definitions of what was looked for.
    pub definitions: f32,
    /// The file is called by the words.
    pub name: f32,
    /// It lies where a qualifier, or a part of a name, says.
    pub home: f32,
    /// What is to be thought of a file that stands there.
    pub place: f32,
    /// The rank of its repository.
    pub repository: f32,
    /// Other files call what it defines by way of its name.
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

/// How likely it is that a file is what was looked for, for comparison with others of the same search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// What can be said by looking at the file alone: the sum of its parts, without votes.
    pub alone: f32,
    pub(super) parts: Parts,
    /// The number of the best line; none if the file has no matching line.
    pub(super) line: Option<u64>,
    /// The names by way of which others call what it defines.
    pub(super) homes: Vec<String>,
}

/// How a score came about.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Explained {
    /// The parts, with votes.
    pub parts: Parts,
    /// The number of the line that counts; none if the file has no matching line.
    pub line: Option<u64>,
}

impl Score {
    pub(super) fn new(parts: Parts, line: Option<u64>, homes: Vec<String>) -> Self {
        Self { alone: parts.points(), parts, line, homes }
    }
}
