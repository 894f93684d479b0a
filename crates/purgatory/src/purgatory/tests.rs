//! What only shows from inside.

use std::collections::HashSet;
use std::time::Duration;

use super::*;
use crate::testing::an_instant;

/// Waits for ever.
struct Patient;

impl DelayedOperation for Patient {
    type Done = ();

    fn try_complete(&mut self) -> Option<()> {
        None
    }

    fn expire(&mut self) {}
}

#[test]
fn pu_020_keys_are_spread_over_all_shards() {
    let purgatory = Purgatory::<i32, Patient>::new(an_instant(), PurgatoryConfig::default());
    let purgatory = purgatory.unwrap();
    assert_eq!(purgatory.shards.len(), 512);
    let shards: HashSet<u32> = (-5_000..5_000)
        .map(|key| purgatory.locate(&key).0)
        .collect();
    assert_eq!(shards.len(), 512);
}

#[test]
fn the_same_seed_spreads_keys_the_same_way_and_another_one_does_not() {
    let spread = |hash_seed| {
        let config = PurgatoryConfig {
            hash_seed,
            ..PurgatoryConfig::default()
        };
        let purgatory = Purgatory::<u64, Patient>::new(an_instant(), config).unwrap();
        (0..100)
            .map(|key| purgatory.locate(&key))
            .collect::<Vec<_>>()
    };
    assert_eq!(spread(1), spread(1));
    assert_ne!(spread(1), spread(2));
}

#[test]
fn a_shard_that_was_idle_for_long_puts_a_timer_where_it_belongs_at_once() {
    let start = an_instant();
    let config = PurgatoryConfig {
        shards: 1,
        ..PurgatoryConfig::default()
    };
    let purgatory = Purgatory::new(start, config).unwrap();
    let now = start + Duration::from_hours(1000);
    let deadline = now + Duration::from_millis(15);
    let entered = purgatory.try_complete_else_watch(now, Patient, &["a"], Some(deadline));
    assert!(entered.unwrap().is_none());
    // In the lowest wheel, so that its next visit is the last.
    assert_eq!(purgatory.next_deadline(), Some(deadline));
    assert_eq!(purgatory.shards[0].lock().timers.level_ticks(), [1]);
}

#[test]
fn a_burst_that_has_passed_leaves_no_memory_behind() {
    let start = an_instant();
    let config = PurgatoryConfig {
        shards: 1,
        ..PurgatoryConfig::default()
    };
    let purgatory = Purgatory::new(start, config).unwrap();
    for key in 0..10_000 {
        let deadline = Some(start + Duration::from_millis(key));
        let entered = purgatory.try_complete_else_watch(start, Patient, &[key], deadline);
        assert!(entered.unwrap().is_none());
    }
    let mut done = Vec::new();
    assert_eq!(
        purgatory.advance(start + Duration::from_secs(10), &mut done),
        10_000
    );
    let state = purgatory.shards[0].lock();
    assert_eq!(state.waiting.capacity(), 0);
    assert_eq!((state.watch.len(), state.watch.keys()), (0, 0));
}
