//! [`Partitioner`]: the seam for a choice of one's own, and [`RoundRobin`]. The built-in choice
//! without a key is in [`sticky`]. (P1.2, P2.3)

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use klamm_primitives::PartitionIndex;
use parking_lot::Mutex;

pub(crate) mod sticky;

/// Chooses the partition of a record that does not name one itself.
///
/// Called in the task that sends, for each record; it must not block.
pub trait Partitioner: Send + Sync {
    /// The partition of a record. One that the topic does not have is an error of the call that
    /// sends.
    fn partition(&self, choice: &Choice<'_>) -> PartitionIndex;

    /// The record for which `chosen` was said would begin a new batch there. Called before
    /// [`partition`](Self::partition) is asked once more, whose second answer is taken.
    fn on_new_batch(&self, choice: &Choice<'_>, chosen: PartitionIndex) {
        let _ = (choice, chosen);
    }

    /// Called once, when the producer has been closed.
    fn close(&self) {}
}

/// What a partition is chosen by.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    /// The topic's name.
    pub topic: &'a Arc<str>,
    /// The serialized key.
    pub key: Option<&'a [u8]>,
    /// The serialized value.
    pub value: Option<&'a [u8]>,
    /// How many partitions the topic has.
    pub partition_count: NonZeroU32,
    /// Those that have a leader, by rising index.
    pub available: &'a [PartitionIndex],
}

/// Gives each partition its turn, whatever the key: those that have a leader, or all if none has.
#[derive(Debug, Default)]
pub struct RoundRobin {
    /// By topic, how many records were given a partition.
    counts: Mutex<HashMap<Arc<str>, usize>>,
}

impl Partitioner for RoundRobin {
    fn partition(&self, choice: &Choice<'_>) -> PartitionIndex {
        let count = {
            let mut counts = self.counts.lock();
            let count = match counts.get_mut(choice.topic) {
                Some(count) => count,
                None => counts.entry(Arc::clone(choice.topic)).or_insert(0),
            };
            let before = *count;
            *count = before.wrapping_add(1);
            before
        };
        if let Some(turn) = count.checked_rem(choice.available.len()) {
            return choice.available[turn];
        }
        let turn = count % choice.partition_count.get() as usize;
        PartitionIndex::new(i32::try_from(turn).expect("below the partition count"))
    }

    /// The record's turn is not lost by being asked for twice.
    fn on_new_batch(&self, choice: &Choice<'_>, _chosen: PartitionIndex) {
        if let Some(count) = self.counts.lock().get_mut(choice.topic) {
            *count = count.wrapping_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(robin: &RoundRobin, topic: &str, count: u32, available: &[i32]) -> i32 {
        let available: Vec<_> = available.iter().map(|index| (*index).into()).collect();
        let choice = Choice {
            topic: &topic.into(),
            key: Some(b"always the same"),
            value: None,
            partition_count: NonZeroU32::new(count).unwrap(),
            available: &available,
        };
        robin.partition(&choice).get()
    }

    #[test]
    fn pr_034_each_led_partition_in_turn_and_each_topic_for_itself() {
        let robin = RoundRobin::default();
        let mut counts = [0; 3];
        for _ in 0..100 {
            counts[usize::try_from(choose(&robin, "a", 3, &[0, 2])).unwrap()] += 1;
            assert_eq!(choose(&robin, "c", 1, &[0]), 0);
        }
        assert_eq!(counts, [50, 0, 50]);
        let unled: Vec<_> = (0..4).map(|_| choose(&robin, "b", 3, &[])).collect();
        assert_eq!(unled, [0, 1, 2, 0]);
    }
}
