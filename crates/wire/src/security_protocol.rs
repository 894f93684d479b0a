//! [`SecurityProtocol`]: how a listener is spoken to.

use std::fmt;

/// How a listener is spoken to: by the number that requests and records have for it, and by the
/// name that settings have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecurityProtocol {
    /// Neither encrypted nor authenticated.
    Plaintext,
    /// TLS.
    Ssl,
    /// A SASL login over a bare connection.
    SaslPlaintext,
    /// A SASL login over TLS.
    SaslSsl,
}

impl SecurityProtocol {
    /// All that there are, by their numbers.
    pub const ALL: [Self; 4] = [
        Self::Plaintext,
        Self::Ssl,
        Self::SaslPlaintext,
        Self::SaslSsl,
    ];

    /// The number of it.
    pub const fn number(self) -> i16 {
        match self {
            Self::Plaintext => 0,
            Self::Ssl => 1,
            Self::SaslPlaintext => 2,
            Self::SaslSsl => 3,
        }
    }

    /// What a number stands for.
    pub const fn from_number(number: i16) -> Option<Self> {
        match number {
            0 => Some(Self::Plaintext),
            1 => Some(Self::Ssl),
            2 => Some(Self::SaslPlaintext),
            3 => Some(Self::SaslSsl),
            _ => None,
        }
    }

    /// The name that settings use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plaintext => "PLAINTEXT",
            Self::Ssl => "SSL",
            Self::SaslPlaintext => "SASL_PLAINTEXT",
            Self::SaslSsl => "SASL_SSL",
        }
    }
}

impl fmt::Display for SecurityProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_there_and_back() {
        for (number, protocol) in (0..).zip(SecurityProtocol::ALL) {
            assert_eq!(protocol.number(), number);
            assert_eq!(SecurityProtocol::from_number(number), Some(protocol));
        }
        assert_eq!(SecurityProtocol::from_number(4), None);
        assert_eq!(SecurityProtocol::from_number(-1), None);
        assert_eq!(SecurityProtocol::SaslSsl.to_string(), "SASL_SSL");
    }
}
