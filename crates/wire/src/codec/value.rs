//! [`Value`] and [`Nullable`]: what a field's type can do.

use super::context::Context;
use super::fault::{Malformed, MeasureFault, ReadFault};
use super::measure::Measure;
use super::reader::Reader;
use super::writer::Writer;

/// A type that stands on the wire.
pub trait Value: Sized {
    /// No version writes fewer bytes. An array's count is checked with it.
    const LEN_MIN: usize;

    /// Reads the value.
    fn read(reader: &mut Reader<'_>, context: Context) -> Result<Self, ReadFault>;

    /// Checks the value and counts its bytes.
    fn measure(&self, measure: &mut Measure, context: Context) -> Result<(), MeasureFault>;

    /// Writes the value, which was measured in the same context.
    fn write(&self, writer: &mut Writer, context: Context);

    /// Whether it is the type's default, which a tagged field leaves out.
    fn is_default(&self) -> bool;

    /// Reads `count` values; there are `count` times [`Self::LEN_MIN`] bytes.
    fn read_many(
        reader: &mut Reader<'_>,
        count: usize,
        context: Context,
    ) -> Result<Vec<Self>, ReadFault> {
        let mut values = Vec::new();
        while values.len() < count {
            let left = count - values.len();
            // At least as many as are there, so that it grows by doubling.
            let room = reader.room::<Self>(left).max(values.len()).max(1).min(left);
            values.reserve_exact(room);
            for _ in 0..room {
                match Self::read(reader, context) {
                    Ok(value) => values.push(value),
                    Err(fault) => return Err(fault.at(values.len())),
                }
            }
        }
        Ok(values)
    }

    /// Measures values that stand one behind the other.
    fn measure_many(
        values: &[Self],
        measure: &mut Measure,
        context: Context,
    ) -> Result<(), MeasureFault> {
        for (index, value) in values.iter().enumerate() {
            if let Err(fault) = value.measure(measure, context) {
                return Err(fault.at(index));
            }
        }
        Ok(())
    }

    /// Writes values one behind the other.
    fn write_many(values: &[Self], writer: &mut Writer, context: Context) {
        for value in values {
            value.write(writer, context);
        }
    }
}

/// A type whose place null can take, written as an `Option`.
pub(crate) trait Nullable: Value {
    /// Reads a value or null.
    fn read_nullable(reader: &mut Reader<'_>, context: Context) -> Result<Option<Self>, ReadFault>;

    /// Measures a value or null.
    fn measure_nullable(
        value: Option<&Self>,
        measure: &mut Measure,
        context: Context,
    ) -> Result<(), MeasureFault>;

    /// Writes a value or null.
    fn write_nullable(value: Option<&Self>, writer: &mut Writer, context: Context);

    /// As [`Self::read_nullable`], in a tagged field.
    fn read_nullable_in_tag(
        reader: &mut Reader<'_>,
        context: Context,
    ) -> Result<Option<Self>, ReadFault> {
        Self::read_nullable(reader, context)
    }

    /// As [`Self::measure_nullable`], in a tagged field.
    fn measure_nullable_in_tag(
        value: Option<&Self>,
        measure: &mut Measure,
        context: Context,
    ) -> Result<(), MeasureFault> {
        Self::measure_nullable(value, measure, context)
    }

    /// As [`Self::write_nullable`], in a tagged field.
    fn write_nullable_in_tag(value: Option<&Self>, writer: &mut Writer, context: Context) {
        Self::write_nullable(value, writer, context);
    }
}

/// What is read where null is not legal.
#[inline]
pub(super) fn not_null<T: Nullable>(
    reader: &mut Reader<'_>,
    context: Context,
) -> Result<T, ReadFault> {
    let start = reader.here();
    match T::read_nullable(reader, context) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(reader.fault_at(start, Malformed::Null)),
        Err(fault) => Err(fault),
    }
}

/// A struct. Where it may be null a marker before it says whether it is there: one byte in its
/// place (negative: null), an unsigned varint in a tagged field (0: null).
pub(crate) trait Struct: Value {}

impl<T: Struct> Nullable for T {
    fn read_nullable(reader: &mut Reader<'_>, context: Context) -> Result<Option<Self>, ReadFault> {
        if i8::read(reader, context)? < 0 {
            return Ok(None);
        }
        Self::read(reader, context).map(Some)
    }

    fn measure_nullable(
        value: Option<&Self>,
        measure: &mut Measure,
        context: Context,
    ) -> Result<(), MeasureFault> {
        measure.add(1);
        match value {
            Some(value) => value.measure(measure, context),
            None => Ok(()),
        }
    }

    fn write_nullable(value: Option<&Self>, writer: &mut Writer, context: Context) {
        writer.put(i8::to_be_bytes(if value.is_some() { 1 } else { -1 }));
        if let Some(value) = value {
            value.write(writer, context);
        }
    }

    fn read_nullable_in_tag(
        reader: &mut Reader<'_>,
        context: Context,
    ) -> Result<Option<Self>, ReadFault> {
        if reader.marker_in_tag()? == 0 {
            return Ok(None);
        }
        Self::read(reader, context).map(Some)
    }

    fn write_nullable_in_tag(value: Option<&Self>, writer: &mut Writer, context: Context) {
        writer.put([u8::from(value.is_some())]);
        if let Some(value) = value {
            value.write(writer, context);
        }
    }
}
