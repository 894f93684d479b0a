//! Waiting for the memory of a new batch. (P3.4)

use std::time::Instant;

use crate::buffer_pool::{Memory, PoolError};
use crate::error::{Failure, SendError};
use crate::lifecycle::Phase;
use crate::producer::Shared;
use crate::producer::send::Stopped;

impl<K, V> Shared<K, V> {
    /// Memory for a new batch; waits in line for it, for what is left of `max.block.ms`. (P3.4)
    pub(super) async fn memory(
        &self,
        size: usize,
        deadline: &mut Option<Instant>,
    ) -> Result<(Memory, Vec<u8>), Stopped> {
        let pool = self.accumulator.pool();
        let mut memory = match pool.try_take(size) {
            Ok(Some(memory)) => memory,
            Ok(None) => {
                let start = self.time.now();
                let until = *deadline.get_or_insert_with(|| self.deadline());
                // What is in batches may go now, to make room. (C074)
                let taking = pool.take(size);
                tokio::pin!(taking);
                let mut is_woken = false;
                let taken = std::future::poll_fn(|context| {
                    let polled = taking.as_mut().poll(context);
                    if polled.is_pending() && !std::mem::replace(&mut is_woken, true) {
                        self.client.wake();
                    }
                    polled
                });
                let taken = tokio::select! {
                    biased;
                    taken = taken => Some(taken),
                    () = self.time.sleep_until(until) => None,
                };
                let now = self.time.now();
                let waited = now.saturating_duration_since(start);
                self.metrics.waited_for_memory(waited, taken.is_none(), now);
                let Some(taken) = taken else {
                    let failure = Failure::BufferExhausted { size, waited };
                    return Err(Stopped::Record(None, failure));
                };
                taken.map_err(|error| self.no_memory(error, size))?
            }
            Err(error) => return Err(self.no_memory(error, size)),
        };
        let buffer = memory
            .buffer()
            .map_err(|error| self.no_memory(error, size))?;
        Ok((memory, buffer))
    }

    fn no_memory(&self, error: PoolError, size: usize) -> Stopped {
        match error {
            PoolError::Closed if self.lifecycle.phase() > Phase::Open => {
                SendError::ClosedDuringSend.into()
            }
            PoolError::Closed => SendError::Closed.into(),
            PoolError::TooLarge { size, total } => {
                let failure = Failure::RecordTooLarge {
                    size,
                    limit: total,
                    setting: "buffer.memory",
                };
                Stopped::Record(None, failure)
            }
            PoolError::OutOfMemory { .. } => Stopped::Record(None, Failure::OutOfMemory { size }),
        }
    }
}
