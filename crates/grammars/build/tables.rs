//! The parse tables of a grammar, read from its C source.
//!
//! tree-sitter writes them as arrays of designated initialisers, whose indices and values are digits, names of symbols,
//! or macros that tell people what a number is (`render.rs` in tree-sitter's crate `generate`).

use std::collections::HashMap;

/// Most bytes of a table in which all states have rows. Parsing is faster with such tables (docs/design/symbols.md), but
/// they stay in the memory of each process that parses. Those of Scala and Swift would take 30 MB.
const MOST_BYTES: usize = 10_000_000;

const LARGE: &str = "static const uint16_t ts_parse_table[LARGE_STATE_COUNT][SYMBOL_COUNT]";
const SMALL: &str = "static const uint16_t ts_small_parse_table[]";
const STARTS: &str = "static const uint32_t ts_small_parse_table_map[]";

/// The tables of a grammar.
pub(crate) struct Tables {
    /// A row for each of the first states, with a number for each symbol.
    pub(crate) large: Vec<u16>,
    /// Lists: how many groups there are, and of each group the number, how many symbols have it, and which.
    pub(crate) small: Vec<u16>,
    /// Where the list of each of the other states begins.
    starts: Vec<usize>,
    states: usize,
    pub(crate) large_states: usize,
    symbols: usize,
}

impl Tables {
    /// Reads the tables of a source.
    pub(crate) fn read(source: &str) -> Self {
        let numbers = Numbers::read(source);
        let [states, large_states, symbols] = ["STATE_COUNT", "LARGE_STATE_COUNT", "SYMBOL_COUNT"]
            .map(|name| usize::from(numbers.of(name)));

        let mut large = vec![0; large_states * symbols];
        let mut row = 0;
        for line in initialiser(source, LARGE).lines().map(str::trim).filter(|l| !l.is_empty()) {
            match designated(line) {
                (Some(state), "{") => row = usize::from(numbers.of(state)) * symbols,
                (Some(symbol), value) => {
                    large[row + usize::from(numbers.of(symbol))] = numbers.of(value);
                }
                (None, end) => assert_eq!(end, "}", "in a row"),
            }
        }

        let mut small = Vec::new();
        for item in items(initialiser(source, SMALL)) {
            let (place, value) = designated(item);
            let is_next = place.is_none_or(|place| place.parse() == Ok(small.len()));
            assert!(is_next, "{item} is at {}", small.len());
            small.push(numbers.of(value));
        }

        let starts = items(initialiser(source, STARTS)).map(|item| designated(item).1);
        let starts: Vec<usize> = starts.map(|start| start.parse().expect(start)).collect();
        assert_eq!(large_states + starts.len(), states, "each state has a row or a list");
        Self { large, small, starts, states, large_states, symbols }
    }

    /// Gives all states a row, if that takes no more than [`MOST_BYTES`].
    pub(crate) fn expanded(mut self) -> Self {
        if self.states * self.symbols * size_of::<u16>() > MOST_BYTES {
            return self;
        }
        for start in &self.starts {
            let mut row = vec![0; self.symbols];
            let mut list = self.small[*start..].iter().copied();
            let mut next = || list.next().expect("a list ends");
            for _ in 0..next() {
                let number = next();
                for _ in 0..next() {
                    row[next() as usize] = number;
                }
            }
            self.large.extend(row);
        }
        self.large_states = self.states;
        self.small.clear();
        self
    }
}

/// Returns the source with two tables of one element each.
pub(crate) fn without_tables(source: &str) -> String {
    let [before, _, after] = cut(source, LARGE);
    let source = format!("{before}static const uint16_t ts_parse_table[1][SYMBOL_COUNT]{after}");
    let [before, _, after] = cut(&source, SMALL);
    format!("{before}static const uint16_t ts_small_parse_table[1]{after}")
}

/// The numbers that stand in a source as names: counts and symbols.
struct Numbers<'source>(HashMap<&'source str, u16>);

impl<'source> Numbers<'source> {
    fn read(source: &'source str) -> Self {
        let definitions = source.lines().take_while(|line| !line.starts_with("enum "));
        let counts = definitions.filter_map(|line| line.strip_prefix("#define ")?.split_once(' '));
        let symbols = items(initialiser(source, "enum ts_symbol_identifiers"));
        let symbols = symbols.map(|symbol| symbol.split_once(" = ").expect(symbol));
        let number = |(name, digits): (_, &str)| Some((name, digits.parse().ok()?));
        let numbers = counts.chain(symbols).filter_map(number);
        // This one stands in a header.
        Self(numbers.chain([("ts_builtin_sym_end", 0)]).collect())
    }

    /// Returns the number that an expression stands for.
    fn of(&self, expression: &str) -> u16 {
        let digits = match expression.split_once('(') {
            Some(("ACTIONS" | "STATE", rest)) => rest.trim_end_matches(')'),
            _ => expression,
        };
        let number = digits.parse().ok().or_else(|| self.0.get(expression).copied());
        number.unwrap_or_else(|| panic!("what is {expression}?"))
    }
}

/// Returns what stands between the braces after a declaration.
fn initialiser<'source>(source: &'source str, declaration: &str) -> &'source str {
    let [_, body, _] = cut(source, declaration);
    body.trim_start_matches(" =").strip_prefix(" {\n").expect(declaration)
}

/// Cuts a declaration out: returns what is before it, its initialiser with an opening brace, and what follows.
fn cut<'source>(source: &'source str, declaration: &str) -> [&'source str; 3] {
    let (before, rest) =
        source.split_once(declaration).unwrap_or_else(|| panic!("no {declaration}"));
    let (body, _) = rest.split_once("\n}").expect("a table ends");
    [before, body, &rest[body.len() + "\n}".len()..]]
}

/// Returns the items of a list.
fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// Splits `[place] = value,` into both; an item without a place is a value.
fn designated(item: &str) -> (Option<&str>, &str) {
    let item = item.strip_suffix(',').unwrap_or(item);
    match item.strip_prefix('[').and_then(|item| item.split_once("] = ")) {
        Some((place, value)) => (Some(place), value),
        None => (None, item),
    }
}
