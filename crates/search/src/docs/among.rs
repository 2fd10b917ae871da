//! Which docs may match a query: those that have its lexemes, by the word index.

use std::collections::HashMap;

use futures_util::StreamExt;
use store::{DocsQuery, DocsWords, Error, Shard};
use words::Word;

use crate::view::View;

/// What a doc must have to match a `tsquery`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Needs {
    Anything,
    Lexeme(Word),
    All(Vec<Needs>),
    Any(Vec<Needs>),
}

/// The blobs of a shard that may match, ascending; `None` for all.
pub(super) type Among = Option<Vec<i32>>;

/// Returns the blobs of each shard that may match, or why that is not known. Each statement asks the shards of a group.
pub(super) async fn among<'s>(
    view: &View,
    shards: impl Iterator<Item = (usize, &'s Shard)>,
    query: &DocsQuery,
) -> Vec<(usize, Result<Among, Error>)> {
    let queries = [&query.english, &query.plain].into_iter().flatten();
    let needs = Needs::any(queries.map(|query| Needs::of(query)).collect());
    let (mut words, needs) = (Vec::new(), &needs);
    needs.add_words(&mut words);
    words.sort_unstable();
    words.dedup();
    let (words, all) = (&words, shards.map(|(at, shard)| (at, shard.id)).collect());
    let asks = view.store().in_groups(all, |(_, shard)| *shard).into_iter().map(async |group| {
        if *needs == Needs::Anything {
            return group.into_iter().map(|(at, _)| (at, Ok(None))).collect();
        }
        let asking = async {
            let ids: Vec<_> = group.iter().map(|(_, shard)| *shard).collect();
            let mut lease = view.store().lease().await?;
            let rows = lease.docs_words(&ids, words).await?;
            lease.done();
            Ok(rows)
        };
        match asking.await {
            Ok(rows) => {
                let among = |shard| needs.blobs(&lists(rows.get(shard)?, words)?);
                group.iter().map(|(at, shard)| (*at, Ok(among(shard)))).collect()
            }
            Err(Error::Node { node, why }) => {
                let silent = || Error::Node { node: node.clone(), why: why.clone() };
                group.iter().map(|(at, _)| (*at, Err(silent()))).collect()
            }
            // One answer for the group is enough to tell why.
            Err(error) => vec![(group[0].0, Err(error))],
        }
    });
    let asks: Vec<_> = asks.collect();
    let answers = futures_util::stream::iter(asks).buffer_unordered(view.parallel());
    let answers: Vec<Vec<(usize, Result<Among, Error>)>> = answers.collect().await;
    answers.into_iter().flatten().collect()
}

/// Returns the blobs with each word; `None` if a row is damaged.
fn lists(rows: &[DocsWords], words: &[Word]) -> Option<HashMap<Word, Vec<i32>>> {
    let mut lists: HashMap<Word, Vec<i32>> = HashMap::new();
    for row in rows {
        words::decode(&row.entries, words, &mut |word, blob, _| {
            lists.entry(words[word]).or_default().push(row.first + blob.cast_signed());
        })
        .ok()?;
    }
    for list in lists.values_mut() {
        list.sort_unstable();
        list.dedup();
    }
    Some(lists)
}

impl Needs {
    /// Reads a `tsquery` as Postgres writes it: `'retri' & ( 'tea' <-> 'cup' | !'kettl' )`.
    fn of(tsquery: &str) -> Self {
        let mut reader = Reader(tsquery);
        let needs = reader.any();
        // What is not understood needs nothing.
        if reader.0.trim().is_empty() { needs } else { Self::Anything }
    }

    fn all(mut of: Vec<Self>) -> Self {
        of.retain(|needs| *needs != Self::Anything);
        match of.len() {
            0 => Self::Anything,
            1 => of.remove(0),
            _ => Self::All(of),
        }
    }

    fn any(mut of: Vec<Self>) -> Self {
        if of.contains(&Self::Anything) {
            return Self::Anything;
        }
        if of.len() == 1 { of.remove(0) } else { Self::Any(of) }
    }

    /// Adds the words to look up.
    fn add_words(&self, words: &mut Vec<Word>) {
        match self {
            Self::Anything => {}
            Self::Lexeme(word) => words.push(*word),
            Self::All(of) | Self::Any(of) => of.iter().for_each(|needs| needs.add_words(words)),
        }
    }

