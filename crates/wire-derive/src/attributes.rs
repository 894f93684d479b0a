//! Reading `#[wire(..)]`: names with or without a value, each at most once.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Ident, Token, parenthesized};

/// One part of `#[wire(..)]`.
pub(crate) struct Part {
    pub(crate) name: Ident,
    pub(crate) value: Value,
}

/// What follows a part's name.
pub(crate) enum Value {
    /// Nothing.
    Flag,
    /// `= expr`
    Is(Expr),
    /// `(a, b)`
    List(Vec<Expr>),
}

impl Parse for Part {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name: Ident = input.parse()?;
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Value::Is(input.parse()?)
        } else if input.peek(syn::token::Paren) {
            let list;
            parenthesized!(list in input);
            let list = Punctuated::<Expr, Token![,]>::parse_terminated(&list)?;
            Value::List(list.into_iter().collect())
        } else {
            Value::Flag
        };
        Ok(Self { name, value })
    }
}

impl Part {
    pub(crate) fn span(&self) -> Span {
        self.name.span()
    }

    pub(crate) fn error(&self, message: impl std::fmt::Display) -> syn::Error {
        syn::Error::new(self.span(), message)
    }

    /// The expression of `name = expr`.
    pub(crate) fn expr(&self) -> syn::Result<&Expr> {
        match &self.value {
            Value::Is(expr) => Ok(expr),
            _ => Err(self.error(format!("expected `{} = ..`", self.name))),
        }
    }

    /// The expressions of `name(a, b)`.
    pub(crate) fn list(&self) -> syn::Result<&[Expr]> {
        match &self.value {
            Value::List(list) => Ok(list),
            _ => Err(self.error(format!("expected `{}(..)`", self.name))),
        }
    }

    /// Refuses a value.
    pub(crate) fn flag(&self) -> syn::Result<()> {
        match &self.value {
            Value::Flag => Ok(()),
            _ => Err(self.error(format!("`{}` stands alone", self.name))),
        }
    }
}

/// All parts of all `#[wire(..)]` among `attributes`.
pub(crate) fn parts(attributes: &[Attribute]) -> syn::Result<Vec<Part>> {
    let mut parts = Vec::<Part>::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("wire")) {
        let list = attribute.parse_args_with(Punctuated::<Part, Token![,]>::parse_terminated)?;
        for part in list {
            if parts.iter().any(|earlier| earlier.name == part.name) {
                return Err(part.error(format!("`{}` is given twice", part.name)));
            }
            parts.push(part);
        }
    }
    Ok(parts)
}

/// Whether `expr` is just the word `word`.
pub(crate) fn is_word(expr: &Expr, word: &str) -> bool {
    matches!(expr, Expr::Path(path) if path.path.is_ident(word))
}
