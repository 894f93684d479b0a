//! Emits `Random`: legal values of a version.

use proc_macro2::TokenStream;
use quote::quote;

use crate::schema::Schema;

/// The implementation, which exists only with `klamm-wire`'s feature `testing`.
pub(crate) fn random(schema: &Schema) -> TokenStream {
    let known = schema.known_versions();
    let name = &schema.name;
    let or_true = |condition: Option<TokenStream>| condition.unwrap_or_else(|| quote!(true));
    let fields = schema.fields.iter().map(|field| {
        let ident = &field.ident;
        let exists = or_true(field.versions.condition(known));
        match field.nullable {
            None => quote! {
                crate::testing::vary(&mut random.#ident, #exists, entropy, context);
            },
            Some(nullable) => {
                let nullable = or_true(nullable.condition(known));
                quote! {
                    crate::testing::vary_nullable(
                        &mut random.#ident, #exists, #nullable, entropy, context,
                    );
                }
            }
        }
    });
    let unknown_tags = schema.keeps_tags.then(|| {
        quote! {
            if context.is_flexible() {
                random.unknown_tags = crate::testing::Random::random(entropy, context);
            }
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
                let mut random = <Self as ::core::default::Default>::default();
                #(#fields)*
                #unknown_tags
                random
            }
        }
    }
}
