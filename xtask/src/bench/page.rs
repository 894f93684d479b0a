//! The page of figures: prose by people, and between markers what was measured.

/// The page with a package's figures put between its markers. A package that has none gets a
/// section of its own at the end.
pub(super) fn with_figures(page: &str, package: &str, figures: &str) -> String {
    let (begin, end) = (
        marker("figures", package),
        marker("end of figures", package),
    );
    let figures = figures.trim_end();
    if let Some((before, rest)) = page.split_once(&begin)
        && let Some((_, after)) = rest.split_once(&end)
    {
        return format!("{before}{begin}\n{figures}\n{end}{after}");
    }
    format!(
        "{}\n\n## {package}\n\n{begin}\n{figures}\n{end}\n",
        page.trim_end()
    )
}

fn marker(what: &str, package: &str) -> String {
    format!("<!-- {what}: {package} -->")
}

#[cfg(test)]
mod tests {
    use super::with_figures;

    #[test]
    fn only_what_stands_between_the_markers_is_replaced() {
        let page = "# P\n<!-- figures: a -->\nold\n<!-- end of figures: a -->\nProse.\n\
                    <!-- figures: b -->\nkept\n<!-- end of figures: b -->\n";
        let expected = page.replace("old", "new");
        assert_eq!(with_figures(page, "a", "new\n"), expected);
        assert_eq!(with_figures(&expected, "a", "new"), expected);
    }

    #[test]
    fn a_package_without_markers_gets_a_section() {
        let page = with_figures("# P\n", "a", "new\n");
        let expected = "# P\n\n## a\n\n<!-- figures: a -->\nnew\n<!-- end of figures: a -->\n";
        assert_eq!(page, expected);
        assert_eq!(
            with_figures(&page, "a", "newer"),
            expected.replace("new", "newer")
        );
    }
}
