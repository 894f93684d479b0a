//! The broker: API handlers, settings, and the wiring of all that stands below.

pub mod settings;
