//! Words before names in declarations of C and C++ that are neither types nor keywords: macros for the compiler or for
//! a tool, such as `EXPORT`, `__init` or `Q_OBJECT`. A macro that the grammar does not know costs the definition, or a
//! whole class, so it is blanked.

use std::ops::Range;

use crate::blanks::Blanks;

use super::scopes::{Scope, Scopes};
use super::tokens::{Kind, Token};

/// Words before a declaration that are neither its type nor its name.
const SPECIFIERS: &[&str] = &[
    "__const",
    "__extension__",
    "__inline",
    "__inline__",
    "__restrict",
    "__restrict__",
    "__thread",
    "__volatile__",
    "_Atomic",
    "_Noreturn",
    "_Thread_local",
    "const",
    "consteval",
    "constexpr",
    "constinit",
    "explicit",
    "extern",
    "friend",
    "inline",
    "mutable",
    "register",
    "restrict",
    "static",
    "thread_local",
    "typename",
    "virtual",
    "volatile",
];

/// Words that are, or begin, a type of their own.
const TYPES: &[&str] = &[
    "_Bool", "auto", "bool", "char", "double", "float", "int", "long", "short", "signed",
    "unsigned", "void", "wchar_t",
];

/// Words that the grammar knows, with parentheses after them.
const WITH_PARENTHESES: &[&str] = &[
    "_Alignas",
    "_Static_assert",
    "__asm",
    "__asm__",
    "__attribute",
    "__attribute__",
    "__declspec",
    "__typeof",
    "__typeof__",
    "alignas",
    "asm",
    "decltype",
    "explicit",
    "noexcept",
    "static_assert",
    "typeof",
];

/// Blanks the unknown macros in the declarations outside functions.
pub(super) fn blank_annotations(tokens: &[Token], text: &mut Blanks) {
    let mut scopes = Scopes::new();
    let mut begin = 0;
    for (at, token) in tokens.iter().enumerate() {
        let scope = scopes.innermost();
        if scope == Scope::Items {
            let ends = matches!(token.kind, Kind::Mark(b';' | b'{' | b'}')) || token.is_directive();
            if ends {
                Head::new(&tokens[begin..at], text, token.kind).blank();
                begin = at + 1;
            } else if token.is(b':') && is_access(&tokens[begin..=at], tokens.get(at + 1), text) {
                begin = at + 1;
            }
        }
        scopes.step(*token, text);
        if scopes.innermost() == Scope::Items && matches!(token.kind, Kind::Mark(b'{' | b'}')) {
            begin = at + 1;
        }
    }
}

/// Reads `public:` and its variants with macros: `public slots:`, `signals:`, `Q_SIGNALS:`. Blanks the macros.
fn is_access(head: &[Token], next: Option<&Token>, text: &mut Blanks) -> bool {
    let (colon, words) = head.split_last().expect("it ends with a colon");
    if words.iter().any(|token| token.kind != Kind::Word)
        // unsigned : 3;
        || next.is_some_and(|next| next.kind == Kind::Number)
    {
        return false;
    }
    let word = |token: &Token| &text.text()[token.range()];
    let access =
        words.iter().position(|token| matches!(word(token), "public" | "protected" | "private"));
    match (access, words) {
        (Some(access), _) => {
            for (at, token) in words.iter().enumerate() {
                if at != access {
                    text.blank(token.range());
                }
            }
        }
        (None, [label])
            if !TYPES.contains(&word(label))
                && !matches!(word(label), "default" | "class" | "struct" | "enum" | "union") =>
        {
            text.blank(label.start..colon.end);
        }
        _ => return false,
    }
    true
}

/// Returns whether a word looks like a macro: capitals, or two underscores before it.
fn is_macro(word: &str) -> bool {
    let is_capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    word.contains('_') && (word.len() > 3 && word.bytes().all(is_capital) || word.starts_with("__"))
}

/// A declaration up to its body or its end.
struct Head<'a, 't> {
    tokens: &'a [Token],
    text: &'a mut Blanks<'t>,
    /// The token that ends it.
    end: Kind,
    at: usize,
    /// Names that may be the type or the declared name: `a`, `a::b`, `a<b>`.
    names: Vec<Range<usize>>,
    /// Names after a star.
    after_star: Vec<Range<usize>>,
    /// Whether the head has a type with a keyword.
    has_type: bool,
    has_star: bool,
}

