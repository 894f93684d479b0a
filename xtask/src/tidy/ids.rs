//! Ids of behaviours (`WI-001`), of flow steps (`P6.4`) and of traps (`C125`).

use std::fmt;
use std::ops::RangeInclusive;

/// Something that a test can be asked to show. Ids of one list are ordered as they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Id {
    /// A behaviour: the two capital letters of its list, and its number.
    Behaviour([u8; 2], u16),
    /// A step of a flow: the part (`P` or `B`), the flow, the step.
    Step(u8, u16, u16),
    /// A trap that others fell into: the letter of its kind (`C` or `K`) and its number.
    Trap(u8, u16),
}

/// What ids are counted by: the list of a behaviour, the part of a step, the kind of a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum List {
    Behaviours([u8; 2]),
    Steps(u8),
    Traps(u8),
}

impl Id {
    /// Reads `WI-001`, `P6.4` or `C125`, and nothing else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some((list, number)) = text.split_once('-') {
            let List::Behaviours(list) = List::parse(list)? else {
                return None;
            };
            return Some(Self::Behaviour(list, three_digits(number)?));
        }
        let (letter, rest) = text.split_at_checked(1)?;
        match List::parse(letter)? {
            List::Steps(part) => {
                let (flow, step) = rest.split_once('.')?;
                Some(Self::Step(part, small(flow)?, small(step)?))
            }
            List::Traps(kind) => Some(Self::Trap(kind, three_digits(rest)?)),
            List::Behaviours(_) => None,
        }
    }

    pub(super) fn list(self) -> List {
        match self {
            Self::Behaviour(list, _) => List::Behaviours(list),
            Self::Step(part, ..) => List::Steps(part),
            Self::Trap(kind, _) => List::Traps(kind),
        }
    }

    /// The ids that a function's name begins with: `wi_001_`, `p6_4_`, `c125_`, one or several in
    /// a row.
    pub(super) fn of_function(name: &str) -> Vec<Self> {
        let mut ids = Vec::new();
        if name.contains(|c: char| c.is_ascii_uppercase()) {
            return ids;
        }
        let name = name.to_ascii_uppercase();
        let mut words = name.split('_').peekable();
        while let Some(first) = words.next() {
            let joined = words.peek().and_then(|second| {
                Self::parse(&format!("{first}-{second}"))
                    .or_else(|| Self::parse(&format!("{first}.{second}")))
            });
            if joined.is_some() {
                words.next();
            }
            let Some(id) = joined.or_else(|| Self::parse(first)) else {
                break;
            };
            ids.push(id);
        }
        ids
    }
}

impl List {
    /// Reads `WI`, `P`, `B`, `C` or `K`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match *text.as_bytes() {
            [part @ (b'P' | b'B')] => Some(Self::Steps(part)),
            [kind @ (b'C' | b'K')] => Some(Self::Traps(kind)),
            [a, b] if a.is_ascii_uppercase() && b.is_ascii_uppercase() => {
                Some(Self::Behaviours([a, b]))
            }
            _ => None,
        }
    }
}

/// Reads one id, or a span of one list's ids with both ends: `RB-020..RB-023`.
pub(super) fn parse_span(text: &str) -> Option<RangeInclusive<Id>> {
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (Id::parse(first)?, Id::parse(last)?),
        None => (Id::parse(text)?, Id::parse(text)?),
    };
    (first.list() == last.list() && first <= last).then_some(first..=last)
}

fn three_digits(text: &str) -> Option<u16> {
    (text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn small(text: &str) -> Option<u16> {
    let plain = (1..=2).contains(&text.len()) && !text.starts_with('0');
    (plain && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Behaviour(_, number) => write!(out, "{}-{number:03}", self.list()),
            Self::Step(_, flow, step) => write!(out, "{}{flow}.{step}", self.list()),
            Self::Trap(_, number) => write!(out, "{}{number:03}", self.list()),
        }
    }
}

impl fmt::Display for List {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Behaviours([a, b]) => write!(out, "{}{}", char::from(a), char::from(b)),
            Self::Steps(letter) | Self::Traps(letter) => write!(out, "{}", char::from(letter)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Id, parse_span};

    const WI_1: Id = Id::Behaviour(*b"WI", 1);

    #[test]
    fn ids_are_read_and_shown_alike() {
        for text in ["WI-001", "GC-089", "P1.10", "B2.2", "C125", "K001"] {
            assert_eq!(
                Id::parse(text).map(|id| id.to_string()).as_deref(),
                Some(text)
            );
        }
        for text in [
            "", "WI", "WI-1", "WI-0001", "wi-001", "W-001", "P1", "P1.", "P01.1", "X1.1", "C12",
            "D125",
        ] {
            assert_eq!(Id::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_functions_ids_stand_at_its_front() {
        assert_eq!(Id::of_function("wi_001_unsigned_varint"), [WI_1]);
        assert_eq!(Id::of_function("p6_4_frames"), [Id::Step(b'P', 6, 4)]);
        assert_eq!(
            Id::of_function("wi_001_c125_p6_4_all"),
            [WI_1, Id::Trap(b'C', 125), Id::Step(b'P', 6, 4)],
            "several in a row"
        );
        assert_eq!(
            Id::of_function("wi_001_128_bytes"),
            [WI_1],
            "a number is no id"
        );
        for name in [
            "re_open",
            "wi_1_short",
            "frames_wi_001",
            "p_6_4",
            "WI_001_x",
            "wi",
        ] {
            assert_eq!(Id::of_function(name), [], "{name}");
        }
    }

    #[test]
    fn a_span_has_two_ends_of_one_list() {
        let span = parse_span("RB-020..RB-023").expect("a span");
        assert!(span.contains(&Id::Behaviour(*b"RB", 23)));
        assert!(!span.contains(&Id::Behaviour(*b"RB", 24)));
        assert_eq!(parse_span("WI-001"), Some(WI_1..=WI_1));
        assert!(
            parse_span("P1.9..P1.11")
                .expect("steps")
                .contains(&Id::Step(b'P', 1, 10))
        );
        for text in [
            "RB-023..RB-020",
            "RB-001..WI-002",
            "RB-001..",
            "RB-001..P1.1",
            "..",
        ] {
            assert_eq!(parse_span(text), None, "{text}");
        }
    }
}
