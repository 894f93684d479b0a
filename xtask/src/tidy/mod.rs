//! `cargo xtask tidy`: the house rules that no compiler knows.
//!
//! Each rule is a pure function over what was read from the tree and returns what it found. This
//! file reads, asks the rules, and prints. The one thing that tidy writes is `docs/coverage.md`.

mod catalogue;
mod claims;
mod coverage;
mod heads;
mod ids;
mod layers;
mod length;
mod notes;
mod page;
mod tree;
mod words;

use std::fmt;

use anyhow::{Context, Result, bail};

use self::catalogue::Catalogue;
use self::coverage::Coverage;
use self::notes::Notes;
use self::tree::Tree;
use crate::workspace::Workspace;

/// The page that tells what no test names.
const COVERAGE_PAGE: &str = "docs/coverage.md";

/// The file that tells why.
const COVERAGE_NOTES: &str = "docs/coverage-notes.txt";

/// What `cargo xtask tidy` takes.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write nothing; fail when docs/coverage.md is not what it should be.
    #[arg(long)]
    check: bool,
}

/// Something that a rule found.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// File, from the workspace's root, with a line where that helps; or the name of a package.
    place: String,
    what: String,
    /// A warning is shown and does not fail.
    warning: bool,
}

impl Finding {
    fn error(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            what: what.into(),
            warning: false,
        }
    }

    fn warning(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            what: what.into(),
            warning: true,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.warning { "warning" } else { "error" };
        write!(out, "{kind}: {}: {}", self.place, self.what)
    }
}

/// Checks the rules, and writes the coverage page unless told only to check.
///
/// # Errors
/// A rule is broken, or a file cannot be read or written.
pub(crate) fn run(options: &Options) -> Result<()> {
    let workspace = Workspace::load()?;
    if options.check {
        return check(&workspace);
    }
    let Survey { findings, page, .. } = survey(&workspace)?;
    let path = workspace.root().join(COVERAGE_PAGE);
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    report(&findings)
}

/// Checks the rules, and that the coverage page is up to date.
///
/// # Errors
/// A rule is broken, or a file cannot be read.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let Survey {
        mut findings,
        page,
        page_as_it_is,
    } = survey(workspace)?;
    if page_as_it_is.as_deref() != Some(page.as_str()) {
        findings.push(Finding::error(
            COVERAGE_PAGE,
            "is stale; `cargo xtask tidy` writes it anew",
        ));
    }
    report(&findings)
}

struct Survey {
    findings: Vec<Finding>,
    /// The coverage page as it should be.
    page: String,
    page_as_it_is: Option<String>,
}

fn survey(workspace: &Workspace) -> Result<Survey> {
    let mut tree = Tree::read(workspace.root())?;
    let mut findings = std::mem::take(&mut tree.findings);
    findings.extend(layers::check(&layers::uses(workspace)));
    for file in &tree.files {
        if file.is_rust() {
            findings.extend(heads::check(file));
            findings.extend(length::check(file));
        }
        findings.extend(words::check(file));
    }

    let catalogue = Catalogue::load(workspace.root())?;
    let mut claims = Vec::new();
    for file in tree
        .files
        .iter()
        .filter(|file| file.is_rust() && file.is_under("crates"))
    {
        let found = claims::scan(file);
        claims.extend(found.claims);
        findings.extend(found.findings);
    }
    let notes = Notes::parse(
        COVERAGE_NOTES,
        tree.text(COVERAGE_NOTES).unwrap_or_default(),
    );
    findings.extend(
        notes
            .findings
            .iter()
            .map(|what| Finding::error(COVERAGE_NOTES, what)),
    );
    let coverage = Coverage::new(&catalogue, &claims, &notes);
    findings.extend(coverage.check());
    let page = page::render(&coverage);
    let page_as_it_is = tree.text(COVERAGE_PAGE).map(str::to_owned);
    Ok(Survey {
        findings,
        page,
        page_as_it_is,
    })
}

fn report(findings: &[Finding]) -> Result<()> {
    for finding in findings {
        println!("{finding}");
    }
    let errors = findings.iter().filter(|finding| !finding.warning).count();
    if errors > 0 {
        bail!("tidy: to put right: {errors}");
    }
    println!("tidy: in order; warnings: {}", findings.len());
    Ok(())
}
