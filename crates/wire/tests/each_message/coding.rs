//! What the tests of single messages ask of the codec.

use bytes::Bytes;
use klamm_wire::{EncodeError, Message, Unencodable};

/// The message in `version`, as it comes out at the other end; all bytes are used up.
pub(crate) fn passed_on<M: Message>(message: &M, version: i16) -> M {
    let mut bytes = encoded(message, version);
    let decoded = M::decode(&mut bytes, version).expect("what was encoded decodes");
    assert!(bytes.is_empty(), "{} v{version} left {bytes:?}", M::NAME);
    decoded
}

/// The message's bytes in `version`.
pub(crate) fn encoded<M: Message>(message: &M, version: i16) -> Bytes {
    let encoded = message.encode(version).expect("the version can say it");
    encoded.into_bytes().expect("no gap")
}

/// The field for which `version` refuses the message, and why.
#[track_caller]
pub(crate) fn refused<M: Message>(message: &M, version: i16) -> (String, Unencodable) {
    match message.encode(version) {
        Err(EncodeError::Field { field, reason, .. }) => (field.to_string(), reason),
        other => panic!("{} v{version} gave {other:?}", M::NAME),
    }
}

/// Asserts that `version` refuses the message for a value of `field`, which it does not have.
#[track_caller]
pub(crate) fn assert_not_in_version<M: Message>(message: &M, version: i16, field: &str) {
    let expected = (field.to_owned(), Unencodable::NotInVersion);
    assert_eq!(
        refused(message, version),
        expected,
        "{} v{version}",
        M::NAME
    );
}

/// Asserts that every version of the message passes it on unchanged from `first` on, and that
/// those below refuse it for `field`.
#[track_caller]
pub(crate) fn assert_needs<M: Message>(message: &M, first: i16, field: &str) {
    for version in M::VERSIONS.min..=M::VERSIONS.max {
        if version < first {
            assert_not_in_version(message, version, field);
        } else {
            assert_eq!(
                &passed_on(message, version),
                message,
                "{} v{version}",
                M::NAME
            );
        }
    }
}
