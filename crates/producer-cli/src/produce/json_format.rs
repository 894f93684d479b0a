//! A record as a JSON object on a line.
//!
//! ```json
//! {"key": "user-7", "value": {"page": 3}, "headers": {"trace": "7f"}, "partition": 0, "timestamp": 1700000000000}
//! ```
//!
//! Every field may be missing. A string is its text; `null` is absent; any other key or value is
//! sent as the JSON it is, byte for byte. Headers are an object, or an array of pairs.

use std::fmt;

use bytes::Bytes;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::produce::parts::Parts;

/// A line that is no such object.
#[derive(Debug, Error)]
#[error("not a record in JSON")]
pub(crate) struct JsonError(#[from] serde_json::Error);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Object<'a> {
    #[serde(borrow)]
    key: Option<&'a RawValue>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    #[serde(default)]
    headers: Headers,
    partition: Option<i32>,
    timestamp: Option<i64>,
}

/// Headers in their order; a name may occur several times.
#[derive(Default)]
struct Headers(Vec<(String, Option<String>)>);

/// Reads a line.
///
/// # Errors
/// [`JsonError`], which names the column; for a wrong escape, that within its text.
pub(crate) fn read(line: &Bytes) -> Result<Parts, JsonError> {
    let object: Object<'_> = serde_json::from_slice(line)?;
    let headers = object.headers.0.into_iter();
    Ok(Parts {
        key: object.key.map(bytes_of).transpose()?,
        value: object.value.map(bytes_of).transpose()?,
        headers: headers
            .map(|(name, value)| (name, value.map(Bytes::from)))
            .collect(),
        partition: object.partition,
        timestamp_ms: object.timestamp,
    })
}

/// The text of a string; of anything else, how it is written.
fn bytes_of(raw: &RawValue) -> Result<Bytes, serde_json::Error> {
    if raw.get().starts_with('"') {
        serde_json::from_str::<String>(raw.get()).map(Bytes::from)
    } else {
        Ok(Bytes::copy_from_slice(raw.get().as_bytes()))
    }
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Headers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts, or an array of pairs of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Headers, A::Error> {
                let mut headers = Headers::default();
                while let Some(header) = map.next_entry()? {
                    headers.0.push(header);
                }
                Ok(headers)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut pairs: A) -> Result<Headers, A::Error> {
                let mut headers = Headers::default();
                while let Some(header) = pairs.next_element()? {
                    headers.0.push(header);
                }
                Ok(headers)
            }

            fn visit_unit<E>(self) -> Result<Headers, E> {
                Ok(Headers::default())
            }
        }

        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &'static str) -> Result<Parts, String> {
        // As it is told: the error with its causes, each once.
        let read = super::read(&line.into()).map_err(anyhow::Error::from);
        read.map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn texts_are_their_text_and_everything_else_is_sent_as_it_is_written() {
        let parts = read(
            r#"{"key": "a\"\u00e9", "value": {"z": 1.50, "a": [ ]},
                "headers": {"h": "x", "n": null, "h": "y"}, "partition": 3, "timestamp": 0}"#,
        );
        let header =
            |name: &str, value: Option<&'static str>| (name.to_owned(), value.map(Bytes::from));
        let expected = Parts {
            key: Some("a\"é".into()),
            value: Some(r#"{"z": 1.50, "a": [ ]}"#.into()),
            headers: vec![
                header("h", Some("x")),
                header("n", None),
                header("h", Some("y")),
            ],
            partition: Some(3),
            timestamp_ms: Some(0),
        };
        assert_eq!(parts, Ok(expected));
    }

    #[test]
    fn what_is_missing_or_null_is_absent() {
        for nothing in [
            "{}",
            r#"{"key":null,"value":null,"headers":null,"partition":null}"#,
        ] {
            assert_eq!(read(nothing), Ok(Parts::default()), "{nothing}");
        }
        let pairs = read(r#"{"value": "", "headers": [["a", "1"], ["b", null]]}"#).unwrap();
        assert_eq!(pairs.value.as_deref(), Some(&b""[..]));
        let expected = [("a".to_owned(), Some("1".into())), ("b".to_owned(), None)];
        assert_eq!(pairs.headers, expected);
    }

    #[test]
    fn anything_else_is_refused_with_a_reason() {
        for (wrong, reason) in [
            ("", "EOF"),
            ("value", "expected value"),
            ("[1]", "invalid"),
            (r#"{"valu": 1}"#, "unknown field `valu`"),
            (r#"{"partition": "1"}"#, "invalid type"),
            (r#"{"partition": 2147483648}"#, "i32"),
            (r#"{"headers": 7}"#, "an array of pairs"),
            (r#"{"headers": {"a": 7}}"#, "invalid type"),
            (r#"{"headers": [["a"]]}"#, "invalid length"),
            (r#"{"value": "a"} {"#, "trailing"),
            (r#"{"value": "\ud800"}"#, "hex escape"),
        ] {
            let error = read(wrong).unwrap_err();
            assert_eq!(error.matches(reason).count(), 1, "{wrong}: {error}");
        }
        let not_text = Bytes::from_static(b"{\"value\": \"\xff\"}");
        assert!(super::read(&not_text).is_err());
    }
}
