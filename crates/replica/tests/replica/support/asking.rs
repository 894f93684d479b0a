//! Requests to the manager, each in one call.

use bytes::Bytes;
use klamm_io::sim::SimFile;
use klamm_records::Codecs;
use klamm_replica::{
    AppendOutcome, AppendRequest, DeleteRecordsOutcome, DeleteRecordsRequest, FetchOutcome,
    FetchPartition, FetchRequest, Fetcher, PartitionAppended, PartitionDeleted, PartitionFetched,
};

use super::{
    AppendResult, Bed, Done, Fetched, Number, append_request, appended, fetch_request, follower,
    from_follower, offset, offsets_in, partition, records, secs, wanted,
};

impl Bed {
    /// Appends; the answer is there at once, or the request waits under this ticket.
    pub(crate) fn produce(
        &self,
        acks: i16,
        entries: &[(&str, Bytes)],
        ticket: u32,
    ) -> (Option<Vec<PartitionAppended>>, Vec<Done>) {
        self.produce_request(&append_request(acks, entries), ticket)
    }

    pub(crate) fn produce_request(
        &self,
        request: &AppendRequest,
        ticket: u32,
    ) -> (Option<Vec<PartitionAppended>>, Vec<Done>) {
        let mut codecs = Codecs::default();
        let (outcome, then) = self
            .manager
            .append(request.clone(), &mut codecs, self.now());
        let mut done = Vec::new();
        let at_once = match outcome {
            AppendOutcome::Done(results) => Some(results),
            AppendOutcome::Waits(wait) => {
                self.manager.wait_produce(wait, Number(ticket), &mut done);
                None
            }
        };
        self.manager.follow_up(then, &mut done);
        (at_once, done)
    }

    /// Appends so many records, one a batch, without waiting for anybody.
    pub(crate) fn fill(&self, name: &str, count: usize) -> Vec<Done> {
        let mut done = Vec::new();
        for _ in 0..count {
            let (results, others) = self.produce(0, &[(name, records(1))], 0);
            assert!(appended(&results.unwrap()[0]).is_ok());
            done.extend(others);
        }
        done
    }

    /// Appends to one partition, and is answered at once.
    pub(crate) fn append_one(&self, acks: i16, name: &str, bytes: Bytes) -> AppendResult {
        let (results, _) = self.produce(acks, &[(name, bytes)], 0);
        appended(&results.expect("it does not wait")[0])
    }

    /// Fetches; the answer is there at once, or the request waits under this ticket.
    pub(crate) fn fetch(
        &self,
        request: FetchRequest,
        ticket: u32,
    ) -> (Option<Vec<PartitionFetched<SimFile>>>, Vec<Done>) {
        let (outcome, then) = self.manager.fetch(request, self.instant());
        let mut done = Vec::new();
        let at_once = match outcome {
            FetchOutcome::Done(results) => Some(results),
            FetchOutcome::Waits(wait) => {
                self.manager.wait_fetch(wait, Number(ticket), &mut done);
                None
            }
        };
        self.manager.follow_up(then, &mut done);
        (at_once, done)
    }

    /// Fetches from one partition without waiting.
    pub(crate) fn fetch_one(&self, fetcher: Fetcher, wanted: FetchPartition) -> Fetched {
        let (results, _) = self.fetch(fetch_request(fetcher, vec![wanted]), 0);
        let mut results = results.expect("it does not wait");
        assert_eq!(results.len(), 1);
        results.remove(0).result
    }

    /// What a consumer reads from an offset on.
    pub(crate) fn read(&self, name: &str, from: i64) -> Vec<i64> {
        let found = self.fetch_one(Fetcher::Consumer, wanted(name, from));
        offsets_in(&found.unwrap())
    }

    /// A follower has everything below `offset`. Returns who was ready by that.
    pub(crate) fn follow(&self, name: &str, id: i32, offset: i64) -> Vec<Done> {
        let request = fetch_request(follower(id), vec![from_follower(name, offset)]);
        let (results, done) = self.fetch(request, 0);
        let results = results.expect("it does not wait");
        assert!(results[0].result.is_ok(), "{:?}", results[0].result);
        done
    }

    pub(crate) fn delete_records(
        &self,
        entries: &[(&str, Option<i64>)],
        ticket: u32,
    ) -> (Option<Vec<PartitionDeleted>>, Vec<Done>) {
        let entries = entries
            .iter()
            .map(|(name, before)| (partition(name), before.map(offset)))
            .collect();
        let request = DeleteRecordsRequest {
            timeout: secs(10),
            entries,
        };
        let (outcome, then) = self.manager.delete_records(request, self.instant());
        let mut done = Vec::new();
        let at_once = match outcome {
            DeleteRecordsOutcome::Done(results) => Some(results),
            DeleteRecordsOutcome::Waits(wait) => {
                self.manager
                    .wait_delete_records(wait, Number(ticket), &mut done);
                None
            }
        };
        self.manager.follow_up(then, &mut done);
        (at_once, done)
    }
}
