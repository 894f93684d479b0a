//! [`Kind`]: what a setting's text may be, and [`Value`], what becomes of it.

use std::fmt;

/// What a setting's text may be. Spaces around it do not count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// `true` or `false`, in any case.
    Bool,
    /// A whole number.
    Number {
        /// How Kafka stores it, which `DescribeConfigs` tells.
        width: Width,
        /// The least that it may be.
        min: i64,
        /// The most that it may be.
        max: i64,
    },
    /// A number with a fraction.
    Double {
        /// The least that it may be.
        min: f64,
        /// The most that it may be.
        max: f64,
    },
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Texts with commas between them; none at all is an empty list.
    List,
    /// Some of these words, with commas between them.
    Words(&'static [&'static str]),
}

/// How wide Kafka stores a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// 16 bits.
    Short,
    /// 32 bits.
    Int,
    /// 64 bits.
    Long,
}

/// A setting's value, of its [`Kind`].
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of [`Kind::Bool`].
    Bool(bool),
    /// Of [`Kind::Number`], within its bounds.
    Number(i64),
    /// Of [`Kind::Double`], within its bounds.
    Double(f64),
    /// Of [`Kind::Text`] or [`Kind::Choice`].
    Text(String),
    /// Of [`Kind::List`] or [`Kind::Words`]; no element is empty.
    List(Vec<String>),
}

/// The text is not of the kind. Shown, it says what would be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected(Kind);

impl Kind {
    /// Reads a setting's text.
    ///
    /// # Errors
    /// [`Expected`] where the text is of another kind, or out of bounds.
    pub fn parse(self, text: &str) -> Result<Value, Expected> {
        let text = text.trim();
        let value = match self {
            Self::Bool if text.eq_ignore_ascii_case("true") => Some(Value::Bool(true)),
            Self::Bool if text.eq_ignore_ascii_case("false") => Some(Value::Bool(false)),
            Self::Bool => None,
            Self::Number { min, max, .. } => {
                let number = text.parse().ok().filter(|it| (min..=max).contains(it));
                number.map(Value::Number)
            }
            Self::Double { min, max } => {
                let number = text.parse().ok().filter(|it| (min..=max).contains(it));
                number.map(Value::Double)
            }
            Self::Text => Some(Value::Text(text.to_owned())),
            Self::Choice(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
            Self::List => Some(Value::List(elements(text))),
            Self::Words(words) => {
                let elements = elements(text);
                let are_known = elements.iter().all(|it| words.contains(&it.as_str()));
                are_known.then_some(Value::List(elements))
            }
        };
        value.ok_or(Expected(self))
    }
}

fn elements(text: &str) -> Vec<String> {
    let elements = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    elements.map(str::to_owned).collect()
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Bool => f.write_str("true or false"),
            Kind::Number { min, max, .. } => write!(f, "a whole number from {min} to {max}"),
            Kind::Double { min, max } if max >= f64::MAX => write!(f, "a number from {min} up"),
            Kind::Double { min, max } => write!(f, "a number from {min} to {max}"),
            Kind::Text | Kind::List => f.write_str("text"),
            Kind::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Kind::Words(words) => write!(f, "some of {}, with commas between", words.join(", ")),
        }
    }
}

/// A whole number of 32 bits, `min` or more.
pub(super) const fn int(min: i64) -> Kind {
    int_within(min, i32::MAX as i64)
}

/// Any whole number of 32 bits.
pub(super) const fn any_int() -> Kind {
    int(i32::MIN as i64)
}

/// A whole number of 32 bits between two others, both allowed.
pub(super) const fn int_within(min: i64, max: i64) -> Kind {
    let width = Width::Int;
    Kind::Number { width, min, max }
}

/// How many threads, `min` or more. Apache Kafka has no upper bound, and fails where the machine
/// has one.
pub(super) const fn threads(min: i64) -> Kind {
    int_within(min, 1024)
}

/// A whole number of 16 bits, `min` or more.
pub(super) const fn short(min: i64) -> Kind {
    let (width, max) = (Width::Short, i16::MAX as i64);
    Kind::Number { width, min, max }
}

/// A whole number of 64 bits, `min` or more.
pub(super) const fn long(min: i64) -> Kind {
    let (width, max) = (Width::Long, i64::MAX);
    Kind::Number { width, min, max }
}

/// Any whole number of 64 bits.
pub(super) const fn any_long() -> Kind {
    long(i64::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(kind: Kind, text: &str) -> String {
        kind.parse(text).unwrap_err().to_string()
    }

    #[test]
    fn booleans_are_read_in_any_case() {
        for (text, value) in [("true", true), (" FALSE ", false), ("True", true)] {
            assert_eq!(Kind::Bool.parse(text), Ok(Value::Bool(value)));
        }
        for text in ["", "yes", "1", "tru"] {
            assert_eq!(refused(Kind::Bool, text), "true or false");
        }
    }

    #[test]
    fn numbers_keep_to_their_bounds() {
        assert_eq!(int(1).parse(" 1 "), Ok(Value::Number(1)));
        assert_eq!(int(1).parse("2147483647"), Ok(Value::Number(2_147_483_647)));
        for text in ["0", "2147483648", "1.0", "", "0x1", "1_000", "one"] {
            assert_eq!(refused(int(1), text), "a whole number from 1 to 2147483647");
        }
        assert_eq!(any_long().parse("-5"), Ok(Value::Number(-5)));
        assert_eq!(short(0).parse("32767"), Ok(Value::Number(32_767)));
        assert!(short(0).parse("32768").is_err());
    }

    #[test]
    fn fractions_keep_to_their_bounds_and_are_numbers() {
        let share = Kind::Double { min: 0.0, max: 1.0 };
        assert_eq!(share.parse("0.5"), Ok(Value::Double(0.5)));
        for text in ["1.1", "-0.1", "NaN", "", "half"] {
            assert_eq!(refused(share, text), "a number from 0 to 1");
        }
    }

    #[test]
    fn lists_are_parted_at_commas_and_trimmed() {
        let list = |it: &[&str]| Ok(Value::List(it.iter().map(ToString::to_string).collect()));
        assert_eq!(Kind::List.parse(" a, b ,c"), list(&["a", "b", "c"]));
        assert_eq!(Kind::List.parse(""), list(&[]));
        let roles = Kind::Words(&["broker", "controller"]);
        assert_eq!(
            roles.parse("controller,broker"),
            list(&["controller", "broker"])
        );
        assert_eq!(
            refused(roles, "broker,zookeeper"),
            "some of broker, controller, with commas between"
        );
        let codec = Kind::Choice(&["gzip", "zstd"]);
        assert_eq!(codec.parse("zstd"), Ok(Value::Text("zstd".to_owned())));
        assert_eq!(refused(codec, "ZSTD"), "one of gzip, zstd");
    }
}
