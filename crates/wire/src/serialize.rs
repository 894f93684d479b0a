//! [`AtVersion`]: a message as `serde` sees it, for logs, dumps and tests.
//!
//! A map of the fields that the version has, under their names. UUIDs are in their hyphened
//! form, bytes and records in hexadecimal digits, and unknown tags a map `_unknown_tags` from the
//! tag to its bytes, which is there if any tag is.
//!
//! Messages do not meet `serde` themselves: each gives a tree of [`Shown`], the same type for all of
//! them. A serializer is then compiled for that one type, not for each of some five hundred structs.

use std::borrow::Cow;

use bytes::Bytes;
use bytestring::ByteString;
use klamm_primitives::{
    BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, Uuid,
};
use serde::ser::Error as _;
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

impl<M: Show> Serialize for AtVersion<'_, M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.message.show(self.context).serialize(serializer)
    }
}

/// What is shown of a value depends on the version.
pub trait Show {
    /// Shows what the version has.
    fn show(&self, context: Context) -> Shown<'_>;
}

/// A value as `serde` sees it.
#[derive(Debug)]
pub enum Shown<'a> {
    Null,
    Truth(bool),
    Integer(i64),
    Float(f64),
    Text(Cow<'a, str>),
    /// Bytes, as hexadecimal digits.
    Hex(&'a [u8]),
    List(Vec<Shown<'a>>),
    Map(Vec<(Cow<'static, str>, Shown<'a>)>),
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Truth(truth) => serializer.serialize_bool(*truth),
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Hex(bytes) => serializer.serialize_str(&hex(bytes).map_err(S::Error::custom)?),
            Self::List(list) => serializer.collect_seq(list),
            Self::Map(entries) => serializer.collect_map(entries.iter().map(|(k, v)| (k, v))),
        }
    }
}

fn hex(bytes: &[u8]) -> Result<String, std::fmt::Error> {
    use std::fmt::Write as _;

    let mut digits = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(digits, "{byte:02x}")?;
    }
    Ok(digits)
}

/// The fields of a struct while they are gathered.
#[derive(Default)]
pub(crate) struct Fields<'a>(Vec<(Cow<'static, str>, Shown<'a>)>);

impl<'a> Fields<'a> {
    /// Adds a field.
    pub(crate) fn add(&mut self, name: &'static str, value: &'a dyn Show, context: Context) {
        self.0.push((name.into(), value.show(context)));
    }

    /// Adds the unknown tags, if there are any.
    pub(crate) fn add_unknown_tags(&mut self, tags: &'a UnknownTags) {
        if !tags.is_empty() {
            let tags = tags.iter();
            let tags = tags.map(|(tag, value)| (tag.to_string().into(), Shown::Hex(value)));
            let tags = Shown::Map(tags.collect());
            self.0.push(("_unknown_tags".into(), tags));
        }
    }

    /// All of them.
    pub(crate) fn end(self) -> Shown<'a> {
        Shown::Map(self.0)
    }
}

macro_rules! shown {
    ($($type:ty: |$value:ident| $shown:expr;)*) => {
        $(impl Show for $type {
            fn show(&self, _: Context) -> Shown<'_> {
                let $value = self;
                $shown
            }
        })*
    };
}

shown! {
    bool: |truth| Shown::Truth(*truth);
    i8: |number| Shown::Integer((*number).into());
    i16: |number| Shown::Integer((*number).into());
    u16: |number| Shown::Integer((*number).into());
    i32: |number| Shown::Integer((*number).into());
    u32: |number| Shown::Integer((*number).into());
    i64: |number| Shown::Integer(*number);
    f64: |number| Shown::Float(*number);
    ErrorCode: |code| Shown::Integer(code.get().into());
    CorrelationId: |id| Shown::Integer(id.get().into());
    BrokerId: |id| Shown::Integer(id.get().into());
    BrokerEpoch: |epoch| Shown::Integer(epoch.get());
    LeaderEpoch: |epoch| Shown::Integer(epoch.get().into());
    Offset: |offset| Shown::Integer(offset.get());
    PartitionIndex: |index| Shown::Integer(index.get().into());
    ProducerEpoch: |epoch| Shown::Integer(epoch.get().into());
    ProducerId: |id| Shown::Integer(id.get());
    ByteString: |text| Shown::Text((&**text).into());
    Bytes: |bytes| Shown::Hex(bytes);
    Uuid: |uuid| Shown::Text(hyphened(*uuid).into());
    Records: |records| match records {
        Records::Here(bytes) => Shown::Hex(bytes),
        Records::Elsewhere(len) => Shown::Text(format!("{len} bytes elsewhere").into()),
    };
    BrokerIds: |ids| Shown::List(ids.iter().map(|id| Shown::Integer(id.get().into())).collect());
}

fn hyphened(uuid: Uuid) -> String {
    let digits = format!("{:032x}", u128::from_be_bytes(*uuid.as_bytes()));
    let parts = [
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..],
    ];
    parts.join("-")
}

impl<T: Show> Show for Option<T> {
    fn show(&self, context: Context) -> Shown<'_> {
        match self {
            Some(value) => value.show(context),
            None => Shown::Null,
        }
    }
}

impl<T: Show> Show for Vec<T> {
    fn show(&self, context: Context) -> Shown<'_> {
        let mut list = Vec::with_capacity(self.len());
        for value in self {
            list.push(value.show(context));
        }
        Shown::List(list)
    }
}
