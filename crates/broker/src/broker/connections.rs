//! [`Connections`]: what waits for those that end.

use std::sync::{Arc, OnceLock, Weak};

use klamm_io::{Clock, Disk};
use klamm_network::{ConnectionContext, Observer};

use crate::node::Node;

/// Sees to it that nothing waits for somebody who is gone, or who may be: a peer that sends no more has
/// closed its side or all of the connection, which looks the same from here. So its fetch is answered
/// with what there is, rather than kept for the weeks that it may ask for.
pub(super) struct Connections<D: Disk, C> {
    node: OnceLock<Weak<Node<D, C>>>,
}

impl<D: Disk, C: Clock> Connections<D, C> {
    /// Begins without a node, for which nothing can wait yet.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            node: OnceLock::new(),
        })
    }

    /// The node at which requests wait. To be called once.
    pub(super) fn begin(&self, node: &Arc<Node<D, C>>) {
        self.node.get_or_init(|| Arc::downgrade(node));
    }

    fn hurry(&self, context: &ConnectionContext) {
        if let Some(node) = self.node.get().and_then(Weak::upgrade) {
            node.hurry(context.id.index);
        }
    }
}

impl<D: Disk, C: Clock> Observer for Connections<D, C> {
    fn input_ended(&self, context: &ConnectionContext) {
        self.hurry(context);
    }

    fn connection_closed(&self, context: &ConnectionContext) {
        self.hurry(context);
    }
}
