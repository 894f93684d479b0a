//! The seams between Klamm and the machine: time, files and sockets.
//!
//! Whoever needs one of them takes it through its constructor as a type parameter, so that the
//! real side costs a direct call and the simulated side can lose what was not synced, tear
//! writes, jump in time and fail on demand. The crate knows neither Kafka nor logs.
//!
//! Read first: [`Clock`], [`Disk`] with [`DiskFile`], [`Net`]; then [`sim`].

mod clock;
mod disk;
mod disk_error;
mod file_range;
mod net;
mod net_error;
mod real_disk;
mod tcp_net;
mod whole_file;

pub mod sim;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use clock::{Clock, SystemClock};
pub use disk::{Allocated, Disk, DiskFile, Entry, FileKind, Metadata, OpenMode, Space};
pub use disk_error::{DiskError, DiskErrorKind, DiskOperation};
pub use file_range::{FileRange, FileSource, RangeWatcher};
pub use net::{ListenOptions, Listener, Net, SocketOptions};
pub use net_error::{NetError, NetErrorKind, NetOperation};
pub use real_disk::{RealDisk, RealFile, RealLock};
pub use tcp_net::{TcpListener, TcpNet};
pub use whole_file::{read_whole, replace_whole};

/// The examples of the README are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
