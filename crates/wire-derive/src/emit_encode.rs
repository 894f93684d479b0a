//! Emits `Value::measure`, which checks and counts, and `Value::write`, which checks and writes.

use proc_macro2::TokenStream;
use quote::quote;

use crate::emit_decode::context;
use crate::field::{Field, Tag};
use crate::range::Versions;
use crate::run::{self, Part, Run};
use crate::schema::Schema;

/// Counts the bytes that `write` will write, and refuses what the version cannot say.
pub(crate) fn measure(schema: &Schema) -> TokenStream {
    let known = schema.known_versions();
    let in_place = schema.fields.iter().map(|field| {
        let measure = field.in_place().map(|versions| {
            (
                versions.condition(known),
                measure_value(field, known, false),
            )
        });
        let absent = refuse_absent(field, known);
        match measure {
            None => absent,
            Some((None, measure)) => measure,
            Some((Some(condition), measure)) => quote! {
                if #condition { #measure }
                #absent
            },
        }
    });
    let tags = schema.keeps_tags.then(|| measure_tags(schema, known));
    quote! {
        fn measure(
            &self,
            measure: &mut crate::codec::Measure,
            context: crate::codec::Context,
        ) -> ::core::result::Result<(), crate::codec::MeasureFault> {
            #(#in_place)*
            #tags
            ::core::result::Result::Ok(())
        }
    }
}

/// Writes a value. What `measure` would refuse makes the writer refuse everything.
pub(crate) fn write(schema: &Schema) -> TokenStream {
    let known = schema.known_versions();
    let in_place = run::parts(schema).into_iter().map(|part| match part {
        Part::Single(field) => write_in_place(field, known),
        Part::Run(run) => write_run(&run, known),
    });
    // What is in no place of its own in any version may have to be refused all the same.
    let elsewhere = schema.fields.iter().filter(|it| it.in_place().is_none());
    let elsewhere = elsewhere.map(|field| write_refusal(field, known));
    let tags = schema.keeps_tags.then(|| write_tags(schema, known));
    quote! {
        fn write(&self, writer: &mut crate::codec::Writer, context: crate::codec::Context) {
            #(#in_place)*
            #(#elsewhere)*
            #tags
        }
    }
}

