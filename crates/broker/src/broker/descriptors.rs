//! [`Descriptors`]: how the files that a process may have open are shared out.
//!
//! A part is set aside for what is not counted: the broker's own files, and those that are open for a
//! moment, such as an index that is read or a directory that is synced. Connections and the files of
//! segments have half of the rest each, whatever the other takes. Neither fails at its bound: the next
//! connection waits to be accepted, and the segment that was used longest ago is closed for the next.

/// Set aside of any limit, however low: what an idle broker has open, and a file or two for each of
/// its threads.
const SET_ASIDE_MIN: u64 = 48;

/// One in so many is set aside besides.
const SET_ASIDE_OF: u64 = 16;

/// What connections and segments have at least, each.
const SHARE_MIN: u64 = 4;

/// How many files, connections among them, may be open at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descriptors {
    max: u64,
}

impl Descriptors {
    pub(super) const fn new(max: u64) -> Self {
        Self { max }
    }

    /// How many connections there may be, at least one.
    pub(super) fn connections_max(self) -> u64 {
        self.share()
    }

    /// How many files of segments may be open, over all partitions; at least one.
    pub(super) fn segment_files_max(self) -> usize {
        usize::try_from(self.share()).unwrap_or(usize::MAX)
    }

    /// How many of them the answer to one fetch may keep open until it is sent, also when the log has
    /// closed them for others. A small part, for there is an answer for each connection.
    pub(super) fn files_in_answer_max(self) -> usize {
        (self.segment_files_max() / 16).max(1)
    }

    /// Half of what is not set aside. Where that is next to nothing it comes to more than there is,
    /// and the system's refusals are left.
    fn share(self) -> u64 {
        let set_aside = SET_ASIDE_MIN + self.max / SET_ASIDE_OF;
        let half = self.max.saturating_sub(set_aside) / 2;
        half.max(SHARE_MIN.min(self.max / 4)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_and_segments_have_half_each_of_what_is_not_set_aside() {
        for (max, share) in [
            (64, 6),
            (96, 21),
            (128, 36),
            (256, 96),
            (1_024, 456),
            (1_048_576, 491_496),
            (u64::MAX, 8_646_911_284_551_352_296),
        ] {
            let descriptors = Descriptors::new(max);
            assert_eq!(descriptors.connections_max(), share, "{max}");
            assert_eq!(descriptors.segment_files_max() as u64, share, "{max}");
            let of_an_answer = descriptors.files_in_answer_max() as u64;
            assert_eq!(of_an_answer, (share / 16).max(1), "{max}");
        }
    }

    #[test]
    fn at_the_bound_of_both_the_part_that_is_set_aside_is_free() {
        for max in (60..5_000).chain([1_048_576, u64::MAX]) {
            let descriptors = Descriptors::new(max);
            let segments = descriptors.segment_files_max() as u64;
            let taken = descriptors.connections_max() + segments;
            assert!(max - taken >= SET_ASIDE_MIN + max / SET_ASIDE_OF, "{max}");
        }
    }

    #[test]
    fn the_lowest_limits_leave_some_of_each() {
        let shares = [0, 1, 8, 16, 48, 51, 59].map(|max| {
            let descriptors = Descriptors::new(max);
            (
                descriptors.connections_max(),
                descriptors.segment_files_max(),
            )
        });
        let wanted = [1, 1, 2, 4, 4, 4, 4];
        assert_eq!(shares.map(|it| it.0), wanted);
        assert_eq!(shares.map(|it| it.1 as u64), wanted);
    }
}
