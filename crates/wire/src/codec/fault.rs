//! What can be wrong with a message, and where.
//!
//! Inside the codec a fault is one pointer, so that the results of reading stay small; it learns
//! the names of the fields around it on its way out. The public errors add message and version.

use std::fmt;
use std::str::Utf8Error;

use thiserror::Error;

use super::versions::Versions;

/// Why bytes are not the message they should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The message has no such version.
    #[error("{message} has no version {version}, only {versions}")]
    UnsupportedVersion {
        /// The message's name.
        message: &'static str,
        /// The version asked for.
        version: i16,
        /// The versions that there are.
        versions: Versions,
    },
    /// The body breaks the rules of its version.
    #[error("{message} version {version}, `{field}` at byte {position}: {reason}")]
    Malformed {
        /// The message's name.
        message: &'static str,
        /// The version in which it was read.
        version: i16,
        /// The field that could not be read; empty for the message's own tagged section.
        field: FieldPath,
        /// Bytes from the start of the body to what is wrong.
        position: usize,
        /// What is wrong.
        reason: Malformed,
    },
}

/// What is wrong with the bytes of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Malformed {
    /// The body ends inside a number.
    #[error("the input ends inside a number")]
    Truncated,
    /// A variable-length number goes on after the last byte that it may have.
    #[error("a variable-length number does not end")]
    VarintTooLong,
    /// A length or count below -1.
    #[error("length {length} is negative")]
    NegativeLength {
        /// What stands there.
        length: i64,
    },
    /// A length greater than what is left of the body, or of the tagged field around it.
    #[error("length {length}, but only {left} bytes are left")]
    LengthBeyondInput {
        /// The length in bytes.
        length: u32,
        /// The bytes behind it.
        left: usize,
    },
    /// More elements than the bytes that are left could hold.
    #[error("{count} elements of {len_min} or more bytes each, but only {left} bytes are left")]
    CountBeyondInput {
        /// The number of elements.
        count: u32,
        /// The fewest bytes that one takes.
        len_min: usize,
        /// The bytes behind it.
        left: usize,
    },
    /// The elements of an array, or a tagged field that no schema names, would take more memory
    /// than is allowed for all of the message's.
    #[error("{count} elements would take {memory} bytes of memory, {left} are left")]
    TooMuchMemory {
        /// The number of elements.
        count: u32,
        /// The memory that they take, without what they in turn hold.
        memory: usize,
        /// How much may still be taken.
        left: usize,
    },
    /// A string longer than 32767 bytes.
    #[error("a string of {length} bytes is too long")]
    StringTooLong {
        /// The length in bytes.
        length: u32,
    },
    /// Null where this version has none.
    #[error("null is not legal here in this version")]
    Null,
    /// A string that is not UTF-8.
    #[error("not UTF-8 from byte {valid_up_to} of the string on")]
    NotUtf8 {
        /// How many bytes are in order.
        valid_up_to: usize,
    },
    /// A tag that does not rise above the one before it.
    #[error("tag {tag} after tag {previous}")]
    TagOrder {
        /// The tag.
        tag: u32,
        /// The tag before it in the same section.
        previous: u32,
    },
    /// A tagged field is shorter than the size that was given for it.
    #[error("tag {tag} has {left} bytes that do not belong to its value")]
    TagNotUsedUp {
        /// The tag.
        tag: u32,
        /// The bytes behind the value.
        left: usize,
    },
}

/// Why a message cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// The message has no such version.
    #[error("{message} has no version {version}, only {versions}")]
    UnsupportedVersion {
        /// The message's name.
        message: &'static str,
        /// The version asked for.
        version: i16,
        /// The versions that there are.
        versions: Versions,
    },
    /// A field has a value that this version cannot carry.
    #[error("{message} version {version}, `{field}`: {reason}")]
    Field {
        /// The message's name.
        message: &'static str,
        /// The version in which it was to be written.
        version: i16,
        /// The field.
        field: FieldPath,
        /// What is wrong with it.
        reason: Unencodable,
    },
    /// The whole is longer than a frame's size can say.
    #[error("{message} version {version} takes {len} bytes, more than a frame can hold")]
    TooLong {
        /// The message's name.
        message: &'static str,
        /// The version in which it was to be written.
        version: i16,
        /// The length in bytes.
        len: usize,
    },
    /// The header speaks of another message than the one behind it.
    #[error("the header says API key {header_key}, the body is {message}")]
    HeaderMismatch {
        /// The message's name.
        message: &'static str,
        /// The API key in the header.
        header_key: i16,
    },
}

