//! Child processes: cargo, as this process would call it, and the programs that cargo built.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A call of the cargo that started this process, with the given arguments.
pub(crate) fn cargo<'a>(root: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    clean(Command::new(cargo), root, arguments)
}

/// A call of the nightly toolchain's cargo, by way of rustup's proxy of that name.
pub(crate) fn nightly_cargo<'a>(
    root: &Path,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Command {
    let mut command = Command::new("cargo");
    command.arg("+nightly");
    let mut command = clean(command, root, arguments);
    // Cargo and rustup tell their children which tools to use; here that would be the wrong ones.
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(variable);
    }
    command
}

/// Adds the arguments and takes out what `cargo run` says of the package that it runs: a build
/// script that watches one of these variables would otherwise run again, and its crate with it.
fn clean<'a>(
    mut command: Command,
    root: &Path,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Command {
    command.args(arguments).current_dir(root);
    for (name, _) in std::env::vars_os() {
        let told_of_package = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        });
        if told_of_package {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command that shares this process's terminal.
///
/// # Errors
/// It could not be started, or it ended with anything but success; the error shows the command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    println!("$ {shown}");
    let status = command
        .status()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// Runs a command and returns what it wrote to its standard output; the rest is shown.
///
/// # Errors
/// As [`run`], and output that is not UTF-8.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` failed ({})", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("output of `{shown}`"))
}

/// Whether a command can be started and succeeds; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The command as one would type it: the variables set for it, the program's name, its arguments.
fn show(command: &Command) -> String {
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            words.push(format!(
                "{}={}",
                name.display(),
                quoted(&value.to_string_lossy())
            ));
        }
    }
    let program = Path::new(command.get_program());
    words.push(
        program
            .file_name()
            .unwrap_or(program.as_os_str())
            .display()
            .to_string(),
    );
    words.extend(
        command
            .get_args()
            .map(|argument| quoted(&argument.to_string_lossy())),
    );
    words.join(" ")
}

fn quoted(word: &str) -> String {
    if word.contains([' ', '*', '"', '$']) {
        format!("'{word}'")
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, show};

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = Command::new("/some/where/bin/cargo");
        command
            .args(["test", "--bench", "*"])
            .env("RUSTFLAGS", "--cfg loom");
        assert_eq!(
            show(&command),
            "RUSTFLAGS='--cfg loom' cargo test --bench '*'"
        );
    }
}
