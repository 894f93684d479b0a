//! [`Interceptor`]: sees each record before it is sent and learns what became of it. (P1.5)

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tracing::warn;

use crate::error::DeliveryError;
use crate::record::{Record, RecordMetadata};

/// A hook that sees what is sent.
///
/// It runs in the task that sends or in that of the sender: it must not block. One that fails or
/// panics is logged, and everything goes on without it.
pub trait Interceptor<K, V>: Send + Sync {
    /// Sees a record before anything else is done with it. Returns another one to be sent in its
    /// place, or `None` to leave it as it is.
    ///
    /// # Errors
    /// Anything: the record goes on as it was before this interceptor.
    fn on_send(
        &self,
        record: &Record<K, V>,
    ) -> Result<Option<Record<K, V>>, Box<dyn Error + Send + Sync>> {
        let _ = record;
        Ok(None)
    }

    /// Learns what became of a record, before the record's own callback does. Called once for
    /// each record that was sent.
    fn on_acknowledgement(&self, outcome: &Result<RecordMetadata, DeliveryError>) {
        let _ = outcome;
    }

    /// Called once, when the producer has been closed.
    fn close(&self) {}
}

/// What the sender has to know of interceptors: records are bytes by then.
pub(crate) trait Acknowledged: Send + Sync {
    /// Whether there is nobody to tell.
    fn is_empty(&self) -> bool;

    /// Tells all of them.
    fn acknowledged(&self, outcome: &Result<RecordMetadata, DeliveryError>);
}

/// Interceptors in the order in which they see a record.
pub(crate) struct Interceptors<K, V>(pub(crate) Vec<Arc<dyn Interceptor<K, V>>>);

impl<K, V> Interceptors<K, V> {
    /// Each sees what the one before it returned; one that fails is left out.
    pub(crate) fn on_send(&self, mut record: Record<K, V>) -> Record<K, V> {
        for interceptor in &self.0 {
            match catch_unwind(AssertUnwindSafe(|| interceptor.on_send(&record))) {
                Ok(Ok(None)) => {}
                Ok(Ok(Some(changed))) => record = changed,
                Ok(Err(error)) => {
                    let topic = &*record.topic;
                    warn!(
                        topic,
                        error = &*error as &dyn Error,
                        "an interceptor failed"
                    );
                }
                Err(_) => warn!(topic = &*record.topic, "an interceptor panicked"),
            }
        }
        record
    }

    pub(crate) fn close(&self) {
        for interceptor in &self.0 {
            if catch_unwind(AssertUnwindSafe(|| interceptor.close())).is_err() {
                warn!("an interceptor panicked when it was closed");
            }
        }
    }
}

impl<K, V> Acknowledged for Interceptors<K, V> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn acknowledged(&self, outcome: &Result<RecordMetadata, DeliveryError>) {
        for interceptor in &self.0 {
            if catch_unwind(AssertUnwindSafe(|| interceptor.on_acknowledgement(outcome))).is_err() {
                warn!("an interceptor panicked at an acknowledgement");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    struct Named(&'static str, Arc<Mutex<Vec<String>>>);

    impl Interceptor<String, String> for Named {
        fn on_send(
            &self,
            record: &Record<String, String>,
        ) -> Result<Option<Record<String, String>>, Box<dyn Error + Send + Sync>> {
            match self.0 {
                "fails" => Err("no".into()),
                "panics" => panic!("as the test wants"),
                name => {
                    let before = record.value.clone().unwrap_or_default();
                    Ok(Some(record.clone().with_value(format!("{before}{name}"))))
                }
            }
        }

        fn on_acknowledgement(&self, outcome: &Result<RecordMetadata, DeliveryError>) {
            assert_ne!(self.0, "panics", "as the test wants");
            let text = format!("{} {}", self.0, outcome.is_ok());
            self.1.lock().push(text);
        }
    }

    fn of(names: &[&'static str]) -> (Interceptors<String, String>, Arc<Mutex<Vec<String>>>) {
        let seen = Arc::default();
        let one = |name: &&'static str| {
            Arc::new(Named(name, Arc::clone(&seen))) as Arc<dyn Interceptor<String, String>>
        };
        (Interceptors(names.iter().map(one).collect()), seen)
    }

    #[test]
    fn pr_092_each_sees_what_the_one_before_returned() {
        let (interceptors, _) = of(&["a", "b", "c"]);
        let sent = interceptors.on_send(Record::to("t").with_value("-"));
        assert_eq!(sent.value.as_deref(), Some("-abc"));
    }

    #[test]
    fn pr_093_one_that_fails_is_left_out() {
        let (interceptors, _) = of(&["a", "fails", "b", "panics"]);
        let sent = interceptors.on_send(Record::to("t").with_value("-"));
        assert_eq!(sent.value.as_deref(), Some("-ab"));
        let (interceptors, _) = of(&["fails", "panics"]);
        let sent = interceptors.on_send(Record::to("t").with_value("-"));
        assert_eq!(sent.value.as_deref(), Some("-"));
    }

    #[test]
    fn a_panic_at_an_acknowledgement_is_swallowed() {
        let (interceptors, seen) = of(&["panics", "b"]);
        interceptors.acknowledged(&Err(DeliveryError {
            topic: "t".into(),
            partition: None,
            failure: crate::error::Failure::InvalidTopic,
        }));
        assert_eq!(*seen.lock(), ["b false"]);
    }
}
