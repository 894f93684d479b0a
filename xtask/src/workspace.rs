//! The workspace as cargo sees it: where it lies, its packages and their targets.

use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{Metadata, MetadataCommand, Package};

/// The workspace that this program belongs to.
pub(crate) struct Workspace {
    metadata: Metadata,
}

impl Workspace {
    /// Asks cargo, without resolving dependencies: that takes milliseconds and no network. The
    /// workspace is that of whoever runs this program, and not where it was compiled: work trees may
    /// share what they build.
    ///
    /// # Errors
    /// A manifest that cargo cannot read.
    pub(crate) fn load() -> Result<Self> {
        let own = std::env::var_os("CARGO_MANIFEST_DIR")
            .context("run this as `cargo xtask`: cargo says where the workspace is")?;
        let manifest = Path::new(&own).join("../Cargo.toml");
        let metadata = MetadataCommand::new()
            .manifest_path(manifest)
            .no_deps()
            .exec()
            .context("cannot read the workspace's manifests")?;
        Ok(Self { metadata })
    }

    /// The directory that holds the workspace's manifest.
    pub(crate) fn root(&self) -> &Path {
        self.metadata.workspace_root.as_std_path()
    }

    /// Where cargo builds.
    pub(crate) fn target_directory(&self) -> &Path {
        self.metadata.target_directory.as_std_path()
    }

    /// The packages of the workspace, in the order of its manifest.
    pub(crate) fn packages(&self) -> Vec<&Package> {
        self.metadata.workspace_packages()
    }

    /// Names of the packages that have an integration test called `target`.
    pub(crate) fn packages_with_test(&self, target: &str) -> Vec<&str> {
        self.packages()
            .into_iter()
            .filter(|package| {
                package
                    .targets
                    .iter()
                    .any(|found| found.is_test() && found.name == target)
            })
            .map(|package| package.name.as_str())
            .collect()
    }
}
