//! Levels of compression, each a type that only a fitting number becomes.

use thiserror::Error;

use crate::compression::Codec;

/// The number is no level of that codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{level} is no {codec} level: expected {least} to {most}{}", match codec {
    Codec::Gzip => " or -1 for the default",
    _ => "",
})]
pub struct LevelError {
    /// Whose level it should be.
    pub codec: Codec,
    /// What was given.
    pub level: i32,
    /// The lowest level.
    pub least: i32,
    /// The highest level.
    pub most: i32,
}

/// Makes the type of a codec's levels.
macro_rules! level {
    ($(#[$doc:meta])* $name:ident, $codec:ident: $least:literal..=$most:literal, $default:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(i32);

        impl $name {
            /// The lowest level.
            pub const LEAST: Self = Self($least);

            /// The highest level.
            pub const MOST: Self = Self($most);

            /// The number of the level.
            pub const fn get(self) -> i32 {
                self.0
            }

            const fn in_range(level: i32) -> Result<Self, LevelError> {
                if $least <= level && level <= $most {
                    return Ok(Self(level));
                }
                Err(LevelError {
                    codec: Codec::$codec,
                    level,
                    least: $least,
                    most: $most,
                })
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self($default)
            }
        }
    };
}

level! {
    /// A level of gzip, 1 (fast) to 9 (small); 6 is the default.
    GzipLevel, Gzip: 1..=9, 6
}

level! {
    /// A level of LZ4, 1 to 17; 9 is the default.
    ///
    /// Accepted so that settings of Apache Kafka hold, without effect: the encoder in use has one
    /// speed, the fast one, which is also what the reference takes for its default level. Frames
    /// of any level are read.
    Lz4Level, Lz4: 1..=17, 9
}

level! {
    /// A level of Zstandard, -131072 (fast) to 22 (small); 3 is the default.
    ZstdLevel, Zstd: -131_072..=22, 3
}

impl GzipLevel {
    /// The level with that number; -1 is the default one.
    ///
    /// # Errors
    /// [`LevelError`] for anything but -1 and 1 to 9.
    pub const fn new(level: i32) -> Result<Self, LevelError> {
        match level {
            -1 => Ok(Self(6)),
            _ => Self::in_range(level),
        }
    }
}

impl Lz4Level {
    /// The level with that number.
    ///
    /// # Errors
    /// [`LevelError`] for anything but 1 to 17.
    pub const fn new(level: i32) -> Result<Self, LevelError> {
        Self::in_range(level)
    }
}

impl ZstdLevel {
    /// The level with that number.
    ///
    /// # Errors
    /// [`LevelError`] for anything but -131072 to 22.
    pub const fn new(level: i32) -> Result<Self, LevelError> {
        Self::in_range(level)
    }
}

/// The level of each codec that has any, as settings give them beside the codec.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Levels {
    /// `compression.gzip.level`
    pub gzip: GzipLevel,
    /// `compression.lz4.level`
    pub lz4: Lz4Level,
    /// `compression.zstd.level`
    pub zstd: ZstdLevel,
}
