//! Conditional groups (`#if` ... `#endif`) that are not whole statements or definitions: one branch is kept, as in one
//! build of the program. The grammar only knows whole groups, and misreads the text after others.

use std::collections::HashMap;

use crate::blanks::{Blanks, is_word};

use super::scopes::{Scope, Scopes};
use super::tokens::{Kind, Token};

/// Maximum nesting of groups.
const MAX_DEPTH: usize = 200;

/// Maximum number of tokens to pass to find the one before a group.
const MAX_BEFORE: usize = 1000;

/// A group whose `#endif` was not reached yet.
struct Group {
    before: Scopes,
    /// The lowest depth of brackets so far in the branch around it.
    lowest: usize,
    branches: Vec<Branch>,
}

/// A branch of a group.
struct Branch {
    /// The index of its `#if`, `#elif` or `#else`.
    directive: usize,
    /// The scopes open at its end.
    after: Option<Scopes>,
    /// The lowest depth of brackets in the branch.
    lowest: usize,
}

/// The state of the pass over the tokens.
struct Flattening<'a, 't> {
    tokens: &'a [Token],
    text: &'a mut Blanks<'t>,
    dropped: Vec<bool>,
    groups: Vec<Group>,
    scopes: Scopes,
    /// The lowest depth of brackets in the current branch.
    lowest: usize,
    /// The values of conditions in the branches that were kept.
    known: HashMap<&'t str, bool>,
}

/// Blanks the lines and branches of groups that are not whole, and drops their tokens.
pub(super) fn flatten(tokens: &mut Vec<Token>, text: &mut Blanks) {
    if !tokens.iter().any(|token| token.kind == Kind::If) {
        return;
    }
    let dropped = vec![false; tokens.len()];
    let mut state = Flattening {
        tokens,
        text,
        dropped,
        groups: Vec::new(),
        scopes: Scopes::new(),
        lowest: 0,
        known: HashMap::new(),
    };
    for at in 0..state.tokens.len() {
        match state.tokens[at].kind {
            Kind::If if state.groups.len() == MAX_DEPTH => return,
            Kind::If => {
                let before = state.scopes.clone();
                let lowest = std::mem::replace(&mut state.lowest, before.depth());
                state.groups.push(Group { before, lowest, branches: vec![Branch::new(at)] });
            }
            Kind::Else => state.next_branch(at),
            Kind::Endif => state.end(at),
            _ => {
                state.scopes.step(state.tokens[at], state.text);
                state.lowest = state.lowest.min(state.scopes.depth());
            }
        }
    }
    let mut dropped = state.dropped.into_iter();
    tokens.retain(|_| !dropped.next().unwrap_or_default());
}

impl Branch {
    fn new(directive: usize) -> Self {
        Self { directive, after: None, lowest: 0 }
    }

    /// Returns whether the branch closes brackets that it does not open, or leaves some open.
    fn is_torn(&self, depth: usize) -> bool {
        self.lowest < depth || self.after.as_ref().is_none_or(|after| after.depth() != depth)
    }
}

