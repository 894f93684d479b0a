//! [`AtVersion`]: a message as `serde` sees it, for logs, dumps and tests.
//!
//! A map of the fields that the version has, under their names. UUIDs are in their hyphened
//! form, bytes and records in hexadecimal digits, and unknown tags a map `_unknown_tags` from the
//! tag to its bytes, which is there if any tag is.

use bytes::Bytes;
use bytestring::ByteString;
use klamm_primitives::{
    BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, Uuid,
};
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use crate::Message;
use crate::broker_ids::BrokerIds;
use crate::codec::{Context, Records, UnknownTags, context_of};
use crate::error_code::ErrorCode;
use crate::header::CorrelationId;

/// A message in one of its versions, for `serde` to write.
///
/// ```
/// use klamm_wire::AtVersion;
/// use klamm_wire::messages::list_offsets::ListOffsetsResponse;
///
/// let response = ListOffsetsResponse::default();
/// let json = serde_json::to_string(&AtVersion::new(&response, 1).unwrap()).unwrap();
/// assert_eq!(json, r#"{"topics":[]}"#);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct AtVersion<'a, M> {
    message: &'a M,
    context: Context,
}

impl<'a, M: Message> AtVersion<'a, M> {
    /// The message in this version, if it has it.
    pub fn new(message: &'a M, version: i16) -> Option<Self> {
        let context = context_of::<M>(version)?;
        Some(Self { message, context })
    }
}

impl<M: Message + SerializeAt> Serialize for AtVersion<'_, M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.message.serialize_at(self.context, serializer)
    }
}

/// What is written of a value depends on the version.
pub trait SerializeAt {
    /// Writes what the version has.
    fn serialize_at<S: Serializer>(
        &self,
        context: Context,
        serializer: S,
    ) -> Result<S::Ok, S::Error>;
}

/// A value in a version.
pub(crate) struct At<'a, T>(pub(crate) &'a T, pub(crate) Context);

impl<T: SerializeAt> Serialize for At<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_at(self.1, serializer)
    }
}

macro_rules! plain {
    ($($type:ty: |$value:ident| $plain:expr;)*) => {
        $(impl SerializeAt for $type {
            fn serialize_at<S: Serializer>(
                &self,
                _: Context,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                let $value = self;
                $plain.serialize(serializer)
            }
        })*
    };
}

plain! {
    bool: |value| value;
    i8: |value| value;
    i16: |value| value;
    u16: |value| value;
    i32: |value| value;
    u32: |value| value;
    i64: |value| value;
    f64: |value| value;
    ErrorCode: |code| code.get();
    CorrelationId: |id| id.get();
    BrokerId: |id| id.get();
    BrokerEpoch: |epoch| epoch.get();
    LeaderEpoch: |epoch| epoch.get();
    Offset: |offset| offset.get();
    PartitionIndex: |index| index.get();
    ProducerEpoch: |epoch| epoch.get();
    ProducerId: |id| id.get();
    ByteString: |text| **text;
    Bytes: |bytes| Hex(bytes);
}

impl SerializeAt for Uuid {
    fn serialize_at<S: Serializer>(&self, _: Context, serializer: S) -> Result<S::Ok, S::Error> {
        let digits = format!("{:032x}", u128::from_be_bytes(*self.as_bytes()));
        let parts = [
            &digits[..8],
            &digits[8..12],
            &digits[12..16],
            &digits[16..20],
            &digits[20..],
        ];
        serializer.serialize_str(&parts.join("-"))
    }
}

impl SerializeAt for Records {
    fn serialize_at<S: Serializer>(&self, _: Context, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Here(bytes) => Hex(bytes).serialize(serializer),
            Self::Elsewhere(len) => serializer.collect_str(&format_args!("{len} bytes elsewhere")),
        }
    }
}

impl SerializeAt for UnknownTags {
    fn serialize_at<S: Serializer>(&self, _: Context, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.iter().len()))?;
        for (tag, value) in self {
            map.serialize_entry(&tag.to_string(), &Hex(value))?;
        }
        map.end()
    }
}

impl SerializeAt for BrokerIds {
    fn serialize_at<S: Serializer>(&self, _: Context, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|id| id.get()))
    }
}

impl<T: SerializeAt> SerializeAt for Option<T> {
    fn serialize_at<S: Serializer>(
        &self,
        context: Context,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => serializer.serialize_some(&At(value, context)),
            None => serializer.serialize_none(),
        }
    }
}

impl<T: SerializeAt> SerializeAt for Vec<T> {
    fn serialize_at<S: Serializer>(
        &self,
        context: Context,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.len()))?;
        for value in self {
            list.serialize_element(&At(value, context))?;
        }
        list.end()
    }
}

/// Bytes in hexadecimal digits.
struct Hex<'a>(&'a [u8]);

impl Serialize for Hex<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use std::fmt::Write as _;

        let mut digits = String::with_capacity(self.0.len() * 2);
        for byte in self.0 {
            write!(digits, "{byte:02x}").map_err(S::Error::custom)?;
        }
        serializer.serialize_str(&digits)
    }
}
