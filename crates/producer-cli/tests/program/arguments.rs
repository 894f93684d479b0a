//! Wrong and missing arguments.

use crate::support::run;

/// Covers PR-149.
#[test]
fn no_arguments_at_all_print_help_and_unknown_ones_are_errors() {
    for nothing in [
        &[][..],
        &["perf"],
        &["produce"],
        &["verify"],
        &["perf", "--help"],
    ] {
        let ended = run(nothing);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let printed = ended.stdout + &ended.stderr;
        assert!(printed.contains("Usage: klamm-producer"), "{printed}");
    }
    for wrong in [
        &["frobnicate"][..],
        &["perf", "--frobnicate"],
        &["perf", "--topic", "t"],
        &["verify", "--topic", "t"],
    ] {
        let ended = run(wrong);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains("error:"), "{ended:?}");
        assert_eq!(ended.stdout, "");
    }
}

#[test]
fn a_value_out_of_range_is_refused_by_name_and_an_unknown_setting_is_a_warning() {
    let base = [
        "produce",
        "--bootstrap-server",
        "127.0.0.1:1",
        "--topic",
        "t",
    ];
    let with = |more: &[&str]| run(&[&base, more].concat());
    let ended = with(&["--producer-property", "acks=7"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("acks = `7`"), "{ended:?}");
    let ended = with(&["--property", "parse.key=perhaps"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("parse.key = `perhaps`"), "{ended:?}");
    let unknown = [
        "--producer-property",
        "lingre.ms=5",
        "--max-block-ms",
        "100",
    ];
    let ended = with(&unknown);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("unknown setting lingre.ms"),
        "{ended:?}"
    );
    // Nobody listens at that port.
    assert!(ended.stderr.contains("topic t at 127.0.0.1:1"), "{ended:?}");
    assert!(ended.stderr.contains("max.block.ms"), "{ended:?}");
}

#[test]
fn a_host_that_does_not_exist_is_told() {
    let address = "host.invalid:9092";
    let ended = run(&["verify", "--bootstrap-server", address, "--topic", "t"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("bootstrap.servers"), "{ended:?}");
    assert_eq!(ended.stdout, "");
}
