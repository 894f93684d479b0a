//! [`NodeLatencies`]: which nodes have long had something to take and took nothing. (PR-030)

use std::collections::HashMap;
use std::time::{Duration, Instant};

use klamm_client::{Cluster, NodeId};

use crate::accumulator::RecordAccumulator;

/// When a node had something to take last, and when it could take it last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Latency {
    last_ready: Instant,
    last_drained: Instant,
    is_avoided: bool,
}

/// Notes how long nodes keep their data waiting, and has the sticky choice avoid those that do so
/// for too long. Switched off by a timeout of 0.
#[derive(Debug)]
pub(super) struct NodeLatencies {
    timeout: Duration,
    nodes: HashMap<NodeId, Latency>,
}

impl NodeLatencies {
    pub(super) fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            nodes: HashMap::new(),
        }
    }

    /// A node has something to take, and can take it or not.
    pub(super) fn note(
        &mut self,
        node: NodeId,
        can_take: bool,
        now: Instant,
        accumulator: &RecordAccumulator,
        cluster: &Cluster,
    ) {
        if self.timeout.is_zero() {
            return;
        }
        if let Some(avoid) = self.judge(node, can_take, now) {
            for partition in cluster.led_by(node) {
                let topic = accumulator.topic(&partition.topic);
                accumulator.queue(&topic, partition.partition).avoid(avoid);
            }
        }
    }

    /// Moves a node's times on. Returns whether it is to be avoided, where that has changed.
    fn judge(&mut self, node: NodeId, can_take: bool, now: Instant) -> Option<bool> {
        let latency = self.nodes.entry(node).or_insert(Latency {
            last_ready: now,
            last_drained: now,
            is_avoided: false,
        });
        latency.last_ready = now;
        if can_take {
            latency.last_drained = now;
        }
        let late = latency
            .last_ready
            .saturating_duration_since(latency.last_drained);
        let avoid = late > self.timeout;
        (std::mem::replace(&mut latency.is_avoided, avoid) != avoid).then_some(avoid)
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::Clock;
    use klamm_io::sim::SimClock;

    use super::*;

    #[test]
    fn pr_031_ready_moves_always_and_drained_only_when_data_can_be_taken() {
        let start = SimClock::new().now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut latencies = NodeLatencies::new(Duration::from_millis(100));
        let node = NodeId::new(1);
        latencies.judge(node, true, at(0));
        latencies.judge(node, false, at(10));
        let latency = latencies.nodes[&node];
        assert_eq!((latency.last_ready, latency.last_drained), (at(10), at(0)));
        latencies.judge(node, true, at(20));
        let latency = latencies.nodes[&node];
        assert_eq!((latency.last_ready, latency.last_drained), (at(20), at(20)));
    }

    #[test]
    fn a_node_is_avoided_from_when_it_is_late_until_it_takes_data_again() {
        let start = SimClock::new().now();
        let mut latencies = NodeLatencies::new(Duration::from_millis(100));
        let mut judge = |can_take, ms| {
            latencies.judge(NodeId::new(1), can_take, start + Duration::from_millis(ms))
        };
        assert_eq!(judge(true, 0), None);
        assert_eq!(judge(false, 100), None, "the time is not over");
        assert_eq!(judge(false, 101), Some(true));
        assert_eq!(judge(false, 200), None, "nothing new");
        assert_eq!(judge(true, 300), Some(false));
    }
}
