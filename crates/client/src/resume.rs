//! What has been printed of a command's output when its server dies, so that the command can go on elsewhere.

use std::hash::Hasher;
use std::io::{self, Write};

use siphasher::sip::SipHasher13;

/// The output that was printed: how many bytes, and their hash.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    bytes: u64,
    hash: SipHasher13,
}

impl Written {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hash.write(bytes);
    }
}

/// An output that leaves out what was printed before, if it is the same.
pub struct Resumed<W> {
    before: Written,
    now: Written,
    /// Whether it was not the same; writers try again when they are dropped.
    has_changed: bool,
    out: W,
}

impl<W: Write> Resumed<W> {
    /// Makes an output that continues after what was `written`.
    pub fn new(written: Written, out: W) -> Self {
        Self { before: written, now: Written::default(), has_changed: false, out }
    }
}

impl<W: Write> Write for Resumed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.has_changed {
            return Err(changed());
        }
        let left = self.before.bytes - self.now.bytes.min(self.before.bytes);
        if left == 0 {
            return self.out.write(bytes);
        }
        let seen = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.now.add(&bytes[..seen]);
        let is_all = self.now.bytes == self.before.bytes;
        if is_all && self.now.hash.finish() != self.before.hash.finish() {
            self.has_changed = true;
            return Err(changed());
        }
        Ok(seen)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn changed() -> io::Error {
    io::Error::other(
        "the server stopped while it answered, and the index has changed since; run the command again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resumed(before: &[u8], now: &[u8], size: usize) -> io::Result<Vec<u8>> {
        let mut written = Written::default();
        before.chunks(2).for_each(|some| written.add(some));
        let mut out = Resumed::new(written, Vec::new());
        now.chunks(size).try_for_each(|some| out.write_all(some))?;
        Ok(out.out)
    }

    #[test]
    fn only_the_rest_is_printed_if_the_beginning_is_the_same() {
        for size in 1..8 {
            assert_eq!(resumed(b"abc", b"abcdef", size).unwrap(), b"def");
            assert_eq!(resumed(b"", b"abc", size).unwrap(), b"abc");
            assert_eq!(resumed(b"abc", b"abc", size).unwrap(), b"");
            assert!(resumed(b"abc", b"abdef", size).is_err());
        }
    }
}
