//! The page `docs/coverage.md`: counts, and what no test names.

use std::fmt::Write as _;

use super::coverage::{Coverage, Open};

const HEAD: &str = "\
# Coverage

Which behaviours and flow steps have a test that names them. `cargo xtask tidy` writes this page from
the tests' names (`wi_001_…`, `p6_4_…`) and their doc lines (`/// Covers WI-001, P5.4.`), from the
catalogue of ids in `xtask/catalogue` and from the reasons in `docs/coverage-notes.txt`; do not edit it.

Marks: 1 essential, 2 expected, 3 later. What is marked 3 is counted and not listed.
";

/// Writes the page.
pub(super) fn render(coverage: &Coverage<'_>) -> String {
    let mut page = String::from(HEAD);
    page.push_str(
        "\n| list | marked 1, 2 | with a test | with a note | marked 3 | with a test |\n",
    );
    page.push_str("|---|---:|---:|---:|---:|---:|\n");
    for counts in coverage.counts() {
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} |",
            counts.title,
            counts.due,
            counts.covered,
            counts.explained,
            counts.later,
            counts.later_covered,
        );
    }
    page.push_str("\n## Without a test\n");
    let mut title = "";
    let mut rows = Vec::new();
    for open in coverage.open() {
        if open.entry.title != title {
            write_rows(&mut page, &mut rows);
            title = open.entry.title;
            let _ = writeln!(
                page,
                "\n### {title}\n\n| id | mark | what | why |\n|---|---|---|---|"
            );
        }
        match rows.last_mut() {
            Some(Row {
                last,
                reason,
                gloss,
                count,
                ..
            }) if gloss.is_empty() && open.entry.gloss.is_empty() && *reason == open.reason => {
                *last = open.entry.id.to_string();
                *count += 1;
            }
            _ => rows.push(Row::new(&open)),
        }
    }
    write_rows(&mut page, &mut rows);
    if title.is_empty() {
        page.push_str("\nNothing.\n");
    }
    page
}

/// One id, or several that follow one another and have neither gloss nor a reason of their own.
struct Row<'a> {
    first: String,
    last: String,
    count: usize,
    mark: u8,
    gloss: &'a str,
    reason: Option<&'a str>,
}

impl<'a> Row<'a> {
    fn new(open: &Open<'a>) -> Self {
        let id = open.entry.id.to_string();
        let (mark, gloss) = (open.entry.mark, open.entry.gloss.as_str());
        Self {
            first: id.clone(),
            last: id,
            count: 1,
            mark,
            gloss,
            reason: open.reason,
        }
    }
}

fn write_rows(page: &mut String, rows: &mut Vec<Row<'_>>) {
    for Row {
        first,
        last,
        count,
        mark,
        gloss,
        reason,
    } in rows.drain(..)
    {
        let reason = reason.unwrap_or("**none given**");
        let _ = if count == 1 {
            writeln!(page, "| {first} | {mark} | {gloss} | {reason} |")
        } else {
            writeln!(
                page,
                "| {first} … {last} | 1, 2 | {count} behaviours | {reason} |"
            )
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::{self, Catalogue};
    use super::super::claims::Claim;
    use super::super::coverage::Coverage;
    use super::super::ids::parse_span;
    use super::super::notes::Notes;
    use super::render;

    fn page(catalogue: &str, claimed: &str, notes: &str) -> String {
        let entries = catalogue::parse(catalogue, "the wire").expect("lines");
        let catalogue = Catalogue::new(entries).expect("each once");
        let ids = parse_span(claimed).expect("a span");
        let claims = [Claim {
            ids,
            place: String::new(),
        }];
        render(&Coverage::new(
            &catalogue,
            &claims,
            &Notes::parse("n", notes),
        ))
    }

    #[test]
    fn counts_and_open_ids_are_tables() {
        let page = page(
            "WI-001 1 a\nWI-002 2 b\nWI-003 3 c\n",
            "WI-001",
            "WI-002: later\n",
        );
        assert!(
            page.contains("| the wire | 2 | 1 | 1 | 1 | 0 |\n"),
            "{page}"
        );
        assert!(
            page.ends_with("|---|---|---|---|\n| WI-002 | 2 | b | later |\n"),
            "{page}"
        );
    }

    #[test]
    fn ids_without_gloss_are_put_together_while_the_reason_is_one() {
        let catalogue = "LG-001 1\nLG-002 2\nLG-003 1\nLG-004 1\nLG-005 1\n";
        let page = page(catalogue, "LG-003", "LG: later\nLG-005: never\n");
        let rows: Vec<_> = page
            .lines()
            .filter(|line| line.starts_with("| LG"))
            .collect();
        let expected = [
            "| LG-001 … LG-004 | 1, 2 | 3 behaviours | later |",
            "| LG-005 | 1 |  | never |",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn all_done_is_said() {
        assert!(page("WI-001 1 a\n", "WI-001", "").ends_with("\nNothing.\n"));
    }
}
