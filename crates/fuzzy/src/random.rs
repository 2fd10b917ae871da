//! Random numbers for tests, the same in each run (splitmix64).

pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }

    /// Returns up to `most` random letters.
    pub(super) fn text(&mut self, letters: &str, most: usize) -> String {
        let letters: Vec<char> = letters.chars().collect();
        (0..self.below(most + 1)).map(|_| letters[self.below(letters.len())]).collect()
    }
}
