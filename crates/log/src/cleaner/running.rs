//! [`Cleanings`]: which logs are being cleaned, and which may not be.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use klamm_primitives::TopicPartition;
use parking_lot::{Condvar, Mutex};

/// Which logs are being cleaned, and which may not be: one for all threads that clean.
///
/// Clones are the same. Whoever is about to cut or delete a log [pauses](Self::pause) its
/// cleaning first. (LG-204, LG-205)
#[derive(Clone, Default)]
pub struct Cleanings {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Held for look-ups alone.
    logs: Mutex<BTreeMap<TopicPartition, State>>,
    /// A pass has ended.
    ended: Condvar,
}

/// What is known of a log; there is no entry where all of it is as by default.
#[derive(Default)]
struct State {
    /// Told to stop by being set.
    running: Option<Arc<AtomicBool>>,
    pauses: u32,
    /// Why it cannot be cleaned.
    uncleanable: Option<String>,
}

/// A log that cannot be cleaned as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncleanable {
    /// The log.
    pub partition: TopicPartition,
    /// What was in the way, with file and position.
    pub reason: String,
}

impl State {
    fn is_idle(&self) -> bool {
        self.running.is_none() && self.pauses == 0 && self.uncleanable.is_none()
    }
}

impl Cleanings {
    /// Begins a pass, unless one is running, the log is paused, or an earlier one has failed.
    pub fn begin(&self, partition: &TopicPartition) -> Option<Running> {
        let mut logs = self.shared.logs.lock();
        let state = logs.entry(partition.clone()).or_default();
        if !state.is_idle() {
            return None;
        }
        let stop = Arc::new(AtomicBool::new(false));
        state.running = Some(stop.clone());
        Some(Running {
            cleanings: self.clone(),
            partition: partition.clone(),
            stop,
        })
    }

    /// Stops the pass that is running over a log, waits until it has, and lets none begin until
    /// [`Cleanings::resume`] has been called as often as this. Blocks for the time that a pass
    /// needs to see that it must stop: one run of batches, or one swap.
    ///
    /// Must not be called under the lock of a log that a pass may want.
    pub fn pause(&self, partition: &TopicPartition) {
        let mut logs = self.shared.logs.lock();
        logs.entry(partition.clone()).or_default().pauses += 1;
        while let Some(running) = logs.get(partition).and_then(|it| it.running.as_ref()) {
            running.store(true, Ordering::Relaxed);
            self.shared.ended.wait(&mut logs);
        }
    }

    /// Takes one pause back.
    ///
    /// # Panics
    /// Where there is none: whoever calls has lost count, and the next cut would go unguarded.
    pub fn resume(&self, partition: &TopicPartition) {
        let mut logs = self.shared.logs.lock();
        let state = logs.get_mut(partition);
        let state = state.filter(|it| it.pauses > 0).expect("it was paused");
        state.pauses -= 1;
        if state.is_idle() {
            logs.remove(partition);
        }
    }

    /// Lets a log be cleaned again that could not be: its settings were changed, or somebody has
    /// mended it.
    pub fn try_again(&self, partition: &TopicPartition) {
        let mut logs = self.shared.logs.lock();
        if let Some(state) = logs.get_mut(partition) {
            state.uncleanable = None;
            if state.is_idle() {
                logs.remove(partition);
            }
        }
    }

    /// Whether a pass [could begin](Self::begin) now.
    pub(crate) fn may_begin(&self, partition: &TopicPartition) -> bool {
        let logs = self.shared.logs.lock();
        logs.get(partition).is_none_or(State::is_idle)
    }

    /// Whether somebody has paused a log and not resumed it yet.
    #[cfg(test)]
    pub(crate) fn is_paused(&self, partition: &TopicPartition) -> bool {
        let logs = self.shared.logs.lock();
        logs.get(partition).is_some_and(|it| it.pauses > 0)
    }

