//! Starting, stopping and starting again.

use std::ffi::OsString;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use klamm_broker::StartError;
use klamm_wire::ErrorCode;
use klamm_wire::messages::metadata::MetadataRequest;
use klamm_wire::messages::produce::ProduceRequest;
use rustix::process::Signal;

use crate::broker::{
    TestBroker, batch, create_topic, fetch, idempotent_batch, produce, produce_request, values,
};
use crate::program::Program;

/// Covers B6.3.
#[test]
fn what_was_acknowledged_is_there_after_a_restart() {
    let mut broker = TestBroker::start(&[]);
    let id = create_topic(&mut broker.connect(), "t", 1, &[("flush.messages", "5")]);
    let producer = 1.into();
    for round in 0..3 {
        let mut client = broker.connect();
        let records = idempotent_batch(&["a"], producer, 0, round);
        let answer = produce(&mut client, "t", 0, -1, records.clone());
        assert_eq!(answer.base_offset.get(), i64::from(round));
        drop(client);
        broker = broker.restart();
        let mut client = broker.connect();
        // The producer is known still, so that what it sends again is not written again.
        let answer = produce(&mut client, "t", 0, -1, records);
        assert_eq!(
            (answer.error_code, answer.base_offset.get()),
            (ErrorCode::NONE, round.into())
        );
        let found = values(&fetch(&mut client, "t", 0, 0));
        assert_eq!(found.len(), usize::try_from(round + 1).unwrap());
        let metadata = client.call(
            &MetadataRequest {
                topics: None,
                ..MetadataRequest::default()
            },
            12,
        );
        assert_eq!(metadata.unwrap().topics[0].topic_id, id);
    }
}

/// Nobody else uses it, and nothing is made in it.
#[test]
fn a_log_directory_that_is_given_twice_is_refused_with_both_names() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data");
    let (one, other) = (data.display(), data.join(".."));
    let other = other.join("data");
    let directories = format!("log.dirs={one},{}", other.display());
    let Err(error) = TestBroker::start_in(root.path(), &[&directories]) else {
        panic!("one directory for two");
    };
    let wanted = format!(
        "{one} and {} are one directory: give it once",
        other.display()
    );
    assert_eq!(error.to_string(), wanted);
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_that_is_in_use_is_refused() {
    let broker = tempfile::tempdir().unwrap();
    let first = TestBroker::start_in(broker.path(), &[]).unwrap();
    let Err(error) = TestBroker::start_in(broker.path(), &[]) else {
        panic!("two brokers in one directory");
    };
    let path = broker.path().display();
    assert_eq!(
        error.to_string(),
        format!("{path} is in use by another process")
    );
    drop(first);
    let Err(error) = TestBroker::start_in(broker.path(), &["node.id=2"]) else {
        panic!("another node in the directory");
    };
    let wanted = format!("{path} belongs to node 1, and node.id is 2");
    assert_eq!(error.to_string(), wanted);
    TestBroker::start_in(broker.path(), &[]).unwrap();
}

#[test]
fn a_port_that_is_taken_is_refused_and_everything_let_go() {
    let directory = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listeners = format!("listeners=PLAINTEXT://{}", taken.local_addr().unwrap());
    let Err(error) = TestBroker::start_in(directory.path(), &[&listeners]) else {
        panic!("two listeners on one port");
    };
    assert!(matches!(error, StartError::Network(_)), "{error}");
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 0, "nothing was made in vain");
    TestBroker::start_in(directory.path(), &[]).unwrap();
}

#[test]
fn another_brokers_logs_are_refused_and_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let broker = TestBroker::start_in(directory.path(), &[]).unwrap();
    create_topic(&mut broker.connect(), "t", 1, &[]);
    drop(broker);
    std::fs::remove_dir_all(directory.path().join("klamm-metadata")).unwrap();
    let Err(error) = TestBroker::start_in(directory.path(), &[]) else {
        panic!("logs without metadata");
    };
    assert!(matches!(error, StartError::ForeignLogs { .. }), "{error}");
    assert!(error.to_string().contains("t-0"), "{error}");
    assert!(directory.path().join("t-0").is_dir());
    assert!(!directory.path().join("klamm-metadata").exists());
}

/// What stands in a log directory, and what is wrong with it.
#[test]
fn a_start_that_is_refused_leaves_nothing_that_would_refuse_the_next_one() {
    let properties = |cluster: &str| format!("version=1\ncluster.id={cluster}\nnode.id=1\n");
    let refused = |assignments: &[&str], made: &dyn Fn(&Path)| {
        let directory = tempfile::tempdir().unwrap();
        made(directory.path());
        let before = names_in(directory.path());
        let Err(error) = TestBroker::start_in(directory.path(), assignments) else {
            panic!("{before:?} is taken");
        };
        assert_eq!(names_in(directory.path()), before, "{error}");
        (directory, error.to_string())
    };
    let make_directory = |path: &Path| std::fs::create_dir(path).unwrap();

    let (_, error) = refused(&[], &|path| make_directory(&path.join("t-0")));
    assert!(error.contains("no meta.properties"), "{error}");
    let (_, error) = refused(&[], &|path| make_directory(&path.join("photos")));
    assert!(error.contains("is not a partition's directory"), "{error}");
    let overrides = "max.connections.per.ip.overrides=no..host:5";
    let (_, error) = refused(&[overrides], &|_| {});
    assert!(error.contains("no..host"), "{error}");

    // Apache Kafka's, without topics, and with some, which does not matter then.
    for (name, has_topics) in [
        ("bootstrap.checkpoint", false),
        ("__cluster_metadata-0", false),
        ("__cluster_metadata-0", true),
    ] {
        let (_, error) = refused(&["node.id=2"], &|path| {
            std::fs::write(path.join("meta.properties"), properties("kafkas")).unwrap();
            make_directory(&path.join(name));
            if has_topics {
                make_directory(&path.join("t-0"));
            }
        });
        assert!(error.contains("is a directory of Apache Kafka"), "{error}");
        assert!(error.contains(name), "{error}");
    }

    // Of another cluster by mistake; afterwards the right one is taken.
    let (directory, error) = refused(&[], &|path| {
        std::fs::write(path.join("meta.properties"), properties("wrong")).unwrap();
        make_directory(&path.join("t-0"));
    });
    assert!(
        error.contains("t-0, of a topic that this cluster"),
        "{error}"
    );
    std::fs::remove_dir(directory.path().join("t-0")).unwrap();
    let right = properties("right");
    std::fs::write(directory.path().join("meta.properties"), right).unwrap();
    TestBroker::start_in(directory.path(), &[]).unwrap();
}

