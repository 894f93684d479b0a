//! Emits `Show`: the fields of a version, under their names, for `serde`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::schema::Schema;

/// The implementation, which exists only with `klamm-wire`'s feature `serde`.
pub(crate) fn serialize(schema: &Schema) -> TokenStream {
    let known = schema.known_versions();
    let name = &schema.name;
    let fields = schema.fields.iter().map(|field| {
        let (ident, name) = (&field.ident, &field.name);
        let add = quote!(fields.add(#name, &self.#ident, context););
        match field.versions.condition(known) {
            None => add,
            Some(condition) => quote!(if #condition { #add }),
        }
    });
    let unknown_tags = schema
        .keeps_tags
        .then(|| quote!(fields.add_unknown_tags(&self.unknown_tags);));
    quote! {
        #[cfg(feature = "serde")]
        #[automatically_derived]
        impl crate::serialize::Show for #name {
            fn show(&self, context: crate::codec::Context) -> crate::serialize::Shown<'_> {
                let mut fields = crate::serialize::Fields::default();
                #(#fields)*
                #unknown_tags
                fields.end()
            }
        }
    }
}
