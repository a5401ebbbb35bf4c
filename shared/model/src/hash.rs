//! A hash for names and draws that must be the same on every machine and in every version.

/// FNV-1a of 64 bits; the standard library's hashers promise nothing from one version to the next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    /// Takes more bytes in. Parts are told apart only by what stands between them.
    pub fn write(&mut self, bytes: impl IntoIterator<Item = u8>) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// The hash of all that was taken in.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_vectors_hold() {
        for (text, expected) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            let mut hash = Fnv1a::default();
            hash.write(text.bytes());
            assert_eq!(hash.value(), expected, "{text:?}");
        }
    }
}
