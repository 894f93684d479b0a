//! Fields of fixed width one behind the other, and arrays that are filled a few elements at a time.

use super::{decode, encode, hex, refused};
use crate::BrokerIds;
use crate::codec::{Malformed, Message, UnknownTags};
use crate::prelude::{BrokerId, ErrorCode, Message, Offset, Struct, Uuid};

/// From version 1 on all fields before `brokers` are one run of 31 bytes.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=2, flexible = 2..)]
struct Numbers {
    error_code: ErrorCode,
    flag: bool,
    #[wire(versions = 1.., default = -1, ignorable)]
    broker_id: BrokerId,
    offset: Offset,
    id: Uuid,
    brokers: BrokerIds,
    unknown_tags: UnknownTags,
}

#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=0, flexible = 0..)]
struct Many {
    elements: Vec<Element>,
    unknown_tags: UnknownTags,
}

#[derive(Debug, Clone, PartialEq, Struct)]
struct Element {
    number: i32,
    flag: bool,
    unknown_tags: UnknownTags,
}

const WHOLE: &str = "0003 01 00000007 0000000000000009 0102030405060708090a0b0c0d0e0f10";
const WITHOUT_BROKER: &str = "0003 01 0000000000000009 0102030405060708090a0b0c0d0e0f10";

fn numbers(brokers: impl Into<BrokerIds>) -> Numbers {
    Numbers {
        error_code: 3.into(),
        flag: true,
        broker_id: 7.into(),
        offset: 9.into(),
        id: Uuid::from_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10),
        brokers: brokers.into(),
        ..Numbers::default()
    }
}

#[test]
fn a_run_has_the_same_bytes_as_its_fields() {
    let written = format!("{WHOLE} 00000001 00000005");
    assert_eq!(encode(&numbers([5.into()]), 1), hex(&written));
    assert_eq!(decode::<Numbers>(1, &written), numbers([5.into()]));

    let written = format!("{WITHOUT_BROKER} 00000001 00000005");
    assert_eq!(encode(&numbers([5.into()]), 0), hex(&written));
    let read: Numbers = decode(0, &written);
    assert_eq!(read.broker_id, BrokerId::NONE);
    assert_eq!(read.id, numbers([]).id);
}

#[test]
fn a_run_that_is_cut_short_names_the_field_and_its_place() {
    let fields = [
        ("error_code", 2),
        ("flag", 1),
        ("broker_id", 4),
        ("offset", 8),
        ("id", 16),
    ];
    let digits: String = WHOLE.split_whitespace().collect();
    let mut start = 0;
    for (field, width) in fields {
        for len in start..start + width {
            let cut = refused::<Numbers>(1, &digits[..2 * len]);
            assert_eq!(cut, (field.into(), start, Malformed::Truncated));
        }
        start += width;
    }
}

#[test]
fn lists_of_brokers_of_any_length_are_arrays() {
    for count in 0..6 {
        let ids: Vec<_> = (0..count).map(BrokerId::new).collect();
        let message = numbers(ids.clone());
        let elements: Vec<_> = ids.iter().map(|id| format!("{:08x}", id.get())).collect();
        let elements = elements.concat();

        let old = format!("{WHOLE} {count:08x} {elements}");
        assert_eq!(encode(&message, 1), hex(&old));
        assert_eq!(decode::<Numbers>(1, &old), message);

        let compact = format!("{WHOLE} {:02x} {elements} 00", count + 1);
        assert_eq!(encode(&message, 2), hex(&compact));
        assert_eq!(decode::<Numbers>(2, &compact), message);
    }
    let field = || String::from("brokers");
    let null = refused::<Numbers>(2, &format!("{WHOLE} 00"));
    assert_eq!(null, (field(), 31, Malformed::Null));
    let bomb = refused::<Numbers>(1, &format!("{WHOLE} 00000002 00000001"));
    let reason = Malformed::CountBeyondInput {
        count: 2,
        len_min: 4,
        left: 4,
    };
    assert_eq!(bomb, (field(), 31, reason));
}

#[test]
fn long_arrays_are_read_whole_and_a_fault_has_its_index() {
    for count in [0, 1, 15, 16, 17, 32, 33, 100] {
        let elements = (0..count).map(|number| Element {
            number,
            flag: number % 3 == 0,
            ..Element::default()
        });
        let message = Many {
            elements: elements.collect(),
            ..Many::default()
        };
        let mut written = encode(&message, 0);
        assert_eq!(Many::decode(&mut written.clone(), 0), Ok(message));

        // The last element has a section of one tag, which is then not there.
        let len = written.len();
        let Some(last) = usize::try_from(count)
            .ok()
            .and_then(|count| count.checked_sub(1))
        else {
            continue;
        };
        written.truncate(len - 2);
        let mut digits = ::hex::encode(&written);
        digits.push_str("01");
        let (field, position, reason) = refused::<Many>(0, &digits);
        assert_eq!(field, format!("elements[{last}]"));
        assert_eq!((position, reason), (len - 1, Malformed::Truncated));
    }
}
