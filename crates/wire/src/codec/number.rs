//! [`Value`] for everything of a fixed width: numbers, their newtypes, truth values and UUIDs.

use klamm_primitives::{
    BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, Uuid,
};

use super::context::Context;
use super::fault::{MeasureFault, ReadFault};
use super::measure::Measure;
use super::primitive;
use super::reader::Reader;
use super::value::Value;
use super::writer::Writer;
use crate::error_code::ErrorCode;
use crate::header::CorrelationId;

/// Implements [`Value`] for a number; lists of them are read and written in one go.
macro_rules! number {
    ($type:ty, $inner:ty, $parser:path, $from:expr, $to:expr) => {
        impl Value for $type {
            const LEN_MIN: usize = size_of::<$inner>();

            #[inline]
            fn read(reader: &mut Reader<'_>, _: Context) -> Result<Self, ReadFault> {
                match reader.parse($parser) {
                    Ok(number) => Ok($from(number)),
                    Err(fault) => Err(fault),
                }
            }

            #[inline]
            fn measure(&self, measure: &mut Measure, _: Context) -> Result<(), MeasureFault> {
                measure.add(size_of::<$inner>());
                Ok(())
            }

            #[inline]
            fn write(&self, writer: &mut Writer, _: Context) {
                writer.put($to(*self).to_be_bytes());
            }

            #[inline]
            fn is_default(&self) -> bool {
                *self == Self::default()
            }

            fn read_many(
                reader: &mut Reader<'_>,
                count: usize,
                _: Context,
            ) -> Result<Vec<Self>, ReadFault> {
                const LEN: usize = size_of::<$inner>();
                let (numbers, _) = reader.run(count, LEN)?.as_chunks::<LEN>();
                Ok(numbers
                    .iter()
                    .map(|bytes| $from(<$inner>::from_be_bytes(*bytes)))
                    .collect())
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
    ($($inner:ty as $parser:ident: $($newtype:ty),*;)*) => {
        $(
            number!($inner, $inner, primitive::$parser, |value| value, |value: $inner| value);
            $(number!($newtype, $inner, primitive::$parser, <$newtype>::new, <$newtype>::get);)*
        )*
    };
}

numbers! {
    i8 as be_i8:;
    i16 as be_i16: ProducerEpoch, ErrorCode;
    u16 as be_u16:;
    i32 as be_i32: BrokerId, PartitionIndex, LeaderEpoch, CorrelationId;
    u32 as be_u32:;
    i64 as be_i64: BrokerEpoch, Offset, ProducerId;
}

number!(
    Uuid,
    u128,
    primitive::be_u128,
    Uuid::from_u128,
    |uuid: Uuid| u128::from_be_bytes(*uuid.as_bytes())
);

impl Value for f64 {
    const LEN_MIN: usize = size_of::<Self>();

    fn read(reader: &mut Reader<'_>, _: Context) -> Result<Self, ReadFault> {
        reader.parse(primitive::be_f64)
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
impl Value for bool {
    const LEN_MIN: usize = 1;

    #[inline]
    fn read(reader: &mut Reader<'_>, _: Context) -> Result<Self, ReadFault> {
        reader.parse(primitive::u8).map(|byte| byte != 0)
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
