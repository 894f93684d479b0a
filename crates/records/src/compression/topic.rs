//! [`TopicCompression`]: what a topic does with the codec of what is produced.

use crate::compression::{Codec, Compression, Levels, UnknownCompression};

/// The setting `compression.type` of a topic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum TopicCompression {
    /// Batches are stored with the codec that their producer chose.
    #[default]
    Producer,
    /// Batches of another codec are compressed anew with this one, or stored plain.
    Fixed(Compression),
}

impl TopicCompression {
    /// The setting by its name: `producer`, `uncompressed` or a codec's, at the level set for it.
    ///
    /// # Errors
    /// [`UnknownCompression`] for any other text; names are lower case.
    pub fn from_name(name: &str, levels: &Levels) -> Result<Self, UnknownCompression> {
        match name {
            "producer" => Ok(Self::Producer),
            "uncompressed" => Ok(Self::Fixed(Compression::None)),
            _ => match name.parse::<Codec>() {
                Ok(codec) => Ok(Self::Fixed(codec.at(levels))),
                Err(error) => Err(UnknownCompression {
                    expected: "producer, uncompressed, none, gzip, snappy, lz4, zstd",
                    ..error
                }),
            },
        }
    }

    /// How a batch that came with `codec` is stored. A codec that stays and has to be written
    /// anew is written at its default level, since no batch tells the level that it had.
    pub fn target(self, codec: Codec) -> Compression {
        match self {
            Self::Producer => codec.at(&Levels::default()),
            Self::Fixed(compression) => compression,
        }
    }
}
