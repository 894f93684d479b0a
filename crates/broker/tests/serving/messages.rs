//! What the program says to people about what they have asked of it.

use crate::program::run;

/// The last line of what it says when it does not start.
fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success(), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    said.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_start_is_refused_in_one_line_that_says_what_to_set() {
    let with = |setting: &str| refused(&["--set", "node.id=1", "--set", setting]);
    assert_eq!(
        with("listeners=PLAINTEXT://localhost:65536"),
        "klamm-broker: --set: listeners is \"PLAINTEXT://localhost:65536\", expected \
         NAME://host:port with a port from 0 to 65535"
    );
    let said = with("listeners=FOO://localhost:9092");
    assert!(
        said.contains("listener.security.protocol.map has no protocol for FOO"),
        "{said}"
    );
    assert_eq!(
        refused(&["--set", "listeners=PLAINTEXT://localhost:1"]),
        "klamm-broker: node.id must be given, as process.roles or listeners are: 1, say, for the \
         only broker"
    );
    let said = refused(&["no-such.properties"]);
    assert!(
        said.starts_with("klamm-broker: no-such.properties: "),
        "{said}"
    );
}

#[test]
fn a_place_is_named_once() {
    let directory = tempfile::tempdir().unwrap();
    let metadata = directory.path().join("klamm-metadata");
    std::fs::create_dir(&metadata).unwrap();
    std::fs::write(metadata.join("quorum-state"), "no state").unwrap();
    let said = refused(&["--set", &format!("log.dirs={}", directory.path().display())]);
    assert!(said.contains("quorum-state is damaged"), "{said}");
    assert_eq!(said.matches("klamm-metadata").count(), 1, "{said}");
}

/// An error and its cause are told once each, also where one tells the other already.
#[test]
fn a_log_for_programs_tells_an_error_once() {
    let arguments = ["--log-format", "json", "--set", "num.io.threads=0"];
    let said = refused(&arguments);
    assert!(said.starts_with('{'), "{said}");
    assert_eq!(said.matches("num.io.threads").count(), 1, "{said}");
}
