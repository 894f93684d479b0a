//! The derive macros of `klamm-wire`: they turn a message's struct, whose attributes say in which
//! versions each field exists, into its codec.
//!
//! They serve that crate alone: the code they emit names its private codec. [`Message`] is for
//! whole messages, [`Struct`] for what is nested in them. The attributes are described in
//! `klamm-wire`'s module `messages`; a wrong one is a compile error at the place where it stands.

mod attributes;
mod emit_decode;
mod emit_defaults;
mod emit_encode;
mod emit_message;
mod emit_random;
mod emit_serialize;
mod field;
mod head;
mod range;
mod run;
mod schema;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, parse_macro_input};

use schema::Schema;

/// Makes the codec of a whole message: request, response, header, record or free-standing data.
#[proc_macro_derive(Message, attributes(wire))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(Schema::of_message(&input))
}

/// Makes the codec of a struct that is nested in messages.
#[proc_macro_derive(Struct, attributes(wire))]
pub fn derive_struct(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(Schema::of_struct(&input))
}

fn expand(schema: syn::Result<Schema>) -> TokenStream {
    let schema = match schema {
        Ok(schema) => schema,
        Err(error) => return error.into_compile_error().into(),
    };
    let defaults = emit_defaults::defaults(&schema);
    let name = &schema.name;
    let (len_min, read_into) = (
        emit_decode::len_min(&schema),
        emit_decode::read_into(&schema),
    );
    let (measure, write) = (emit_encode::measure(&schema), emit_encode::write(&schema));
    let is_default = emit_defaults::is_default(&schema);
    let message = emit_message::message(&schema);
    let serialize = emit_serialize::serialize(&schema);
    let random = emit_random::random(&schema);
    quote! {
        #defaults

        #[automatically_derived]
        impl crate::codec::Value for #name {
            #len_min
            #read_into
            #measure
            #write
            #is_default
        }

        #[automatically_derived]
        impl crate::codec::Struct for #name {}

        #message

        #serialize

        #random
    }
    .into()
}
