//! [`Value`] for everything of a fixed width: numbers, their newtypes, truth values and UUIDs.

use klamm_primitives::{
    BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, Uuid,
};

use super::context::Context;
use super::fault::{MeasureFault, ReadFault};
use super::measure::Measure;
use super::primitive;
use super::reader::Reader;
use super::value::{Fixed, Value};
use super::writer::Writer;
use crate::error_code::ErrorCode;
use crate::header::CorrelationId;

/// Implements [`Value`] for a number; lists of them are read and written in one go.
macro_rules! number {
    ($type:ty, $inner:ty, $from:expr, $to:expr) => {
        impl Fixed<{ size_of::<$inner>() }> for $type {
            #[inline]
            fn from_wire(bytes: [u8; size_of::<$inner>()]) -> Self {
                $from(<$inner>::from_be_bytes(bytes))
            }

            #[inline]
            fn to_wire(self) -> [u8; size_of::<$inner>()] {
                $to(self).to_be_bytes()
            }
        }

        impl Value for $type {
            const LEN_MIN: usize = size_of::<$inner>();

            #[inline]
            fn read_into(&mut self, reader: &mut Reader<'_>, _: Context) -> Result<(), ReadFault> {
                *self = Self::from_wire(reader.parse(primitive::fixed)?);
                Ok(())
            }

            #[inline]
            fn measure(&self, measure: &mut Measure, _: Context) -> Result<(), MeasureFault> {
                measure.add(size_of::<$inner>());
                Ok(())
            }

            #[inline]
            fn write(&self, writer: &mut Writer, _: Context) {
                writer.put(self.to_wire());
            }

            #[inline]
            fn is_default(&self) -> bool {
                *self == Self::default()
            }

            fn read_many(
                values: &mut Vec<Self>,
                count: usize,
                reader: &mut Reader<'_>,
                _: Context,
            ) -> Result<(), ReadFault> {
                const LEN: usize = size_of::<$inner>();
                let (numbers, _) = reader.elements(count, LEN)?.as_chunks::<LEN>();
                values.extend(numbers.iter().map(|bytes| Self::from_wire(*bytes)));
                Ok(())
            }

            fn write_many(values: &[Self], writer: &mut Writer, _: Context) {
                for value in values {
                    writer.put(value.to_wire());
                }
            }

            #[inline]
            fn measure_many(
                values: &[Self],
                measure: &mut Measure,
                _: Context,
            ) -> Result<(), MeasureFault> {
                measure.add(size_of_val(values));
                Ok(())
            }
        }
    };
}

/// Implements [`Value`] for plain integers and their newtypes.
macro_rules! numbers {
    ($($inner:ty: $($newtype:ty),*;)*) => {
        $(
            number!($inner, $inner, |value| value, |value: $inner| value);
            $(number!($newtype, $inner, <$newtype>::new, <$newtype>::get);)*
        )*
    };
}

numbers! {
    i8:;
    i16: ProducerEpoch, ErrorCode;
    u16:;
    i32: BrokerId, PartitionIndex, LeaderEpoch, CorrelationId;
    u32:;
    i64: BrokerEpoch, Offset, ProducerId;
}

number!(Uuid, u128, Uuid::from_u128, |uuid: Uuid| {
    u128::from_be_bytes(*uuid.as_bytes())
});

impl Fixed<8> for f64 {
    fn from_wire(bytes: [u8; 8]) -> Self {
        Self::from_be_bytes(bytes)
    }

    fn to_wire(self) -> [u8; 8] {
        self.to_be_bytes()
    }
}

impl Value for f64 {
    const LEN_MIN: usize = size_of::<Self>();

    fn read_into(&mut self, reader: &mut Reader<'_>, _: Context) -> Result<(), ReadFault> {
        *self = Self::from_wire(reader.parse(primitive::fixed)?);
        Ok(())
    }

    fn measure(&self, measure: &mut Measure, _: Context) -> Result<(), MeasureFault> {
        measure.add(size_of::<Self>());
        Ok(())
    }

    fn write(&self, writer: &mut Writer, _: Context) {
        writer.put(self.to_be_bytes());
    }

    /// By bits, so that -0.0 is not lost.
    fn is_default(&self) -> bool {
        self.to_bits() == 0
    }
}

/// One byte; any but 0 is true, and true is written as 1.
impl Fixed<1> for bool {
    #[inline]
    fn from_wire(bytes: [u8; 1]) -> Self {
        bytes != [0]
    }

    #[inline]
    fn to_wire(self) -> [u8; 1] {
        [u8::from(self)]
    }
}

impl Value for bool {
    const LEN_MIN: usize = 1;

    #[inline]
    fn read_into(&mut self, reader: &mut Reader<'_>, _: Context) -> Result<(), ReadFault> {
        *self = Self::from_wire(reader.parse(primitive::fixed)?);
        Ok(())
    }

    #[inline]
    fn measure(&self, measure: &mut Measure, _: Context) -> Result<(), MeasureFault> {
        measure.add(1);
        Ok(())
    }

    #[inline]
    fn write(&self, writer: &mut Writer, _: Context) {
        writer.put([u8::from(*self)]);
    }

    #[inline]
    fn is_default(&self) -> bool {
        !*self
    }
}
