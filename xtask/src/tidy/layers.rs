//! The rows of crates: a crate uses only what stands in the rows below its own.

use cargo_metadata::DependencyKind;

use super::Finding;
use crate::workspace::Workspace;

/// Where a crate stands and who may use it.
struct Place {
    name: &'static str,
    /// 0 is the lowest.
    row: u8,
    /// What else the crate is bound to.
    rule: Rule,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The row says it all.
    Row,
    /// Uses nothing of ours, whatever stands below.
    UsesNothing,
    /// Serves this crate alone, which may stand in the same row.
    Serves(&'static str),
    /// For tests alone: others may have it as a dev-dependency only. Itself it may use anything.
    ForTests,
    /// A program of the project itself; nobody uses it.
    Tool,
}

const fn place(name: &'static str, row: u8, rule: Rule) -> Place {
    Place { name, row, rule }
}

/// The rows, lowest first, crates to come included: their place is settled before their code is.
const PLACES: [Place; 21] = [
    place("klamm-primitives", 0, Rule::UsesNothing),
    place("klamm-io", 0, Rule::UsesNothing),
    place("klamm-wire-derive", 1, Rule::Serves("klamm-wire")),
    place("klamm-wire", 1, Rule::Row),
    place("klamm-records", 1, Rule::Row),
    place("klamm-purgatory", 1, Rule::UsesNothing),
    place("klamm-log", 2, Rule::Row),
    place("klamm-network", 2, Rule::Row),
    place("klamm-client", 2, Rule::Row),
    place("klamm-controller", 3, Rule::Row),
    place("klamm-replica", 4, Rule::Row),
    place("klamm-coordinator", 4, Rule::Row),
    place("klamm-producer", 4, Rule::Row),
    place("klamm-consumer", 4, Rule::Row),
    place("klamm-admin", 4, Rule::Row),
    place("klamm-broker", 5, Rule::Row),
    place("klamm-producer-cli", 5, Rule::Row),
    place("klamm-cli", 5, Rule::Row),
    place("klamm-fake-broker", 6, Rule::ForTests),
    place("klamm-sim", 6, Rule::ForTests),
    place("xtask", 6, Rule::Tool),
];

/// One package of the workspace and those of its kin that its code uses, tests apart.
#[derive(Debug)]
pub(super) struct Uses {
    package: String,
    used: Vec<String>,
}

/// What each package of the workspace uses of the others, as the manifests say. Build dependencies
/// and those of one platform count; dev-dependencies do not.
pub(super) fn uses(workspace: &Workspace) -> Vec<Uses> {
    let packages = workspace.packages();
    packages
        .iter()
        .map(|package| Uses {
            package: package.name.to_string(),
            used: package
                .dependencies
                .iter()
                .filter(|dependency| dependency.kind != DependencyKind::Development)
                .filter(|dependency| packages.iter().any(|ours| *ours.name == dependency.name))
                .map(|dependency| dependency.name.clone())
                .collect(),
        })
        .collect()
}

/// Checks each use against the rows.
pub(super) fn check(uses: &[Uses]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Uses { package, used } in uses {
        let Some(user) = PLACES.iter().find(|place| place.name == package) else {
            let what = "has no place in the rows; give it one in xtask/src/tidy/layers.rs";
            findings.push(Finding::error(package, what));
            continue;
        };
        // A used package without a place is found where it is itself the user.
        let places = used
            .iter()
            .filter_map(|name| PLACES.iter().find(|p| p.name == name));
        findings.extend(
            places
                .filter_map(|used| refusal(user, used))
                .map(|why| Finding::error(package, why)),
        );
    }
    findings
}

/// Why `user` may not use `used`, if it may not.
fn refusal(user: &Place, used: &Place) -> Option<String> {
    let name = used.name;
    match used.rule {
        Rule::ForTests if user.rule != Rule::ForTests => {
            return Some(format!(
                "uses {name}, which is for tests: a dev-dependency only"
            ));
        }
        Rule::Serves(served) if served == user.name => return None,
        Rule::Serves(served) => {
            return Some(format!("uses {name}, which serves {served} alone"));
        }
        Rule::Tool => return Some(format!("uses {name}, a program that nobody uses")),
        Rule::ForTests | Rule::Row | Rule::UsesNothing => {}
    }
    match user.rule {
        Rule::UsesNothing => Some(format!("uses {name}, but must use nothing of ours")),
        Rule::ForTests => None,
        Rule::Row | Rule::Serves(_) | Rule::Tool => (used.row >= user.row)
            .then(|| format!("uses {name}, which does not stand in a row below its own")),
    }
}

#[cfg(test)]
mod tests {
    use super::{PLACES, Uses, check};

    fn refused(package: &str, used: &str) -> bool {
        let uses = Uses {
            package: package.to_owned(),
            used: vec![used.to_owned()],
        };
        !check(&[uses]).is_empty()
    }

    #[test]
    fn downward_is_allowed_over_any_number_of_rows() {
        assert!(!refused("klamm-wire", "klamm-primitives"));
        assert!(!refused("klamm-broker", "klamm-io"));
        assert!(!refused("klamm-replica", "klamm-controller"));
    }

    #[test]
    fn upward_and_sideways_are_refused() {
        assert!(refused("klamm-wire", "klamm-records"));
        assert!(refused("klamm-log", "klamm-network"));
        assert!(refused("klamm-client", "klamm-producer"));
        assert!(refused("klamm-controller", "klamm-replica"));
    }

    #[test]
    fn the_ground_uses_nothing_of_ours() {
        assert!(refused("klamm-purgatory", "klamm-primitives"));
        assert!(refused("klamm-io", "klamm-primitives"));
    }

    #[test]
    fn the_macro_serves_wire_alone() {
        assert!(!refused("klamm-wire", "klamm-wire-derive"));
        assert!(refused("klamm-broker", "klamm-wire-derive"));
    }

    #[test]
    fn what_is_for_tests_may_use_anything_and_is_used_by_no_code() {
        assert!(refused("klamm-broker", "klamm-sim"));
        assert!(refused("xtask", "klamm-fake-broker"));
        assert!(!refused("klamm-sim", "klamm-broker"));
        assert!(!refused("klamm-sim", "klamm-fake-broker"));
    }

    #[test]
    fn a_package_without_a_place_is_refused() {
        let uses = Uses {
            package: "klamm-common".to_owned(),
            used: Vec::new(),
        };
        assert_eq!(check(&[uses]).len(), 1);
    }

    #[test]
    fn no_name_has_two_places() {
        let mut names: Vec<_> = PLACES.iter().map(|place| place.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PLACES.len());
    }
}
