//! Which requests there are, and what a server offers.

use std::collections::BTreeMap;

use klamm_wire::messages::api_versions::{ApiVersion, ApiVersionsResponse};
use klamm_wire::testing::{Kind, catalogue};
use klamm_wire::{ApiKey, ApiSet, ErrorCode, FeatureLevels, Listener, Message, Offer, Versions};

const BROKER: Offer = Offer {
    listener: Listener::Broker,
    unstable: false,
    telemetry: true,
    apis: ApiSet::ALL,
};

/// A line of `golden/api-versions.tsv`.
struct Row {
    key: ApiKey,
    broker: bool,
    controller: bool,
    flexible: [Option<i16>; 2],
    /// In the newest release: the versions listed, and the unstable one beside them.
    listed: Option<Versions>,
    unstable: Option<i16>,
    /// In the release after it.
    next: Option<Versions>,
}

fn rows() -> Vec<Row> {
    include_str!("golden/api-versions.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let columns: Vec<_> = line.split('\t').collect();
            let [number, name, listeners, request, response, now, next] = columns[..] else {
                panic!("{line}");
            };
            let key = ApiKey::from_number(number.parse().expect("a number")).expect(name);
            assert_eq!(key.name(), name);
            let unstable = now
                .split_once("(u")
                .map(|(_, rest)| rest.trim_end_matches(')').parse().expect("a version"));
            Row {
                key,
                broker: listeners.contains("broker"),
                controller: listeners.contains("controller"),
                flexible: [request, response].map(|first| first.parse().ok()),
                listed: range(now),
                unstable,
                next: range(next),
            }
        })
        .collect()
}

/// `2-9(u10)`; no range means that there is none.
fn range(text: &str) -> Option<Versions> {
    let text = text.split('(').next()?;
    let (min, max) = text.split_once('-')?;
    Some(Versions::new(min.parse().ok()?, max.parse().ok()?))
}

#[test]
fn keys_have_their_numbers_and_names() {
    let rows = rows();
    assert_eq!(rows.len(), ApiKey::ALL.len());
    for row in &rows {
        assert_eq!(ApiKey::from_number(row.key.number()), Some(row.key));
        assert_eq!(row.key.to_string(), row.key.name());
    }
    for number in [-1, 95, 10_000, i16::MIN, i16::MAX] {
        assert_eq!(ApiKey::from_number(number), None);
    }
    for entry in catalogue() {
        if matches!(entry.kind, Kind::Request | Kind::Response) {
            let key = ApiKey::from_number(entry.key.expect("has one")).expect("a known key");
            let name = entry
                .name
                .trim_end_matches("Request")
                .trim_end_matches("Response");
            assert_eq!(name, key.name(), "the type's attribute has its own key");
        }
    }
}

/// Covers WI-047.
#[test]
fn the_versions_offered_are_those_of_the_newest_release() {
    for row in rows() {
        assert_eq!(row.key.advertised(false), row.listed, "{}", row.key);
        let with_unstable = match (row.listed, row.unstable) {
            (Some(listed), Some(max)) => Some(Versions::new(listed.min, max)),
            (listed, _) => listed,
        };
        assert_eq!(row.key.advertised(true), with_unstable, "{}", row.key);
        assert_eq!(row.key.is_for(Listener::Broker), row.broker, "{}", row.key);
        assert_eq!(
            row.key.is_for(Listener::Controller),
            row.controller,
            "{}",
            row.key
        );
        // What is read and written goes up to the release after it.
        let known = row.key.versions().map(|versions| versions.max);
        let next = row.next.map(|versions| versions.max);
        assert_eq!(known, row.unstable.or(next), "{}", row.key);
    }
}

#[test]
fn produce_is_listed_from_version_0_and_served_from_version_3() {
    assert_eq!(
        ApiKey::Produce.advertised(false),
        Some(Versions::new(0, 13))
    );
    assert_eq!(ApiKey::Produce.served(false), Some(Versions::new(3, 13)));
    assert_eq!(ApiKey::Produce.versions(), Some(Versions::new(3, 13)));
}

