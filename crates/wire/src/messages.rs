//! Requests and responses, a file a pair.
//!
//! The struct is the schema. On a message's struct `#[wire(..)]` says what it is, which versions
//! there are and which of them are flexible. On a field:
//!
//! | attribute | means | left out |
//! |---|---|---|
//! | `versions = 3..` | the versions that have the field | all |
//! | `nullable = 4..` | the versions in which null is legal; the type is then an `Option` | none |
//! | `tag = 0`, `tagged = 12..` | in these versions it stands in the tagged section, unless it is at its default | never |
//! | `default = -1` | what a reader takes where the version has no such field | the type's own; an empty value, not null, for an `Option` other than of records |
//! | `ignorable` | a version without the field drops the value | a value other than the default is then an error |
//!
//! Numbers that have a meaning have a type of their own; plain integers carry their unit in their
//! name. `unknown_tags` keeps tagged fields that a later schema may have.

pub mod api_versions;
pub mod create_topics;
pub mod fetch;
pub mod init_producer_id;
pub mod list_offsets;
pub mod metadata;
pub mod produce;
