//! [`Connections`]: how many are open, and what waits for those that end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use klamm_io::{Clock, Disk};
use klamm_network::{ConnectionContext, Observer};

use crate::node::Node;

/// Counts those that are open, served or not, and sees to it that nothing waits for somebody who is
/// gone, or who may be: a peer that sends no more has closed its side or all of the connection, which
/// looks the same from here. So its fetch is answered with what there is, rather than kept for the
/// weeks that it may ask for.
pub(super) struct Connections<D: Disk, C> {
    node: OnceLock<Weak<Node<D, C>>>,
    open: AtomicU64,
}

impl<D: Disk, C: Clock> Connections<D, C> {
    /// Begins without a node, for which nothing can wait yet.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            node: OnceLock::new(),
            open: AtomicU64::new(0),
        })
    }

    /// The node at which requests wait. To be called once.
    pub(super) fn begin(&self, node: &Arc<Node<D, C>>) {
        self.node.get_or_init(|| Arc::downgrade(node));
    }

    /// How many are open.
    pub(super) fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    fn hurry(&self, context: &ConnectionContext) {
        if let Some(node) = self.node.get().and_then(Weak::upgrade) {
            node.hurry(context.id.index);
        }
    }
}

impl<D: Disk, C: Clock> Observer for Connections<D, C> {
    fn connection_opened(&self, _: &ConnectionContext) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    fn connection_held(&self, _: &ConnectionContext) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    fn held_connection_closed(&self, _: &ConnectionContext) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    fn input_ended(&self, context: &ConnectionContext) {
        self.hurry(context);
    }

    fn connection_closed(&self, context: &ConnectionContext) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        self.hurry(context);
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::{RealDisk, SystemClock};
    use klamm_network::{ConnectionId, ListenerName};
    use klamm_wire::{ApiSet, Listener, Offer, SecurityProtocol};

    use super::*;

    /// Each takes a descriptor, so partitions must not be charged with it.
    #[test]
    fn those_that_are_not_served_count_while_they_are_open() {
        let connections = Connections::<RealDisk, SystemClock>::new();
        let any = ([127, 0, 0, 1], 9092).into();
        let id = ConnectionId {
            local: any,
            peer: any,
            listener: 0,
            index: 1,
        };
        let offer = Offer {
            listener: Listener::Broker,
            unstable: false,
            telemetry: false,
            apis: ApiSet::ALL,
        };
        let name = ListenerName::from("PLAINTEXT");
        let context = ConnectionContext::new(id, name, SecurityProtocol::Plaintext, offer);
        connections.connection_opened(&context);
        connections.connection_refused(&context);
        assert_eq!(connections.open(), 1, "it may have been closed at once");
        connections.connection_held(&context);
        assert_eq!(connections.open(), 2);
        connections.held_connection_closed(&context);
        connections.connection_closed(&context);
        assert_eq!(connections.open(), 0);
    }
}
