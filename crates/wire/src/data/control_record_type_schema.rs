//! `ControlRecordTypeSchema`: the key of a control record.
//!
//! An int16 version stands in front. A version above 0 is read as 0, a negative one is
//! corruption, and a type that the reader does not know makes it skip the record.

use crate::prelude::*;

/// Says what a control record is about, and so how its value is to be read.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=0)]
pub struct ControlRecordTypeSchema {
    /// 0 abort, 1 commit, 2 leader change, 3 snapshot header, 4 snapshot footer, 5 `KRaft`
    /// version, 6 `KRaft` voters.
    pub r#type: i16,
}
