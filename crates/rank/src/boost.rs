//! Boost queries: extra searches for files that define the names in a query, or are named after them.
//!
//! A common word occurs in more files than can be ranked, and the wanted file may not be among the first. So two more
//! queries are derived from the first. The *near* query uses conditions that the index answers at once: for `ReadFile`,
//! definitions of the name and files called `ReadFile.*`; for several words, texts that contain them in a row. The
//! *wide* query finds other likely files (two of three words in the path). It is needed only if more files match than
//! are ranked. Both find results of the first query, and show the same lines. Then the index of words also names the texts
//! that have the words ([`BoostWords`]), best first; the query itself decides which of them match.
//!
//! `json.Unmarshal` is defined in a folder or file called `json`, where nobody writes the qualifier. Such a *near
//! definition* is no match: [`near_definitions`] asks for those that the query itself does not find.

use query::{Case, CompiledQuery, Field, Pattern, Query, QueryError, Shown, SymbolKinds, Tree};

use super::words::{Word, alternatives, groups, is_name, of_term};

/// Most files that each boost query finds.
pub const MOST: usize = 200;

/// Shorter names are not boosted: they are defined everywhere.
const MIN_NAME: usize = 3;

/// Most names that are boosted together, and most alternatives of a boosted query.
const MAX_WORDS: usize = 12;
const MAX_ALTERNATIVES: usize = 4;

/// Most words that are joined to one name, or of which pairs are made.
const MAX_NAME_WORDS: usize = 5;

/// Fewest words of a phrase: shorter phrases occur everywhere.
const MIN_PHRASE: usize = 3;

/// Queries for files that rank first for another query.
#[derive(Debug)]
pub struct BoostQueries {
    /// Finds files that define the names of the query, or are called so.
    pub near: Option<CompiledQuery>,
    /// Finds other likely files; needed if more files match than are ranked.
    pub wide: Option<CompiledQuery>,
}

/// The words of a query by which an index of words finds likely files.
#[derive(Clone, Debug)]
pub struct BoostWords {
    /// The words, with spaces between them.
    pub text: String,
    /// Whether a file must have all of them; else those of one alternative are enough.
    pub all: bool,
    /// The conditions of the query on files alone, without its terms.
    pub files: Tree,
}

impl BoostWords {
    /// Returns the words of a query; `None` if an alternative has none.
    pub fn of(query: &Query) -> Option<Self> {
        let groups = groups(query);
        let mut text = String::new();
        for group in &groups {
            group.names().next()?;
            for word in group.names() {
                text.push_str(&word.typed);
                text.push(' ');
            }
        }
        let narrows = |part: &&Tree| is_of_files(part);
        let files = parts(&query.tree).iter().filter(narrows).cloned().collect();
        (!text.is_empty()).then(|| Self { text, all: groups.len() == 1, files: Tree::all(files) })
    }
}

/// Returns whether a condition is on files alone, whatever is in them.
fn is_of_files(tree: &Tree) -> bool {
    match tree {
        Tree::All(parts) | Tree::Any(parts) => parts.iter().all(is_of_files),
        Tree::Not(part) => is_of_files(part),
        Tree::Term(of) => matches!(of.field, Field::Path | Field::Repo),
        Tree::Language(_) | Tree::InTree(_) | Tree::Property(_) => true,
    }
}

/// The alternatives of each boost query.
#[derive(Default)]
struct BoostTrees {
    near: Vec<Tree>,
    wide: Vec<Tree>,
}

impl BoostQueries {
    /// Returns the boost queries of a query; `None` if nothing in it is a name.
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

/// Compiles a query for files that match the query and any of the trees. It shows the same lines as the query.
fn compile(query: &Query, trees: Vec<Tree>) -> Result<Option<CompiledQuery>, QueryError> {
    if trees.is_empty() {
        return Ok(None);
    }
    // Each tree holds one alternative of the query. A file may also match others, whose lines are shown, too.
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
            // The place of the symbol tells that a line defines the name.
            Shown::Symbols
        } else {
            Shown::Nothing
        };
    }
    Ok(Some(boosted))
}

