//! [`Versions`]: a range of a message's versions.

use std::fmt;

/// A range of versions, both ends inclusive.
///
/// ```
/// use klamm_wire::Versions;
///
/// let ours = Versions::new(3, 13);
/// assert!(ours.contains(9));
/// assert_eq!(ours.common(Versions::new(0, 9)), Some(Versions::new(3, 9)));
/// assert_eq!(ours.common(Versions::new(0, 2)), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Versions {
    /// The lowest version.
    pub min: i16,
    /// The highest version.
    pub max: i16,
}

impl Versions {
    /// The range from `min` to `max`; it is empty if `max` is below `min`.
    pub const fn new(min: i16, max: i16) -> Self {
        Self { min, max }
    }

    /// Whether `version` lies in the range.
    pub const fn contains(self, version: i16) -> bool {
        self.min <= version && version <= self.max
    }

    /// What both sides of a connection can speak: from the greater of the lowest versions to the
    /// lesser of the highest, or `None` if the ranges do not meet.
    pub fn common(self, other: Self) -> Option<Self> {
        let common = Self::new(self.min.max(other.min), self.max.min(other.max));
        (common.min <= common.max).then_some(common)
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}
