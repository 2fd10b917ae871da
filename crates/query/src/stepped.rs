//! Matching that can be interrupted in the middle of a line.
//!
//! The engines of `regex-automata` run to the end of their input. That suits a chunk of code and an ordinary pattern;
//! but a line may be a megabyte long, and a pattern may have 100,000 states, all of which each character may visit.
//! This module drives the same automata one byte at a time and calls `go_on` in between. It uses the lazy DFA first.
//! Where that gives up (at a word boundary next to a non-ASCII letter), it simulates the NFA as Pike's VM does
//! (<https://swtch.com/~rsc/regexp/regexp2.html>).

use std::ops::Range;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache as DfaCache, Config as DfaConfig, DFA};
use regex_automata::nfa::thompson::{Compiler, Config as NfaConfig, NFA, State, WhichCaptures};
use regex_automata::util::prefilter::Prefilter;
use regex_automata::util::primitives::StateID;
use regex_automata::{Anchored, Input, MatchKind, Span};
use regex_syntax::hir::Hir;

/// States visited between two calls of `go_on`: about a millisecond.
const WORK: usize = 100_000;

/// Cache size of a lazy DFA, in bytes.
const CACHE_BYTES: usize = 2 << 20;

/// The automata of a pattern.
#[derive(Debug)]
pub(crate) struct Stepped {
    nfa: NFA,
    /// The forward and the reverse DFA; `None` if they would take too much memory.
    lazy: Option<(DFA, DFA)>,
    /// Finds the literals with which every match begins, if there are any. It is fast enough to run uninterrupted.
    prefilter: Option<Prefilter>,
    /// Bytes of text between two calls of `go_on`. For each byte, the lazy DFA may have to build a state from all
    /// states of the NFA.
    every: usize,
}

/// The mutable state in which the automata run.
#[derive(Clone, Debug)]
pub(crate) struct SteppedScratch {
    lazy: Option<(DfaCache, DfaCache)>,
    threads: Threads,
}

/// `go_on` returned false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interrupted;

/// The reason why the lazy DFA gives no answer.
enum Stop {
    Interrupted,
    /// The DFA gave up. The NFA has to decide, from this offset on.
    Quit(usize),
}

/// How far a DFA went.
enum Walk {
    /// To the end of the part, or until no longer match is possible: the position of the last match.
    Over(Option<usize>),
    /// To this position, at which no match has begun.
    Start(usize),
}

type GoOn<'a> = &'a dyn Fn() -> bool;

