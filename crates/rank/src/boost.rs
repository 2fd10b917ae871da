//! What is looked for beside the first files that are found: those that define what a query names, or are called so.
//!
//! Of a common word there are more files than can be ranked, and what is wanted may not be among the first. So two more
//! queries are made of the first. The *near* one asks for what an index finds at once: `ReadFile` for definitions of
//! the name and files called `ReadFile.*`, several words for texts that say them one after the other. The *wide* one asks
//! for what else is likely to be wanted (two of three words in the path), and is needed only if there are more files than
//! are ranked. What they find are results of the first query, with the lines that it shows.
//!
//! `json.Unmarshal` is defined in a folder or file called `json`, where nobody writes the qualifier. Such a *near
//! definition* is no match: [`near_definitions`] asks for those that the query itself does not find.

use query::{Case, CompiledQuery, Field, Pattern, Query, QueryError, Shown, SymbolKinds, Tree};

use super::words::{Word, alternatives, groups, is_name, of_term};

/// Most files that each is looked for.
pub const MOST: usize = 200;

/// Shorter names are defined everywhere.
const MIN_NAME: usize = 3;

/// Of more words nothing is made, and queries of more alternatives are not looked at.
const MAX_WORDS: usize = 12;
const MAX_ALTERNATIVES: usize = 4;

/// A name has no more words, and pairs are made of no more.
const MAX_NAME_WORDS: usize = 5;

/// Fewer words that follow each other are everywhere.
const MIN_PHRASE: usize = 3;

/// Queries for what leads the results of another.
#[derive(Debug)]
pub struct BoostQueries {
    /// What defines the names of the query, or is called so.
    pub near: Option<CompiledQuery>,
    /// What else leads where there are more files than are ranked.
    pub wide: Option<CompiledQuery>,
}

/// What is asked for one query.
#[derive(Default)]
struct BoostTrees {
    near: Vec<Tree>,
    wide: Vec<Tree>,
}

impl BoostQueries {
    /// What leads the results of a query; none if nothing in it is a name.
    ///
    /// # Errors
    /// The query takes too much memory when compiled.
    pub fn of(query: &Query) -> Result<Option<Self>, QueryError> {
        let mut boosts = BoostTrees::default();
        let trees = alternatives(&query.tree);
        if trees.len() > MAX_ALTERNATIVES {
            return Ok(None);
        }
        for (tree, group) in trees.into_iter().zip(groups(query)) {
            let names: Vec<&Word> = group.names().collect();
            let short = |word: &&Word| word.folded.chars().count() < MIN_NAME;
            let (mut near, mut wide) = (Vec::new(), Vec::new());
            if !names.is_empty() && names.len() <= MAX_WORDS && !names.iter().all(short) {
                defined(&names, group.kinds(), &mut near)?;
                wide.extend(of_other_kinds(&names, group.kinds())?);
                pairs(&names, &mut wide)?;
            }
            terms(tree, &mut near)?;
            let both = |any| Tree::all(vec![tree.clone(), Tree::any(any)]);
            boosts.near.extend((!near.is_empty()).then(|| both(near)));
            boosts.wide.extend((!wide.is_empty()).then(|| both(wide)));
        }
        let BoostTrees { near, wide } = boosts;
        let (near, wide) = (compile(query, near)?, compile(query, wide)?);
        Ok((near.is_some() || wide.is_some()).then_some(Self { near, wide }))
    }
}

/// Compiles a query for files that match the query and any of the trees. It shows what the query shows.
fn compile(query: &Query, trees: Vec<Tree>) -> Result<Option<CompiledQuery>, QueryError> {
    if trees.is_empty() {
        return Ok(None);
    }
    // Each tree holds one alternative of the query. A file may match others, whose lines are shown, too.
    let any = Tree::any(trees);
    let all = match query.tree {
        Tree::Any(_) => Tree::all(vec![query.tree.clone(), any]),
        _ => any,
    };
    let own = CompiledQuery::new(query)?;
    let mut boosted = CompiledQuery::new(&query.with(all))?;
    for term in &mut boosted.terms {
        term.shown = if own.terms.iter().any(|own| own.name == term.name) {
            Shown::Matches
        } else if term.symbol.is_some() {
            // Its place tells that a line defines the name.
            Shown::Symbols
        } else {
            Shown::Nothing
        };
    }
    Ok(Some(boosted))
}

/// The query for definitions of what a query names with a qualifier, where the qualifier says: `Unmarshal` in `json/` for
/// `json.Unmarshal`. It finds no file that the query itself finds. None if nothing in the query has a qualifier.
///
/// # Errors
/// The query takes too much memory when compiled.
pub fn near_definitions(query: &Query) -> Result<Option<CompiledQuery>, QueryError> {
    let mut any = Vec::new();
    let trees = alternatives(&query.tree);
    if trees.len() > MAX_ALTERNATIVES {
        return Ok(None);
    }
    for tree in trees {
        for (at, part) in parts(tree).iter().enumerate() {
            if let Some(home) = at_home(part)? {
                let mut all = parts(tree).to_vec();
                all[at] = home;
                any.push(Tree::all(all));
            }
        }
    }
    if any.is_empty() {
        return Ok(None);
    }
    let mut near =
        CompiledQuery::new(&query.with(Tree::all(vec![Tree::any(any), !query.tree.clone()])))?;
    let own = CompiledQuery::new(query)?;
    for term in &mut near.terms {
        let is_own = own.terms.iter().any(|own| own.name == term.name);
        if term.symbol.is_none() && !is_own {
            term.shown = Shown::Nothing;
        }
    }
    Ok(Some(near))
}

