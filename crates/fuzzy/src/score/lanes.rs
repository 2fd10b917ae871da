//! Vectors of small numbers, one in each lane of a SIMD register.

use std::ops::Add;

/// A number in each lane. Each operation is a loop over all lanes without branches, which the compiler turns
/// into one instruction for as many lanes as a register has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lanes<const LANES: usize>(pub(super) [i16; LANES]);

impl<const LANES: usize> Lanes<LANES> {
    pub(super) const fn all(number: i16) -> Self {
        Self([number; LANES])
    }

    #[inline]
    fn with(mut self, other: Self, both: impl Fn(i16, i16) -> i16) -> Self {
        // Not a loop over a range, which would take most of the time in unoptimised tests.
        let mut lane = 0;
        while lane < LANES {
            self.0[lane] = both(self.0[lane], other.0[lane]);
            lane += 1;
        }
        self
    }

    #[inline]
    pub(super) fn min(self, other: Self) -> Self {
        self.with(other, |one, other| if one < other { one } else { other })
    }

    /// Returns a mask: all bits where the numbers are equal, none elsewhere.
    #[inline]
    pub(super) fn equal(self, other: Self) -> Self {
        self.with(other, |one, other| if one == other { -1 } else { 0 })
    }

    /// Returns a mask: all bits where `self` is greater, none elsewhere.
    #[inline]
    pub(super) fn above(self, other: Self) -> Self {
        self.with(other, |one, other| if one > other { -1 } else { 0 })
    }

    /// Returns `self` where the mask has all bits, and 0 elsewhere.
    #[inline]
    pub(super) fn when(self, mask: Self) -> Self {
        self.with(mask, |number, mask| number & mask)
    }

    /// Returns `self` where the mask has no bits, and 0 elsewhere.
    #[inline]
    pub(super) fn unless(self, mask: Self) -> Self {
        self.with(mask, |number, mask| number & !mask)
    }

    /// Returns `self` where the mask has all bits, and `others` elsewhere.
    #[inline]
    pub(super) fn or(self, mask: Self, others: Self) -> Self {
        self.when(mask).with(others.unless(mask), |one, other| one | other)
    }
}

impl<const LANES: usize> Add for Lanes<LANES> {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        self.with(other, |one, other| one + other)
    }
}
