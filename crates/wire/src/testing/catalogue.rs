//! The list. Requests and responses come out of [`ApiKey`](crate::ApiKey)'s table, records of the
//! coordinators out of the enums over their keys.

use super::{Entry, Kind, entry};
use crate::coordinator::{ConsumerOffsetsKey, ShareGroupStateKey, TransactionStateKey};
use crate::header::{RequestHeader, ResponseHeader};

/// Every message of this crate.
pub fn catalogue() -> Vec<Entry> {
    let mut entries = vec![
        entry::<RequestHeader>(Kind::Header, None),
        entry::<ResponseHeader>(Kind::Header, None),
    ];
    entries.extend(crate::api_key::messages());
    entries.extend(ConsumerOffsetsKey::messages());
    entries.extend(TransactionStateKey::messages());
    entries.extend(ShareGroupStateKey::messages());
    entries
}
