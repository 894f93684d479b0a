//! [`Field`]: a field and what its attribute says.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{
    Expr, ExprLit, GenericArgument, Ident, Lit, PathArguments, Type, TypePath, spanned::Spanned,
};

use crate::attributes::{self, is_word};
use crate::range::Versions;

/// A field of a message or struct.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    /// A local variable that goes with it.
    pub(crate) local: Ident,
    /// The name as errors and JSON show it.
    pub(crate) name: String,
    /// The type; of an `Option`, what is inside.
    pub(crate) inner: Type,
    /// The versions in which null is legal, if the type is an `Option`.
    pub(crate) nullable: Option<Versions>,
    pub(crate) versions: Versions,
    pub(crate) tag: Option<Tag>,
    default: Option<Expr>,
    pub(crate) ignorable: bool,
    /// Keeps the old length form in flexible versions.
    pub(crate) rigid: bool,
}

/// That a field stands in the tagged section, and from which versions on.
#[derive(Clone, Copy)]
pub(crate) struct Tag {
    pub(crate) number: u32,
    pub(crate) versions: Versions,
}

impl Field {
    pub(crate) fn parse(field: &syn::Field) -> syn::Result<Self> {
        let ident = field
            .ident
            .clone()
            .ok_or_else(|| syn::Error::new_spanned(field, "fields need names"))?;
        let name = ident.unraw().to_string();
        let (inner, is_option) = match option_of(&field.ty) {
            Some(inner) => (inner.clone(), true),
            None => (field.ty.clone(), false),
        };
        let mut parsed = Self {
            local: format_ident!("field_{name}"),
            ident,
            name,
            inner,
            nullable: None,
            versions: Versions::ALL,
            tag: None,
            default: None,
            ignorable: false,
            rigid: false,
        };
        let mut tag = None;
        let mut tagged = None;
        for part in attributes::parts(&field.attrs)? {
            match part.name.to_string().as_str() {
                "versions" => parsed.versions = Versions::parse(part.expr()?)?,
                "nullable" => parsed.nullable = Some(Versions::parse(part.expr()?)?),
                "tag" => tag = Some(tag_number(part.expr()?)?),
                "tagged" => tagged = Some((part.span(), Versions::parse(part.expr()?)?)),
                "default" => parsed.default = Some(part.expr()?.clone()),
                "ignorable" => {
                    part.flag()?;
                    parsed.ignorable = true;
                }
                "flexible" if is_word(part.expr()?, "none") => parsed.rigid = true,
                "flexible" => return Err(part.error("only `flexible = none` is known here")),
                other => {
                    return Err(part.error(format!(
                        "`{other}` is unknown here; a field has `versions`, `nullable`, `tag`, \
                         `tagged`, `default`, `ignorable`, `flexible = none`"
                    )));
                }
            }
        }
        match (parsed.nullable, is_option) {
            (None, true) => {
                return Err(syn::Error::new_spanned(
                    &field.ty,
                    "an `Option` needs the versions in which null is legal: `nullable = ..`",
                ));
            }
            (Some(_), false) => {
                return Err(syn::Error::new_spanned(
                    &field.ty,
                    "a nullable field is an `Option`",
                ));
            }
            _ => {}
        }
        parsed.tag = match (tag, tagged) {
            (None, None) => None,
            (None, Some((span, _))) => {
                return Err(syn::Error::new(span, "`tagged` needs a `tag = N`"));
            }
            (Some(number), tagged) => Some(Tag {
                number,
                versions: tagged.map_or(parsed.versions, |(_, versions)| versions),
            }),
        };
        parsed.check_default()?;
        Ok(parsed)
    }

    /// How many bytes the field takes, if that is always the same.
    pub(crate) fn width(&self) -> Option<usize> {
        const WIDTHS: [(&str, usize); 19] = [
            ("bool", 1),
            ("i8", 1),
            ("i16", 2),
            ("u16", 2),
            ("i32", 4),
            ("u32", 4),
            ("i64", 8),
            ("f64", 8),
            ("ErrorCode", 2),
            ("ProducerEpoch", 2),
            ("BrokerId", 4),
            ("CorrelationId", 4),
            ("LeaderEpoch", 4),
            ("PartitionIndex", 4),
            ("BrokerEpoch", 8),
            ("Offset", 8),
            ("ProducerId", 8),
            ("TopicId", 16),
            ("Uuid", 16),
        ];
        let of_type = |(name, _): &&(&str, usize)| is_type(&self.inner, name);
        let width = WIDTHS.iter().find(of_type).map(|(_, width)| *width);
        width.filter(|_| self.nullable.is_none())
    }

