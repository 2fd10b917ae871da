//! Streams of bits, the lowest bit of each byte first.

use crate::damaged::Damaged;

/// Bits being written.
#[derive(Debug, Default)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that are not in `bytes` yet, and their number, below 64.
    rest: u64,
    count: u32,
}

impl BitWriter {
    /// Appends the lowest `count` bits of a value, at most 56.
    #[inline]
    pub(crate) fn bits(&mut self, value: u64, count: u32) {
        debug_assert!(count <= 56 && value >> count == 0);
        self.rest |= value << self.count;
        self.count += count;
        if self.count >= 64 {
            self.bytes.extend_from_slice(&self.rest.to_le_bytes());
            self.count -= 64;
            self.rest = value.checked_shr(count - self.count).unwrap_or_default();
        }
    }

    /// Appends a number as so many 0s, and a 1.
    pub(crate) fn unary(&mut self, mut value: u64) {
        while value > 40 {
            self.bits(0, 40);
            value -= 40;
        }
        self.bits(1 << value, value as u32 + 1);
    }

    /// Appends a number from 1 on (below 2^32) by Elias' gamma code.
    pub(crate) fn gamma(&mut self, value: u32) {
        let bits = value.ilog2();
        self.unary(u64::from(bits));
        self.bits(u64::from(value) & ((1 << bits) - 1), bits);
    }

    /// Appends a number by the exponential Golomb code of an order.
    pub(crate) fn golomb(&mut self, value: u32, order: u32) {
        self.gamma((value >> order) + 1);
        self.bits(u64::from(value) & ((1 << order) - 1), order);
    }

    /// Appends a number by the Rice code of an order.
    pub(crate) fn rice(&mut self, value: u64, order: u32) {
        self.unary(value >> order);
        self.bits(value & ((1 << order) - 1), order);
    }

    /// Returns the bytes; the bits after the last one are 0.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let rest = self.rest.to_le_bytes();
        self.bytes.extend_from_slice(&rest[..self.count.div_ceil(8) as usize]);
        self.bytes
    }
}

/// Returns the number of bits that [`BitWriter::golomb`] appends.
pub(crate) fn golomb_bits(value: u32, order: u32) -> u32 {
    2 * ((value >> order) + 1).ilog2() + 1 + order
}

/// Bits being read.
#[derive(Clone, Debug)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    /// The next bit.
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the place of the next bit.
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    /// Returns the number of bits that are left.
    pub(crate) fn left(&self) -> usize {
        (self.bytes.len() * 8).saturating_sub(self.at)
    }

    /// Goes on at another place.
    pub(crate) fn skip_to(&mut self, place: usize) -> Result<(), Damaged> {
        self.at = place;
        if place > self.bytes.len() * 8 { Err(Damaged) } else { Ok(()) }
    }

    /// Returns the next 57 bits or more. After the end, all are 0.
    fn peek(&self) -> u64 {
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let word = match rest.first_chunk::<8>() {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => {
                let mut bytes = [0; 8];
                bytes[..rest.len()].copy_from_slice(rest);
                u64::from_le_bytes(bytes)
            }
        };
        word >> (self.at % 8)
    }

    /// Reads so many bits, at most 56.
    pub(crate) fn bits(&mut self, count: u32) -> Result<u64, Damaged> {
        let value = self.peek() & ((1 << count) - 1);
        self.skip_to(self.at + count as usize)?;
        Ok(value)
    }

    pub(crate) fn unary(&mut self) -> Result<u64, Damaged> {
        let mut value = 0;
        loop {
            let zeros = self.peek().trailing_zeros();
            if zeros <= 56 {
                self.skip_to(self.at + zeros as usize + 1)?;
                return Ok(value + u64::from(zeros));
            }
            value += 56;
            self.skip_to(self.at + 56)?;
        }
    }

    pub(crate) fn gamma(&mut self) -> Result<u32, Damaged> {
        let bits = self.unary()? as u32;
        if bits > 31 {
            return Err(Damaged);
        }
        Ok(1 << bits | self.bits(bits)? as u32)
    }

    pub(crate) fn golomb(&mut self, order: u32) -> Result<u32, Damaged> {
        let high = self.gamma()? - 1;
        if high.checked_shl(order).is_none_or(|shifted| shifted >> order != high) {
            return Err(Damaged);
        }
        Ok(high << order | self.bits(order)? as u32)
    }

    pub(crate) fn rice(&mut self, order: u32) -> Result<u64, Damaged> {
        let high = self.unary()?;
        if high > u64::MAX >> (order + 1) {
            return Err(Damaged);
        }
        Ok(high << order | self.bits(order)?)
    }
}
