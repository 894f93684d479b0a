//! A random keyed log against a plain map.

use std::collections::BTreeMap;

use klamm_primitives::Offset;
use klamm_records::Codec;
use proptest::prelude::*;

use super::fixture::{Fixture, Stored, compacted};
use crate::config::LogConfig;

#[derive(Debug, Clone)]
enum Step {
    /// Keys and values of one batch; a value of `None` is a tombstone.
    Put(Vec<(u8, Option<u8>)>),
    Roll,
    /// A pass with room for so many keys.
    Clean(usize),
    Reopen(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let record = (0_u8..12, prop::option::weighted(0.8, any::<u8>()));
    prop_oneof![
        6 => prop::collection::vec(record, 1..8).prop_map(Step::Put),
        3 => Just(Step::Roll),
        2 => (1_usize..20).prop_map(Step::Clean),
        1 => any::<bool>().prop_map(Step::Reopen),
    ]
}

fn newest(records: &[Stored]) -> BTreeMap<String, Stored> {
    let records = records.iter().cloned();
    records.map(|it| (it.1.clone().unwrap(), it)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Covers LG-208, LG-209, LG-211, LG-216.
    #[test]
    fn the_newest_of_each_key_is_there_and_no_record_has_changed(
        steps in prop::collection::vec(step(), 1..40),
        codec in prop_oneof![Just(Codec::None), Just(Codec::Lz4)],
        segment_bytes in prop_oneof![Just(400_u32), Just(1_u32 << 20)],
    ) {
        // Large enough to append, small enough that not all is joined.
        let mut it = Fixture::new(compacted());
        it.codec = codec;
        let mut appended: Vec<Stored> = Vec::new();
        let mut first_dirty = None;
        for step in steps {
            match step {
                Step::Put(records) => {
                    let text: Vec<_> = records
                        .iter()
                        .map(|(key, value)| (key.to_string(), value.map(|it| it.to_string())))
                        .collect();
                    let batch: Vec<_> = text
                        .iter()
                        .map(|(key, value)| (Some(key.as_str()), value.as_deref()))
                        .collect();
                    let base = it.log.log_end_offset().get();
                    it.put_raw(&batch);
                    let stored = text.into_iter().zip(base..);
                    appended.extend(stored.map(|((key, value), offset)| (offset, Some(key), value)));
                }
                Step::Roll => it.roll(),
                Step::Clean(keys) => {
                    it.map_bytes = keys * 27;
                    it.log.set_config(LogConfig { segment_bytes, ..compacted() });
                    let from = it.cleanable(first_dirty).first_dirty;
                    let end = it.clean_from(first_dirty);
                    it.log.set_config(compacted());
                    prop_assert!(end >= from);
                    first_dirty = Some(end);
                    // Below the end of the pass one record a key is left at most, counting none
                    // that was overwritten behind it.
                    let below: Vec<_> = it.records();
                    let below: Vec<_> = below.into_iter().filter(|it| it.0 < end.get()).collect();
                    prop_assert_eq!(below.len(), newest(&below).len());
                }
                Step::Reopen(clean) => {
                    it.reopen(clean);
                    it.codec = codec;
                }
            }
            let left = it.records();
            prop_assert!(left.iter().all(|it| appended.contains(it)), "a record has changed");
            prop_assert!(left.is_sorted_by_key(|it| it.0));
            prop_assert_eq!(newest(&left), newest(&appended));
            let end = appended.last().map_or(0, |it| it.0 + 1);
            prop_assert_eq!(it.log.log_end_offset(), Offset::new(end));
            let dirty = first_dirty.unwrap_or(Offset::ZERO).get();
            let behind = |records: &[Stored]| {
                records.iter().filter(|it| it.0 >= dirty).cloned().collect::<Vec<_>>()
            };
            prop_assert_eq!(behind(&left), behind(&appended), "behind the pass all is there");
            it.check();
        }
    }
}
