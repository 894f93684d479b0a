//! A replica manager from the outside, on a simulated disk: metadata, requests and time go in,
//! answers come out.

mod support;

mod appending;
mod concurrency;
mod deleted_unopened;
mod deleting_records;
mod durability;
mod failures;
mod followers;
mod high_watermark;
mod in_sync_set;
mod leader_epochs;
mod model;
mod offsets;
mod reading;
mod roles;
mod waiting_fetches;
mod waiting_produces;
