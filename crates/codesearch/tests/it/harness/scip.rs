//! Writes SCIP indexes byte by byte, so that invalid ones can be written, too.

/// SCIP's role of a definition.
pub(crate) const DEFINES: u8 = 1;

/// The unit of columns, by its number in SCIP; 0 leaves it unspecified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Unsaid,
    Utf8,
    Utf16,
    Utf32,
}

/// An occurrence: a name, its index among the places of that name, its symbol, and the roles.
pub(crate) type Told<'t> = (&'t str, usize, &'t str, u8);

/// Returns the metadata of an index.
pub(crate) fn metadata(tool: &str, project_root: &str) -> Vec<u8> {
    let tool = [field(1, tool.as_bytes()), field(2, b"1.0")].concat();
    field(1, &[field(2, &tool), field(3, project_root.as_bytes())].concat())
}

/// Returns an index of documents.
pub(crate) fn index(tool: &str, documents: &[Vec<u8>]) -> Vec<u8> {
    [metadata(tool, "file:///elsewhere"), documents.concat()].concat()
}

/// Returns the document of a text.
pub(crate) fn document(path: &str, text: &str, unit: Unit, all: &[Told<'_>]) -> Vec<u8> {
    let places: Vec<Vec<u8>> =
        all.iter().map(|told| field(2, &occurrence(text, unit, told))).collect();
    let encoding = number(6, unit as u64);
    field(2, &[field(1, path.as_bytes()), places.concat(), encoding].concat())
}

/// Returns a document with its path, made of encoded parts.
pub(crate) fn document_of(path: &str, parts: &[Vec<u8>]) -> Vec<u8> {
    field(2, &[field(1, path.as_bytes()), parts.concat()].concat())
}

/// Returns an occurrence at the `nth` place of a name, from 0.
fn occurrence(text: &str, unit: Unit, (name, nth, symbol, roles): &Told<'_>) -> Vec<u8> {
    let start = text.match_indices(name).nth(*nth).expect("the text has that name").0;
    let line = text[..start].matches('\n').count() as u64;
    let offset = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let column = |text: &str| -> u64 {
        let len = match unit {
            Unit::Utf8 => text.len(),
            Unit::Unsaid | Unit::Utf16 => text.encode_utf16().count(),
            Unit::Utf32 => text.chars().count(),
        };
        len as u64
    };
    let from = column(&text[offset..start]);
    place(&[line, from, from + column(name)], symbol, *roles)
}

/// Returns an occurrence at a range.
pub(crate) fn place(range: &[u64], symbol: &str, roles: u8) -> Vec<u8> {
    let range: Vec<u8> = range.iter().flat_map(|number| varint(*number)).collect();
    [field(1, &range), field(2, symbol.as_bytes()), number(3, u64::from(roles))].concat()
}

/// Returns the information on a symbol: that references to it are references to another.
pub(crate) fn refers(symbol: &str, other: &str) -> Vec<u8> {
    let relation = [field(1, other.as_bytes()), number(2, 1), number(3, 1)].concat();
    field(3, &[field(1, symbol.as_bytes()), field(4, &relation)].concat())
}

/// Returns a field of bytes.
pub(crate) fn field(field: u64, bytes: &[u8]) -> Vec<u8> {
    [&varint(field << 3 | 2)[..], &varint(bytes.len() as u64), bytes].concat()
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