/// It is offline, as one is that the disk refuses; the other is used.
#[test]
fn a_file_in_the_place_of_a_log_directory_does_not_keep_the_others_from_serving() {
    let root = tempfile::tempdir().unwrap();
    let (good, file) = (root.path().join("a"), root.path().join("b"));
    std::fs::write(&file, "text").unwrap();
    let directories =
        |one: &Path, other: &Path| format!("log.dirs={},{}", one.display(), other.display());
    let directories_given = directories(&good, &file);
    for round in 0..2 {
        let broker = TestBroker::start_in(root.path(), &[&directories_given]).unwrap();
        let mut client = broker.connect();
        if round == 0 {
            create_topic(&mut client, "t", 1, &[]);
        }
        let answer = produce(&mut client, "t", 0, -1, batch(&["x"]));
        assert_eq!(answer.error_code, ErrorCode::NONE);
        assert!(good.join("t-0").is_dir());
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"text");
    // The metadata log is in the first one, so nothing is served without that.
    let Err(error) = TestBroker::start_in(root.path(), &[&directories(&file, &good)]) else {
        panic!("a metadata log in a file");
    };
    assert!(error.to_string().contains("/b"), "{error}");
}

/// It was removed by hand; the log says so, and of no other one.
#[test]
fn a_partition_whose_directory_is_gone_begins_anew_and_the_log_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path());
    let mut client = program.connect();
    create_topic(&mut client, "t", 3, &[]);
    for partition in 0..2 {
        produce(&mut client, "t", partition, -1, batch(&["x", "y"]));
    }
    drop(client);
    program.signal(Signal::TERM);
    assert_eq!(program.ended().0, Some(0));
    for partition in ["t-0", "t-2"] {
        std::fs::remove_dir_all(directory.path().join(partition)).unwrap();
    }

    let program = Program::start(directory.path());
    let answer = produce(&mut program.connect(), "t", 0, -1, batch(&["z"]));
    assert_eq!(
        (answer.error_code, answer.base_offset.get()),
        (ErrorCode::NONE, 0)
    );
    program.signal(Signal::TERM);
    let (code, log) = program.ended();
    assert_eq!(code, Some(0), "{log}");
    let told: Vec<_> = log.lines().filter(|it| it.contains("is gone")).collect();
    let [told] = told[..] else {
        panic!("one line: {log}");
    };
    let path = directory.path().display();
    for what in ["ERROR", "partition=t-0", "offset=2", &path.to_string()] {
        assert!(told.contains(what), "{what}: {told}");
    }
}

fn names_in(directory: &Path) -> Vec<OsString> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|it| it.unwrap().file_name()).collect();
    names.sort();
    names
}

/// Garbage, oversized frames, unknown APIs, cut bodies: the connection ends, and nobody else is
/// disturbed.
#[test]
fn bad_bytes_end_their_own_connection_alone() {
    let broker = TestBroker::start(&["socket.request.max.bytes=100000"]);
    let mut good = broker.connect();
    let frames: [&[u8]; 6] = [
        b"GET / HTTP/1.1\r\n\r\n",
        &[0x7f, 0xff, 0xff, 0xff, 0, 0],
        &[0xff, 0xff, 0xff, 0xff],
        &[0, 0, 0, 2, 0, 18],
        // No such API.
        &[0, 0, 0, 10, 3, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff],
        // A metadata request whose list is longer than its frame.
        &[
            0, 0, 0, 14, 0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff,
        ],
    ];
    for frame in frames {
        let mut stream = TcpStream::connect(broker.address()).unwrap();
        stream.write_all(frame).unwrap();
        let mut rest = Vec::new();
        // Either end of the connection will do, but nothing may be answered.
        _ = std::io::Read::read_to_end(&mut stream, &mut rest);
        assert!(rest.is_empty(), "{frame:?}: {rest:?}");
        assert!(
            good.call(&MetadataRequest::default(), 12).is_ok(),
            "{frame:?}"
        );
    }
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let broker = TestBroker::start(&[]);
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[]);
    let ids: Vec<_> = (0..50)
        .map(|_| {
            client
                .send(&produce_request("t", 0, -1, batch(&["a"])), 12)
                .unwrap()
        })
        .collect();
    for (offset, id) in (0..).zip(ids) {
        let answer = client.receive::<ProduceRequest>(id, 12).unwrap();
        let partition = &answer.responses[0].partition_responses[0];
        assert_eq!(partition.base_offset.get(), offset);
    }
}
