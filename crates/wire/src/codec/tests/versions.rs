//! Fields that come and go, defaults, null.

use bytestring::ByteString;

use super::{decode, encode, refused, unencodable};
use crate::codec::{
    DecodeError, EncodeError, Malformed, Message, Records, Unencodable, UnknownTags, Versions,
};
use crate::prelude::{BrokerId, Message, Offset, Struct};

#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=4, flexible = 4..)]
struct Changing {
    always: i16,
    #[wire(versions = 2..)]
    since_2: i16,
    #[wire(versions = ..=1, default = -1)]
    until_1: i32,
    #[wire(versions = 1..=3, default = 7, ignorable)]
    from_1_to_3: i8,
    #[wire(versions = 1.., nullable = 2.., default = "word", ignorable)]
    text: Option<ByteString>,
    #[wire(versions = 3.., default = i64::MAX)]
    offset: Offset,
    #[wire(versions = 3.., nullable = 3..)]
    list: Option<Vec<BrokerId>>,
    #[wire(versions = 3.., nullable = 3.., ignorable)]
    records: Option<Records>,
    #[wire(versions = 2.., nullable = 3.., default = None, ignorable)]
    inner: Option<Inner>,
    unknown_tags: UnknownTags,
}

#[derive(Debug, Clone, PartialEq, Struct)]
struct Inner {
    #[wire(versions = 3.., default = true)]
    since_3: bool,
    old: u16,
    unknown_tags: UnknownTags,
}

#[test]
fn wi_025_absent_fields_are_not_written_and_read_as_their_defaults() {
    let defaults = Changing::default();
    assert_eq!(defaults.until_1, -1);
    assert_eq!(defaults.from_1_to_3, 7);
    assert_eq!(defaults.text.as_deref(), Some("word"));
    assert_eq!(defaults.offset, Offset::new(i64::MAX));
    assert_eq!(defaults.list, Some(Vec::new()));
    assert_eq!(defaults.records, None);
    assert_eq!(defaults.inner, None);
    assert!(Inner::default().since_3);

    let read: Changing = decode(0, "0001 00000002");
    let wanted = Changing {
        always: 1,
        until_1: 2,
        ..Changing::default()
    };
    assert_eq!(read, wanted);
    assert_eq!(encode(&wanted, 0), super::hex("0001 00000002"));
}

/// Covers WI-023, WI-024.
#[test]
fn each_version_has_its_own_bytes() {
    let full = |version: i16| Changing {
        always: 1,
        since_2: if version >= 2 { 2 } else { 0 },
        until_1: if version <= 1 { 3 } else { -1 },
        from_1_to_3: if (1..=3).contains(&version) { 4 } else { 7 },
        text: Some(if version >= 1 { "hi" } else { "word" }.into()),
        offset: if version >= 3 {
            Offset::new(5)
        } else {
            Offset::new(i64::MAX)
        },
        list: Some(if version >= 3 {
            vec![BrokerId::new(6)]
        } else {
            Vec::new()
        }),
        records: (version >= 3).then(Records::default),
        inner: (version >= 2).then(|| Inner {
            since_3: version < 3,
            old: 8,
            ..Inner::default()
        }),
        unknown_tags: UnknownTags::new(),
    };
    let tail = "0000000000000005 00000001 00000006 00000000 01 00 0008";
    for (version, digits) in [
        (0, "0001 00000003".to_owned()),
        (1, "0001 00000003 04 0002 6869".to_owned()),
        (2, "0001 0002 04 0002 6869 0008".to_owned()),
        (3, format!("0001 0002 04 0002 6869 {tail}")),
        (
            4,
            "0001 0002 03 6869 0000000000000005 02 00000006 01 01 00 0008 00 00".to_owned(),
        ),
    ] {
        let message = full(version);
        assert_eq!(
            encode(&message, version),
            super::hex(&digits),
            "version {version}"
        );
        assert_eq!(
            decode::<Changing>(version, &digits),
            message,
            "version {version}"
        );
    }
}

