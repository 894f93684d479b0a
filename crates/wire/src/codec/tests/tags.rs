//! Tagged fields, known and unknown.

use bytes::Bytes;
use bytestring::ByteString;

use super::{decode, encode, refused, unencodable};
use crate::codec::{Malformed, Message, Unencodable, UnknownTags};
use crate::prelude::{LeaderEpoch, Message, Struct};

#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=3, flexible = 1..)]
struct Tagged {
    first: i8,
    /// In its place in version 0, tagged later.
    #[wire(tag = 5, tagged = 1.., default = -1)]
    moved: LeaderEpoch,
    #[wire(versions = 1.., tag = 0, nullable = 1.., default = None, ignorable)]
    text: Option<ByteString>,
    #[wire(versions = 2.., tag = 3)]
    list: Vec<i16>,
    #[wire(versions = 1.., nullable = 1.., tag = 2)]
    inner: Option<Inner>,
    #[wire(versions = 1.., tag = 9)]
    plain: Inner,
    unknown_tags: UnknownTags,
}

#[derive(Debug, Clone, PartialEq, Struct)]
struct Inner {
    value: i8,
    unknown_tags: UnknownTags,
}

/// No tags are known; a struct inside.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=1, flexible = 1..)]
struct Untagged {
    inner: Inner,
    list: Vec<Inner>,
    unknown_tags: UnknownTags,
}

