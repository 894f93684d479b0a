//! [`Topics`]: the queues of all topics that were used, by name.

use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

use foldhash::fast::FixedState;

use crate::accumulator::topic_queues::TopicQueues;

/// So many chains share the topics out. A producer has few, and ten thousand make chains of twenty.
const CHAINS: usize = 512;

/// The queues of all topics that were used. Topics are added and never taken out, so that looking
/// one up, which each record does, is a few loads and no count of who looks; and adding one copies
/// none of the others.
///
/// Names are chosen by the application: a fast hash, and none against whoever would make them
/// collide.
pub(crate) struct Topics {
    hasher: FixedState,
    chains: Box<[Chain]>,
}

/// A place at the end of a chain, empty until a topic comes there.
type Chain = OnceLock<Box<Link>>;

struct Link {
    topic: Arc<TopicQueues>,
    next: Chain,
}

impl Default for Topics {
    fn default() -> Self {
        Self {
            hasher: FixedState::default(),
            chains: (0..CHAINS).map(|_| Chain::new()).collect(),
        }
    }
}

impl Topics {
    fn chain(&self, name: &str) -> &Chain {
        let hash = self.hasher.hash_one(name);
        #[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
        &self.chains[hash as usize % CHAINS]
    }

    /// The queues of a topic, if it was used.
    #[inline]
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<TopicQueues>> {
        let mut link = self.chain(name).get();
        while let Some(Link { topic, next }) = link.map(|link| &**link) {
            if **topic.name() == *name {
                return Some(topic);
            }
            link = next.get();
        }
        None
    }

    /// The queues of a topic, made where they are missing.
    pub(crate) fn get_or_add(
        &self,
        name: &str,
        make: impl FnOnce() -> TopicQueues,
    ) -> &Arc<TopicQueues> {
        let mut make = Some(make);
        let mut chain = self.chain(name);
        loop {
            // Whoever comes first has the place; others wait for it and look at what is there.
            let link = chain.get_or_init(|| {
                let make = make
                    .take()
                    .expect("it is the end of the chain, which comes once");
                Box::new(Link {
                    topic: Arc::new(make()),
                    next: Chain::new(),
                })
            });
            if **link.topic.name() == *name {
                return &link.topic;
            }
            chain = &link.next;
        }
    }

    /// All of them, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<TopicQueues>> {
        self.chains.iter().flat_map(|chain| {
            let links = std::iter::successors(chain.get(), |link| link.next.get());
            links.map(|link| &link.topic)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partitioner::sticky::Sticky;

    #[test]
    fn each_topic_is_added_once_and_found_again_however_many_there_are() {
        let topics = Topics::default();
        let names: Vec<Arc<str>> = (0..5_000).map(|n| format!("topic-{n}").into()).collect();
        let queues = |name: &Arc<str>| {
            let sticky = Sticky::new(1, 1).unwrap();
            TopicQueues::new(Arc::clone(name), sticky)
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for name in &names {
                        let added = topics.get_or_add(name, || queues(name));
                        assert!(Arc::ptr_eq(added, topics.get(name).unwrap()));
                    }
                });
            }
        });
        assert_eq!(topics.iter().count(), names.len());
        for name in &names {
            assert_eq!(topics.get(name).unwrap().name(), name);
        }
        assert!(topics.get("topic").is_none());
    }
}
