//! The client's task over a network, against scripted brokers.

mod faults;
mod frames;
mod loopback;
mod simulated;
mod support;
