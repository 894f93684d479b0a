//! Requests and responses as whole frames.

use bytes::Bytes;
use klamm_wire::header::{CorrelationId, RequestHeader};
use klamm_wire::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use klamm_wire::messages::create_topics::{CreateTopicsRequest, CreateTopicsResponse};
use klamm_wire::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use klamm_wire::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use klamm_wire::messages::produce::ProduceResponse;
use klamm_wire::{
    ApiKey, ApiSet, DecodeError, EncodeError, ErrorCode, Listener, Message, Offer, Request,
    RequestError, RequestFrame, correlation_id, decode_response, encode_request, encode_response,
};

const BROKER: Offer = Offer {
    listener: Listener::Broker,
    unstable: false,
    telemetry: false,
    apis: ApiSet::ALL,
};

fn hex(digits: &str) -> Bytes {
    let digits: String = digits.split_whitespace().collect();
    hex::decode(digits).expect("hex").into()
}

/// A frame's content: what is behind its size.
fn request<R: Request>(version: i16, request: &R) -> Bytes {
    let header = RequestHeader::of::<R>(version, CorrelationId::new(7), Some("me".into()));
    let encoded = encode_request(&header, request).expect("legal");
    let bytes = encoded.into_bytes().expect("no gap");
    let size = i32::from_be_bytes(*bytes.first_chunk().expect("a size"));
    assert_eq!(
        usize::try_from(size).expect("not negative"),
        bytes.len() - 4
    );
    bytes.slice(4..)
}

#[test]
fn wi_037_a_request_header_with_an_empty_client_id_takes_10_bytes_or_11() {
    let header = RequestHeader {
        client_id: Some("".into()),
        ..RequestHeader::default()
    };
    assert_eq!(header.encoded_len(1), Ok(10));
    assert_eq!(header.encoded_len(2), Ok(11));
    let header = RequestHeader::of::<MetadataRequest>(9, CorrelationId::new(5), Some("ab".into()));
    let bytes = header.encode(2).expect("legal").into_bytes();
    assert_eq!(bytes, Some(hex("0003 0009 00000005 0002 6162 00")));
}

#[test]
fn wi_038_a_null_or_empty_client_id_is_accepted() {
    for digits in [
        "0003 0001 00000005 ffff ffffffff",
        "0003 0001 00000005 0000 ffffffff",
    ] {
        let frame = RequestFrame::parse(hex(digits), &BROKER).expect("a request");
        assert_eq!(frame.header.client_id.unwrap_or_default(), "");
    }
    let flexible = hex("0003 0009 00000005 ffff 00 00 01 00 00 00");
    assert_eq!(
        RequestFrame::parse(flexible, &BROKER)
            .expect("a request")
            .header
            .client_id,
        None
    );
}

/// `ControlledShutdown` version 0, the only request with header version 0, is gone: its key is
/// known and no version of it is served, so what would be its client id does not matter.
#[test]
fn wi_039_header_version_0_belongs_to_a_request_that_is_not_served() {
    assert_eq!(ApiKey::ControlledShutdown.versions(), None);
    let error = RequestFrame::parse(hex("0007 0000 00000005 00000001"), &BROKER);
    assert!(error.expect_err("gone").closes_connection());
    assert!(RequestHeader::default().encode(0).is_err());
}

#[test]
fn wi_040_response_headers_take_4_bytes_or_5() {
    let len = |version| {
        let response = CreateTopicsResponse::default();
        let body = response.encoded_len(version).expect("legal");
        let frame = encode_response(CorrelationId::new(1), &response, version).expect("legal");
        frame.len() - 4 - body
    };
    assert_eq!(len(4), 4);
    assert_eq!(len(5), 5);
    assert_eq!(ApiKey::Produce.response_header_version(3), 0);
    let produce = ProduceResponse::default();
    let frame = encode_response(CorrelationId::new(1), &produce, 3).expect("legal");
    assert_eq!(frame.len(), 4 + 4 + produce.encoded_len(3).expect("legal"));
    // ApiVersions is read by clients that do not know the server yet.
    for version in 0..=5 {
        assert_eq!(ApiKey::ApiVersions.response_header_version(version), 0);
    }
}

