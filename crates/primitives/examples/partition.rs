//! Says which partition of a topic each key goes to.
//!
//! Run with `cargo run -p klamm-primitives --example partition -- clicks 12 order-1 order-2`.

use std::num::NonZeroU32;

use klamm_primitives::{TopicPartition, murmur2, partition_for_key};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let topic = arguments.next().unwrap_or_else(|| "clicks".to_owned());
    let count = arguments.next().and_then(|count| count.parse().ok());
    let count: NonZeroU32 = count.unwrap_or(const { NonZeroU32::new(12).unwrap() });
    let mut keys: Vec<String> = arguments.collect();
    if keys.is_empty() {
        keys = ["order-1", "order-2", "user-42"].map(String::from).into();
    }
    for key in keys {
        let partition = partition_for_key(key.as_bytes(), count);
        let place = TopicPartition::new(topic.as_str(), partition);
        println!("{key}: hash {}, {place}", murmur2(key.as_bytes()));
    }
}
