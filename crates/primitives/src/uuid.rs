//! [`Uuid`] and [`TopicId`]: 128-bit names.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;

/// What names a topic for good: a topic made again under an old name has another id.
pub type TopicId = Uuid;

/// 16 bytes, the most significant half first, as they stand on the wire and on disk.
///
/// As text it is Kafka's form: URL-safe base64 without padding, 22 characters.
///
/// ```
/// use klamm_primitives::Uuid;
///
/// let id: Uuid = "AAAAAAAAAAAAAAAAAAAAAQ".parse().unwrap();
/// assert_eq!(id, Uuid::ONE);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// All zero: how the protocol writes "none".
    pub const ZERO: Self = Self([0; 16]);

    /// The second reserved value: for long the id of the metadata topic.
    pub const ONE: Self = Self::from_u128(1);

    /// Wraps the bytes as they stand on the wire.
    #[inline]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The number whose big-endian form the bytes are.
    #[inline]
    pub const fn from_u128(value: u128) -> Self {
        Self(value.to_be_bytes())
    }

    /// The bytes as they stand on the wire.
    #[inline]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Whether this is the id that stands for "none".
    pub const fn is_zero(&self) -> bool {
        u128::from_be_bytes(self.0) == 0
    }

    /// A random (version 4) id out of the caller's source of randomness.
    ///
    /// Drawn again while the text form holds a `-`, which command lines would take for an
    /// option, or while the value is a reserved one. About one draw in three is refused.
    pub fn random(mut draw: impl FnMut() -> u128) -> Self {
        loop {
            let id = Self::with_version_4(draw());
            let reserved = id == Self::ZERO || id == Self::ONE;
            if !reserved && !id.to_string().contains('-') {
                return id;
            }
        }
    }

    const fn with_version_4(random: u128) -> Self {
        let version = (random & !(0xf << 76)) | (0x4 << 76);
        Self::from_u128((version & !(0x3 << 62)) | (0x2 << 62))
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 22];
        let written = URL_SAFE_NO_PAD.encode_slice(self.0, &mut text);
        debug_assert_eq!(written, Ok(22), "16 bytes are 22 characters of base64");
        f.pad(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not 22 characters of URL-safe base64 for 16 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not an id: expected 22 characters of URL-safe base64 without padding")]
pub struct ParseUuidError {
    text: String,
}

impl FromStr for Uuid {
    type Err = ParseUuidError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 16];
        match URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) {
            Ok(16) => Ok(Self(bytes)),
            _ => Err(ParseUuidError {
                text: text.to_owned(),
            }),
        }
    }
}