#[test]
fn wi_041_any_correlation_id_comes_back() {
    for id in [0, 1, -1, i32::MIN, i32::MAX] {
        let id = CorrelationId::new(id);
        let response = InitProducerIdResponse::default();
        let frame = encode_response(id, &response, 4)
            .expect("legal")
            .into_bytes();
        let frame = frame.expect("no gap").slice(4..);
        assert_eq!(correlation_id(&frame), Some(id));
        let (header, read) = decode_response::<InitProducerIdRequest>(frame, 4).expect("legal");
        assert_eq!((header.correlation_id, read), (id, response));
    }
    assert_eq!(correlation_id(&[0, 0, 0]), None);
}

#[test]
fn wi_042_unknown_keys_and_headers_that_cannot_be_read_close_the_connection() {
    for key in [-1i16, 10_000] {
        let mut frame = key.to_be_bytes().to_vec();
        frame.extend([0; 8]);
        let error = RequestFrame::parse(frame.into(), &BROKER).expect_err("unknown");
        assert_eq!(error, RequestError::UnknownKey { key });
        assert!(error.closes_connection());
    }
    for len in 0..4 {
        let error = RequestFrame::parse(vec![0; len].into(), &BROKER).expect_err("short");
        assert_eq!(error, RequestError::TooShort { len });
        assert!(error.closes_connection());
    }
    // A client id of five bytes, of which two are there; and a compact one, which is no header.
    for digits in [
        "0003 0001 00000005 0005 6162",
        "0012 0003 00000001 066b6c616d6d 00",
    ] {
        let error = RequestFrame::parse(hex(digits), &BROKER).expect_err("cut");
        assert!(matches!(
            error,
            RequestError::Header(DecodeError::Malformed { .. })
        ));
        assert!(error.closes_connection());
    }
}

#[test]
fn wi_042_the_header_version_follows_from_key_and_version() {
    let rigid = request(8, &MetadataRequest::default());
    let flexible = request(9, &MetadataRequest::default());
    for (frame, version) in [(rigid, 8), (flexible, 9)] {
        let frame = RequestFrame::parse(frame, &BROKER).expect("a request");
        assert_eq!((frame.key, frame.version()), (ApiKey::Metadata, version));
        assert_eq!(frame.header.client_id.as_deref(), Some("me"));
        assert_eq!(frame.decode(), Ok(MetadataRequest::default()));
    }
}

#[test]
fn wi_043_a_version_that_is_not_served_closes_the_connection() {
    for (key, version) in [(3, 99), (3, -1), (0, 2), (0, 0), (22, 6)] {
        let mut frame = i16::to_be_bytes(key).to_vec();
        frame.extend(i16::to_be_bytes(version));
        frame.extend([0; 4]);
        frame.extend([0, 0, 0, 0, 0, 0]);
        let error = RequestFrame::parse(frame.into(), &BROKER).expect_err("not served");
        assert!(
            matches!(error, RequestError::UnsupportedVersion { .. }),
            "key {key} version {version}: {error:?}"
        );
        assert!(error.closes_connection());
    }
    let unstable = Offer {
        unstable: true,
        ..BROKER
    };
    let frame = request(6, &InitProducerIdRequest::default());
    assert!(RequestFrame::parse(frame, &unstable).is_ok());
}

/// Covers WI-043: ApiVersions is the exception, whatever its version and body.
#[test]
fn an_unknown_version_of_api_versions_is_answered() {
    for version in [5i16, 99, i16::MAX, -1] {
        let mut frame = vec![0, 18];
        frame.extend(version.to_be_bytes());
        frame.extend([0, 0, 0, 9, 0xff, 0xff, 0, 0xde, 0xad]);
        let error = RequestFrame::parse(frame.into(), &BROKER).expect_err("not served");
        let RequestError::ApiVersionsUnknown { header } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(header.correlation_id, CorrelationId::new(9));
        assert!(!error.closes_connection());

        let answer = BROKER.unsupported_api_versions();
        let frame = encode_response(header.correlation_id, &answer, 0).expect("legal");
        let wanted = "00000010 00000009 0023 00000001 0012 0000 0004";
        assert_eq!(frame.into_bytes(), Some(hex(wanted)));
    }
}

#[test]
fn wi_044_a_request_for_another_kind_of_listener_closes_the_connection() {
    let controller = Offer {
        listener: Listener::Controller,
        ..BROKER
    };
    let metadata = request(9, &MetadataRequest::default());
    let error = RequestFrame::parse(metadata, &controller).expect_err("for brokers");
    assert!(matches!(
        error,
        RequestError::NotServed {
            key: ApiKey::Metadata,
            ..
        }
    ));
    assert!(error.closes_connection());
    let vote = hex("0034 0000 00000001 ffff 00 00");
    let error = RequestFrame::parse(vote, &BROKER).expect_err("for controllers");
    assert!(matches!(
        error,
        RequestError::NotServed {
            key: ApiKey::Vote,
            ..
        }
    ));
    let both = request(5, &CreateTopicsRequest::default());
    assert!(RequestFrame::parse(both.clone(), &BROKER).is_ok());
    assert!(RequestFrame::parse(both, &controller).is_ok());
}

