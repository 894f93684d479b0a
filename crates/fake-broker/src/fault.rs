//! [`Fault`]s, the [`Rule`]s that say when one occurs, and the script of them.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::time::Duration;

use klamm_primitives::{BrokerId, TopicPartition};
use klamm_wire::{ApiKey, ErrorCode};

/// What goes wrong with one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The request is carried out, and its answer takes so long; what is behind it waits, too.
    Delay(Duration),
    /// The request is never answered, nor carried out; the connection goes on.
    Ignore,
    /// The request is carried out, and never answered; the connection goes on.
    Swallow,
    /// The connection is closed, and nothing is carried out.
    CloseBefore,
    /// The request is carried out, and the connection closed without an answer.
    CloseAfter,
    /// The request is carried out, and the connection closed in the middle of the answer.
    CloseInAnswer,
    /// Each partition that the rule speaks of, or the request as a whole, is answered with this
    /// error, and nothing is carried out for it. A batch that was stored before is no error if it
    /// comes again, unless the error passes by itself.
    Error(ErrorCode),
    /// As an error, that blames some records of the batch.
    RefuseRecords {
        /// The error.
        code: ErrorCode,
        /// The records by their places in the batch, and what is wrong with each.
        records: Vec<(i32, String)>,
    },
    /// Each partition that the rule speaks of is carried out, and answered with this error.
    ErrorAfter(ErrorCode),
    /// The answer tells a throttle time.
    Throttle(Duration),
    /// The answer has another correlation id.
    WrongCorrelationId,
    /// These bytes are sent in place of a frame, and the connection goes on.
    Garbage(Vec<u8>),
}

/// What is known of a request when faults are chosen for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFacts {
    /// The node that it came to.
    pub node: BrokerId,
    /// Which request it is.
    pub key: ApiKey,
    /// Its version.
    pub version: i16,
    /// How many requests this node has been sent before, of any kind.
    pub number: u64,
    /// The partitions that it produces to.
    pub partitions: Vec<TopicPartition>,
}

/// A fault, and the requests to which it occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Of this node only.
    pub node: Option<BrokerId>,
    /// Of this kind only.
    pub key: Option<ApiKey>,
    /// That produce to this partition only; errors then concern it alone.
    pub partition: Option<TopicPartition>,
    /// So many requests are let through first.
    pub after: u32,
    /// To so many requests; `u32::MAX` for ever.
    pub times: u32,
    /// What occurs.
    pub fault: Fault,
}

impl Rule {
    /// A fault that occurs once, to the next request of any kind.
    pub const fn once(fault: Fault) -> Self {
        Self {
            node: None,
            key: None,
            partition: None,
            after: 0,
            times: 1,
            fault,
        }
    }

    /// A fault that occurs to every request.
    pub fn always(fault: Fault) -> Self {
        Self {
            times: u32::MAX,
            ..Self::once(fault)
        }
    }

    /// To so many requests.
    #[must_use]
    pub const fn times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }

    /// So many requests are let through first.
    #[must_use]
    pub const fn after(mut self, requests: u32) -> Self {
        self.after = requests;
        self
    }

    /// To requests of this kind only.
    #[must_use]
    pub const fn of(mut self, key: ApiKey) -> Self {
        self.key = Some(key);
        self
    }

    /// To requests of this node only.
    #[must_use]
    pub fn at(mut self, node: impl Into<BrokerId>) -> Self {
        self.node = Some(node.into());
        self
    }

    /// To requests that produce to this partition only; errors then concern it alone.
    #[must_use]
    pub fn on(mut self, partition: TopicPartition) -> Self {
        self.partition = Some(partition);
        self
    }

    fn matches(&self, facts: &RequestFacts) -> bool {
        self.node.is_none_or(|node| node == facts.node)
            && self.key.is_none_or(|key| key == facts.key)
            && (self.partition.as_ref()).is_none_or(|on| facts.partitions.contains(on))
    }
}

/// A fault that was chosen, and the partition that it concerns, if not all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) fault: Fault,
    pub(crate) partition: Option<TopicPartition>,
}

impl Chosen {
    pub(crate) fn concerns(&self, partition: &TopicPartition) -> bool {
        self.partition.as_ref().is_none_or(|on| on == partition)
    }
}

type Chance = Box<dyn FnMut(&RequestFacts) -> Vec<Fault> + Send>;

