//! Which operations a client may do, as it is told where it asks for that.
//!
//! There is no authorizer, so everyone may do everything that there is: 8 operations on a topic, 7
//! on the cluster (K007). Bit n stands for the operation of number n.

/// All operations on a topic: read, write, create, delete, alter, describe, describe and alter
/// its settings.
pub(super) const ON_TOPIC: i32 = bits(&[3, 4, 5, 6, 7, 8, 10, 11]);

/// All operations on the cluster: create, alter, describe, act for it, describe and alter its
/// settings, write idempotently.
pub(super) const ON_CLUSTER: i32 = bits(&[5, 7, 8, 9, 10, 11, 12]);

/// What is told to a client that did not ask.
pub(super) const NOT_ASKED: i32 = i32::MIN;

const fn bits(operations: &[u32]) -> i32 {
    let mut bits = 0;
    let mut index = 0;
    while index < operations.len() {
        bits |= 1 << operations[index];
        index += 1;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k007_all_operations_are_reported() {
        assert_eq!(ON_TOPIC.count_ones(), 8);
        assert_eq!(ON_CLUSTER.count_ones(), 7);
        assert_eq!((ON_TOPIC, ON_CLUSTER), (3576, 8096));
    }
}
