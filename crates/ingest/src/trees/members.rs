//! Counts which trees have which rows.

use std::collections::HashMap;

use store::TreeFile;

/// The members of sets, all different, and the number of them that each row is to have.
pub(super) struct Members {
    pub(super) members: Vec<Vec<u8>>,
    pub(super) of: Vec<Option<u32>>,
}

impl Members {
    /// Counts the trees of each row. `bits` are those of the trees; `equal` has, for each tree, a bit for each row of the
    /// main tree that it has, too; `others` are rows that the main tree lacks, each with the place of a tree that has it.
    pub(super) fn of(
        files: &[TreeFile],
        bits: &[usize],
        equal: &[&[u64]],
        others: &[(usize, usize)],
    ) -> Self {
        let mut interned = Interned::default();
        let all = bitmap(bits.iter().copied());
        let all = (!bits.is_empty()).then(|| interned.number(all));
        let mut of: Vec<Option<u32>> =
            files.iter().map(|file| all.filter(|_| file.in_main)).collect();
        // Most trees have most rows.
        let main: Vec<u64> = files
            .chunks(64)
            .map(|files| {
                let bits = files.iter().enumerate().map(|(at, file)| u64::from(file.in_main) << at);
                bits.sum()
            })
            .collect();
        let mut lacks: HashMap<usize, Vec<usize>> = HashMap::new();
        for (tree, equal) in equal.iter().enumerate() {
            for (word, (main, equal)) in main.iter().zip(*equal).enumerate() {
                let mut rest = main & !equal;
                while rest != 0 {
                    let at = 64 * word + rest.trailing_zeros() as usize;
                    lacks.entry(at).or_default().push(tree);
                    rest &= rest - 1;
                }
            }
        }
        for (at, lacks) in lacks {
            let mut lacking = lacks.into_iter().peekable();
            let has = (0..bits.len()).filter(|tree| lacking.next_if_eq(tree).is_none());
            let members = bitmap(has.map(|tree| bits[tree]));
            of[at] = (!members.is_empty()).then(|| interned.number(members));
        }
        let mut have: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, tree) in others {
            have.entry(*at).or_default().push(bits[*tree]);
        }
        for (at, bits) in have {
            of[at] = Some(interned.number(bitmap(bits.into_iter())));
        }
        interned.trim(&mut of);
        Self { members: interned.all, of }
    }
}

/// Returns a bitmap as `tree_sets.members` has it, without zeros at its end.
fn bitmap(bits: impl Iterator<Item = usize>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for bit in bits {
        if bytes.len() <= bit / 8 {
            bytes.resize(bit / 8 + 1, 0);
        }
        bytes[bit / 8] |= 1 << (bit % 8);
    }
    bytes
}

#[derive(Default)]
struct Interned {
    numbers: HashMap<Vec<u8>, u32>,
    all: Vec<Vec<u8>>,
}

impl Interned {
    fn number(&mut self, members: Vec<u8>) -> u32 {
        *self.numbers.entry(members).or_insert_with_key(|members| {
            self.all.push(members.clone());
            self.all.len() as u32 - 1
        })
    }

    /// Drops the members that no row has.
    fn trim(&mut self, of: &mut [Option<u32>]) {
        let mut used = vec![false; self.all.len()];
        of.iter().flatten().for_each(|number| used[*number as usize] = true);
        let mut next = 0;
        let numbers: Vec<u32> = used
            .iter()
            .map(|used| {
                let number = next;
                next += u32::from(*used);
                number
            })
            .collect();
        for number in of.iter_mut().flatten() {
            *number = numbers[*number as usize];
        }
        let mut used = used.into_iter();
        self.all.retain(|_| used.next() == Some(true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::TreeContents;

    fn file(path: &str, in_main: bool) -> TreeFile {
        let (reason, rule) = ("binary".to_owned(), None);
        let contents = TreeContents::LeftOut { reason, rule, bytes: 0, fingerprint: 0 };
        TreeFile { in_main, ..TreeFile::new(path.to_owned(), contents) }
    }

    #[test]
    fn equal_members_are_one_set() {
        // Rows: in all; in main alone; in the second tree alone; in main and the second tree.
        let files = [file("a", true), file("b", true), file("c", false), file("d", true)];
        let equal: [&[u64]; 2] = [&[0b0001], &[0b1001]];
        let Members { members, of } = Members::of(&files, &[0, 9], &equal, &[(2, 1)]);
        let named = |at: usize| of[at].map(|number| &*members[number as usize]);
        assert_eq!(named(0), Some(&[1, 2][..]));
        assert_eq!(named(1), None);
        assert_eq!((named(2), named(3)), (Some(&[0, 2][..]), Some(&[0, 2][..])));
        assert_eq!(members.len(), 2);
    }

    #[test]
    fn without_trees_there_are_no_sets() {
        let Members { members, of } =
            Members::of(&[file("a", true), file("b", false)], &[], &[], &[]);
        assert!(members.is_empty());
        assert_eq!(of, [None, None]);
    }
}
