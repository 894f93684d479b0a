//! How values stand on the wire: what the derive macros build on.
//!
//! Reading goes through [`Reader`], which knows the frame and what is left of it. Writing is one pass
//! through [`Writer`], which notes whether it met anything that the version cannot say. [`Measure`]
//! counts the same bytes without writing them, and refuses the same values by name: it is asked for
//! lengths, and for what was wrong. All get a [`Context`], the message's version, as fields of nested
//! structs go by the version of the whole message.

mod context;
mod encoded;
mod fault;
mod measure;
mod message;
mod number;
mod primitive;
mod reader;
mod records;
mod sequence;
#[cfg(test)]
mod tests;
mod unknown_tags;
mod value;
mod versions;
mod writer;

pub(crate) use context::Context;
pub(crate) use fault::{MeasureFault, ReadFault};
pub(crate) use measure::Measure;
#[cfg(feature = "serde")]
pub(crate) use message::context_of;
pub(crate) use message::encode_frame;
pub(crate) use reader::Reader;
pub(crate) use value::{Fixed, Nullable, Struct, Value, read_some_into};
pub(crate) use writer::Writer;

pub use encoded::{Encoded, Piece, Pieces};
pub use fault::{DecodeError, EncodeError, FieldPath, Malformed, Step, Unencodable};
pub use message::{
    CoordinatorKey, CoordinatorValue, Listeners, Message, MetadataRecord, Request, Response,
};
pub use records::Records;
pub use unknown_tags::UnknownTags;
pub use versions::Versions;
