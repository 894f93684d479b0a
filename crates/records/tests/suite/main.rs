//! The behaviours of record batches, against golden bytes, plain models and an independent codec.

mod batch;
mod builder;
mod compression;
mod control;
mod differential;
mod filter;
mod golden;
mod model;
mod reading;
mod records;
mod run;
mod support;
mod validate;
