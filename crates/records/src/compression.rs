//! Codecs, their levels, and their names.
//!
//! The codec is in a batch's attributes; the level is the writer's affair and stands nowhere in
//! the batch.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

mod gzip;
mod inflate;
mod level;
mod lz4;
mod reuse;
mod snappy;
mod topic;
mod zstd;

pub use inflate::InflateError;
pub(crate) use inflate::Inflated;
pub use level::{GzipLevel, LevelError, Levels, Lz4Level, ZstdLevel};
pub use reuse::{Codecs, DeflateError};
pub use topic::TopicCompression;

/// How the records of a batch may be compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Codec {
    /// Not at all.
    #[default]
    None = 0,
    /// A gzip stream (RFC 1952).
    Gzip = 1,
    /// Snappy blocks, as snappy-java frames them.
    Snappy = 2,
    /// An LZ4 frame.
    Lz4 = 3,
    /// A Zstandard frame (RFC 8878).
    Zstd = 4,
}

/// How to compress: a codec and, where it has any, its level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// With gzip.
    Gzip(GzipLevel),
    /// With snappy.
    Snappy,
    /// With LZ4.
    Lz4(Lz4Level),
    /// With Zstandard.
    Zstd(ZstdLevel),
}

/// The attributes of a batch name a codec that there is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("unknown compression codec {id}")]
pub struct UnknownCodec {
    /// 5, 6 or 7.
    pub id: u8,
}

/// The text names no codec.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{name}` is no compression: expected one of {expected}")]
pub struct UnknownCompression {
    name: String,
    expected: &'static str,
}

impl Codec {
    /// All codecs by their ids.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The number that stands in a batch's attributes.
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// The codec with that number.
    ///
    /// # Errors
    /// [`UnknownCodec`] above 4.
    pub fn from_id(id: u8) -> Result<Self, UnknownCodec> {
        Self::ALL
            .get(usize::from(id))
            .copied()
            .ok_or(UnknownCodec { id })
    }

    /// The name in settings: `none`, `gzip`, `snappy`, `lz4`, `zstd`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// This codec at the level that is set for it.
    pub const fn at(self, levels: &Levels) -> Compression {
        match self {
            Self::None => Compression::None,
            Self::Gzip => Compression::Gzip(levels.gzip),
            Self::Snappy => Compression::Snappy,
            Self::Lz4 => Compression::Lz4(levels.lz4),
            Self::Zstd => Compression::Zstd(levels.zstd),
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Codec {
    type Err = UnknownCompression;

    /// Names are lower case and nothing else.
    fn from_str(name: &str) -> Result<Self, UnknownCompression> {
        Self::ALL
            .into_iter()
            .find(|codec| codec.name() == name)
            .ok_or_else(|| UnknownCompression {
                name: name.to_owned(),
                expected: "none, gzip, snappy, lz4, zstd",
            })
    }
}

impl Compression {
    /// The codec, as a batch's attributes name it.
    pub const fn codec(self) -> Codec {
        match self {
            Self::None => Codec::None,
            Self::Gzip(_) => Codec::Gzip,
            Self::Snappy => Codec::Snappy,
            Self::Lz4(_) => Codec::Lz4,
            Self::Zstd(_) => Codec::Zstd,
        }
    }
}

#[cfg(test)]
mod tests;
