//! Entry point for a fuzzer, see [`crate::fuzz`].

use super::document;
use super::stream::{Part, Stream};

/// Reads an index, and converts its documents for a text: the first byte is the length of the text, which follows; then
/// comes the index. All that is accepted lies in the text.
pub fn scip(bytes: &[u8]) {
    let Some((len, rest)) = bytes.split_first() else { return };
    let Some((text, index)) = rest.split_at_checked(usize::from(*len)) else { return };
    let text = String::from_utf8_lossy(text);
    let mut stream = Stream::new(Box::new(std::io::Cursor::new(index.to_vec())));
    if stream.metadata().is_err() {
        return;
    }
    while let Ok(Part::Document(bytes)) = stream.next() {
        let _ = document::path(&bytes);
        if let Ok(Ok(fitted)) = document::fit(&bytes, &text) {
            assert!(fitted.document.fits(&text), "{:?}", fitted.document);
        }
    }
}
