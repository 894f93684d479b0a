//! A cluster of one: the quorum opens, a broker joins, a topic is created; then all of it again
//! after a restart.
//!
//! ```sh
//! cargo run -p klamm-controller --example cluster_of_one
//! ```

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use klamm_controller::{
    ConfigResource, Controller, ControllerHandle, ControllerOptions, CreateTopics, Endpoint,
    Heartbeat, InvalidSetting, NewTopic, Quorum, RaftOptions, RaftQuorum, RegisterBroker,
    SettingRules, Settings,
};
use klamm_io::{Clock, RealDisk, SystemClock};
use klamm_primitives::{BrokerId, Uuid};
use klamm_wire::SecurityProtocol;

const NODE: BrokerId = BrokerId::new(1);

/// Takes every setting: who acts on settings has the rules for them.
struct AnySetting;

impl SettingRules for AnySetting {
    fn check(&self, _: &ConfigResource, _: &Settings) -> Result<(), InvalidSetting> {
        Ok(())
    }

    fn is_list(&self, _: &ConfigResource, _: &str) -> bool {
        false
    }

    fn default_value(&self, _: &ConfigResource, _: &str) -> Option<Arc<str>> {
        None
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    for incarnation in 1..=2 {
        let start = SystemClock.now();
        let options = RaftOptions::new(NODE, "a-cluster", directory.path().join("klamm-metadata"));
        let quorum = RaftQuorum::open(RealDisk, options, SystemClock).await?;
        let quorum = Arc::new(quorum);
        passed("the quorum leads", start);

        let options = ControllerOptions {
            idle_interval: None,
            ..ControllerOptions::default()
        };
        let rules = Arc::new(AnySetting);
        let controller = Controller::start(quorum.clone(), options, rules, SystemClock);
        let handle = controller.handle();
        join(&handle, quorum.as_ref(), incarnation).await?;
        passed("the broker is unfenced", start);

        let topics = vec![NewTopic {
            partition_count: 6,
            ..NewTopic::new(format!("clicks-{incarnation}"))
        }];
        let request = CreateTopics {
            topics,
            validate_only: false,
        };
        for created in handle.create_topics(request, None).await? {
            println!("created {}", created?.name);
        }
        passed("the topic is there", start);

        let image = quorum.watch().borrow().clone();
        for topic in image.topics() {
            let leaders: Vec<_> = topic.partitions.iter().map(|it| it.leader).collect();
            println!("{} at {}: led by {leaders:?}", topic.name, image.offset());
        }
        controller.stop().await;
        quorum.stop().await;
    }
    Ok(())
}

async fn join(
    handle: &ControllerHandle,
    quorum: &impl Quorum,
    incarnation: u128,
) -> Result<(), Box<dyn Error>> {
    let registration = RegisterBroker {
        broker: NODE,
        cluster_id: "a-cluster".into(),
        incarnation_id: Uuid::from_random(incarnation),
        endpoints: vec![Endpoint {
            listener: "PLAINTEXT".into(),
            host: "127.0.0.1".into(),
            port: 9092,
            security_protocol: SecurityProtocol::Plaintext,
        }],
        features: Vec::new(),
        rack: None,
        log_dirs: vec![Uuid::from_random(1)],
        cordoned_log_dirs: Vec::new(),
    };
    let epoch = handle.register_broker(registration, None).await?;
    let heartbeat = Heartbeat {
        broker: NODE,
        epoch,
        metadata_offset: quorum.watch().borrow().offset(),
        wants_fence: false,
        wants_shutdown: false,
        failed_log_dirs: Vec::new(),
    };
    handle.heartbeat(heartbeat, None).await?;
    Ok(())
}

fn passed(what: &str, start: Instant) {
    let micros = SystemClock.now().duration_since(start).as_micros();
    println!("{what} after {micros} µs");
}
