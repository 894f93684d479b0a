//! [`Addresses`]: the addresses of a host, tried in turn.

use std::net::SocketAddr;

/// The addresses of one host. After the last one the host is resolved anew.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    /// Those of one family; empty if the host is to be resolved.
    list: Vec<SocketAddr>,
    at: usize,
    /// Tried last, so that resolving anew does not start with it again.
    last: Option<SocketAddr>,
}

impl Addresses {
    /// Where to connect to; `None` if the host is to be resolved.
    pub(crate) fn current(&self) -> Option<SocketAddr> {
        self.list.get(self.at).copied()
    }

    /// What the resolver says. Addresses of another family than the first are left out: the
    /// system has put the one that works in front.
    pub(crate) fn resolved(&mut self, addresses: Vec<SocketAddr>) {
        self.list = addresses;
        if let Some(first) = self.list.first().copied() {
            self.list
                .retain(|address| address.is_ipv4() == first.is_ipv4());
        }
        let again = self.list.len() > 1 && self.current_is_last();
        self.at = usize::from(again);
    }

    fn current_is_last(&mut self) -> bool {
        self.at = 0;
        self.last.is_some() && self.current() == self.last
    }

    /// The next attempt goes to the next address.
    pub(crate) fn move_on(&mut self) {
        if self.list.is_empty() {
            return;
        }
        self.last = self.current();
        self.at += 1;
        if self.at == self.list.len() {
            (self.list, self.at) = (Vec::new(), 0);
        }
    }

    /// The host is to be resolved anew.
    pub(crate) fn forget(&mut self) {
        self.last = self.current().or(self.last);
        (self.list, self.at) = (Vec::new(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(addresses: &[&str]) -> Vec<SocketAddr> {
        let parse = |address: &&str| address.parse().unwrap();
        addresses.iter().map(parse).collect()
    }

    const V4: [&str; 3] = ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"];

    #[test]
    fn cl_016_attempts_go_through_the_addresses_in_turn() {
        let mut addresses = Addresses::default();
        assert_eq!(addresses.current(), None);
        addresses.resolved(list(&V4));
        for expected in V4 {
            assert_eq!(addresses.current(), Some(expected.parse().unwrap()));
            addresses.move_on();
        }
        assert_eq!(addresses.current(), None, "resolved anew after the last");
        addresses.resolved(list(&[V4[2], V4[0]]));
        let expected = V4[0].parse().unwrap();
        assert_eq!(addresses.current(), Some(expected), "not the same again");
    }

    #[test]
    fn cl_016_a_single_address_is_used_again_and_again() {
        let mut addresses = Addresses::default();
        for _ in 0..3 {
            addresses.resolved(list(&V4[..1]));
            assert_eq!(addresses.current(), Some(V4[0].parse().unwrap()));
            addresses.move_on();
        }
    }

    #[test]
    fn cl_017_addresses_of_the_other_family_are_left_out() {
        for (given, count) in [
            (["10.0.0.1:1", "[::1]:1", "10.0.0.2:1"], 2),
            (["[::1]:1", "10.0.0.1:1", "10.0.0.2:1"], 1),
        ] {
            let mut addresses = Addresses::default();
            addresses.resolved(list(&given));
            assert_eq!(addresses.list.len(), count);
            assert_eq!(addresses.current(), Some(given[0].parse().unwrap()));
        }
    }
}