impl<'t> Flattening<'_, 't> {
    fn close_branch(&mut self) {
        let Some(group) = self.groups.last_mut() else { return };
        let branch = group.branches.last_mut().expect("a group has a branch");
        branch.lowest = self.lowest;
        branch.after = Some(self.scopes.clone());
    }

    fn next_branch(&mut self, at: usize) {
        self.close_branch();
        if let Some(group) = self.groups.last_mut() {
            self.scopes = group.before.clone();
            self.lowest = self.scopes.depth();
            group.branches.push(Branch::new(at));
        }
    }

    /// At `#endif`: leaves the group as it is, or keeps one branch.
    fn end(&mut self, at: usize) {
        self.close_branch();
        let before = self.before(self.groups.len());
        let Some(group) = self.groups.pop() else { return };
        self.lowest = group.lowest;
        if self.is_whole(&group, before, at) {
            // All branches end in the scopes of the first one.
            self.scopes = group.before;
            return;
        }
        let kept = self.choose(&group, at);
        for (n, branch) in group.branches.iter().enumerate() {
            let end = group.branches.get(n + 1).map_or(at, |next| next.directive);
            self.drop(branch.directive);
            if kept != Some(n) {
                let rest = self.tokens[branch.directive].end..self.tokens[end].start;
                self.text.blank(rest);
                self.dropped[branch.directive..end].fill(true);
            }
        }
        self.drop(at);
        let kept = kept.and_then(|kept| group.branches.into_iter().nth(kept));
        if let Some(Branch { lowest, after: Some(after), .. }) = kept {
            self.scopes = after;
            self.lowest = self.lowest.min(lowest);
        } else {
            self.scopes = group.before;
        }
    }

    fn drop(&mut self, directive: usize) {
        self.dropped[directive] = true;
        self.text.blank(self.tokens[directive].range());
    }

    /// Returns the token before the innermost groups, past the directives around them.
    fn before(&self, groups: usize) -> Option<Token> {
        let mut left = MAX_BEFORE;
        for group in self.groups[..groups].iter().rev() {
            let first = group.branches.first()?.directive;
            let mut at = first;
            while let Some(before) = at.checked_sub(1) {
                left = left.checked_sub(1)?;
                at = before;
                let token = self.tokens[at];
                if matches!(token.kind, Kind::If | Kind::Else) && !self.dropped[at] {
                    // The surrounding group begins here.
                    break;
                }
                if !self.dropped[at] && !token.is_directive() {
                    return Some(token);
                }
                if token.kind == Kind::Directive {
                    return None;
                }
            }
        }
        None
    }

    /// Returns the tokens of a branch that are neither dropped nor directives.
    fn of_branch(&self, begin: usize, end: usize) -> impl DoubleEndedIterator<Item = Token> {
        (begin..end)
            .filter(|at| !self.dropped[*at] && !self.tokens[*at].is_directive())
            .map(|at| self.tokens[at])
    }

    /// Returns whether the grammar can parse a group.
    fn is_whole(&self, group: &Group, before: Option<Token>, end: usize) -> bool {
        use Kind::Mark;
        let scope = group.before.innermost();
        if matches!(scope, Scope::Parentheses | Scope::Values)
            || group.branches.iter().any(|branch| branch.is_torn(group.before.depth()))
        {
            return false;
        }
        if scope == Scope::Enum {
            return true;
        }
        let is_statement = scope == Scope::Body;
        let begins =
            before.is_none_or(|token| matches!(token.kind, Mark(b';' | b'{' | b'}' | b':')));
        if is_statement && !begins {
            return false;
        }
        let mut next = self.of_branch(end + 1, (end + 8).min(self.tokens.len()));
        if is_statement && next.next().is_some_and(|token| self.is_word(token, "else")) {
            return false;
        }
        group.branches.iter().enumerate().all(|(n, branch)| {
            let end = group.branches.get(n + 1).map_or(end, |next| next.directive);
            let begin = branch.directive + 1;
            let Some(first) = self.of_branch(begin, end).next() else { return true };
            let last = self.of_branch(begin, end).next_back().expect("there is a first one");
            let ends = matches!(last.kind, Mark(b';' | b'}' | b':'));
            if is_statement {
                return ends && !self.is_word(first, "else");
            }
            // Macros before or in a branch may lack a semicolon.
            let ends = ends
                || group.branches.len() > 1
                    && begins
                    && last.is(b')')
                    && self
                        .of_branch(begin, end)
                        .any(|token| matches!(token.kind, Mark(b';' | b'}')));
            let goes_on = matches!(first.kind, Mark(byte) if byte != b'[' && byte != b'~');
            ends && (begins || !goes_on)
        })
    }

    fn is_word(&self, token: Token, word: &str) -> bool {
        token.kind == Kind::Word && self.text.text()[token.range()] == *word
    }

    /// Returns the branch to keep: the first non-empty one that is possible given the branches kept before.
    fn choose(&mut self, group: &Group, end: usize) -> Option<usize> {
        let mut kept: Option<usize> = None;
        for (n, branch) in group.branches.iter().enumerate() {
            match self.holds(branch.directive) {
                Some(true) => {
                    kept = Some(n);
                    break;
                }
                Some(false) => {}
                None => {
                    let end = group.branches.get(n + 1).map_or(end, |next| next.directive);
                    let is_empty = self.of_branch(branch.directive + 1, end).next().is_none();
                    if kept.is_none() || !is_empty {
                        kept = Some(n);
                    }
                    if !is_empty {
                        break;
                    }
                }
            }
        }
        for (n, branch) in group.branches.iter().enumerate().take(kept.map_or(0, |kept| kept + 1)) {
            if let Some((name, positive)) = condition(self.directive(branch.directive)) {
                self.known.entry(name).or_insert(positive == (kept == Some(n)));
            }
        }
        kept
    }

    fn directive(&self, at: usize) -> &'t str {
        &self.text.text()[self.tokens[at].range()]
    }

    /// Returns whether the condition of a branch holds, if that is known.
    fn holds(&self, directive: usize) -> Option<bool> {
        let (name, positive) = condition(self.directive(directive))?;
        match name {
            "0" => Some(!positive),
            "1" => Some(positive),
            _ => self.known.get(name).map(|known| *known == positive),
        }
    }
}

/// Returns the subject of a directive's condition, and whether it must hold: for `#ifndef A`, `A` and false.
fn condition(directive: &str) -> Option<(&str, bool)> {
    let text = directive.trim_start_matches('#').trim_start();
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let comment = rest.find("/*").or_else(|| rest.find("//"));
    let all = rest[..comment.unwrap_or(rest.len())].trim();
    let mut positive = match word {
        "if" | "elif" | "ifdef" | "elifdef" => true,
        "ifndef" | "elifndef" => false,
        _ => return None,
    };
    let name = all.trim_start_matches(['!', ' ']);
    let name = name.strip_prefix("defined").unwrap_or(name).trim_matches(['(', ')', ' ']);
    if !name.bytes().all(is_word) {
        return Some((all, positive));
    }
    positive ^= all.matches('!').count() % 2 == 1;
    Some((name, positive))
}
