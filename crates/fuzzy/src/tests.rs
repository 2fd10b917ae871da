//! Tests that compare the index with scoring every path.

use std::ops::Range;

use super::index::PathIndex;
use super::letters::fold;
use super::lookup::{Lookup, Variant};
use super::nearest::{NearestPaths, Scored};
use super::query::{PathQuery, QueryPart};
use super::random::Random;
use super::score::Scorer;

/// Paths scored at once.
const LANES: usize = 8;

const WORDS: &str =
    "src search Candidates shard http_server Main a größe test index fmt print 日本 v2";
const ENDS: [&str; 4] = [".rs", ".go", "_test.go", ""];

/// Returns sorted paths of a few words. Some names and folders occur often.
fn some_paths(count: usize) -> Vec<String> {
    let mut rng = Random(7);
    let words: Vec<&str> = WORDS.split(' ').collect();
    let mut paths: Vec<String> = (0..count)
        .map(|_| {
            let words: Vec<&str> = (0..=rng.below(4)).map(|_| words[rng.below(14)]).collect();
            let number = if rng.below(3) == 0 { String::new() } else { rng.below(50).to_string() };
            format!("{}{number}{}", words.join("/"), ENDS[rng.below(4)])
        })
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Returns queries that people might type for a path, with and without errors.
fn typed_for(path: &str, rng: &mut Random) -> Vec<String> {
    let letters: Vec<char> = path.chars().collect();
    let (from, at) = (rng.below(letters.len()), rng.below(letters.len()));
    let piece: String = letters[from..].iter().take(2 + rng.below(8)).collect();
    let gaps: String = letters.iter().filter(|_| rng.below(3) > 0).collect();
    let mut swapped = letters.clone();
    swapped.swap(at, at.saturating_sub(1));
    let mut dropped = letters.clone();
    dropped.remove(at);
    let name = path.rsplit('/').next().unwrap_or(path);
    let parts = format!("{name} {}", &path[..path.find('/').unwrap_or(0)]);
    vec![name.to_owned(), piece, gaps, swapped.iter().collect(), dropped.iter().collect(), parts]
}

/// Returns whether a text contains letters in order.
fn in_order(part: &QueryPart, path: &str) -> bool {
    let mut rest = path.chars().map(fold);
    part.letters.iter().all(|letter| rest.any(|other| other == *letter))
}

/// Scores every path. Returns all matches and all other near paths, each in the order of the paths.
fn by_hand(text: &str, paths: &[String]) -> (Vec<Scored>, Vec<Scored>) {
    let query = PathQuery::new(text).unwrap();
    let (mut matches, mut others) = (Vec::new(), Vec::new());
    let alone = |part: &QueryPart| Scorer::<LANES>::new(std::slice::from_ref(part));
    let mut scorers: Vec<Scorer<LANES>> = query.parts.iter().map(alone).collect();
    let costs: Vec<Vec<Option<u16>>> = scorers
        .iter_mut()
        .map(|scorer| {
            let batches = paths.chunks(LANES).flat_map(|some| {
                let lanes = std::array::from_fn(|lane| some.get(lane).map(String::as_str));
                scorer.costs(lanes, |_, _| u16::MAX)
            });
            batches.collect()
        })
        .collect();
    for (file, path) in (0..).zip(paths) {
        let (mut cost, mut holds, mut near) = (0, true, true);
        for (part, costs) in query.parts.iter().zip(&costs) {
            let own = costs[file as usize].unwrap_or(u16::MAX);
            let all = in_order(part, path);
            holds &= all;
            near &= all || own <= part.near();
            cost = own.saturating_add(cost);
        }
        let one = (cost, path.len() as u32, file);
        if holds {
            matches.push(one);
        } else if near {
            others.push(one);
        }
    }
    (matches, others)
}

/// Paths with their index.
struct Sample {
    paths: Vec<String>,
    index: PathIndex,
}

impl Sample {
    fn new(paths: Vec<String>) -> Self {
        let index = PathIndex::new(paths.len(), |file| &paths[file as usize]);
        Self { paths, index }
    }

    /// Returns a lookup in all paths.
    fn lookup<'a>(
        &'a self,
        limit: usize,
        candidates: usize,
    ) -> Lookup<'a, impl Fn(u32) -> &'a str + Sync, impl Fn(u32) -> bool + Sync> {
        let path = |file: u32| self.paths[file as usize].as_str();
        Lookup { path, repo: &|_| "", wanted: |_| true, limit, candidates }
    }

    fn nearest(&self, text: &str, limit: usize, candidates: usize) -> NearestPaths {
        let query = PathQuery::new(text).unwrap();
        let all = 0..self.paths.len() as u32;
        let variants = variant(&query, std::slice::from_ref(&all));
        self.index.lookup(&query, &variants, &self.lookup(limit, candidates))
    }
}

