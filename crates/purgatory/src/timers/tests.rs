//! The wheel by hand, and against a sorted map.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn advanced<T>(wheel: &mut Timers<T>, now: u64) -> Vec<T> {
    let mut expired = Vec::new();
    wheel.advance(now, &mut expired);
    wheel.wheel.assert_invariants(&wheel.nodes);
    expired
}

#[test]
fn pu_033_each_wheel_turns_over_the_whole_one_below_and_is_made_on_first_need() {
    let mut wheel = Timers::new(20);
    assert_eq!(wheel.wheel.level_ticks(), []);
    wheel.insert(19, ());
    assert_eq!(wheel.wheel.level_ticks(), [1]);
    wheel.insert(20, ());
    assert_eq!(wheel.wheel.level_ticks(), [1, 20]);
    wheel.insert(399, ());
    assert_eq!(wheel.wheel.level_ticks(), [1, 20]);
    wheel.insert(400, ());
    assert_eq!(wheel.wheel.level_ticks(), [1, 20, 400]);
    wheel.insert(8_000, ());
    assert_eq!(wheel.wheel.level_ticks(), [1, 20, 400, 8_000]);
    wheel.wheel.assert_invariants(&wheel.nodes);
}

#[test]
fn pu_034_the_count_is_kept_over_all_wheels() {
    let mut wheel = Timers::new(3);
    let keys: Vec<Key> = [0, 1, 5, 50, 500, 5_000]
        .map(|deadline| wheel.insert(deadline, deadline))
        .to_vec();
    assert!(wheel.wheel.level_ticks().len() > 4);
    assert_eq!(wheel.len(), 6);
    assert_eq!(wheel.remove(keys[4]), Some(500));
    assert_eq!(wheel.len(), 5);
    assert_eq!(advanced(&mut wheel, 50), [0, 1, 5, 50]);
    assert_eq!(wheel.len(), 1);
}

#[test]
fn pu_035_what_is_due_already_needs_no_move_of_the_time() {
    let mut wheel = Timers::new(20);
    assert_eq!(advanced(&mut wheel, 100), [0; 0]);
    wheel.insert(100, 1);
    wheel.insert(7, 2);
    assert_eq!(wheel.next_visit(), Some(100));
    assert_eq!(advanced(&mut wheel, 100), [1, 2]);
}

#[test]
fn pu_036_moving_the_time_handles_every_due_slot_and_says_so() {
    let mut wheel = Timers::new(20);
    for deadline in [3, 7, 300] {
        wheel.insert(deadline, deadline);
    }
    assert_eq!(wheel.next_visit(), Some(3));
    assert_eq!(advanced(&mut wheel, 2), [0; 0]);
    assert_eq!(advanced(&mut wheel, 7), [3, 7]);
    // The next one is in the second wheel, whose slot begins at 300.
    assert_eq!(wheel.next_visit(), Some(300));
}

#[test]
fn pu_037_values_move_down_from_wheel_to_wheel_and_none_is_early() {
    let mut wheel = Timers::new(3);
    wheel.insert(26, "far");
    let mut visits = Vec::new();
    while let Some(visit) = wheel.next_visit() {
        visits.push(visit);
        let expired = advanced(&mut wheel, visit);
        assert_eq!(expired.is_empty(), visit < 26, "at {visit}");
    }
    // A slot of nine ticks begins at 18, one of three at 24.
    assert_eq!(visits, [18, 24, 26]);
}

#[test]
fn pu_037_slots_of_several_wheels_that_begin_together_are_all_visited() {
    let mut wheel = Timers::new(4);
    wheel.insert(16, "in the third wheel");
    wheel.insert(18, "with it, and two ticks later");
    assert_eq!(advanced(&mut wheel, 13), [""; 0]);
    wheel.insert(16, "in the lowest");
    assert_eq!(advanced(&mut wheel, 15), [""; 0]);
    wheel.insert(19, "in the second");
    let mut expired = advanced(&mut wheel, 16);
    expired.sort_unstable();
    assert_eq!(expired, ["in the lowest", "in the third wheel"]);
    assert_eq!(
        advanced(&mut wheel, 19),
        ["with it, and two ticks later", "in the second"]
    );
}

#[test]
fn pu_039_the_wheels_above_follow_the_lowest_rounded_down_to_their_own_tick() {
    let mut wheel = Timers::new(20);
    wheel.insert(8_000, ());
    for now in [0, 19, 20, 21, 399, 400, 7_999] {
        advanced(&mut wheel, now);
        let expected = [now, now / 20, now / 400, now / 8_000];
        assert_eq!(wheel.wheel.level_nows(), expected);
    }
}

