//! [`Value`] for everything with a length in front: strings, bytes, records and arrays.

use bytes::Bytes;
use bytestring::ByteString;

use super::context::Context;
use super::fault::{MeasureFault, ReadFault};
use super::measure::Measure;
use super::reader::Reader;
use super::records::Records;
use super::value::{Nullable, Value, not_null};
use super::writer::Writer;

impl Value for ByteString {
    const LEN_MIN: usize = 1;

    #[inline]
    fn read(reader: &mut Reader<'_>, context: Context) -> Result<Self, ReadFault> {
        not_null(reader, context)
    }

    #[inline]
    fn measure(&self, measure: &mut Measure, context: Context) -> Result<(), MeasureFault> {
        measure.string(self, context)
    }

    #[inline]
    fn write(&self, writer: &mut Writer, context: Context) {
        writer.string(self, context);
    }

    #[inline]
    fn is_default(&self) -> bool {
        self.is_empty()
    }
}

impl Nullable for ByteString {
    #[inline]
    fn read_nullable(reader: &mut Reader<'_>, context: Context) -> Result<Option<Self>, ReadFault> {
        reader.string(context)
    }

    #[inline]
    fn measure_nullable(
        value: Option<&Self>,
        measure: &mut Measure,
        context: Context,
    ) -> Result<(), MeasureFault> {
        if let Some(text) = value {
            measure.string(text, context)
        } else {
            measure.null_string(context);
            Ok(())
        }
    }

    #[inline]
    fn write_nullable(value: Option<&Self>, writer: &mut Writer, context: Context) {
        match value {
            Some(text) => writer.string(text, context),
            None => writer.null_string(context),
        }
    }
}

impl Value for Bytes {
    const LEN_MIN: usize = 1;

    fn read(reader: &mut Reader<'_>, context: Context) -> Result<Self, ReadFault> {
        not_null(reader, context)
    }

    fn measure(&self, measure: &mut Measure, context: Context) -> Result<(), MeasureFault> {
        measure.bytes(self.len(), context)
    }

    fn write(&self, writer: &mut Writer, context: Context) {
        writer.bytes(self, context);
    }

    fn is_default(&self) -> bool {
        self.is_empty()
    }
}

impl Nullable for Bytes {
    fn read_nullable(reader: &mut Reader<'_>, context: Context) -> Result<Option<Self>, ReadFault> {
        reader.bytes(context)
    }

    fn measure_nullable(
        value: Option<&Self>,
        measure: &mut Measure,
        context: Context,
    ) -> Result<(), MeasureFault> {
        if let Some(bytes) = value {
            bytes.measure(measure, context)
        } else {
            measure.null(context);
            Ok(())
        }
    }

    fn write_nullable(value: Option<&Self>, writer: &mut Writer, context: Context) {
        match value {
            Some(bytes) => bytes.write(writer, context),
            None => writer.null(context),
        }
    }
}

impl Value for Records {
    const LEN_MIN: usize = 1;

    fn read(reader: &mut Reader<'_>, context: Context) -> Result<Self, ReadFault> {
        not_null(reader, context)
    }

    fn measure(&self, measure: &mut Measure, context: Context) -> Result<(), MeasureFault> {
        match self {
            Self::Here(bytes) => measure.bytes(bytes.len(), context),
            Self::Elsewhere(len) => measure.gap(*len, context),
        }
    }

    fn write(&self, writer: &mut Writer, context: Context) {
        match self {
            Self::Here(bytes) => writer.bytes(bytes, context),
            Self::Elsewhere(len) => writer.gap(*len, context),
        }
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Nullable for Records {
    fn read_nullable(reader: &mut Reader<'_>, context: Context) -> Result<Option<Self>, ReadFault> {
        Ok(reader.bytes(context)?.map(Self::Here))
    }

    fn measure_nullable(
        value: Option<&Self>,
        measure: &mut Measure,
        context: Context,
    ) -> Result<(), MeasureFault> {
        if let Some(records) = value {
            records.measure(measure, context)
        } else {
            measure.null(context);
            Ok(())
        }
    }

    fn write_nullable(value: Option<&Self>, writer: &mut Writer, context: Context) {
        match value {
            Some(records) => records.write(writer, context),
            None => writer.null(context),
        }
    }
}

impl<T: Value> Value for Vec<T> {
    const LEN_MIN: usize = 1;

    #[inline]
    fn read(reader: &mut Reader<'_>, context: Context) -> Result<Self, ReadFault> {
        not_null(reader, context)
    }

    #[inline]
    fn measure(&self, measure: &mut Measure, context: Context) -> Result<(), MeasureFault> {
        measure.length(self.len(), context)?;
        T::measure_many(self, measure, context)
    }

    #[inline]
    fn write(&self, writer: &mut Writer, context: Context) {
        writer.length(self.len(), context);
        T::write_many(self, writer, context);
    }

    #[inline]
    fn is_default(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Value> Nullable for Vec<T> {
    fn read_nullable(reader: &mut Reader<'_>, context: Context) -> Result<Option<Self>, ReadFault> {
        match reader.count::<T>(context, T::LEN_MIN)? {
            Some(0) => Ok(Some(Self::new())),
            Some(count) => T::read_many(reader, count, context).map(Some),
            None => Ok(None),
        }
    }

    fn measure_nullable(
        value: Option<&Self>,
        measure: &mut Measure,
        context: Context,
    ) -> Result<(), MeasureFault> {
        if let Some(values) = value {
            values.measure(measure, context)
        } else {
            measure.null(context);
            Ok(())
        }
    }

    fn write_nullable(value: Option<&Self>, writer: &mut Writer, context: Context) {
        match value {
            Some(values) => values.write(writer, context),
            None => writer.null(context),
        }
    }
}
