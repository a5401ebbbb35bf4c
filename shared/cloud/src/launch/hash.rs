//! Names that follow from contents.

use serde::Serialize;

/// A stable 128-bit hash (FNV-1a) of a value's JSON, in hexadecimal. Struct fields and maps have an order, so equal
/// values give equal text on every machine and in every version.
pub(super) fn content(value: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(format!("{:032x}", fnv1a(&serde_json::to_vec(value)?)))
}

/// The same of a text.
pub(crate) fn text(text: &str) -> String {
    format!("{:032x}", fnv1a(text.as_bytes()))
}

fn fnv1a(bytes: &[u8]) -> u128 {
    let basis = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let prime = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(basis, |hash: u128, byte| (hash ^ u128::from(*byte)).wrapping_mul(prime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_vectors_hold() {
        for (text, hash) in [
            ("", 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d),
            ("a", 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964),
            ("foobar", 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18),
        ] {
            assert_eq!(fnv1a(text.as_bytes()), hash, "{text:?}");
        }
    }
}
