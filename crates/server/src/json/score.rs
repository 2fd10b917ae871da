//! The parts of a score, as JSON.

use rank::Explained;
use serde::{Serialize, Serializer};

/// A score and its parts.
#[derive(Serialize)]
pub(super) struct ScoreJson {
    points: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    parts: Parts,
}

/// The parts by their names.
struct Parts([(&'static str, f32); 10]);

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0)
    }
}

impl From<&Explained> for ScoreJson {
    fn from(explained: &Explained) -> Self {
        let parts = explained.parts.named().map(|(name, points)| (name, rounded(points)));
        Self {
            points: rounded(explained.parts.points()),
            line: explained.line,
            parts: Parts(parts),
        }
    }
}

/// Rounds to two digits after the point.
fn rounded(points: f32) -> f32 {
    (points * 100.0).round() / 100.0
}
