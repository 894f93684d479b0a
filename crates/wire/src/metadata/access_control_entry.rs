//! `AccessControlEntryRecord` (type 18) and `RemoveAccessControlEntryRecord` (type 19): who may do
//! what.

use crate::prelude::*;

/// Adds a rule. The codes are those of `CreateAcls`.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(18), versions = 0..=0, flexible = 0..)]
pub struct AccessControlEntryRecord {
    /// Names the rule, so that it can be removed.
    pub id: Uuid,
    /// 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user.
    pub resource_type: i8,
    /// The resource's name or the beginning of it; `*` is every resource of the kind.
    pub resource_name: ByteString,
    /// How `resource_name` is meant: 3 literally, 4 as a prefix.
    pub pattern_type: i8,
    /// Whom the rule is for, `User:alice` for instance; `User:*` is everyone.
    pub principal: ByteString,
    /// The address that the principal connects from; `*` is any.
    pub host: ByteString,
    /// 2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, 9 cluster action, 10
    /// describe configs, 11 alter configs, 12 idempotent write, 13 create tokens, 14 describe
    /// tokens, 15 two-phase commit.
    pub operation: i8,
    /// 2 deny, 3 allow; a denial outweighs.
    pub permission_type: i8,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Removes a rule.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(19), versions = 0..=0, flexible = 0..)]
pub struct RemoveAccessControlEntryRecord {
    /// The rule.
    pub id: Uuid,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