impl Stepped {
    /// Builds the automata of a pattern that already compiled within `most` bytes.
    pub(crate) fn new(hir: &Hir, most: usize) -> Self {
        let compile = |reverse| {
            let config = NfaConfig::new()
                .utf8(true)
                .reverse(reverse)
                .nfa_size_limit(Some(most))
                .which_captures(WhichCaptures::None);
            Compiler::new().configure(config).build_from_hir(hir).ok()
        };
        let nfa = compile(false).expect("it was compiled before");
        let prefilter = Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, hir);
        let prefilter = prefilter.filter(Prefilter::is_fast);
        let lazy = compile(true).and_then(|reverse| {
            let config = || {
                DfaConfig::new()
                    .prefilter(None)
                    .unicode_word_boundary(true)
                    .skip_cache_capacity_check(true)
                    .cache_capacity(CACHE_BYTES)
            };
            let forward = config().specialize_start_states(prefilter.is_some());
            let forward = DFA::builder().configure(forward).build_from_nfa(nfa.clone()).ok()?;
            let backward = config().match_kind(MatchKind::All);
            let backward = DFA::builder().configure(backward).build_from_nfa(reverse).ok()?;
            Some((forward, backward))
        });
        let every = (WORK / nfa.states().len().max(1)).clamp(1, 4096);
        Self { nfa, lazy, prefilter, every }
    }

    /// Creates the scratch space.
    pub(crate) fn scratch(&self) -> SteppedScratch {
        let caches =
            |(forward, backward): &(DFA, DFA)| (forward.create_cache(), backward.create_cache());
        SteppedScratch {
            lazy: self.lazy.as_ref().map(caches),
            threads: Threads::new(self.nfa.states().len()),
        }
    }

    /// Returns the leftmost match in a part of a text, as the `regex` crate defines it.
    ///
    /// # Errors
    /// `go_on` returned false.
    pub(crate) fn find(
        &self,
        scratch: &mut SteppedScratch,
        text: &[u8],
        mut part: Range<usize>,
        go_on: GoOn<'_>,
    ) -> Result<Option<Range<usize>>, Interrupted> {
        loop {
            let found = match self.find_lazily(scratch, text, part.clone(), go_on) {
                Err(Stop::Interrupted) => return Err(Interrupted),
                Err(Stop::Quit(from)) => {
                    self.find_by_threads(scratch, text, from..part.end, go_on)?
                }
                Ok(found) => found,
            };
            // An empty match within a UTF-8 character does not count.
            match found {
                Some(found) if found.is_empty() && splits_character(text, found.start) => {
                    part.start = found.start + 1;
                }
                found => return Ok(found),
            }
        }
    }

    fn find_lazily(
        &self,
        scratch: &mut SteppedScratch,
        text: &[u8],
        part: Range<usize>,
        go_on: GoOn<'_>,
    ) -> Result<Option<Range<usize>>, Stop> {
        let (Some((forward, backward)), Some((ahead, behind))) = (&self.lazy, &mut scratch.lazy)
        else {
            return Err(Stop::Quit(part.start));
        };
        let mut from = part.start;
        let mut left = self.every;
        let end = loop {
            if let Some(prefilter) = &self.prefilter {
                let Some(next) = prefilter.find(text, Span::from(from..part.end)) else {
                    return Ok(None);
                };
                from = next.start;
            }
            let input = Input::new(text).span(from..part.end);
            let start = forward.start_state_forward(ahead, &input).map_err(|_| Stop::Quit(from))?;
            let bytes = (from..part.end).map(|at| (at, text[at]));
            let after = (part.end, text.get(part.end).copied());
            match self.walk(forward, ahead, start, bytes, after, &mut left, go_on) {
                Ok(Walk::Over(Some(end))) => break end,
                Ok(Walk::Over(None)) => return Ok(None),
                Ok(Walk::Start(at)) => from = at,
                Err(None) => return Err(Stop::Quit(from)),
                Err(Some(Interrupted)) => return Err(Stop::Interrupted),
            }
        };
        let quit = |_| Stop::Quit(from);
        let input = Input::new(text).span(from..end).anchored(Anchored::Yes);
        let start = backward.start_state_reverse(behind, &input).map_err(quit)?;
        let bytes = (from..end).rev().map(|at| (at + 1, text[at]));
        let before = (from, from.checked_sub(1).map(|at| text[at]));
        match self.walk(backward, behind, start, bytes, before, &mut left, go_on) {
            Ok(Walk::Over(Some(start))) => Ok(Some(start..end)),
            Err(Some(Interrupted)) => Err(Stop::Interrupted),
            _ => Err(Stop::Quit(from)),
        }
    }

    /// Runs a DFA over `bytes` until it is dead, or back in its start state if those are marked. A DFA reports a match
    /// one byte late. So each byte comes with the position before it. After the last byte, the DFA reads `beyond`, at
    /// the position `last`: the next byte of the text, or its end. Calls `go_on` when `left` is used up.
    ///
    /// # Errors
    /// `go_on` returned false, or, without [`Interrupted`], the DFA gave up.
    #[expect(clippy::too_many_arguments, reason = "the two directions differ in all of them")]
    fn walk(
        &self,
        dfa: &DFA,
        cache: &mut DfaCache,
        start: LazyStateID,
        bytes: impl Iterator<Item = (usize, u8)>,
        (last, beyond): (usize, Option<u8>),
        left: &mut usize,
        go_on: GoOn<'_>,
    ) -> Result<Walk, Option<Interrupted>> {
        let (mut state, mut found) = (start, None);
        for (at, byte) in bytes {
            *left -= 1;
            if *left == 0 {
                if !go_on() {
                    return Err(Some(Interrupted));
                }
                *left = self.every;
            }
            state = dfa.next_state(cache, state, byte).map_err(|_| None)?;
            if state.is_tagged() {
                if state.is_match() {
                    found = Some(at);
                } else if state.is_dead() {
                    return Ok(Walk::Over(found));
                } else if state.is_quit() {
                    return Err(None);
                } else if state.is_start() {
                    return Ok(Walk::Start(at + 1));
                }
            }
        }
        let state = match beyond {
            Some(byte) => dfa.next_state(cache, state, byte),
            None => dfa.next_eoi_state(cache, state),
        };
        let state = state.map_err(|_| None)?;
        if state.is_quit() {
            return Err(None);
        }
        Ok(Walk::Over(if state.is_match() { Some(last) } else { found }))
    }

    fn find_by_threads(
        &self,
        scratch: &mut SteppedScratch,
        text: &[u8],
        part: Range<usize>,
        go_on: GoOn<'_>,
    ) -> Result<Option<Range<usize>>, Interrupted> {
        let Threads { now, next, stack } = &mut scratch.threads;
        now.clear();
        let (mut found, mut work) = (None, 0);
        for at in part.start..=part.end {
            if found.is_none() {
                work += self.follow(now, stack, self.nfa.start_anchored(), at, text, at);
            }
            if now.states.is_empty() {
                break;
            }
            work += now.states.len();
            if work > WORK {
                if !go_on() {
                    return Err(Interrupted);
                }
                work = 0;
            }
            next.clear();
            for &(id, start) in &now.states {
                let to = match self.nfa.state(id) {
                    State::ByteRange { trans } if at < part.end => {
                        trans.matches(text, at).then_some(trans.next)
                    }
                    State::Sparse(sparse) if at < part.end => sparse.matches(text, at),
                    State::Dense(dense) if at < part.end => dense.matches(text, at),
                    State::Match { .. } => {
                        // The threads after this one have lower priority.
                        found = Some(start..at);
                        break;
                    }
                    _ => None,
                };
                if let Some(to) = to {
                    work += self.follow(next, stack, to, start, text, at + 1);
                }
            }
            std::mem::swap(now, next);
        }
        Ok(found)
    }

    /// Adds a state and its epsilon closure, in order of priority. Returns how many states it visited.
    fn follow(
        &self,
        threads: &mut ThreadList,
        stack: &mut Vec<StateID>,
        from: StateID,
        start: usize,
        text: &[u8],
        at: usize,
    ) -> usize {
        let mut visited = 0;
        stack.push(from);
        while let Some(id) = stack.pop() {
            visited += 1;
            if !threads.add(id, start) {
                continue;
            }
            match self.nfa.state(id) {
                State::Look { look, next } => {
                    if self.nfa.look_matcher().matches(*look, text, at) {
                        stack.push(*next);
                    }
                }
                State::Union { alternates } => stack.extend(alternates.iter().rev()),
                State::BinaryUnion { alt1, alt2 } => stack.extend([*alt2, *alt1]),
                State::Capture { next, .. } => stack.push(*next),
                State::ByteRange { .. }
                | State::Sparse(_)
                | State::Dense(_)
                | State::Fail
                | State::Match { .. } => {}
            }
        }
        visited
    }
}

