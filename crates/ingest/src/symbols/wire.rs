//! The protocol between client and worker: numbers of 4 bytes, little-endian, and texts after their lengths.

use std::io::{self, Read, Write};

use query::SymbolKind;
use symbols::{Reason, Symbol, Taken};

/// Maximum bytes of a text or of an answer; anything larger is invalid.
const MOST: u32 = 64 << 20;

fn number(input: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    input.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn bytes(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let len = number(input)?;
    if len > MOST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; len as usize];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn text(input: &mut impl Read) -> io::Result<String> {
    String::from_utf8(bytes(input)?).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Writes a language and a text.
pub(crate) fn ask(output: &mut impl Write, language: &str, text: &str) -> io::Result<()> {
    for part in [language, text] {
        output.write_all(&(part.len() as u32).to_le_bytes())?;
        output.write_all(part.as_bytes())?;
    }
    output.flush()
}

/// Reads a language and a text; `None` at the end.
pub(crate) fn asked(input: &mut impl Read) -> io::Result<Option<(String, String)>> {
    match text(input) {
        Ok(language) => Ok(Some((language, text(input)?))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes the symbols of a text.
pub(crate) fn answer(output: &mut impl Write, taken: &Taken) -> io::Result<()> {
    let mut all = Vec::with_capacity(8 + taken.symbols.len() * 24);
    let mut put = |number: usize| all.extend((number as u32).to_le_bytes());
    let reason =
        taken.given_up.and_then(|reason| Reason::ALL.iter().position(|one| *one == reason));
    put(reason.map_or(0, |at| at + 1));
    for symbol in &taken.symbols {
        put(usize::from(symbol.kind.byte()));
        put(symbol.name.start);
        put(symbol.name.end);
        put(symbol.end);
        put(symbol.line);
        put(symbol.parent.map_or(0, |parent| parent + 1));
    }
    output.write_all(&(all.len() as u32).to_le_bytes())?;
    output.write_all(&all)?;
    output.flush()
}

/// Reads the symbols of a text. The worker is not trusted: symbols that do not fit the text are an error.
pub(crate) fn answered(input: &mut impl Read, text: &str) -> io::Result<Taken> {
    let all = bytes(input)?;
    let numbers: Vec<usize> = all
        .chunks_exact(4)
        .map(|n| u32::from_le_bytes([n[0], n[1], n[2], n[3]]) as usize)
        .collect();
    let wrong = || io::Error::from(io::ErrorKind::InvalidData);
    let (reason, rest) = numbers.split_first().ok_or_else(wrong)?;
    let given_up = match reason.checked_sub(1) {
        None => None,
        Some(at) => Some(*Reason::ALL.get(at).ok_or_else(wrong)?),
    };
    let count = rest.len() / 6;
    let mut symbols: Vec<Symbol> = Vec::with_capacity(count);
    for n in rest.chunks_exact(6) {
        let kind = u8::try_from(n[0]).ok().and_then(SymbolKind::from_byte).ok_or_else(wrong)?;
        let name = text.get(n[1]..n[2]).ok_or_else(wrong)?;
        let ordered = symbols.last().is_none_or(|last| last.name.start < n[1]);
        if name.is_empty()
            || name.contains('\n')
            || n[3] < n[2]
            || n[3] > text.len()
            || n[5] > count
            || !ordered
        {
            return Err(wrong());
        }
        symbols.push(Symbol {
            kind,
            name: n[1]..n[2],
            end: n[3],
            line: n[4],
            parent: n[5].checked_sub(1),
        });
    }
    Ok(Taken { symbols, given_up })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_and_answered_arrives() {
        let text = "# One\n## Two\n";
        let taken = symbols::take("markdown", text).unwrap();
        let mut sent = Vec::new();
        ask(&mut sent, "markdown", text).unwrap();
        let mut sent = &sent[..];
        assert_eq!(asked(&mut sent).unwrap(), Some(("markdown".to_owned(), text.to_owned())));
        assert_eq!(asked(&mut sent).unwrap(), None);
        let mut back = Vec::new();
        answer(&mut back, &taken).unwrap();
        assert_eq!(answered(&mut &back[..], text).unwrap(), taken);
        // Symbols of another text, and garbage.
        assert!(answered(&mut &back[..], "short").is_err());
        assert!(answered(&mut &back[..7], text).is_err());
        assert!(answered(&mut &[255_u8; 64][..], text).is_err());
    }
}