/// What is to go wrong.
#[derive(Default)]
pub(crate) struct Script {
    rules: Vec<Rule>,
    /// One for each request of a kind, the next first.
    lines: HashMap<ApiKey, VecDeque<Fault>>,
    chance: Option<Chance>,
}

impl Script {
    /// Whether nothing can go wrong.
    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.lines.is_empty() && self.chance.is_none()
    }

    pub(crate) fn add(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    pub(crate) fn line_up(&mut self, key: ApiKey, faults: impl IntoIterator<Item = Fault>) {
        self.lines.entry(key).or_default().extend(faults);
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn set_chance(&mut self, chance: Chance) {
        self.chance = Some(chance);
    }

    /// What occurs to a request: by the rules in their order, from the line, by chance.
    pub(crate) fn choose(&mut self, facts: &RequestFacts) -> Vec<Chosen> {
        let mut chosen = Vec::new();
        for rule in self.rules.iter_mut().filter(|rule| rule.matches(facts)) {
            if rule.after > 0 {
                rule.after -= 1;
            } else if rule.times > 0 {
                if rule.times < u32::MAX {
                    rule.times -= 1;
                }
                chosen.push(Chosen {
                    fault: rule.fault.clone(),
                    partition: rule.partition.clone(),
                });
            }
        }
        self.rules.retain(|rule| rule.times > 0);
        let to_all = |fault| Chosen {
            fault,
            partition: None,
        };
        let next = self.lines.get_mut(&facts.key).and_then(VecDeque::pop_front);
        chosen.extend(next.map(to_all));
        if let Some(chance) = &mut self.chance {
            chosen.extend(chance(facts).into_iter().map(to_all));
        }
        chosen
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script")
            .field("rules", &self.rules)
            .field("lines", &self.lines)
            .field("has_chance", &self.chance.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use klamm_primitives::PartitionIndex;

    use super::*;

    fn facts(node: i32, key: ApiKey) -> RequestFacts {
        RequestFacts {
            node: BrokerId::new(node),
            key,
            version: 9,
            number: 0,
            partitions: vec![TopicPartition::new("t", PartitionIndex::new(1))],
        }
    }

    #[test]
    fn a_rule_lets_some_through_and_then_occurs_so_often() {
        let mut script = Script::default();
        let rule = Rule::once(Fault::Ignore)
            .of(ApiKey::Produce)
            .after(1)
            .times(2);
        script.add(rule.at(BrokerId::new(3)));
        assert!(script.choose(&facts(3, ApiKey::Metadata)).is_empty());
        assert!(script.choose(&facts(1, ApiKey::Produce)).is_empty());
        for expected in [0, 1, 1, 0] {
            assert_eq!(script.choose(&facts(3, ApiKey::Produce)).len(), expected);
        }
        assert!(script.rules.is_empty());
    }

    #[test]
    fn what_is_lined_up_occurs_once_each_in_order_to_requests_of_its_kind() {
        let mut script = Script::default();
        script.line_up(ApiKey::Produce, [Fault::Ignore, Fault::Swallow]);
        script.line_up(ApiKey::Produce, [Fault::CloseAfter]);
        assert!(script.choose(&facts(0, ApiKey::Metadata)).is_empty());
        let occurred: Vec<Fault> = (0..5)
            .flat_map(|node| script.choose(&facts(node, ApiKey::Produce)))
            .map(|chosen| chosen.fault)
            .collect();
        assert_eq!(occurred, [Fault::Ignore, Fault::Swallow, Fault::CloseAfter]);
    }

    #[test]
    fn a_rule_for_a_partition_concerns_it_alone() {
        let mut script = Script::default();
        let [one, two] = [1, 2].map(|index| TopicPartition::new("t", PartitionIndex::new(index)));
        script.add(Rule::always(Fault::Error(ErrorCode::CORRUPT_MESSAGE)).on(one.clone()));
        script.add(Rule::always(Fault::Ignore).on(two.clone()));
        script.set_chance(Box::new(|facts| {
            vec![Fault::Delay(Duration::from_millis(facts.number))]
        }));
        let chosen = script.choose(&facts(0, ApiKey::Produce));
        assert_eq!(chosen.len(), 2);
        assert!(chosen[0].concerns(&one) && !chosen[0].concerns(&two));
        assert!(chosen[1].concerns(&two));
    }
}
