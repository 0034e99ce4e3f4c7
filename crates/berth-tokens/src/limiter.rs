//! How often an address has been refused lately.
//!
//! Tokens are too long to guess, so this is not what keeps them safe. It keeps a machine with a wrong token, which asks
//! again forever, from filling the log. Good tokens pass whatever their address did before: behind one address there
//! may be a whole site.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use berth_listen::network_of;
use jiff::Timestamp;

/// Seconds over which refusals are counted.
const WINDOW: i64 = 60;

/// Refusals in the window after which the answer is "too many".
const MOST_REFUSALS: u32 = 20;

/// Addresses that are remembered; more than a site has, and little memory.
const MOST_ADDRESSES: usize = 8192;

/// What to do about one more refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Say why, and log it.
    Fine,
    /// The first one too many: log that too.
    JustTooMany,
    /// Do not log.
    TooMany,
}

/// Counts the refusals of each address.
#[derive(Debug, Default)]
pub struct Limiter(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    addresses: HashMap<IpAddr, Window>,
    /// In the order in which their windows began.
    order: VecDeque<(IpAddr, i64)>,
}

#[derive(Debug)]
struct Window {
    began: i64,
    refusals: u32,
}

impl Limiter {
    /// Counts a refusal.
    pub fn refused(&self, address: IpAddr, now: Timestamp) -> Pace {
        let now = now.as_second();
        let address = network_of(address);
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = &mut *seen;
        while let Some(&(oldest, began)) = seen.order.front()
            && (!is_open(began, now) || seen.order.len() >= MOST_ADDRESSES)
        {
            seen.order.pop_front();
            if seen.addresses.get(&oldest).is_some_and(|window| window.began == began) {
                seen.addresses.remove(&oldest);
            }
        }
        let window = seen.addresses.entry(address).or_insert_with(|| {
            seen.order.push_back((address, now));
            Window {
                began: now,
                refusals: 0,
            }
        });
        window.refusals = window.refusals.saturating_add(1);
        match window.refusals {
            0..=MOST_REFUSALS => Pace::Fine,
            n if n == MOST_REFUSALS + 1 => Pace::JustTooMany,
            _ => Pace::TooMany,
        }
    }

    /// Whether an address has been refused too often already.
    pub fn has_too_many(&self, address: IpAddr, now: Timestamp) -> bool {
        let now = now.as_second();
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let window = seen.addresses.get(&network_of(address));
        window.is_some_and(|window| is_open(window.began, now) && window.refusals > MOST_REFUSALS)
    }
}

/// A clock that was set back does not keep a window open forever.
fn is_open(began: i64, now: i64) -> bool {
    (0..WINDOW).contains(&now.saturating_sub(began))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn too_many_is_said_once_and_ends_with_the_window() {
        let limiter = Limiter::default();
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let other: IpAddr = "192.0.2.2".parse().unwrap();
        for _ in 0..MOST_REFUSALS {
            assert_eq!(limiter.refused(address, at(100)), Pace::Fine);
        }
        assert_eq!(limiter.refused(address, at(100)), Pace::JustTooMany);
        assert_eq!(limiter.refused(address, at(159)), Pace::TooMany);
        assert_eq!(limiter.refused(other, at(159)), Pace::Fine);
        assert_eq!(limiter.refused(address, at(160)), Pace::Fine);
        // The clock goes back.
        assert_eq!(limiter.refused(address, at(5)), Pace::Fine);
    }

    #[test]
    fn memory_is_bounded() {
        let limiter = Limiter::default();
        for n in 0..u32::try_from(MOST_ADDRESSES * 3).unwrap() {
            limiter.refused(IpAddr::V4(n.into()), at(7));
        }
        let seen = limiter.0.lock().unwrap();
        assert!(seen.addresses.len() <= MOST_ADDRESSES);
        assert!(seen.order.len() <= MOST_ADDRESSES);
    }
}
