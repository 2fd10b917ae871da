//! A set of small numbers.

/// A set of numbers below a bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// Creates an empty set for numbers below `bound`.
    pub(super) fn below(bound: usize) -> Self {
        Self(vec![0; bound.div_ceil(64)])
    }

    /// Adds a number; one beyond the bound is not added.
    pub(super) fn insert(&mut self, number: usize) {
        if let Some(word) = self.0.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
    }

    pub(super) fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Keeps the numbers that another set of the same bound has, too.
    pub(super) fn intersect(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
    }

    /// Adds the numbers of another set of the same bound.
    pub(super) fn unite(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the numbers, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    at * 64 + bit
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_numbers() {
        let of = |numbers: &[usize]| {
            let mut bits = Bits::below(200);
            for number in numbers {
                bits.insert(*number);
            }
            bits
        };
        let mut some = of(&[0, 63, 64, 199, 256]);
        assert_eq!(some.iter().collect::<Vec<_>>(), [0, 63, 64, 199]);
        assert!(some.contains(64) && !some.contains(65) && !some.contains(1000));
        some.unite(&of(&[65]));
        some.intersect(&of(&[64, 65, 66]));
        assert_eq!((some.iter().collect::<Vec<_>>(), some.count()), (vec![64, 65], 2));
    }
}