    /// The versions in which the field stands in its place, not in the tagged section.
    pub(crate) fn in_place(&self) -> Option<Versions> {
        let Some(tag) = self.tag else {
            return Some(self.versions);
        };
        (tag.versions.min > self.versions.min).then(|| Versions {
            min: self.versions.min,
            max: Some(tag.versions.min - 1),
        })
    }

    /// The expression that makes the field's default.
    pub(crate) fn default(&self) -> TokenStream {
        let inner = &self.inner;
        match (&self.default, self.nullable) {
            (Some(expr), _) if is_word(expr, "None") => quote!(::core::option::Option::None),
            (Some(_), Some(_)) => {
                let value = self.value_default();
                quote!(::core::option::Option::Some(#value))
            }
            (Some(_), None) => self.value_default(),
            (None, Some(_)) if is_type(inner, "Records") => quote!(::core::option::Option::None),
            (None, Some(_)) => quote! {
                ::core::option::Option::Some(<#inner as ::core::default::Default>::default())
            },
            (None, None) => quote!(<#inner as ::core::default::Default>::default()),
        }
    }

    /// An expression that says whether the field of `self` is at its default.
    pub(crate) fn is_default(&self) -> TokenStream {
        let ident = &self.ident;
        let none_is_default = match &self.default {
            Some(expr) => is_word(expr, "None"),
            None => is_type(&self.inner, "Records"),
        };
        match (&self.default, self.nullable.is_some()) {
            (_, true) if none_is_default => quote!(self.#ident.is_none()),
            (Some(_), true) => {
                let value = self.value_default();
                quote!(self.#ident.as_ref().is_some_and(|value| *value == #value))
            }
            (Some(_), false) => {
                let value = self.value_default();
                quote!(self.#ident == #value)
            }
            (None, true) => quote! {
                self.#ident.as_ref().is_some_and(crate::codec::Value::is_default)
            },
            (None, false) => quote!(crate::codec::Value::is_default(&self.#ident)),
        }
    }

    /// The default that the attribute gives, in the inner type.
    fn value_default(&self) -> TokenStream {
        let (Some(expr), inner) = (&self.default, &self.inner) else {
            return quote!(<_ as ::core::default::Default>::default());
        };
        if is_primitive(inner) {
            quote!(#expr)
        } else if is_type(inner, "ByteString") {
            quote!(<#inner>::from_static(#expr))
        } else {
            quote!(<#inner>::new(#expr))
        }
    }

    fn check_default(&self) -> syn::Result<()> {
        match &self.default {
            Some(expr) if is_word(expr, "None") && self.nullable.is_none() => Err(syn::Error::new(
                expr.span(),
                "only a nullable field can default to `None`",
            )),
            _ => Ok(()),
        }
    }
}

fn tag_number(expr: &Expr) -> syn::Result<u32> {
    match expr {
        Expr::Lit(ExprLit {
            lit: Lit::Int(int), ..
        }) => int.base10_parse(),
        _ => Err(syn::Error::new_spanned(expr, "a tag is a plain number")),
    }
}

/// What is inside, if the type is an `Option`.
fn option_of(ty: &Type) -> Option<&Type> {
    let Type::Path(TypePath { qself: None, path }) = ty else {
        return None;
    };
    let last = path.segments.last().filter(|last| last.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    match arguments.args.first()? {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    }
}

/// Whether the type's last path segment is `name`.
pub(crate) fn is_type(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|s| s.ident == name))
}

fn is_primitive(ty: &Type) -> bool {
    ["bool", "i8", "i16", "u16", "i32", "u32", "i64", "f64"]
        .iter()
        .any(|name| is_type(ty, name))
}