/// Returns the query for definitions of qualified names in the places that their qualifiers name: `Unmarshal` in
/// `json/` for `json.Unmarshal`. It finds no file that the query itself finds. `None` if no name has a qualifier.
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

/// Returns the parts of an alternative, all of which must match.
fn parts(tree: &Tree) -> &[Tree] {
    match tree {
        Tree::All(parts) => parts,
        other => std::slice::from_ref(other),
    }
}

/// Adds conditions: a file defines the names as one name, or is called so, or contains them in a row; or it defines one
/// of them, or is called so, and has the others in its path or as the name of its repository.
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

/// Adds conditions: a file defines two of the names as one name, or has two in its path.
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

/// Adds conditions for single terms: the term is the whole of a string literal or of a file name; or a qualified name
/// is defined where its qualifier says.
fn terms(tree: &Tree, near: &mut Vec<Tree>) -> Result<(), QueryError> {
    for part in parts(tree) {
        // A term for symbols says already where its name stands.
        let Tree::Term(of) = part else { continue };
        if of.field == Field::Symbol {
            continue;
        }
        let Some(words) = of_term(of) else { continue };
        let source = of.pattern.source();
        let text = format!("(?:{source})");
        // The literal is a key. Plain words are literals everywhere, and no key has spaces.
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

/// Returns the condition that a qualified name is defined where its qualifier says.
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

/// Returns the condition that the names are defined as one, but as another kind than the query's keywords say.
fn of_other_kinds(names: &[&Word], kinds: SymbolKinds) -> Result<Option<Tree>, QueryError> {
    let is_narrow = kinds != SymbolKinds::DEFINITIONS && names.len() <= MAX_NAME_WORDS;
    is_narrow.then(|| symbol(&joined(names), is_exact(names), kinds.others())).transpose()
}

fn is_exact(names: &[&Word]) -> bool {
    matches!(names, [only] if only.exact)
}

/// Returns a pattern for some words as one name; a single word keeps its spelling.
fn joined(names: &[&Word]) -> String {
    let words: Vec<&str> = names.iter().map(|word| word.typed.as_str()).collect();
    words.join("_?")
}

/// Returns a pattern for words separated by spaces; an index finds it by its literal.
fn phrase(names: &[&Word]) -> String {
    let words: Vec<&str> = names.iter().map(|word| word.typed.as_str()).collect();
    words.join(" ")
}

/// Returns the condition that a name is defined.
fn symbol(name: &str, exact: bool, kinds: SymbolKinds) -> Result<Tree, QueryError> {
    let case = if exact { Case::Sensitive } else { Case::Insensitive };
    Tree::symbol(&format!("^(?:{name})$"), case, kinds)
}

/// Returns a pattern for the path of a file with this name.
fn called(name: &str) -> String {
    format!("(?:^|/){name}\\.[^/]*$")
}

/// Returns a pattern for the path of a file with this name, or in a folder with it.
fn below(name: &str) -> String {
    format!("(?:^|/){name}[/.]")
}

/// Returns a pattern for the name of a repository that is called so, or lies in a folder that is.
fn repository(name: &str) -> String {
    format!("(?:^|/){name}(?:/|$)")
}

/// Returns a pattern for the path of a file whose definitions this qualifier names.
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

    /// Returns the terms whose matches are shown.
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
    fn words_come_with_the_conditions_on_files() {
        let of = |text: &str| BoostWords::of(&Query::parse(text, Case::Smart).unwrap());
        let told = |text: &str| {
            let words = of(text).unwrap();
            (words.text, words.all, words.files.to_string())
        };
        let every = Query::every_file().tree.to_string();
        assert_eq!(told("func ReadFile path"), ("ReadFile path ".to_owned(), true, every.clone()));
        assert_eq!(told("read or write"), ("read write ".to_owned(), false, every));
        let (text, all, files) = told("read lang:go -file:test -write");
        assert_eq!((text.as_str(), all), ("read ", true));
        assert!(files.contains("lang:go") && files.contains("test"), "{files}");
        assert!(!files.contains("write"), "{files}");
        assert!(of(r"Read\w+").is_none() && of("lang:go").is_none() && of("=> or x").is_none());
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
        // A file may match by one alternative, and show lines of another.
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
