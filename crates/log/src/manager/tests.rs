//! The manager on a simulated disk, and where it matters on a real one.

mod compact;
mod create_and_delete;
mod durability;
mod in_the_way;
mod late;
mod missing;
mod open_files;
mod ownership;
mod reading;
mod start;
mod stop;
mod support;
mod threads;
mod truncate;
mod twice;
mod upkeep;