#[test]
fn wi_036_flexible_versions_begin_where_they_should() {
    for row in rows() {
        let Some(versions) = row.key.versions() else {
            continue;
        };
        for version in versions.min..=versions.max {
            let flexible = row
                .flexible
                .map(|first| first.is_some_and(|first| version >= first));
            let request = if flexible[0] { 2 } else { 1 };
            assert_eq!(
                row.key.request_header_version(version),
                request,
                "{}",
                row.key
            );
            let response = i16::from(flexible[1] && row.key != ApiKey::ApiVersions);
            assert_eq!(
                row.key.response_header_version(version),
                response,
                "{}",
                row.key
            );
        }
    }
    let first: BTreeMap<_, _> = catalogue()
        .into_iter()
        .map(|entry| (entry.name, entry.flexible_since))
        .collect();
    for (name, since) in [
        ("Produce", Some(9)),
        ("Fetch", Some(12)),
        ("ListOffsets", Some(6)),
        ("Metadata", Some(9)),
        ("OffsetCommit", Some(8)),
        ("OffsetFetch", Some(6)),
        ("FindCoordinator", Some(3)),
        ("JoinGroup", Some(6)),
        ("Heartbeat", Some(4)),
        ("LeaveGroup", Some(4)),
        ("SyncGroup", Some(4)),
        ("DescribeGroups", Some(5)),
        ("ListGroups", Some(3)),
        ("SaslHandshake", None),
        ("ApiVersions", Some(3)),
        ("CreateTopics", Some(5)),
        ("DeleteTopics", Some(4)),
        ("DeleteRecords", Some(2)),
        ("InitProducerId", Some(2)),
        ("OffsetForLeaderEpoch", Some(4)),
        ("AddPartitionsToTxn", Some(3)),
        ("AddOffsetsToTxn", Some(3)),
        ("EndTxn", Some(3)),
        ("WriteTxnMarkers", Some(1)),
        ("TxnOffsetCommit", Some(3)),
        ("DescribeConfigs", Some(4)),
        ("AlterConfigs", Some(2)),
        ("SaslAuthenticate", Some(2)),
        ("CreatePartitions", Some(2)),
        ("IncrementalAlterConfigs", Some(1)),
        ("DescribeCluster", Some(0)),
        ("DescribeProducers", Some(0)),
    ] {
        for kind in ["Request", "Response"] {
            assert_eq!(first[format!("{name}{kind}").as_str()], since, "{name}");
        }
    }
}

#[test]
fn wi_047_the_answer_lists_every_key_of_the_listener() {
    for listener in [Listener::Broker, Listener::Controller] {
        let offer = Offer { listener, ..BROKER };
        let wanted: Vec<_> = rows()
            .into_iter()
            .filter(|row| match listener {
                Listener::Broker => row.broker,
                Listener::Controller => row.controller,
            })
            .filter_map(|row| Some(ApiVersion::new(row.key, row.listed?)))
            .collect();
        assert_eq!(offer.api_versions(), wanted);
    }
    let max = |unstable| {
        let list = Offer { unstable, ..BROKER }.api_versions();
        let entry = list.into_iter().find(|entry| entry.api_key == 22);
        entry.map(|entry| entry.max_version)
    };
    assert_eq!(max(false), Some(5));
    assert_eq!(max(true), Some(6));
}

#[test]
fn wi_048_throttle_time_comes_last_and_features_are_tagged() {
    let response = ApiVersionsResponse {
        api_keys: vec![ApiVersion::new(ApiKey::Metadata, Versions::new(0, 13))],
        throttle_time_ms: 5,
        ..ApiVersionsResponse::default()
    };
    let bytes = |version| {
        let encoded = response.encode(version).expect("legal");
        hex::encode(encoded.into_bytes().expect("no gap"))
    };
    assert_eq!(bytes(0), "0000000000010003".to_owned() + "0000000d");
    assert_eq!(bytes(1), "00000000000100030000000d00000005");
    assert_eq!(bytes(2), "00000000000100030000000d00000005");
    assert_eq!(bytes(3), "00000200030000000d000000000500");
    let mut featured = response.clone();
    featured.finalized_features_epoch = 1;
    featured.zk_migration_ready = true;
    let encoded = featured
        .encode(3)
        .expect("legal")
        .into_bytes()
        .expect("no gap");
    let tags = "02".to_owned() + "0108" + "0000000000000001" + "0301" + "01";
    assert!(hex::encode(encoded).ends_with(&tags));
}

#[test]
fn wi_049_quorum_and_telemetry_apis_are_listed_where_they_belong() {
    let keys = |offer: Offer| -> Vec<i16> {
        offer
            .api_versions()
            .iter()
            .map(|entry| entry.api_key)
            .collect()
    };
    let broker = keys(BROKER);
    for key in [
        ApiKey::Vote,
        ApiKey::BeginQuorumEpoch,
        ApiKey::EndQuorumEpoch,
        ApiKey::FetchSnapshot,
    ] {
        assert!(!broker.contains(&key.number()), "{key}");
    }
    let silent = Offer {
        telemetry: false,
        ..BROKER
    };
    for key in [ApiKey::GetTelemetrySubscriptions, ApiKey::PushTelemetry] {
        assert!(broker.contains(&key.number()), "{key}");
        assert!(!keys(silent).contains(&key.number()), "{key}");
        assert_eq!(silent.served(key), None);
    }
}