#[test]
fn pu_040_one_slot_fires_together_and_serves_its_next_turn_with_the_new_time() {
    let mut wheel = Timers::new(4);
    wheel.insert(2, "a");
    wheel.insert(2, "b");
    assert_eq!(advanced(&mut wheel, 1), [""; 0]);
    assert_eq!(advanced(&mut wheel, 2), ["a", "b"]);
    // Tick 6 has the same position as tick 2; tick 5 lies before it.
    wheel.insert(5, "c");
    assert_eq!(wheel.next_visit(), Some(5));
    wheel.insert(6, "d");
    assert_eq!(
        wheel.next_visit(),
        Some(4),
        "a whole turn away, so by way of the second wheel"
    );
    assert_eq!(advanced(&mut wheel, 3), [""; 0]);
    wheel.insert(6, "e");
    assert_eq!(advanced(&mut wheel, 5), ["c"]);
    let mut last = advanced(&mut wheel, 6);
    last.sort_unstable();
    assert_eq!(last, ["d", "e"]);
}

#[test]
fn pu_041_a_value_given_another_deadline_leaves_its_old_list_first() {
    let mut wheel = Timers::new(20);
    let keys: Vec<Key> = (0..10).map(|value| wheel.insert(5, value)).collect();
    for (deadline, key) in [30, 600, 0].into_iter().cycle().zip(&keys) {
        assert!(wheel.reschedule(*key, deadline));
        wheel.wheel.assert_invariants(&wheel.nodes);
        assert_eq!(wheel.len(), 10);
    }
    assert_eq!(advanced(&mut wheel, 29), [2, 5, 8]);
    assert_eq!(advanced(&mut wheel, 30), [0, 3, 6, 9]);
    assert!(!wheel.reschedule(keys[0], 40));
    assert_eq!(advanced(&mut wheel, 600), [1, 4, 7]);
}

#[test]
fn pu_042_a_cancelled_value_leaves_exactly_its_own_list_and_cancelling_again_is_harmless() {
    let deadlines = [0, 0, 3, 3, 3, 45, 45, 900, 900];
    for cancelled in 0..deadlines.len() {
        let mut wheel = Timers::new(20);
        let keys: Vec<Key> = deadlines
            .iter()
            .enumerate()
            .map(|(value, deadline)| wheel.insert(*deadline, value))
            .collect();
        assert_eq!(wheel.remove(keys[cancelled]), Some(cancelled));
        wheel.wheel.assert_invariants(&wheel.nodes);
        assert_eq!(wheel.remove(keys[cancelled]), None);
        let expected: Vec<usize> = (0..deadlines.len()).filter(|&v| v != cancelled).collect();
        assert_eq!(advanced(&mut wheel, 900), expected);
        assert_eq!(wheel.remove(keys[(cancelled + 1) % deadlines.len()]), None);
    }
}

#[test]
fn a_jump_over_an_hour_of_empty_slots_takes_a_step_for_each_value_not_for_each_tick() {
    let hour = 3_600_000;
    let mut wheel = Timers::new(20);
    wheel.insert(hour, ());
    let mut steps = 0;
    while let Some(visit) = wheel.next_visit() {
        wheel.advance(visit, &mut Vec::new());
        steps += 1;
    }
    assert!(steps <= wheel.wheel.level_ticks().len(), "{steps} steps");
    // Empty, a jump has nothing to find at all.
    wheel.advance(u64::MAX - 1, &mut Vec::new());
    assert_eq!(wheel.wheel.now(), u64::MAX - 1);
}

#[test]
fn the_farthest_deadlines_have_a_place() {
    for slots in [2, 3, 20, 63, 64] {
        let mut wheel = Timers::new(slots);
        for deadline in [u64::MAX - 1, u64::MAX - 2, u64::MAX / 2, 1] {
            wheel.insert(deadline, deadline);
            wheel.wheel.assert_invariants(&wheel.nodes);
        }
        assert_eq!(advanced(&mut wheel, u64::MAX - 3), [1, u64::MAX / 2]);
        wheel.insert(u64::MAX - 1, 0);
        assert_eq!(advanced(&mut wheel, u64::MAX - 2), [u64::MAX - 2]);
        assert_eq!(wheel.len(), 2);
    }
}

#[test]
fn a_time_that_goes_back_is_ignored() {
    let mut wheel = Timers::new(20);
    wheel.insert(70, ());
    assert_eq!(advanced(&mut wheel, 50), []);
    assert_eq!(advanced(&mut wheel, 10), []);
    assert_eq!(wheel.wheel.now(), 50);
    assert_eq!(advanced(&mut wheel, 70), [()]);
}

#[test]
fn a_waiting_value_takes_24_to_32_bytes_beside_itself() {
    assert_eq!(Timers::<u32>::bytes_per_value() - 4, 24);
    assert_eq!(Timers::<u64>::bytes_per_value() - 8, 32);
}

