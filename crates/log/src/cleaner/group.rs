//! [`group`]: which neighbouring segments become one. (LG-212)

use std::ops::Range;

use klamm_primitives::Offset;

/// How large a segment is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) base_offset: Offset,
    /// The base offset of the next one.
    pub(super) next_base: Offset,
    pub(super) log_bytes: u64,
    /// Bytes of the larger one of its two indexes.
    pub(super) index_bytes: u64,
}

/// Groups neighbours while together they are no larger than one segment may be: in the log, in
/// the indexes, and in offsets, which an index holds in 31 bits.
pub(super) fn group(
    segments: &[Sizes],
    log_bytes_max: u64,
    index_bytes_max: u64,
) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let (mut log_bytes, mut index_bytes) = (0, 0);
    let mut base_offset = Offset::ZERO;
    for (index, segment) in segments.iter().enumerate() {
        log_bytes += segment.log_bytes;
        index_bytes += segment.index_bytes;
        let reach = (segment.next_base.get() - 1).saturating_sub(base_offset.get());
        let fits = log_bytes <= log_bytes_max
            && index_bytes <= index_bytes_max
            && reach <= i64::from(i32::MAX);
        match groups.last_mut() {
            Some(group) if fits => group.end = index + 1,
            _ => {
                groups.push(index..index + 1);
                log_bytes = segment.log_bytes;
                index_bytes = segment.index_bytes;
                base_offset = segment.base_offset;
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(bounds: [i64; 2], log_bytes: u64, index_bytes: u64) -> Sizes {
        Sizes {
            base_offset: Offset::new(bounds[0]),
            next_base: Offset::new(bounds[1]),
            log_bytes,
            index_bytes,
        }
    }

    fn all(count: usize) -> Vec<Range<usize>> {
        std::iter::once(0..count).collect()
    }

    #[test]
    fn lg_212_neighbours_are_joined_while_they_fit_one_segment() {
        let segments = [
            sizes([0, 10], 40, 0),
            sizes([10, 20], 60, 0),
            sizes([20, 30], 1, 0),
            sizes([30, 40], 500, 0),
            sizes([40, 50], 0, 0),
        ];
        let groups = group(&segments, 100, 100);
        assert_eq!(groups, [0..2, 2..3, 3..4, 4..5], "a large one alone");
        assert_eq!(group(&segments, 1000, 100), all(5));
        assert_eq!(group(&[], 1000, 100), Vec::<Range<usize>>::new());
    }

    #[test]
    fn lg_212_indexes_and_offsets_bound_a_group_too() {
        let segments = [sizes([0, 10], 1, 60), sizes([10, 20], 1, 60)];
        assert_eq!(group(&segments, 1000, 120), all(2));
        assert_eq!(group(&segments, 1000, 119), [0..1, 1..2]);
        let far = i64::from(i32::MAX);
        let segments = |base| {
            [
                sizes([base, base + 9], 1, 0),
                sizes([base + 9, base + far + 1], 1, 0),
            ]
        };
        assert_eq!(
            group(&segments(7), 1000, 100),
            all(2),
            "the last offset is in reach"
        );
        let mut segments = segments(7);
        segments[1].next_base += 1;
        assert_eq!(group(&segments, 1000, 100), [0..1, 1..2]);
    }
}