    /// The logs that could not be cleaned, and why.
    pub fn uncleanable(&self) -> Vec<Uncleanable> {
        let logs = self.shared.logs.lock();
        let uncleanable = logs.iter().filter_map(|(partition, state)| {
            Some(Uncleanable {
                partition: partition.clone(),
                reason: state.uncleanable.clone()?,
            })
        });
        uncleanable.collect()
    }
}

/// A pass over a log is running; dropping this ends it.
#[must_use = "the pass ends when this is dropped"]
pub struct Running {
    cleanings: Cleanings,
    partition: TopicPartition,
    stop: Arc<AtomicBool>,
}

impl Running {
    /// Whether the pass must stop: what [`Cleaning::next`](super::Cleaning::next) asks.
    pub fn must_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Ends the pass and leaves the log out from here on, until
    /// [`Cleanings::try_again`]: it cannot be cleaned as it is, for this reason.
    pub fn fail(self, reason: &dyn fmt::Display) {
        let mut logs = self.cleanings.shared.logs.lock();
        if let Some(state) = logs.get_mut(&self.partition) {
            state.uncleanable = Some(reason.to_string());
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let shared = &self.cleanings.shared;
        let mut logs = shared.logs.lock();
        if let Some(state) = logs.get_mut(&self.partition) {
            state.running = None;
            if state.is_idle() {
                logs.remove(&self.partition);
            }
        }
        shared.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use klamm_primitives::PartitionIndex;

    use super::*;

    fn partition(index: i32) -> TopicPartition {
        TopicPartition::new("t", PartitionIndex::new(index))
    }

    #[test]
    fn lg_204_a_log_is_not_taken_twice_and_pauses_nest() {
        let cleanings = Cleanings::default();
        let running = cleanings.begin(&partition(0)).unwrap();
        assert!(cleanings.begin(&partition(0)).is_none());
        assert!(cleanings.begin(&partition(1)).is_some(), "another may be");
        drop(running);
        assert!(cleanings.begin(&partition(0)).is_some());

        cleanings.pause(&partition(0));
        cleanings.pause(&partition(0));
        cleanings.resume(&partition(0));
        assert!(cleanings.begin(&partition(0)).is_none());
        cleanings.resume(&partition(0));
        assert!(cleanings.begin(&partition(0)).is_some());
        assert!(cleanings.shared.logs.lock().is_empty(), "nothing is kept");
    }

    #[test]
    fn lg_204_a_pause_waits_until_the_pass_has_stopped() {
        let cleanings = Cleanings::default();
        let running = cleanings.begin(&partition(0)).unwrap();
        let has_ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                cleanings.pause(&partition(0));
                assert!(has_ended.load(Ordering::SeqCst));
                cleanings.resume(&partition(0));
            });
            while !running.must_stop() {
                std::thread::yield_now();
            }
            has_ended.store(true, Ordering::SeqCst);
            drop(running);
        });
        assert!(cleanings.begin(&partition(0)).is_some());
    }

    #[test]
    fn lg_205_a_log_that_cannot_be_cleaned_is_left_out_and_counted() {
        let cleanings = Cleanings::default();
        cleanings.begin(&partition(0)).unwrap().fail(&"why");
        let uncleanable = Uncleanable {
            partition: partition(0),
            reason: "why".to_owned(),
        };
        assert_eq!(cleanings.uncleanable(), [uncleanable]);
        assert!(!cleanings.may_begin(&partition(0)));
        assert!(cleanings.begin(&partition(0)).is_none());
        assert!(cleanings.begin(&partition(1)).is_some(), "the others go on");
        cleanings.pause(&partition(0));
        cleanings.resume(&partition(0));
        assert_eq!(cleanings.uncleanable().len(), 1);
        cleanings.try_again(&partition(0));
        assert_eq!(cleanings.uncleanable(), []);
        assert!(cleanings.begin(&partition(0)).is_some());
    }
}
