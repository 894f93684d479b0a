//! [`Offset`]: a record's place in a partition.

use std::ops::{Add, AddAssign, Sub};

use crate::number::number;

number! {
    /// A record's place in its partition: the first record of a partition has offset 0, and
    /// each later one a greater offset, not always by one (compaction and transaction markers
    /// leave gaps). Never a byte position.
    ///
    /// Offset plus count is an offset; offset minus offset is a count.
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
