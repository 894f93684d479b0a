//! `DeleteTopics` (key 20): deletes topics, named or by id; the controller answers, also by way of
//! any broker.
//!
//! v1 added the throttle time, v4 is flexible, v5 added the error message, v6 takes topic ids in
//! place of names (KIP-516). Where deletion is switched off, v3 and above are answered
//! `TOPIC_DELETION_DISABLED`, older ones `INVALID_REQUEST`.
//!
//! `topic_names` serves up to v5, `topics` from v6 on.

use crate::form::FormError;
use crate::prelude::*;

/// Deletes topics with all their records.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(20), versions = 1..=6, flexible = 4.., listeners(broker, controller))]
pub struct DeleteTopicsRequest {
    /// The topics to delete, from v6 on.
    #[wire(versions = 6..)]
    pub topics: Vec<DeleteTopicState>,
    /// The names of the topics to delete, up to v5. A writer drops them in v6.
    #[wire(versions = ..=5, ignorable)]
    pub topic_names: Vec<ByteString>,
    /// Milliseconds to wait until the deletion is known to the brokers.
    pub timeout_ms: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic to delete, in [`DeleteTopicsRequest`]: exactly one of name and id is given.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DeleteTopicState {
    /// The topic's name; null where the id tells.
    #[wire(versions = 6.., nullable = 6.., default = None)]
    pub name: Option<ByteString>,
    /// The topic's id; all zero where the name tells.
    #[wire(versions = 6..)]
    pub topic_id: TopicId,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DeleteTopicsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(20), versions = 1..=6, flexible = 4..)]
pub struct DeleteTopicsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// One entry for each topic of the request.
    pub responses: Vec<DeletableTopicResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic's outcome, in [`DeleteTopicsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DeletableTopicResult {
    /// The topic's name. Null (from v6 on) where the request gave an id that is unknown or that the
    /// caller may not describe.
    #[wire(nullable = 6..)]
    pub name: Option<ByteString>,
    /// The topic's id; all zero where the request gave a name that is unknown.
    #[wire(versions = 6.., ignorable)]
    pub topic_id: TopicId,
    /// Why the topic was not deleted; 0 when it was.
    pub error_code: ErrorCode,
    /// The error in words; null when there is none to say.
    #[wire(versions = 5.., nullable = 5.., default = None, ignorable)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The first version that takes topic ids.
const IDS_SINCE: i16 = 6;

impl DeleteTopicsRequest {
    /// Puts a request that lists its `topics` into the form of `version`.
    ///
    /// # Errors
    /// [`FormError::Field`] if below v6 a topic is given by its id.
    pub fn for_version(mut self, version: i16) -> Result<Self, FormError> {
        if version < IDS_SINCE {
            let names = self.topics.into_iter().map(|topic| topic.name);
            self.topic_names = names.collect::<Option<_>>().ok_or({
                let field = "topic_id";
                FormError::Field { field, version }
            })?;
            self.topics = Vec::new();
        }
        Ok(self)
    }

    /// Makes a request that came in `version` list its `topics`.
    #[must_use]
    pub fn from_version(mut self, version: i16) -> Self {
        if version < IDS_SINCE {
            let names = std::mem::take(&mut self.topic_names).into_iter();
            let by_name = |name| DeleteTopicState {
                name: Some(name),
                ..Default::default()
            };
            self.topics = names.map(by_name).collect();
        }
        self
    }
}
