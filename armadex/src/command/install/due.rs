//! Whether a token is to be issued anew, by what it says of itself. Pure.

use std::fmt;
use std::time::Duration;

use crate::token::Claims;

/// So much later than it is here a token may begin: clocks of a cluster are that close together.
const APART: i64 = 300;
/// One that is good for less, in seconds, is renewed too late where somebody looks each half hour and fails once.
const LEAST: i64 = 7200;

/// What lies in a Secret.
#[derive(Clone, Copy)]
pub(super) struct Kept<'a> {
    pub(super) kubeconfig: &'a [u8],
    pub(super) token: &'a [u8],
}

/// What is to lie there.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) kubeconfig: &'a str,
    /// The uid of the account.
    pub(super) account: &'a str,
    /// For how long it is to be good.
    pub(super) lifetime: Duration,
}

/// Why a token is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// Nothing lies there.
    New,
    /// What lies there says no time.
    NoToken,
    Elsewhere,
    OtherAccount,
    HalfOver,
    /// It was granted for so little that it is an error. More may be granted by now.
    TooShort,
    /// The clock here is behind, so nobody knows how much is over.
    Ahead,
    /// The API server said so.
    Refused,
}

/// For how long a token was granted, beside what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Granted {
    /// A tenth less may be a rounding.
    AsAsked,
    Less,
    /// Nobody could be relied on to renew it in time.
    TooLittle,
}

impl Granted {
    pub(super) fn of(claims: &Claims, asked: Duration) -> Self {
        let (asked, life) = (seconds(asked), claims.life());
        if life >= asked - asked / 10 {
            Self::AsAsked
        } else if life >= LEAST {
            Self::Less
        } else {
            Self::TooLittle
        }
    }
}

/// At this time, in seconds since 1970, by the clock here; `None`: not yet.
pub(super) fn due(kept: Option<Kept<'_>>, wanted: &Wanted<'_>, now: i64) -> Option<Reason> {
    let Some(kept) = kept else {
        return Some(Reason::New);
    };
    let token = std::str::from_utf8(kept.token).unwrap_or_default();
    let Some(claims) = Claims::of(token) else {
        return Some(Reason::NoToken);
    };
    if kept.kubeconfig != wanted.kubeconfig.as_bytes() {
        return Some(Reason::Elsewhere);
    }
    if claims.account.as_deref() != Some(wanted.account) {
        return Some(Reason::OtherAccount);
    }
    let age = now.saturating_sub(claims.issued);
    // Of one that is good for longer than is wanted by now, what is wanted counts.
    let life = claims.life().min(seconds(wanted.lifetime));
    if age < -APART {
        Some(Reason::Ahead)
    } else if age >= life / 2 {
        Some(Reason::HalfOver)
    } else if Granted::of(&claims, wanted.lifetime) == Granted::TooLittle {
        Some(Reason::TooShort)
    } else {
        None
    }
}

