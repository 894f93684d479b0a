//! Emits `SerializeAt`: the fields of a version, under their names.

use proc_macro2::TokenStream;
use quote::quote;

use crate::schema::Schema;

/// The implementation, which exists only with `klamm-wire`'s feature `serde`.
pub(crate) fn serialize(schema: &Schema) -> TokenStream {
    let known = schema.known_versions();
    let name = &schema.name;
    let fields = schema.fields.iter().map(|field| {
        let (ident, name) = (&field.ident, &field.name);
        let entry = quote! {
            ::serde::ser::SerializeMap::serialize_entry(
                &mut map, #name, &crate::serialize::At(&self.#ident, context),
            )?;
        };
        match field.versions.condition(known) {
            None => entry,
            Some(condition) => quote!(if #condition { #entry }),
        }
    });
    let unknown_tags = schema.keeps_tags.then(|| {
        quote! {
            if !self.unknown_tags.is_empty() {
                ::serde::ser::SerializeMap::serialize_entry(
                    &mut map, "_unknown_tags", &crate::serialize::At(&self.unknown_tags, context),
                )?;
            }
        }
    });
    quote! {
        #[cfg(feature = "serde")]
        #[automatically_derived]
        impl crate::serialize::SerializeAt for #name {
            fn serialize_at<S: ::serde::Serializer>(
                &self,
                context: crate::codec::Context,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                let mut map = ::serde::Serializer::serialize_map(
                    serializer, ::core::option::Option::None,
                )?;
                #(#fields)*
                #unknown_tags
                ::serde::ser::SerializeMap::end(map)
            }
        }
    }
}
