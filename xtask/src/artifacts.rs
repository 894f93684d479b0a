//! Programs that cargo built, found by what cargo says of them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use cargo_metadata::{Message, TargetKind};

use crate::command;
use crate::workspace::Workspace;

/// One program that a build left behind.
pub(crate) struct Artifact {
    /// The package that the target belongs to.
    pub(crate) package: String,
    /// The name of the target: of the example, the integration test, the bench.
    pub(crate) target: String,
    directory: PathBuf,
    executable: PathBuf,
}

impl Artifact {
    /// A call of the program as cargo would make it: from its package's directory.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.current_dir(&self.directory);
        command
    }
}

/// Runs a cargo command that builds, and returns the programs of one kind that it names, in the
/// order of their packages' and their own names.
///
/// # Errors
/// The build failed, or cargo said something that cannot be read.
pub(crate) fn build(
    workspace: &Workspace,
    arguments: &[&str],
    kind: &TargetKind,
) -> Result<Vec<Artifact>> {
    println!("$ cargo {}", arguments.join(" "));
    let mut child = command::cargo(workspace.root(), arguments.iter().copied())
        .arg("--message-format=json-render-diagnostics")
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let output = child.stdout.take().context("cargo has no output")?;
    let mut found = Vec::new();
    for message in Message::parse_stream(std::io::BufReader::new(output)) {
        let Message::CompilerArtifact(artifact) = message.context("cannot read cargo's output")?
        else {
            continue;
        };
        let Some(executable) = artifact.executable else {
            continue;
        };
        if !artifact.target.kind.contains(kind) {
            continue;
        }
        let package = workspace
            .packages()
            .into_iter()
            .find(|package| package.id == artifact.package_id)
            .with_context(|| format!("{} is not of this workspace", artifact.package_id))?;
        let directory = package
            .manifest_path
            .parent()
            .context("a manifest without directory")?;
        found.push(Artifact {
            package: package.name.to_string(),
            target: artifact.target.name,
            directory: directory.as_std_path().to_owned(),
            executable: executable.into_std_path_buf(),
        });
    }
    let status = child.wait().context("cannot wait for cargo")?;
    if !status.success() {
        bail!("`cargo {}` failed ({status})", arguments.join(" "));
    }
    found.sort_by(|a, b| (&a.package, &a.target).cmp(&(&b.package, &b.target)));
    Ok(found)
}
