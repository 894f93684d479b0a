//! [`Program`]: the broker as a process.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

/// What the line begins with that the broker prints when it serves.
const READY: &str = "klamm-broker ready on ";

/// A broker's process. Killed when it is dropped.
pub(super) struct Program {
    child: Child,
    address: SocketAddr,
}

impl Program {
    /// Starts it on a free port, and returns when it serves.
    ///
    /// # Errors
    /// It cannot be started, or ends before it serves; then it has said why.
    pub(super) fn start(mut command: Command, data: &Path) -> Result<Self> {
        let mut child = command
            .args(["--set", "node.id=1"])
            .args(["--set", "listeners=PLAINTEXT://127.0.0.1:0"])
            .arg("--set")
            .arg(format!("log.dirs={}", data.display()))
            .args(["--log", "warn"])
            .stdout(Stdio::piped())
            .spawn()
            .context("the broker cannot be started")?;
        let output = child.stdout.take().context("the broker has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        print!("{line}");
        let address = line.strip_prefix(READY).and_then(|it| it.split(' ').next());
        let address = address.and_then(|it| it.parse().ok());
        match address {
            Some(address) => Ok(Self { child, address }),
            None => {
                let status = child.wait()?;
                anyhow::bail!("the broker did not come to serve ({status})");
            }
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The memory that is its own at present, where the system tells.
    pub(super) fn memory_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse().ok()
    }

    /// Asks it to stop, and waits until it has.
    ///
    /// # Errors
    /// It ended with anything but success.
    pub(super) fn stop(mut self) -> Result<()> {
        let id = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status()?;
        ensure!(asked.success(), "the broker cannot be asked to stop");
        let status = self.child.wait()?;
        ensure!(status.success(), "the broker stopped with {status}");
        Ok(())
    }

    /// Ends it in the middle of whatever it does.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub(super) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
