//! The codec on messages made for the purpose, whose versions differ in every way there is.

mod runs;
mod tags;
mod values;
mod versions;

use bytes::Bytes;

use super::{DecodeError, EncodeError, Malformed, Message, Unencodable};

/// Bytes out of hexadecimal digits; blanks are for reading.
fn hex(digits: &str) -> Bytes {
    let digits: String = digits.split_whitespace().collect();
    hex::decode(digits).expect("hex").into()
}

/// Decodes a message that uses up all bytes.
#[track_caller]
fn decode<M: Message>(version: i16, digits: &str) -> M {
    let mut body = hex(digits);
    let message = M::decode(&mut body, version).expect("a good message");
    assert!(body.is_empty(), "{} bytes left", body.len());
    message
}

/// Decodes what must be refused: the field, the position and the reason.
#[track_caller]
fn refused<M: Message>(version: i16, digits: &str) -> (String, usize, Malformed) {
    let body = hex(digits);
    let mut rest = body.clone();
    match M::decode(&mut rest, version) {
        Err(DecodeError::Malformed {
            message,
            version: in_version,
            field,
            position,
            reason,
        }) => {
            assert_eq!((message, in_version), (M::NAME, version));
            assert_eq!(rest, body, "a refused body is left as it was");
            (field.to_string(), position, reason)
        }
        other => panic!("{other:?}"),
    }
}

/// Encodes, with the length checked, and decodes again.
#[track_caller]
fn encode<M: Message>(message: &M, version: i16) -> Bytes {
    let len = message.encoded_len(version).expect("legal in this version");
    let encoded = message.encode(version).expect("legal in this version");
    assert_eq!(len, encoded.len());
    let bytes = encoded.into_bytes().expect("no gap");
    assert_eq!(len, bytes.len());
    bytes
}

/// Encodes what must be refused: the field and the reason.
#[track_caller]
fn unencodable<M: Message>(message: &M, version: i16) -> (String, Unencodable) {
    let by_len = message.encoded_len(version);
    let by_encode = message.encode(version);
    match (by_len, by_encode) {
        (
            Err(EncodeError::Field {
                message,
                version: in_version,
                field,
                reason,
            }),
            Err(again),
        ) => {
            assert_eq!((message, in_version), (M::NAME, version));
            let field_text = field.to_string();
            assert_eq!(
                again,
                EncodeError::Field {
                    message,
                    version,
                    field,
                    reason
                }
            );
            (field_text, reason)
        }
        other => panic!("{other:?}"),
    }
}
