//! Emits `Default`, and the question whether a value is its default.

use proc_macro2::TokenStream;
use quote::quote;

use crate::schema::Schema;

/// `impl Default`: every field at the default that its attribute gives.
pub(crate) fn defaults(schema: &Schema) -> TokenStream {
    let name = &schema.name;
    let fields = schema.fields.iter().map(|field| {
        let (ident, default) = (&field.ident, field.default());
        quote!(#ident: #default,)
    });
    let unknown_tags = schema
        .keeps_tags
        .then(|| quote!(unknown_tags: crate::codec::UnknownTags::new(),));
    quote! {
        #[automatically_derived]
        impl ::core::default::Default for #name {
            fn default() -> Self {
                Self {
                    #(#fields)*
                    #unknown_tags
                }
            }
        }
    }
}

/// `Value::is_default`: whether the struct is what `Default` makes.
pub(crate) fn is_default(schema: &Schema) -> TokenStream {
    let fields = schema.fields.iter().map(|field| {
        let is_default = field.is_default();
        quote!(&& #is_default)
    });
    let unknown_tags = schema
        .keeps_tags
        .then(|| quote!(&&self.unknown_tags.is_empty()));
    quote! {
        fn is_default(&self) -> bool {
            true #(#fields)* #unknown_tags
        }
    }
}
