//! Server-sent events, as the bytes come.

/// One event: its kind and its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) kind: String,
    pub(super) data: String,
}

/// Puts events together from pieces of a stream.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    event: Event,
}

impl Events {
    /// Takes the next bytes, and gives the events that they complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = String::from_utf8_lossy(&line);
            let line = line.strip_suffix('\r').unwrap_or(&line);
            if line.is_empty() {
                let event = std::mem::take(&mut self.event);
                if event != Event::default() {
                    events.push(event);
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut self.event.kind),
                "data" => {
                    if !self.event.data.is_empty() {
                        self.event.data.push('\n');
                    }
                    self.event.data.push_str(value);
                }
                // Comments keep the connection open; ids and delays are not needed here.
                _ => {}
            }
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STREAM: &str = "event: action\ndata: {\"a\":1}\n\n: keep-alive\n\nevent: node\r\ndata: x\r\ndata: y\r\nid: 7\r\n\r\nevent: end\n\n";

    fn expected() -> Vec<Event> {
        [("action", "{\"a\":1}"), ("node", "x\ny"), ("end", "")]
            .map(|(kind, data)| Event {
                kind: kind.to_owned(),
                data: data.to_owned(),
            })
            .to_vec()
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_how_the_stream_is_cut(cuts in proptest::collection::vec(0..STREAM.len(), 0..8)) {
            let mut cuts = cuts;
            cuts.push(STREAM.len());
            cuts.sort_unstable();
            let (mut events, mut from, mut seen) = (Events::default(), 0, Vec::new());
            for cut in cuts {
                seen.extend(events.take(&STREAM.as_bytes()[from..cut]));
                from = cut;
            }
            prop_assert_eq!(seen, expected());
        }

        #[test]
        fn no_stream_is_too_odd(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            Events::default().take(&bytes);
        }
    }
}
