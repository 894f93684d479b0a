//! [`Value`] for everything with a length in front: strings, bytes, records and arrays.

use bytes::Bytes;
use bytestring::ByteString;

use super::context::Context;
use super::fault::{Malformed, MeasureFault, ReadFault};
use super::measure::Measure;
use super::reader::Reader;
use super::records::Records;
use super::value::{Nullable, Value, set};
use super::writer::Writer;

impl Value for ByteString {
    const LEN_MIN: usize = 1;

    fn read_into(&mut self, reader: &mut Reader<'_>, context: Context) -> Result<(), ReadFault> {
        let start = reader.here();
        match reader.find_string(context)? {
            Some(found) => set(self, reader.string(found)?),
            None => return Err(reader.fault_at(start, Malformed::Null)),
        }
        Ok(())
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
    fn read_nullable_into(
        place: &mut Option<Self>,
        reader: &mut Reader<'_>,
        context: Context,
    ) -> Result<(), ReadFault> {
        match reader.find_string(context)? {
            Some(found) => set(place, Some(reader.string(found)?)),
            None => set(place, None),
        }
        Ok(())
    }

    #[inline]
    fn measure_null(measure: &mut Measure, context: Context) {
        measure.null_string(context);
    }

    #[inline]
    fn write_null(writer: &mut Writer, context: Context) {
        writer.null_string(context);
    }
}

impl Value for Bytes {
    const LEN_MIN: usize = 1;

    fn read_into(&mut self, reader: &mut Reader<'_>, context: Context) -> Result<(), ReadFault> {
        let start = reader.here();
        match reader.find_bytes(context)? {
            Some(found) => set(self, reader.bytes(found)),
            None => return Err(reader.fault_at(start, Malformed::Null)),
        }
        Ok(())
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
    fn read_nullable_into(
        place: &mut Option<Self>,
        reader: &mut Reader<'_>,
        context: Context,
    ) -> Result<(), ReadFault> {
        match reader.find_bytes(context)? {
            Some(found) => set(place, Some(reader.bytes(found))),
            None => set(place, None),
        }
        Ok(())
    }
}

impl Value for Records {
    const LEN_MIN: usize = 1;

    fn read_into(&mut self, reader: &mut Reader<'_>, context: Context) -> Result<(), ReadFault> {
        let start = reader.here();
        match reader.find_bytes(context)? {
            Some(found) => set(self, Self::Here(reader.bytes(found))),
            None => return Err(reader.fault_at(start, Malformed::Null)),
        }
        Ok(())
    }

    fn measure(&self, measure: &mut Measure, context: Context) -> Result<(), MeasureFault> {
        measure.bytes(self.len(), context)
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
    fn read_nullable_into(
        place: &mut Option<Self>,
        reader: &mut Reader<'_>,
        context: Context,
    ) -> Result<(), ReadFault> {
        match reader.find_bytes(context)? {
            Some(found) => set(place, Some(Self::Here(reader.bytes(found)))),
            None => set(place, None),
        }
        Ok(())
    }
}

impl<T: Value + Default> Value for Vec<T> {
    const LEN_MIN: usize = 1;

    #[inline]
    fn read_into(&mut self, reader: &mut Reader<'_>, context: Context) -> Result<(), ReadFault> {
        let start = reader.here();
        match reader.count::<T>(context, T::LEN_MIN)? {
            Some(count) => T::read_many(self, count, reader, context),
            None => Err(reader.fault_at(start, Malformed::Null)),
        }
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

impl<T: Value + Default> Nullable for Vec<T> {
    fn read_nullable_into(
        place: &mut Option<Self>,
        reader: &mut Reader<'_>,
        context: Context,
    ) -> Result<(), ReadFault> {
        let Some(count) = reader.count::<T>(context, T::LEN_MIN)? else {
            set(place, None);
            return Ok(());
        };
        set(place, Some(Self::new()));
        match place {
            Some(values) => T::read_many(values, count, reader, context),
            None => Ok(()),
        }
    }
}
