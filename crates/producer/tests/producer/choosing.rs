//! Which partition a record goes to.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use klamm_primitives::PartitionIndex;
use klamm_producer::{Choice, Partitioner, Producer, Record, SendError, Strategy};
use parking_lot::Mutex;

use crate::{config, producer, server};

async fn partition_of(producer: &Producer, record: Record) -> i32 {
    let delivery = producer.send(record).await.unwrap();
    delivery.await.unwrap().partition.unwrap().get()
}

fn keyed(key: &'static str) -> Record {
    Record::to("t").with_key(key)
}

/// Covers PR-023, PR-024, C059, P1.2, P2.3.
#[tokio::test]
async fn a_records_own_partition_goes_before_its_keys() {
    let server = server(6);
    let producer = producer(config(&server)).await;
    for (key, partition) in [("foobar", 0), ("abc", 3), ("key", 1), ("kafka", 4)] {
        assert_eq!(
            partition_of(&producer, keyed(key)).await,
            partition,
            "{key}"
        );
    }
    let own = keyed("foobar").with_partition(5).unwrap();
    assert_eq!(partition_of(&producer, own).await, 5);
    // An empty key is a key: 275646681 modulo 6.
    assert_eq!(partition_of(&producer, keyed("")).await, 3);
    producer.close(None).await;
}

/// Covers PR-028.
#[tokio::test]
async fn keys_can_be_ignored_for_the_choice_and_are_sent_all_the_same() {
    let server = server(6);
    let producer = producer(config(&server).ignore_keys(true).batch_size(1)).await;
    let mut chosen = HashSet::new();
    for _ in 0..60 {
        let delivery = producer.send(keyed("abc")).await.unwrap();
        let metadata = delivery.await.unwrap();
        assert_eq!(metadata.key_size, Some(3));
        chosen.insert(metadata.partition.unwrap());
    }
    assert!(chosen.len() > 3, "{chosen:?}");
    producer.close(None).await;
}

/// Covers PR-025, PR-026, PR-027.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keyless_records_stay_at_one_partition_for_a_batch() {
    let server = server(4);
    let settings = config(&server)
        .batch_size(1_000)
        .linger(std::time::Duration::from_millis(50));
    let producer = producer(settings).await;
    // Known before the tasks begin.
    producer.send(Record::to("t")).await.unwrap().await.unwrap();
    server.model().forget_seen();
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let producer = producer.clone();
            tokio::spawn(async move {
                let mut last = None;
                for _ in 0..1_000 {
                    let value = Bytes::from_static(&[b'x'; 50]);
                    let record = Record::to("t").with_value(value);
                    last = Some(producer.send(record).await.unwrap());
                }
                last
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap().await.unwrap();
    }
    producer.flush().await.unwrap();
    producer.close(None).await;
    let model = server.model();
    let batches = model.batches_seen();
    let counts: Vec<_> = batches
        .iter()
        .map(|batch| batch.header.record_count)
        .collect();
    assert_eq!(counts.iter().sum::<i32>(), 4_000);
    // Batches are full but for the last of each partition: the choice does not leave early.
    let full = counts.iter().filter(|count| **count >= 13).count();
    assert!(full * 10 > counts.len() * 8, "{counts:?}");
    let used: HashSet<_> = batches
        .iter()
        .map(|batch| batch.partition.partition)
        .collect();
    assert_eq!(used.len(), 4);
}

/// Goes where it is told, and keeps what it was asked.
struct Told {
    answers: Mutex<Vec<i32>>,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Partitioner for Told {
    fn partition(&self, choice: &Choice<'_>) -> PartitionIndex {
        let mut answers = self.answers.lock();
        let answer = if answers.len() > 1 {
            answers.remove(0)
        } else {
            answers[0]
        };
        let count = choice.partition_count;
        self.calls
            .lock()
            .push(format!("asked of {count}: {answer}"));
        answer.into()
    }

    fn on_new_batch(&self, _choice: &Choice<'_>, chosen: PartitionIndex) {
        self.calls.lock().push(format!("new batch at {chosen}"));
    }
}

async fn told(answers: &[i32]) -> (crate::Server, Producer, Arc<Mutex<Vec<String>>>) {
    let server = server(3);
    let calls = Arc::default();
    let partitioner = Told {
        answers: Mutex::new(answers.to_vec()),
        calls: Arc::clone(&calls),
    };
    let builder = Producer::builder(config(&server).build().unwrap());
    let producer = builder.partitioner(partitioner).build().await.unwrap();
    (server, producer, calls)
}

#[tokio::test]
async fn pr_032_a_partition_that_there_is_not_is_an_error_of_the_call() {
    for chosen in [-1, 3] {
        let (_server, producer, _) = told(&[chosen]).await;
        match producer.send(Record::to("t")).await {
            Err(SendError::NoSuchPartition {
                chosen: told,
                count,
                ..
            }) => {
                assert_eq!((told.get(), count), (chosen, 3));
            }
            other => panic!("{other:?}"),
        }
        producer.close(None).await;
    }
}

#[tokio::test]
async fn pr_033_a_partitioner_is_told_of_a_new_batch_and_asked_once_more() {
    let (_server, producer, calls) = told(&[1, 2]).await;
    assert_eq!(partition_of(&producer, Record::to("t")).await, 2);
    assert_eq!(
        *calls.lock(),
        ["asked of 3: 1", "new batch at 1", "asked of 3: 2"]
    );
    producer.close(None).await;
}

/// Covers PR-034.
#[tokio::test]
async fn round_robin_gives_each_partition_its_turn() {
    let server = server(3);
    let producer = producer(config(&server).partitioner(Strategy::RoundRobin)).await;
    let mut counts = [0; 3];
    for _ in 0..30 {
        let partition = partition_of(&producer, keyed("always the same")).await;
        counts[usize::try_from(partition).unwrap()] += 1;
    }
    assert_eq!(counts, [10, 10, 10]);
    producer.close(None).await;
}
