//! [`Offset`]: a record's place in a partition.

use std::ops::{Add, AddAssign, Sub};

use crate::number::number;

number! {
    /// A record's place in its partition: the first record of a partition has offset 0, and
    /// each later one a greater offset, not always by one (compaction and transaction markers
    /// leave gaps). Never a byte position.
    ///
    /// Offset plus count is an offset; offset minus offset is a count. The operators are for
    /// numbers that are known to be small; for those that come from outside there is
    /// [`Offset::checked_add`].
    ///
    /// ```
    /// use klamm_primitives::Offset;
    ///
    /// let log_end_offset = Offset::new(7) + 3;
    /// assert_eq!(log_end_offset, Offset::new(10));
    /// assert_eq!(log_end_offset - Offset::new(4), 6);
    /// ```
    Offset(i64)
}

impl Offset {
    /// The first offset of a partition.
    pub const ZERO: Self = Self::new(0);

    /// How the protocol writes "no offset".
    pub const UNKNOWN: Self = Self::new(-1);

    /// This offset plus a count, or `None` where the sum does not fit.
    #[inline]
    pub const fn checked_add(self, count: i64) -> Option<Self> {
        match self.get().checked_add(count) {
            Some(sum) => Some(Self::new(sum)),
            None => None,
        }
    }
}

impl Add<i64> for Offset {
    type Output = Self;

    #[inline]
    fn add(self, count: i64) -> Self {
        Self::new(self.get() + count)
    }
}

impl AddAssign<i64> for Offset {
    #[inline]
    fn add_assign(&mut self, count: i64) {
        *self = *self + count;
    }
}

impl Sub<i64> for Offset {
    type Output = Self;

    #[inline]
    fn sub(self, count: i64) -> Self {
        Self::new(self.get() - count)
    }
}

impl Sub for Offset {
    type Output = i64;

    #[inline]
    fn sub(self, earlier: Self) -> i64 {
        self.get() - earlier.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_keeps_offsets_and_counts_apart() {
        let mut offset = Offset::ZERO + 5;
        offset += 3;
        assert_eq!(offset, Offset::new(8));
        assert_eq!(offset - 8, Offset::ZERO);
        assert_eq!(Offset::new(3) - offset, -5);
        assert_eq!(offset.checked_add(2), Some(Offset::new(10)));
        assert_eq!(offset.checked_add(i64::MAX), None);
        assert_eq!(Offset::UNKNOWN.checked_add(i64::MIN), None);
        assert_eq!(format!("{offset} {offset:?} {offset:>3}"), "8 8   8");
    }
}