fn seconds(length: Duration) -> i64 {
    i64::try_from(length.as_secs()).unwrap_or(i64::MAX)
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::New => "there was none",
            Self::NoToken => "what was there is no token of an account",
            Self::Elsewhere => "the control plane is reached in another way than it says",
            Self::OtherAccount => "its account was made anew, or is another one",
            Self::HalfOver => "half of its time is over",
            Self::TooShort => "the one of before is good for too little time",
            Self::Ahead => "it begins later than the clock here says: that is behind the clock of the control plane",
            Self::Refused => "the control plane does not take it any more",
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::token::token;

    const NOW: i64 = 1_800_000_000;
    const WEEK: i64 = 604_800;

    /// Of a token that was issued so long ago for so long, where a week is wanted.
    fn after(age: i64, life: i64) -> Option<Reason> {
        let (issued, expires) = (NOW - age, NOW - age + life);
        let claims = json!({"iat": issued, "exp": expires, "kubernetes.io": {"serviceaccount": {"uid": "u"}}});
        let token = token(&claims);
        let kept = Kept {
            kubeconfig: b"k",
            token: token.as_bytes(),
        };
        due(Some(kept), &wanted("k", "u"), NOW)
    }

    fn wanted<'a>(kubeconfig: &'a str, account: &'a str) -> Wanted<'a> {
        Wanted {
            kubeconfig,
            account,
            lifetime: Duration::from_secs(WEEK.unsigned_abs()),
        }
    }

    #[test]
    fn a_token_is_renewed_when_half_of_its_time_is_over() {
        assert_eq!(after(0, WEEK), None);
        assert_eq!(after(WEEK / 2 - 1, WEEK), None);
        for age in [WEEK / 2, WEEK, 3 * WEEK] {
            assert_eq!(after(age, WEEK), Some(Reason::HalfOver), "{age}");
        }
    }

    #[test]
    fn what_the_control_plane_has_granted_counts_where_it_is_less_and_what_is_wanted_where_it_is_more()
     {
        assert_eq!(after(LEAST / 2 - 1, LEAST), None);
        assert_eq!(after(LEAST / 2, LEAST), Some(Reason::HalfOver));
        assert_eq!(after(WEEK / 2 - 1, 52 * WEEK), None);
        assert_eq!(after(WEEK / 2, 52 * WEEK), Some(Reason::HalfOver));
    }

    #[test]
    fn one_that_nobody_could_renew_in_time_is_not_kept_unless_no_more_is_wanted() {
        assert_eq!(after(60, LEAST - 1), Some(Reason::TooShort));
        let granted = |asked: u64, life: i64| {
            let claims = Claims {
                issued: 0,
                expires: life,
                account: None,
            };
            Granted::of(&claims, Duration::from_secs(asked))
        };
        for enough in [3240, 3600, 7200] {
            assert_eq!(granted(3600, enough), Granted::AsAsked);
        }
        assert_eq!(granted(10_000, LEAST), Granted::Less);
        assert_eq!(granted(10_000, LEAST - 1), Granted::TooLittle);
    }

    #[test]
    fn clocks_may_be_apart_and_one_that_is_far_behind_keeps_nothing() {
        assert_eq!(after(-APART, WEEK), None);
        assert_eq!(after(-APART - 1, WEEK), Some(Reason::Ahead));
        assert_eq!(after(-52 * WEEK, WEEK), Some(Reason::Ahead));
        // One that is ahead only renews earlier.
        assert_eq!(after(52 * WEEK, WEEK), Some(Reason::HalfOver));
    }

    #[test]
    fn a_time_that_can_not_be_meant_is_over() {
        assert_eq!(after(0, 0), Some(Reason::HalfOver));
        assert_eq!(after(0, -WEEK), Some(Reason::HalfOver));
        let claims = json!({"iat": i64::MIN, "exp": i64::MAX, "kubernetes.io": {"serviceaccount": {"uid": "u"}}});
        let token = token(&claims);
        let kept = Kept {
            kubeconfig: b"k",
            token: token.as_bytes(),
        };
        assert_eq!(
            due(Some(kept), &wanted("k", "u"), NOW),
            Some(Reason::HalfOver)
        );
    }

    #[test]
    fn another_account_another_way_and_no_token_are_told_apart() {
        let claims = json!({"iat": NOW, "exp": NOW + WEEK, "kubernetes.io": {"serviceaccount": {"uid": "u"}}});
        let token = token(&claims);
        let due = |kubeconfig: &str, token: &[u8], wanted: Wanted<'_>| {
            let kept = Kept {
                kubeconfig: kubeconfig.as_bytes(),
                token,
            };
            due(Some(kept), &wanted, NOW)
        };
        let token = token.as_bytes();
        assert_eq!(due("k", token, wanted("k", "u")), None);
        assert_eq!(
            due("k", token, wanted("k", "other")),
            Some(Reason::OtherAccount)
        );
        assert_eq!(
            due("other", token, wanted("k", "u")),
            Some(Reason::Elsewhere)
        );
        assert_eq!(due("k", b"\xff", wanted("k", "u")), Some(Reason::NoToken));
        assert_eq!(super::due(None, &wanted("k", "u"), NOW), Some(Reason::New));
    }
}
