//! [`Delivery`]: the future of one record.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::completion::{Completion, Receipt, Waiting};
use crate::error::DeliveryError;
use crate::record::RecordMetadata;

/// What becomes of one record: where it was written, or why it was not.
///
/// To await it at once is to send synchronously; to keep it, or to drop it, is to send
/// asynchronously: the record is sent all the same, and cannot be called back. Awaiting it by
/// reference under a time limit leaves it as it is: it may be awaited again, and gives its outcome
/// as often as it is asked.
///
/// It holds a share of its batch and the record's place in it, so that a record costs no memory
/// but these few bytes.
#[derive(Debug)]
pub struct Delivery(State);

#[derive(Debug)]
enum State {
    Batched { waiting: Waiting, receipt: Receipt },
    Failed(Box<DeliveryError>),
}

impl Delivery {
    #[inline]
    pub(crate) fn batched(completion: Arc<Completion>, index: u32, receipt: Receipt) -> Self {
        Self(State::Batched {
            waiting: Waiting::new(completion, index),
            receipt,
        })
    }

    pub(crate) fn failed(error: DeliveryError) -> Self {
        Self(State::Failed(Box::new(error)))
    }

    /// The outcome, if it is known already.
    pub fn outcome(&self) -> Option<Result<RecordMetadata, DeliveryError>> {
        match &self.0 {
            State::Batched { waiting, receipt } => waiting.outcome(*receipt),
            State::Failed(error) => Some(Err((**error).clone())),
        }
    }
}

impl Future for Delivery {
    type Output = Result<RecordMetadata, DeliveryError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Failed(error) => Poll::Ready(Err((**error).clone())),
            State::Batched { waiting, receipt } => loop {
                if let Some(outcome) = waiting.outcome(*receipt) {
                    return Poll::Ready(outcome);
                }
                // It has none, or was divided and its part has none.
                if waiting.poll(context).is_pending() {
                    return Poll::Pending;
                }
                waiting.follow();
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use klamm_primitives::{Offset, TopicPartition};

    use super::*;
    use crate::completion::{Outcome, Part, RefusedRecord};
    use crate::error::Failure;

    fn completion() -> Arc<Completion> {
        Arc::new(Completion::new(TopicPartition::new("t", 2.into())))
    }

    fn delivery(completion: &Arc<Completion>, index: u32) -> Delivery {
        let receipt = Receipt::new(70 + i64::from(index), None, Some(b"abc"));
        Delivery::batched(Arc::clone(completion), index, receipt)
    }

    fn poll(delivery: &mut Delivery) -> Poll<Result<RecordMetadata, DeliveryError>> {
        Pin::new(delivery).poll(&mut Context::from_waker(Waker::noop()))
    }

    fn written(base_offset: i64, append_time_ms: i64) -> Outcome {
        Outcome::Written {
            base_offset: Offset::new(base_offset),
            append_time_ms,
        }
    }

    #[test]
    fn pr_009_metadata_is_the_batchs_and_the_records_own() {
        let completion = completion();
        let (mut first, mut last) = (delivery(&completion, 0), delivery(&completion, 4));
        assert!(poll(&mut first).is_pending());
        assert!(completion.settle(written(10, -1)));
        let Poll::Ready(Ok(metadata)) = poll(&mut last) else {
            panic!("it was written");
        };
        assert_eq!(
            (metadata.offset, metadata.timestamp_ms),
            (Offset::new(14), 74)
        );
        assert_eq!((metadata.key_size, metadata.value_size), (None, Some(3)));
        assert_eq!(
            (&*metadata.topic, metadata.partition),
            ("t", Some(2.into()))
        );

        let stamped = self::completion();
        let delivery = delivery(&stamped, 1);
        stamped.settle(written(10, 99));
        assert_eq!(delivery.outcome().unwrap().unwrap().timestamp_ms, 99);
    }

    /// An application holds as many as it has records on their way.
    #[test]
    fn a_delivery_is_as_small_as_what_it_tells() {
        assert_eq!(size_of::<Delivery>(), 32);
    }

    #[test]
    fn pr_014_a_wait_that_was_given_up_can_be_taken_up_again() {
        let completion = completion();
        let mut delivery = delivery(&completion, 0);
        for _ in 0..3 {
            assert!(poll(&mut delivery).is_pending());
            assert!(delivery.outcome().is_none());
        }
        completion.settle(written(0, -1));
        for _ in 0..2 {
            assert!(matches!(poll(&mut delivery), Poll::Ready(Ok(_))));
        }
    }

    #[test]
    fn a_completion_is_settled_once() {
        let completion = completion();
        assert!(completion.settle(written(0, -1)));
        assert!(!completion.settle(Outcome::Failed(Failure::Closed)));
        assert!(delivery(&completion, 0).outcome().unwrap().is_ok());
    }

    #[test]
    fn without_acknowledgement_the_offset_is_unknown_for_each_record() {
        let completion = completion();
        completion.settle(written(-1, -1));
        let metadata = delivery(&completion, 3).outcome().unwrap().unwrap();
        assert_eq!(metadata.offset, Offset::UNKNOWN);
    }

    #[test]
    fn records_of_a_divided_batch_are_settled_with_their_parts() {
        let (whole, parts) = (completion(), [completion(), completion()]);
        let mut records: Vec<_> = (0..5).map(|index| delivery(&whole, index)).collect();
        assert!(poll(&mut records[4]).is_pending());
        let part = |first: u32, completion: &Arc<Completion>| Part {
            first,
            completion: Arc::clone(completion),
        };
        whole.settle(Outcome::Split(vec![part(0, &parts[0]), part(2, &parts[1])]));
        assert!(poll(&mut records[4]).is_pending());
        parts[1].settle(written(100, -1));
        assert!(poll(&mut records[1]).is_pending());
        parts[0].settle(written(50, -1));
        let offsets: Vec<_> = records
            .iter_mut()
            .map(|record| match poll(record) {
                Poll::Ready(Ok(metadata)) => metadata.offset.get(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(offsets, [50, 51, 100, 101, 102]);
    }

    #[test]
    fn of_a_refused_batch_the_guilty_records_learn_why() {
        let completion = completion();
        completion.settle(Outcome::Refused(vec![RefusedRecord {
            index: 1,
            message: Some("no key".into()),
        }]));
        let failure = |index| {
            delivery(&completion, index)
                .outcome()
                .unwrap()
                .unwrap_err()
                .failure
        };
        assert_eq!(failure(0), Failure::BatchRefused);
        let message = Some("no key".into());
        assert_eq!(failure(1), Failure::RecordRefused { message });
        assert!(failure(0).is_retriable() && !failure(1).is_retriable());
    }

    struct Count(Arc<std::sync::atomic::AtomicUsize>);
    impl std::task::Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }

    #[test]
    fn a_dropped_future_leaves_no_waker_behind() {
        let completion = completion();
        let counted = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let waker = Waker::from(Arc::new(Count(Arc::clone(&counted))));
        let mut context = Context::from_waker(&waker);
        let (mut kept, mut dropped) = (delivery(&completion, 0), delivery(&completion, 1));
        assert!(Pin::new(&mut kept).poll(&mut context).is_pending());
        assert!(Pin::new(&mut dropped).poll(&mut context).is_pending());
        drop(dropped);
        completion.settle(written(0, -1));
        assert_eq!(counted.load(std::sync::atomic::Ordering::Relaxed), 1);
    }
}
