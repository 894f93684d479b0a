//! What becomes of one batch: written, to be sent again, divided, or failed. (P7.2 to P7.6)

use std::time::Instant;

use klamm_client::NetworkClient;
use klamm_primitives::Offset;
use klamm_wire::ErrorCode;
use tracing::{debug, warn};

use crate::batch::{Batch, BatchPlan};
use crate::completion::{Outcome, RefusedRecord};
use crate::error::Failure;
use crate::idempotence::SequenceError;
use crate::sender::Sender;
use crate::sender::answers::Verdict;

impl Sender {
    /// Settles a batch by what is said of it, or puts it back.
    pub(super) fn complete(
        &mut self,
        now: Instant,
        batch: Box<Batch>,
        verdict: &Verdict,
        client: &NetworkClient,
    ) {
        if self.rules.mute {
            self.backlog.unmute(batch.partition());
        }
        if verdict.code.invalidates_metadata() {
            let (partition, code) = (batch.partition(), verdict.code);
            debug!(%partition, %code, "what is known of the partition is out of date");
            client.metadata().request_update();
        }
        if batch.is_done() {
            // It expired, or the producer failed, while it was out.
            return batch.release();
        }
        match verdict.code {
            // A batch that was written before is written. (P7.4)
            ErrorCode::NONE | ErrorCode::DUPLICATE_SEQUENCE_NUMBER => self.written(batch, verdict),
            ErrorCode::MESSAGE_TOO_LARGE if batch.record_count() > 1 => self.split(batch, now),
            _ if self.may_retry(&batch, verdict, now) => self.retry(batch, verdict.code, now),
            _ => self.fail(now, batch, verdict),
        }
    }

    fn written(&mut self, mut batch: Box<Batch>, verdict: &Verdict) {
        let response = verdict.response.as_ref();
        let base_offset = response.map_or(Offset::UNKNOWN, |response| response.base_offset);
        if let (Some(idempotence), Some(stamp)) = (&mut self.idempotence, batch.stamp()) {
            let is_restamped = batch.is_restamped();
            idempotence.acked(batch.partition(), stamp, is_restamped, base_offset);
        }
        let outcome = Outcome::Written {
            base_offset,
            append_time_ms: response.map_or(-1, |response| response.log_append_time_ms),
        };
        self.settle(&mut batch, outcome);
        batch.release();
    }

    /// Whether a batch is worth another attempt, and has attempts and time left.
    fn may_retry(&mut self, batch: &Batch, verdict: &Verdict, now: Instant) -> bool {
        let is_over = batch.attempts() >= self.rules.retries
            || batch.is_expired(now, self.rules.delivery_timeout);
        if is_over {
            return false;
        }
        if verdict.code.is_retriable() {
            return true;
        }
        let (Some(idempotence), Some(stamp)) = (&mut self.idempotence, batch.stamp()) else {
            return false;
        };
        idempotence.may_retry(SequenceError {
            partition: batch.partition(),
            stamp,
            is_restamped: batch.is_restamped(),
            code: verdict.code,
            log_start_offset: verdict.log_start_offset(),
        })
    }

    fn retry(&mut self, mut batch: Box<Batch>, code: ErrorCode, now: Instant) {
        let wait = self
            .rules
            .backoff
            .after(batch.attempts() + 1, &mut self.rng);
        let (partition, attempts) = (batch.partition(), batch.attempts() + 1);
        debug!(%partition, %code, attempts, ?wait, "a batch is sent again");
        self.shared.metrics.retried(&batch, now);
        batch.put_back(code, now, wait);
        self.backlog.put_back(batch);
    }

