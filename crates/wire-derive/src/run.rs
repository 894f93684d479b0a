//! [`Part`]: runs of fields of fixed width, which are read and written in one go.
//!
//! A run has one check of what is left instead of one a field. Fields may join in different
//! versions: from the last of these on the run is whole, before that it goes field by field.

use proc_macro2::TokenStream;
use quote::quote;

use crate::field::Field;
use crate::range::Versions;
use crate::schema::Schema;

/// What stands in a struct before its tagged section, in order.
pub(crate) enum Part<'a> {
    /// A field by itself. One that is tagged in all versions is among these.
    Single(&'a Field),
    /// Two or more fields.
    Run(Run<'a>),
}

/// Fields of fixed width, one behind the other.
pub(crate) struct Run<'a> {
    pub(crate) fields: Vec<(&'a Field, usize)>,
    versions: Versions,
}

impl<'a> Run<'a> {
    /// The bytes that all fields together take.
    pub(crate) fn width(&self) -> usize {
        self.fields.iter().map(|(_, width)| width).sum()
    }

    /// `whole` where the run is whole, which is in all versions or in the newer ones, else what is
    /// emitted for each of its fields.
    pub(crate) fn if_whole(
        &self,
        known: Versions,
        whole: TokenStream,
        of_field: impl Fn(&Field) -> TokenStream,
    ) -> TokenStream {
        let Some(condition) = self.versions.condition(known) else {
            return whole;
        };
        let one_by_one = self.fields.iter().map(|(field, _)| of_field(field));
        quote! {
            if #condition {
                #whole
            } else {
                #(#one_by_one)*
            }
        }
    }

    /// The fields with the range of bytes that each has in the run.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&'a Field, usize, usize)> {
        let mut start = 0;
        self.fields.iter().map(move |(field, width)| {
            let place = start;
            start += width;
            (*field, place, *width)
        })
    }
}

/// Finds the runs of a struct.
pub(crate) fn parts(schema: &Schema) -> Vec<Part<'_>> {
    let known = schema.known_versions();
    let mut parts = Vec::new();
    let mut run = Vec::new();
    for field in &schema.fields {
        if let Some(width) = width_in_run(field, known) {
            run.push((field, width));
        } else {
            end_run(&mut run, &mut parts);
            parts.push(Part::Single(field));
        }
    }
    end_run(&mut run, &mut parts);
    parts
}

/// The field's width, if it stands in its place up to the newest version.
fn width_in_run(field: &Field, known: Versions) -> Option<usize> {
    let in_place = field.in_place()?;
    let newest = known.max.unwrap_or(i16::MAX);
    let lasts = in_place.max.is_none_or(|max| max >= newest);
    field.width().filter(|_| lasts)
}

fn end_run<'a>(run: &mut Vec<(&'a Field, usize)>, parts: &mut Vec<Part<'a>>) {
    match std::mem::take(run) {
        fields if fields.len() >= 2 => {
            let since = fields.iter().map(|(field, _)| field.versions.min).max();
            let versions = Versions {
                min: since.unwrap_or_default(),
                max: None,
            };
            parts.push(Part::Run(Run { fields, versions }));
        }
        fields => parts.extend(fields.into_iter().map(|(field, _)| Part::Single(field))),
    }
}
