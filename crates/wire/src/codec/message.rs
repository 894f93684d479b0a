//! [`Message`] and the traits of its kinds: what whoever sends and receives messages sees.

use std::fmt;

use bytes::{Buf, Bytes};

use super::context::Context;
use super::encoded::Encoded;
use super::fault::{DecodeError, EncodeError, MeasureFault};
use super::measure::{LEN_MAX, Measure};
use super::reader::Reader;
use super::value::Value;
use super::versions::Versions;
use super::writer::Writer;
use crate::api_key::ApiKey;

/// How many bytes of memory arrays may take for each byte of a body. What takes most is a struct
/// of many strings, each of 32 bytes, where a byte on the wire stands for an empty one.
const MEMORY_PER_BYTE_MAX: usize = 32;

/// Arrays may always take so many bytes of memory.
const MEMORY_MAX_MIN: usize = 64 * 1024;

/// A message: a request, a response, a header, or a record of an internal log.
///
/// The struct's fields are the schema; this trait reads and writes it in one of its versions.
/// It cannot be implemented outside this crate.
///
/// ```
/// use klamm_wire::Message;
/// use klamm_wire::messages::init_producer_id::InitProducerIdRequest;
///
/// let request = InitProducerIdRequest { transaction_timeout_ms: 1000, ..Default::default() };
/// let encoded = request.encode(4)?;
/// assert_eq!(encoded.len(), request.encoded_len(4)?);
///
/// let mut body = encoded.into_bytes().expect("no records, hence no gap");
/// assert_eq!(InitProducerIdRequest::decode(&mut body, 4)?, request);
/// assert!(body.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Message:
    Value + Default + Clone + PartialEq + fmt::Debug + Send + Sync + 'static
{
    /// The name, such as `ProduceRequest`.
    const NAME: &'static str;

    /// The versions that there are.
    const VERSIONS: Versions;

    /// The first version with compact lengths and tagged fields; `None` if none has them.
    const FLEXIBLE_SINCE: Option<i16>;

    /// Whether the highest version may still change, and is hence not offered by default.
    const LATEST_UNSTABLE: bool;

    /// Reads the message from the front of `body`. What is behind it stays in `body`: whether
    /// that is an error is the caller's to say (a broker ignores it in requests). Strings, bytes
    /// and records are slices of `body` and keep its buffer alive.
    ///
    /// Memory is taken for the elements of arrays and for tagged fields that no schema names: at
    /// most 64 KiB and 32 times the length of `body`, which no sensible message comes near.
    ///
    /// # Errors
    /// [`DecodeError::UnsupportedVersion`]; [`DecodeError::Malformed`] if the bytes are not a
    /// message of that version. `body` is then untouched.
    fn decode(body: &mut Bytes, version: i16) -> Result<Self, DecodeError> {
        let memory_max = body.len().saturating_mul(MEMORY_PER_BYTE_MAX);
        Self::decode_within(body, version, memory_max.saturating_add(MEMORY_MAX_MIN))
    }

    /// As [`Self::decode`], with another limit on the memory that is taken.
    ///
    /// # Errors
    /// As there; [`Malformed::TooMuchMemory`](super::Malformed::TooMuchMemory) is what the limit
    /// leads to.
    fn decode_within(
        body: &mut Bytes,
        version: i16,
        memory_max: usize,
    ) -> Result<Self, DecodeError> {
        let facts = Facts::of::<Self>();
        let Some(context) = facts.context(version) else {
            return Err(facts.not_decoded(version));
        };
        let mut reader = Reader::new(body, memory_max);
        // Filled where it is returned, as messages are long to move.
        let mut decoded = Ok(Self::default());
        if let Ok(message) = &mut decoded {
            match message.read_into(&mut reader, context) {
                Ok(()) => {
                    let read = body.len() - reader.left();
                    body.advance(read);
                }
                Err(fault) => decoded = Err(fault.into_error(Self::NAME, version)),
            }
        }
        decoded
    }

    /// Checks that the version can carry the message, and counts its bytes, gaps included.
    ///
    /// # Errors
    /// [`EncodeError::UnsupportedVersion`]; [`EncodeError::Field`] if a field has a value that
    /// the version cannot say; [`EncodeError::TooLong`] above 2³¹ - 1 bytes.
    fn encoded_len(&self, version: i16) -> Result<usize, EncodeError> {
        let mut lengths = Measure::default();
        let measure = |lengths: &mut Measure, context| self.measure(lengths, context);
        Facts::of::<Self>().measure(version, &mut lengths, &measure)?;
        Ok(lengths.len())
    }

    /// Writes the message.
    ///
    /// # Errors
    /// As [`Self::encoded_len`].
    fn encode(&self, version: i16) -> Result<Encoded, EncodeError> {
        let measure = |lengths: &mut Measure, context| self.measure(lengths, context);
        let write = |writer: &mut Writer, context| self.write(writer, context);
        Facts::of::<Self>().encode(version, &measure, &write)
    }
}

/// A request.
pub trait Request: Message {
    /// What answers it.
    type Response: Response;

