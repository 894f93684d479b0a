//! [`UnknownTags`]: tagged fields that no schema names.

use std::fmt;
use std::slice;

use bytes::Bytes;

/// Tagged fields of a struct that its schema does not name, kept so that they survive a round
/// trip. One pointer, null while there are none.
///
/// ```
/// use klamm_wire::UnknownTags;
///
/// let mut tags = UnknownTags::new();
/// tags.insert(7, "x".into());
/// tags.insert(3, "y".into());
/// assert_eq!(tags.iter().map(|(tag, _)| *tag).collect::<Vec<_>>(), [3, 7]);
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct UnknownTags {
    /// By rising tag; never empty.
    #[expect(clippy::box_collection, reason = "one pointer: it is in every struct")]
    tags: Option<Box<Vec<(u32, Bytes)>>>,
}

impl UnknownTags {
    /// No tags.
    #[inline]
    pub const fn new() -> Self {
        Self { tags: None }
    }

    /// Whether there are none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.tags.is_none()
    }

    /// The tags with their values, by rising tag.
    #[inline]
    pub fn iter(&self) -> slice::Iter<'_, (u32, Bytes)> {
        self.as_slice().iter()
    }

    /// The value of a tag.
    pub fn get(&self, tag: u32) -> Option<&Bytes> {
        let at = self.find(tag).ok()?;
        Some(&self.as_slice()[at].1)
    }

    /// Sets the value of a tag; returns the former one.
    ///
    /// A tag that the struct's schema knows is refused when the struct is encoded.
    pub fn insert(&mut self, tag: u32, value: Bytes) -> Option<Bytes> {
        let at = self.find(tag);
        let tags = self.tags.get_or_insert_default();
        match at {
            Ok(at) => Some(std::mem::replace(&mut tags[at].1, value)),
            Err(at) => {
                tags.insert(at, (tag, value));
                None
            }
        }
    }

    /// How many bytes of memory the next [`push`](Self::push) takes: the list grows by doubling.
    pub(super) fn memory_of_next(&self) -> usize {
        let entry = size_of::<(u32, Bytes)>();
        match &self.tags {
            None => size_of::<Vec<(u32, Bytes)>>() + 4 * entry,
            Some(_) => 2 * entry,
        }
    }

    /// Adds a tag that is greater than all others.
    pub(super) fn push(&mut self, tag: u32, value: Bytes) {
        debug_assert!(
            self.as_slice().last().is_none_or(|(last, _)| *last < tag),
            "tags rise while a section is read"
        );
        self.tags.get_or_insert_default().push((tag, value));
    }

    #[inline]
    fn as_slice(&self) -> &[(u32, Bytes)] {
        self.tags.as_ref().map_or(&[], |tags| tags.as_slice())
    }

    fn find(&self, tag: u32) -> Result<usize, usize> {
        self.as_slice().binary_search_by_key(&tag, |(tag, _)| *tag)
    }
}

/// Every struct has unknown tags to drop, and hardly any has some: without this a call each.
impl Drop for UnknownTags {
    #[inline]
    fn drop(&mut self) {
        if let Some(tags) = self.tags.take() {
            drop_some(tags);
        }
    }
}

#[cold]
#[inline(never)]
#[expect(clippy::box_collection, reason = "as it stands in the struct")]
fn drop_some(tags: Box<Vec<(u32, Bytes)>>) {
    drop(tags);
}

impl<'a> IntoIterator for &'a UnknownTags {
    type Item = &'a (u32, Bytes);
    type IntoIter = slice::Iter<'a, (u32, Bytes)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for UnknownTags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.iter().map(|(tag, value)| (tag, value)))
            .finish()
    }
}
