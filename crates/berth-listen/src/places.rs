//! Who has how many connections, streams and bytes.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
    },
};

use crate::{address::network_of, limits::Limits, refusal::Refusal};

/// What is taken of the [`Limits`]. The lock is held for a few instructions, once when a connection begins and once when it ends.
#[derive(Debug)]
pub(crate) struct Places {
    limits: Limits,
    taken: Mutex<Taken>,
    body_bytes: AtomicUsize,
}

#[derive(Debug, Default)]
struct Taken {
    connections: usize,
    streams: usize,
    /// Only those that have something: no more entries than connections and streams.
    addresses: HashMap<IpAddr, OfAddress>,
}

#[derive(Debug, Default)]
struct OfAddress {
    connections: usize,
    streams: usize,
    body_bytes: Arc<AtomicUsize>,
}

impl Places {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            limits: limits.shared(),
            taken: Mutex::default(),
            body_bytes: AtomicUsize::new(0),
        })
    }

    #[cfg(feature = "listeners")]
    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection from this address.
    pub(crate) fn take(self: &Arc<Self>, peer: IpAddr) -> Result<Place, Refusal> {
        let network = network_of(peer);
        let mut taken = self.lock();
        let has = taken.addresses.get(&network).map_or(0, |address| address.connections);
        if has >= self.limits.connections_per_address {
            return Err(Refusal::ConnectionsOfAddress);
        }
        if taken.connections >= self.limits.connections {
            return Err(Refusal::Connections);
        }
        taken.connections += 1;
        let address = taken.addresses.entry(network).or_default();
        address.connections += 1;
        Ok(Place {
            places: Arc::clone(self),
            network,
            body_bytes: Arc::clone(&address.body_bytes),
            is_stream: AtomicBool::new(false),
        })
    }
}

/// The place of one connection. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    network: IpAddr,
    body_bytes: Arc<AtomicUsize>,
    is_stream: AtomicBool,
}

impl Place {
    /// Counts the connection as a stream from now on, so that another one can have its place.
    pub(crate) fn become_stream(&self) -> Result<(), Refusal> {
        let limits = &self.places.limits;
        let mut taken = self.places.lock();
        let taken = &mut *taken;
        if self.is_stream.load(Ordering::Relaxed) {
            return Ok(());
        }
        let address = taken.addresses.entry(self.network).or_default();
        if address.streams >= limits.streams_per_address {
            return Err(Refusal::StreamsOfAddress);
        }
        if taken.streams >= limits.streams {
            return Err(Refusal::Streams);
        }
        address.connections = address.connections.saturating_sub(1);
        address.streams += 1;
        taken.connections = taken.connections.saturating_sub(1);
        taken.streams += 1;
        self.is_stream.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Counts the bytes of one body.
    pub(crate) fn meter(&self) -> Arc<Meter> {
        Arc::new(Meter {
            places: Arc::clone(&self.places),
            address: Arc::clone(&self.body_bytes),
            taken: AtomicUsize::new(0),
            outcome: AtomicU8::new(0),
        })
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.places.limits
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let is_stream = *self.is_stream.get_mut();
        let mut taken = self.places.lock();
        let taken = &mut *taken;
        let less = |count: &mut usize| *count = count.saturating_sub(1);
        less(if is_stream {
            &mut taken.streams
        } else {
            &mut taken.connections
        });
        if let Some(address) = taken.addresses.get_mut(&self.network) {
            less(if is_stream {
                &mut address.streams
            } else {
                &mut address.connections
            });
            if address.connections == 0 && address.streams == 0 {
                taken.addresses.remove(&self.network);
            }
        }
    }
}

/// The bytes of one body. They are given back when the request has been answered, and nobody has the body any more.
#[derive(Debug)]
pub(crate) struct Meter {
    places: Arc<Places>,
    address: Arc<AtomicUsize>,
    taken: AtomicUsize,
    /// 0 while all is well, else what the request is answered with.
    outcome: AtomicU8,
}

const NO_ROOM: u8 = 1;
const TOO_SLOW: u8 = 2;

impl Meter {
    /// Takes bytes that have arrived. False if there is no room for them.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let limits = &self.places.limits;
        if !add(&self.address, bytes, limits.body_bytes_per_address) {
            self.outcome.store(NO_ROOM, Ordering::Relaxed);
            return false;
        }
        if !add(&self.places.body_bytes, bytes, limits.body_bytes) {
            self.address.fetch_sub(bytes, Ordering::Relaxed);
            self.outcome.store(NO_ROOM, Ordering::Relaxed);
            return false;
        }
        self.taken.fetch_add(bytes, Ordering::Relaxed);
        true
    }

    pub(crate) fn is_too_slow(&self) {
        self.outcome.store(TOO_SLOW, Ordering::Relaxed);
    }

    /// What the request is answered with, whatever its handler makes of a body that broke off.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        match self.outcome.load(Ordering::Relaxed) {
            NO_ROOM => Some(Refusal::BodyBytes),
            TOO_SLOW => Some(Refusal::SlowBody),
            _ => None,
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let taken = *self.taken.get_mut();
        self.address.fetch_sub(taken, Ordering::Relaxed);
        self.places.body_bytes.fetch_sub(taken, Ordering::Relaxed);
    }
}

fn add(count: &AtomicUsize, more: usize, limit: usize) -> bool {
    let sum = |count: usize| count.checked_add(more).filter(|sum| *sum <= limit);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum).is_ok()
}

/// What clients take of a server's limits at the moment.
#[derive(Clone, Debug)]
pub struct Usage(pub(crate) Arc<Places>);

impl Usage {
    /// Connections that are open, event streams not among them.
    pub fn connections(&self) -> usize {
        self.0.lock().connections
    }

    /// Event streams that are open.
    pub fn streams(&self) -> usize {
        self.0.lock().streams
    }

    /// Bytes of bodies that are being read or worked on.
    pub fn body_bytes(&self) -> usize {
        self.0.body_bytes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