/// What is wrong with a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Unencodable {
    /// Not the default, in a version that lacks the field.
    #[error("this version has no such field, and it is not at its default")]
    NotInVersion,
    /// Null where this version has none.
    #[error("null is not legal here in this version")]
    Null,
    /// A string longer than 32767 bytes of UTF-8.
    #[error("a string of {len} bytes is too long")]
    StringTooLong {
        /// The length in bytes.
        len: usize,
    },
    /// Bytes, records or elements beyond what a 32-bit length can say.
    #[error("{len} bytes or elements are too many")]
    TooLong {
        /// The length or count.
        len: usize,
    },
    /// An unknown tagged field with the tag of a known one.
    #[error("unknown tag {tag} has the number of a known field")]
    KnownTag {
        /// The tag.
        tag: u32,
    },
}

/// The way from a message to one of its fields, such as `topics[3].partitions[0].records`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct FieldPath {
    /// Outermost last.
    steps: Vec<Step>,
}

/// One step of a [`FieldPath`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Into a field.
    Field(&'static str),
    /// Into an element of an array.
    Index(usize),
}

impl FieldPath {
    /// The steps, from the message inwards.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        self.steps.iter().rev().copied()
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.steps().enumerate() {
            match step {
                Step::Field(name) if at == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// A reason with the path to it, as it travels through the codec.
#[derive(Debug)]
pub struct Fault<R>(Box<(R, FieldPath)>);

/// A fault while reading.
pub(crate) type ReadFault = Fault<(usize, Malformed)>;

/// A fault while measuring.
pub(crate) type MeasureFault = Fault<Unencodable>;

impl<R> Fault<R> {
    #[cold]
    #[inline(never)]
    fn new(reason: R) -> Self {
        Self(Box::new((reason, FieldPath::default())))
    }

    /// Notes that the fault is inside the field `name`.
    #[cold]
    #[inline(never)]
    pub(crate) fn within(mut self, name: &'static str) -> Self {
        self.0.1.steps.push(Step::Field(name));
        self
    }

    /// Notes that the fault is inside the element at `index`.
    #[cold]
    #[inline(never)]
    pub(crate) fn at(mut self, index: usize) -> Self {
        self.0.1.steps.push(Step::Index(index));
        self
    }
}

impl ReadFault {
    #[cold]
    #[inline(never)]
    pub(crate) fn malformed(position: usize, reason: Malformed) -> Self {
        Self::new((position, reason))
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn into_error(self, message: &'static str, version: i16) -> DecodeError {
        let ((position, reason), field) = *self.0;
        DecodeError::Malformed {
            message,
            version,
            field,
            position,
            reason,
        }
    }
}

impl MeasureFault {
    #[cold]
    #[inline(never)]
    pub(crate) fn unencodable(reason: Unencodable) -> Self {
        Self::new(reason)
    }

    /// The field is not in this version and not at its default.
    #[cold]
    #[inline(never)]
    pub(crate) fn absent(name: &'static str) -> Self {
        Self::new(Unencodable::NotInVersion).within(name)
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn null() -> Self {
        Self::new(Unencodable::Null)
    }

    pub(crate) fn into_error(self, message: &'static str, version: i16) -> EncodeError {
        let (reason, field) = *self.0;
        EncodeError::Field {
            message,
            version,
            field,
            reason,
        }
    }
}

impl From<Utf8Error> for Malformed {
    fn from(error: Utf8Error) -> Self {
        Self::NotUtf8 {
            valid_up_to: error.valid_up_to(),
        }
    }
}
