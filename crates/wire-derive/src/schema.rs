//! [`Schema`]: a whole struct as its attributes describe it, checked.

use syn::{Data, DeriveInput, Fields, Ident};

use crate::field::{Field, is_type};
use crate::head::Head;
use crate::range::Versions;

/// A message or a struct nested in one.
pub(crate) struct Schema {
    pub(crate) name: Ident,
    /// Only a message has one.
    pub(crate) head: Option<Head>,
    /// In wire order, without the unknown tags.
    pub(crate) fields: Vec<Field>,
    /// Whether the struct keeps unknown tags, which it does if any version is flexible.
    pub(crate) keeps_tags: bool,
}

impl Schema {
    pub(crate) fn of_message(input: &DeriveInput) -> syn::Result<Self> {
        let head = Head::parse(input)?;
        let flexible = head.flexible.is_some();
        let schema = Self::parse(input, Some(head))?;
        match (flexible, schema.keeps_tags) {
            (true, false) => Err(syn::Error::new_spanned(
                &input.ident,
                "a message with flexible versions ends with `unknown_tags: UnknownTags`",
            )),
            (false, true) => Err(syn::Error::new_spanned(
                &input.ident,
                "a message without flexible versions has no `unknown_tags`",
            )),
            _ => Ok(schema),
        }
    }

    pub(crate) fn of_struct(input: &DeriveInput) -> syn::Result<Self> {
        if let Some(attribute) = input.attrs.iter().find(|a| a.path().is_ident("wire")) {
            return Err(syn::Error::new_spanned(
                attribute,
                "a nested struct takes its versions from the message; use `Message` for those",
            ));
        }
        Self::parse(input, None)
    }

    /// The versions that can occur where this struct's code runs, as far as is known.
    pub(crate) fn known_versions(&self) -> Versions {
        self.head
            .as_ref()
            .map_or(Versions::ALL, |head| head.versions)
    }

    fn parse(input: &DeriveInput, head: Option<Head>) -> syn::Result<Self> {
        let Data::Struct(data) = &input.data else {
            return Err(syn::Error::new_spanned(
                &input.ident,
                "only structs are messages",
            ));
        };
        if !input.generics.params.is_empty() {
            return Err(syn::Error::new_spanned(
                &input.generics,
                "messages have no type parameters",
            ));
        }
        let named = match &data.fields {
            Fields::Named(named) => &named.named,
            Fields::Unit | Fields::Unnamed(_) => {
                return Err(syn::Error::new_spanned(
                    &input.ident,
                    "a message is a struct with named fields; an empty one ends with `{}`",
                ));
            }
        };
        let mut fields = Vec::with_capacity(named.len());
        let mut keeps_tags = false;
        for field in named {
            if keeps_tags {
                return Err(syn::Error::new_spanned(
                    field,
                    "`unknown_tags` must be the last field",
                ));
            }
            let is_tags = field.ident.as_ref().is_some_and(|i| i == "unknown_tags");
            if is_tags != is_type(&field.ty, "UnknownTags") {
                return Err(syn::Error::new_spanned(
                    field,
                    "the field `unknown_tags` and the type `UnknownTags` belong together",
                ));
            }
            if is_tags {
                keeps_tags = true;
            } else {
                fields.push(Field::parse(field)?);
            }
        }
        let schema = Self {
            name: input.ident.clone(),
            head,
            fields,
            keeps_tags,
        };
        schema.check_tags()?;
        Ok(schema)
    }

    /// The fields that have tags, by rising tag.
    pub(crate) fn tagged(&self) -> Vec<(&Field, crate::field::Tag)> {
        let mut tagged: Vec<_> = self
            .fields
            .iter()
            .filter_map(|field| Some((field, field.tag?)))
            .collect();
        tagged.sort_by_key(|(_, tag)| tag.number);
        tagged
    }

    fn check_tags(&self) -> syn::Result<()> {
        let tagged = self.tagged();
        for pair in tagged.windows(2) {
            let [(_, earlier), (field, tag)] = pair else {
                continue;
            };
            if earlier.number == tag.number {
                return Err(syn::Error::new_spanned(
                    &field.ident,
                    format!("tag {} is taken by an earlier field", tag.number),
                ));
            }
        }
        for (field, tag) in &tagged {
            if !self.keeps_tags {
                return Err(syn::Error::new_spanned(
                    &field.ident,
                    "a struct with tagged fields ends with `unknown_tags: UnknownTags`",
                ));
            }
            let ends_together = tag.versions.max == field.versions.max;
            if !field.versions.covers(tag.versions) || !ends_together {
                return Err(syn::Error::new_spanned(
                    &field.ident,
                    "the tagged versions of a field are the last ones of its versions",
                ));
            }
            if let Some(head) = &self.head {
                let first = tag.versions.min.max(head.versions.min);
                if head.flexible.is_none_or(|flexible| first < flexible) {
                    return Err(syn::Error::new_spanned(
                        &field.ident,
                        format!("tagged in version {first}, which is not flexible"),
                    ));
                }
            }
        }
        Ok(())
    }
}