/// The state of the NFA simulation: the threads before and after the current byte.
#[derive(Clone, Debug)]
struct Threads {
    now: ThreadList,
    next: ThreadList,
    stack: Vec<StateID>,
}

/// A set of NFA states in order of priority, each with the start of the match that reached it.
#[derive(Clone, Debug)]
struct ThreadList {
    states: Vec<(StateID, usize)>,
    /// For each state, the round in which it was last added.
    rounds: Vec<u32>,
    round: u32,
}

impl Threads {
    fn new(states: usize) -> Self {
        let list = || ThreadList { states: Vec::new(), rounds: vec![0; states], round: 1 };
        Self { now: list(), next: list(), stack: Vec::new() }
    }
}

impl ThreadList {
    fn clear(&mut self) {
        self.states.clear();
        self.round = self.round.checked_add(1).unwrap_or_else(|| {
            self.rounds.fill(0);
            1
        });
    }

    /// Adds a state; returns false if it is there already.
    fn add(&mut self, id: StateID, start: usize) -> bool {
        let round = &mut self.rounds[id.as_usize()];
        let is_new = *round != self.round;
        if is_new {
            *round = self.round;
            self.states.push((id, start));
        }
        is_new
    }
}

/// Returns whether an offset lies within a UTF-8 character.
fn splits_character(text: &[u8], at: usize) -> bool {
    text.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;
    use regex_automata::meta::Regex;

    use super::*;
    use crate::{Case, Pattern};

    /// Compares the matches of the lazy DFA and the NFA simulation with the library's, for each part of the text.
    fn check(pattern: &str, text: &str) {
        let pattern = Pattern::parse(pattern, Case::Sensitive, false).unwrap();
        let regex = Regex::builder().build_from_hir(pattern.hir()).unwrap();
        let stepped = Stepped::new(pattern.hir(), 1 << 20);
        let mut scratch = stepped.scratch();
        let bytes = text.as_bytes();
        for from in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            for end in (from..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let expected = regex.search(&Input::new(text).span(from..end));
                let expected = expected.map(|found| found.range());
                let found = stepped.find(&mut scratch, bytes, from..end, &|| true);
                assert_eq!(
                    found,
                    Ok(expected.clone()),
                    "{} {text:?} {from}..{end}",
                    pattern.source()
                );
                let found =
                    stepped.find_by_threads(&mut scratch, bytes, from..end, &|| true).unwrap();
                let splits = |found: &Range<usize>| splits_character(bytes, found.start);
                if !found.as_ref().is_some_and(splits) {
                    assert_eq!(found, expected, "{} {text:?} {from}..{end}", pattern.source());
                }
            }
        }
    }

    #[test]
    fn it_finds_what_the_library_finds() {
        let patterns = [
            "",
            "a",
            "a|ab",
            "ab|a",
            "a*",
            "a*?",
            "(a|b)*c",
            "a+?b",
            "(?:)|a",
            r"\bab",
            r"a\b",
            r"\Ba",
            "é",
            ".",
            "[^a]",
            "^a",
            "b$",
            "^$",
            r"\w+",
            "(?:ab?){2,3}",
            "x*",
            r"\bé\b",
            "b|",
            "ab+c",
            r"\bab\b",
            "(?:ab|bc)[^ ]",
            "^ab",
            "ab$",
        ];
        for pattern in patterns {
            for text in [
                "",
                "a",
                "ab",
                "aab abc",
                "ab ab abbc ab",
                "éab ab",
                "xé a",
                "é",
                "béa\nab\n",
                "日本 ab",
            ] {
                check(pattern, text);
            }
        }
    }

    proptest! {
        #[test]
        fn it_finds_what_the_library_finds_in_anything(
            pattern in "(?:[abé.]|\\\\b|\\(a\\|b\\)|\\[ab\\]|[abé][*+?]|\\(ab\\)[*?]){1,6}",
            text in "[abé \n]{0,10}",
        ) {
            check(&pattern, &text);
        }
    }

    #[test]
    fn it_is_interrupted_within_a_line() {
        // The lazy DFA takes long for the first pattern, and cannot run the second.
        let text = format!("é {}", "a".repeat(100_000));
        for pattern in ["(?:[a-z]?){5000}[0-9]{9}", r"\b(?:[a-z]?){5000}\b[0-9]{9}"] {
            let pattern = Pattern::parse(pattern, Case::Sensitive, false).unwrap();
            let stepped = Stepped::new(pattern.hir(), 10 << 20);
            let asked = Cell::new(0);
            let go_on = || {
                asked.set(asked.get() + 1);
                asked.get() < 10
            };
            let found =
                stepped.find(&mut stepped.scratch(), text.as_bytes(), 0..text.len(), &go_on);
            assert_eq!((found, asked.get()), (Err(Interrupted), 10));
        }
    }
}
