//! Responses as frames: [`encode_response`] on the server's side, [`decode_response`] on the
//! client's.

use bytes::Bytes;

use crate::codec::{DecodeError, EncodeError, Encoded, Message, Request, Response, encode_frame};
use crate::header::{CorrelationId, ResponseHeader};

/// Writes a whole frame: size, header and response.
///
/// # Errors
/// As [`Message::encode`].
pub fn encode_response<R: Response>(
    correlation_id: CorrelationId,
    response: &R,
    version: i16,
) -> Result<Encoded, EncodeError> {
    let header = ResponseHeader {
        correlation_id,
        ..ResponseHeader::default()
    };
    let header_version = R::KEY.response_header_version(version);
    encode_frame((&header, header_version), (response, version))
}

/// The correlation id in front of a response, which tells what it answers; `None` if the frame is
/// too short.
pub fn correlation_id(frame: &[u8]) -> Option<CorrelationId> {
    let id = frame.first_chunk()?;
    Some(CorrelationId::new(i32::from_be_bytes(*id)))
}

/// Reads the frame that answers `R` of this version: header and response.
///
/// # Errors
/// [`DecodeError`], of the header or of the response.
pub fn decode_response<R: Request>(
    mut frame: Bytes,
    version: i16,
) -> Result<(ResponseHeader, R::Response), DecodeError> {
    let header_version = R::KEY.response_header_version(version);
    let header = ResponseHeader::decode(&mut frame, header_version)?;
    let response = R::Response::decode(&mut frame, version)?;
    Ok((header, response))
}
