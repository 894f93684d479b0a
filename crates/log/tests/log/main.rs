//! One log, from the outside: its behaviours by their ids, then a model, crashes and faults.

mod support;

mod appending;
mod opening;
mod reading;
mod retention;
mod rolling;
mod time;
mod transactions;
mod truncation;
