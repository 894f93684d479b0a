//! The messages of the Apache Kafka protocol: structs that are their own schema.
//!
//! A message is a Rust struct; each field says in an attribute in which versions it exists, where
//! it may be null and what it is when absent. A derive macro makes the codec, so whoever wants to
//! know what version 9 of a Produce request holds reads [`messages::produce::ProduceRequest`] and
//! nothing else.
//!
//! Decoding takes slices of the frame: no string and no record is copied, and every length is
//! checked against the bytes that are left before memory is taken. Encoding measures first
//! ([`Message::encoded_len`], which finds whatever the version cannot say), then writes once.
//! Records may be bytes or a length that somebody else supplies, say from a file: see [`Records`]
//! and [`Encoded`].
//!
//! The crate knows no socket and no task, and never looks inside records.
//!
//! Read first: [`Message`], [`messages::produce`] and [`Encoded`].

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
#[cfg(feature = "serde")]
pub use serialize::AtVersion;