#[test]
fn wi_045_bytes_behind_a_body_change_nothing() {
    let body = MetadataRequest {
        topics: Some(vec![MetadataRequestTopic {
            name: Some("t".into()),
            ..MetadataRequestTopic::default()
        }]),
        ..MetadataRequest::default()
    };
    let mut frame = request(9, &body).to_vec();
    frame.extend(b"more");
    let frame = RequestFrame::parse(frame.into(), &BROKER).expect("a request");
    assert_eq!(frame.decode(), Ok(body));
}

#[test]
fn wi_046_a_header_of_another_request_is_caught() {
    let header = RequestHeader::of::<MetadataRequest>(3, CorrelationId::new(1), None);
    assert_eq!(
        encode_request(&header, &InitProducerIdRequest::default()),
        Err(EncodeError::HeaderMismatch {
            message: "InitProducerIdRequest",
            header_key: 3
        })
    );
    let header = RequestHeader::of::<InitProducerIdRequest>(7, CorrelationId::new(1), None);
    assert!(matches!(
        encode_request(&header, &InitProducerIdRequest::default()),
        Err(EncodeError::UnsupportedVersion { version: 7, .. })
    ));
}

#[test]
#[should_panic(expected = "the frame's key says what its body is")]
fn wi_046_a_body_of_another_request_is_not_read() {
    let frame = request(9, &MetadataRequest::default());
    let frame = RequestFrame::parse(frame, &BROKER).expect("a request");
    let _ = frame.decode::<InitProducerIdRequest>();
}

#[test]
fn wi_053_an_answer_in_version_0_is_read_whatever_was_asked() {
    let v0 = BROKER
        .unsupported_api_versions()
        .encode(0)
        .expect("legal")
        .into_bytes()
        .expect("no gap");
    for asked in 0..=5 {
        let read = ApiVersionsResponse::decode_asked(&mut v0.clone(), asked).expect("version 0");
        assert_eq!(read.error_code, ErrorCode::UNSUPPORTED_VERSION);
        assert_eq!(read.api_keys.len(), 1);
        assert_eq!(
            read.listed(ApiKey::Produce),
            None,
            "only good for asking again"
        );
        assert_eq!(read.usable(ApiKey::ApiVersions).map(|v| v.max), Some(4));
        let empty = ApiVersionsResponse::decode_asked(&mut Bytes::new(), asked);
        assert!(empty.is_err(), "an empty body is none of any version");
    }
    let asked = ApiVersionsResponse {
        throttle_time_ms: 5,
        ..ApiVersionsResponse::default()
    };
    let mut body = asked
        .encode(3)
        .expect("legal")
        .into_bytes()
        .expect("no gap");
    assert_eq!(ApiVersionsResponse::decode_asked(&mut body, 3), Ok(asked));
}

#[test]
fn wi_054_software_names_are_checked_from_version_3_on() {
    let named = |name: &'static str, version: &'static str| ApiVersionsRequest {
        client_software_name: name.into(),
        client_software_version: version.into(),
        ..ApiVersionsRequest::default()
    };
    let good = [
        "apache-kafka.java",
        "a",
        "A9",
        "librdkafka",
        "0.0.0-SNAPSHOT",
    ];
    for word in good {
        assert!(named(word, "0.0.0-SNAPSHOT").is_valid(3), "{word}");
        assert!(named("client", word).is_valid(4), "{word}");
    }
    let bad = ["", "-a", "a-", ".a", "a.", "a b", "a_b", "ä", "a\n"];
    for word in bad {
        for version in 0..3 {
            assert!(named(word, word).is_valid(version), "{word}");
        }
        assert!(!named(word, "1").is_valid(3), "{word}");
        assert!(!named("client", word).is_valid(3), "{word}");
    }
    let mut targeted = named("client", "1");
    targeted.cluster_id = Some("c".into());
    assert!(targeted.is_valid(4) && !targeted.is_valid(5));
    targeted.node_id = 1.into();
    assert!(targeted.is_valid(5));
    targeted.cluster_id = None;
    assert!(!targeted.is_valid(5));
}
