//! The queries of the benchmarks.

/// A query, which can be written for each engine.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// Its regular expression.
    pub regex: &'static str,
    /// The rest of the query, in codesearch's language.
    pub more: &'static str,
    pub kind: Kind,
    /// Its class; empty if it has none.
    pub class: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of the nine patterns of the reference experiment.
    Reference,
    /// A pattern that a trigram index can answer.
    Indexable,
    /// A pattern that contains no trigram.
    Scan,
    /// Several words, all of which must be in a file: a query for search engines.
    Words,
    /// A query for codesearch only.
    Ours,
}

const fn of(regex: &'static str, kind: Kind) -> Query {
    Query { regex, more: "", kind, class: "" }
}

const fn ours(regex: &'static str, more: &'static str) -> Query {
    Query { regex, more, kind: Kind::Ours, class: "" }
}

const fn words(first: &'static str, more: &'static str) -> Query {
    Query { regex: first, more, kind: Kind::Words, class: "" }
}

/// Queries of several words, some restricted to certain files.
pub const WORDS: &[Query] = &[
    words("mutex", "deadlock"),
    words("static", "int"),
    words("public", "class"),
    words("parse", "json yaml"),
    words("error", "timeout retry"),
    words("import", "numpy"),
    words("func", "error"),
    words("class", "self def"),
    words("TODO", "remove"),
    words("return", "nil err"),
    words("async", "await"),
    words("unique_ptr", "override"),
    words("printf", "malloc free"),
    words("http", "server listen"),
    words("json", "parser"),
    words("select", "from where"),
    words("test", "assert"),
    words("var", "const function"),
    words("deadlock", "zqxjkvbw"),
    words("parse", "(json or yaml)"),
    words("mutex", "-deadlock"),
    words("mutex", r"deadlock file:\.c$"),
    words("func", r"error file:\.go$"),
    words("func", "error lang:go"),
    words("unwrap", "lang:rust"),
    words("class", "lang:java -file:test"),
    words("import", "numpy lang:python"),
    words("assert", "file:test"),
];

/// Every query. The first nine are those of the reference experiment, in its order.
pub const QUERIES: &[Query] = &[
    of("var", Kind::Reference),
    of("error", Kind::Reference),
    of("123456789", Kind::Reference),
    of(r"fmt\.Error", Kind::Reference),
    of(r"fmt\.Println", Kind::Reference),
    of("bytes.Buffer", Kind::Reference),
    of(r"fmt\.Print.*", Kind::Reference),
    of("ac8ac5d63b66b83b90ce41a2d4061635", Kind::Reference),
    of("d97f1d3ff91543[e-f]49.8b07517548877", Kind::Reference),
    // Rare and common literals.
    of("deadlock", Kind::Indexable),
    of("getElementById", Kind::Indexable),
    of("TODO", Kind::Indexable),
    of("static int", Kind::Indexable),
    of("public class", Kind::Indexable),
    // Anchored.
    of("^package main", Kind::Indexable),
    of(r"^#include <linux/module\.h>$", Kind::Indexable),
    // Alternation.
    of("TODO|FIXME|XXX", Kind::Indexable),
    of("(read|write)_lock_irqsave", Kind::Indexable),
    // Any case.
    of("(?i)deadlock", Kind::Indexable),
    of("(?i)http2?server", Kind::Indexable),
    // Punctuation.
    of(r"\.unwrap\(\)\?;", Kind::Indexable),
    of("std::unique_ptr<", Kind::Indexable),
    of(r"if err != nil \{", Kind::Indexable),
    // Long text.
    of("Licensed under the Apache License, Version 2.0", Kind::Indexable),
    of("THE SOFTWARE IS PROVIDED .AS IS., WITHOUT WARRANTY OF ANY KIND", Kind::Indexable),
    // Regular expressions.
    of(r"func \w+\(ctx context\.Context", Kind::Indexable),
    of(r"[a-z]+_alloc\(", Kind::Indexable),
    of(r"\bxyz\d+", Kind::Indexable),
    // No match.
    of("zqxjkvbw", Kind::Indexable),
    of("frobnicate_the_[a-z]+_widget", Kind::Indexable),
    // No trigram.
    of("=>", Kind::Scan),
    of(r"\d\d:\d\d:\d\d", Kind::Scan),
    // Several terms.
    ours("mutex", "deadlock"),
    ours("func", "-file:test lang:go"),
    ours("parse", "(json or yaml) -vendor"),
    // One repository, one kind of path.
    ours("error", "repo:kubernetes"),
    ours("main", r"file:\.rs$"),
    ours("TODO", r"file:test lang:python"),
    ours("", r"file:(README|readme)\.md$"),
    // Over several lines.
    ours(r"return nil\n\}\n\nfunc", ""),
    ours(r"(?s)struct \w+ \{.{0,40}mutex", ""),
];

impl Query {
    /// Returns the query in codesearch's language.
    pub fn codesearch(&self) -> String {
        let regex = if self.regex.is_empty() { String::new() } else { quoted(self.regex, 1) };
        format!("{regex} {} case:yes", self.more).trim().to_owned()
    }

    /// Returns the query in Zoekt's language; within quotes, a backslash is an escape there.
    pub fn zoekt(&self) -> String {
        // In Zoekt the field overrides the flag.
        match self.regex.strip_prefix("(?i)") {
            Some(regex) => format!("{} case:no", quoted(regex, 2)),
            // zoekt-index makes one repository of the whole corpus.
            None => {
                let more = self.more.replace("repo:", "file:^[^/]*/[^/]*");
                format!("{} {more} case:yes", quoted(self.regex, 2))
            }
        }
    }

    /// Returns whether every engine can answer it.
    pub fn is_for_all(&self) -> bool {
        !matches!(self.kind, Kind::Ours | Kind::Words)
    }

    /// Returns its name in a table.
    pub fn name(&self) -> String {
        format!("{} {}", self.regex.replace('\n', r"\n"), self.more).trim().to_owned()
    }
}

/// Returns a regular expression as one term, quoted if necessary; within quotes, each backslash is
/// written `backslashes` times.
fn quoted(regex: &str, backslashes: usize) -> String {
    let plain = !regex.contains([' ', '"', '(', ')', '|', ':', '-', '#']);
    if plain {
        return regex.to_owned();
    }
    let regex = regex.replace('\\', &"\\".repeat(backslashes)).replace('"', "\\\"");
    format!("\"{regex}\"")
}
