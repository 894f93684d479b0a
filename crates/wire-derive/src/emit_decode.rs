//! Emits `Value::LEN_MIN` and `Value::read_into`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::field::Field;
use crate::range::Versions;
use crate::run::{self, Part, Run};
use crate::schema::Schema;

/// The fewest bytes that the struct takes: those of the fields that no version lacks.
pub(crate) fn len_min(schema: &Schema) -> TokenStream {
    let known = schema.known_versions();
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

/// How the struct is read: fields that the version lacks keep the defaults that they have.
pub(crate) fn read_into(schema: &Schema) -> TokenStream {
    let known = schema.known_versions();
    let in_place = run::parts(schema).into_iter().map(|part| match part {
        Part::Single(field) => read_in_place(field, known),
        Part::Run(run) => read_run(&run, known),
    });
    let tags = tags(schema, known);
    quote! {
        fn read_into(
            &mut self,
            reader: &mut crate::codec::Reader<'_>,
            context: crate::codec::Context,
        ) -> ::core::result::Result<(), crate::codec::ReadFault> {
            #(#in_place)*
            #tags
            ::core::result::Result::Ok(())
        }
    }
}

/// Reads a field that stands before the tagged section.
fn read_in_place(field: &Field, known: Versions) -> TokenStream {
    let Some(versions) = field.in_place() else {
        return TokenStream::new();
    };
    let read = read_value(field, known, false);
    match versions.condition(known) {
        None => read,
        Some(condition) => quote!(if #condition { #read }),
    }
}

/// Reads a run as a whole, in versions in which it is one, else field by field.
fn read_run(run: &Run<'_>, known: Versions) -> TokenStream {
    let width = run.width();
    let from_run = run.places().map(|(field, start, _)| {
        let (ident, inner) = (&field.ident, &field.inner);
        quote!(self.#ident = <#inner as crate::codec::Fixed<_>>::from_run(run, #start);)
    });
    let names = run.places().map(|(field, _, width)| {
        let name = &field.name;
        quote!((#name, #width))
    });
    let whole = quote! {
        let ::core::option::Option::Some(run) = reader.run::<#width>() else {
            return ::core::result::Result::Err(reader.cut_in_run(&[#(#names),*]));
        };
        #(#from_run)*
    };
    run.if_whole(known, whole, |field| read_in_place(field, known))
}

/// Reads the tagged section.
fn tags(schema: &Schema, known: Versions) -> TokenStream {
    if !schema.keeps_tags {
        return TokenStream::new();
    }
    let tagged = schema.tagged();
    if tagged.is_empty() {
        return quote!(reader.unknown_tags(&mut self.unknown_tags, context)?;);
    }
    let arms = tagged.iter().map(|(field, tag)| {
        let number = tag.number;
        let condition = tag.versions.condition(known).map(|is| quote!(if #is));
        let read = read_value(field, known, true);
        quote!(#number #condition => { #read })
    });
    quote! {
        let mut tags = reader.tags(context)?;
        while let ::core::option::Option::Some(tag) = reader.next_tag(&mut tags)? {
            match tag {
                #(#arms)*
                _ => reader.unknown_tag(tag, &mut self.unknown_tags)?,
            }
            reader.end_tag(tag, &tags)?;
        }
    }
}

/// A statement that reads the value, null included where the version has it. A fault learns the
/// field's name on its way out.
fn read_value(field: &Field, known: Versions, in_tag: bool) -> TokenStream {
    let (ident, inner, name) = (&field.ident, &field.inner, &field.name);
    let context = context(field);
    let read = match field.nullable {
        None => quote! {
            <#inner as crate::codec::Value>::read_into(&mut self.#ident, reader, #context)
        },
        Some(nullable) => {
            let function = if in_tag {
                quote!(read_nullable_in_tag_into)
            } else {
                quote!(read_nullable_into)
            };
            let read = quote! {
                <#inner as crate::codec::Nullable>::#function(&mut self.#ident, reader, #context)
            };
            match nullable.condition(known) {
                None => read,
                Some(condition) => quote! {
                    if #condition {
                        #read
                    } else {
                        crate::codec::read_some_into(&mut self.#ident, reader, #context)
                    }
                },
            }
        }
    };
    quote! {
        let read = #read;
        if let ::core::result::Result::Err(fault) = read {
            return ::core::result::Result::Err(fault.within(#name));
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
