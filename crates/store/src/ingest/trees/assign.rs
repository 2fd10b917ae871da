//! Gives sets of trees their numbers, so that few rows of files change.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// What a row had, and what it is to have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// The set that it has now; 0 if it has none, or does not exist.
    pub(super) was: i32,
    /// The members that it is to have: a number of one of these, or `None` for no other tree than the main one.
    pub(super) members: Option<u32>,
}

/// Returns the number of the set for each of `count` memberships, of which all differ. A set of before keeps its number
/// for the members that most of its rows are to have; of two that would have equal members, the one with more rows
/// stays. 0 stands for a new set.
pub(super) fn assign(rows: impl Iterator<Item = Wanted>, count: usize) -> Vec<i32> {
    let mut shared: HashMap<(i32, u32), usize> = HashMap::new();
    for Wanted { was, members } in rows {
        if let (true, Some(members)) = (was != 0, members) {
            *shared.entry((was, members)).or_default() += 1;
        }
    }
    let mut shared: Vec<((i32, u32), usize)> = shared.into_iter().collect();
    shared.sort_by_key(|((set, members), rows)| (Reverse(*rows), *set, *members));
    let mut numbers = vec![0; count];
    let mut used = HashSet::new();
    for ((set, members), _) in shared {
        let number = &mut numbers[members as usize];
        if *number == 0 && used.insert(set) {
            *number = set;
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rows: &[(i32, u32, usize)], count: usize, expected: &[i32]) {
        let rows = rows.iter().flat_map(|(was, members, rows)| {
            std::iter::repeat_n(Wanted { was: *was, members: Some(*members) }, *rows)
        });
        assert_eq!(assign(rows, count), expected);
    }

    #[test]
    fn a_set_keeps_its_number_for_most_of_its_rows() {
        check(&[], 0, &[]);
        check(&[(0, 0, 9)], 1, &[0]);
        // It splits.
        check(&[(7, 0, 3), (7, 1, 5)], 2, &[0, 7]);
        // Two become equal.
        check(&[(7, 0, 3), (8, 0, 5)], 1, &[8]);
        // The one that loses its members to another takes others.
        check(&[(7, 0, 9), (8, 0, 5), (8, 1, 2)], 2, &[7, 8]);
        check(&[(7, 0, 4), (0, 1, 50)], 2, &[7, 0]);
    }
}