/// Writes a field that stands before the tagged section.
fn write_in_place(field: &Field, known: Versions) -> TokenStream {
    let Some(versions) = field.in_place() else {
        return TokenStream::new();
    };
    let write = write_value(field, known, false);
    let Some(condition) = versions.condition(known) else {
        return write;
    };
    let refusal = write_refusal(field, known);
    if versions == field.versions && !refusal.is_empty() {
        return quote!(if #condition { #write } else #refusal);
    }
    quote! {
        if #condition { #write }
        #refusal
    }
}

/// Refuses a value that the version has no place for, unless that may be dropped: an `if` that asks
/// for the version, too, where the field is in its place in some versions only.
fn write_refusal(field: &Field, known: Versions) -> TokenStream {
    let Some(condition) = field.versions.condition(known).filter(|_| !field.ignorable) else {
        return TokenStream::new();
    };
    let is_default = field.is_default();
    if field.in_place() == Some(field.versions) {
        quote!(if !(#is_default) { writer.refuse(); })
    } else {
        quote!(if !(#condition) && !(#is_default) { writer.refuse(); })
    }
}

/// Writes a run as a whole, in versions in which it is one, else field by field.
fn write_run(run: &Run<'_>, known: Versions) -> TokenStream {
    let width = run.width();
    let parts = run.places().map(|(field, start, _)| {
        let (ident, inner) = (&field.ident, &field.inner);
        quote! {
            <#inner as crate::codec::Fixed<_>>::into_run(self.#ident, &mut run, #start);
        }
    });
    let whole = quote! {
        let mut run = [0; #width];
        #(#parts)*
        writer.put(run);
    };
    run.if_whole(known, whole, |field| write_in_place(field, known))
}

/// Refuses a value that the version has no place for, unless that may be dropped.
fn refuse_absent(field: &Field, known: Versions) -> TokenStream {
    let Some(condition) = field.versions.condition(known).filter(|_| !field.ignorable) else {
        return TokenStream::new();
    };
    let (name, is_default) = (&field.name, field.is_default());
    quote! {
        if !(#condition) && !(#is_default) {
            return ::core::result::Result::Err(crate::codec::MeasureFault::absent(#name));
        }
    }
}

/// A statement that measures the field's value.
fn measure_value(field: &Field, known: Versions, in_tag: bool) -> TokenStream {
    let (ident, inner, name) = (&field.ident, &field.inner, &field.name);
    let context = context(field);
    let plain = |value: TokenStream| quote!(<#inner as crate::codec::Value>::measure(#value, measure, #context));
    let measured = match field.nullable {
        None => plain(quote!(&self.#ident)),
        Some(nullable) => {
            let function = if in_tag {
                quote!(measure_nullable_in_tag)
            } else {
                quote!(measure_nullable)
            };
            let measured = quote! {
                <#inner as crate::codec::Nullable>::#function(
                    self.#ident.as_ref(), measure, #context,
                )
            };
            match nullable.condition(known) {
                None => measured,
                Some(condition) => {
                    let plain = plain(quote!(value));
                    quote! {
                        match &self.#ident {
                            _ if #condition => #measured,
                            ::core::option::Option::Some(value) => #plain,
                            ::core::option::Option::None => {
                                ::core::result::Result::Err(crate::codec::MeasureFault::null())
                            }
                        }
                    }
                }
            }
        }
    };
    quote! {
        if let ::core::result::Result::Err(fault) = #measured {
            return ::core::result::Result::Err(fault.within(#name));
        }
    }
}

/// A statement that writes the field's value.
fn write_value(field: &Field, known: Versions, in_tag: bool) -> TokenStream {
    let (ident, inner) = (&field.ident, &field.inner);
    let context = context(field);
    let plain = |value: TokenStream| quote!(<#inner as crate::codec::Value>::write(#value, writer, #context););
    let Some(nullable) = field.nullable else {
        return plain(quote!(&self.#ident));
    };
    let function = if in_tag {
        quote!(write_nullable_in_tag)
    } else {
        quote!(write_nullable)
    };
    let write = quote! {
        <#inner as crate::codec::Nullable>::#function(self.#ident.as_ref(), writer, #context);
    };
    match nullable.condition(known) {
        None => write,
        Some(condition) => {
            let plain = plain(quote!(value));
            quote! {
                if #condition {
                    #write
                } else if let ::core::option::Option::Some(value) = &self.#ident {
                    #plain
                } else {
                    writer.refuse();
                }
            }
        }
    }
}

/// Whether a tagged field goes into the section.
fn is_present(field: &Field, tag: Tag, known: Versions) -> TokenStream {
    let is_default = field.is_default();
    match tag.versions.condition(known) {
        None => quote!(!(#is_default)),
        Some(condition) => quote!(#condition && !(#is_default)),
    }
}

fn measure_tags(schema: &Schema, known: Versions) -> TokenStream {
    let tagged = schema.tagged();
    let measures = tagged.iter().map(|(field, tag)| {
        let present = is_present(field, *tag, known);
        let (number, measure) = (tag.number, measure_value(field, known, true));
        quote! {
            if #present {
                let start = measure.begin_tag();
                #measure
                measure.end_tag(#number, start);
                tags += 1;
            }
        }
    });
    let is_known = known_tags(&tagged, known);
    let (start, count) = if tagged.is_empty() {
        (TokenStream::new(), quote!(0))
    } else {
        (quote!(let mut tags = 0u32;), quote!(tags))
    };
    quote! {
        if context.is_flexible() {
            #start
            #(#measures)*
            if self.unknown_tags.is_empty() {
                measure.tag_count(#count);
            } else {
                measure.unknown_tags(#count, &self.unknown_tags, #is_known)?;
            }
        } else if !self.unknown_tags.is_empty() {
            return ::core::result::Result::Err(crate::codec::MeasureFault::absent("unknown_tags"));
        }
    }
}

/// A list of the tags that the schema names, each with whether it does so in this version.
fn known_tags(tagged: &[(&Field, Tag)], known: Versions) -> TokenStream {
    let tags = tagged.iter().map(|(_, tag)| {
        let number = tag.number;
        let condition = tag
            .versions
            .condition(known)
            .unwrap_or_else(|| quote!(true));
        quote!((#number, #condition))
    });
    quote!(&[#(#tags),*])
}

fn write_tags(schema: &Schema, known: Versions) -> TokenStream {
    let tagged = schema.tagged();
    if tagged.is_empty() {
        return quote!(writer.unknown_tags(&self.unknown_tags, context););
    }
    let is_known = known_tags(&tagged, known);
    let presents = tagged
        .iter()
        .map(|(field, tag)| is_present(field, *tag, known));
    let names: Vec<_> = tagged.iter().map(|(field, _)| &field.local).collect();
    let writes = tagged.iter().map(|(field, tag)| {
        let (number, local) = (tag.number, &field.local);
        let measure = measure_value(field, known, true);
        let write = write_value(field, known, true);
        quote! {
            if #local {
                writer.unknown_tags_below(#number, &mut unknown);
                writer.known_tag(#number, |measure| {
                    #measure
                    ::core::result::Result::Ok(())
                });
                #write
            }
        }
    });
    quote! {
        if context.is_flexible() {
            if !self.unknown_tags.is_empty() {
                writer.refuse_known(&self.unknown_tags, #is_known);
            }
            #(let #names = #presents;)*
            writer.tag_count(0 #(+ u32::from(#names))*, &self.unknown_tags);
            let mut unknown = self.unknown_tags.iter();
            #(#writes)*
            writer.unknown_tags_rest(unknown);
        } else if !self.unknown_tags.is_empty() {
            writer.refuse();
        }
    }
}
