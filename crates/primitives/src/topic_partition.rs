//! [`TopicPartition`]: the name of a partition.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

use crate::PartitionIndex;

/// A topic's name and the index of one of its partitions. Cheap to clone and to use as a key
/// of a map; it owns its name, so that it never keeps a network frame alive.
///
/// As text it is `topic-index`, the form that a partition's directory has.
///
/// ```
/// use klamm_primitives::{PartitionIndex, TopicPartition};
///
/// let partition: TopicPartition = "clicks-eu-3".parse().unwrap();
/// assert_eq!(partition, TopicPartition::new("clicks-eu", PartitionIndex::new(3)));
/// assert_eq!(partition.to_string(), "clicks-eu-3");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition's index within the topic.
    pub partition: PartitionIndex,
}

impl TopicPartition {
    /// Puts a name and an index together; neither is checked.
    pub fn new(topic: impl Into<Arc<str>>, partition: PartitionIndex) -> Self {
        Self {
            topic: topic.into(),
            partition,
        }
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

impl fmt::Debug for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not `topic-index`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not a topic partition: expected a name, `-` and an index from 0")]
pub struct ParseTopicPartitionError {
    text: String,
}

impl FromStr for TopicPartition {
    type Err = ParseTopicPartitionError;

    /// The last `-` divides, since topics may hold `-` themselves. The index is digits alone,
    /// without a sign or a leading zero, so that text and value stand for each other.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (topic, index) = text.rsplit_once('-')?;
            let plain = index == "0" || index.starts_with(|c: char| c.is_ascii_digit() && c != '0');
            let index: i32 = index.parse().ok().filter(|_| plain)?;
            (!topic.is_empty()).then(|| Self::new(topic, PartitionIndex::new(index)))
        };
        parse().ok_or_else(|| ParseTopicPartitionError {
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_hyphen_divides() {
        let parsed = |text: &str| {
            let partition: TopicPartition = text.parse().unwrap();
            (partition.topic.to_string(), partition.partition.get())
        };
        assert_eq!(parsed("a-0"), ("a".to_owned(), 0));
        assert_eq!(parsed("a-b.c_d-12"), ("a-b.c_d".to_owned(), 12));
        assert_eq!(parsed("a--7"), ("a-".to_owned(), 7));
        assert_eq!(parsed("--7"), ("-".to_owned(), 7));
        assert_eq!(parsed("t-2147483647"), ("t".to_owned(), i32::MAX));
    }

    #[test]
    fn names_of_another_form_are_refused() {
        for text in [
            "",
            "-",
            "topic",
            "topic-",
            "-0",
            "topic-x",
            "topic-1x",
            "topic-+1",
            "topic-01",
            "topic-00",
            "topic- 1",
            "topic-1 ",
            "topic-2147483648",
            "topic-1.log",
            "topic-²",
        ] {
            let error = text.parse::<TopicPartition>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{text}`")));
        }
    }

    proptest! {
        #[test]
        fn text_and_name_stand_for_each_other(topic in ".{1,20}", index in 0..=i32::MAX) {
            let partition = TopicPartition::new(topic, PartitionIndex::new(index));
            prop_assert_eq!(partition.to_string().parse(), Ok(partition));
        }

        #[test]
        fn any_text_parses_or_is_refused(text in ".{0,20}-?[0-9]{0,12}") {
            if let Ok(partition) = text.parse::<TopicPartition>() {
                prop_assert_eq!(partition.to_string(), text);
            }
        }
    }
}
