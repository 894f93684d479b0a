//! What only shows from inside.

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
    for shards in [PurgatoryConfig::default().shards, 512] {
        let config = PurgatoryConfig {
            shards,
            ..PurgatoryConfig::default()
        };
        let purgatory = Purgatory::<i32, Patient>::new(an_instant(), config).unwrap();
        let mut keys_of = vec![0; shards as usize];
        for key in -5_120..5_120 {
            keys_of[purgatory.locate(&key).0 as usize] += 1;
        }
        let fair_share = 10_240 / shards;
        assert!(
            keys_of
                .iter()
                .all(|&keys| keys > 0 && keys < 3 * fair_share)
        );
    }
}

#[test]
fn the_two_keys_of_the_loom_models_are_in_different_shards_of_two() {
    let config = PurgatoryConfig {
        shards: 2,
        hash_seed: 2,
        ..PurgatoryConfig::default()
    };
    let purgatory = Purgatory::<u8, Patient>::new(an_instant(), config).unwrap();
    assert_ne!(purgatory.locate(&1).0, purgatory.locate(&2).0);
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
fn a_timer_is_set_from_the_time_that_was_told_last_even_in_a_shard_that_was_idle() {
    let start = an_instant();
    let config = PurgatoryConfig {
        shards: 2,
        ..PurgatoryConfig::default()
    };
    let purgatory = Purgatory::new(start, config).unwrap();
    let now = start + Duration::from_hours(1000);
    purgatory.advance(now, &mut Vec::new());
    for key in 0..10 {
        let deadline = now + Duration::from_millis(15);
        let entered = purgatory.try_complete_else_watch(Patient, &[key], Some(deadline));
        assert!(entered.unwrap().is_none());
        assert_eq!(purgatory.next_deadline(), Some(deadline));
    }
    for shard in &purgatory.shards {
        assert_eq!(shard.lock().timers.level_ticks(), [1]);
    }
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
        let entered = purgatory.try_complete_else_watch(Patient, &[key], deadline);
        assert!(entered.unwrap().is_none());
    }
    let mut done = Vec::new();
    assert_eq!(
        purgatory.advance(start + Duration::from_secs(10), &mut done),
        10_000
    );
    let state = purgatory.shards[0].lock();
    assert_eq!(state.operations.capacity(), 0);
    assert_eq!((state.watch.len(), state.watch.keys()), (0, 0));
}
