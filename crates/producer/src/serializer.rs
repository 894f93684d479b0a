//! [`Serializer`]: typed keys and values in, bytes out. (P1.4)

use std::error::Error;

use bytes::Bytes;
use bytestring::ByteString;
use thiserror::Error;

use crate::record::RecordHeader;

/// Turns keys or values of one type into bytes.
///
/// A type that holds its bytes already gives them as they are; any other writes into `scratch`,
/// which is empty and is used again for the next record, so that no record costs an allocation.
pub trait Serializer<T: ?Sized>: Send + Sync {
    /// The bytes of `data`, out of itself or out of `scratch`.
    ///
    /// # Errors
    /// Whatever keeps the value from being written; the record is then refused.
    fn serialize<'a>(
        &self,
        target: Target<'_>,
        data: &'a T,
        scratch: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], SerializeError>;

    /// Whether `scratch` is ever written to; if not, none is kept ready.
    fn uses_scratch(&self) -> bool {
        true
    }

    /// Called once, when the producer has been closed.
    fn close(&self) {}
}

/// Where a key or a value goes to.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The record's topic.
    pub topic: &'a str,
    /// The record's headers.
    pub headers: &'a [RecordHeader],
}

/// Why a value could not be serialized.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct SerializeError(Box<dyn Error + Send + Sync>);

impl SerializeError {
    /// For that reason: an error or a text.
    pub fn new(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(reason.into())
    }
}

/// Takes what is bytes already.
#[derive(Debug, Clone, Copy, Default)]
pub struct BytesSerializer;

macro_rules! holds_its_bytes {
    ($($kind:ty),*) => {$(
        impl Serializer<$kind> for BytesSerializer {
            fn serialize<'a>(
                &self,
                _target: Target<'_>,
                data: &'a $kind,
                _scratch: &'a mut Vec<u8>,
            ) -> Result<&'a [u8], SerializeError> {
                Ok(data.as_ref())
            }

            fn uses_scratch(&self) -> bool {
                false
            }
        }
    )*};
}

holds_its_bytes!(
    Bytes,
    Vec<u8>,
    &'static [u8],
    [u8],
    ByteString,
    String,
    str,
    &'static str
);

/// Writes numbers as Kafka's own serializers do: big-endian, in their full length.
#[derive(Debug, Clone, Copy, Default)]
pub struct NumberSerializer;

macro_rules! big_endian {
    ($($number:ty),*) => {$(
        impl Serializer<$number> for NumberSerializer {
            fn serialize<'a>(
                &self,
                _target: Target<'_>,
                data: &'a $number,
                scratch: &'a mut Vec<u8>,
            ) -> Result<&'a [u8], SerializeError> {
                scratch.extend_from_slice(&data.to_be_bytes());
                Ok(scratch)
            }
        }
    )*};
}

big_endian!(i16, i32, i64, f32, f64, u16, u32, u64);

#[cfg(test)]
mod tests {
    use super::*;

    /// Covers P1.4.
    #[test]
    fn bytes_are_passed_on_and_numbers_are_written_big_endian() {
        let target = Target {
            topic: "t",
            headers: &[],
        };
        let mut scratch = Vec::new();
        let data = Bytes::from_static(b"as it is");
        let bytes = BytesSerializer.serialize(target, &data, &mut scratch);
        assert_eq!(bytes.unwrap().as_ptr(), data.as_ptr());
        let bytes = NumberSerializer.serialize(target, &-2_i32, &mut scratch);
        assert_eq!(bytes.unwrap(), [255, 255, 255, 254]);
    }
}
