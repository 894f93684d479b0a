//! `LeaveGroup` (key 13): members depart, or an administrator removes them; answered by the
//! group's coordinator.
//!
//! v1 added the throttle time, v3 takes several members and names static ones by their group
//! instance id (KIP-345), v4 is flexible, v5 gives a reason (KIP-800).
//!
//! The flat fields serve up to v2, `members` from v3 on.

use crate::form::{FormError, only};
use crate::prelude::*;

/// Takes members out of a group, so that it need not wait for their sessions to end.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(13), versions = 0..=5, flexible = 4.., listeners(broker))]
pub struct LeaveGroupRequest {
    /// The group to leave.
    pub group_id: ByteString,
    /// The one leaving member, up to v2.
    #[wire(versions = ..=2)]
    pub member_id: ByteString,
    /// The leaving members, from v3 on.
    #[wire(versions = 3..)]
    pub members: Vec<MemberIdentity>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One leaving member, in [`LeaveGroupRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct MemberIdentity {
    /// The member's id; empty where an administrator knows the group instance id alone.
    #[wire(versions = 3..)]
    pub member_id: ByteString,
    /// The member's group instance id; null for a dynamic member.
    #[wire(versions = 3.., nullable = 3.., default = None)]
    pub group_instance_id: Option<ByteString>,
    /// Why the member leaves, for the broker's log; null when none is given.
    #[wire(versions = 5.., nullable = 5.., default = None, ignorable)]
    pub reason: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`LeaveGroupRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(13), versions = 0..=5, flexible = 4..)]
pub struct LeaveGroupResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    #[wire(versions = 1.., ignorable)]
    pub throttle_time_ms: i32,
    /// Why nobody left; 0 where `members` tells of each one, or where the one member of v2 and
    /// below left.
    pub error_code: ErrorCode,
    /// One entry for each leaving member, from v3 on.
    #[wire(versions = 3..)]
    pub members: Vec<MemberResponse>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One member's outcome, in [`LeaveGroupResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct MemberResponse {
    /// The member id of the request.
    #[wire(versions = 3..)]
    pub member_id: ByteString,
    /// The group instance id of the request; null for a dynamic member.
    #[wire(versions = 3.., nullable = 3..)]
    pub group_instance_id: Option<ByteString>,
    /// Why this member did not leave; 0 when it did.
    #[wire(versions = 3..)]
    pub error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The first version that takes several members.
const LIST_SINCE: i16 = 3;

impl LeaveGroupRequest {
    /// Puts a request that lists its `members` into the form of `version`.
    ///
    /// # Errors
    /// [`FormError::Count`] if nobody is to leave, or more than one below v3;
    /// [`FormError::Field`] if below v3 the member has a group instance id.
    pub fn for_version(mut self, version: i16) -> Result<Self, FormError> {
        const THINGS: &str = "leaving members";
        if version < LIST_SINCE {
            let member = only(THINGS, self.members, version)?;
            if member.group_instance_id.is_some() {
                let field = "group_instance_id";
                return Err(FormError::Field { field, version });
            }
            self.member_id = member.member_id;
            self.members = Vec::new();
        } else if self.members.is_empty() {
            let (things, count) = (THINGS, 0);
            return Err(FormError::Count {
                things,
                count,
                version,
            });
        }
        Ok(self)
    }

    /// Makes a request that came in `version` list its one or more `members`.
    #[must_use]
    pub fn from_version(mut self, version: i16) -> Self {
        if version < LIST_SINCE {
            self.members = vec![MemberIdentity {
                member_id: std::mem::take(&mut self.member_id),
                ..MemberIdentity::default()
            }];
        }
        self
    }
}

impl LeaveGroupResponse {
    /// Puts a response that lists its `members` into the form of `version`: below v3 the one
    /// member's error becomes that of the whole.
    ///
    /// # Errors
    /// [`FormError::Count`] unless below v3 it tells of one member, or of none and why.
    pub fn for_version(mut self, version: i16) -> Result<Self, FormError> {
        if version < LIST_SINCE {
            let error_code = self.error();
            if self.error_code == ErrorCode::default() || !self.members.is_empty() {
                only("members that left", self.members, version)?;
            }
            self.error_code = error_code;
            self.members = Vec::new();
        }
        Ok(self)
    }

    /// The error of the whole, else that of the first member: what someone who left alone wants to
    /// know, whatever the version.
    pub fn error(&self) -> ErrorCode {
        match self.members.first() {
            Some(first) if self.error_code == ErrorCode::default() => first.error_code,
            _ => self.error_code,
        }
    }
}
