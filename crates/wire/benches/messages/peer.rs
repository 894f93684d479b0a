//! The peer's value for the same bytes.

use bytes::Bytes;
use kafka_protocol::protocol::Decodable;

/// Reads bytes that are known to be good and to hold nothing else.
pub(crate) fn decode<P: Decodable>(bytes: &Bytes, version: i16) -> P {
    let mut body = bytes.clone();
    let message = P::decode(&mut body, version).expect("what was written can be read");
    assert!(body.is_empty(), "the peer reads all of it");
    message
}
