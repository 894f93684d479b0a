//! [`ClusterMetadataRecord`] and [`RemoteLogMetadataRecord`]: whatever stands in the one log or the
//! other.

use bytes::Bytes;

use super::access_control_entry::{AccessControlEntryRecord, RemoveAccessControlEntryRecord};
use super::broker_registration_change::{
    BrokerRegistrationChangeRecord, FenceBrokerRecord, UnfenceBrokerRecord,
};
use super::client_quota::ClientQuotaRecord;
use super::config::ConfigRecord;
use super::delegation_token::{DelegationTokenRecord, RemoveDelegationTokenRecord};
use super::feature_level::FeatureLevelRecord;
use super::frame::{self, FrameError, Head};
use super::no_op::NoOpRecord;
use super::partition::{PartitionChangeRecord, PartitionRecord};
use super::producer_ids::ProducerIdsRecord;
use super::register_broker::{RegisterBrokerRecord, UnregisterBrokerRecord};
use super::register_controller::{RegisterControllerRecord, UnregisterControllerRecord};
use super::remote_log_segment::{
    RemoteLogSegmentMetadataRecord, RemoteLogSegmentMetadataSnapshotRecord,
    RemoteLogSegmentMetadataUpdateRecord,
};
use super::remote_partition_delete::RemotePartitionDeleteMetadataRecord;
use super::topic::{ClearElrRecord, RemoveTopicRecord, TopicRecord};
use super::transaction::{AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord};
use super::user_scram_credential::{RemoveUserScramCredentialRecord, UserScramCredentialRecord};
use super::zk_migration_state::ZkMigrationStateRecord;
use crate::codec::{EncodeError, Message, MetadataRecord, Versions};

/// Makes the enum of a log's records: a variant for each struct, which knows its own type.
macro_rules! records_of_a_log {
    (
        $(#[$doc:meta])*
        $log:ident { $($record:ident,)* }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $log {
            $(
                #[doc = concat!("See [`", stringify!($record), "`].")]
                $record($record),
            )*
        }

        impl $log {
            /// Reads the whole value of a record of the log. Returns the version that it was
            /// written in, and the record; strings and bytes are slices of `value`.
            ///
            /// # Errors
            /// All of [`FrameError`] but [`FrameError::OtherType`]. A record that a newer
            /// release wrote is an [`FrameError::UnknownType`] or an
            /// [`FrameError::UnsupportedVersion`]; neither can be passed over safely.
            pub fn decode(mut value: Bytes) -> Result<(i16, Self), FrameError> {
                let head = Head::take(&mut value)?;
                $(
                    const { assert!(<$record>::RECORD_TYPE >= 0, "types are written unsigned") };
                    if head.record_type == u32::from(<$record>::RECORD_TYPE.unsigned_abs()) {
                        let (version, record) = head.body(value)?;
                        return Ok((version, Self::$record(record)));
                    }
                )*
                Err(FrameError::UnknownType {
                    record_type: head.record_type,
                })
            }

            /// Writes the record with its frame: the value of a record of the log.
            ///
            /// # Errors
            /// [`EncodeError`], as [`Message::encode`].
            pub fn encode(&self, version: i16) -> Result<Bytes, EncodeError> {
                match self {
                    $(Self::$record(record) => frame::encode(record, version),)*
                }
            }

            /// The number that tells the record's type.
            pub fn record_type(&self) -> i16 {
                match self {
                    $(Self::$record(_) => <$record>::RECORD_TYPE,)*
                }
            }

            /// The name of the record's type.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$record(_) => <$record>::NAME,)*
                }
            }

            /// The versions in which the record's type can be written.
            pub fn versions(&self) -> Versions {
                match self {
                    $(Self::$record(_) => <$record>::VERSIONS,)*
                }
            }

            #[cfg(feature = "testing")]
            pub(crate) fn add_to_catalogue(entries: &mut Vec<crate::testing::Entry>) {
                $(crate::testing::metadata_record::<$record>(entries);)*
            }
        }

        $(
            impl From<$record> for $log {
                fn from(record: $record) -> Self {
                    Self::$record(record)
                }
            }
        )*
    };
}

records_of_a_log! {
    /// A record of `__cluster_metadata` or of one of its snapshots.
    ///
    /// ```
    /// use klamm_wire::metadata::{ClusterMetadataRecord, feature_level::FeatureLevelRecord};
    ///
    /// let record = ClusterMetadataRecord::from(FeatureLevelRecord {
    ///     name: "kraft.version".into(),
    ///     feature_level: 1,
    ///     ..Default::default()
    /// });
    /// let value = record.encode(0)?;
    /// assert_eq!(ClusterMetadataRecord::decode(value)?, (0, record));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ClusterMetadataRecord {
        RegisterBrokerRecord,
        UnregisterBrokerRecord,
        TopicRecord,
        PartitionRecord,
        ConfigRecord,
        PartitionChangeRecord,
        FenceBrokerRecord,
        UnfenceBrokerRecord,
        RemoveTopicRecord,
        DelegationTokenRecord,
        UserScramCredentialRecord,
        FeatureLevelRecord,
        ClientQuotaRecord,
        ProducerIdsRecord,
        BrokerRegistrationChangeRecord,
        AccessControlEntryRecord,
        RemoveAccessControlEntryRecord,
        NoOpRecord,
        ZkMigrationStateRecord,
        RemoveUserScramCredentialRecord,
        BeginTransactionRecord,
        EndTransactionRecord,
        AbortTransactionRecord,
        RemoveDelegationTokenRecord,
        RegisterControllerRecord,
        ClearElrRecord,
        UnregisterControllerRecord,
    }
}

records_of_a_log! {
    /// A record of `__remote_log_metadata`, or of a file in which a broker kept its view of it.
    RemoteLogMetadataRecord {
        RemoteLogSegmentMetadataRecord,
        RemoteLogSegmentMetadataUpdateRecord,
        RemotePartitionDeleteMetadataRecord,
        RemoteLogSegmentMetadataSnapshotRecord,
    }
}
