//! [`FormError`]: why a message does not fit the form that an older version has for it.
//!
//! Some messages named one thing in flat fields before they learned to carry a list. Callers of
//! this crate need to know the list alone: `for_version` puts it into the form of a version,
//! `from_version` makes a list out of whatever the version brought. Leaving a group, fetching
//! offsets, finding coordinators, adding partitions to a transaction and deleting topics have them.
//!
//! What an entry may lose on becoming flat is what the version could drop anyway, and unknown
//! tagged fields of the entry itself; those of the message and of what stays nested are kept.

use thiserror::Error;

/// Why a message cannot take the form of a version; nothing has been encoded.
///
/// ```
/// use klamm_wire::Message;
/// use klamm_wire::messages::find_coordinator::FindCoordinatorRequest;
///
/// let request = FindCoordinatorRequest {
///     coordinator_keys: vec!["orders".into()],
///     ..Default::default()
/// };
/// let mut body = request.clone().for_version(2)?.encode(2)?.into_bytes().expect("no gap");
/// let received = FindCoordinatorRequest::decode(&mut body, 2)?;
/// assert_eq!(received.key, "orders", "one flat field up to v3");
/// assert_eq!(received.from_version(2), request);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FormError {
    /// The version carries another number of things, mostly exactly one.
    #[error("version {version} has no form for {count} {things}")]
    Count {
        /// What is counted, in the plural.
        things: &'static str,
        /// How many there are.
        count: usize,
        /// The version asked for.
        version: i16,
    },
    /// The version has no place for a value that may not be dropped.
    #[error("version {version} has no place for `{field}`")]
    Field {
        /// The field that holds the value.
        field: &'static str,
        /// The version asked for.
        version: i16,
    },
}

/// The only one of `items`.
pub(crate) fn only<T>(things: &'static str, items: Vec<T>, version: i16) -> Result<T, FormError> {
    let count = items.len();
    let mut items = items.into_iter();
    match (items.next(), items.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(FormError::Count {
            things,
            count,
            version,
        }),
    }
}
