//! The purgatory against the plainest one there could be: a list that is searched from end to
//! end.

mod support;

use std::sync::Arc;

use klamm_purgatory::PurgatoryConfig;
use proptest::prelude::*;
use support::{Handle, Outcome, Setting, ms};

struct Waiting {
    id: usize,
    keys: Vec<u8>,
    deadline: u64,
    ready: bool,
    handle: Arc<Handle>,
}

#[derive(Default)]
struct Model {
    now: u64,
    waiting: Vec<Waiting>,
}

impl Model {
    fn remove(&mut self, leaves: impl Fn(&Waiting) -> bool) -> Vec<usize> {
        let gone = self.waiting.extract_if(.., |waiting| leaves(waiting));
        gone.map(|waiting| waiting.id).collect()
    }

    fn entries(&self) -> usize {
        self.waiting.iter().map(|waiting| waiting.keys.len()).sum()
    }

    fn keys(&self) -> usize {
        let all = self.waiting.iter().flat_map(|waiting| &waiting.keys);
        all.collect::<std::collections::HashSet<_>>().len()
    }
}

#[derive(Debug, Clone)]
enum Step {
    Enter { keys: Vec<u8>, timeout: u64 },
    MakeReady(prop::sample::Index),
    Check(u8),
    Advance(u64),
    AdvanceToNextDeadline,
    Cancel(u8),
    Purge,
}

fn a_step() -> impl Strategy<Value = Step> {
    let keys = prop::sample::subsequence((0..6u8).collect::<Vec<_>>(), 1..4).prop_shuffle();
    let timeout = prop_oneof![0..30u64, 0..1_000u64, 0..10_000_000u64];
    prop_oneof![
        5 => (keys, timeout.clone()).prop_map(|(keys, timeout)| Step::Enter { keys, timeout }),
        5 => any::<prop::sample::Index>().prop_map(Step::MakeReady),
        5 => (0..6u8).prop_map(Step::Check),
        2 => timeout.prop_map(Step::Advance),
        2 => Just(Step::AdvanceToNextDeadline),
        1 => (0..6u8).prop_map(Step::Cancel),
        1 => Just(Step::Purge),
    ]
}

fn ids(outcomes: &[Outcome]) -> Vec<usize> {
    outcomes
        .iter()
        .map(|outcome| match outcome {
            Outcome::Completed(id) | Outcome::Expired(id) => *id,
        })
        .collect()
}

proptest! {
    /// Covers PU-002, PU-012, PU-013, PU-015, PU-018, PU-026.
    #[test]
    fn pu_012_the_purgatory_agrees_with_a_list_that_is_searched(
        shards in prop_oneof![Just(1u32), Just(2), Just(512)],
        purge_interval in 0..4usize,
        steps in prop::collection::vec(a_step(), 1..120),
    ) {
        let setting = Setting::with(PurgatoryConfig {
            shards,
            purge_interval,
            ..PurgatoryConfig::default()
        });
        let mut model = Model::default();
        for (id, step) in steps.into_iter().enumerate() {
            match step {
                Step::Enter { keys, timeout } => {
                    let deadline = model.now + timeout;
                    let handle = setting.enter_at(ms(model.now), id, &keys, ms(timeout));
                    model.waiting.push(Waiting { id, keys, deadline, ready: false, handle });
                }
                Step::MakeReady(which) => {
                    if !model.waiting.is_empty() {
                        let which = which.index(model.waiting.len());
                        model.waiting[which].ready = true;
                        model.waiting[which].handle.make_ready();
                    }
                }
                Step::Check(key) => {
                    let done = setting.check(&key);
                    let completed = |outcome: &Outcome| matches!(outcome, Outcome::Completed(_));
                    prop_assert!(done.iter().all(completed));
                    let expected =
                        model.remove(|waiting| waiting.ready && waiting.keys.contains(&key));
                    prop_assert_eq!(ids(&done), expected, "oldest first");
                }
                Step::Advance(by) => {
                    model.now += by;
                    let done = setting.advance(ms(model.now));
                    let now = model.now;
                    let mut expired = ids(&done);
                    expired.sort_unstable();
                    prop_assert_eq!(expired, model.remove(|waiting| waiting.deadline <= now));
                }
                Step::AdvanceToNextDeadline => {
                    let Some(next) = setting.purgatory.next_deadline() else {
                        prop_assert!(model.waiting.is_empty());
                        continue;
                    };
                    let next = next.duration_since(setting.start);
                    let earliest = model.waiting.iter().map(|waiting| waiting.deadline).min();
                    let earliest = earliest.expect("nothing waits, so nothing is next");
                    prop_assert!(next <= ms(earliest.max(model.now)));
                    prop_assert!(next >= ms(model.now));
                    model.now = u64::try_from(next.as_millis()).unwrap();
                    let mut expired = ids(&setting.advance(next));
                    expired.sort_unstable();
                    let now = model.now;
                    prop_assert_eq!(expired, model.remove(|waiting| waiting.deadline <= now));
                }
                Step::Cancel(key) => {
                    let cancelled = setting.purgatory.cancel(&key);
                    prop_assert_eq!(cancelled.being_asked, 0);
                    let ids: Vec<usize> = cancelled.operations.iter().map(|op| op.id).collect();
                    prop_assert_eq!(ids, model.remove(|waiting| waiting.keys.contains(&key)));
                }
                Step::Purge => {
                    setting.purgatory.purge();
                    prop_assert_eq!(setting.purgatory.watched(), model.entries());
                    prop_assert_eq!(setting.purgatory.watched_keys(), model.keys());
                }
            }
            prop_assert_eq!(setting.purgatory.delayed(), model.waiting.len());
            prop_assert!(setting.purgatory.watched() >= model.entries());
            if purge_interval == 0 {
                prop_assert_eq!(setting.purgatory.watched(), model.entries());
            }
        }
    }
}
