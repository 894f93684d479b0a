//! [`ProducerIds`]: the ids that this broker may give to producers.

use klamm_controller::ProducerIdBlock;
use klamm_primitives::ProducerId;
use parking_lot::Mutex;

/// What is left of the block of ids that the controller gave to this broker.
///
/// Ids that are left when the broker stops are never used.
#[derive(Debug, Default)]
pub(crate) struct ProducerIds {
    /// The next id and how many there are. Held for a look or a change.
    left: Mutex<(i64, i32)>,
    /// Held by the one who asks for a new block, so that those who come meanwhile get their ids
    /// from it, too, instead of a block each.
    asking: tokio::sync::Mutex<()>,
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

    /// The turn to ask for a new block. Look again whether there is an id once it is got.
    pub(crate) async fn turn_to_ask(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.asking.lock().await
    }

    /// Takes the first id of a new block, and keeps the rest of it unless another block has come
    /// meanwhile.
    pub(crate) fn refill(&self, block: ProducerIdBlock) -> ProducerId {
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
