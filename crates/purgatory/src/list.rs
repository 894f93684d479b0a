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

    /// Closes the gap that a node with these links leaves, if it was at neither end of its list,
    /// for then the list itself does not change. False, and nothing is done, if it was.
    #[inline]
    pub(crate) fn close_inner_gap(self, nodes: &mut impl Nodes) -> bool {
        let Links { previous, next } = self;
        let inner = previous != NONE && next != NONE;
        if inner {
            nodes.links_mut(previous).next = next;
            nodes.links_mut(next).previous = previous;
        }
        inner
    }
}

/// Where the nodes of a list lie. A node may be in several lists if each finds other links.
pub(crate) trait Nodes {
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

    /// Whether `node` is the first or the last one.
    #[inline]
    pub(crate) fn ends_with(self, node: u32) -> bool {
        self.first == node || self.last == node
    }

    /// The first node if it is the only one.
    pub(crate) fn only(self) -> Option<u32> {
        self.first().filter(|_| self.first == self.last)
    }

    /// Appends a node that is in no list, and returns the links that it must be given.
    /// Touches its neighbour alone, so that a node can be linked before it is there.
    #[inline]
    #[must_use]
    pub(crate) fn append(&mut self, nodes: &mut impl Nodes, node: u32) -> Links {
        let previous = self.last;
        if previous == NONE {
            self.first = node;
        } else {
            nodes.links_mut(previous).next = node;
        }
        self.last = node;
        let next = NONE;
        Links { previous, next }
    }

    /// Closes the gap that a node of this list leaves, whose links are given. Touches its
    /// neighbours alone, so that it may have gone already.
    #[inline]
    pub(crate) fn close_gap(&mut self, nodes: &mut impl Nodes, links: Links) {
        let Links { previous, next } = links;
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
    pub(crate) fn nodes(self, next: impl Fn(u32) -> Option<u32>) -> Vec<u32> {
        std::iter::successors(self.first(), |&node| next(node)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Nodes for Vec<Links> {
        fn links_mut(&mut self, node: u32) -> &mut Links {
            &mut self[node as usize]
        }
    }

    /// Nodes 0 to `count - 1`, in a list.
    fn a_list(count: u32) -> (List, Vec<Links>) {
        let mut list = List::EMPTY;
        let mut nodes = Vec::new();
        for node in 0..count {
            let links = list.append(&mut nodes, node);
            nodes.push(links);
        }
        (list, nodes)
    }

    fn order(list: List, nodes: &[Links]) -> Vec<u32> {
        list.nodes(|node| nodes[node as usize].next())
    }

    #[test]
    fn nodes_keep_their_order_whichever_one_leaves() {
        for leaver in 0..4 {
            let (mut list, mut nodes) = a_list(4);
            let links = nodes[leaver as usize];
            let before = list;
            assert_eq!(list.ends_with(leaver), leaver % 3 == 0);
            if links.close_inner_gap(&mut nodes) {
                assert_eq!(list, before);
            } else {
                assert!(before.ends_with(leaver));
                list.close_gap(&mut nodes, links);
            }
            let expected: Vec<u32> = (0..4).filter(|&node| node != leaver).collect();
            assert_eq!(order(list, &nodes), expected);
            nodes[leaver as usize] = list.append(&mut nodes, leaver);
            assert_eq!(order(list, &nodes).last(), Some(&leaver));
        }
    }

    #[test]
    fn the_last_to_leave_empties_the_list() {
        let (mut list, mut nodes) = a_list(1);
        assert_eq!(list.only(), Some(0));
        let links = nodes[0];
        list.close_gap(&mut nodes, links);
        assert!(list.is_empty());
        assert_eq!(list, List::EMPTY);
    }
}