    /// Divides a batch that is too large for the broker, and puts the parts in its place.
    fn split(&mut self, batch: Box<Batch>, now: Instant) {
        let rules = self.accumulator.rules();
        let plan = BatchPlan {
            size_limit: rules.batch_size,
            compression: rules.compression,
            expected_ratio: 1.0,
        };
        let name = batch.partition().clone();
        let stamp = batch.stamp();
        let whole = batch.completion().clone();
        match batch.split(plan, &mut self.codecs) {
            Ok(parts) => {
                warn!(partition = %name, parts = parts.len(), "a batch was too large and is divided");
                self.shared.metrics.split(&name, now);
                if let (Some(idempotence), Some(stamp)) = (&mut self.idempotence, stamp) {
                    let counts: Vec<u32> = parts.iter().map(|part| part.record_count()).collect();
                    idempotence.split(&name, stamp.base_sequence, &counts);
                }
                // Whoever waits for the whole from now on waits for the parts.
                let incomplete = self.accumulator.incomplete();
                for part in &parts {
                    incomplete.add(part.completion());
                }
                incomplete.remove(&whole);
                self.backlog.put_parts_back(parts);
            }
            Err(batch) => self.refuse(now, batch, Failure::of(ErrorCode::MESSAGE_TOO_LARGE)),
        }
    }

    fn fail(&mut self, now: Instant, mut batch: Box<Batch>, verdict: &Verdict) {
        let code = verdict.code;
        let message = verdict.response.as_ref();
        let message = message.and_then(|response| response.error_message.clone());
        let is_fatal = self.idempotence.is_some()
            && matches!(
                code,
                ErrorCode::CLUSTER_AUTHORIZATION_FAILED
                    | ErrorCode::UNSUPPORTED_VERSION
                    | ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                    | ErrorCode::PRODUCER_FENCED
            );
        if is_fatal {
            // Before the sequences are looked at: nothing of them changes any more.
            let failure = Failure::Broker { code, message };
            self.fail_for_good(now, failure.clone());
            self.fail_batch(now, &mut batch, failure);
            return batch.release();
        }
        if code.is_retriable() {
            // Attempts or time are used up, which says nothing about the broker's log. (PR-112)
            if let (Some(idempotence), Some(stamp)) = (&mut self.idempotence, batch.stamp()) {
                idempotence.given_up(batch.partition(), stamp.base_sequence);
            }
            self.fail_batch(now, &mut batch, Failure::Broker { code, message });
            return batch.release();
        }
        match code {
            ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
                self.refuse(now, batch, Failure::TopicUnauthorized);
            }
            ErrorCode::INVALID_TOPIC_EXCEPTION => self.refuse(now, batch, Failure::InvalidTopic),
            ErrorCode::MESSAGE_TOO_LARGE => self.refuse(now, batch, Failure::RecordRefusedForSize),
            _ => match refused_records(verdict) {
                Some(records) => self.refuse_with(now, batch, Outcome::Refused(records)),
                None => self.refuse(now, batch, Failure::Broker { code, message }),
            },
        }
    }

    /// Fails a batch of which nothing was written.
    pub(super) fn refuse(&mut self, now: Instant, batch: Box<Batch>, failure: Failure) {
        self.refuse_with(now, batch, Outcome::Failed(failure));
    }

    fn refuse_with(&mut self, now: Instant, mut batch: Box<Batch>, outcome: Outcome) {
        if let (Some(idempotence), Some(stamp)) = (&mut self.idempotence, batch.stamp()) {
            idempotence.refused(batch.partition(), stamp.base_sequence);
        }
        self.shared.metrics.failed(&batch, now);
        self.settle(&mut batch, outcome);
        batch.release();
    }

    /// Tells a failure to all records of a batch; its sequences are the caller's.
    pub(super) fn fail_batch(&mut self, now: Instant, batch: &mut Batch, failure: Failure) {
        if !batch.is_done() {
            self.shared.metrics.failed(batch, now);
            self.settle(batch, Outcome::Failed(failure));
        }
    }

    /// Tells the outcome to all who wait.
    pub(super) fn settle(&self, batch: &mut Batch, outcome: Outcome) {
        batch.settle(outcome, &*self.shared.interceptors);
        self.accumulator.incomplete().remove(batch.completion());
    }
}

/// The records for which a batch was refused, if the broker names them.
fn refused_records(verdict: &Verdict) -> Option<Vec<RefusedRecord>> {
    let response = verdict.response.as_ref()?;
    if response.record_errors.is_empty() {
        return None;
    }
    let records = response.record_errors.iter().filter_map(|error| {
        let own = error.batch_index_error_message.clone();
        Some(RefusedRecord {
            index: u32::try_from(error.batch_index).ok()?,
            message: own.or_else(|| response.error_message.clone()),
        })
    });
    Some(records.collect())
}
