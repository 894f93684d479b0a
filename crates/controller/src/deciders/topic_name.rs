//! Which names topics can have. (CO-037)

use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;

use crate::image::MetadataImage;

/// A topic cannot have this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidTopicName {
    /// It is empty.
    #[error("the topic's name is empty")]
    Empty,
    /// It is `.` or `..`, which are no names of directories.
    #[error("the topic's name is `.` or `..`")]
    Dots,
    /// It is too long for a directory with an index behind it.
    #[error("the topic's name has {len} characters, more than {LEN_MAX}")]
    TooLong {
        /// How long it is.
        len: usize,
    },
    /// It has a character other than ASCII letters, digits, `.`, `_` and `-`.
    #[error("the topic's name has a character {character:?}")]
    Character {
        /// The first such character.
        character: char,
    },
    /// It is the same as another topic's but for `.` in the place of `_`, and the names of metrics
    /// cannot tell the two apart.
    #[error("the topic's name differs from that of {other} only by `.` and `_`")]
    Collides {
        /// The other topic.
        other: Arc<str>,
    },
}

const LEN_MAX: usize = 249;

pub(crate) fn check_name(name: &str) -> Result<(), InvalidTopicName> {
    let is_legal = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '_' | '-');
    if name.is_empty() {
        return Err(InvalidTopicName::Empty);
    }
    if matches!(name, "." | "..") {
        return Err(InvalidTopicName::Dots);
    }
    if name.len() > LEN_MAX {
        return Err(InvalidTopicName::TooLong { len: name.len() });
    }
    match name.chars().find(|it| !is_legal(*it)) {
        Some(character) => Err(InvalidTopicName::Character { character }),
        None => Ok(()),
    }
}

/// The names that could collide with others: those with a `.` or `_`, of which metrics make one.
#[derive(Default)]
pub(crate) struct Colliding(Option<BTreeMap<String, Arc<str>>>);

impl Colliding {
    /// Refuses a name that collides; notes it where it is to be created. The first name that
    /// could collide makes this look at all topics' names, once a request.
    pub(crate) fn check_and_note(
        &mut self,
        image: &MetadataImage,
        name: &Arc<str>,
    ) -> Result<(), InvalidTopicName> {
        if !can_collide(name) {
            return Ok(());
        }
        let names = self.0.get_or_insert_with(|| {
            let names = image.topics().map(|topic| &topic.name);
            names
                .filter(|name| can_collide(name))
                .map(|name| (as_metric(name), name.clone()))
                .collect()
        });
        let other = names.entry(as_metric(name)).or_insert_with(|| name.clone());
        if *other == *name {
            Ok(())
        } else {
            let other = other.clone();
            Err(InvalidTopicName::Collides { other })
        }
    }
}

fn can_collide(name: &str) -> bool {
    name.contains(['.', '_'])
}

fn as_metric(name: &str) -> String {
    name.replace('.', "_")
}
