//! [`Context`]: the version at hand.

/// What every value needs to know to be read or written: the message's version, and whether that
/// is a flexible one (compact lengths, and a tagged section at the end of each struct).
#[derive(Debug, Clone, Copy)]
pub struct Context {
    version: i16,
    flexible: bool,
}

impl Context {
    pub(crate) const fn new(version: i16, flexible_since: Option<i16>) -> Self {
        let flexible = match flexible_since {
            Some(first) => version >= first,
            None => false,
        };
        Self { version, flexible }
    }

    /// The same version for a field that keeps the old length form throughout.
    #[inline]
    pub(crate) const fn rigid(self) -> Self {
        Self {
            version: self.version,
            flexible: false,
        }
    }

    #[inline]
    pub(crate) const fn is_flexible(self) -> bool {
        self.flexible
    }

    #[inline]
    pub(crate) const fn since(self, min: i16) -> bool {
        self.version >= min
    }

    #[inline]
    pub(crate) const fn until(self, max: i16) -> bool {
        self.version <= max
    }

    #[inline]
    pub(crate) const fn between(self, min: i16, max: i16) -> bool {
        self.since(min) && self.until(max)
    }
}
