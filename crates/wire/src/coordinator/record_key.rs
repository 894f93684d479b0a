//! The keys that each internal topic has: what a reader of the topic matches on.

use bytes::Bytes;

use super::consumer_group_current_member_assignment::{
    ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue,
};
use super::consumer_group_member_metadata::{
    ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue,
};
use super::consumer_group_metadata::{ConsumerGroupMetadataKey, ConsumerGroupMetadataValue};
use super::consumer_group_partition_metadata::{
    ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue,
};
use super::consumer_group_regular_expression::{
    ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue,
};
use super::consumer_group_target_assignment_member::{
    ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue,
};
use super::consumer_group_target_assignment_metadata::{
    ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue,
};
use super::group_metadata::{GroupMetadataKey, GroupMetadataValue};
use super::legacy_offset_commit::{LegacyOffsetCommitKey, LegacyOffsetCommitValue};
use super::offset_commit::{OffsetCommitKey, OffsetCommitValue};
use super::share_group_current_member_assignment::{
    ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue,
};
use super::share_group_member_metadata::{
    ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue,
};
use super::share_group_metadata::{ShareGroupMetadataKey, ShareGroupMetadataValue};
use super::share_group_state_partition_metadata::{
    ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue,
};
use super::share_group_target_assignment_member::{
    ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue,
};
use super::share_group_target_assignment_metadata::{
    ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue,
};
use super::share_snapshot::{ShareSnapshotKey, ShareSnapshotValue};
use super::share_update::{ShareUpdateKey, ShareUpdateValue};
use super::streams_group_current_member_assignment::{
    StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue,
};
use super::streams_group_member_metadata::{
    StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue,
};
use super::streams_group_metadata::{StreamsGroupMetadataKey, StreamsGroupMetadataValue};
use super::streams_group_target_assignment_member::{
    StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue,
};
use super::streams_group_target_assignment_metadata::{
    StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue,
};
use super::streams_group_topology::{StreamsGroupTopologyKey, StreamsGroupTopologyValue};
use super::transaction_log::{TransactionLogKey, TransactionLogValue};
use super::{RecordError, decode_value, decode_whole, split_prefix};
use crate::codec::{CoordinatorKey, CoordinatorValue, Message};

/// The key of a record, which settles what its value is.
pub trait RecordKey: CoordinatorKey {
    /// The value behind such a key.
    type Value: CoordinatorValue;

    /// Reads the value that stands beside this key; `None` is a tombstone.
    ///
    /// # Errors
    /// As [`decode_value`].
    fn decode_value(&self, value: Option<&Bytes>) -> Result<Option<Self::Value>, RecordError> {
        decode_value(value)
    }
}

