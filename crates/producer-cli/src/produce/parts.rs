//! [`Parts`]: what a record of the input says.

use std::sync::Arc;

use bytes::Bytes;
use klamm_producer::{InvalidRecord, Record};

/// What a record of the input says; the topic is the same for all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) key: Option<Bytes>,
    pub(crate) value: Option<Bytes>,
    pub(crate) headers: Vec<(String, Option<Bytes>)>,
    pub(crate) partition: Option<i32>,
    pub(crate) timestamp_ms: Option<i64>,
}

impl Parts {
    /// The record for a topic.
    ///
    /// # Errors
    /// A negative partition or time.
    pub(crate) fn into_record(self, topic: &Arc<str>) -> Result<Record, InvalidRecord> {
        let mut record = Record::to(Arc::clone(topic));
        record.key = self.key;
        record.value = self.value;
        for (name, value) in self.headers {
            record = record.with_header(name, value);
        }
        if let Some(partition) = self.partition {
            record = record.with_partition(partition)?;
        }
        match self.timestamp_ms {
            Some(timestamp_ms) => record.with_timestamp_ms(timestamp_ms),
            None => Ok(record),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_in_the_record_and_negative_numbers_are_refused() {
        let topic = Arc::from("t");
        let parts = Parts {
            key: Some("k".into()),
            value: None,
            headers: vec![("h".to_owned(), Some("v".into())), ("h".to_owned(), None)],
            partition: Some(2),
            timestamp_ms: Some(9),
        };
        let expected = Record::to("t")
            .with_key("k")
            .with_header("h", Some("v".into()))
            .with_header("h", None)
            .with_partition(2)
            .and_then(|record| record.with_timestamp_ms(9))
            .unwrap();
        assert_eq!(parts.into_record(&topic), Ok(expected));
        let negative = Parts {
            partition: Some(-1),
            ..Parts::default()
        };
        assert!(negative.into_record(&topic).is_err());
    }
}
