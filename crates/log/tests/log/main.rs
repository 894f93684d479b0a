//! One log, from the outside: its behaviours by their ids, then a model, crashes and faults.

mod random;
mod support;

mod appending;
mod crash;
mod descriptors;
mod faults;
mod leaps;
mod lying_index;
mod model;
mod old_formats;
mod opening;
mod reading;
mod recovery;
mod rescue;
mod retention;
mod rolling;
mod time;
mod transactions;
mod truncation;