/// The parts of an alternative, all of which hold.
fn parts(tree: &Tree) -> &[Tree] {
    match tree {
        Tree::All(parts) => parts,
        other => std::slice::from_ref(other),
    }
}

/// Results that define the names as one, or are called so, or say them one after the other; or that define one of them
/// or are called so, and have the others in their paths or as the names of their repositories.
fn defined(names: &[&Word], kinds: SymbolKinds, any: &mut Vec<Tree>) -> Result<(), QueryError> {
    if names.len() <= MAX_NAME_WORDS {
        any.extend([
            symbol(&joined(names), is_exact(names), kinds)?,
            term(Field::Path, &called(&joined(names)))?,
        ]);
    }
    if names.len() >= MIN_PHRASE {
        any.push(term(Field::Content, &phrase(names))?);
    }
    if !(2..=3).contains(&names.len()) {
        return Ok(());
    }
    for (at, name) in names.iter().enumerate() {
        if name.folded.chars().count() < MIN_NAME {
            continue;
        }
        let one = joined(&[name]);
        let is_it = vec![symbol(&one, false, kinds)?, term(Field::Path, &called(&one))?];
        let mut all = vec![Tree::any(is_it)];
        for (other, name) in names.iter().enumerate() {
            if other != at {
                let place = joined(&[name]);
                all.push(Tree::any(vec![
                    term(Field::Path, &below(&place))?,
                    term(Field::Repo, &repository(&place))?,
                ]));
            }
        }
        any.push(Tree::all(all));
    }
    Ok(())
}

/// Results that define two of the names as one, or have two in their paths.
fn pairs(names: &[&Word], any: &mut Vec<Tree>) -> Result<(), QueryError> {
    if (3..=MAX_NAME_WORDS).contains(&names.len()) {
        let pairs = (0..names.len()).flat_map(|at| (at + 1..names.len()).map(move |b| (at, b)));
        let pairs: Vec<[&Word; 2]> = pairs.map(|(a, b)| [names[a], names[b]]).collect();
        let either: Vec<String> = pairs.iter().map(|pair| joined(pair)).collect();
        any.push(symbol(&either.join("|"), false, SymbolKinds::DEFINITIONS)?);
        for pair in pairs {
            any.push(Tree::all(vec![
                term(Field::Path, &joined(&pair[..1]))?,
                term(Field::Path, &joined(&pair[1..]))?,
            ]));
        }
    }
    Ok(())
}

/// What terms say alone: a string or the name of a file is all of one; and what has a qualifier is defined where the
/// qualifier says.
fn terms(tree: &Tree, near: &mut Vec<Tree>) -> Result<(), QueryError> {
    for part in parts(tree) {
        // A name in a field of its own says where it is looked for.
        let Tree::Term(of) = part else { continue };
        if of.field == Field::Symbol {
            continue;
        }
        let Some(words) = of_term(of) else { continue };
        let source = of.pattern.source();
        let text = format!("(?:{source})");
        // A string is all of it: a key. Plain words are strings everywhere, and no key has spaces.
        let is_key = !source.chars().all(is_name) && !source.contains(char::is_whitespace);
        if source.len() >= MIN_NAME && is_key {
            near.push(term(Field::Content, &format!("\"{text}\"|'{text}'|`{text}`"))?);
        }
        if of.field == Field::Anywhere && words.iter().any(|word| word.qualifier.is_some()) {
            near.push(term(Field::Path, &format!("(?:^|/){text}$"))?);
        }
        near.extend(at_home(part)?);
    }
    Ok(())
}

/// A definition of what a part of a query names with a qualifier, where the qualifier says.
fn at_home(part: &Tree) -> Result<Option<Tree>, QueryError> {
    let Tree::Term(of) = part else { return Ok(None) };
    let words = of_term(of).filter(|_| of.field != Field::Symbol).unwrap_or_default();
    let [word @ Word { qualifier: Some(qualifier), .. }] = &*words else { return Ok(None) };
    let case = if word.exact { Case::Sensitive } else { Case::Insensitive };
    let name = Pattern::parse(&format!("\\b{}\\b", word.typed), case, false)?;
    Ok(Some(Tree::all(vec![
        Tree::term(Field::Content, name),
        symbol(&word.typed, word.exact, SymbolKinds::DEFINITIONS)?,
        term(Field::Path, &home(qualifier))?,
    ])))
}

fn term(field: Field, pattern: &str) -> Result<Tree, QueryError> {
    Ok(Tree::term(field, Pattern::parse(pattern, Case::Insensitive, false)?))
}

