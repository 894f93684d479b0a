//! [`Value`] and [`Nullable`]: what a field's type can do.

use super::context::Context;
use super::fault::{MeasureFault, ReadFault};
use super::measure::Measure;
use super::reader::Reader;
use super::writer::Writer;

/// So many elements of an array are made ready before they are filled. One at a time they would
/// be made elsewhere and moved; too many would have left the processor's cache when they are filled.
const READY_MAX: usize = 16;

/// A type that stands on the wire.
pub trait Value: Sized {
    /// No version writes fewer bytes. An array's count is checked with it.
    const LEN_MIN: usize;

    /// Reads the value into a place that holds a default, and owns nothing yet.
    ///
    /// Structs are filled where they will stay. Made elsewhere and moved, they would cost more to
    /// move than to read: a processor waits when it loads many bytes that were just stored few at
    /// a time.
    fn read_into(&mut self, reader: &mut Reader<'_>, context: Context) -> Result<(), ReadFault>;

    /// Checks the value and counts its bytes.
    fn measure(&self, measure: &mut Measure, context: Context) -> Result<(), MeasureFault>;

    /// Writes the value. What [`Self::measure`] refuses, the writer refuses, too.
    fn write(&self, writer: &mut Writer, context: Context);

    /// Whether it is the type's default, which a tagged field leaves out.
    fn is_default(&self) -> bool;

    /// Reads `count` values into a list that owns nothing yet. [`Reader::count`] has seen that there
    /// can be so many.
    fn read_many(
        values: &mut Vec<Self>,
        count: usize,
        reader: &mut Reader<'_>,
        context: Context,
    ) -> Result<(), ReadFault>
    where
        Self: Default,
    {
        set(values, Vec::with_capacity(reader.room::<Self>(count)));
        // A plain loop: this is compiled for each struct, with whatever adapters an iterator has.
        let mut index = 0;
        while index < count {
            values.resize_with(count.min(index + READY_MAX), Self::default);
            while let Some(value) = values.get_mut(index) {
                if let Err(fault) = value.read_into(reader, context) {
                    return Err(fault.at(index));
                }
                index += 1;
            }
        }
        Ok(())
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

/// A type that takes `N` bytes in all versions. Fields of such types that stand one behind the
/// other are read and written as a run.
pub(crate) trait Fixed<const N: usize>: Value + Copy {
    /// The value of these bytes.
    fn from_wire(bytes: [u8; N]) -> Self;

    /// The value's bytes.
    fn to_wire(self) -> [u8; N];

    /// The value that stands at `start` in a run.
    #[inline]
    fn from_run<const R: usize>(run: &[u8; R], start: usize) -> Self {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&run[start..start + N]);
        Self::from_wire(bytes)
    }

    /// Puts the value at `start` into a run.
    #[inline]
    fn into_run<const R: usize>(self, run: &mut [u8; R], start: usize) {
        run[start..start + N].copy_from_slice(&self.to_wire());
    }
}

/// A type whose place null can take, written as an `Option`.
pub(crate) trait Nullable: Value {
    /// Reads a value or null into a place that holds a default.
    fn read_nullable_into(
        place: &mut Option<Self>,
        reader: &mut Reader<'_>,
        context: Context,
    ) -> Result<(), ReadFault>;

    /// Measures null; like that of bytes and arrays unless the type says otherwise.
    #[inline]
    fn measure_null(measure: &mut Measure, context: Context) {
        measure.null(context);
    }

    /// Writes null.
    #[inline]
    fn write_null(writer: &mut Writer, context: Context) {
        writer.null(context);
    }

    /// Measures a value or null.
    #[inline]
    fn measure_nullable(
        value: Option<&Self>,
        measure: &mut Measure,
        context: Context,
    ) -> Result<(), MeasureFault> {
        if let Some(value) = value {
            value.measure(measure, context)
        } else {
            Self::measure_null(measure, context);
            Ok(())
        }
    }

    /// Writes a value or null.
    #[inline]
    fn write_nullable(value: Option<&Self>, writer: &mut Writer, context: Context) {
        match value {
            Some(value) => value.write(writer, context),
            None => Self::write_null(writer, context),
        }
    }

    /// As [`Self::read_nullable_into`], in a tagged field.
    fn read_nullable_in_tag_into(
        place: &mut Option<Self>,
        reader: &mut Reader<'_>,
        context: Context,
    ) -> Result<(), ReadFault> {
        Self::read_nullable_into(place, reader, context)
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

/// Puts a value into a place that holds a default. That owns nothing, so it is not dropped, which
/// for [`Bytes`](bytes::Bytes) would be a call through a pointer.
#[inline]
pub(crate) fn set<T>(place: &mut T, value: T) {
    std::mem::forget(std::mem::replace(place, value));
}

/// Reads a value that may be null in other versions, but not in this one.
pub(crate) fn read_some_into<T: Value + Default>(
    place: &mut Option<T>,
    reader: &mut Reader<'_>,
    context: Context,
) -> Result<(), ReadFault> {
    set(place, Some(T::default()));
    match place {
        Some(value) => value.read_into(reader, context),
        None => Ok(()),
    }
}

/// A struct. Where it may be null a marker before it says whether it is there: one byte in its
/// place (negative: null), an unsigned varint in a tagged field (0: null).
pub(crate) trait Struct: Value + Default {}

impl<T: Struct> Nullable for T {
    fn read_nullable_into(
        place: &mut Option<Self>,
        reader: &mut Reader<'_>,
        context: Context,
    ) -> Result<(), ReadFault> {
        let mut marker = 0i8;
        marker.read_into(reader, context)?;
        if marker < 0 {
            set(place, None);
            return Ok(());
        }
        read_some_into(place, reader, context)
    }

    fn measure_null(measure: &mut Measure, _: Context) {
        measure.add(1);
    }

    fn write_null(writer: &mut Writer, _: Context) {
        writer.put((-1i8).to_be_bytes());
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
        match value {
            Some(value) => {
                writer.put(1i8.to_be_bytes());
                value.write(writer, context);
            }
            None => Self::write_null(writer, context),
        }
    }

    fn read_nullable_in_tag_into(
        place: &mut Option<Self>,
        reader: &mut Reader<'_>,
        context: Context,
    ) -> Result<(), ReadFault> {
        if reader.marker_in_tag()? == 0 {
            set(place, None);
            return Ok(());
        }
        read_some_into(place, reader, context)
    }

    fn write_nullable_in_tag(value: Option<&Self>, writer: &mut Writer, context: Context) {
        writer.put([u8::from(value.is_some())]);
        if let Some(value) = value {
            value.write(writer, context);
        }
    }
}
