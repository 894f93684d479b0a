//! [`Program`]: the broker's program, running.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::wire_client::WireClient;

/// A broker in a process of its own, which is killed when it is dropped.
pub(crate) struct Program {
    child: Child,
    _output: BufReader<ChildStdout>,
    errors: BufReader<ChildStderr>,
    /// What was read of it.
    log: String,
    pub(crate) address: SocketAddr,
}

/// The program, which gets nothing from the environment of the tests.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_klamm-broker"));
    command.env_clear();
    command
}

/// The same, with a limit of files that it may have open, connections among them.
pub(crate) fn command_within(files: u32) -> Command {
    let mut command = Command::new("/bin/sh");
    command.env_clear();
    let line = format!("ulimit -n {files} && exec \"$0\" \"$@\"");
    command.args(["-c", &line, env!("CARGO_BIN_EXE_klamm-broker")]);
    command
}

impl Program {
    /// Starts it on a free port with its data in a directory, and waits until it serves.
    pub(crate) fn start(directory: &Path) -> Self {
        Self::start_by(command(), directory)
    }

    /// The same, by a command that may have arguments already.
    pub(crate) fn start_by(mut command: Command, directory: &Path) -> Self {
        command.args(["--set", "node.id=1"]);
        command.args(["--set", "listeners=PLAINTEXT://127.0.0.1:0"]);
        command.args(["--set", &format!("log.dirs={}", directory.display())]);
        let spawned = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = spawned.unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        let address = line.split_whitespace().nth(3);
        let address = address.and_then(|it| it.parse().ok());
        Self {
            address: address.unwrap_or_else(|| panic!("not ready: {line:?}")),
            child,
            _output: output,
            errors,
            log: String::new(),
        }
    }

    pub(crate) fn connect(&self) -> WireClient {
        WireClient::connect(self.address).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap();
    }

    /// Waits until it says this in its log.
    pub(crate) fn has_said(&mut self, what: &str) {
        let mut from = 0;
        while !self.log[from..].contains(what) {
            from = self.log.len();
            let read = self.errors.read_line(&mut self.log).unwrap();
            assert!(read > 0, "it has ended without {what:?}: {}", self.log);
        }
    }

    /// Waits for its end; returns the exit code and the log.
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        self.errors.read_to_string(&mut self.log).unwrap();
        (
            self.child.wait().unwrap().code(),
            std::mem::take(&mut self.log),
        )
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Runs it until it ends by itself.
pub(crate) fn run(arguments: &[&str]) -> Output {
    command().args(arguments).output().unwrap()
}
