//! The program as its users run it, against a scripted cluster on the loopback address.

mod arguments;
mod giving_up;
mod perf;
mod produce;
mod support;
mod verify;
