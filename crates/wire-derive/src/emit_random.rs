//! Emits `Random`: legal values of a version.

use proc_macro2::TokenStream;
use quote::quote;

use crate::schema::Schema;

/// The implementation, which exists only with `klamm-wire`'s feature `testing`.
pub(crate) fn random(schema: &Schema) -> TokenStream {
    let known = schema.known_versions();
    let name = &schema.name;
    let fields = schema.fields.iter().map(|field| {
        let (ident, inner) = (&field.ident, &field.inner);
        let default = field.default();
        let plain = quote! {
            <#inner as crate::testing::Random>::random(entropy, context)
        };
        let value = match field.nullable {
            None => plain,
            Some(nullable) => {
                let some = quote!(::core::option::Option::Some(#plain));
                let nullable = nullable.condition(known).unwrap_or_else(|| quote!(true));
                quote! {
                    if #nullable && crate::testing::seldom(entropy) {
                        ::core::option::Option::None
                    } else {
                        #some
                    }
                }
            }
        };
        // A default now and then, which a tagged field leaves out.
        let there = quote!(!crate::testing::seldom(entropy));
        let there = match field.versions.condition(known) {
            None => there,
            Some(condition) => quote!((#condition) && #there),
        };
        // Where the default is null, it may not be legal.
        let default = match field
            .nullable
            .and_then(|nullable| nullable.condition(known))
        {
            Some(nullable) => {
                let exists = field
                    .versions
                    .condition(known)
                    .unwrap_or_else(|| quote!(true));
                quote! {
                    match #default {
                        ::core::option::Option::None if (#exists) && !(#nullable) => {
                            ::core::option::Option::Some(::core::default::Default::default())
                        }
                        default => default,
                    }
                }
            }
            None => default,
        };
        quote!(#ident: if #there { #value } else { #default },)
    });
    let unknown_tags = schema.keeps_tags.then(|| {
        quote! {
            unknown_tags: if context.is_flexible() {
                crate::testing::Random::random(entropy, context)
            } else {
                crate::codec::UnknownTags::new()
            },
        }
    });
    quote! {
        #[cfg(feature = "testing")]
        #[automatically_derived]
        impl crate::testing::Random for #name {
            fn random(
                entropy: &mut dyn crate::testing::Entropy,
                context: crate::codec::Context,
            ) -> Self {
                Self {
                    #(#fields)*
                    #unknown_tags
                }
            }
        }
    }
}
