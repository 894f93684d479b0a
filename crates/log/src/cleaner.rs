//! Compaction: of each key the newest record stays, and offsets do not change.
//!
//! A pass over a log goes in steps, so that nothing long is done under the log's lock:
//!
//! | step | lock |
//! |---|---|
//! | [`Log::cleanable`](crate::Log::cleanable): how much is dirty; [`filthiest`] chooses a log | short |
//! | [`Cleanings::begin`]: nobody else cleans it, and it may be stopped | short, its own |
//! | [`Log::begin_cleaning`](crate::Log::begin_cleaning): takes the work out of the log | short |
//! | [`Cleaning::next`]: reads the dirty keys, then writes some segments anew | none |
//! | [`Log::swap_in`](crate::Log::swap_in): puts them in the place of the old ones | short |
//! | [`CleanerOffsets::set`]: notes how far the log is clean | none |
//!
//! What is cleaned ends at the first segment that is still appended to, that holds records too
//! young (`min.compaction.lag.ms`), or where a transaction is open. It ends with a whole segment,
//! so records above are not even copied.

mod choose;
mod clean;
mod cleanable;
mod group;
mod offset_map;
mod offsets;
mod output;
mod rules;
mod running;
mod runs;
mod swap;
mod transactions;

pub use self::choose::{Cleanable, filthiest};
pub use self::clean::{CleanError, Cleaning, CleaningCounts};
pub use self::offsets::CleanerOffsets;
pub use self::running::{Cleanings, Running, Uncleanable};
pub use self::swap::{Cleaned, Swapped};

#[cfg(test)]
mod tests;
