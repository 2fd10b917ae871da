//! The outline of a file: its symbols in order, each below the one that contains it.

use std::collections::HashMap;

use futures_util::future::BoxFuture;
use query::SymbolKind;
use store::{BlobId, Epoch, RepoId, Shard};

use super::basis::Basis;
use super::near::no_file;
use super::place::{Error, Place};
use super::precise;
use answer::symbol::{Symbol, Symbols};
use browse::{FileText, file_text_at};
use search::View;

/// The outline of a file.
#[derive(Clone, Debug)]
pub struct Outline {
    /// Language of the file, if it was recognised.
    pub language: Option<String>,
    /// The symbols, each after its container, otherwise in order.
    pub symbols: Vec<OutlineSymbol>,
    /// Whether the symbols of the text were extracted.
    pub state: SymbolsState,
    /// Whether the symbols come from a SCIP index, since none were extracted from the text.
    pub basis: Basis,
}

/// A symbol of an outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineSymbol {
    /// The symbol.
    pub symbol: Symbol,
    /// Number of symbols that contain it.
    pub depth: usize,
    /// Last line of its definition.
    pub last_line: u64,
}

/// Whether the symbols of a file were extracted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolsState {
    /// They were extracted.
    Taken,
    /// They will be extracted later.
    Pending,
    /// Extraction gave up some or all of them: the reason, in a word.
    GivenUp(String),
    /// Symbols are not extracted from this language.
    Without,
    /// The text is not indexed: that of a commit that no indexed tree has.
    NotIndexed,
}

/// Returns the outline of a file.
///
/// # Errors
/// There is no such file, or the database cannot be asked.
pub fn outline<'a>(view: &'a View, place: &'a Place) -> BoxFuture<'a, Result<Outline, Error>> {
    Box::pin(async move {
        let tree = view.tree().await?;
        let Some((shard, entry)) = tree.locate(&place.repo, &place.path)? else {
            return Err(no_file(view, &place.repo, &place.path).await);
        };
        let language = entry.language.map(str::to_owned);
        let file = (tree.epoch(), entry.repo, place.path.as_str());
        let text = (entry.blob, entry.bytes);
        Ok(outline_of_blob(view, shard, text, language, Some(file)).await?)
    })
}

/// Returns the outline of a file at a revision: in an indexed worktree, branch or tag, or in any commit. A text that is not
/// indexed has no symbols.
///
/// # Errors
/// There is no such file or revision, or the database or the clone cannot be read.
pub fn outline_at<'a>(
    view: &'a View,
    place: &'a Place,
    revision: &'a str,
) -> BoxFuture<'a, Result<Outline, Error>> {
    Box::pin(async move {
        let Place { repo, path, .. } = place;
        let Some(file) = file_text_at(view, repo, path, revision).await? else {
            return Err(Error::NoFileAt(repo.clone(), path.clone(), revision.to_owned()));
        };
        Ok(outline_of_text(view, &file).await?.unwrap_or_else(|| Outline::not_indexed(&file)))
    })
}

impl Outline {
    /// Makes that of a text that is not indexed.
    pub fn not_indexed(file: &FileText) -> Self {
        let (language, state) = (file.language.clone(), SymbolsState::NotIndexed);
        Self { language, symbols: Vec::new(), state, basis: Basis::Search }
    }
}

/// Returns the outline of a text; `None` if it is not stored, or not any more.
///
/// # Errors
/// The database cannot be asked.
pub fn outline_of_text<'a>(
    view: &'a View,
    file: &'a FileText,
) -> BoxFuture<'a, Result<Option<Outline>, store::Error>> {
    Box::pin(async move {
        let Some((id, blob)) = file.stored else { return Ok(None) };
        // A commit may have contents in any shard.
        let Some(shard) = view.shard(id).await? else { return Ok(None) };
        let text = (blob, file.text.len());
        let tree = view.tree().await?;
        let current = file.is_current.then(|| tree.locate(&file.repo, &file.path));
        let entry = current.transpose()?.flatten();
        let place = entry.map(|(_, entry)| (tree.epoch(), entry.repo, file.path.as_str()));
        outline_of_blob(view, &shard, text, file.language.clone(), place).await.map(Some)
    })
}

