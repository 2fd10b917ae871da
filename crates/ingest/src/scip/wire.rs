//! Reads Protocol Buffers in place (<https://protobuf.dev/programming-guides/encoding/>).
//!
//! A library decodes a message into structures many times its size. Here a field is a slice of the message, so a
//! document takes no more memory than in the file, whatever its contents.

/// The bytes are no valid message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'b> {
    Number(u64),
    Bytes(&'b [u8]),
    /// A number of 4 or 8 bytes; no field read here has one.
    Fixed,
}

impl<'b> Value<'b> {
    /// Returns a number as `int32`, or an enumerated value.
    pub(super) fn number(self) -> Result<i32, Broken> {
        match self {
            Value::Number(number) => Ok(number as i32),
            _ => Err(Broken),
        }
    }

    pub(super) fn bytes(self) -> Result<&'b [u8], Broken> {
        match self {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(Broken),
        }
    }

    pub(super) fn text(self) -> Result<&'b str, Broken> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Broken)
    }

    pub(super) fn fields(self) -> Result<Fields<'b>, Broken> {
        Ok(Fields { rest: self.bytes()? })
    }

    /// Appends the numbers of a repeated `int32`, packed or not; a range has at most four.
    pub(super) fn add_to(self, numbers: &mut Vec<i32>) -> Result<(), Broken> {
        match self {
            Value::Number(number) => numbers.push(number as i32),
            Value::Bytes(mut bytes) => {
                while !bytes.is_empty() {
                    numbers.push(varint(&mut bytes).ok_or(Broken)? as i32);
                    if numbers.len() > 4 {
                        return Err(Broken);
                    }
                }
            }
            Value::Fixed => return Err(Broken),
        }
        if numbers.len() > 4 { Err(Broken) } else { Ok(()) }
    }
}

/// The fields of a message, as number and value.
#[derive(Clone, Debug)]
pub(super) struct Fields<'b> {
    rest: &'b [u8],
}

impl<'b> Fields<'b> {
    pub(super) fn of(message: &'b [u8]) -> Self {
        Self { rest: message }
    }

    fn take(&mut self) -> Result<(u32, Value<'b>), Broken> {
        let (field, wire) = key(varint(&mut self.rest).ok_or(Broken)?).ok_or(Broken)?;
        let value = match wire {
            Wire::Varint => Value::Number(varint(&mut self.rest).ok_or(Broken)?),
            Wire::Bytes => {
                let len = varint(&mut self.rest).and_then(|len| usize::try_from(len).ok());
                let (bytes, rest) = self.rest.split_at_checked(len.ok_or(Broken)?).ok_or(Broken)?;
                self.rest = rest;
                Value::Bytes(bytes)
            }
            Wire::Fixed(len) => {
                self.rest = self.rest.get(len..).ok_or(Broken)?;
                Value::Fixed
            }
        };
        Ok((field, value))
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = Result<(u32, Value<'b>), Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let taken = self.take();
        if taken.is_err() {
            self.rest = &[];
        }
        Some(taken)
    }
}

/// The encoding of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Varint,
    Bytes,
    Fixed(usize),
}

/// Splits a key into the field's number and the encoding of its value; none if it is invalid.
pub(super) fn key(key: u64) -> Option<(u32, Wire)> {
    let field = u32::try_from(key >> 3).ok().filter(|field| (1..1 << 29).contains(field))?;
    let wire = match key & 7 {
        0 => Wire::Varint,
        1 => Wire::Fixed(8),
        2 => Wire::Bytes,
        5 => Wire::Fixed(4),
        _ => return None,
    };
    Some((field, wire))
}

/// Reads a number of variable length.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(message: &[u8]) -> Result<Vec<(u32, Value<'_>)>, Broken> {
        Fields::of(message).collect()
    }

    #[test]
    fn a_message_is_read_in_place() {
        let message = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 0, 0, 0, 0, 0x21, 0, 0, 0, 0];
        let message = [&message[..], &[0, 0, 0, 0]].concat();
        let expected = [
            (1, Value::Number(150)),
            (2, Value::Bytes(b"hi")),
            (3, Value::Fixed),
            (4, Value::Fixed),
        ];
        assert_eq!(all(&message).unwrap(), expected);
        assert_eq!(expected[1].1.text(), Ok("hi"));
        assert_eq!(expected[1].1.number(), Err(Broken));
    }

    #[test]
    fn ranges_are_packed_or_not() {
        let mut numbers = Vec::new();
        Value::Bytes(&[1, 0xac, 2, 3]).add_to(&mut numbers).unwrap();
        Value::Number(7).add_to(&mut numbers).unwrap();
        assert_eq!(numbers, [1, 300, 3, 7]);
        assert_eq!(Value::Number(7).add_to(&mut numbers), Err(Broken));
        assert_eq!(Value::Bytes(&vec![0; 100_000]).add_to(&mut Vec::new()), Err(Broken));
        assert_eq!(Value::Bytes(&[0x80]).add_to(&mut Vec::new()), Err(Broken));
    }

    #[test]
    fn broken_messages_are_told() {
        for broken in [
            &[0x08][..],
            &[0x12, 5, 1],
            &[0x00, 0],
            &[0x0b],
            &[0x1d, 0],
            &[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            &[0xff; 12],
        ] {
            assert_eq!(all(broken), Err(Broken), "{broken:?}");
        }
        assert_eq!(all(&[]), Ok(vec![]));
    }
}
