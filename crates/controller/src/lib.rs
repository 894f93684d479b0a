//! Cluster metadata: its records, the image of them, and the quorum that agrees on them.
//!
//! The crate knows nothing of what partitions hold.
