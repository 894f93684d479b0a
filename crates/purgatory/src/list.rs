//! Doubly linked lists of nodes that lie elsewhere: to append, and to take a node out of the
//! middle, is constant time and allocates nothing.

/// No node: what the last one is followed by.
pub(crate) const NONE: u32 = u32::MAX;

/// A node's neighbours in the one list that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Links {
    previous: u32,
    next: u32,
}

impl Links {
    /// In no list yet.
    pub(crate) const UNLINKED: Self = Self {
        previous: NONE,
        next: NONE,
    };

    /// The node after this one.
    pub(crate) fn next(self) -> Option<u32> {
        (self.next != NONE).then_some(self.next)
    }
}

/// Where the nodes of a list lie. A node may be in several lists if each finds other links.
pub(crate) trait Nodes {
    fn links(&self, node: u32) -> Links;
    fn links_mut(&mut self, node: u32) -> &mut Links;
}

/// The two ends of a list. Where its nodes lie, its owner knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct List {
    first: u32,
    last: u32,
}

impl List {
    pub(crate) const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    pub(crate) fn is_empty(self) -> bool {
        self.first == NONE
    }

    /// The first node; from there by [`Links::next`].
    pub(crate) fn first(self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    /// The first node if it is the only one.
    pub(crate) fn only(self) -> Option<u32> {
        self.first().filter(|_| self.first == self.last)
    }

    /// Appends a node that is in no list.
    #[inline]
    pub(crate) fn push_back(&mut self, nodes: &mut impl Nodes, node: u32) {
        *nodes.links_mut(node) = Links {
            previous: self.last,
            next: NONE,
        };
        if self.last == NONE {
            self.first = node;
        } else {
            nodes.links_mut(self.last).next = node;
        }
        self.last = node;
    }

    /// Takes a node out that is in this list.
    #[inline]
    pub(crate) fn unlink(&mut self, nodes: &mut impl Nodes, node: u32) {
        let Links { previous, next } = nodes.links(node);
        if previous == NONE {
            self.first = next;
        } else {
            nodes.links_mut(previous).next = next;
        }
        if next == NONE {
            self.last = previous;
        } else {
            nodes.links_mut(next).previous = previous;
        }
    }

    #[cfg(test)]
    pub(crate) fn nodes(self, nodes: &impl Nodes) -> Vec<u32> {
        std::iter::successors(self.first(), |&node| nodes.links(node).next()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Nodes for Vec<Links> {
        fn links(&self, node: u32) -> Links {
            self[node as usize]
        }

        fn links_mut(&mut self, node: u32) -> &mut Links {
            &mut self[node as usize]
        }
    }

    #[test]
    fn nodes_keep_their_order_whichever_one_leaves() {
        for leaver in 0..4 {
            let mut nodes = vec![Links::UNLINKED; 4];
            let mut list = List::EMPTY;
            for node in 0..4 {
                list.push_back(&mut nodes, node);
            }
            list.unlink(&mut nodes, leaver);
            let expected: Vec<u32> = (0..4).filter(|&node| node != leaver).collect();
            assert_eq!(list.nodes(&nodes), expected);
            list.push_back(&mut nodes, leaver);
            assert_eq!(list.nodes(&nodes).last(), Some(&leaver));
        }
    }

    #[test]
    fn the_last_to_leave_empties_the_list() {
        let mut nodes = vec![Links::UNLINKED];
        let mut list = List::EMPTY;
        list.push_back(&mut nodes, 0);
        list.unlink(&mut nodes, 0);
        assert!(list.is_empty());
        assert_eq!(list, List::EMPTY);
    }
}
