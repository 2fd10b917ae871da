//! The definitions of a name.

use futures_util::future::BoxFuture;
use std::ops::Range;

use query::{Case, SymbolKind, SymbolKinds, Tree};

use super::basis::Basis;
use super::near::Near;
use super::place::Error;
use super::precise::precise;
use super::request::{NameRequest, NameScope, parts};
use super::request::{near_and_far, scope};
use answer::FileMatch;
use answer::symbol::Symbol;
use rank::path_penalty;
use search::Stats;
use search::View;

/// The definitions of a name.
#[derive(Debug)]
pub struct Definitions {
    /// The name that was looked up.
    pub name: String,
    /// The SCIP symbols that the name means at the place, if an index has the place.
    pub symbols: Vec<String>,
    /// The definitions: the precise ones, then others, the nearest first.
    pub found: Vec<Definition>,
    /// Number of definitions that were found, shown or not.
    pub count: usize,
    /// Statistics of the search, and whether it found everything.
    pub stats: Stats,
}

/// A definition.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Name of its repository.
    pub repo: String,
    /// Path in it.
    pub path: String,
    /// Language of the file, if it was recognised.
    pub language: Option<String>,
    /// The symbol.
    pub symbol: Symbol,
    /// The line in which its name stands, without the line feed.
    pub text: String,
    /// The byte range of the name in the line.
    pub range: Range<usize>,
    /// How near it is to the request's place.
    pub near: Near,
    /// Whether it is the name's meaning, or only has the same name.
    pub basis: Basis,
    rank: u16,
}

/// Returns the definitions of a name, those near the request's place first.
///
/// # Errors
/// The request is invalid, there is no file at its place, or the database cannot be asked.
pub fn definitions<'a>(
    view: &'a View,
    request: &'a NameRequest,
) -> BoxFuture<'a, Result<Definitions, Error>> {
    Box::pin(async move {
        let scope = scope(view, request).await?;
        let name = scope.name(request)?;
        let (files, mut stats) =
            near_and_far(view, condition(&name)?, &scope, request.timeout).await?;
        let precise = precise(view, request, &scope, &stats).await?;
        precise.note(&mut stats);
        let places = precise.places();
        let is_new = |one: &Definition| {
            !places.contains(&(one.repo.clone(), one.path.clone(), one.symbol.start))
        };
        let files = files.into_iter().flat_map(|file| of_file(file, &scope, Basis::Search));
        let mut found: Vec<Definition> = files.filter(is_new).collect();
        let precisely = precise.definitions.into_iter();
        found.extend(precisely.flat_map(|file| of_file(file, &scope, Basis::Precise)));
        found.sort_by_cached_key(|one| {
            let path_penalty = (path_penalty(&one.path) * 100.0) as i64;
            let place = (one.repo.clone(), one.path.clone(), one.symbol.start);
            (
                one.basis,
                one.near,
                weight(one.symbol.kind),
                -path_penalty,
                std::cmp::Reverse(one.rank),
                place,
            )
        });
        let count = found.len();
        found.truncate(request.limit);
        Ok(Definitions { name, symbols: precise.symbols, found, count, stats })
    })
}

/// Returns the condition that a file defines a name.
fn condition(name: &str) -> Result<Tree, Error> {
    let parts = parts(name)?;
    let (last, containers) = parts.split_last().expect("a name has a part");
    let mut source: String =
        containers.iter().flat_map(|part| [query::escape(part), "::".to_owned()]).collect();
    source.push_str(&format!("^{}$", query::escape(last)));
    Ok(Tree::symbol(&source, Case::Sensitive, SymbolKinds::DEFINITIONS)?)
}

fn of_file(file: FileMatch, scope: &NameScope, basis: Basis) -> Vec<Definition> {
    let near = scope.near(&file.repo, &file.path);
    let lines = file.lines.into_iter().flat_map(|line| {
        let text = line.text;
        line.symbols.into_iter().map(move |found| (text.clone(), found))
    });
    let definition = |(text, found): (String, answer::symbol::LineSymbol)| Definition {
        repo: file.repo.clone(),
        path: file.path.clone(),
        language: file.language.clone(),
        symbol: found.symbol,
        text,
        range: found.range,
        near,
        basis,
        rank: file.rank,
    };
    lines.map(definition).collect()
}

/// Returns the order of kinds: types before functions, members last.
fn weight(kind: &str) -> u8 {
    use SymbolKind::{
        Class, Constant, Constructor, Enum, EnumMember, Field, Function, Heading, Interface, Macro,
        Method, Property, Struct, Trait, Type, Union, Variable,
    };
    match SymbolKind::from_word(kind) {
        Some(Class | Struct | Enum | Interface | Trait | Union | Type) => 0,
        Some(Function | Macro | Method | Constructor) => 1,
        Some(Constant | Variable | Field | Property | EnumMember) => 3,
        Some(Heading) => 4,
        _ => 2,
    }
}
