//! Emits the traits that only whole messages have.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::head::{Head, Kind};
use crate::schema::Schema;

/// `impl Message`, and the trait of the message's kind.
pub(crate) fn message(schema: &Schema) -> TokenStream {
    let Some(head) = &schema.head else {
        return TokenStream::new();
    };
    let name = &schema.name;
    let text = name.to_string();
    let (min, max) = (head.versions.min, head.versions.max);
    let flexible = head.flexible.map_or_else(
        || quote!(::core::option::Option::None),
        |first| quote!(::core::option::Option::Some(#first)),
    );
    let latest_unstable = head.latest_unstable;
    let kind = kind(schema, head);
    quote! {
        #[automatically_derived]
        impl crate::codec::Message for #name {
            const NAME: &'static str = #text;
            const VERSIONS: crate::codec::Versions = crate::codec::Versions::new(#min, #max);
            const FLEXIBLE_SINCE: ::core::option::Option<i16> = #flexible;
            const LATEST_UNSTABLE: bool = #latest_unstable;
        }

        #kind
    }
}

fn kind(schema: &Schema, head: &Head) -> TokenStream {
    let name = &schema.name;
    let record = |name_of_trait: &str, key: i16| {
        let name_of_trait = format_ident!("{name_of_trait}");
        quote! {
            #[automatically_derived]
            impl crate::codec::#name_of_trait for #name {
                const RECORD_TYPE: i16 = #key;
            }
        }
    };
    match head.kind {
        Kind::Header | Kind::Data => TokenStream::new(),
        Kind::CoordinatorKey(key) => record("CoordinatorKey", key),
        Kind::CoordinatorValue(key) => record("CoordinatorValue", key),
        Kind::MetadataRecord(key) => record("MetadataRecord", key),
        Kind::Request(key) => {
            let (broker, controller) = (head.broker, head.controller);
            let base = name.to_string();
            let response = format_ident!(
                "{}Response",
                base.strip_suffix("Request").unwrap_or(&base),
                span = name.span()
            );
            quote! {
                #[automatically_derived]
                impl crate::codec::Request for #name {
                    type Response = #response;
                    const KEY: crate::ApiKey = crate::ApiKey::known(#key);
                    const LISTENERS: crate::codec::Listeners = crate::codec::Listeners {
                        broker: #broker,
                        controller: #controller,
                    };
                }
            }
        }
        Kind::Response(key) => quote! {
            #[automatically_derived]
            impl crate::codec::Response for #name {
                const KEY: crate::ApiKey = crate::ApiKey::known(#key);
            }
        },
    }
}