/// Returns the outline of a text. `file` is its file, by which SCIP indexes are looked up.
async fn outline_of_blob(
    view: &View,
    shard: &Shard,
    (blob, bytes): (BlobId, usize),
    language: Option<String>,
    file: Option<(Epoch, RepoId, &str)>,
) -> Result<Outline, store::Error> {
    let rows = view.symbols_of(shard, &[blob]).await?;
    let mut state = SymbolsState::Taken;
    if rows.first().is_none_or(|row| row.starts.is_empty()) {
        let known = view.symbols_known(shard.id, blob).await?;
        let lower = language.as_deref().map(str::to_lowercase);
        state = match known.given_up {
            Some(reason) => SymbolsState::GivenUp(reason),
            None if !lower.is_some_and(|lower| known.languages.contains(&lower)) => {
                SymbolsState::Without
            }
            None if known.is_taken => SymbolsState::Taken,
            None => SymbolsState::Pending,
        };
    }
    let texts = view.texts(shard, &[(blob, bytes)]).await?;
    let text = texts.get(&blob).map_or("", String::as_str);
    if let Some((epoch, repo, path)) = file.filter(|_| state != SymbolsState::Taken) {
        let mut scip = view.scip(view.catalog().await?).await?;
        let told = scip.of(epoch, (shard.id, blob), (repo, path)).await?;
        scip.done().refuse([shard.id].into_iter())?;
        let told = told.first().map(|told| precise::outline(told, text)).unwrap_or_default();
        if !told.is_empty() {
            let (state, basis) = (SymbolsState::Taken, Basis::Precise);
            return Ok(Outline { language, symbols: with_last_lines(told, text), state, basis });
        }
    }
    let basis = Basis::Search;
    let Some(row) = rows.first() else {
        return Ok(Outline { language, symbols: Vec::new(), state, basis });
    };
    let symbols = Symbols::of(row);
    let all = tree(&symbols, text);
    Ok(Outline { language, symbols: with_last_lines(all, text), state, basis })
}

/// Returns the symbols of a text, each with the number of its containers. Members come after their type, wherever they
/// are defined, and so does each implementation of a type that is defined beside it. A namespace that contains nothing but the next is joined with it: `a::b`.
fn tree(symbols: &Symbols<'_>, text: &str) -> Vec<(Symbol, usize)> {
    let mut within: Vec<Vec<usize>> = vec![Vec::new(); symbols.len()];
    let mut open: Vec<(usize, usize)> = Vec::new();
    let types = types(symbols);
    let implemented = |at: usize| {
        let is_implementation = symbols.kind(at) == Some(SymbolKind::Implementation);
        let of = types.get(&(symbols.container(at), symbols.name(at)));
        of.copied().filter(|_| is_implementation)
    };
    for at in (0..symbols.len()).rev() {
        match implemented(at).or_else(|| symbols.container(at)) {
            Some(container) => within[container].push(at),
            None => open.push((at, 0)),
        }
    }
    let mut all = Vec::with_capacity(symbols.len());
    let mut name_from = None;
    // The stack holds the first symbol of the text last.
    while let Some((at, depth)) = open.pop() {
        let mut symbol = symbols.get(at).shown();
        let start = name_from.take().unwrap_or(symbol.start);
        if let [only] = *within[at]
            && symbols.goes_on(at, only, text)
        {
            name_from = Some(start);
            open.push((only, depth));
            continue;
        }
        if start < symbol.start {
            let end = symbol.start as usize + symbol.name.len();
            if let Some(name) = text.get(start as usize..end) {
                name.clone_into(&mut symbol.name);
            }
            symbol.start = start;
            symbol.container = None;
        }
        all.push((symbol, depth));
        open.extend(within[at].iter().map(|member| (*member, depth + 1)));
    }
    all
}

/// Returns the types of a text, by the symbol around and the name.
fn types<'r>(symbols: &Symbols<'r>) -> HashMap<(Option<usize>, &'r str), usize> {
    use SymbolKind::{Class, Enum, Interface, Struct, Trait, Type, Union};
    let is_type = |at: &usize| {
        matches!(symbols.kind(*at), Some(Class | Enum | Interface | Struct | Trait | Type | Union))
    };
    let mut types = HashMap::new();
    for at in (0..symbols.len()).filter(is_type) {
        types.entry((symbols.container(at), symbols.name(at))).or_insert(at);
    }
    types
}

/// Adds the last line of its definition to each symbol, which has its depth.
fn with_last_lines(symbols: Vec<(Symbol, usize)>, text: &str) -> Vec<OutlineSymbol> {
    let mut lines = LineCounter { text: text.as_bytes(), at: 0, line: 1 };
    let mut ends: Vec<(u64, usize)> =
        symbols.iter().enumerate().map(|(at, (symbol, _))| (symbol.end, at)).collect();
    ends.sort_unstable();
    let mut last_lines = vec![0; symbols.len()];
    for (end, at) in ends {
        last_lines[at] = lines.line_of(end.saturating_sub(1) as usize);
    }
    let with = |((symbol, depth), last_line): ((Symbol, usize), u64)| {
        let last_line = last_line.max(symbol.line);
        OutlineSymbol { symbol, depth, last_line }
    };
    symbols.into_iter().zip(last_lines).map(with).collect()
}

