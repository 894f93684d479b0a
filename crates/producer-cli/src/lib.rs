//! The klamm-producer program.