#[test]
fn wi_026_ignorable_values_are_dropped_where_the_version_lacks_them() {
    let message = Changing {
        from_1_to_3: 5,
        text: None,
        records: Some(Records::default()),
        inner: Some(Inner::default()),
        ..Changing::default()
    };
    assert_eq!(encode(&message, 0), encode(&Changing::default(), 0));
}

#[test]
fn other_values_are_refused_where_the_version_lacks_them() {
    for (field, message) in [
        (
            "since_2",
            Changing {
                since_2: 1,
                ..Changing::default()
            },
        ),
        (
            "offset",
            Changing {
                offset: Offset::ZERO,
                ..Changing::default()
            },
        ),
        (
            "list",
            Changing {
                list: None,
                ..Changing::default()
            },
        ),
    ] {
        assert_eq!(
            unencodable(&message, 1),
            (field.to_owned(), Unencodable::NotInVersion)
        );
    }
    let late = Changing {
        until_1: 0,
        ..Changing::default()
    };
    assert_eq!(
        unencodable(&late, 3),
        ("until_1".into(), Unencodable::NotInVersion)
    );
    encode(&late, 1);
}

/// Covers WI-012, WI-027, WI-028.
#[test]
fn null_is_legal_in_some_versions_only() {
    let null = Changing {
        text: None,
        ..Changing::default()
    };
    assert_eq!(unencodable(&null, 1), ("text".into(), Unencodable::Null));
    encode(
        &Changing {
            inner: Some(Inner::default()),
            ..null
        },
        2,
    );
    assert_eq!(
        refused::<Changing>(1, "0001 00000003 04 ffff"),
        ("text".into(), 7, Malformed::Null)
    );
    let read: Changing = decode(2, "0001 0002 04 ffff 0008");
    assert_eq!(read.text, None);
}

#[test]
fn wi_027_a_null_struct_needs_a_version_that_has_null() {
    assert_eq!(
        unencodable(&Changing::default(), 2),
        ("inner".into(), Unencodable::Null)
    );
}

#[test]
fn wi_029_a_nullable_struct_is_led_by_a_signed_byte() {
    let head = "0001 0002 04 0002 6869 0000000000000005 00000001 00000006 00000000";
    for (marker, there) in [
        ("ff", false),
        ("80", false),
        ("00", true),
        ("01", true),
        ("02", true),
    ] {
        let rest = if there { "01 0008" } else { "" };
        let message: Changing = decode(3, &format!("{head} {marker} {rest}"));
        assert_eq!(message.inner.is_some(), there, "marker {marker}");
        let written = encode(&message, 3);
        let wanted = if there { "01" } else { "ff" };
        assert_eq!(written, super::hex(&format!("{head} {wanted} {rest}")));
    }
}

#[test]
fn wi_030_versions_outside_the_range_are_refused_both_ways() {
    let versions = Versions::new(0, 4);
    for version in [-1, 5, i16::MIN, i16::MAX] {
        let mut body = super::hex("0001 00000003 04");
        assert_eq!(
            Changing::decode(&mut body, version),
            Err(DecodeError::UnsupportedVersion {
                message: "Changing",
                version,
                versions
            })
        );
        let unsupported = EncodeError::UnsupportedVersion {
            message: "Changing",
            version,
            versions,
        };
        assert_eq!(
            Changing::default().encode(version),
            Err(unsupported.clone())
        );
        assert_eq!(Changing::default().encoded_len(version), Err(unsupported));
    }
}

#[test]
fn errors_read_as_sentences() {
    let mut body = super::hex("0001 00000003 04 ffff");
    let error = Changing::decode(&mut body, 1).expect_err("null");
    assert_eq!(
        error.to_string(),
        "Changing version 1, `text` at byte 7: null is not legal here in this version"
    );
    let error = Changing::default().encode(9).expect_err("no version 9");
    assert_eq!(error.to_string(), "Changing has no version 9, only 0 to 4");
}
