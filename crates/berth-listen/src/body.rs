//! The body of a request, as it arrives.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep};

use crate::{limits::Limits, places::Meter};

/// Why a body ends before its end.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The client went away, or what it sent is not HTTP.
    #[error("the request body broke off")]
    Broken(#[source] hyper::Error),
    /// It did not arrive at the rate of [`Limits::body_rate`].
    #[error("the request body arrived too slowly")]
    TooSlow,
    /// All bodies together would have more than [`Limits::body_bytes`].
    #[error("the server is reading as many request bodies as it has memory for")]
    NoRoom,
}

/// The body of a request.
///
/// Each part is counted against the bytes in flight when it arrives, so that one that is announced costs nothing. Where one is
/// too slow or finds no room, the listener answers for the service. Small parts are gathered, so that the count says what the
/// memory holds; trailers are left out.
pub struct RequestBody {
    incoming: Incoming,
    gathered: Gathered,
    has_ended: bool,
    /// Nothing for a request without a body, so that it costs nothing.
    metered: Option<Metered>,
}

/// A part with as many bytes is passed on. It holds no more than the buffer into which it was read.
const PART: usize = 8 << 10;

/// Parts that are too small to be passed on. Each would cost an entry in the list of whoever collects them, and would hold on to
/// a whole buffer with what stood around it: many times the bytes that it has.
#[derive(Default)]
struct Gathered(Vec<u8>);

impl Gathered {
    /// Adds what has arrived, and gives a part that is large enough.
    fn add(&mut self, data: Bytes) -> Option<Bytes> {
        if self.0.is_empty() && data.len() >= PART {
            return Some(data);
        }
        self.0.extend_from_slice(&data);
        (self.0.len() >= PART).then(|| self.take())
    }

    fn take(&mut self) -> Bytes {
        Bytes::from(std::mem::take(&mut self.0))
    }
}

struct Metered {
    meter: Arc<Meter>,
    timeout: Duration,
    rate: u32,
    received: u64,
    /// Made when the body is first waited for.
    clock: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBody")
            .field("incoming", &self.incoming)
            .finish_non_exhaustive()
    }
}

impl RequestBody {
    pub(crate) fn new(incoming: Incoming, meter: Option<Arc<Meter>>, limits: &Limits) -> Self {
        let metered = meter.map(|meter| Metered {
            meter,
            timeout: limits.body_timeout,
            rate: limits.body_rate,
            received: 0,
            clock: None,
        });
        Self {
            incoming,
            gathered: Gathered::default(),
            has_ended: false,
            metered,
        }
    }
}

impl Metered {
    /// Counts what has arrived.
    fn count(&mut self, bytes: usize) -> Result<(), BodyError> {
        self.received = self.received.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if self.meter.take(bytes) {
            Ok(())
        } else {
            Err(BodyError::NoRoom)
        }
    }

    /// Ready when the client has taken too long for what it has sent.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let allowed = self.timeout + Duration::from_secs(self.received / u64::from(self.rate.max(1)));
        let (began, timer) = self.clock.get_or_insert_with(|| {
            let began = Instant::now();
            (began, Box::pin(tokio::time::sleep_until(began + allowed)))
        });
        loop {
            if timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            // The deadline moves with what arrives; the timer follows only when it has gone off.
            let deadline = *began + allowed;
            if deadline <= timer.deadline() {
                return Poll::Ready(());
            }
            timer.as_mut().reset(deadline);
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        while !this.has_ended {
            match Pin::new(&mut this.incoming).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    if let Some(metered) = &mut this.metered {
                        metered.count(data.len())?;
                    }
                    if let Some(part) = this.gathered.add(data) {
                        return Poll::Ready(Some(Ok(Frame::data(part))));
                    }
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(BodyError::Broken(error)))),
                Poll::Ready(None) => this.has_ended = true,
                Poll::Pending => {
                    return match &mut this.metered {
                        Some(metered) => metered.poll_deadline(context).map(|()| {
                            metered.meter.is_too_slow();
                            Some(Err(BodyError::TooSlow))
                        }),
                        None => Poll::Pending,
                    };
                }
            }
        }
        let rest = this.gathered.take();
        Poll::Ready((!rest.is_empty()).then(|| Ok(Frame::data(rest))))
    }

    fn is_end_stream(&self) -> bool {
        self.gathered.0.is_empty() && self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let gathered = u64::try_from(self.gathered.0.len()).unwrap_or(u64::MAX);
        let further = self.incoming.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(further.lower().saturating_add(gathered));
        if let Some(upper) = further.upper() {
            hint.set_upper(upper.saturating_add(gathered));
        }
        hint
    }
}
