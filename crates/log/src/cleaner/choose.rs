//! [`filthiest`]: which log is to be cleaned first.

use klamm_primitives::Offset;

/// How much of a log is clean, and how much can be cleaned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleanable {
    /// The first offset that no pass has been through.
    pub first_dirty: Offset,
    /// The first offset that may not be cleaned yet: a segment's base.
    pub first_uncleanable: Offset,
    /// Bytes of the segments before the first dirty offset.
    pub clean_bytes: u64,
    /// Bytes of those from there to the first uncleanable one.
    pub dirty_bytes: u64,
    /// Whether the oldest dirty record is older than `max.compaction.lag.ms`.
    pub is_overdue: bool,
}

impl Cleanable {
    /// What part of the bytes is dirty: 0 to 1.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a ratio; logs are far smaller than 2^53 bytes"
    )]
    pub fn dirty_ratio(&self) -> f64 {
        match self.clean_bytes + self.dirty_bytes {
            0 => 0.0,
            total => self.dirty_bytes as f64 / total as f64,
        }
    }

    /// Whether there is enough to do: the ratio lies above `min.cleanable.dirty.ratio`, or
    /// something has waited for too long.
    pub fn is_due(&self, dirty_ratio_min: f64) -> bool {
        self.dirty_bytes > 0 && (self.is_overdue || self.dirty_ratio() > dirty_ratio_min)
    }
}

/// Of the logs that are due, the one with the greatest part dirty; the first of several. Each
/// comes with its `min.cleanable.dirty.ratio`. (LG-201, LG-203)
pub fn filthiest<K>(logs: impl IntoIterator<Item = (K, Cleanable, f64)>) -> Option<(K, Cleanable)> {
    let mut chosen: Option<(K, Cleanable)> = None;
    for (key, cleanable, dirty_ratio_min) in logs {
        let ratio = cleanable.dirty_ratio();
        let is_filthier = chosen.as_ref().is_none_or(|it| it.1.dirty_ratio() < ratio);
        if is_filthier && cleanable.is_due(dirty_ratio_min) {
            chosen = Some((key, cleanable));
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleanable(clean_bytes: u64, dirty_bytes: u64) -> Cleanable {
        Cleanable {
            first_dirty: Offset::new(10),
            first_uncleanable: Offset::new(20),
            clean_bytes,
            dirty_bytes,
            is_overdue: false,
        }
    }

    #[test]
    fn lg_201_the_filthiest_log_strictly_above_its_ratio_is_taken() {
        let half = cleanable(100, 100);
        assert_eq!(filthiest([("a", half, 0.5)]), None, "not above");
        assert_eq!(filthiest([("a", half, 0.49)]), Some(("a", half)));
        let (more, most) = (cleanable(100, 200), cleanable(10, 200));
        let logs = [("a", half, 0.1), ("b", most, 0.1), ("c", more, 0.1)];
        assert_eq!(filthiest(logs), Some(("b", most)));
        // Each by its own ratio.
        let logs = [("a", half, 0.1), ("b", most, 0.99), ("c", more, 0.1)];
        assert_eq!(filthiest(logs), Some(("c", more)));
        assert_eq!(filthiest([("a", cleanable(100, 0), 0.0)]), None);
        assert_eq!(filthiest([("a", cleanable(0, 0), 0.0)]), None);
        assert_eq!(filthiest::<()>([]), None);
    }

    #[test]
    fn lg_203_a_log_that_waited_too_long_is_taken_whatever_its_ratio() {
        let overdue = Cleanable {
            is_overdue: true,
            ..cleanable(1000, 1)
        };
        assert_eq!(filthiest([("a", overdue, 0.9)]), Some(("a", overdue)));
        let nothing = Cleanable {
            is_overdue: true,
            ..cleanable(1000, 0)
        };
        assert_eq!(filthiest([("a", nothing, 0.9)]), None);
    }
}