#[test]
fn an_api_without_a_handler_is_neither_listed_nor_taken() {
    let small = Offer {
        apis: ApiSet::of(&[ApiKey::ApiVersions, ApiKey::Metadata]),
        ..BROKER
    };
    let listed: Vec<_> = small.api_versions().iter().map(|it| it.api_key).collect();
    assert_eq!(listed, [3, 18]);
    assert_eq!(small.served(ApiKey::Fetch), None);
    assert_eq!(
        small.served(ApiKey::Metadata),
        BROKER.served(ApiKey::Metadata)
    );
}

fn feature(name: &'static str, supported: Versions, finalized: i16) -> FeatureLevels {
    FeatureLevels {
        name: name.into(),
        supported,
        finalized,
    }
}

#[test]
fn wi_050_without_an_epoch_no_features_are_told() {
    let mut response = ApiVersionsResponse::default();
    assert_eq!(response.finalized_features_epoch, -1);
    response.set_features(4, Some(3), &[feature("f", Versions::new(1, 4), 3)]);
    response.set_features(4, None, &[feature("f", Versions::new(1, 4), 3)]);
    assert_eq!(response, ApiVersionsResponse::default());
}

#[test]
fn wi_051_supported_and_finalized_levels_are_told() {
    let mut response = ApiVersionsResponse::default();
    let features = [
        feature("feature", Versions::new(1, 4), 3),
        feature("off", Versions::new(0, 2), 0),
    ];
    response.set_features(4, Some(10), &features);
    assert_eq!(response.finalized_features_epoch, 10);
    let supported = &response.supported_features;
    assert_eq!(supported[0].name, "feature");
    assert_eq!((supported[0].min_version, supported[0].max_version), (1, 4));
    assert_eq!(supported.len(), 2);
    let [finalized] = &response.finalized_features[..] else {
        panic!("one is in force");
    };
    assert_eq!(finalized.name, "feature");
    assert_eq!(
        (finalized.min_version_level, finalized.max_version_level),
        (3, 3)
    );
    // Clients before version 4 are not told of features that start at level 0.
    response.set_features(3, Some(10), &features);
    assert_eq!(response.supported_features.len(), 1);
}

#[test]
fn wi_052_common_versions_are_where_the_ranges_meet() {
    let common = |a: (i16, i16), b: (i16, i16)| {
        Versions::new(a.0, a.1)
            .common(Versions::new(b.0, b.1))
            .map(|v| (v.min, v.max))
    };
    assert_eq!(common((0, 9), (3, 13)), Some((3, 9)));
    assert_eq!(common((3, 13), (0, 9)), Some((3, 9)));
    assert_eq!(common((0, 3), (3, 5)), Some((3, 3)));
    assert_eq!(common((0, 2), (3, 5)), None);
    assert_eq!(common((1, 1), (1, 1)), Some((1, 1)));

    let mut response = ApiVersionsResponse {
        api_keys: vec![
            ApiVersion::new(ApiKey::Metadata, Versions::new(2, 99)),
            ApiVersion::new(ApiKey::Fetch, Versions::new(0, 3)),
        ],
        ..ApiVersionsResponse::default()
    };
    assert_eq!(
        response.usable(ApiKey::Metadata),
        Some(Versions::new(2, 13))
    );
    assert_eq!(
        response.usable(ApiKey::Fetch),
        None,
        "the ranges do not meet"
    );
    assert_eq!(
        response.usable(ApiKey::ListOffsets),
        None,
        "the server lacks it"
    );
    response.api_keys.push(ApiVersion {
        api_key: 4,
        ..ApiVersion::default()
    });
    assert_eq!(response.usable(ApiKey::LeaderAndIsr), None, "we lack it");
    assert_eq!(response.error_code, ErrorCode::NONE);
}

#[test]
#[should_panic(expected = "versions of two APIs")]
fn wi_052_comparing_two_keys_is_a_bug() {
    let fetch = ApiVersion::new(ApiKey::Fetch, Versions::new(0, 3));
    let _ = fetch.common(&ApiVersion::new(ApiKey::Produce, Versions::new(0, 3)));
}
