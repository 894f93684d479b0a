//! [`Sequence`]: a record's place in what one producer sends to one partition.

use crate::number::number;

number! {
    /// Counts the records that one incarnation of a producer sends to one partition, so that a
    /// resent batch is known. Goes from 0 to 2147483647 and on to 0; there is no negative one.
    ///
    /// ```
    /// use klamm_primitives::Sequence;
    ///
    /// assert_eq!(Sequence::new(i32::MAX - 1).advance(2), Sequence::new(0));
    /// assert_eq!(Sequence::NONE.advance(2), Sequence::NONE);
    /// ```
    Sequence(i32)
}

impl Sequence {
    /// The first sequence of a producer's incarnation.
    pub const ZERO: Self = Self::new(0);

    /// How the protocol writes "no sequence": not idempotent, or a control batch.
    pub const NONE: Self = Self::new(-1);

    /// Whether this is no sequence. Every negative number counts as none.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.get() < 0
    }

    /// The sequence `count` records on, past 2147483647 from 0 again. None stays none.
    #[inline]
    #[must_use]
    pub const fn advance(self, count: i32) -> Self {
        if self.is_none() {
            return Self::NONE;
        }
        Self::new(self.get().wrapping_add(count) & i32::MAX)
    }
}
