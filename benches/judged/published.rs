//! What others published or measured for the whole set of `MinishLab/semble` or a part of it, for comparison: nDCG@10 of
//! questions that are restricted to their repository.

use std::fmt::Write as _;

/// The whole name of a way to find files; all, architecture, semantic, symbol.
type Row = (&'static str, [Option<f64>; 4]);

/// On the 937 queries over 47 repositories that could be checked out.
const ALL: [Row; 10] = [
    ("relevance, all words must match", [Some(0.296), Some(0.125), Some(0.194), Some(0.949)]),
    ("relevance, keywords joined by or", [Some(0.693), Some(0.633), Some(0.648), Some(0.953)]),
    ("prototype, BM25 by chunk alone", [Some(0.689), Some(0.660), Some(0.697), Some(0.709)]),
    ("prototype, points summed over words", [Some(0.807), Some(0.759), Some(0.788), Some(0.953)]),
    (
        "prototype, all signals, weights of the other half",
        [Some(0.845), Some(0.809), Some(0.823), Some(0.979)],
    ),
    ("semble, lexical (published)", [Some(0.829), Some(0.769), Some(0.819), Some(0.964)]),
    ("semble, static vectors (published)", [Some(0.853), Some(0.807), Some(0.843), Some(0.964)]),
    (
        "transformer of 137M and BM25 (published)",
        [Some(0.856), Some(0.802), Some(0.854), Some(0.952)],
    ),
    ("ColGREP (published)", [Some(0.682), None, None, None]),
    ("ripgrep (published)", [Some(0.126), None, None, None]),
];

/// On the 477 queries over 24 repositories that are usually given.
const GIVEN: [Row; 4] = [
    ("relevance, all words must match", [Some(0.276), None, None, None]),
    ("relevance, keywords joined by or", [Some(0.669), None, None, None]),
    ("semble, lexical", [Some(0.824), None, None, None]),
    ("prototype, all signals", [Some(0.82), None, None, None]),
];

/// Returns the table.
pub(crate) fn table() -> String {
    let mut text = format!(
        "\nMeasured before, by repository, nDCG@10{:25}{:>8}{:>14}{:>10}{:>8}\n",
        "", "all", "architecture", "semantic", "symbol"
    );
    let sets = [("937 queries of 47 repositories", &ALL[..]), ("477 queries of 24", &GIVEN[..])];
    for (set, rows) in sets {
        let _ = writeln!(text, "{set}");
        for (name, values) in rows {
            let value = |of: Option<f64>| of.map_or("-".to_owned(), |of| format!("{of:.3}"));
            let [all, architecture, semantic, symbol] = values.map(value);
            let _ =
                writeln!(text, "  {name:<62}{all:>8}{architecture:>14}{semantic:>10}{symbol:>8}");
        }
    }
    text
}