/// Makes the enum over the keys of one topic.
macro_rules! record_keys {
    (
        $(#[$doc:meta])*
        $topic:ident {
            $($(#[$variant_doc:meta])* $variant:ident($key:ty => $value:ty),)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $topic {
            $($(#[$variant_doc])* $variant($key),)*
            /// A record type that this crate does not know; its key and value are left unread.
            Unknown {
                /// The number in front of the key.
                record_type: i16,
            },
        }

        impl $topic {
            /// Reads the key of a record. Strings are slices of `key`.
            ///
            /// # Errors
            /// [`RecordError`] if the key is damaged; an unknown record type is no error, but
            /// [`Self::Unknown`].
            pub fn decode(key: &Bytes) -> Result<Self, RecordError> {
                let (record_type, body) = split_prefix(key)?;
                match record_type {
                    $(<$key>::RECORD_TYPE => {
                        decode_whole(body, <$key>::VERSIONS.max).map(Self::$variant)
                    })*
                    record_type => Ok(Self::Unknown { record_type }),
                }
            }

            /// The number in front of the key.
            pub fn record_type(&self) -> i16 {
                match self {
                    $(Self::$variant(_) => <$key>::RECORD_TYPE,)*
                    Self::Unknown { record_type } => *record_type,
                }
            }

            /// The keys and values of all known types.
            #[cfg(feature = "testing")]
            pub(crate) fn messages() -> Vec<crate::testing::Entry> {
                let mut messages = Vec::new();
                $(crate::testing::record::<$key>(&mut messages);)*
                messages
            }
        }

        $(
            impl RecordKey for $key {
                type Value = $value;
            }

            const _: () = assert!(
                <$key>::RECORD_TYPE == <$value>::RECORD_TYPE,
                "key and value are of one record type"
            );
        )*
    };
}

record_keys! {
    /// The key of a record in `__consumer_offsets`, where group coordinators keep committed offsets
    /// and groups of all kinds.
    ConsumerOffsetsKey {
        /// Type 0: a committed offset in the first format. Treat it as
        /// [`OffsetCommit`](Self::OffsetCommit): key and value convert.
        LegacyOffsetCommit(LegacyOffsetCommitKey => LegacyOffsetCommitValue),
        /// Type 1: a committed offset.
        OffsetCommit(OffsetCommitKey => OffsetCommitValue),
        /// Type 2: a classic group.
        GroupMetadata(GroupMetadataKey => GroupMetadataValue),
        /// Type 3: a consumer group's epoch.
        ConsumerGroupMetadata(ConsumerGroupMetadataKey => ConsumerGroupMetadataValue),
        /// Type 4: a consumer group's topics; obsolete.
        ConsumerGroupPartitionMetadata(
            ConsumerGroupPartitionMetadataKey => ConsumerGroupPartitionMetadataValue
        ),
        /// Type 5: a consumer group's member.
        ConsumerGroupMemberMetadata(
            ConsumerGroupMemberMetadataKey => ConsumerGroupMemberMetadataValue
        ),
        /// Type 6: the epoch of a consumer group's target assignment.
        ConsumerGroupTargetAssignmentMetadata(
            ConsumerGroupTargetAssignmentMetadataKey => ConsumerGroupTargetAssignmentMetadataValue
        ),
        /// Type 7: what a consumer group's member shall read.
        ConsumerGroupTargetAssignmentMember(
            ConsumerGroupTargetAssignmentMemberKey => ConsumerGroupTargetAssignmentMemberValue
        ),
        /// Type 8: what a consumer group's member reads at present.
        ConsumerGroupCurrentMemberAssignment(
            ConsumerGroupCurrentMemberAssignmentKey => ConsumerGroupCurrentMemberAssignmentValue
        ),
        /// Type 10: a share group's member.
        ShareGroupMemberMetadata(ShareGroupMemberMetadataKey => ShareGroupMemberMetadataValue),
        /// Type 11: a share group's epoch.
        ShareGroupMetadata(ShareGroupMetadataKey => ShareGroupMetadataValue),
        /// Type 12: the epoch of a share group's target assignment.
        ShareGroupTargetAssignmentMetadata(
            ShareGroupTargetAssignmentMetadataKey => ShareGroupTargetAssignmentMetadataValue
        ),
        /// Type 13: what a share group's member shall read.
        ShareGroupTargetAssignmentMember(
            ShareGroupTargetAssignmentMemberKey => ShareGroupTargetAssignmentMemberValue
        ),
        /// Type 14: what a share group's member reads at present.
        ShareGroupCurrentMemberAssignment(
            ShareGroupCurrentMemberAssignmentKey => ShareGroupCurrentMemberAssignmentValue
        ),
        /// Type 15: the partitions for which a share group has delivery state.
        ShareGroupStatePartitionMetadata(
            ShareGroupStatePartitionMetadataKey => ShareGroupStatePartitionMetadataValue
        ),
        /// Type 16: the topics that a consumer group's pattern matches.
        ConsumerGroupRegularExpression(
            ConsumerGroupRegularExpressionKey => ConsumerGroupRegularExpressionValue
        ),
        /// Type 17: a streams group's epoch.
        StreamsGroupMetadata(StreamsGroupMetadataKey => StreamsGroupMetadataValue),
        /// Type 19: a streams group's member.
        StreamsGroupMemberMetadata(
            StreamsGroupMemberMetadataKey => StreamsGroupMemberMetadataValue
        ),
        /// Type 20: the epoch of a streams group's target assignment.
        StreamsGroupTargetAssignmentMetadata(
            StreamsGroupTargetAssignmentMetadataKey => StreamsGroupTargetAssignmentMetadataValue
        ),
        /// Type 21: the tasks that a streams group's member shall run.
        StreamsGroupTargetAssignmentMember(
            StreamsGroupTargetAssignmentMemberKey => StreamsGroupTargetAssignmentMemberValue
        ),
        /// Type 22: the tasks that a streams group's member runs at present.
        StreamsGroupCurrentMemberAssignment(
            StreamsGroupCurrentMemberAssignmentKey => StreamsGroupCurrentMemberAssignmentValue
        ),
        /// Type 23: a streams group's topology.
        StreamsGroupTopology(StreamsGroupTopologyKey => StreamsGroupTopologyValue),
    }
}

record_keys! {
    /// The key of a record in `__transaction_state`, where transaction coordinators keep the state
    /// of each transactional id.
    TransactionStateKey {
        /// Type 0: a transactional id.
        TransactionLog(TransactionLogKey => TransactionLogValue),
    }
}

record_keys! {
    /// The key of a record in `__share_group_state`, where share coordinators keep which records
    /// share groups have settled.
    ShareGroupStateKey {
        /// Type 0: the whole state of a share partition.
        ShareSnapshot(ShareSnapshotKey => ShareSnapshotValue),
        /// Type 1: a change since the last snapshot.
        ShareUpdate(ShareUpdateKey => ShareUpdateValue),
    }
}