    /// Returns the blobs that have it, ascending; `None` for all.
    fn blobs(&self, lists: &HashMap<Word, Vec<i32>>) -> Among {
        match self {
            Self::Anything => None,
            Self::Lexeme(word) => Some(lists.get(word).cloned().unwrap_or_default()),
            Self::All(of) => {
                let mut known: Vec<Vec<i32>> =
                    of.iter().filter_map(|needs| needs.blobs(lists)).collect();
                known.sort_by_key(Vec::len);
                let mut known = known.into_iter();
                let mut blobs = known.next()?;
                for other in known {
                    blobs.retain(|blob| other.binary_search(blob).is_ok());
                }
                Some(blobs)
            }
            Self::Any(of) => {
                let mut blobs = Vec::new();
                for needs in of {
                    blobs.extend(needs.blobs(lists)?);
                }
                blobs.sort_unstable();
                blobs.dedup();
                Some(blobs)
            }
        }
    }
}

/// The rest of a `tsquery`.
struct Reader<'q>(&'q str);

impl Reader<'_> {
    fn eat(&mut self, sign: char) -> bool {
        let rest = self.0.trim_start().strip_prefix(sign);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn any(&mut self) -> Needs {
        let mut of = vec![self.all()];
        while self.eat('|') {
            of.push(self.all());
        }
        Needs::any(of)
    }

    fn all(&mut self) -> Needs {
        let mut of = vec![self.one()];
        loop {
            // One beside the other: <->, or <2> across a stop word.
            if self.eat('<') {
                self.0 = self.0.split_once('>').map_or("", |(_, rest)| rest);
            } else if !self.eat('&') {
                return Needs::all(of);
            }
            of.push(self.one());
        }
    }

    fn one(&mut self) -> Needs {
        if self.eat('!') {
            self.one();
            return Needs::Anything;
        }
        if self.eat('(') {
            let needs = self.any();
            self.eat(')');
            return needs;
        }
        if !self.eat('\'') {
            return Needs::Anything;
        }
        let mut lexeme = String::new();
        let mut chars = self.0.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let is_doubled = chars.peek().is_some_and(|(_, next)| *next == c);
            match c {
                '\'' if !is_doubled => {
                    self.0 = &self.0[at + 1..];
                    return Needs::Lexeme(Word::of(&lexeme));
                }
                '\'' | '\\' if is_doubled => _ = chars.next(),
                _ => {}
            }
            lexeme.push(c);
        }
        self.0 = "";
        Needs::Anything
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexeme(text: &str) -> Needs {
        Needs::Lexeme(Word::of(text))
    }

    #[test]
    fn a_query_needs_its_lexemes() {
        let all = |of: &[&str]| Needs::All(of.iter().map(|text| lexeme(text)).collect());
        for (query, needs) in [
            ("'retri'", lexeme("retri")),
            ("'configur' & 'retri'", all(&["configur", "retri"])),
            ("'a' <-> 'b' <2> 'c'", all(&["a", "b", "c"])),
            ("'a' & !'b'", lexeme("a")),
            ("'a' & !( 'b' <-> 'c' )", lexeme("a")),
            ("'a' | 'b' & 'c'", Needs::Any(vec![lexeme("a"), all(&["b", "c"])])),
            ("( 'a' | 'b' ) & 'it''s\\\\'", {
                Needs::All(vec![Needs::Any(vec![lexeme("a"), lexeme("b")]), lexeme("it's\\")])
            }),
            ("'a' | !'b'", Needs::Anything),
            ("'a' & 'open", lexeme("a")),
            ("", Needs::Anything),
            // Only over-matching is right for what Postgres does not write today.
            ("'a':*", Needs::Anything),
        ] {
            assert_eq!(Needs::of(query), needs, "{query}");
        }
    }

    #[test]
    fn blobs_are_those_of_the_lists() {
        let lists: HashMap<Word, Vec<i32>> =
            [("a", vec![1, 2, 3, 9]), ("b", vec![2, 9]), ("c", vec![4])]
                .map(|(text, blobs)| (Word::of(text), blobs))
                .into();
        for (query, blobs) in [
            ("'a' & 'b'", Some(vec![2, 9])),
            ("'b' | 'c'", Some(vec![2, 4, 9])),
            ("'a' & !'b'", Some(vec![1, 2, 3, 9])),
            ("'a' & ( 'c' | 'b' )", Some(vec![2, 9])),
            ("'a' & 'd'", Some(vec![])),
            ("!'a'", None),
        ] {
            assert_eq!(Needs::of(query).blobs(&lists), blobs, "{query}");
        }
    }
}
