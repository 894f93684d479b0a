//! [`ErrorCode`]: how the protocol says what went wrong.

/// The number that answers carry in their `error_code` fields. Numbers that this crate does not
/// know are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct ErrorCode(i16);

impl ErrorCode {
    /// Wraps the number as it stands on the wire.
    pub const fn new(code: i16) -> Self {
        Self(code)
    }

    /// The number as it stands on the wire.
    pub const fn get(self) -> i16 {
        self.0
    }
}

impl From<i16> for ErrorCode {
    fn from(code: i16) -> Self {
        Self(code)
    }
}

impl From<ErrorCode> for i16 {
    fn from(code: ErrorCode) -> Self {
        code.0
    }
}