fn tags<const N: usize>(entries: [(u32, &'static [u8]); N]) -> UnknownTags {
    let mut tags = UnknownTags::new();
    for (tag, value) in entries {
        tags.insert(tag, Bytes::from_static(value));
    }
    tags
}

#[test]
fn wi_031_versions_that_are_not_flexible_have_no_tagged_section() {
    let message = Untagged {
        list: vec![Inner::default()],
        ..Untagged::default()
    };
    assert_eq!(encode(&message, 0), super::hex("00 00000001 00"));
}

#[test]
fn wi_032_every_struct_of_a_flexible_version_ends_with_a_tagged_section() {
    let message = Untagged {
        list: vec![Inner::default(), Inner::default()],
        ..Untagged::default()
    };
    // Each struct's byte is followed by a section, and so is the list.
    assert_eq!(encode(&message, 1), super::hex("00 00 03 00 00 00 00 00"));
    assert_eq!(decode::<Untagged>(1, "00 00 03 00 00 00 00 00"), message);
}

#[test]
fn wi_033_a_tagged_field_at_its_default_is_not_written() {
    assert_eq!(encode(&Tagged::default(), 3), super::hex("00 00"));
    assert_eq!(decode::<Tagged>(3, "00 00"), Tagged::default());
    let mut emptied = UnknownTags::new();
    assert_eq!(emptied, UnknownTags::default());
    emptied.insert(1, Bytes::new());
    assert_ne!(emptied, UnknownTags::default());
}

#[test]
fn known_tags_are_written_by_rising_number() {
    let message = Tagged {
        first: 1,
        moved: LeaderEpoch::new(2),
        text: Some("hi".into()),
        list: vec![3],
        inner: None,
        plain: Inner {
            value: 4,
            ..Inner::default()
        },
        unknown_tags: UnknownTags::new(),
    };
    // Null is not the default of `inner`, so it is written: a zero for the marker.
    let digits = "01 05  00 03 036869  02 01 00  03 03 020003  05 04 00000002  09 02 0400";
    assert_eq!(encode(&message, 2), super::hex(digits));
    assert_eq!(decode::<Tagged>(2, digits), message);
    assert_eq!(
        decode::<Tagged>(0, "01 00000002").moved,
        LeaderEpoch::new(2)
    );
}

#[test]
fn a_nullable_struct_in_a_tag_is_led_by_a_varint() {
    let message = Tagged {
        inner: Some(Inner {
            value: 7,
            ..Inner::default()
        }),
        ..Tagged::default()
    };
    let digits = "00 01 02 03 01 07 00";
    assert_eq!(encode(&message, 1), super::hex(digits));
    assert_eq!(decode::<Tagged>(1, digits), message);
    assert_eq!(decode::<Tagged>(1, "00 01 02 01 00").inner, None);
}

#[test]
fn wi_034_unknown_tags_are_written_with_size_by_rising_number() {
    let message = Untagged {
        unknown_tags: tags([(5, &[4, 5]), (2, &[1, 2, 3])]),
        ..Untagged::default()
    };
    let digits = "00 00 01 02 02 03 010203 05 02 0405";
    assert_eq!(encode(&message, 1), super::hex(digits));
    assert_eq!(decode::<Untagged>(1, digits), message);
}

#[test]
fn wi_034_a_known_tag_cannot_be_written_as_unknown() {
    let with = |unknown_tags| Tagged {
        unknown_tags,
        ..Tagged::default()
    };
    assert_eq!(
        unencodable(&with(tags([(5, &[])])), 1),
        ("unknown_tags".into(), Unencodable::KnownTag { tag: 5 })
    );
    // Version 1 does not know the tag 3, which version 2 does.
    encode(&with(tags([(3, &[])])), 1);
    assert_eq!(
        unencodable(&with(tags([(3, &[])])), 2),
        ("unknown_tags".into(), Unencodable::KnownTag { tag: 3 })
    );
}

#[test]
fn unknown_tags_stand_between_known_ones() {
    let message = Tagged {
        moved: LeaderEpoch::new(2),
        text: Some(ByteString::new()),
        unknown_tags: tags([(1, &[0xaa]), (4, &[]), (6, &[0xbb]), (20000, &[0xcc])]),
        ..Tagged::default()
    };
    let digits = "00 06 00 01 01  01 01 aa  04 00  05 04 00000002  06 01 bb  a09c01 01 cc";
    assert_eq!(encode(&message, 2), super::hex(digits));
    assert_eq!(decode::<Tagged>(2, digits), message);
}

#[test]
fn a_tag_of_a_later_version_is_kept_as_unknown() {
    let digits = "00 01 03 03 020007";
    let message: Tagged = decode(1, digits);
    assert!(message.list.is_empty());
    assert_eq!(message.unknown_tags, tags([(3, &[2, 0, 7])]));
    assert_eq!(encode(&message, 1), super::hex(digits));
    assert_eq!(decode::<Tagged>(2, digits).list, [7]);
}

#[test]
fn wi_034_repeated_and_falling_tags_are_refused() {
    let order = |tag, previous| Malformed::TagOrder { tag, previous };
    for (digits, position, reason) in [
        ("00 02 01 00 01 00", 4, order(1, 1)),
        ("00 02 01 00 00 01 00", 4, order(0, 1)),
        ("00 02 05 04 00000000 05 04 00000000", 8, order(5, 5)),
    ] {
        assert_eq!(
            refused::<Tagged>(1, digits),
            (String::new(), position, reason)
        );
    }
}

#[test]
fn wi_035_unknown_tags_cannot_be_written_in_a_version_that_is_not_flexible() {
    let message = Untagged {
        unknown_tags: tags([(2, &[1])]),
        ..Untagged::default()
    };
    assert_eq!(
        unencodable(&message, 0),
        ("unknown_tags".into(), Unencodable::NotInVersion)
    );
    let inside = Untagged {
        list: vec![Inner {
            unknown_tags: tags([(2, &[1])]),
            ..Inner::default()
        }],
        ..Untagged::default()
    };
    assert_eq!(
        unencodable(&inside, 0),
        ("list[0].unknown_tags".into(), Unencodable::NotInVersion)
    );
}

#[test]
fn tagged_values_are_refused_where_the_version_lacks_them_unless_ignorable() {
    let list = Tagged {
        list: vec![1],
        ..Tagged::default()
    };
    assert_eq!(
        unencodable(&list, 1),
        ("list".into(), Unencodable::NotInVersion)
    );
    let text = Tagged {
        text: Some("dropped".into()),
        ..Tagged::default()
    };
    assert_eq!(encode(&text, 0), super::hex("00 ffffffff"));
}

#[test]
fn a_tags_size_bounds_its_value_and_is_used_up() {
    // The text's length reaches behind the tag's size, though not behind the input.
    let (field, position, reason) = refused::<Tagged>(1, "00 01 00 02 0368 6900");
    assert_eq!((field.as_str(), position), ("text", 4));
    assert_eq!(reason, Malformed::LengthBeyondInput { length: 2, left: 1 });
    assert_eq!(
        refused::<Tagged>(1, "00 01 00 04 036869 00"),
        (
            String::new(),
            7,
            Malformed::TagNotUsedUp { tag: 0, left: 1 }
        )
    );
}

#[test]
fn counts_of_tags_that_are_not_there_are_refused() {
    assert_eq!(
        refused::<Untagged>(1, "00 00 01 ffffffff0f"),
        (String::new(), 8, Malformed::Truncated)
    );
}

#[test]
fn unknown_tags_take_a_pointer_and_answer_by_tag() {
    assert_eq!(size_of::<UnknownTags>(), size_of::<usize>());
    let mut unknown = tags([(7, b"a"), (3, b"b")]);
    assert_eq!(unknown.get(7).map(AsRef::as_ref), Some(&b"a"[..]));
    assert_eq!(unknown.get(4), None);
    assert_eq!(unknown.insert(7, Bytes::new()).as_deref(), Some(&b"a"[..]));
    assert_eq!(format!("{unknown:?}"), r#"{3: b"b", 7: b""}"#);
}

#[test]
fn clones_of_unknown_tags_are_equal() {
    let message = Tagged {
        unknown_tags: tags([(1, b"x")]),
        ..Tagged::default()
    };
    assert_eq!(message.clone(), message);
    assert_eq!(Tagged::NAME, "Tagged");
}
