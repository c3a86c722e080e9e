//! Hexadecimal floating point numbers: digits, and the power of two that they are taken times, `1.8p-3`.

/// Digits that are kept. What follows them only counts as more than nothing.
const KEPT: u32 = 15;

/// The number behind its prefix and its sign, rounded to the nearest that there is; infinite for what is too large, none for what is no such number.
pub(super) fn float(digits: &str) -> Option<f64> {
    let (mantissa, exponent) = digits.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = power(exponent)?;
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut number: u64 = 0;
    let mut kept = 0;
    let mut shifted: i64 = -4 * i64::try_from(fraction.len()).ok()?;
    for digit in whole.chars().chain(fraction.chars()) {
        let digit = u64::from(digit.to_digit(16)?);
        if kept < KEPT {
            number = number << 4 | digit;
            kept += u32::from(number > 0);
        } else {
            number |= u64::from(digit > 0);
            shifted += 4;
        }
    }
    Some(scaled(number, exponent.saturating_add(shifted)))
}

/// Of an exponent as large as a text may have, the nearest that makes all the difference.
fn power(text: &str) -> Option<i64> {
    const MOST: i64 = 1 << 40;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let most = if text.starts_with('-') { -MOST } else { MOST };
    Some(text.parse().unwrap_or(most).clamp(-MOST, MOST))
}

/// Bits of a floating point number, and the exponents of its lowest bit.
const BITS: i64 = 53;
const LOWEST: i64 = -1074;
const HIGHEST: i64 = 971;

/// A number times a power of two.
fn scaled(number: u64, exponent: i64) -> f64 {
    if number == 0 {
        return 0.0;
    }
    let bits = i64::from(u64::BITS - number.leading_zeros());
    let lowest = (exponent + bits - BITS).max(LOWEST);
    let Ok(dropped) = u32::try_from(lowest - exponent) else {
        // All bits fit.
        return times_power_of_two(number, exponent);
    };
    // More than all of them are as good as all and one.
    let dropped = dropped.min(u64::BITS + 1);
    let wide = u128::from(number);
    let (rest, half) = (wide & ((1 << dropped) - 1), (1_u128 << dropped) >> 1);
    let mut whole = wide >> dropped;
    if rest > half || (rest == half && dropped > 0 && whole & 1 == 1) {
        whole += 1;
    }
    times_power_of_two(u64::try_from(whole).unwrap_or(u64::MAX), lowest)
}

/// Of a number of no more than 53 bits, or of the next power of two.
#[expect(clippy::cast_precision_loss, reason = "all of its bits fit")]
fn times_power_of_two(number: u64, exponent: i64) -> f64 {
    let number = number as f64;
    match u64::try_from(exponent - LOWEST) {
        // It has no place in the exponent.
        Ok(place) if place < 52 => number * f64::from_bits(1 << place),
        Ok(place) if exponent <= HIGHEST => number * f64::from_bits((place - 51) << 52),
        Ok(_) => {
            let highest = f64::from_bits((HIGHEST.abs_diff(LOWEST) - 51) << 52);
            // Beyond that a number of fewer bits may fit all the same.
            let more = u32::try_from(exponent - HIGHEST).unwrap_or(u32::MAX);
            number * highest * 2_f64.powi(more.min(2000).cast_signed())
        }
        Err(_) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_numbers_are_rounded_to_the_nearest() {
        for (text, expected) in [
            ("1p-2", 0.25),
            ("1.8P+1", 3.0),
            (".8p0", 0.5),
            ("F.p1", 30.0),
            ("0p99999999999999999999", 0.0),
            ("1p-1074", 5e-324),
            ("1p-1075", 0.0),
            ("1.8p-1075", 5e-324),
            ("1p-99999999999999999999", 0.0),
            ("1fffffffffffffp971", f64::MAX),
            ("1.fffffffffffff8p1023", f64::INFINITY),
            ("1p1023", 8.98846567431158e307),
            ("1p1024", f64::INFINITY),
            ("1p99999999999999999999", f64::INFINITY),
            ("1.00000000000008p0", 1.0),
            ("1.000000000000080000000000000001p0", 1.0000000000000002),
            ("1.00000000000018p0", 1.0000000000000004),
            ("000000000000000000001p0", 1.0),
            ("1000000000000000000000p-80", 16.0),
        ] {
            assert_eq!(float(text), Some(expected), "{text}");
        }
        for text in [
            "", "1", "1.8", "p1", ".p1", "1p", "1p+", "1p+-1", "1_0p1", "gp1", "1.1.1p1",
        ] {
            assert_eq!(float(text), None, "{text}");
        }
    }
}
