//! How many objects a page of a list is asked for with.
//!
//! A page that took too long, or broke off in its middle, would do so again if it were asked for again as it was: over a slow link, behind a
//! proxy that ends what lasts a minute, or of objects that are large. So it is asked for smaller, and larger again where that goes well: a
//! member that stood still for a moment is not to be asked for a large collection in small pieces.

/// Objects on a page. The first is what every client of Kubernetes asks for.
const LIMITS: [u32; 3] = [PAGE, 100, 20];
/// Objects on a page, where all goes well.
pub(super) const PAGE: u32 = 500;
/// Whole pages after which larger ones are tried again. If those break off again that is a page of ten.
const WHOLE: u8 = 10;

/// How many objects the next page of one list is asked for with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limit {
    /// Which of [`LIMITS`].
    at: u8,
    /// Pages in a row that were whole.
    whole: u8,
}

impl Limit {
    /// Objects on the next page.
    pub(super) fn objects(self) -> u32 {
        LIMITS[usize::from(self.at)]
    }

    /// A page took too long or broke off.
    pub(super) fn broke_off(&mut self) {
        let last = (LIMITS.len() - 1) as u8;
        (self.at, self.whole) = ((self.at + 1).min(last), 0);
    }

    /// A page was whole.
    pub(super) fn was_whole(&mut self) {
        self.whole += 1;
        if self.whole == WHOLE {
            (self.at, self.whole) = (self.at.saturating_sub(1), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_break_off_are_asked_for_smaller_until_they_are_whole_for_a_while() {
        let mut limit = Limit::default();
        assert_eq!(limit.objects(), 500);
        for smaller in [100, 20, 20] {
            limit.broke_off();
            assert_eq!(limit.objects(), smaller);
        }
        for (pages, larger) in [(9, 20), (1, 100), (9, 100), (1, 500), (300, 500)] {
            (0..pages).for_each(|_| limit.was_whole());
            assert_eq!(limit.objects(), larger);
        }
    }
}
