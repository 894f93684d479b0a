//! Doubly linked lists whose nodes live in a [`Slab`]: to append, and to take a node out of the
//! middle, is constant time and allocates nothing.

use crate::slab::{NONE, Slab};

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
}

/// What a list asks of its nodes.
pub(crate) trait Linked {
    fn links(&self) -> &Links;
    fn links_mut(&mut self) -> &mut Links;
}

/// The two ends of a list. Which slab its nodes are in, its owner knows.
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

    /// Appends the node at `index`, which is in no list.
    pub(crate) fn push_back<T: Linked>(&mut self, nodes: &mut Slab<T>, index: u32) {
        *nodes.at_mut(index).links_mut() = Links {
            previous: self.last,
            next: NONE,
        };
        if self.last == NONE {
            self.first = index;
        } else {
            nodes.at_mut(self.last).links_mut().next = index;
        }
        self.last = index;
    }

    /// Takes the node at `index`, which is in this list, out of it.
    pub(crate) fn unlink<T: Linked>(&mut self, nodes: &mut Slab<T>, index: u32) {
        let Links { previous, next } = *nodes.at(index).links();
        if previous == NONE {
            self.first = next;
        } else {
            nodes.at_mut(previous).links_mut().next = next;
        }
        if next == NONE {
            self.last = previous;
        } else {
            nodes.at_mut(next).links_mut().previous = previous;
        }
    }

    /// The first node, and by [`following`] those after it.
    pub(crate) fn first(self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }
}

/// The node after the one at `index` in its list.
pub(crate) fn following<T: Linked>(nodes: &Slab<T>, index: u32) -> Option<u32> {
    let next = nodes.at(index).links().next;
    (next != NONE).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Node(Links);

    impl Linked for Node {
        fn links(&self) -> &Links {
            &self.0
        }

        fn links_mut(&mut self) -> &mut Links {
            &mut self.0
        }
    }

    fn order(list: List, nodes: &Slab<Node>) -> Vec<u32> {
        std::iter::successors(list.first(), |&index| following(nodes, index)).collect()
    }

    #[test]
    fn nodes_keep_their_order_whichever_one_leaves() {
        for leaver in 0..4 {
            let mut nodes = Slab::new();
            let mut list = List::EMPTY;
            for _ in 0..4 {
                let index = nodes.insert(Node(Links::UNLINKED)).index;
                list.push_back(&mut nodes, index);
            }
            list.unlink(&mut nodes, leaver);
            let expected: Vec<u32> = (0..4).filter(|&index| index != leaver).collect();
            assert_eq!(order(list, &nodes), expected);
            list.push_back(&mut nodes, leaver);
            assert_eq!(order(list, &nodes).last(), Some(&leaver));
        }
    }

    #[test]
    fn the_last_to_leave_empties_the_list() {
        let mut nodes = Slab::new();
        let mut list = List::EMPTY;
        let only = nodes.insert(Node(Links::UNLINKED)).index;
        list.push_back(&mut nodes, only);
        list.unlink(&mut nodes, only);
        assert!(list.is_empty());
        assert_eq!(list, List::EMPTY);
    }
}
