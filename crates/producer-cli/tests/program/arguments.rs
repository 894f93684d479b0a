//! Wrong and missing arguments.

use crate::support::run;

/// Covers PR-149.
#[test]
fn no_arguments_at_all_print_help_and_are_errors_as_unknown_ones_are() {
    for (nothing, code) in [
        (&[][..], 1),
        (&["perf"], 1),
        (&["produce"], 1),
        (&["verify"], 1),
        (&["perf", "--help"], 0),
    ] {
        let ended = run(nothing);
        assert_eq!(ended.code, Some(code), "{ended:?}");
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

/// What is typed by who knows the tools of Apache Kafka, and what is to be typed here.
#[test]
fn an_option_with_another_name_here_is_told_by_that_name() {
    for (typed, here) in [
        (
            "produce --producer-props acks=1",
            "--producer-property NAME=VALUE",
        ),
        ("produce -b 127.0.0.1:9092", "--bootstrap-server HOST:PORT"),
        (
            "perf --request-required-acks 1",
            "--producer-props acks=ACKS",
        ),
        ("perf --property acks=1", "--producer-props NAME=VALUE"),
        (
            "verify --producer-property=acks=1",
            "--producer.config FILE",
        ),
        ("verify --num-records 7", "--max-messages COUNT"),
    ] {
        let ended = run(&typed.split(' ').collect::<Vec<_>>());
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains("unexpected argument"), "{ended:?}");
        assert!(ended.stderr.contains("tip: here it is"), "{ended:?}");
        assert!(ended.stderr.contains(here), "{typed}: {ended:?}");
    }
}

#[test]
fn options_of_former_releases_that_mean_the_same_are_taken() {
    // Nobody listens at that port.
    let server = "--broker-list 127.0.0.1:1 --topic t";
    for typed in [
        format!("produce {server} --acks 1 --max-block-ms 100"),
        format!(
            "perf {server} --num-records 1 --throughput -1 --payload-monotonic \
             --producer-property max.block.ms=100"
        ),
    ] {
        let ended = run(&typed.split(' ').collect::<Vec<_>>());
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let told = "topic t at 127.0.0.1:1: topic not in the metadata after 1";
        assert!(ended.stderr.contains(told), "{ended:?}");
        let why = "last: bootstrap server 127.0.0.1:1: cannot connect to 127.0.0.1:1: Connection";
        assert!(ended.stderr.contains(why), "{ended:?}");
    }
}
