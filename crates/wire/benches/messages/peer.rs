//! What the peer does with the same bytes and values.

use bytes::{Bytes, BytesMut};
use kafka_protocol::protocol::{Decodable, Encodable};

/// Reads bytes that are known to be good and to hold nothing else.
pub(crate) fn decode<P: Decodable>(bytes: &Bytes, version: i16) -> P {
    let mut body = bytes.clone();
    let message = P::decode(&mut body, version).expect("what was written can be read");
    assert!(body.is_empty(), "the peer reads all of it");
    message
}

/// Writes a message behind what is in the buffer.
pub(crate) fn encode<P: Encodable>(message: &P, version: i16, mut buffer: BytesMut) -> Bytes {
    message.encode(&mut buffer, version).expect("legal");
    buffer.freeze()
}
