//! One request a file: what it says, what may be wrong with it, and what it comes to.
//!
//! Every decider is a pure function from the image, the request and the time to records and an
//! answer; sessions and chance are in `Core`.

mod alter_configs;
mod alter_partition;
mod assignment;
mod broker_epoch;
mod create_partitions;
mod create_topics;
mod delete_topics;
mod elect_leaders;
mod heartbeat;
mod producer_ids;
mod reassign_partitions;
mod register_broker;
mod topic_name;
mod unregister_broker;

pub use self::alter_configs::{
    AlterConfigError, AlterConfigs, ConfigChange, ConfigOperation, ReplaceConfigs,
};
pub use self::alter_partition::{
    AlterPartition, AlterPartitionError, AlteredPartition, IsrChange, IsrMember, PartitionRefused,
};
pub use self::assignment::AssignmentError;
pub use self::broker_epoch::StaleBrokerEpoch;
pub use self::create_partitions::{CreatePartitions, CreatePartitionsError, NewPartitions};
pub use self::create_topics::{
    CreateTopicError, CreateTopics, CreatedTopic, GivenSettings, ManualAssignment, NewTopic,
};
pub use self::delete_topics::{DeleteTopicError, DeleteTopics, DeletedTopic, TopicSelector};
pub use self::elect_leaders::{ElectLeaderError, ElectLeaders, ElectionKind};
pub use self::heartbeat::{Heartbeat, HeartbeatAnswer, HeartbeatError};
pub use self::producer_ids::{AllocateProducerIds, ProducerIdBlock, ProducerIdsError};
pub use self::reassign_partitions::{ReassignError, ReassignPartitions, RunningReassignment};
pub use self::register_broker::{RegisterBroker, RegisterBrokerError};
pub use self::topic_name::InvalidTopicName;
pub use self::unregister_broker::{UnregisterBroker, UnregisterBrokerError};

#[cfg(test)]
pub(crate) use self::create_topics::setting_record;
pub(crate) use self::elect_leaders::{balance, elect_unclean_leaders};
