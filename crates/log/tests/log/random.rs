//! Numbers that follow from a seed, so that what failed can be done again.

/// `SplitMix64`.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below this bound, which is not 0.
    pub(crate) fn below<T: TryFrom<u64, Error: std::fmt::Debug>>(&mut self, bound: u64) -> T {
        T::try_from(self.next() % bound).expect("the bound is small")
    }

    /// Any number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
