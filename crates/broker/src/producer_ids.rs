//! [`ProducerIds`]: the ids that this broker may give to producers.

use std::sync::atomic::{AtomicU64, Ordering};

use klamm_controller::ProducerIdBlock;
use klamm_primitives::ProducerId;
use klamm_wire::ErrorCode;
use parking_lot::Mutex;

/// What is left of the block of ids that the controller gave to this broker.
///
/// Ids that are left when the broker stops are never used.
#[derive(Debug, Default)]
pub(crate) struct ProducerIds {
    /// The next id and how many there are. Held for a look or a change.
    left: Mutex<(i64, i32)>,
    /// Held by the one who asks for a new block, so that those who come meanwhile get their ids
    /// from it, too, instead of a block each. Why the last one who asked got none.
    asking: tokio::sync::Mutex<ErrorCode>,
    /// How many got none. Changed by the one who asks.
    failures: AtomicU64,
}

impl ProducerIds {
    /// The next id; `None` if a new block is needed.
    pub(crate) fn take(&self) -> Option<ProducerId> {
        let mut left = self.left.lock();
        let (next, count) = *left;
        if count <= 0 {
            return None;
        }
        *left = (next + 1, count - 1);
        Some(ProducerId::new(next))
    }

    /// The next id, after `ask` for a new block if need be. One asks at a time, and what comes of it
    /// is for all who waited meanwhile: nobody waits for more than two answers.
    ///
    /// # Errors
    /// That of `ask`, one's own or another's.
    pub(crate) async fn take_or(
        &self,
        ask: impl Future<Output = Result<ProducerIdBlock, ErrorCode>>,
    ) -> Result<ProducerId, ErrorCode> {
        let failures = self.failures.load(Ordering::Acquire);
        let mut failure = self.asking.lock().await;
        if let Some(id) = self.take() {
            return Ok(id);
        }
        if self.failures.load(Ordering::Acquire) != failures {
            return Err(*failure);
        }
        let asked = ask.await;
        if let Err(code) = asked {
            *failure = code;
            self.failures.fetch_add(1, Ordering::Release);
        }
        Ok(self.refill(asked?))
    }

    /// Takes the first id of a new block, and keeps the rest of it unless another block has come
    /// meanwhile.
    fn refill(&self, block: ProducerIdBlock) -> ProducerId {
        let mut left = self.left.lock();
        if left.1 <= 0 {
            *left = (block.first.get() + 1, block.count - 1);
        }
        block.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of those who wait, one asks, and all get what came of it.
    #[tokio::test]
    async fn one_answer_is_for_all_who_wait() {
        let ids = ProducerIds::default();
        let asked = AtomicU64::new(0);
        let ask = |answer| {
            let asked = &asked;
            async move {
                asked.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                answer
            }
        };
        let failed = Err(ErrorCode::REQUEST_TIMED_OUT);
        let all = tokio::join!(
            ids.take_or(ask(failed)),
            ids.take_or(ask(failed)),
            ids.take_or(ask(failed)),
        );
        let refused = Err(ErrorCode::REQUEST_TIMED_OUT);
        assert_eq!(all, (refused, refused, refused));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        // Whoever comes later asks again.
        let block = Ok(ProducerIdBlock {
            first: ProducerId::new(1000),
            count: 2,
        });
        let both = tokio::join!(ids.take_or(ask(block)), ids.take_or(ask(block)));
        let given = |id| Ok(ProducerId::new(id));
        assert_eq!(both, (given(1000), given(1001)));
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn no_id_is_given_twice() {
        let ids = ProducerIds::default();
        assert_eq!(ids.take(), None);
        let block = |first| ProducerIdBlock {
            first: ProducerId::new(first),
            count: 3,
        };
        assert_eq!(ids.refill(block(1000)), ProducerId::new(1000));
        // A second request had asked, too, before that block came.
        assert_eq!(ids.refill(block(2000)), ProducerId::new(2000));
        assert_eq!(ids.take(), Some(ProducerId::new(1001)));
        assert_eq!(ids.take(), Some(ProducerId::new(1002)));
        assert_eq!(ids.take(), None);
    }
}
