//! Unsigned integers, seven bits to a byte, least significant first; the high bit says that more follow.

/// 64 bits in groups of seven.
const MAX_BYTES: usize = 10;

/// Appends `value` to `out`.
pub(crate) fn write(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes one integer from the front of `bytes`; `None` if it is cut off or too large.
pub(crate) fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for index in 0..MAX_BYTES {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let group = u64::from(byte & 0x7f);
        let shifted = group << (7 * index);
        if shifted >> (7 * index) != group {
            return None;
        }
        value |= shifted;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(value: u64, rest: Vec<u8>) {
            let mut bytes = Vec::new();
            write(&mut bytes, value);
            bytes.extend_from_slice(&rest);
            let mut left = bytes.as_slice();
            prop_assert_eq!(read(&mut left), Some(value));
            prop_assert_eq!(left, rest.as_slice());
        }
    }

    #[test]
    fn integers_that_are_cut_off_or_too_large_are_refused() {
        assert_eq!(read(&mut [0x80].as_slice()), None);
        assert_eq!(read(&mut [].as_slice()), None);
        assert_eq!(read(&mut [0xff; 11].as_slice()), None);
        let mut beyond_64_bits = [0xff; 10];
        beyond_64_bits[9] = 0x02;
        assert_eq!(read(&mut beyond_64_bits.as_slice()), None);
    }
}