impl<'a, 't> Head<'a, 't> {
    fn new(tokens: &'a [Token], text: &'a mut Blanks<'t>, end: Kind) -> Self {
        Self {
            tokens,
            text,
            end,
            at: 0,
            names: Vec::new(),
            after_star: Vec::new(),
            has_type: false,
            has_star: false,
        }
    }

    fn token(&self, at: usize) -> Option<Token> {
        self.tokens.get(at).copied()
    }

    fn word(&self, token: Token) -> &'t str {
        &self.text.text()[token.range()]
    }

    fn is(&self, at: usize, mark: u8) -> bool {
        self.token(at).is_some_and(|token| token.is(mark))
    }

    /// Returns the index after the brackets that open at an index.
    fn after_brackets(&self, at: usize, open: u8, close: u8) -> usize {
        let mut depth = 0_usize;
        for (n, token) in self.tokens.iter().enumerate().skip(at) {
            if token.is(open) {
                depth += 1;
            } else if token.is(close) {
                depth -= 1;
                if depth == 0 {
                    return n + 1;
                }
            }
        }
        self.tokens.len()
    }

    /// Returns whether a line ends between two tokens.
    fn is_line_between(&self, before: usize, after: usize) -> bool {
        match (self.token(before), self.token(after)) {
            (Some(before), Some(after)) => self.text.text()[before.end..after.start].contains('\n'),
            (Some(_), None) => {
                matches!(self.end, Kind::If | Kind::Else | Kind::Endif | Kind::Directive)
            }
            _ => false,
        }
    }

    /// Blanks the macros in it.
    fn blank(&mut self) {
        while let Some(token) = self.token(self.at) {
            match token.kind {
                Kind::Word => {
                    if !self.at_word(token) {
                        return;
                    }
                }
                // a::b, extern "C"
                Kind::Scope | Kind::Literal => self.at += 1,
                Kind::Mark(b'*' | b'&' | b'^') => {
                    self.has_star = true;
                    self.at += 1;
                }
                Kind::Mark(b'<') if !self.names.is_empty() => {
                    self.at = self.after_brackets(self.at, b'<', b'>');
                    if let Some(last) = self.tokens.get(self.at.wrapping_sub(1)) {
                        let names =
                            if self.has_star { &mut self.after_star } else { &mut self.names };
                        if let Some(name) = names.last_mut() {
                            name.end = last.end;
                        }
                    }
                }
                // [[nodiscard]]
                Kind::Mark(b'[') if self.is(self.at + 1, b'[') => {
                    self.at = self.after_brackets(self.at, b'[', b']');
                }
                Kind::Mark(b'~') => {
                    self.unqualify();
                    self.leave(0);
                    return self.after_name(self.at + 1);
                }
                _ => break,
            }
        }
        self.variable();
    }

    /// Reads a word. Returns whether to go on.
    fn at_word(&mut self, token: Token) -> bool {
        let word = self.word(token);
        let opens = self.is(self.at + 1, b'(');
        match word {
            "class" | "struct" | "union" | "enum" => {
                self.leave(0);
                return self.type_keyword();
            }
            "namespace" => {
                self.leave(0);
                self.type_name(self.at + 1);
                return false;
            }
            "template" if self.is(self.at + 1, b'<') => {
                self.leave(0);
                self.at = self.after_brackets(self.at + 1, b'<', b'>');
                return true;
            }
            "typedef" | "using" | "friend" | "static_assert" | "_Static_assert" | "requires"
            | "concept" | "return" | "else" | "if" | "for" | "while" | "do" | "switch" | "case"
            | "goto" | "default" | "throw" | "delete" | "new" => {
                self.leave(0);
                return false;
            }
            "operator" => {
                self.unqualify();
                self.leave(1);
                return false;
            }
            "public" | "protected" | "private" => {
                self.leave(0);
                self.at += 1;
                while let Some(token) = self.token(self.at).filter(|token| !token.is(b':')) {
                    self.text.blank(token.range());
                    self.at += 1;
                }
                self.at += 1;
                return true;
            }
            _ => {}
        }
        if WITH_PARENTHESES.contains(&word) && opens {
            let end = self.after_brackets(self.at + 1, b'(', b')');
            if word.starts_with("__attribute") {
                self.blank_tokens(self.at, end);
            }
            self.has_type |= word.contains("type");
            self.at = end;
            return true;
        }
        if SPECIFIERS.contains(&word) {
            self.at += 1;
            return true;
        }
        if TYPES.contains(&word) {
            self.has_type = true;
            self.at += 1;
            return true;
        }
        if opens {
            return self.with_parentheses(word);
        }
        self.add(token);
        self.at += 1;
        true
    }

    /// Forgets the qualifier of a name: `A` of `A::b`. It is not a type, and stays.
    fn unqualify(&mut self) {
        if self.at > 0 && self.tokens[self.at - 1].kind == Kind::Scope {
            let names = if self.has_star { &mut self.after_star } else { &mut self.names };
            names.pop();
        }
    }

    /// Adds a name, or continues one: `a::b`.
    fn add(&mut self, token: Token) {
        let is_scoped = self.at > 0 && self.tokens[self.at - 1].kind == Kind::Scope;
        let names = if self.has_star { &mut self.after_star } else { &mut self.names };
        match names.last_mut().filter(|_| is_scoped) {
            Some(name) => name.end = token.end,
            None => names.push(token.range()),
        }
    }

    /// Reads a word with parentheses after it: a macro with arguments, or the name of a function. Returns whether to go
    /// on.
    fn with_parentheses(&mut self, word: &str) -> bool {
        let after = self.after_brackets(self.at + 1, b'(', b')');
        let next = self.token(after);
        let goes_on = next.is_some_and(|next| {
            next.kind == Kind::Word || next.kind == Kind::Scope || next.is(b'~')
        });
        let ends_line = self.is_line_between(after - 1, after);
        let has_next = goes_on
            || next.is_none() && self.end != Kind::Mark(b'{') && self.end != Kind::Mark(b';');
        let has_name = !self.names.is_empty() || !self.after_star.is_empty() || self.has_type;
        // Another function follows. Only types can precede it: old-style parameters have no parentheses.
        let is_before = || {
            let has_parameters = |at: usize| {
                let word = self.word(self.tokens[at]);
                self.tokens[at].kind == Kind::Word
                    && self.is(at + 1, b'(')
                    && !TYPES.contains(&word)
                    && !WITH_PARENTHESES.contains(&word)
                    && word.bytes().any(|byte| byte.is_ascii_lowercase())
            };
            !has_name && ends_line && (after..self.tokens.len()).any(has_parameters)
        };
        let is_annotation = is_macro(word) && has_next && (word.starts_with("__") || ends_line);
        if is_annotation || goes_on && is_before() {
            self.blank_tokens(self.at, after);
            self.at = after;
            return true;
        }
        // The name of a function.
        self.unqualify();
        for name in std::mem::take(&mut self.after_star) {
            self.text.blank(name);
        }
        self.leave(usize::from(!self.has_type));
        self.after_name(after);
        false
    }

    /// Blanks macros between the parameters of a function and its body.
    fn after_name(&mut self, begin: usize) {
        self.at = begin;
        while let Some(token) = self.token(self.at) {
            let opens = token.kind == Kind::Word && self.is(self.at + 1, b'(');
            let end = match token.kind {
                Kind::Mark(b'[') => self.after_brackets(self.at, b'[', b']'),
                Kind::Mark(b'(') => self.after_brackets(self.at, b'(', b')'),
                _ if opens => self.after_brackets(self.at + 1, b'(', b')'),
                _ => self.at + 1,
            };
            match token.kind {
                Kind::Word if opens && self.word(token).starts_with("__attribute") => {
                    self.blank_tokens(self.at, end);
                }
                Kind::Word if WITH_PARENTHESES.contains(&self.word(token)) && opens => {}
                Kind::Word
                    if is_macro(self.word(token)) && !SPECIFIERS.contains(&self.word(token)) =>
                {
                    self.blank_tokens(self.at, end);
                }
                Kind::Mark(b':' | b'=') => return,
                _ => {}
            }
            self.at = end;
        }
    }

    /// Blanks names until `most` are left: first those that look like macros, then the first ones.
    fn leave(&mut self, most: usize) {
        let mut names = std::mem::take(&mut self.names);
        while names.len() > most {
            let looks = names.iter().position(|name| is_macro(&self.text.text()[name.clone()]));
            let name = names.remove(looks.unwrap_or(0));
            self.text.blank(name);
        }
        self.names = names;
    }

    /// Blanks names that look like macros next to the type and the name of a variable.
    fn variable(&mut self) {
        if self.end == Kind::Mark(b'{') && self.at == self.tokens.len() {
            return;
        }
        let (mut before, mut after) =
            (std::mem::take(&mut self.names), std::mem::take(&mut self.after_star));
        let of_type = usize::from(!self.has_type);
        let lists = if self.has_star {
            [(&mut before, of_type), (&mut after, 1)]
        } else {
            [(&mut before, of_type + 1), (&mut after, 0)]
        };
        for (names, most) in lists {
            while names.len() > most {
                let looks = names.iter().position(|name| is_macro(&self.text.text()[name.clone()]));
                let Some(looks) = looks else { break };
                self.text.blank(names.remove(looks));
            }
        }
        if self.is(self.at, b'[') {
            self.after_name(self.at);
        }
    }

    /// Reads `class EXPORT Name`, or a mere reference to a type: `struct a *b`. Returns whether to go on.
    fn type_keyword(&mut self) -> bool {
        let keyword = self.word(self.tokens[self.at]);
        let mut next = self.at + 1;
        if keyword == "enum"
            && self.token(next).is_some_and(|token| matches!(self.word(token), "class" | "struct"))
        {
            next += 1;
        }
        if self.end == Kind::Mark(b'{') && self.is_type_body(next) {
            self.type_name(next);
            return false;
        }
        self.has_type = true;
        // struct a
        self.at = next + 1;
        while self.token(self.at).is_some_and(|token| token.kind == Kind::Scope) {
            self.at += 2;
        }
        true
    }

    /// Returns whether only names and base types precede a body.
    fn is_type_body(&self, begin: usize) -> bool {
        let mut at = begin;
        while let Some(token) = self.token(at) {
            match token.kind {
                Kind::Mark(b':') => return true,
                Kind::Word if self.is(at + 1, b'(') => {
                    let word = self.word(token);
                    if !is_macro(word)
                        && !WITH_PARENTHESES.contains(&word)
                        && word != word.to_uppercase()
                    {
                        return false;
                    }
                    at = self.after_brackets(at + 1, b'(', b')');
                }
                Kind::Word | Kind::Scope | Kind::Literal => at += 1,
                Kind::Mark(b'<') => at = self.after_brackets(at, b'<', b'>'),
                Kind::Mark(b'[') => at = self.after_brackets(at, b'[', b']'),
                _ => return false,
            }
        }
        true
    }

    /// Blanks all but the last name before the body of a type or a namespace.
    fn type_name(&mut self, begin: usize) {
        let mut names: Vec<(usize, usize)> = Vec::new();
        let mut at = begin;
        while let Some(token) = self.token(at) {
            match token.kind {
                Kind::Word if self.word(token) == "final" => at += 1,
                Kind::Word if WITH_PARENTHESES.contains(&self.word(token)) => {
                    let end = self.after_brackets(at + 1, b'(', b')');
                    if self.word(token).starts_with("__attribute") {
                        self.blank_tokens(at, end);
                    }
                    at = end;
                }
                Kind::Word => {
                    let end = if self.is(at + 1, b'(') {
                        self.after_brackets(at + 1, b'(', b')')
                    } else {
                        at + 1
                    };
                    let is_scoped = at > begin && self.tokens[at - 1].kind == Kind::Scope;
                    match names.last_mut().filter(|_| is_scoped) {
                        Some(name) => name.1 = end,
                        None => names.push((at, end)),
                    }
                    at = end;
                }
                Kind::Mark(b'<') => at = self.after_brackets(at, b'<', b'>'),
                Kind::Mark(b'[') => at = self.after_brackets(at, b'[', b']'),
                Kind::Scope => at += 1,
                _ => break,
            }
        }
        names.pop();
        for (begin, end) in names {
            self.blank_tokens(begin, end);
        }
    }

    fn blank_tokens(&mut self, begin: usize, end: usize) {
        if begin < end {
            self.text.blank(self.tokens[begin].start..self.tokens[end - 1].end);
        }
    }
}
