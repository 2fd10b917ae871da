use std::array;

use super::paths::{of_any, of_ascii};
use super::*;
use crate::query::PathQuery;
use crate::random::Random;

fn costs(typed: &str, path: &str) -> (u16, String) {
    let mut scorer = Scorer::new(&PathQuery::new(typed).unwrap().parts);
    let [cost] = scorer.costs([Some(path)], |_, _| u16::MAX);
    let mut marked = Vec::new();
    scorer.mark(path, &mut marked);
    let shown = path
        .char_indices()
        .map(|(at, letter)| if marked.contains(&at) { letter } else { '.' })
        .collect();
    (cost.unwrap(), shown)
}

#[test]
fn costs_and_marks() {
    for (typed, path, cost, marked) in [
        ("main.go", "src/main.go", 0, "....main.go"),
        ("MAIN", "src/main.go", 1, "....main..."),
        ("src/main.go", "src/main.go", 2, "src/main.go"),
        ("srch/candidats", "a/search/candidates.rs", 11, "..s..rch/candidat.s..."),
        ("mian.go", "main.go", 5, "main.go"),
        ("maain.go", "main.go", 4, "main.go"),
        ("mein.go", "main.go", 8, "m.in.go"),
        ("amain.go", "main.go", 8, "main.go"),
        ("man.go", "main.go", 3, "ma.n.go"),
        ("fmtprint", "src/fmt/print.go", 4, "....fmt.print..."),
        ("sc", "search/candidates.rs", 5, "s......c............"),
        ("read-me", "read_me.md", 4, "read.me..."),
        ("größe", "maß/größe.txt", 1, "....größe...."),
        ("grosse", "größe.txt", 5, "größe...."),
        ("utl.c", "mm/util.c", 3, "...ut.l.c"),
        ("utl.c", "utlock.c", 4, "utl....c"),
        ("hsr", "a/http_server_routes.rs", 1, "..h....s......r........"),
        ("HSR", "a/HTTPServerRoutes.rs", 1, "..H...S.....R........"),
        ("hsr", "a/http/server_routes.rs", 6, "..h....s......r........"),
    ] {
        let (got, shown) = costs(typed, path);
        assert_eq!((got, &*shown), (cost, marked), "{typed} in {path}");
    }
}

#[test]
fn a_bound_leaves_out_what_costs_more() {
    let mut scorer = Scorer::<1>::new(&PathQuery::new("mian.go").unwrap().parts);
    assert_eq!(scorer.costs([Some("main.go")], |_, _| 4), [None]);
    assert_eq!(scorer.costs([Some("main.go")], |_, _| 5), [Some(5)]);
    assert_eq!(scorer.costs([Some("")], |_, _| 100), [None]);
    assert_eq!(scorer.costs([None], |_, _| u16::MAX), [None]);
}

#[test]
fn the_longest_costs_are_below_never() {
    let typed = PathQuery::new(&"é-".repeat(128)).unwrap();
    let mut scorer = Scorer::<2>::new(&typed.parts);
    let (long, other) = ("aB".repeat(1000), "日".repeat(1000));
    let costs = scorer.costs([Some(&long), Some(&other)], |_, _| u16::MAX);
    assert!(costs.iter().all(|cost| cost.is_some_and(|cost| cost < 2100)), "{costs:?}");
}

#[test]
fn in_a_batch_paths_cost_what_they_cost_alone() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..150 {
        let letters = ["abAB1-_/.", "aéÉb/.日本Σß-", "aabb"][round % 3];
        let parts =
            PathQuery::new(&random.text(&format!("{letters} "), 14)).unwrap_or_default().parts;
        let paths: [Option<String>; 8] = array::from_fn(|lane| {
            let letters = if lane % 2 == 0 { letters } else { "abcABC12/_.x" };
            let most = [3, 20, 60, 60, 60, 1100][random.below(6)];
            (random.below(8) > 0).then(|| random.text(letters, most))
        });
        let bounds: [u16; 8] = array::from_fn(|_| [0, 5, 12, 25, u16::MAX][random.below(5)]);
        let most = |lane: usize, part: usize| bounds[lane].saturating_add(part as u16);
        let mut alone = Scorer::<1>::new(&parts);
        let expected: [Option<u16>; 8] = array::from_fn(|lane| {
            alone.costs([paths[lane].as_deref()], |_, part| most(lane, part))[0]
        });
        let paths = paths.each_ref().map(Option::as_deref);
        assert_eq!(Scorer::<8>::new(&parts).costs(paths, most), expected, "{parts:?} {paths:?}");
    }
}

#[test]
fn letters_of_ascii_have_the_roles_that_any_have() {
    let mut random = Random(7);
    for _ in 0..500 {
        let text = random.text("abAB12/-_. ", 12);
        let name = text.rfind('/').map_or(0, |at| at + 1);
        let any: Vec<_> = of_any(&text, name).collect();
        assert_eq!(of_ascii(text.as_bytes(), name).collect::<Vec<_>>(), any, "{text}");
    }
}
