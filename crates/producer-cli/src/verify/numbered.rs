//! [`Numbered`]: the records that are sent. (PR-158)

use std::sync::Arc;

use klamm_producer::Record;

use crate::verify::event::Sent;

/// Records with numbers for values.
#[derive(Debug)]
pub(crate) struct Numbered {
    pub(crate) topic: Arc<str>,
    /// Goes before each value, with a dot.
    pub(crate) value_prefix: Option<u32>,
    /// Keys count up to this and begin again.
    pub(crate) key_count: Option<u64>,
    pub(crate) create_time: Option<CreateTime>,
}

/// Times of records that are not the clock's, but pass as it does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CreateTime {
    /// The time of a record that is sent at the start; not negative.
    pub(crate) first_ms: i64,
    /// What the clock showed at the start.
    pub(crate) start_ms: i64,
}

impl CreateTime {
    fn at(self, now_ms: i64) -> i64 {
        let passed = now_ms.saturating_sub(self.start_ms).max(0);
        self.first_ms.saturating_add(passed)
    }
}

impl Numbered {
    /// The record with that number, and what will be told of it; the clock shows `now_ms`.
    pub(crate) fn record(&self, number: u64, now_ms: i64) -> (Record, Sent) {
        let value = match self.value_prefix {
            Some(prefix) => format!("{prefix}.{number}"),
            None => number.to_string(),
        };
        let key = self.key_count.map(|count| (number % count).to_string());
        let mut record = Record::to(Arc::clone(&self.topic)).with_value(value.clone());
        record.key = key.clone().map(Into::into);
        if let Some(create_time) = self.create_time {
            let time_ms = create_time.at(now_ms);
            record = record
                .with_timestamp_ms(time_ms)
                .expect("it is not negative");
        }
        let topic = Arc::clone(&self.topic);
        (record, Sent { key, value, topic })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered() -> Numbered {
        Numbered {
            topic: "t".into(),
            value_prefix: None,
            key_count: None,
            create_time: None,
        }
    }

    #[test]
    fn pr_158_values_are_numbers_with_a_prefix_or_without() {
        let (record, sent) = numbered().record(5, 0);
        assert_eq!(record, Record::to("t").with_value("5"));
        assert_eq!((sent.key, &*sent.value), (None, "5"));
        let prefixed = Numbered {
            value_prefix: Some(3),
            ..numbered()
        };
        assert_eq!(prefixed.record(5, 0).1.value, "3.5");
    }

    #[test]
    fn pr_158_keys_are_repeated_in_turn() {
        let keyed = Numbered {
            key_count: Some(3),
            ..numbered()
        };
        let keys: Vec<String> = (0..5)
            .filter_map(|number| keyed.record(number, 0).1.key)
            .collect();
        assert_eq!(keys, ["0", "1", "2", "0", "1"]);
        let (record, _) = keyed.record(4, 0);
        assert_eq!(record.key.as_deref(), Some(&b"1"[..]));
    }

    #[test]
    fn pr_158_times_go_on_from_the_given_one() {
        let timed = Numbered {
            create_time: Some(CreateTime {
                first_ms: 1_000,
                start_ms: 50_000,
            }),
            ..numbered()
        };
        let times = [50_000, 50_007, 49_000].map(|now| timed.record(0, now).0.timestamp_ms());
        // A clock that goes back stands still here.
        assert_eq!(times, [Some(1_000), Some(1_007), Some(1_000)]);
    }
}