/// Returns the query itself as the only variant, for some paths.
fn variant(query: &PathQuery, among: &[Range<u32>]) -> [Variant; 1] {
    [Variant { query: query.clone(), among: among.to_vec(), in_repo: false }]
}

#[test]
fn with_room_for_all_candidates_it_is_what_scoring_every_path_gives() {
    let sample = Sample::new(some_paths(400));
    let paths = &sample.paths;
    let mut rng = Random(11);
    let mut forgiven = 0;
    for _ in 0..30 {
        let path = &paths[rng.below(paths.len())];
        for text in typed_for(path, &mut rng) {
            let near = sample.nearest(&text, 400, 400);
            let (matches, others) = by_hand(&text, paths);
            let found: Vec<Scored> = near
                .best
                .iter()
                .map(|(file, cost)| (*cost, paths[*file as usize].len() as u32, *file))
                .collect();
            assert!(found.is_sorted(), "{text}");
            assert_eq!(near.found, found.len(), "{text}");
            // All matches are there with their costs, and only near paths.
            for one in &matches {
                assert!(found.binary_search(one).is_ok(), "{text}: {}", paths[one.2 as usize]);
            }
            for one in &found {
                assert!(matches.contains(one) || others.contains(one), "{text}: {one:?}");
            }
            forgiven += found.len() - matches.len();
        }
    }
    assert!(forgiven > 0);
}

#[test]
fn queries_longer_than_a_number_has_bits_are_answered_alike() {
    let mut rng = Random(23);
    // Queries of more than 64 bytes, and of more than 510.
    for (words, some) in [(&["größe", "index", "fmt", "Main"][..], 30), (&["日本", "日"][..], 200)]
    {
        let paths: Vec<String> = (0..20)
            .map(|_| {
                let name: Vec<&str> = (0..some).map(|_| words[rng.below(words.len())]).collect();
                format!("fmt/{}.rs", name.concat())
            })
            .collect();
        let sample = Sample::new(paths);
        for path in sample.paths.iter().take(4) {
            // One query has more gaps than errors are allowed; the other begins in the folder.
            let letters: Vec<char> = path["fmt/".len()..].chars().collect();
            let gaps = letters.chunks(3).flat_map(|three| &three[..three.len().min(2)]);
            let gaps: String = gaps.take(200).collect();
            let name: String = letters.iter().take(200).collect();
            for text in [gaps, format!("fm{name}")] {
                let near = sample.nearest(&text, 20, 20);
                let (mut matches, _) = by_hand(&text, &sample.paths);
                matches.sort_unstable();
                assert!(!matches.is_empty() && near.found >= matches.len(), "{text}");
                for (cost, _, file) in matches {
                    assert!(near.best.contains(&(file, cost)), "{text}");
                }
            }
        }
    }
}

#[test]
fn with_little_room_matches_are_counted_and_the_name_that_was_typed_is_first() {
    let sample = Sample::new(some_paths(400));
    let paths = &sample.paths;
    let mut rng = Random(13);
    for _ in 0..40 {
        let path = &paths[rng.below(paths.len())];
        let name = path.rsplit('/').next().unwrap_or(path);
        let near = sample.nearest(name, 40, 40);
        let (mut matches, _) = by_hand(name, paths);
        matches.sort_unstable();
        let (file, cost) = near.best[0];
        assert_eq!((cost, file), (0, matches[0].2), "{name}");
        assert!(near.found >= matches.len() && near.found <= matches.len() + 40, "{name}");
        assert_eq!(near.best.len(), 40.min(near.found), "{name}");
    }
}

#[test]
fn a_filter_gives_what_an_index_of_those_files_would() {
    let sample = Sample::new(some_paths(1600));
    let paths = &sample.paths;
    let path = |file: u32| paths[file as usize].as_str();
    let wanted = |file: u32| file.is_multiple_of(3);
    let among = [100..400_u32, 700..1400];
    let chosen: Vec<u32> = among.iter().cloned().flatten().filter(|file| wanted(*file)).collect();
    let few = PathIndex::new(chosen.len(), |at| path(chosen[at as usize]));
    let mut rng = Random(17);
    for _ in 0..30 {
        let from = &paths[rng.below(paths.len())];
        for text in typed_for(from, &mut rng) {
            let query = PathQuery::new(&text).unwrap();
            let (limit, candidates) = ([10, 60][rng.below(2)], 25);
            let repo = &|_| "";
            let filtered = sample.index.lookup(
                &query,
                &variant(&query, &among),
                &Lookup { path, repo, wanted, limit, candidates },
            );
            let own = 0..chosen.len() as u32;
            let alone = few.lookup(
                &query,
                &variant(&query, std::slice::from_ref(&own)),
                &Lookup {
                    path: |at| path(chosen[at as usize]),
                    repo,
                    wanted: |_| true,
                    limit,
                    candidates,
                },
            );
            let numbers: Vec<(u32, u16)> =
                alone.best.iter().map(|(at, cost)| (chosen[*at as usize], *cost)).collect();
            assert_eq!(filtered.best, numbers, "{text}");
            assert_eq!(filtered.found, alone.found, "{text}");
        }
    }
}

