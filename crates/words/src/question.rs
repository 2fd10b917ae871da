//! Cuts questions into words.

use std::collections::HashSet;

use crate::Word;
use crate::token::{cut, form, runs};

/// Maximum number of words that are looked up.
pub const MAX_WORDS: usize = 64;

/// The weights of stop words, and of two neighbours as one name.
const STOP: f32 = 0.2;
const JOINED: f32 = 0.5;

/// What a word of a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A word.
    Plain,
    /// A word that most questions have.
    Stop,
    /// An identifier with several parts.
    Whole,
    /// A part of an identifier.
    Part,
    /// Two neighbouring words, as one name: `rate limit`, `ratelimit`.
    Joined,
}

/// A word to look up.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionWord {
    /// As it is shown: in lowercase.
    pub text: String,
    /// What was hashed.
    pub stem: String,
    /// Its hash.
    pub word: Word,
    /// What it counts: 1 for an ordinary word.
    pub weight: f32,
    /// What it is.
    pub role: Role,
}

impl QuestionWord {
    /// Returns whether the word is worth a look into the index: not a stop word beside others, which most texts have.
    pub fn is_looked_up(&self) -> bool {
        self.role != Role::Stop || self.weight >= 1.0
    }
}

/// Words of questions, rather than of what they are about, each with a space around it.
const STOP_WORDS: &str = " a about above after again all also am an and any are as at be because been before being \
    between both but by can code could defined did do does doing done down during each \
    either else ever every find for from further get gets got had handled happen happens has \
    have having he her here hers him his how however i if implement implementation \
    implemented in into is it its itself just let like made make makes many may me might \
    more most much must my need needs no nor not now of off often on once one only or other \
    our out over own please put same she should show so some such than that the their them \
    then there these they this those through to too under until up upon us use used uses \
    using very via want was we were what when where whether which while who whom whose why \
    will with within without work works would you your ";

/// Cuts a question into the words to look up: each once, at most [`MAX_WORDS`], in the order of the question. If all are stop
/// words, they count as others.
pub fn question(text: &str) -> Vec<QuestionWord> {
    let mut words: Vec<QuestionWord> = Vec::new();
    let mut seen = HashSet::new();
    let mut before: Option<String> = None;
    runs(text, |range| {
        if words.len() >= MAX_WORDS {
            return;
        }
        let run = &text[range];
        let is_stop = STOP_WORDS.contains(&format!(" {} ", run.to_lowercase()));
        let mut has_parts = false;
        let mut add = |text: String, stem: &str, role: Role| {
            if words.len() < MAX_WORDS && seen.insert(stem.to_owned()) {
                let weight = match role {
                    Role::Stop => STOP,
                    Role::Joined => JOINED,
                    _ => 1.0,
                };
                words.push(QuestionWord {
                    text,
                    stem: stem.to_owned(),
                    word: Word::of(stem),
                    weight,
                    role,
                });
            }
        };
        cut(run, &mut |place, is_whole| {
            has_parts |= is_whole;
            let role = match (is_stop, is_whole, has_parts) {
                (true, ..) => Role::Stop,
                (_, true, _) => Role::Whole,
                (_, _, true) => Role::Part,
                _ => Role::Plain,
            };
            let run = &run[place];
            add(run.to_lowercase(), &form(run), role);
        });
        let is_plain = !is_stop && !has_parts && run.bytes().all(|byte| byte.is_ascii_alphabetic());
        if is_plain && let Some(before) = &before {
            let both = format!("{before}{}", run.to_lowercase());
            cut(&both, &mut |place, _| add(both.clone(), &form(&both[place]), Role::Joined));
        }
        before = is_plain.then(|| run.to_lowercase());
    });
    if words.iter().all(|word| word.role == Role::Stop) {
        for word in &mut words {
            word.weight = 1.0;
        }
    }
    words
}
