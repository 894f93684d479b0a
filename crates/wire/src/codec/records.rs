//! [`Records`]: the value of a `records` field.

use bytes::Bytes;

/// Record batches, as a message carries them: this crate never looks inside.
///
/// ```
/// use klamm_wire::Records;
///
/// let from_memory = Records::from(bytes::Bytes::from_static(b"batches"));
/// let from_a_file = Records::Elsewhere(7);
/// assert_eq!(from_memory.len(), from_a_file.len());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Records {
    /// The bytes are here. What is decoded is always this, a slice of the frame.
    Here(Bytes),
    /// So many bytes, which somebody else supplies: encoding leaves a gap for them.
    Elsewhere(usize),
}

impl Records {
    /// The size in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Here(bytes) => bytes.len(),
            Self::Elsewhere(len) => *len,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes, if they are here.
    pub fn bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Here(bytes) => Some(bytes),
            Self::Elsewhere(_) => None,
        }
    }
}

impl Default for Records {
    fn default() -> Self {
        Self::Here(Bytes::new())
    }
}

impl From<Bytes> for Records {
    fn from(bytes: Bytes) -> Self {
        Self::Here(bytes)
    }
}
