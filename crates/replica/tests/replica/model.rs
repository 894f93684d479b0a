//! Any order of appends, fetches, answers and changes, against what must hold after each.

use klamm_primitives::BrokerId;
use klamm_replica::{Finished, IsrAnswer, IsrProposal, PartitionRole};
use proptest::prelude::*;

use crate::support::{Bed, Done, Placed, broker, brokers, min_isr, records, secs};

#[derive(Debug, Clone)]
enum Step {
    /// With acks -1, so many records.
    Append(usize),
    /// A follower has come so far on the way to the log end, in eighths.
    Fetch { by: i32, eighths: i64 },
    /// So many seconds pass.
    Pass(u64),
    /// The controller answers the oldest proposal.
    Answer(Answer),
    /// The same leader, by a new leader epoch.
    Reelect,
    /// Another leader, and this one again.
    Depose,
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    Yes,
    Later,
    Never,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..4_usize).prop_map(Step::Append),
        6 => (2..4_i32, 0..9_i64).prop_map(|(by, eighths)| Step::Fetch { by, eighths }),
        3 => (1..20_u64).prop_map(Step::Pass),
        3 => prop_oneof![Just(Answer::Yes), Just(Answer::Later), Just(Answer::Never)]
            .prop_map(Step::Answer),
        1 => Just(Step::Reelect),
        1 => Just(Step::Depose),
    ]
}

/// What a test knows beside the manager.
struct Model {
    bed: Bed,
    leader_epoch: i32,
    /// The set as the controller has it.
    isr: Vec<BrokerId>,
    partition_epoch: i32,
    /// What each follower is known to have in this leadership.
    reached: [i64; 2],
    high_watermark: i64,
    proposals: Vec<IsrProposal>,
    /// Tickets that wait, with the offset that each requires.
    waiting: Vec<(u32, i64)>,
    next_ticket: u32,
}

impl Model {
    fn new() -> Self {
        let bed = Bed::new();
        bed.set("a", min_isr(2));
        let mut model = Self {
            bed,
            leader_epoch: 0,
            isr: brokers(&[1, 2, 3]),
            partition_epoch: 0,
            reached: [-1; 2],
            high_watermark: 0,
            proposals: Vec::new(),
            waiting: Vec::new(),
            next_ticket: 0,
        };
        model.place(1);
        model
    }

    fn place(&mut self, leader: i32) {
        self.leader_epoch += 1;
        self.partition_epoch += 1;
        let isr: Vec<_> = self.isr.iter().map(|it| it.get()).collect();
        let placed = Placed::on(&[1, 2, 3])
            .led_by(leader)
            .isr(&isr)
            .in_epoch(self.leader_epoch)
            .version(self.partition_epoch);
        let (_, done) = self.bed.place("a-0", &placed);
        self.settle(done, leader == 1);
    }

    fn log_end(&self) -> i64 {
        self.bed.offsets("a-0").log_end.get()
    }

    /// Requests are answered once; those that succeed are covered by the high watermark.
    fn settle(&mut self, done: Vec<Done>, leads: bool) {
        let high_watermark = self.bed.high_watermark("a-0");
        for it in done {
            let Finished::Produced { ticket, results } = it else {
                panic!("nothing else waits");
            };
            let at = self.waiting.iter().position(|it| it.0 == ticket.0);
            let (_, required) = self.waiting.remove(at.expect("it waits"));
            if let Ok(appended) = &results[0].result {
                assert_eq!(appended.last_offset.get() + 1, required);
                assert!(leads && required <= high_watermark);
            }
        }
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Append(count) => {
                let ticket = self.next_ticket;
                self.next_ticket += 1;
                let in_sync = self.isr.len();
                let before = self.log_end();
                let (at_once, done) = self.bed.produce(-1, &[("a-0", records(*count))], ticket);
                if let Some(results) = at_once {
                    assert!(results[0].result.is_err() && in_sync < 2);
                    assert_eq!(self.log_end(), before);
                } else {
                    assert!(in_sync >= 2);
                    self.waiting.push((ticket, self.log_end()));
                }
                self.settle(done, true);
            }
            Step::Fetch { by, eighths } => {
                let place = usize::try_from(by - 2).unwrap();
                let known = self.reached[place].max(0);
                let to = known + (self.log_end() - known) * eighths / 8;
                let done = self.bed.follow("a-0", *by, to);
                self.reached[place] = to;
                self.settle(done, true);
            }
            Step::Pass(seconds) => {
                let done = self.bed.pass(secs(*seconds));
                self.settle(done, true);
            }
            Step::Answer(answer) => self.answer(*answer),
            Step::Reelect => self.place(1),
            Step::Depose => {
                self.place(2);
                assert!(self.waiting.is_empty(), "all were told");
                self.reached = [-1; 2];
                self.place(1);
            }
        }
        let more = self.bed.take_proposals();
        self.proposals.extend(more);
    }

    fn answer(&mut self, answer: Answer) {
        if self.proposals.is_empty() {
            return;
        }
        let proposal = self.proposals.remove(0);
        let is_current = proposal.leader_epoch.get() == self.leader_epoch
            && proposal.partition_epoch == self.partition_epoch;
        let done = match answer {
            Answer::Yes if is_current => {
                self.partition_epoch += 1;
                self.isr = proposal.isr.iter().map(|it| it.broker).collect();
                self.bed.accept(&proposal)
            }
            Answer::Later => self.bed.answer(&proposal, IsrAnswer::TryLater),
            Answer::Yes | Answer::Never => self.bed.answer(&proposal, IsrAnswer::Superseded),
        };
        self.settle(done, true);
    }

    /// What holds whatever has happened.
    fn check(&mut self) {
        let status = self.bed.status("a-0");
        let offsets = status.offsets.unwrap();
        let high_watermark = offsets.high_watermark.get();
        assert!(high_watermark >= self.high_watermark, "it has gone back");
        assert!(high_watermark <= offsets.log_end.get());
        let PartitionRole::Leader { isr, .. } = status.role else {
            panic!("it leads");
        };
        assert_eq!(isr, self.isr, "the set changes by the controller alone");
        assert!(isr.contains(&broker(1)));
        if high_watermark > self.high_watermark {
            assert!(isr.len() >= 2, "it has moved with too few in sync");
            for (id, reached) in (2..).zip(self.reached) {
                assert!(
                    !isr.contains(&broker(id)) || reached >= high_watermark,
                    "broker {id} has no more than {reached} of {high_watermark}"
                );
            }
        }
        self.high_watermark = high_watermark;
        let waits = self.bed.manager.waiting().produces;
        assert_eq!(waits, self.waiting.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Covers RE-068, RE-055, RE-033, RE-013.
    #[test]
    fn whatever_happens_the_mark_never_falls_nor_runs_ahead(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut model = Model::new();
        for step in &steps {
            model.apply(step);
            model.check();
        }
    }
}
