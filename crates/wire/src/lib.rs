//! The messages of the Apache Kafka protocol: structs that are their own schema.
//!
//! A message is a Rust struct; each field says in an attribute in which versions it exists, where
//! it may be null and what it is when absent. A derive macro makes the codec, so whoever wants to
//! know what version 9 of a Produce request holds reads [`messages::produce::ProduceRequest`] and
//! nothing else.
//!
//! Decoding takes slices of the frame: no string and no record is copied, and every length is
//! checked against the bytes that are left before memory is taken. Encoding is one pass, and refuses
//! what the version cannot say; [`Message::encoded_len`] tells the exact length without it.
//! Records may be bytes or a length that somebody else supplies, say from a file: see [`Records`]
//! and [`Encoded`].
//!
//! The crate knows no socket and no task, and never looks inside records.
//!
//! Read first: [`Message`], [`messages::produce`] and [`Encoded`].
//!
//! # A request and its answer
//!
//! What a client and a server do, but for the sockets between them:
//!
//! ```
//! use bytes::{Bytes, BytesMut};
//! use klamm_wire::header::{CorrelationId, RequestHeader};
//! use klamm_wire::messages::fetch::{
//!     FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData,
//! };
//! use klamm_wire::{
//!     ApiSet, FrameCodec, Listener, Offer, Piece, Records, RequestFrame, decode_response,
//!     encode_request, encode_response,
//! };
//! use tokio_util::codec::Decoder;
//!
//! // A client asks, in a version that both sides have. Size and header are part of the frame.
//! let header = RequestHeader::of::<FetchRequest>(12, CorrelationId::new(7), Some("me".into()));
//! let asked = FetchRequest { max_wait_ms: 500, min_bytes: 1, ..FetchRequest::default() };
//! let frame = encode_request(&header, &asked)?.into_bytes().ok_or("a request has no gaps")?;
//!
//! // A server cuts what comes in into frames of a bounded size. The header says which request it
//! // is and in which version; what the server does not offer is refused here.
//! let mut stream = BytesMut::from(frame);
//! let body = FrameCodec::new(1 << 20).decode(&mut stream)?.ok_or("it is not complete yet")?;
//! let offer = Offer {
//!     listener: Listener::Broker,
//!     unstable: false,
//!     telemetry: false,
//!     apis: ApiSet::ALL,
//! };
//! let request = RequestFrame::parse(body, &offer)?;
//! assert_eq!(request.decode::<FetchRequest>()?, asked);
//!
//! // Its answer is of the same version and has the same correlation id. The records are in a
//! // file: only their length is known here, and a gap is left for them.
//! let file = Bytes::from_static(b"record batches");
//! let partition = PartitionData {
//!     records: Some(Records::Elsewhere(file.len())),
//!     ..PartitionData::default()
//! };
//! let topic = FetchableTopicResponse {
//!     topic: "clicks".into(),
//!     partitions: vec![partition],
//!     ..FetchableTopicResponse::default()
//! };
//! let answer = FetchResponse { responses: vec![topic], ..FetchResponse::default() };
//! let encoded = encode_response(request.header.correlation_id, &answer, request.version())?;
//! let mut written = Vec::with_capacity(encoded.len());
//! for piece in encoded {
//!     match piece {
//!         Piece::Bytes(bytes) => written.extend_from_slice(&bytes),
//!         Piece::Gap(len) => written.extend_from_slice(&file[..len]), // or sendfile(2)
//!     }
//! }
//!
//! // The client reads it; what it gets are slices of the frame.
//! let frame = Bytes::from(written).slice(4..);
//! let (header, received) = decode_response::<FetchRequest>(frame, 12)?;
//! assert_eq!(header.correlation_id, CorrelationId::new(7));
//! assert_eq!(received.responses[0].partitions[0].records, Some(Records::Here(file)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod api_key;
mod api_set;
mod broker_ids;
mod codec;
pub mod coordinator;
pub mod data;
mod error_code;
mod features;
mod form;
mod frame;
pub mod header;
pub mod messages;
pub mod metadata;
mod offer;
mod prelude;
mod request;
mod response;
mod security_protocol;
#[cfg(feature = "serde")]
mod serialize;
#[cfg(feature = "testing")]
pub mod testing;

pub use api_key::{ApiKey, Listener};
pub use api_set::ApiSet;
pub use broker_ids::BrokerIds;
pub use codec::{
    CoordinatorKey, CoordinatorValue, DecodeError, EncodeError, Encoded, FieldPath, Listeners,
    Malformed, Message, MetadataRecord, Piece, Pieces, Records, Request, Response, Step,
    Unencodable, UnknownTags, Versions,
};
pub use error_code::{ErrorCode, Retry};
pub use features::FeatureLevels;
pub use form::FormError;
pub use frame::{FrameCodec, FrameError, Stranger};
pub use offer::Offer;
pub use request::{RequestError, RequestFrame, encode_request};
pub use response::{correlation_id, decode_response, encode_response};
pub use security_protocol::SecurityProtocol;
#[cfg(feature = "serde")]
pub use serialize::AtVersion;

/// The examples of the README are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
