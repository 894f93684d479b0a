//! [`Acks`]: how safe records must be before their producer is told so.

/// What `acks` of a produce request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Acks {
    /// 0: nobody waits for an answer.
    None,
    /// 1: the leader has the records.
    Leader,
    /// -1: all in-sync replicas have them.
    All,
}

impl Acks {
    /// What a number on the wire stands for.
    pub(crate) const fn from_number(number: i16) -> Option<Self> {
        match number {
            0 => Some(Self::None),
            1 => Some(Self::Leader),
            -1 => Some(Self::All),
            _ => None,
        }
    }
}
