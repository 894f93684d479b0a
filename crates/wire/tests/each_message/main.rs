//! What single messages do in each of their versions: which fields a version refuses or drops, and
//! how lists fit the older forms.

mod classic_groups;
mod coding;
mod committed_offsets;
mod deleted_topics;
mod fetched;
mod offsets;
mod produced;
mod topics;
mod transactions;
