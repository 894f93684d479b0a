//! Events in, actions out.
