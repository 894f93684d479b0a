//! The list. Requests and responses come out of [`ApiKey`](crate::ApiKey)'s table.

use super::{Entry, Kind, entry};
use crate::header::{RequestHeader, ResponseHeader};

/// Every message of this crate.
pub fn catalogue() -> Vec<Entry> {
    let mut entries = vec![
        entry::<RequestHeader>(Kind::Header, None),
        entry::<ResponseHeader>(Kind::Header, None),
    ];
    entries.extend(crate::api_key::messages());
    entries
}