/// Results that define the names as one, as something else than the keywords of the query say.
fn of_other_kinds(names: &[&Word], kinds: SymbolKinds) -> Result<Option<Tree>, QueryError> {
    let is_narrow = kinds != SymbolKinds::DEFINITIONS && names.len() <= MAX_NAME_WORDS;
    is_narrow.then(|| symbol(&joined(names), is_exact(names), kinds.others())).transpose()
}

fn is_exact(names: &[&Word]) -> bool {
    matches!(names, [only] if only.exact)
}

/// A pattern for some words as one name; in its own spelling if it is one.
fn joined(names: &[&Word]) -> String {
    let words: Vec<&str> = names.iter().map(|word| word.typed.as_str()).collect();
    words.join("_?")
}

/// A pattern for some words that follow each other, as in a text: an index finds that by its literal.
fn phrase(names: &[&Word]) -> String {
    let words: Vec<&str> = names.iter().map(|word| word.typed.as_str()).collect();
    words.join(" ")
}

/// A definition of a name.
fn symbol(name: &str, exact: bool, kinds: SymbolKinds) -> Result<Tree, QueryError> {
    let case = if exact { Case::Sensitive } else { Case::Insensitive };
    Tree::symbol(&format!("^(?:{name})$"), case, kinds)
}

/// A pattern for the path of a file that is called so.
fn called(name: &str) -> String {
    format!("(?:^|/){name}\\.[^/]*$")
}

/// A pattern for the path of a file that is called so, or lies in a folder that is.
fn below(name: &str) -> String {
    format!("(?:^|/){name}[/.]")
}

/// A pattern for the name of a repository that is called so, or lies in a folder that is.
fn repository(name: &str) -> String {
    format!("(?:^|/){name}(?:/|$)")
}

/// A pattern for the path of a file by way of which what it defines is called.
fn home(qualifier: &str) -> String {
    let name: Vec<String> = qualifier.chars().map(|c| query::escape(&c.to_string())).collect();
    format!("(?:^|/){}(?:/[^/]*$|\\.[^/]*$)", name.join("_?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead(text: &str) -> Option<BoostQueries> {
        BoostQueries::of(&Query::parse(text, Case::Smart).unwrap()).unwrap()
    }

    /// The terms whose matches are shown.
    fn shown(query: &CompiledQuery) -> Vec<&str> {
        let shown = query.terms.iter().filter(|term| term.shown == Shown::Matches);
        shown.map(|term| term.name.as_str()).collect()
    }

    #[test]
    fn only_what_names_something_has_a_lead() {
        for text in ["=>", "x", r"Read\w+", "lang:go", "a or b", "type:repo"] {
            assert!(lead(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_lead_shows_what_its_query_shows() {
        let near = lead("read file").unwrap().near.unwrap();
        assert_eq!(shown(&near), ["/read/i", "/file/i"]);
        let is_defined = |term: &query::CompiledTerm| term.name == "sym:/^(?:read_?file)$/i";
        assert!(near.terms.iter().any(is_defined), "{}", near.tree);
        let near = lead("json.Unmarshal").unwrap().near.unwrap();
        assert!(near.tree.contains("sym:/^(?:Unmarshal)$/"), "{}", near.tree);
        assert_eq!(shown(&near), ["/json.Unmarshal/"]);
        // A file may owe its place to one alternative, and show lines of another.
        let either = lead("ReadFile or WriteFile or C.D").unwrap().near.unwrap();
        assert_eq!(shown(&either), ["/ReadFile/", "/WriteFile/", "/C.D/"]);
    }

    #[test]
    fn a_near_definition_is_no_match() {
        let of = |text: &str| {
            near_definitions(&Query::parse(text, Case::Smart).unwrap())
                .unwrap()
                .map(|near| near.tree)
        };
        let near = of("json.Unmarshal -file:test").unwrap();
        assert!(near.contains(r"(and content:/\bUnmarshal\b/ sym:/^(?:Unmarshal)$/"), "{near}");
        assert!(near.contains(r"(not (and /json.Unmarshal/ (not file:/test/i)))"), "{near}");
        for text in ["ReadFile", "read file", "sym:json.Unmarshal", "-json.Unmarshal", r"json\.\w+"]
        {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn what_an_index_finds_at_once_is_near() {
        let of = |text: &str| lead(text).map(|lead| (lead.near.unwrap(), lead.wide));
        let (near, wide) = of("out of memory").unwrap();
        assert!(near.tree.contains("out of memory"), "{}", near.tree);
        assert_eq!(shown(&wide.unwrap()), ["/out/i", "/of/i", "/memory/i"]);
        assert!(of("read file").unwrap().1.is_none());
        let (near, wide) = of("core.autocrlf").unwrap();
        assert!(near.tree.contains("'(?:core.autocrlf)'") && wide.is_none(), "{}", near.tree);
        for text in ["scrape_interval", "c:\"static int\""] {
            let (near, wide) = of(text).unwrap();
            assert!(!near.tree.contains('\'') && wide.is_none(), "{}", near.tree);
        }
    }
}
