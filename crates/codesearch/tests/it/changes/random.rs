//! Random histories: every search for changed lines equals a scan of what git prints, and every printed diff applies.

use std::fs;

use super::{check_lines, check_patch};
use crate::harness::Fixture;

/// A generator of numbers that is the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

const WORDS: [&str; 12] = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "}",
    "{",
    "",
    "return",
    "let x = 1;",
    "// note",
    "Éclair",
    "\tend",
];

/// Returns some lines; some of them are often repeated, as in code.
fn text(random: &mut Random, lines: usize) -> Vec<String> {
    (0..lines)
        .map(|_| {
            let word = WORDS[random.below(WORDS.len())];
            if random.below(3) == 0 {
                word.to_owned()
            } else {
                format!("{word} {}", random.below(90))
            }
        })
        .collect()
}

/// Changes a clone in some random ways.
fn change(fixture: &Fixture, random: &mut Random, turn: usize) {
    let folder = fixture.path().join("r");
    for _ in 0..=random.below(4) {
        let path = folder.join(format!("d{}/f{}.txt", random.below(2), random.below(6)));
        let known = fs::read_to_string(&path).ok();
        match (random.below(8), known) {
            (0, Some(_)) => fs::remove_file(&path).unwrap(),
            (1, Some(_)) => {
                let other =
                    folder.join(format!("d{}/g{turn}-{}.txt", random.below(2), random.below(9)));
                fs::rename(&path, other).unwrap();
            }
            (2, Some(text)) => fs::write(&path, text.trim_end_matches('\n')).unwrap(),
            (3, Some(text)) => fs::write(&path, text.replace('\n', "\r\n")).unwrap(),
            (_, Some(old)) => {
                let mut lines: Vec<String> = old.split_inclusive('\n').map(str::to_owned).collect();
                for _ in 0..=random.below(5) {
                    let at = random.below(lines.len() + 1);
                    let upto = (at + random.below(4)).min(lines.len());
                    let count = random.below(4);
                    let new = text(random, count).into_iter().map(|line| line + "\n");
                    lines.splice(at..upto, new);
                }
                fs::write(&path, lines.concat()).unwrap();
            }
            (_, None) => {
                let count = random.below(40);
                let lines = text(random, count);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, lines.join("\n") + if random.below(4) == 0 { "" } else { "\n" })
                    .unwrap();
            }
        }
    }
}

#[test]
fn random_histories_are_those_of_git() {
    let fixture = Fixture::new();
    let mut random = Random(47);
    fixture.write("r/d0/f0.txt", "alpha\nbeta\n");
    let mut commits = vec![fixture.commit("r", "first")];
    for turn in 0..14 {
        if turn % 5 == 3 {
            let from = commits[random.below(commits.len())].clone();
            fixture.git("r", &["checkout", "--quiet", "-B", "side", &from]);
            fixture.write(&format!("r/side{turn}.txt"), text(&mut random, 9).join("\n"));
            commits.push(fixture.commit("r", "side"));
            fixture.git("r", &["checkout", "--quiet", "-"]);
            fixture.git("r", &["merge", "--quiet", "--no-edit", "-X", "ours", "side"]);
            commits.push(fixture.git("r", &["rev-parse", "HEAD"]));
        }
        change(&fixture, &mut random, turn);
        commits.push(fixture.commit("r", "change"));
    }
    fixture.ingest();
    let mut pairs: Vec<(String, String)> =
        commits.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    for _ in 0..10 {
        let mut one = || commits[random.below(commits.len())].clone();
        pairs.push((one(), one()));
    }
    let mut lines = 0;
    for (at, (old, new)) in pairs.iter().enumerate() {
        check_patch(&fixture, "r", old, new);
        let pattern = ["alpha|x = 1", "^$", "a 1", "\\w+ \\d+$", "[{}]", ".*"][at % 6];
        lines += check_lines(&fixture, "r", &format!("{old}..{new}"), pattern);
    }
    assert!(lines > 100, "{lines}");
}
