//! The catalogue that comes with the program, and the form it is kept in: postcard, compressed by Zstandard.

use std::io::Read;

use crate::Ec2Catalogue;

const US_EAST_1: &[u8] = include_bytes!("../data/us-east-1.postcard.zst");

/// More than any Region needs; a file that says otherwise is not ours.
const MAX_BYTES: u64 = 64 << 20;

/// Why bytes are not a catalogue.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum CatalogError {
    /// They can't be decompressed.
    #[error("decompressing the catalogue: {0}")]
    #[diagnostic(code(catalog::compression), help("make the file again with `journeyman catalog refresh`"))]
    Compression(String),
    /// They decompress to something else.
    #[error("reading the catalogue")]
    #[diagnostic(
        code(catalog::format),
        help("the file is of another version: make it again with `journeyman catalog refresh`")
    )]
    Format(#[source] postcard::Error),
}

/// The catalogue of us-east-1 that is part of the program.
pub fn embedded() -> Result<Ec2Catalogue, CatalogError> {
    decode(US_EAST_1)
}

/// Reads what `encode` has written.
pub fn decode(bytes: &[u8]) -> Result<Ec2Catalogue, CatalogError> {
    let broken = |error: &dyn std::fmt::Display| CatalogError::Compression(error.to_string());
    let reader = ruzstd::decoding::StreamingDecoder::new(bytes).map_err(|error| broken(&error))?;
    let mut plain = Vec::new();
    reader.take(MAX_BYTES).read_to_end(&mut plain).map_err(|error| broken(&error))?;
    postcard::from_bytes(&plain).map_err(CatalogError::Format)
}

/// Writes a catalogue for `decode`. Equal catalogues give equal bytes.
#[cfg(feature = "encode")]
pub fn encode(catalogue: &Ec2Catalogue) -> Result<Vec<u8>, CatalogError> {
    let plain = postcard::to_stdvec(catalogue).map_err(CatalogError::Format)?;
    zstd::bulk::compress(&plain, 19).map_err(|error| CatalogError::Compression(error.to_string()))
}