    /// The number that stands in the request's header.
    const KEY: ApiKey;

    /// Where a server takes it.
    const LISTENERS: Listeners;
}

/// A response.
pub trait Response: Message {
    /// The key of the request that it answers.
    const KEY: ApiKey;
}

/// The key of a record in a coordinator's internal topic.
pub trait CoordinatorKey: Message {
    /// The number that stands before the key.
    const RECORD_TYPE: i16;
}

/// The value of a record in a coordinator's internal topic.
pub trait CoordinatorValue: Message {
    /// The number that stands before its key.
    const RECORD_TYPE: i16;
}

/// A record of the metadata log, or of the remote log's.
pub trait MetadataRecord: Message {
    /// The number that stands before the record.
    const RECORD_TYPE: i16;
}

/// The kinds of listeners on which a server takes a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Listeners {
    /// Those of brokers, for clients and other brokers.
    pub broker: bool,
    /// Those of controllers.
    pub controller: bool,
}

/// What is the same in all of a message's versions, for code that is the same for all messages.
#[derive(Clone, Copy)]
struct Facts {
    name: &'static str,
    versions: Versions,
    flexible_since: Option<i16>,
}

impl Facts {
    #[inline]
    const fn of<M: Message>() -> Self {
        Self {
            name: M::NAME,
            versions: M::VERSIONS,
            flexible_since: M::FLEXIBLE_SINCE,
        }
    }

    /// The context of a version, if the message has it.
    #[inline]
    fn context(&self, version: i16) -> Option<Context> {
        self.versions
            .contains(version)
            .then(|| Context::new(version, self.flexible_since))
    }

    #[cold]
    #[inline(never)]
    fn not_decoded(&self, version: i16) -> DecodeError {
        DecodeError::UnsupportedVersion {
            message: self.name,
            version,
            versions: self.versions,
        }
    }

    /// Measures a message by `measure`, behind what has been measured.
    fn measure(
        &self,
        version: i16,
        lengths: &mut Measure,
        measure: &dyn Fn(&mut Measure, Context) -> Result<(), MeasureFault>,
    ) -> Result<(), EncodeError> {
        let Some(context) = self.context(version) else {
            return Err(self.not_encoded(version));
        };
        if let Err(fault) = measure(lengths, context) {
            return Err(fault.into_error(self.name, version));
        }
        if lengths.len() > LEN_MAX {
            return Err(EncodeError::TooLong {
                message: self.name,
                version,
                len: lengths.len(),
            });
        }
        Ok(())
    }

    /// Writes a message by `write`; if that is refused, `measure` tells why.
    fn encode(
        &self,
        version: i16,
        measure: &dyn Fn(&mut Measure, Context) -> Result<(), MeasureFault>,
        write: &dyn Fn(&mut Writer, Context),
    ) -> Result<Encoded, EncodeError> {
        let Some(context) = self.context(version) else {
            return Err(self.not_encoded(version));
        };
        let mut writer = Writer::new();
        write(&mut writer, context);
        writer
            .finish()
            .ok_or_else(|| self.refusal(version, Measure::default(), measure))
    }

    #[cold]
    #[inline(never)]
    fn not_encoded(&self, version: i16) -> EncodeError {
        EncodeError::UnsupportedVersion {
            message: self.name,
            version,
            versions: self.versions,
        }
    }

    /// Why a message was refused while it was written, behind what was measured before: `measure`
    /// refuses the same, and tells.
    ///
    /// # Panics
    /// If it does not, which would be a mistake in this crate.
    #[cold]
    #[inline(never)]
    fn refusal(
        &self,
        version: i16,
        mut before: Measure,
        measure: &dyn Fn(&mut Measure, Context) -> Result<(), MeasureFault>,
    ) -> EncodeError {
        self.measure(version, &mut before, measure)
            .expect_err("what is not written is not measured either")
    }
}

/// The context of a version, if the message has it.
#[cfg(feature = "serde")]
pub(crate) fn context_of<M: Message>(version: i16) -> Option<Context> {
    Facts::of::<M>().context(version)
}

/// Writes a whole frame: the size, a header and a body, each in its version.
pub(crate) fn encode_frame<H: Message, M: Message>(
    (header, header_version): (&H, i16),
    (body, version): (&M, i16),
) -> Result<Encoded, EncodeError> {
    let (of_header, of_body) = (Facts::of::<H>(), Facts::of::<M>());
    let Some(header_context) = of_header.context(header_version) else {
        return Err(of_header.not_encoded(header_version));
    };
    let Some(context) = of_body.context(version) else {
        return Err(of_body.not_encoded(version));
    };
    let mut writer = Writer::of_frame();
    header.write(&mut writer, header_context);
    body.write(&mut writer, context);
    writer.finish().ok_or_else(|| {
        let mut lengths = Measure::default();
        let measure = |lengths: &mut Measure, context| header.measure(lengths, context);
        match of_header.measure(header_version, &mut lengths, &measure) {
            Err(error) => error,
            Ok(()) => of_body.refusal(version, lengths, &|lengths, context| {
                body.measure(lengths, context)
            }),
        }
    })
}
