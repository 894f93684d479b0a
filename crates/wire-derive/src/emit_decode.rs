//! Emits `Value::LEN_MIN` and `Value::read`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::field::Field;
use crate::range::Versions;
use crate::schema::Schema;

/// Two items: the fewest bytes that the struct takes, and how it is read.
pub(crate) fn read(schema: &Schema) -> (TokenStream, TokenStream) {
    let known = schema.known_versions();
    let len_min = len_min(schema, known);
    let in_place = schema.fields.iter().map(|field| in_place(field, known));
    let tags = tags(schema, known);
    let fields = schema.fields.iter().map(|field| {
        let (ident, local) = (&field.ident, &field.local);
        quote!(#ident: #local,)
    });
    let unknown_tags = schema.keeps_tags.then(|| quote!(unknown_tags,));
    let read = quote! {
        fn read(
            reader: &mut crate::codec::Reader<'_>,
            context: crate::codec::Context,
        ) -> ::core::result::Result<Self, crate::codec::ReadFault> {
            #(#in_place)*
            #tags
            ::core::result::Result::Ok(Self {
                #(#fields)*
                #unknown_tags
            })
        }
    };
    (len_min, read)
}

/// Counts the fields that no version lacks.
fn len_min(schema: &Schema, known: Versions) -> TokenStream {
    let fields = schema
        .fields
        .iter()
        .filter(|field| field.in_place().is_some_and(|range| range.covers(known)))
        .map(|field| {
            let inner = &field.inner;
            if field.nullable.is_some() {
                quote!(+ 1)
            } else {
                quote!(+ <#inner as crate::codec::Value>::LEN_MIN)
            }
        });
    quote!(const LEN_MIN: usize = 0 #(#fields)*;)
}

/// `let field = ..` for a field as it stands before the tagged section.
fn in_place(field: &Field, known: Versions) -> TokenStream {
    let (local, default) = (&field.local, field.default());
    let mutable = field.tag.map(|_| quote!(mut));
    let Some(versions) = field.in_place() else {
        return quote!(let #mutable #local = #default;);
    };
    let read = or_fault(field, &read_value(field, known, false));
    match versions.condition(known) {
        None => quote!(let #mutable #local = #read;),
        Some(condition) => quote! {
            let #mutable #local = if #condition { #read } else { #default };
        },
    }
}

/// Reads the tagged section.
fn tags(schema: &Schema, known: Versions) -> TokenStream {
    if !schema.keeps_tags {
        return TokenStream::new();
    }
    let tagged = schema.tagged();
    if tagged.is_empty() {
        return quote!(let unknown_tags = reader.unknown_tags(context)?;);
    }
    let arms = tagged.iter().map(|(field, tag)| {
        let (number, local) = (tag.number, &field.local);
        let condition = tag.versions.condition(known).map(|is| quote!(if #is));
        let read = or_fault(field, &read_value(field, known, true));
        quote!(#number #condition => #local = #read,)
    });
    quote! {
        let mut unknown_tags = crate::codec::UnknownTags::new();
        let mut tags = reader.tags(context)?;
        while let ::core::option::Option::Some(tag) = reader.next_tag(&mut tags)? {
            match tag {
                #(#arms)*
                _ => reader.unknown_tag(tag, &mut unknown_tags)?,
            }
            reader.end_tag(tag, &tags)?;
        }
    }
}

/// An expression that reads the value, null included where the version has it.
fn read_value(field: &Field, known: Versions, in_tag: bool) -> TokenStream {
    let inner = &field.inner;
    let context = context(field);
    let plain = quote!(<#inner as crate::codec::Value>::read(reader, #context));
    let Some(nullable) = field.nullable else {
        return plain;
    };
    let read = if in_tag {
        quote!(<#inner as crate::codec::Nullable>::read_nullable_in_tag(reader, #context))
    } else {
        quote!(<#inner as crate::codec::Nullable>::read_nullable(reader, #context))
    };
    match nullable.condition(known) {
        None => read,
        Some(condition) => quote! {
            if #condition { #read } else { #plain.map(::core::option::Option::Some) }
        },
    }
}

/// The value, or a return with the fault, which learns the field's name on its way out.
fn or_fault(field: &Field, read: &TokenStream) -> TokenStream {
    let name = &field.name;
    quote! {
        match #read {
            ::core::result::Result::Ok(value) => value,
            ::core::result::Result::Err(fault) => {
                return ::core::result::Result::Err(fault.within(#name));
            }
        }
    }
}

/// What is passed down to the field's type.
pub(crate) fn context(field: &Field) -> TokenStream {
    if field.rigid {
        quote!(context.rigid())
    } else {
        quote!(context)
    }
}
