//! Programs that are not ours: found on the machine, or fetched by package name.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::kafka::Kafka;
use crate::command;

/// What kcat needs besides the C library, by Debian's names.
const KCAT_PACKAGES: [&str; 4] = ["kcat", "librdkafka1", "libyajl2", "libserdes1"];

/// librdkafka itself, in the package that Python has of it.
const LIBRDKAFKA_PACKAGE: &str = "confluent-kafka";

/// Where fetched programs lie.
pub(super) struct Programs {
    directory: PathBuf,
}

impl Programs {
    pub(super) fn new(directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        let directory = directory.canonicalize()?;
        Ok(Self { directory })
    }

    /// kcat, ready to be given arguments; `None` if it cannot be had.
    pub(super) fn kcat(&self) -> Option<Command> {
        if command::succeeds(Command::new("kcat").arg("-V")) {
            return Some(Command::new("kcat"));
        }
        let root = self.directory.join("kcat");
        let mut kcat = kcat_in(&root);
        if !command::succeeds(kcat.arg("-V")) {
            fetch_debian(&root, &KCAT_PACKAGES).ok()?;
            let mut fetched = kcat_in(&root);
            if !command::succeeds(fetched.arg("-V")) {
                return None;
            }
        }
        Some(kcat_in(&root))
    }

    /// Apache Kafka's programs; `None` if they cannot be had.
    pub(super) fn kafka(&self) -> Result<Option<Kafka>> {
        Kafka::fetch(&self.directory)
    }

    /// A Python that has librdkafka; `None` if it cannot be had.
    pub(super) fn python_with_librdkafka(&self) -> Option<Command> {
        let root = self.directory.join("python");
        let python = root.join("bin/python");
        let has_it = || {
            let mut import = Command::new(&python);
            command::succeeds(import.args(["-c", "import confluent_kafka"]))
        };
        if !has_it() {
            let mut venv = Command::new("python3");
            venv.args(["-m", "venv"]).arg(&root);
            command::run(&mut venv).ok()?;
            let mut install = Command::new(&python);
            install.args(["-m", "pip", "install", "--quiet", LIBRDKAFKA_PACKAGE]);
            command::run(&mut install).ok()?;
            if !has_it() {
                return None;
            }
        }
        Some(Command::new(python))
    }
}

/// A kcat that was unpacked into a directory, and finds its libraries there.
fn kcat_in(root: &Path) -> Command {
    let mut kcat = Command::new(root.join("usr/bin/kcat"));
    let mut libraries = OsString::new();
    for entry in fs::read_dir(root.join("usr/lib"))
        .into_iter()
        .flatten()
        .flatten()
    {
        if entry.path().is_dir() {
            libraries.push(entry.path());
            libraries.push(":");
        }
    }
    kcat.env("LD_LIBRARY_PATH", libraries);
    kcat
}

/// Downloads Debian's packages and unpacks them into a directory; nothing is installed.
fn fetch_debian(root: &Path, packages: &[&str]) -> Result<()> {
    fs::create_dir_all(root)?;
    for package in packages {
        let mut download = Command::new("apt-get");
        download.args(["download", package]).current_dir(root);
        // What a release does not have, its kcat does not need; whether it runs is seen later.
        let _ = command::succeeds(&mut download);
    }
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "deb") {
            command::run(Command::new("dpkg-deb").arg("-x").arg(&path).arg(root))?;
        }
    }
    Ok(())
}
