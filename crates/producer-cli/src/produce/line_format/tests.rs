//! Lines by PR-155 and PR-156.

use super::*;

fn format(properties: &[(&str, &str)]) -> Result<LineFormat, InvalidFormat> {
    let properties = properties.iter();
    let properties: Vec<_> = properties
        .map(|(name, value)| Property::new(*name, *value))
        .collect();
    LineFormat::of(&properties).map(|(format, unknown)| {
        assert_eq!(unknown, [""; 0]);
        format
    })
}

fn read(properties: &[(&str, &str)], line: &'static str) -> Result<Parts, LineError> {
    format(properties).unwrap().read(&line.into())
}

fn parts(
    headers: &[(&str, Option<&'static str>)],
    key: Option<&str>,
    value: Option<&str>,
) -> Parts {
    let owned = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    let headers = headers.iter();
    Parts {
        headers: headers
            .map(|(name, value)| ((*name).to_owned(), value.map(owned)))
            .collect(),
        key: key.map(owned),
        value: value.map(owned),
        ..Parts::default()
    }
}

const KEYED: (&str, &str) = ("parse.key", "true");
const WITH_HEADERS: (&str, &str) = ("parse.headers", "true");
const IGNORING: (&str, &str) = ("ignore.error", "true");

#[test]
fn pr_155_by_default_the_whole_line_is_the_value() {
    let all = parts(&[], None, Some("a:1,b\tk\tv"));
    assert_eq!(read(&[], "a:1,b\tk\tv"), Ok(all));
    assert_eq!(read(&[], ""), Ok(parts(&[], None, Some(""))));
}

#[test]
fn pr_155_headers_then_key_then_value() {
    let line = "a:1,b:x:y\tkey\tval\tue";
    let expected = parts(
        &[("a", Some("1")), ("b", Some("x:y"))],
        Some("key"),
        Some("val\tue"),
    );
    assert_eq!(read(&[KEYED, WITH_HEADERS], line), Ok(expected));
    let no_headers = parts(&[], Some(""), Some("value"));
    assert_eq!(read(&[KEYED, WITH_HEADERS], "\t\tvalue"), Ok(no_headers));
    let no_key = parts(&[("a", Some(""))], None, Some("value"));
    assert_eq!(read(&[WITH_HEADERS], "a:\tvalue"), Ok(no_key));
}

#[test]
fn pr_155_separators_may_be_longer_than_one_character() {
    let properties = [
        KEYED,
        WITH_HEADERS,
        ("key.separator", "=>"),
        ("headers.delimiter", " | "),
        ("headers.separator", "&&"),
        ("headers.key.separator", "::"),
    ];
    let expected = parts(
        &[("a", Some("1:2")), ("b", Some("&"))],
        Some("k="),
        Some(">v"),
    );
    assert_eq!(read(&properties, "a::1:2&&b::& | k==>>v"), Ok(expected));
}

#[test]
fn pr_155_separators_and_the_null_marker_must_differ() {
    for (one, other) in [
        (HEADERS_DELIMITER, HEADERS_SEPARATOR),
        (HEADERS_DELIMITER, HEADERS_KEY_SEPARATOR),
        (HEADERS_SEPARATOR, HEADERS_KEY_SEPARATOR),
        (NULL_MARKER, HEADERS_DELIMITER),
        (NULL_MARKER, HEADERS_SEPARATOR),
        (NULL_MARKER, HEADERS_KEY_SEPARATOR),
        (NULL_MARKER, KEY_SEPARATOR),
    ] {
        let same = format(&[(one, "#"), (other, "#")]);
        let value = "#".to_owned();
        assert_eq!(same, Err(InvalidFormat::Same { one, other, value }));
    }
    // Both are the tab unless something else is said.
    assert!(format(&[(KEY_SEPARATOR, "#"), (HEADERS_DELIMITER, "#")]).is_ok());
    assert_eq!(
        format(&[(KEY_SEPARATOR, "")]),
        Err(InvalidFormat::Empty(KEY_SEPARATOR))
    );
    assert!(format(&[(NULL_MARKER, "")]).is_ok());
    let wrong = InvalidFormat::NotAFlag {
        name: PARSE_KEY,
        value: "yes".to_owned(),
    };
    assert_eq!(format(&[(PARSE_KEY, "yes")]), Err(wrong));
    assert!(format(&[(PARSE_KEY, " TRUE ")]).unwrap().has_key);
}

#[test]
fn properties_that_no_format_has_are_told() {
    let properties = [
        Property::new("parse.keys", "true"),
        Property::new("parse.key", "true"),
    ];
    let (format, unknown) = LineFormat::of(&properties).unwrap();
    assert!(format.has_key);
    assert_eq!(unknown, ["parse.keys"]);
}

#[test]
fn pr_156_a_missing_separator_is_an_error() {
    let missing = |name, separator: &str| {
        Err(LineError::Missing {
            name,
            separator: separator.to_owned(),
        })
    };
    assert_eq!(read(&[KEYED], "value"), missing(KEY_SEPARATOR, "\t"));
    assert_eq!(
        read(&[WITH_HEADERS], "a:1 v"),
        missing(HEADERS_DELIMITER, "\t")
    );
    assert_eq!(
        read(&[WITH_HEADERS, KEYED], "a:1\tv"),
        missing(KEY_SEPARATOR, "\t")
    );
    assert_eq!(
        read(&[WITH_HEADERS], "a:1,b\tv"),
        missing(HEADERS_KEY_SEPARATOR, ":")
    );
}

#[test]
fn pr_156_with_ignore_error_the_rest_is_the_value_and_a_header_has_none() {
    let all = [KEYED, WITH_HEADERS, IGNORING];
    assert_eq!(read(&all, "rest"), Ok(parts(&[], None, Some("rest"))));
    let headers_alone = parts(&[("a", Some("1"))], None, Some("rest"));
    assert_eq!(read(&all, "a:1\trest"), Ok(headers_alone));
    let bare = parts(&[("a", None), ("b", Some("2"))], Some("k"), Some("v"));
    assert_eq!(read(&all, "a,b:2\tk\tv"), Ok(bare));
}

#[test]
fn pr_156_a_field_that_is_the_null_marker_is_absent() {
    let all = [KEYED, WITH_HEADERS, (NULL_MARKER, "NULL")];
    assert_eq!(read(&all, "NULL\tNULL\tNULL"), Ok(parts(&[], None, None)));
    let header = parts(&[("a", None), ("b", Some("NULLs"))], Some(""), Some("v"));
    assert_eq!(read(&all, "a:NULL,b:NULLs\t\tv"), Ok(header));
    assert_eq!(read(&all, "NULL:1\tk\tv"), Err(LineError::NullHeaderName));
    let ignoring = [WITH_HEADERS, IGNORING, (NULL_MARKER, "NULL")];
    assert_eq!(
        read(&ignoring, "a:1,NULL\tv"),
        Err(LineError::NullHeaderName)
    );
    assert_eq!(read(&[], "NULL"), Ok(parts(&[], None, Some("NULL"))));
}

#[test]
fn values_are_bytes_and_header_names_are_text() {
    let format = format(&[KEYED, WITH_HEADERS]).unwrap();
    let line = Bytes::from_static(b"a:\xff\t\xfe\t\xfd");
    let parts = format.read(&line).unwrap();
    assert_eq!(
        parts.headers,
        [("a".to_owned(), Some(Bytes::from_static(b"\xff")))]
    );
    assert_eq!(parts.key.as_deref(), Some(&b"\xfe"[..]));
    assert_eq!(parts.value.as_deref(), Some(&b"\xfd"[..]));
    let line = Bytes::from_static(b"\xff:a\tk\tv");
    assert_eq!(format.read(&line), Err(LineError::HeaderName));
}
