//! Every message and version that the crate kafka-protocol knows too: random values are written
//! here, read and written again there, and both the bytes and what was read must be the same.
//!
//! That crate's types are its own, so values are compared through their text: its `Debug` form
//! against our JSON, field by field and name by name. Two fields of the same type that changed
//! places would give equal bytes, but not equal names.

mod compare;
mod debug_tree;
mod peer;

use std::collections::BTreeSet;

use bytes::Bytes;
use klamm_wire::ApiKey;
use klamm_wire::testing::{Entry, Kind, Seeded, catalogue};

/// Versions that the peer lists and then refuses.
const LISTED_ONLY: [(&str, i16); 3] = [
    ("OffsetCommitRequest", 10),
    ("OffsetFetchRequest", 10),
    ("InitProducerIdRequest", 6),
];

/// Messages with a field `version`, which the peer takes for the version of the structs behind
/// it: only those can be compared in which the two are the same.
const NAMED_VERSION: [&str; 2] = ["LeaderChangeMessage", "VotersRecord"];

/// Requests and responses of which the peer, made from Kafka 4.1, does not know these versions.
const NEWER_THAN_THE_PEER: [(ApiKey, i16, i16); 17] = [
    (ApiKey::ListOffsets, 11, 11),
    (ApiKey::ApiVersions, 5, 5),
    (ApiKey::WriteTxnMarkers, 2, 2),
    (ApiKey::TxnOffsetCommit, 6, 6),
    (ApiKey::DescribeLogDirs, 5, 5),
    (ApiKey::DeleteGroups, 3, 3),
    (ApiKey::BrokerHeartbeat, 2, 2),
    (ApiKey::ShareFetch, 2, 2),
    (ApiKey::ShareAcknowledge, 2, 2),
    (ApiKey::AddRaftVoter, 1, 1),
    (ApiKey::WriteShareGroupState, 1, 1),
    (ApiKey::ReadShareGroupStateSummary, 1, 1),
    (ApiKey::StreamsGroupHeartbeat, 0, 1),
    (ApiKey::StreamsGroupDescribe, 0, 1),
    (ApiKey::DescribeShareGroupOffsets, 1, 1),
    (ApiKey::StreamsGroupTopologyDescriptionUpdate, 0, 0),
    (ApiKey::UnregisterController, 0, 0),
];

/// What has no API key and is not known to the peer: records of the coordinators' and of the
/// metadata logs, of which it has none, and these.
const NOT_KNOWN_TO_THE_PEER: [&str; 4] = [
    "AbortedTxn",
    "ControlRecordTypeSchema",
    "ProducerSnapshot",
    "QuorumStateData",
];

/// Draws per message and version.
const DRAWS: u64 = 24;

#[test]
fn bytes_and_values_are_those_of_an_independent_codec() {
    let mut failures = Vec::new();
    let mut compared = 0;
    let mut newer = BTreeSet::new();
    for entry in catalogue() {
        let versions = entry.versions.min..=entry.versions.max;
        let (known, unknown): (Vec<_>, Vec<_>) =
            versions.partition(|version| peer::knows(&entry, *version));
        for version in known {
            if LISTED_ONLY.contains(&(entry.name, version)) {
                continue;
            }
            compared += 1;
            for seed in 0..DRAWS {
                if let Err(failure) = compare_one(&entry, version, seed) {
                    failures.push(format!("{} v{version} seed {seed}: {failure}", entry.name));
                    break;
                }
            }
        }
        let (Some(first), Some(last)) = (unknown.first(), unknown.last()) else {
            continue;
        };
        match entry.kind {
            Kind::Request | Kind::Response => {
                let key = entry.key.and_then(ApiKey::from_number);
                newer.insert((key.expect("a known key"), *first, *last));
            }
            Kind::Header | Kind::Data => {
                assert!(
                    NOT_KNOWN_TO_THE_PEER.contains(&entry.name),
                    "{}",
                    entry.name
                );
            }
            Kind::CoordinatorKey | Kind::CoordinatorValue | Kind::MetadataRecord => {}
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(
        newer,
        NEWER_THAN_THE_PEER.into(),
        "what is left out is listed"
    );
    assert!(compared > 590, "only {compared} versions were compared");
}

fn compare_one(entry: &Entry, version: i16, seed: u64) -> Result<(), String> {
    let message = (entry.random)(&mut Seeded::new(seed), version).ok_or("no such version")?;
    let json = message.to_json(version);
    if NAMED_VERSION.contains(&entry.name) && json["version"] != version {
        return Ok(());
    }
    let ours: Bytes = message
        .encode(version)
        .map_err(|error| error.to_string())?
        .into_bytes()
        .ok_or("a gap")?;
    let theirs = peer::read_and_write(entry, version, ours.clone())?;
    if theirs.bytes != ours {
        return Err(format!(
            "{} was written as {}; {message:?}",
            hex::encode(&ours),
            hex::encode(&theirs.bytes)
        ));
    }
    let tree = debug_tree::parse(&theirs.debug)?;
    compare::same(entry.name, &json, &tree)
        .map_err(|difference| format!("{difference}\n{message:?}\n{}", theirs.debug))
}