#[test]
fn likely_names_are_candidates_among_many_that_hold_as_much() {
    let many = (0..200).map(|n| format!("xons/xw{n}/xers.c"));
    let likely = ["a/b/OWNERS", "a/open_new_window_every_round.rs"].map(str::to_owned);
    let mut paths: Vec<String> = many.chain(likely).collect();
    paths.sort_unstable();
    let sample = Sample::new(paths);
    for (text, first) in [("onwers", "OWNERS"), ("onwer", "open_new_window_every_round.rs")] {
        let near = sample.nearest(text, 1, 5);
        assert!(sample.paths[near.best[0].0 as usize].ends_with(first), "{text}: {near:?}");
    }
}

#[test]
fn a_swap_within_a_long_name_leaves_one_pair_and_is_near() {
    // Of the four pairs of `cdfeg` the name contains only `cd`.
    let paths = ["abcdefghijklmnop.rs", "main.rs"];
    let index = PathIndex::new(paths.len(), |file| paths[file as usize]);
    let query = PathQuery::new("cdfeg").unwrap();
    let found = index.nearest(&query, 10, &|file| paths[file as usize]);
    assert_eq!(found.found, 1);
    assert_eq!(found.best.iter().map(|(file, _)| *file).collect::<Vec<_>>(), [0]);
}

#[test]
fn a_repository_may_be_a_folder_around_its_paths() {
    let paths: Vec<String> =
        ["kernel/fork.c", "mm/util.c", "kernel/fork.c", "linux/kernel/fork.c", "x/linux/fork.c"]
            .map(str::to_owned)
            .into();
    let sample = Sample::new(paths);
    // The first two paths belong to a repository called linux.
    let repo = |file: u32| if file < 2 { "torvalds/linux" } else { "other" };
    let query = PathQuery::new("linux/kernel/fork.c").unwrap();
    let variants = [
        Variant { query: query.clone(), among: std::iter::once(2..5).collect(), in_repo: false },
        Variant {
            query: PathQuery::new("kernel/fork.c").unwrap(),
            among: std::iter::once(0..2).collect(),
            in_repo: true,
        },
    ];
    for limit in 0..5 {
        let lookup = Lookup { repo: &repo, ..sample.lookup(limit, 10) };
        let near = sample.index.lookup(&query, &variants, &lookup);
        // At equal cost, the shorter path wins; the name of another repository does not count.
        let all = [(0, 2), (3, 2)];
        assert_eq!(near, NearestPaths { best: all[..limit.min(2)].to_vec(), found: 2 });
    }
}

#[test]
fn fewer_are_the_beginning_of_more() {
    let sample = Sample::new(some_paths(400));
    let paths = &sample.paths;
    let mut rng = Random(19);
    let mut deep = 0;
    for _ in 0..10 {
        let from = &paths[rng.below(paths.len())];
        for text in typed_for(from, &mut rng).into_iter().chain(["s".to_owned(), String::new()]) {
            let most = sample.nearest(&text, 400, 16);
            // All counted paths can be fetched, each once.
            assert_eq!(most.best.len(), most.found, "{text}");
            let mut files: Vec<u32> = most.best.iter().map(|(file, _)| *file).collect();
            files.sort_unstable();
            files.dedup();
            assert_eq!(files.len(), most.found, "{text}");
            deep += usize::from(most.found > 48);
            for limit in [0, 1, 7, 15, 16, 17, 31, 40, 100] {
                let near = sample.nearest(&text, limit, 16);
                assert_eq!(near.best, most.best[..limit.min(most.found)], "{text}, {limit}");
                assert_eq!(near.found, most.found, "{text}, {limit}");
            }
        }
    }
    assert!(deep > 10);
}

#[test]
fn an_empty_query_is_everything_the_shortest_first() {
    let paths = ["b/long.rs", "c.rs", "a.rs"].map(str::to_owned);
    let index = PathIndex::new(paths.len(), |file| &paths[file as usize]);
    let near = index.nearest(&PathQuery::default(), 2, &|file| &paths[file as usize]);
    assert_eq!(near, NearestPaths { best: vec![(1, 0), (2, 0)], found: 3 });
    assert_eq!(index.nearest(&PathQuery::default(), 0, &|_| "").best, []);
    let none = PathIndex::new(0, |_| "");
    assert_eq!(none.nearest(&PathQuery::new("x").unwrap(), 5, &|_| ""), NearestPaths::default());
}
