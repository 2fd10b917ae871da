//! What is looked for beyond the first files that are found: those that define what a query names, or are called so.
//!
//! Of a common word there are more files than can be ranked, and what is wanted may not be among the first. So a second
//! query, made of the first, asks for its definitions: `ReadFile` for files with `func ReadFile`, `fn ReadFile` and so on,
//! or called `ReadFile.*`. An index answers that by the same literals. What it finds are results of the first query, with
//! one exception: `json.Unmarshal` also leads to the definition of `Unmarshal` in a folder or file called `json`, where
//! nobody writes the qualifier.

use query::{Case, CompiledQuery, Field, Pattern, Query, QueryError, SymbolKinds, Tree};

use super::definition::COMMON_DEFINERS;
use super::words::{Word, alternatives, groups, of_term};

/// Most files that are looked for so.
pub(crate) const MOST: usize = 200;

/// Shorter names are defined everywhere.
const MIN_NAME: usize = 3;

/// Of more words nothing is made, and queries of more alternatives are not looked at.
const MAX_WORDS: usize = 12;
const MAX_ALTERNATIVES: usize = 4;

/// A name has no more words, and pairs are made of no more.
const MAX_NAME_WORDS: usize = 5;

/// Fewer words that follow each other are everywhere.
const MIN_PHRASE: usize = 3;

/// A query for what leads the results of another.
#[derive(Debug)]
pub(crate) struct Lead {
    pub(crate) query: CompiledQuery,
}

/// What is asked for one query.
#[derive(Default)]
struct Asked {
    trees: Vec<Tree>,
    /// The patterns, as they print, that say which files lead and are no matches.
    hidden: Vec<String>,
}

impl Lead {
    /// What leads the results of a query; none if nothing in it is a name.
    ///
    /// # Errors
    /// The query takes too much memory when compiled.
    pub(crate) fn of(query: &Query) -> Result<Option<Self>, QueryError> {
        let mut asked = Asked::default();
        let trees = alternatives(&query.tree);
        if trees.len() > MAX_ALTERNATIVES {
            return Ok(None);
        }
        for (tree, group) in trees.into_iter().zip(groups(query)) {
            let names: Vec<&Word> = group.names().collect();
            let short = |word: &&Word| word.folded.chars().count() < MIN_NAME;
            let mut any = Vec::new();
            if !names.is_empty() && names.len() <= MAX_WORDS && !names.iter().all(short) {
                asked.named(&names, &mut any)?;
            }
            asked.terms(tree, &mut any)?;
            if !any.is_empty() {
                asked.trees.push(Tree::all(vec![tree.clone(), Tree::any(any)]));
            }
        }
        if asked.trees.is_empty() {
            return Ok(None);
        }
        let lead = query.with(Tree::any(asked.trees));
        let shown = CompiledQuery::new(query)?;
        let mut query = CompiledQuery::new(&lead)?;
        for term in &mut query.terms {
            let is_own = shown.terms.iter().any(|own| own.name == term.name);
            term.shown = is_own || !asked.hidden.contains(&term.name);
        }
        Ok(Some(Self { query }))
    }
}

impl Asked {
    /// Results that define the names as one, or are called so; or that define one of them and have the others in their paths.
    fn named(&mut self, names: &[&Word], any: &mut Vec<Tree>) -> Result<(), QueryError> {
        if names.len() <= MAX_NAME_WORDS {
            any.extend([
                // Where symbols are taken they say so, elsewhere the words before a name.
                symbol(&joined(names), is_exact(names))?,
                self.hide(Field::Content, &defined(&joined(names)), is_exact(names))?,
                self.hide(Field::Path, &called(&joined(names)), false)?,
            ]);
        }
        if names.len() >= MIN_PHRASE {
            any.push(self.hide(Field::Content, &phrase(names), false)?);
        }
        if (3..=MAX_NAME_WORDS).contains(&names.len()) {
            // Two of them are a name, or stand in the path.
            let pairs = (0..names.len()).flat_map(|at| (at + 1..names.len()).map(move |b| (at, b)));
            let pairs: Vec<[&Word; 2]> = pairs.map(|(a, b)| [names[a], names[b]]).collect();
            let either: Vec<String> = pairs.iter().map(|pair| joined(pair)).collect();
            any.push(symbol(&either.join("|"), false)?);
            for pair in pairs {
                any.push(Tree::all(vec![
                    self.hide(Field::Path, &joined(&pair[..1]), false)?,
                    self.hide(Field::Path, &joined(&pair[1..]), false)?,
                ]));
            }
        }
        if (2..=3).contains(&names.len()) {
            for (at, name) in names.iter().enumerate() {
                if name.folded.chars().count() < MIN_NAME {
                    continue;
                }
                let definition = defined(&joined(&[name]));
                let definition = vec![
                    symbol(&joined(&[name]), false)?,
                    self.hide(Field::Content, &definition, false)?,
                ];
                let mut all = vec![Tree::any(definition)];
                for (other, name) in names.iter().enumerate() {
                    if other != at {
                        all.push(self.hide(Field::Path, &below(&joined(&[name])), false)?);
                    }
                }
                any.push(Tree::all(all));
            }
        }
        Ok(())
    }

