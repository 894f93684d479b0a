//! [`Versions`]: the ranges that attributes give, and the conditions they become.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, ExprLit, ExprRange, Lit, RangeLimits};

/// A range of versions, both ends inclusive; without `max` it never ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Versions {
    pub(crate) min: i16,
    pub(crate) max: Option<i16>,
}

impl Versions {
    /// `0+`, which is what a field has that does not say otherwise.
    pub(crate) const ALL: Self = Self { min: 0, max: None };

    /// Takes `3..`, `..=12`, `7..=12`, `..` and `3`.
    pub(crate) fn parse(expr: &Expr) -> syn::Result<Self> {
        let versions = match expr {
            Expr::Range(range) => Self::parse_range(range)?,
            Expr::Lit(_) => {
                let version = number(expr)?;
                Self {
                    min: version,
                    max: Some(version),
                }
            }
            _ => return Err(wanted(expr)),
        };
        match versions.max {
            Some(max) if max < versions.min => Err(syn::Error::new_spanned(
                expr,
                format!("this range is empty: {} is above {max}", versions.min),
            )),
            _ => Ok(versions),
        }
    }

    fn parse_range(range: &ExprRange) -> syn::Result<Self> {
        let min = range.start.as_deref().map_or(Ok(0), number)?;
        let max = range.end.as_deref().map(number).transpose()?;
        if max.is_some() && matches!(range.limits, RangeLimits::HalfOpen(_)) {
            return Err(syn::Error::new_spanned(
                range,
                "both ends of a version range are inclusive: write `..=`",
            ));
        }
        Ok(Self { min, max })
    }

    /// Whether every version of `other` is in this range.
    pub(crate) fn covers(self, other: Self) -> bool {
        let up_to = match (self.max, other.max) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(its)) => mine >= its,
        };
        self.min <= other.min && up_to
    }

    /// An expression that says whether the version at hand is in this range, given that it is
    /// in `known` anyway; `None` if that is certain.
    pub(crate) fn condition(self, known: Self) -> Option<TokenStream> {
        let min = Some(self.min).filter(|min| *min > known.min);
        let ends_before = match (self.max, known.max) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(mine), Some(its)) => mine < its,
        };
        let max = self.max.filter(|_| ends_before);
        match (min, max) {
            (None, None) => None,
            (Some(min), None) => Some(quote!(context.since(#min))),
            (None, Some(max)) => Some(quote!(context.until(#max))),
            (Some(min), Some(max)) => Some(quote!(context.between(#min, #max))),
        }
    }
}

/// A literal version number.
fn number(expr: &Expr) -> syn::Result<i16> {
    match expr {
        Expr::Lit(ExprLit {
            lit: Lit::Int(int), ..
        }) => int.base10_parse(),
        _ => Err(wanted(expr)),
    }
}

fn wanted(expr: &Expr) -> syn::Error {
    syn::Error::new_spanned(
        expr,
        "expected versions such as `3..`, `..=12`, `7..=12`, `..` or `3`",
    )
}
