//! How long a broker wants to be left alone. (P6.8)

use bytes::Bytes;
use klamm_wire::messages::produce::ProduceResponse;
use klamm_wire::{ApiKey, Message};

/// The throttle time in an answer's body; `None` where the answer has none, or where it is not
/// known how to find it.
///
/// Most answers begin with it. That to Produce ends with it, so it is read as a whole: a few
/// hundred nanoseconds for each request, which holds thousands of records.
pub(crate) fn throttle_time_ms(key: ApiKey, version: i16, body: &Bytes) -> Option<i32> {
    let first_since = match key {
        ApiKey::Produce => {
            let response = ProduceResponse::decode(&mut body.clone(), version).ok()?;
            return Some(response.throttle_time_ms);
        }
        ApiKey::Metadata | ApiKey::OffsetFetch => 3,
        ApiKey::ListOffsets | ApiKey::CreateTopics => 2,
        ApiKey::Fetch | ApiKey::FindCoordinator | ApiKey::DeleteTopics => 1,
        ApiKey::InitProducerId
        | ApiKey::AddPartitionsToTxn
        | ApiKey::AddOffsetsToTxn
        | ApiKey::EndTxn
        | ApiKey::TxnOffsetCommit
        | ApiKey::DescribeConfigs
        | ApiKey::DeleteRecords => 0,
        _ => return None,
    };
    if version < first_since {
        return None;
    }
    body.first_chunk().map(|ms| i32::from_be_bytes(*ms))
}

/// Whether the client has to wait by itself. A broker that answers in an older version has
/// already waited before it answered.
pub(crate) const fn client_waits(key: ApiKey, version: i16) -> bool {
    let since = match key {
        ApiKey::Produce | ApiKey::Metadata => 6,
        ApiKey::ApiVersions | ApiKey::FindCoordinator => 2,
        ApiKey::InitProducerId | ApiKey::AddPartitionsToTxn | ApiKey::EndTxn => 1,
        _ => return false,
    };
    version >= since
}

#[cfg(test)]
mod tests {
    use klamm_wire::messages::find_coordinator::FindCoordinatorResponse;
    use klamm_wire::messages::init_producer_id::InitProducerIdResponse;
    use klamm_wire::messages::metadata::MetadataResponse;

    use super::*;

    #[test]
    fn cl_043_older_brokers_have_waited_already() {
        for (key, since) in [
            (ApiKey::Produce, 6),
            (ApiKey::Metadata, 6),
            (ApiKey::ApiVersions, 2),
            (ApiKey::FindCoordinator, 2),
            (ApiKey::InitProducerId, 1),
            (ApiKey::AddPartitionsToTxn, 1),
            (ApiKey::EndTxn, 1),
        ] {
            assert!(client_waits(key, since) && client_waits(key, since + 3));
            assert!(!client_waits(key, since - 1));
        }
        assert!(!client_waits(ApiKey::Fetch, 99));
    }

    type Body<'a> = &'a dyn Fn(i16) -> Bytes;

    #[test]
    fn the_throttle_time_is_found_wherever_it_stands() {
        let produce = |version| {
            let response = ProduceResponse {
                throttle_time_ms: 100,
                ..ProduceResponse::default()
            };
            response.encode(version).unwrap().into_bytes().unwrap()
        };
        let metadata = |version| {
            let response = MetadataResponse {
                throttle_time_ms: 100,
                ..MetadataResponse::default()
            };
            response.encode(version).unwrap().into_bytes().unwrap()
        };
        let init = |version| {
            let response = InitProducerIdResponse {
                throttle_time_ms: 100,
                ..InitProducerIdResponse::default()
            };
            response.encode(version).unwrap().into_bytes().unwrap()
        };
        let find = |version| {
            let response = FindCoordinatorResponse {
                throttle_time_ms: 100,
                ..FindCoordinatorResponse::default()
            };
            response.encode(version).unwrap().into_bytes().unwrap()
        };
        let cases: [(ApiKey, Body<'_>, i16); 4] = [
            (ApiKey::Produce, &produce, 3),
            (ApiKey::Metadata, &metadata, 3),
            (ApiKey::InitProducerId, &init, 0),
            (ApiKey::FindCoordinator, &find, 1),
        ];
        for (key, message, since) in cases {
            let versions = key.served(false).unwrap();
            for version in since..=versions.max {
                let found = throttle_time_ms(key, version, &message(version));
                assert_eq!(found, Some(100), "{key} {version}");
            }
            for version in versions.min..since {
                let found = throttle_time_ms(key, version, &message(version));
                assert_eq!(found, None, "{key} {version}");
            }
        }
    }
}
