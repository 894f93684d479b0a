//! All messages in one list, for tests that go over every one of them (feature `testing`).

mod catalogue;
mod random;

use std::any::Any;
use std::fmt;

use bytes::Bytes;

use crate::coordinator::RecordKey;
use crate::{
    DecodeError, EncodeError, Encoded, Message, MetadataRecord, Request, Response, Versions,
};

use crate::codec::context_of;
use crate::serialize::Show;

pub use catalogue::catalogue;
pub use random::{Chosen, Entropy, Random, Seeded};
pub(crate) use random::{vary, vary_nullable};

/// What kind of message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A request.
    Request,
    /// A response.
    Response,
    /// A header.
    Header,
    /// Something that is neither asked nor answered.
    Data,
    /// The key of a record in a coordinator's topic.
    CoordinatorKey,
    /// The value of a record in a coordinator's topic.
    CoordinatorValue,
    /// A record of the metadata log.
    MetadataRecord,
}

/// A kind of message.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: &'static str,
    /// Its API key or record type.
    pub key: Option<i16>,
    /// Its versions.
    pub versions: Versions,
    /// Its first flexible version.
    pub flexible_since: Option<i16>,
    /// [`Message::decode`].
    pub decode: Decode,
    /// Makes a message that is legal in a version; `None` in a version that there is not.
    pub random: fn(&mut dyn Entropy, i16) -> Option<Box<dyn AnyMessage>>,
}

/// [`Message::decode`] of a type that is not known to the caller.
pub type Decode = fn(&mut Bytes, i16) -> Result<Box<dyn AnyMessage>, DecodeError>;

/// A message whose type is not known to the caller.
pub trait AnyMessage: Any + fmt::Debug {
    /// [`Message::encoded_len`].
    ///
    /// # Errors
    /// As there.
    fn encoded_len(&self, version: i16) -> Result<usize, EncodeError>;

    /// [`Message::encode`].
    ///
    /// # Errors
    /// As there.
    fn encode(&self, version: i16) -> Result<Encoded, EncodeError>;

    /// [`AtVersion`](crate::AtVersion) as JSON; null in a version that the message does not have.
    fn to_json(&self, version: i16) -> serde_json::Value;

    /// Whether the other is of the same type and equal.
    fn equals(&self, other: &dyn AnyMessage) -> bool;
}

impl<M: Message + Show> AnyMessage for M {
    fn encoded_len(&self, version: i16) -> Result<usize, EncodeError> {
        Message::encoded_len(self, version)
    }

    fn encode(&self, version: i16) -> Result<Encoded, EncodeError> {
        Message::encode(self, version)
    }

    fn to_json(&self, version: i16) -> serde_json::Value {
        context_of::<M>(version).map_or(serde_json::Value::Null, |context| {
            serde_json::to_value(self.show(context)).unwrap_or_default()
        })
    }

    fn equals(&self, other: &dyn AnyMessage) -> bool {
        (other as &dyn Any).downcast_ref() == Some(self)
    }
}

/// A message with all that the list needs.
pub trait Listed: Message + Show + Random {}

impl<M: Message + Show + Random> Listed for M {}

/// The entry of a message.
fn entry<M: Listed>(kind: Kind, key: Option<i16>) -> Entry {
    Entry {
        kind,
        name: M::NAME,
        key,
        versions: M::VERSIONS,
        flexible_since: M::FLEXIBLE_SINCE,
        decode: |body, version| Ok(Box::new(M::decode(body, version)?)),
        random: |entropy, version| {
            let context = context_of::<M>(version)?;
            Some(Box::new(M::random(entropy, context)))
        },
    }
}

/// Adds a request and its response.
pub(crate) fn pair<R>(entries: &mut Vec<Entry>)
where
    R: Request<Response: Listed> + Listed,
{
    entries.push(entry::<R>(Kind::Request, Some(R::KEY.number())));
    let key = <R::Response as Response>::KEY;
    entries.push(entry::<R::Response>(Kind::Response, Some(key.number())));
}

/// Adds a structure that is neither asked nor answered.
pub(crate) fn data<M: Listed>(entries: &mut Vec<Entry>) {
    entries.push(entry::<M>(Kind::Data, None));
}

/// Adds a record of the metadata log or of the remote log's.
pub(crate) fn metadata_record<R>(entries: &mut Vec<Entry>)
where
    R: MetadataRecord + Listed,
{
    entries.push(entry::<R>(Kind::MetadataRecord, Some(R::RECORD_TYPE)));
}

/// Adds the key of a coordinator's record and its value.
pub(crate) fn record<K>(entries: &mut Vec<Entry>)
where
    K: RecordKey<Value: Listed> + Listed,
{
    let key = Some(K::RECORD_TYPE);
    entries.push(entry::<K>(Kind::CoordinatorKey, key));
    entries.push(entry::<K::Value>(Kind::CoordinatorValue, key));
}