fn delays_of_pu_038() -> impl Strategy<Value = Vec<u64>> {
    let (near, middle, far) = (0..5u64, 10..100u64, 100..500u64);
    Just(
        near.chain(middle.clone())
            .chain(middle)
            .chain(far)
            .collect::<Vec<_>>(),
    )
    .prop_shuffle()
}

#[derive(Debug, Clone)]
enum Step {
    Insert(u64),
    Cancel(prop::sample::Index),
    Reschedule(prop::sample::Index, u64),
    Advance(u64),
    AdvanceToNextVisit,
}

fn a_delay() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..40u64,
        3 => 0..2_000u64,
        2 => 0..10_000_000u64,
        1 => 0..1u64 << 62,
    ]
}

fn a_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => a_delay().prop_map(Step::Insert),
        2 => any::<prop::sample::Index>().prop_map(Step::Cancel),
        2 => (any::<prop::sample::Index>(), a_delay())
            .prop_map(|(which, delay)| Step::Reschedule(which, delay)),
        3 => a_delay().prop_map(Step::Advance),
        3 => Just(Step::AdvanceToNextVisit),
    ]
}

proptest! {
    #[test]
    fn pu_038_each_fires_exactly_once_and_in_order_whatever_the_order_of_adding(
        delays in delays_of_pu_038(),
    ) {
        let mut wheel = Timers::new(3);
        for delay in &delays {
            wheel.insert(*delay, *delay);
        }
        let mut expired = Vec::new();
        while let Some(visit) = wheel.next_visit() {
            wheel.advance(visit, &mut expired);
        }
        let mut sorted = delays;
        sorted.sort_unstable();
        prop_assert_eq!(expired, sorted);
    }

    /// Covers PU-034, PU-037, PU-041, PU-042: the wheel does what a sorted map does.
    #[test]
    fn pu_037_the_wheel_agrees_with_a_sorted_map(
        slots in prop_oneof![Just(2u32), Just(3), Just(20), Just(63), Just(64)],
        steps in prop::collection::vec(a_step(), 1..200),
    ) {
        let mut wheel = Timers::new(slots);
        let mut model: BTreeMap<(u64, usize), Key> = BTreeMap::new();
        let mut keys: Vec<(usize, Key)> = Vec::new();
        let mut now = 0u64;
        for (number, step) in steps.into_iter().enumerate() {
            let advance_to = match step {
                Step::Insert(delay) => {
                    let deadline = now.saturating_add(delay).min(u64::MAX - 1);
                    let key = wheel.insert(deadline, number);
                    model.insert((deadline, number), key);
                    keys.push((number, key));
                    None
                }
                Step::Cancel(which) if !keys.is_empty() => {
                    let (value, key) = *which.get(&keys);
                    let waits = model.keys().find(|(_, other)| *other == value).copied();
                    prop_assert_eq!(wheel.remove(key), waits.map(|_| value));
                    waits.map(|entry| model.remove(&entry));
                    None
                }
                Step::Reschedule(which, delay) if !keys.is_empty() => {
                    let deadline = now.saturating_add(delay).min(u64::MAX - 1);
                    let (value, key) = *which.get(&keys);
                    let waits = model.keys().find(|(_, other)| *other == value).copied();
                    prop_assert_eq!(wheel.reschedule(key, deadline), waits.is_some());
                    if let Some(entry) = waits {
                        model.remove(&entry);
                        model.insert((deadline, value), key);
                    }
                    None
                }
                Step::Advance(by) => Some(now.saturating_add(by).min(u64::MAX - 2)),
                Step::AdvanceToNextVisit => wheel.next_visit(),
                Step::Cancel(_) | Step::Reschedule(..) => None,
            };
            if let Some(to) = advance_to {
                let before = now;
                now = now.max(to);
                let mut expired = Vec::new();
                wheel.advance(now, &mut expired);
                let ticks = expired.iter().map(|value| {
                    let entry = model.keys().find(|(_, other)| other == value);
                    entry.map(|(deadline, _)| *deadline.max(&before))
                });
                prop_assert!(ticks.is_sorted(), "handed out in order of ticks");
                let due: Vec<(u64, usize)> =
                    model.range(..=(now, usize::MAX)).map(|(entry, _)| *entry).collect();
                let mut expected: Vec<usize> = due.iter().map(|(_, value)| *value).collect();
                expired.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(expired, expected);
                for entry in due {
                    model.remove(&entry);
                }
            }
            wheel.wheel.assert_invariants(&wheel.nodes);
            prop_assert_eq!(wheel.len(), model.len());
            match (wheel.next_visit(), model.keys().next()) {
                (None, None) => {}
                (Some(visit), Some(&(deadline, _))) => {
                    prop_assert!(visit <= deadline.max(now) && visit >= now);
                }
                (visit, deadline) => prop_assert!(false, "{visit:?} for {deadline:?}"),
            }
        }
    }
}
