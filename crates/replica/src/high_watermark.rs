//! The high watermark: up to where records are on every replica that must have them. (RE-068)

use klamm_log::Place;
use klamm_primitives::Offset;

/// How far one replica has a partition's records, and where that is in the leader's log if it is
/// known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) offset: Offset,
    pub(crate) place: Option<Place>,
}

/// Up to where all of them have the records: the least of the leader's own reach and that of the
/// followers which count.
pub(crate) fn high_watermark(leader: Reach, followers: impl Iterator<Item = Reach>) -> Reach {
    followers.fold(
        leader,
        |least, it| {
            if it.offset < least.offset { it } else { least }
        },
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reach(offset: i64) -> Reach {
        Reach {
            offset: Offset::new(offset),
            place: None,
        }
    }

    proptest! {
        #[test]
        fn re_068_it_is_the_least_of_all(leader in -1_i64..100, followers: Vec<i8>) {
            let reaches = followers.iter().map(|it| reach(i64::from(*it)));
            let least = followers.iter().map(|it| i64::from(*it)).chain([leader]).min();
            let found = high_watermark(reach(leader), reaches).offset;
            prop_assert_eq!(Some(found.get()), least);
        }
    }
}
