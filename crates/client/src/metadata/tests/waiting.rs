//! Those who wait for news, and those who read meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

#[tokio::test]
async fn cl_070_who_waits_is_told_of_a_newer_version() {
    let fixture = Fixture::new();
    let metadata = fixture.metadata.clone();
    let version = metadata.request_update();
    let waiting = tokio::spawn(async move { metadata.newer_than(version).await });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    fixture.full(&[]);
    let cluster = waiting.await.unwrap().unwrap();
    assert_eq!(cluster.version(), 1);
    // One that is newer already is not waited for; one that is not times out at once with 0.
    assert!(fixture.metadata.newer_than(0).await.is_ok());
    let none = tokio::time::timeout(Duration::ZERO, fixture.metadata.newer_than(1));
    assert!(none.await.is_err());
}

/// Covers CL-070.
#[tokio::test]
async fn who_waits_fails_when_it_is_closed_or_can_never_be() {
    let fixture = Fixture::new();
    for fatal in [true, false] {
        let metadata = fixture.metadata.clone();
        let waiting = tokio::spawn(async move { metadata.newer_than(0).await });
        tokio::task::yield_now().await;
        if fatal {
            let failure = Failure::Authentication("no".into());
            fixture.metadata.failed_fatally(failure.clone());
            let error = waiting.await.unwrap().unwrap_err();
            assert_eq!(error, MetadataError::Fatal(failure));
        } else {
            fixture.metadata.close();
            let error = waiting.await.unwrap().unwrap_err();
            assert_eq!(error, MetadataError::Closed);
        }
    }
    let error = fixture.metadata.newer_than(0).await.unwrap_err();
    assert_eq!(error, MetadataError::Closed);
}

#[test]
fn cl_071_nothing_is_applied_after_close() {
    let fixture = Fixture::new();
    let (_, asked) = fixture.metadata.next_request(fixture.now);
    fixture.metadata.close();
    let answer = response(brokers(1), &[]);
    let refused = fixture.metadata.apply(&answer, 12, asked, fixture.now);
    assert_eq!(refused, Err(MetadataError::Closed));
    assert!(fixture.metadata.cluster().is_bootstrap());
}

#[test]
fn cl_083_readers_see_one_snapshot_or_another_and_never_a_mixture() {
    let fixture = Fixture::knowing(&[topic("a", &[(0, 0)]), topic("b", &[(0, 0)])]);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut versions = 0;
                    let mut last = 0;
                    while !done.load(Ordering::Relaxed) {
                        let cluster = fixture.metadata.cluster();
                        let leader = |topic| cluster.leader(topic, PartitionIndex::new(0));
                        // Each answer moves both at once.
                        assert_eq!(leader("a"), leader("b"));
                        assert!(cluster.version() >= last);
                        versions += u64::from(cluster.version() > last);
                        last = cluster.version();
                    }
                    versions
                })
            })
            .collect();
        for epoch in 1..2_000 {
            let leader = epoch % 3;
            fixture.full(&[
                topic("a", &[(leader, epoch)]),
                topic("b", &[(leader, epoch)]),
            ]);
        }
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
}