    /// What terms say alone: a string or the name of a file is all of one; and what has a qualifier is defined where the
    /// qualifier says.
    fn terms(&mut self, tree: &Tree, any: &mut Vec<Tree>) -> Result<(), QueryError> {
        let parts = match tree {
            Tree::All(parts) => &parts[..],
            other => std::slice::from_ref(other),
        };
        for (at, part) in parts.iter().enumerate() {
            // A name in a field of its own says where it is looked for.
            let Tree::Term(term) = part else { continue };
            if term.field == Field::Symbol {
                continue;
            }
            let Some(words) = of_term(term) else { continue };
            let text = format!("(?:{})", term.pattern.source());
            if term.pattern.source().len() >= MIN_NAME {
                // A string is all of it.
                any.push(self.hide(Field::Content, &format!("[\"'`]{text}[\"'`]"), false)?);
            }
            if term.field == Field::Anywhere && words.iter().any(|word| word.qualifier.is_some()) {
                any.push(self.hide(Field::Path, &format!("(?:^|/){text}$"), false)?);
            }
            let [Word { qualifier: Some(qualifier), .. }] = &*words else { continue };
            let word = &words[0];
            let case = if word.exact { Case::Sensitive } else { Case::Insensitive };
            let name = Pattern::parse(&format!("\\b{}\\b", word.typed), case, false)?;
            let home = vec![
                Tree::term(Field::Content, name),
                self.hide(Field::Content, &defined(&word.typed), word.exact)?,
                self.hide(Field::Path, &home(qualifier), false)?,
            ];
            let mut parts = parts.to_vec();
            parts[at] = Tree::all(home);
            self.trees.push(Tree::all(parts));
        }
        Ok(())
    }

    /// A term that says which files lead, and shows nothing.
    fn hide(&mut self, field: Field, pattern: &str, exact: bool) -> Result<Tree, QueryError> {
        let case = if exact { Case::Sensitive } else { Case::Insensitive };
        let pattern = Pattern::parse(pattern, case, false)?;
        self.hidden.push(pattern.to_string());
        Ok(Tree::term(field, pattern))
    }
}

fn is_exact(names: &[&Word]) -> bool {
    matches!(names, [only] if only.exact)
}

/// A pattern for some words as one name; in its own spelling if it is one.
fn joined(names: &[&Word]) -> String {
    let words: Vec<&str> = names.iter().map(|word| word.typed.as_str()).collect();
    words.join("_?")
}

/// A pattern for some words that follow each other, with hardly anything between.
fn phrase(names: &[&Word]) -> String {
    let words: Vec<&str> = names.iter().map(|word| word.typed.as_str()).collect();
    words.join(r"\W{1,3}")
}

/// A definition of a name. It is shown: its place tells that a line defines the name.
fn symbol(name: &str, exact: bool) -> Result<Tree, QueryError> {
    let case = if exact { Case::Sensitive } else { Case::Insensitive };
    Tree::symbol(&format!("^(?:{name})$"), case, SymbolKinds::DEFINITIONS)
}

/// A pattern for a definition of a name.
fn defined(name: &str) -> String {
    let definers = COMMON_DEFINERS.map(|word| format!("{word} {name}\\b"));
    format!("(?:{}|\\) {name}\\()", definers.join("|"))
}

/// A pattern for the path of a file that is called so.
fn called(name: &str) -> String {
    format!("(?:^|/){name}\\.[^/]*$")
}

/// A pattern for the path of a file that is called so, or lies in a folder that is.
fn below(name: &str) -> String {
    format!("(?:^|/){name}[/.]")
}

/// A pattern for the path of a file by way of which what it defines is called.
fn home(qualifier: &str) -> String {
    let name: Vec<String> = qualifier.chars().map(|c| query::escape(&c.to_string())).collect();
    format!("(?:^|/){}(?:/[^/]*$|\\.[^/]*$)", name.join("_?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead(text: &str) -> Option<(String, Vec<String>)> {
        let lead = Lead::of(&Query::parse(text, Case::Smart).unwrap()).unwrap()?;
        let shown = lead.query.terms.iter().filter(|term| term.shown);
        let shown = shown.map(|term| term.name.clone()).collect();
        Some((lead.query.tree, shown))
    }

    #[test]
    fn only_what_names_something_has_a_lead() {
        for text in ["=>", "x", r"Read\w+", "lang:go", "a or b", "type:repo"] {
            assert_eq!(lead(text).map(|lead| lead.0), None, "{text}");
        }
    }

    #[test]
    fn a_lead_shows_what_its_query_shows() {
        let (tree, shown) = lead("read file").unwrap();
        assert!(tree.contains("func read_?file"), "{tree}");
        let of_words: Vec<&str> =
            shown.iter().map(String::as_str).filter(|name| !name.starts_with("sym:")).collect();
        assert_eq!(of_words, ["/read/i", "/file/i"]);
        assert!(shown.contains(&"sym:/^(?:read_?file)$/i".to_owned()), "{shown:?}");
        let (tree, shown) = lead("json.Unmarshal").unwrap();
        assert!(tree.contains("func Unmarshal"), "{tree}");
        let of_words: Vec<&str> =
            shown.iter().map(String::as_str).filter(|name| !name.starts_with("sym:")).collect();
        assert_eq!(of_words, [r"/\bUnmarshal\b/", "/json.Unmarshal/"]);
    }
}
