//! A record in bytes, for keys and values that are no lines. Each stands behind its length (see
//! [`Framing::LengthPrefixed`](crate::produce::framing::Framing)); all numbers are big-endian and
//! signed.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | partition; -1: let the producer choose |
//! | 8 | time in Unix milliseconds; -1: now |
//! | 4 + n | length of the key, the key; -1: none |
//! | 4 + n | length of the value, the value; -1: none |
//! | 4 | how many headers |
//! | 4 + n, 4 + n | each header's name in UTF-8, and its value; -1: none |

use bytes::{Buf, Bytes};
use thiserror::Error;

use crate::produce::parts::Parts;

/// A header takes so many bytes at least: two lengths.
const HEADER_BYTES_MIN: usize = 8;

/// Bytes that are no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum BinaryError {
    /// A field goes beyond the record's end.
    #[error("its {0} goes beyond its end")]
    Short(&'static str),
    /// A length or a count below what can be.
    #[error("the length of its {field} is {length}")]
    Negative {
        /// Which field.
        field: &'static str,
        /// What it says.
        length: i32,
    },
    /// A header's name is not text.
    #[error("a header's name is not UTF-8")]
    HeaderName,
    /// There is more than the last header.
    #[error("{0} bytes are left behind it")]
    Trailing(usize),
}

/// Reads a record. Its fields are slices of the frame.
///
/// # Errors
/// [`BinaryError`].
pub(crate) fn read(frame: &Bytes) -> Result<Parts, BinaryError> {
    let mut rest = frame.clone();
    let short = BinaryError::Short;
    let partition = rest.try_get_i32().map_err(|_| short("partition"))?;
    let timestamp_ms = rest.try_get_i64().map_err(|_| short("time"))?;
    let key = field(&mut rest, "key")?;
    let value = field(&mut rest, "value")?;
    let field_name = "count of headers";
    let length = rest.try_get_i32().map_err(|_| short(field_name))?;
    let Ok(count) = usize::try_from(length) else {
        let field = field_name;
        return Err(BinaryError::Negative { field, length });
    };
    if count > rest.len() / HEADER_BYTES_MIN {
        return Err(short("headers"));
    }
    let mut headers = Vec::with_capacity(count);
    for _ in 0..count {
        let name = field(&mut rest, "header's name")?.ok_or(BinaryError::Negative {
            field: "header's name",
            length: -1,
        })?;
        let name = std::str::from_utf8(&name).map_err(|_| BinaryError::HeaderName)?;
        headers.push((name.to_owned(), field(&mut rest, "header's value")?));
    }
    if !rest.is_empty() {
        return Err(BinaryError::Trailing(rest.len()));
    }
    Ok(Parts {
        key,
        value,
        headers,
        partition: (partition != -1).then_some(partition),
        timestamp_ms: (timestamp_ms != -1).then_some(timestamp_ms),
    })
}

fn field(rest: &mut Bytes, field: &'static str) -> Result<Option<Bytes>, BinaryError> {
    let length = rest.try_get_i32().map_err(|_| BinaryError::Short(field))?;
    match usize::try_from(length) {
        Ok(size) if size <= rest.len() => Ok(Some(rest.split_to(size))),
        Ok(_) => Err(BinaryError::Short(field)),
        Err(_) if length == -1 => Ok(None),
        Err(_) => Err(BinaryError::Negative { field, length }),
    }
}

#[cfg(test)]
mod tests {
    use bytes::{BufMut, BytesMut};

    use super::*;

    /// Writes as the table says, by itself.
    fn written() -> Bytes {
        let mut frame = BytesMut::new();
        frame.put_i32(2);
        frame.put_i64(77);
        for field in [&b"k\n"[..], b""] {
            frame.put_i32(i32::try_from(field.len()).unwrap());
            frame.put_slice(field);
        }
        frame.put_i32(2);
        frame.put_slice(b"\0\0\0\x01a\0\0\0\x01\xff\0\0\0\0\xff\xff\xff\xff");
        frame.freeze()
    }

    #[test]
    fn a_record_has_what_the_table_says() {
        let expected = Parts {
            key: Some("k\n".into()),
            value: Some(Bytes::new()),
            headers: vec![
                ("a".to_owned(), Some(Bytes::from_static(b"\xff"))),
                (String::new(), None),
            ],
            partition: Some(2),
            timestamp_ms: Some(77),
        };
        assert_eq!(read(&written()), Ok(expected));
        let mut absent = vec![0xff; 20];
        absent.extend([0; 4]);
        assert_eq!(read(&absent.into()), Ok(Parts::default()));
    }

    #[test]
    fn every_prefix_and_every_altered_byte_is_read_or_refused() {
        let whole = written();
        for end in 0..whole.len() {
            let error = read(&whole.slice(..end)).unwrap_err();
            assert!(matches!(error, BinaryError::Short(_)), "{end}: {error}");
        }
        for at in 0..whole.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut altered = whole.to_vec();
                altered[at] = byte;
                // Whatever it says, a record takes no more than the frame has.
                if let Ok(parts) = read(&altered.into()) {
                    assert!(parts.headers.len() <= whole.len() / HEADER_BYTES_MIN);
                }
            }
        }
        let mut longer = whole.to_vec();
        longer.push(0);
        assert_eq!(read(&longer.into()), Err(BinaryError::Trailing(1)));
    }

    #[test]
    fn lengths_below_minus_1_and_counts_beyond_the_frame_are_refused() {
        let mut frame = vec![0xff; 12];
        frame.extend((-2_i32).to_be_bytes());
        let negative = BinaryError::Negative {
            field: "key",
            length: -2,
        };
        assert_eq!(read(&frame.into()), Err(negative));
        let mut frame = vec![0xff; 20];
        frame.extend(i32::MAX.to_be_bytes());
        assert_eq!(read(&frame.into()), Err(BinaryError::Short("headers")));
    }
}