/// Counts the lines up to ascending offsets.
struct LineCounter<'t> {
    text: &'t [u8],
    at: usize,
    line: u64,
}

impl LineCounter<'_> {
    fn line_of(&mut self, at: usize) -> u64 {
        let upto = at.clamp(self.at, self.text.len());
        self.line += memchr::memchr_iter(b'\n', &self.text[self.at..upto]).count() as u64;
        self.at = upto;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use store::SymbolRow;

    use super::*;

    #[test]
    fn members_come_after_their_type_and_parts_of_a_name_are_one() {
        let text = "namespace a::b { f() T() g() }";
        let names = ["a", "b", "f", "T", "g"];
        let start = |name: &&str| text[10..].find(name).unwrap() as i32 + 10;
        let row = SymbolRow {
            blob: BlobId(1),
            names: names.join("\n"),
            kinds: [
                SymbolKind::Namespace,
                SymbolKind::Namespace,
                SymbolKind::Method,
                SymbolKind::Class,
                SymbolKind::Function,
            ]
            .map(SymbolKind::byte)
            .to_vec(),
            starts: names.iter().map(start).collect(),
            ends: vec![30, 30, 20, 24, 28],
            lines: vec![1; 5],
            // f is a member of T, which is defined after it.
            parents: vec![-1, 0, 3, 1, 1],
        };
        let told: Vec<(String, usize)> = tree(&Symbols::of(&row), text)
            .into_iter()
            .map(|(symbol, depth)| (symbol.name, depth))
            .collect();
        let expected = [("a::b", 0), ("T", 1), ("f", 2), ("g", 1)];
        assert_eq!(told, expected.map(|(name, depth)| (name.to_owned(), depth)));
    }

    /// Checks the outline of a text in a language: each symbol behind as many spaces as it has containers.
    #[track_caller]
    fn check(language: &str, text: &str, expected: &[&str]) {
        let taken = symbols::take(language, text).unwrap().symbols;
        let row = SymbolRow {
            blob: BlobId(1),
            names: taken.iter().map(|one| &text[one.name.clone()]).collect::<Vec<_>>().join("\n"),
            kinds: taken.iter().map(|one| one.kind.byte()).collect(),
            starts: taken.iter().map(|one| one.name.start as i32).collect(),
            ends: taken.iter().map(|one| one.end as i32).collect(),
            lines: taken.iter().map(|one| one.line as i32).collect(),
            parents: taken.iter().map(|one| one.parent.map_or(-1, |at| at as i16)).collect(),
        };
        let told: Vec<String> = tree(&Symbols::of(&row), text)
            .into_iter()
            .map(|(symbol, depth)| format!("{}{} {}", " ".repeat(depth), symbol.kind, symbol.name))
            .collect();
        assert_eq!(told, expected, "{text}");
    }

    #[test]
    fn members_stand_below_their_types_wherever_they_are() {
        check(
            "go",
            "package p\ntype A struct{ x int }\ntype B struct{}\nfunc (b *B) One() {}\nfunc free() {}\nfunc (a A) Two() \
             {}\nfunc (c *C[T]) Three() {}\nfunc other() {}\nfunc (c C[T]) Four() {}\n",
            &[
                "package p",
                "struct A",
                " field x",
                " method Two",
                "struct B",
                " method One",
                "function free",
                "implementation C",
                " method Three",
                " method Four",
                "function other",
            ],
        );
        check(
            "rust",
            "struct A;\nfn free() {}\nimpl A { fn one(&self) {} }\nimpl Copy for A {}\nimpl B { fn two() {} }\nmod m { impl \
             super::A { fn three() {} } }\n",
            &[
                "struct A",
                " implementation A",
                "  method one",
                " implementation A",
                "function free",
                "implementation B",
                " method two",
                "module m",
                " implementation A",
                "  method three",
            ],
        );
        check(
            "c++",
            "class A { void one(); };\nvoid free() {}\nvoid A::one() {}\nvoid B::two() {}\nvoid B::three() {}\n",
            &[
                "class A",
                " method one",
                " method one",
                "function free",
                "implementation B",
                " method two",
                " method three",
            ],
        );
    }
}
