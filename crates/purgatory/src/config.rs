//! What a wheel and a purgatory can be told, and what they refuse.

use std::time::Duration;

/// How a [`TimingWheel`](crate::TimingWheel) divides time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WheelConfig {
    /// Length of a slot of the lowest wheel: how late, beyond the driver's own delay, something
    /// may be. Default 1 ms.
    pub tick: Duration,
    /// Slots in each wheel, 2 to 64. Default 20.
    ///
    /// The upper bound makes the occupied slots of a wheel fit one machine word, so that finding
    /// the next one takes an instruction.
    pub slots: u32,
}

impl Default for WheelConfig {
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(1),
            slots: 20,
        }
    }
}

impl WheelConfig {
    pub(crate) fn check_slots(&self) -> Result<u32, ConfigError> {
        match self.slots {
            2..=64 => Ok(self.slots),
            slots => Err(ConfigError::Slots(slots)),
        }
    }
}

/// How a [`Purgatory`](crate::Purgatory) is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PurgatoryConfig {
    /// How time is divided.
    pub wheel: WheelConfig,
    /// Over how many locks the keys are spread, by hash. Default 64: a lock is held for some 50 ns
    /// at a time, so that even many threads seldom meet, and each shard more is a working set more
    /// for the processor's caches. An idle shard takes 256 bytes.
    pub shards: u32,
    /// How many finished operations may have entries left under keys that nobody has checked
    /// since. One more, and those entries are purged. Default 1000.
    pub purge_interval: usize,
    /// Seeds the hash of the keys. Give one that outsiders cannot guess where they choose the
    /// keys, and a fixed one where a run must be repeatable. Default 0.
    pub hash_seed: u64,
}

impl Default for PurgatoryConfig {
    fn default() -> Self {
        Self {
            wheel: WheelConfig::default(),
            shards: 64,
            purge_interval: 1000,
            hash_seed: 0,
        }
    }
}

/// Why a wheel or a purgatory was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The tick is zero, or longer than 584 years.
    #[error("a tick of {0:?} does not divide time")]
    Tick(Duration),
    /// The number of slots is not within 2 to 64.
    #[error("a wheel has 2 to 64 slots, not {0}")]
    Slots(u32),
    /// No shards.
    #[error("a purgatory has at least one shard")]
    NoShards,
}
