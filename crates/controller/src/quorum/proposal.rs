//! What is to be known of records before they are proposed: how large they are, whether they may
//! wait, and whether they may be proposed in parts.

use klamm_primitives::varint;
use klamm_wire::EncodeError;
use klamm_wire::metadata::ClusterMetadataRecord as Record;

/// Bytes of the records that are proposed together, at most: with room for the batch's header,
/// one batch of the log.
pub(crate) const PROPOSAL_SIZE_MAX: usize = 8 << 20;

/// Bytes that records take in a proposal: each in the newest version of its type, its length
/// before it.
///
/// # Errors
/// [`EncodeError`] for a record that cannot be written.
pub(crate) fn size_of(records: &[Record]) -> Result<usize, EncodeError> {
    records.iter().map(size_of_one).sum()
}

fn size_of_one(record: &Record) -> Result<usize, EncodeError> {
    let len = record.encode(record.versions().max)?.len();
    let len_of_len = varint::encode_u32(u32::try_from(len).unwrap_or(u32::MAX));
    Ok(len + len_of_len.as_slice().len())
}

/// Whether the records add to what the cluster has. On a full disk these are refused; what takes
/// away, and what brokers have to be told of each other, is let into the last room there is.
pub(crate) fn adds(records: &[Record]) -> bool {
    records.iter().any(|record| match record {
        Record::ConfigRecord(config) => config.value.is_some(),
        Record::ClientQuotaRecord(quota) => !quota.remove,
        Record::TopicRecord(_)
        | Record::PartitionRecord(_)
        | Record::DelegationTokenRecord(_)
        | Record::UserScramCredentialRecord(_)
        | Record::FeatureLevelRecord(_)
        | Record::ProducerIdsRecord(_)
        | Record::AccessControlEntryRecord(_)
        | Record::NoOpRecord(_)
        | Record::ZkMigrationStateRecord(_)
        | Record::RegisterControllerRecord(_) => true,
        Record::RegisterBrokerRecord(_)
        | Record::UnregisterBrokerRecord(_)
        | Record::PartitionChangeRecord(_)
        | Record::FenceBrokerRecord(_)
        | Record::UnfenceBrokerRecord(_)
        | Record::RemoveTopicRecord(_)
        | Record::BrokerRegistrationChangeRecord(_)
        | Record::RemoveAccessControlEntryRecord(_)
        | Record::RemoveUserScramCredentialRecord(_)
        | Record::BeginTransactionRecord(_)
        | Record::EndTransactionRecord(_)
        | Record::AbortTransactionRecord(_)
        | Record::RemoveDelegationTokenRecord(_)
        | Record::ClearElrRecord(_)
        | Record::UnregisterControllerRecord(_) => false,
    })
}

/// Whether the records mean the same in several proposals, one after the other: each is a change of
/// one partition or one broker, and what is between two of them is a state that may be.
pub(crate) fn may_be_divided(records: &[Record]) -> bool {
    records.iter().all(|record| {
        matches!(
            record,
            Record::PartitionChangeRecord(_)
                | Record::BrokerRegistrationChangeRecord(_)
                | Record::RegisterBrokerRecord(_)
                | Record::UnregisterBrokerRecord(_)
                | Record::FenceBrokerRecord(_)
                | Record::UnfenceBrokerRecord(_)
        )
    })
}

/// The records in as few parts as fit into a proposal each, in their order. A record that fits into
/// none is a part of its own.
///
/// # Errors
/// [`EncodeError`] for a record that cannot be written.
pub(crate) fn divide(records: Vec<Record>) -> Result<Vec<Vec<Record>>, EncodeError> {
    let mut parts: Vec<Vec<Record>> = Vec::new();
    let mut size = 0;
    for record in records {
        let more = size_of_one(&record)?;
        match parts.last_mut() {
            Some(part) if size + more <= PROPOSAL_SIZE_MAX => {
                part.push(record);
                size += more;
            }
            _ => {
                parts.push(vec![record]);
                size = more;
            }
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use klamm_wire::metadata::config::ConfigRecord;
    use klamm_wire::metadata::partition::PartitionChangeRecord;
    use klamm_wire::metadata::topic::{RemoveTopicRecord, TopicRecord};

    use super::*;

    #[test]
    fn what_takes_away_adds_nothing() {
        let setting = |value: Option<&'static str>| {
            Record::from(ConfigRecord {
                value: value.map(Into::into),
                ..ConfigRecord::default()
            })
        };
        let removal = Record::from(RemoveTopicRecord::default());
        assert!(!adds(&[removal.clone(), setting(None)]));
        assert!(adds(&[removal.clone(), setting(Some("x"))]));
        assert!(adds(&[removal, TopicRecord::default().into()]));
        assert!(!adds(&[]));
    }

    #[test]
    fn parts_are_as_large_as_they_may_be_and_lose_nothing() {
        let change = Record::from(PartitionChangeRecord::default());
        let topic = Record::from(TopicRecord {
            name: "n".repeat(30_000).into(),
            ..TopicRecord::default()
        });
        assert!(may_be_divided(std::slice::from_ref(&change)));
        assert!(!may_be_divided(&[change.clone(), topic.clone()]));
        let one = size_of_one(&topic).unwrap();
        let records = [vec![topic; 700], vec![change; 2]].concat();
        let parts = divide(records.clone()).unwrap();
        let sizes: Vec<_> = parts.iter().map(|it| size_of(it).unwrap()).collect();
        assert_eq!(sizes.len(), 3);
        assert!(sizes.iter().all(|size| *size <= PROPOSAL_SIZE_MAX));
        assert!(sizes[..2].iter().all(|size| size + one > PROPOSAL_SIZE_MAX));
        assert_eq!(parts.concat(), records);
        assert!(divide(Vec::new()).unwrap().is_empty());
    }
}
