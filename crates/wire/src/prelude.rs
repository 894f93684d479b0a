//! What a message's file needs: the derive macros and the types of fields.

pub(crate) use bytes::Bytes;
pub(crate) use bytestring::ByteString;
pub(crate) use klamm_primitives::{
    BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, TopicId,
    Uuid,
};
pub(crate) use klamm_wire_derive::{Message, Struct};

pub(crate) use crate::broker_ids::BrokerIds;
pub(crate) use crate::codec::{Records, UnknownTags};
pub(crate) use crate::error_code::ErrorCode;
